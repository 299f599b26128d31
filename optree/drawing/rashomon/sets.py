"""Checks and names that the sums over Rashomon sets and all pictures of them use."""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from optree.errors import OptreeError


def check_filled(r, method: str) -> None:
    """Raise if a set is not fitted or has no trees; the message has the reason and the remedy."""
    check_is_fitted(r)
    if r.count_:
        return
    if r.trees_ is not None:
        reason = "no tree meets the filter; give fewer columns or a greater max_depth"
    elif r.status_ == "optimal":
        reason = f"the optimal cost {float(r.cost_):g} exceeds bound = {r.bound} of all rows; give a greater bound"
    elif r.status_ == "interrupted":
        reason = "Ctrl-C ended the search; fit again"
    else:
        reason = f"{r.status_} ended the search; give a smaller max_depth, a greater regularization or {r.status_}"
    raise OptreeError(f"{method}: the set is empty, because {reason}")


def column_names(r) -> list[str]:
    """Return the names of the columns."""
    return [str(name) for name in getattr(r, "feature_names_in_", [f"x{i}" for i in range(r.n_features_in_)])]
