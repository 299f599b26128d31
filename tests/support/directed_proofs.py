"""Tables that are made to break one rule each of a verifier with an error in it."""

from __future__ import annotations

from support.small_proofs import Case


def case(codes: list[list[int]], y: list[int], weights: list[int], **fields) -> Case:
    """Return a case whose features are the columns of codes."""
    columns = list(zip(*codes, strict=True))
    features = [
        [f"f{f}", "values", [[str(code)] for code in sorted(set(column))], None] for f, column in enumerate(columns)
    ]
    rows = [
        {f"f{f}": str(code) for f, code in enumerate(row)} | {"y": str(label), "w": str(weight)}
        for row, label, weight in zip(codes, y, weights, strict=True)
    ]
    head = {
        "features": features,
        "missing": [],
        "target": "y",
        "classes": [str(k) for k in sorted(set(y))],
        "costs": None,
    }
    head |= {"weight": "w", "penalty": "split", "max_depth": None, "max_splits": None, "min_samples_leaf": None}
    return Case(rows, head | {"tree": [-1], "claim": "optimal", "supports": 0} | fields)


_TWICE = [[1, 1, 1, x, z] for x in (0, 1) for z in (0, 1)]
_TWICE += [[1, 0, 0, 0, 1], [0, 1, 0, 1, 0], [0, 0, 0, 1, 1], [1, 0, 0, 1, 0]]
_TWICE += [[0, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 1, 1]]
_ROTATED = [[half, value] for half in (0, 1) for value in (0, 1, 2)]
_FEW = [[0, 0], [0, 1], [1, 2], [1, 3]]

DIRECTED = {
    "a penalty per leaf: B4 would fill empty leaves": case(
        _FEW, [0, 1, 2, 3], [10, 10, 1, 1], **{"lambda": "3/44", "penalty": "leaf"}
    ),
    "a minimum of rows in a leaf: B4 would fill empty leaves": case(
        _FEW[:1] * 8 + _FEW[1:2] * 8 + _FEW[2:],
        [0] * 8 + [1] * 8 + [0, 0],
        [1] * 18,
        **{"lambda": "1/9", "min_samples_leaf": 2},
    ),
    "a support that is reached with two depths": case(
        _TWICE, [0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], [9] * 4 + [1] * 8, **{"lambda": "1/200", "max_depth": 3}
    ),
    "five classes, four splits": case(
        [[int(k == j) for j in range(4)] for k in range(5)],
        [0, 1, 2, 3, 4],
        [10] * 5,
        **{"lambda": "1/50", "max_splits": 4},
    ),
    "a child that pays for itself by a multiway split": case(
        _ROTATED, [(value + half) % 3 for half, value in _ROTATED], [3] * 6, **{"lambda": "1/6", "max_splits": 3}
    ),
}
