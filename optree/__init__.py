"""optree: provably optimal decision trees, and a benchmark that anyone can reproduce.

Most users need only ``from optree import OptimalTreeClassifier``. ``optree.solvers.get(name)`` is the solver registry.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_ESTIMATORS = (
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
)
__all__ = [*_ESTIMATORS, "__version__", "solvers"]


def __getattr__(name: str):
    # Estimators import scikit-learn, and solvers numpy: both are imported on first access.
    if name in _ESTIMATORS:
        return getattr(import_module("optree.estimators"), name)
    if name == "solvers":
        return import_module("optree.solvers")
    raise AttributeError(f"module 'optree' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ESTIMATORS, "solvers"])
