"""One fit: ``python -m optree.bench.fits.fit TABLE RECORD --fit JSON --dataset JSON`` fits an estimator to a table.

For what a search over coded features (``solve.py``) is not about: columns of numbers as they are, targets that are
numbers, forests, boosted trees, random searches. Categories become the numbers of their sorted order. TABLE may be an
encoded problem: then the columns are its features.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numba.core.event import install_recorder

from optree.bench.fits import models, trials
from optree.bench.runs.folds import test_rows
from optree.bench.runs.score import REPEAT_SECONDS
from optree.bench.system import environment, schema
from optree.bench.system.cli import reporting
from optree.budget import peak_rss_mib, rss_mib
from optree.datasets import Dataset, load_table
from optree.errors import OptreeError
from optree.files import write_whole
from optree.problem import Problem
from optree.tree import Tree

SCHEMA = Path(__file__).with_name("fit.schema.json")
_WARM_UP_ROWS = 500
_GRID = 100
_SMALL = 31  # nodes of a tree that is kept


@dataclass(frozen=True)
class Fit:
    """What is to be fitted: one cell of a table.

    Attributes
    ----------
    dataset, model : str
        Names of the datasets table and of the configuration.
    estimator : str
        One of :data:`optree.bench.fits.models.ESTIMATORS`.
    split : str
        "full", the seed of a train/test split, stratified by class, or a fold: :mod:`optree.bench.runs.folds`.
    test_size : str
        Share of rows held out by a seed, a decimal.
    parameters : dict
    space : str or None
        Of a random search, one of :data:`optree.bench.fits.trials.SPACES`; the given parameters stay as they are.
    trials : int or None
        How many of a random search.
    staged : bool
        Keep the test score after each stage of boosting.
    train_rows, test_rows : int or None
        The most rows that are trained on, and that are tested (or validated) on; more are drawn from by the seed.
    repeats : int
        How often it is fitted at most; no more once 10 seconds are spent. Seconds are those of the median.
    encoding : str or None
        Name of the encoding whose features are the columns; None for the table as it is.
    grid : dict
        Of a grid search, lists of values by parameter; the given parameters stay as they are.
    """

    dataset: str
    model: str
    estimator: str
    split: str = "full"
    test_size: str = "0.2"
    parameters: dict = field(default_factory=dict)
    space: str | None = None
    trials: int | None = None
    staged: bool = False
    train_rows: int | None = None
    test_rows: int | None = None
    repeats: int = 1
    encoding: str | None = None
    grid: dict[str, list] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return int(self.split) if self.split.isdigit() else 0

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def forget() -> None:
    """Give back what reading the data took, and begin the peak of memory anew, where the system can do so (Linux)."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError, TypeError):
        return


def numbers(path: str | Path, dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """A table as float64[n, p], or the codes of an encoded problem; and the numbers of the classes, or the target."""
    if Path(path).suffix == ".npz":
        problem, _ = Problem.load(path)
        return problem.codes, problem.y
    table = load_table(path, dataset)
    columns = [
        values.to_numpy(np.float64) if values.dtype.kind == "f" else np.unique(values, return_inverse=True)[1]
        for _, values in table.X.items()
    ]
    y = table.y.to_numpy()
    return np.column_stack(columns).astype(np.float64), (
        np.unique(y, return_inverse=True)[1] if dataset.classes else y.astype(np.float64)
    )


def held_out(y: np.ndarray, fit: Fit, dataset: Dataset) -> np.ndarray:
    """Which rows are for the test; a target that is a number is not stratified."""
    return test_rows(y if dataset.classes else np.zeros(len(y), int), fit.split, fit.test_size)


def at_most(mask: np.ndarray, most: int | None, seed: int) -> np.ndarray:
    """The rows of a mask, bool[n], or as many of them as are allowed, drawn."""
    rows = np.flatnonzero(mask)
    if most is None or len(rows) <= most:
        return mask
    kept = np.zeros_like(mask)
    kept[np.random.RandomState(seed).permutation(rows)[:most]] = True
    return kept


def _staged(model, X: np.ndarray, y: np.ndarray) -> list[float]:
    """The share of right classes after each stage."""
    return [float((predicted == y).mean()) for predicted in model.staged_predict(X)]


def _surface(model, X: np.ndarray, y: np.ndarray) -> list[str]:
    """Of two columns and few classes: the predicted class, a digit, of the points of a grid, row by row from below."""
    if X.shape[1] != 2 or y.dtype.kind == "f" or y.max() > 9 or getattr(model, "tree_", True) is None:
        return []
    x, rows = (np.linspace(X[:, j].min(), X[:, j].max(), _GRID) for j in range(2))
    predicted = model.predict(np.column_stack([np.tile(x, _GRID), np.repeat(rows, _GRID)]))
    return ["".join(map(str, line)) for line in predicted.reshape(_GRID, _GRID).astype(int)]


def _size(model) -> dict:
    """Splits and depth of a single tree, None of others."""
    tree = getattr(model, "tree_", None)
    if tree is None:
        return {"splits": None, "depth": None}
    splits = tree.n_splits if hasattr(tree, "n_splits") else int((tree.feature >= 0).sum())
    return {"splits": splits, "depth": int(getattr(tree, "depth", None) or getattr(tree, "max_depth", 0))}


def _tree(model) -> dict | None:
    """A small tree of ours."""
    tree = getattr(model, "tree_", None)
    return tree.to_dict() if isinstance(tree, Tree) and tree.n_nodes <= _SMALL else None


def _score(model, X: np.ndarray, y: np.ndarray) -> float | None:
    score = model.score(X, y)
    return None if score is None else float(score)


def _fitted(make: Callable, X: np.ndarray, y: np.ndarray, repeats: int) -> tuple[object, dict]:
    """A fitted model, and the seconds and MiB that it took, unless it tells them itself.

    A fit that compiled does not count: many rows may need kernels that few, of the warm-up, do not.
    """
    spent: list[tuple[float, float]] = []
    warm = False
    while len(spent) < repeats and sum(wall for wall, _ in spent) < REPEAT_SECONDS:
        model = make()
        wall, processor = time.perf_counter(), time.process_time()
        with install_recorder("numba:compile") as compiled:
            model.fit(X, y)
        if compiled.buffer and not warm:
            warm = True
            forget()
            continue
        spent.append((time.perf_counter() - wall, time.process_time() - processor))
    wall, processor = sorted(spent)[(len(spent) - 1) // 2]
    return model, getattr(model, "told_", {"wall": wall, "processor": processor, "peak": peak_rss_mib()})


def do(fit: Fit, X: np.ndarray, y: np.ndarray, dataset: Dataset, places: dict | None = None) -> dict:
    """Fit, and return the record.

    Parameters
    ----------
    fit : Fit
    X : float64[n, p]
    y : array of shape (n,)
    dataset : Dataset
    places : dict, optional
        For peers: the ``folder`` of all, and the ``markers`` of their environments.
    """
    test, make = held_out(y, fit, dataset), partial(models.make, fit.estimator, seed=fit.seed)
    train = at_most(~test, fit.train_rows, fit.seed)
    peer = fit.estimator == "Peer"
    own = {"repeats": fit.repeats, **(places or {})} if peer else {}
    some = np.random.RandomState(0).permutation(np.flatnonzero(train))[:_WARM_UP_ROWS]
    small = {"n_estimators": 1} if "n_estimators" in fit.parameters else {}
    if not peer:  # which warms up by itself
        make(fit.parameters | small).fit(X[some], y[some])  # compiles, or loads
    tried = trials.done(fit, X, y, train, test)
    test = at_most(test, fit.test_rows, fit.seed)
    rows, target = (X, y) if train.all() else (X[train], y[train])
    forget()
    before = rss_mib()
    model, told = _fitted(partial(make, fit.parameters | own), rows, target, 1 if peer else fit.repeats)
    return {
        "fit": asdict(fit),
        "data": {"rows": len(X), "features": X.shape[1], "classes": dataset.classes, "sha256": list(dataset.sha256)},
        "rows_train": len(rows),
        "train": _score(model, rows, target),
        "test": _score(model, X[test], y[test]) if test.any() else None,
        "status": getattr(model, "status_", "heuristic"),
        "counters": getattr(model, "counters_", {}),
        "size": _size(model),
        "seconds": {"search": getattr(model, "search_seconds_", None)}
        | {name: told[name] for name in ("wall", "processor")},
        "memory_mib": {"before": 0.0 if peer else before, "peak": told["peak"]},
        "staged": _staged(model, X[test], y[test]) if fit.staged else [],
        "trials": tried,
        "surface": _surface(model, X, y),
        "tree": _tree(model),
        "environment": environment.describe([], environment.code_digest()),
    }


def write(record: dict, path: str | Path) -> None:
    """Validate and write atomically."""
    schema.check(record, SCHEMA, str(path))
    write_whole(path, (json.dumps(record) + "\n").encode())


def read(path: str | Path) -> dict:
    """The record in a file.

    Raises
    ------
    OptreeError
        If it is not one; the message says how to have it made again.
    """
    try:
        record = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: not a record of a fit ({error}); delete the file and it is done again") from error
    schema.check(record, SCHEMA, str(path))
    return record


def main(arguments: list[str] | None = None) -> None:
    """The command line. Bad input ends it with one line that says what is wrong, and exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.fits.fit", description=__doc__.splitlines()[0])
    parser.add_argument("table", help="the canonical content of a dataset (.csv), or an encoded problem (.npz)")
    parser.add_argument("record", help="the record to write (.json)")
    parser.add_argument("--fit", required=True, help="the fit, as JSON; see optree.bench.fit.Fit")
    parser.add_argument("--dataset", required=True, help="the dataset's row, as JSON")
    parser.add_argument("--peers", default="workflow/peers", help="the folder of all peers")
    parser.add_argument("--markers", default=".peers", help="the folder with the peers' environments")
    parser.add_argument("--log", help="where errors and warnings are copied to", default=os.devnull)
    options = parser.parse_args(arguments)
    with reporting(options.log):
        row = json.loads(options.dataset)
        dataset = Dataset(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
        places = {"folder": options.peers, "markers": options.markers}
        write(do(Fit(**json.loads(options.fit)), *numbers(options.table, dataset), dataset, places), options.record)


if __name__ == "__main__":
    main()
