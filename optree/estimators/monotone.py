"""The directions in which predictions may change with a column, as users give them."""

from __future__ import annotations

from collections.abc import Mapping

from optree.encoding import Encoder
from optree.errors import OptreeError, choice
from optree.estimators.parameters import is_whole


def directions_of(given, encoder: Encoder) -> list[int]:
    """Return 1, -1 or 0 for each column of an encoder; see ``monotonic_cst`` of `OptimalTreeClassifier`.

    Raises
    ------
    OptreeError
        If a name, a number of entries or a direction is not accepted, or a column with a direction has no order.
    """
    names = encoder.names_
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise choice("monotonic_cst", name, names)
        given = [given.get(name, 0) for name in names]
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != len(names):
        raise OptreeError(f"monotonic_cst: {given!r} is not accepted; give 1, 0 or -1 for each of {len(names)} columns")
    by_name = dict(zip(names, given, strict=True))
    for name, direction in by_name.items():
        if not is_whole(direction) or direction not in (-1, 0, 1):
            raise OptreeError(f"monotonic_cst: {direction!r} for column {name!r} is not accepted; give 1, 0 or -1")
    for column in encoder.columns_:
        if by_name[column.name] and column.form != "thresholds" and column.parts != ("false", "true"):
            raise OptreeError(f"monotonic_cst: column {column.name!r} has categories without an order; give 0")
    return [int(by_name[column.name]) for column in encoder.columns_]
