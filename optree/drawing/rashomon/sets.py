"""Checks and names that all pictures of Rashomon sets use."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from optree.errors import OptreeError


def check_filled(r, method: str) -> None:
    """Raise if a set is not fitted or has no trees."""
    check_is_fitted(r)
    if not r.count_:
        raise OptreeError(f"{method}: the set is empty; a set with a tree is accepted")


def column_names(r) -> list[str]:
    """Return the names of the columns."""
    return [str(name) for name in getattr(r, "feature_names_in_", [f"x{i}" for i in range(r.n_features_in_)])]
