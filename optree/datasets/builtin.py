"""Datasets that need no download: generated files of the UCI repository, and the datasets inside scikit-learn.

The generated datasets have the rows of UCI's files, in the same order. Sources (UCI Machine Learning Repository):
tic-tac-toe endgames, D. W. Aha, 1991; balance scale, T. Hume, 1994, after R. S. Siegler, "Three aspects of cognitive
development", Cognitive Psychology, 1976; the MONK's problems, S. Thrun et al., "The MONK's Problems: A Performance
Comparison of Different Learning Algorithms", Carnegie Mellon University, 1991. The cruise control is a small version of
K. G. Larsen, M. Mikucionis, J. H. Taankvist, "Safe and Optimal Adaptive Cruise Control", Correct System Design, 2015.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product

import numpy as np

from optree.datasets.raw import Raw
from optree.datasets.table import Dataset
from optree.errors import choice

_SQUARES = [f"{row}-{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right")]
_LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
_SCALE = ["left-weight", "left-distance", "right-weight", "right-distance"]
_MONKS = {
    1: lambda a: a[0] == a[1] or a[4] == 1,
    2: lambda a: a.count(1) == 2,
    3: lambda a: (a[4] == 3 and a[3] == 1) or (a[4] != 4 and a[1] != 3),
}


def read(dataset: Dataset) -> Raw:
    """Return the columns of a built-in dataset."""
    if dataset.identifier not in _GENERATORS:
        raise choice(f"dataset {dataset.name}: identifier", dataset.identifier, _GENERATORS)
    columns = _GENERATORS[dataset.identifier]()
    return Raw(list(columns), list(columns.values()), f"generated: {dataset.identifier}")


def _table(names: Sequence[str], rows: Iterable[tuple]) -> dict[str, Sequence]:
    return dict(zip([*names, "class"], zip(*rows, strict=True), strict=True))


def _tic_tac_toe() -> dict[str, Sequence]:
    """Generate all final boards when x moves first: x wins, then o wins, then draws."""
    x_wins, o_wins, draws = [], [], []
    for board in product("xob", repeat=9):
        lines = {board[i] for i, j, k in _LINES if board[i] == board[j] == board[k]} - {"b"}
        lead = board.count("x") - board.count("o")
        if lines == {"x"} and lead == 1:
            x_wins.append((*board, "positive"))
        elif lines == {"o"} and lead == 0:
            o_wins.append((*board, "negative"))
        elif not lines and lead == 1 and "b" not in board:
            draws.append((*board, "negative"))
    return _table(_SQUARES, x_wins + o_wins + draws)


def _balance_scale(balanced: bool) -> dict[str, Sequence]:
    """Generate all settings of a scale, with the lower side L, B or R as class; B only if ``balanced``."""
    rows = []
    for left_weight, left_distance, right_weight, right_distance in product(range(1, 6), repeat=4):
        left, right = left_weight * left_distance, right_weight * right_distance
        side = "L" if left > right else "R" if left < right else "B"
        if balanced or side != "B":
            rows.append((left_weight, left_distance, right_weight, right_distance, side))
    return _table(_SCALE, rows)


def _monks(number: int) -> dict[str, Sequence]:
    """Generate the test file: all robots, with class 1 if the problem's rule holds."""
    robots = product(*(range(1, size + 1) for size in (3, 3, 2, 3, 4, 2)))
    return _table([f"a{i}" for i in range(1, 7)], [(*robot, int(_MONKS[number](robot))) for robot in robots])


def _xor_board() -> dict[str, Sequence]:
    """Draw ten thousand points of the unit square; the class is the XOR of the two halves of the axes."""
    points = np.random.RandomState(0).random_sample((10_000, 2))
    return _table(["x", "y"], [(x, y, int(2 * x) ^ int(2 * y)) for x, y in points.tolist()])


def safe_accelerations(fastest: int = 8, nearest: int = 5, farthest: int = 25) -> dict[tuple, tuple[int, ...]]:
    """Solve the safety game of a cruise control, and return the safe accelerations of each safe state.

    A state has the speed of a car, the speed of the car in front, and the distance in m. The speeds are even numbers of
    m/s from 0 to ``fastest``. The distance ``farthest`` stands for all greater distances too. Each second both cars
    choose an acceleration of -2, 0 or 2 m/s2. An acceleration is safe if every answer of the car in front leads to a
    safe state. A state is safe if its distance is at least ``nearest``, and one of its accelerations is safe. The safe
    states are the greatest fixed point, so that no controller permits more. All numbers are whole.
    """
    speeds, choices = range(0, fastest + 1, 2), (-2, 0, 2)

    def is_safe(speed: int, front: int, distance: int, own: int) -> bool:
        meets = distance + front - speed
        ends = [(front + other, meets + (other - own) // 2) for other in choices if front + other in speeds]
        return speed + own in speeds and all((speed + own, end, min(far, farthest)) in safe for end, far in ends)

    safe = dict.fromkeys(product(speeds, speeds, range(nearest, farthest + 1)), choices)
    while True:
        kept = {state: tuple(own for own in given if is_safe(*state, own)) for state, given in safe.items()}
        kept = {state: given for state, given in kept.items() if given}
        if kept == safe:
            return safe
        safe = kept


def _cruise_control() -> dict[str, Sequence]:
    """Generate the safe states of a cruise control; the class is the greatest safe acceleration."""
    names = {-2: "brake", 0: "hold", 2: "accelerate"}
    rows = [(*state, names[max(accepted)]) for state, accepted in safe_accelerations().items()]
    return _table(["speed", "front speed", "distance"], rows)


def points_of_bucketization() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generate 77 points of two classes in four quadrants, five of them noise, for Theorem 3.1 of GOSDT (ICML 2020).

    The points on both sides of the border between the left and right half are of one class, so bucketization has no
    threshold there. The best tree of four leaves classifies 72 of 77 rows correctly, and 71 without that threshold:
    the paper's 93.5 % and 92.2 %. The arrays are coordinates int64[77, 2], classes int64[77], and bucketized
    coordinates int64[77, 2], which are equal for neighbours of one class.
    """
    x = np.arange(77)
    points = np.stack([x, 34 * x % 77], axis=1)
    label = ((points[:, 0] < 38) == (points[:, 1] < 38)) ^ np.isin(x, (5, 15, 27, 55, 70))
    buckets = np.empty_like(points)
    for axis in range(2):
        order = np.argsort(points[:, axis])
        buckets[order, axis] = np.cumsum(np.diff(label[order], prepend=label[order[0]]) != 0)
    return points, label.astype(np.int64), buckets


def _bucketization(bucketized: bool) -> dict[str, Sequence]:
    points, label, buckets = points_of_bucketization()
    table = (buckets if bucketized else points).astype(float)
    return dict(zip(["x", "y", "class"], [*table.T.tolist(), list(map(str, label.tolist()))], strict=True))


def _scikit_learn(name: str, **options) -> dict[str, Sequence]:
    """Load a dataset inside scikit-learn, with columns named ``petal length``, not ``petal length (cm)``."""
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")(**options)
    names = [str(column).removesuffix(" (cm)").replace("_", " ") for column in data.feature_names]
    classes = [str(data.target_names[label]) for label in data.target] if "target_names" in data else data.target
    return dict(zip([*names, "class"], [*data.data.T, classes], strict=True))


def _friedman(number: int) -> dict[str, Sequence]:
    """Generate 1,000 rows of one of Friedman's regression problems, with four decimals, equal on every machine.

    The noise has a tenth of the target's variance. Sources: J. Friedman, "Multivariate adaptive regression splines",
    Annals of Statistics 19, 1991; L. Breiman, "Bagging predictors", Machine Learning 24, 1996.
    """
    from sklearn import datasets

    noise = {1: 1.6, 2: 125.0, 3: 0.1}[number]
    X, y = getattr(datasets, f"make_friedman{number}")(n_samples=1000, noise=noise, random_state=0)
    columns = [values.round(4).tolist() for values in (*X.T, y)]
    return dict(zip([*(f"x{j + 1}" for j in range(X.shape[1])), "class"], columns, strict=True))


def _breast_cancer_boosted() -> dict[str, Sequence]:
    """Return the tests of a boosted ensemble for breast_cancer as columns, as PRAXIS' notebook makes them.

    The tests are ``x <= threshold``, without copies, of 150 trees of depth 2 (its ``ThresholdGuessBinarizer``).
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import GradientBoostingClassifier

    data = load_breast_cancer()
    model = GradientBoostingClassifier(n_estimators=150, max_depth=2, random_state=0).fit(data.data, data.target)
    trees = [tree.tree_ for (tree,) in model.estimators_]
    tests = {
        (f, t) for tree in trees for f, t in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True) if f >= 0
    }
    columns: dict[bytes, tuple[str, list[int]]] = {}
    for feature, threshold in sorted(tests):
        column = data.data[:, feature] <= threshold
        columns.setdefault(column.tobytes(), (f"{data.feature_names[feature]} <= {threshold:.6g}", column.astype(int)))
    return dict([*columns.values(), ("class", [str(data.target_names[label]) for label in data.target])])


_GENERATORS: dict[str, Callable[[], dict[str, Sequence]]] = {
    "tic-tac-toe": _tic_tac_toe,
    "balance-scale": partial(_balance_scale, balanced=True),
    "balance-scale-576": partial(_balance_scale, balanced=False),
    **{f"monks-{number}": partial(_monks, number) for number in _MONKS},
    "bucketization": partial(_bucketization, bucketized=False),
    "bucketization-bucketized": partial(_bucketization, bucketized=True),
    **{name: partial(_scikit_learn, name) for name in ("iris", "wine", "breast_cancer", "digits")},
    "diabetes": partial(_scikit_learn, "diabetes", scaled=False),
    "xor-board": _xor_board,
    "cruise-control": _cruise_control,
    **{f"friedman-{number}": partial(_friedman, number) for number in (1, 2, 3)},
    "breast-cancer-boosted": _breast_cancer_boosted,
}
