"""Random forests, tuned as a baseline: a grid of parameters, each trained and tested on the folds of the trees.

A forest is no tree, so its results are no run records, but a table: a row per dataset, encoding, parameters and fold.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path

import pandas as pd

from optree.bench.splits import FULL, kind, test_rows
from optree.errors import OptreeError, choice
from optree.problem import Problem

# The grid of MurTree's section 5.4.3; shares and functions of the number of features, as scikit-learn names them.
GRID = {"n_estimators": (10, 50, 100), "max_depth": (None, 1, 2, 4), "max_features": (1.0, 0.5, "sqrt", "log2")}


def planned(config: Mapping, datasets) -> list[tuple[str, str]]:
    """The datasets and encodings that ``forests`` in a configuration asks for.

    Raises
    ------
    OptreeError
        Naming the key, the value and what is accepted.
    """
    wanted = config.get("forests")
    if not wanted:
        return []
    for key, known in (("datasets", sorted(datasets)), ("encodings", sorted(config["encodings"]))):
        for name in wanted[key]:
            if name not in known:
                raise choice(f"config: forests: {key}", name, known)
    for split in map(str, wanted["splits"]):
        if kind(split) == FULL:
            raise OptreeError("config: forests: splits: 'full' is not accepted; give seeds, or folds such as 1of5")
    return list(product(wanted["datasets"], wanted["encodings"]))


def measure(problem: Problem, splits: Iterable[str], test_size: str) -> pd.DataFrame:
    """Train and test a forest for each combination of :data:`GRID` and each split.

    Parameters
    ----------
    problem : Problem
    splits : iterable of str
        Seeds or folds, as in :mod:`optree.bench.splits`.
    test_size : str
        Share of rows that a seed holds out.

    Returns
    -------
    pandas.DataFrame
        Columns ``n_estimators``, ``max_depth``, ``max_features``, ``split``, ``accuracy_train``, ``accuracy_test`` and
        ``seconds`` of both.
    """
    from sklearn.ensemble import RandomForestClassifier

    rows = []
    for split in map(str, splits):
        held_out = test_rows(problem.y, split, test_size)
        parts = [(problem.codes[part], problem.y[part]) for part in (~held_out, held_out)]
        for values in product(*GRID.values()):
            parameters, start = dict(zip(GRID, values, strict=True)), time.perf_counter()
            model = RandomForestClassifier(**parameters, random_state=0).fit(*parts[0])
            train, test = (float(model.score(*part)) for part in parts)
            seconds = time.perf_counter() - start
            rows.append(
                {**parameters, "split": split, "accuracy_train": train, "accuracy_test": test, "seconds": seconds}
            )
    return pd.DataFrame(rows)


def write(table: pd.DataFrame, path: str | Path) -> None:
    """Write a table of :func:`measure`, complete or not at all."""
    temporary = Path(f"{path}.{os.getpid()}.tmp")
    table.to_csv(temporary, index=False)
    os.replace(temporary, path)


def read(paths: Iterable[str | Path]) -> dict[str, pd.DataFrame]:
    """All tables together, as a paper's tables and figures take them: ``forests=``; without any, nothing."""
    tables = [pd.read_csv(path, dtype={"split": str, "max_features": str}) for path in paths]
    return {"forests": pd.concat(tables, ignore_index=True)} if tables else {}
