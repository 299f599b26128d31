"""scikit-learn estimators: each solver with its encoding and parameters, on one common base."""

from optree.estimators.base import TreeClassifier
from optree.estimators.boosting import DPDTGradientBoostingClassifier, DPDTGradientBoostingRegressor
from optree.estimators.branches import BranchesClassifier
from optree.estimators.dpdt import DPDTreeClassifier, DPDTreeRegressor
from optree.estimators.gosdt import GOSDTClassifier
from optree.estimators.murtree import DL85Classifier, MurTreeClassifier
from optree.estimators.murtree_regressor import MurTreeRegressor
from optree.estimators.optimal import OptimalTreeClassifier
from optree.estimators.optimal_cv import OptimalTreeClassifierCV
from optree.estimators.optimal_regressor import OptimalTreeRegressor
from optree.estimators.policy import OptimalPolicyTree
from optree.estimators.rashomon import RashomonSet
from optree.estimators.split import LicketySPLITClassifier, SPLITClassifier
from optree.namesake import look_for_namesake

__all__ = [
    "BranchesClassifier",
    "DL85Classifier",
    "DPDTGradientBoostingClassifier",
    "DPDTGradientBoostingRegressor",
    "DPDTreeClassifier",
    "DPDTreeRegressor",
    "GOSDTClassifier",
    "LicketySPLITClassifier",
    "MurTreeClassifier",
    "MurTreeRegressor",
    "OptimalPolicyTree",
    "OptimalTreeClassifier",
    "OptimalTreeClassifierCV",
    "OptimalTreeRegressor",
    "RashomonSet",
    "SPLITClassifier",
    "TreeClassifier",
]

look_for_namesake()
