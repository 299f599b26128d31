"""optree: provably optimal decision trees, and a benchmark that anyone can reproduce.

``from optree import OptimalTreeClassifier`` is all that most users need; ``optree.solvers.get(name)`` is the registry.
"""

from __future__ import annotations

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
    "OptimalTreeClassifier",
    "SPLITClassifier",
)
__all__ = [*_ESTIMATORS, "__version__"]


def __getattr__(name: str):
    # Estimators bring scikit-learn with them, which a solve job can do without: they load when they are asked for.
    if name in _ESTIMATORS:
        from optree import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'optree' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ESTIMATORS])
