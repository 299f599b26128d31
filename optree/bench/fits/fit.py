"""One fit: ``python -m optree.bench.fits.fit TABLE RECORD --fit JSON --dataset JSON`` fits an estimator to a table.

Fits serve everything beyond a search over encoded features: numeric columns without an encoding, numeric targets,
forests, boosted trees, random searches. Categories become the integers of their sorted order. TABLE may also be an
encoded problem; then the columns are its features.
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

from optree.bench.fits import models, trials
from optree.bench.peers.declaration import add_peer_options
from optree.bench.runs import record
from optree.bench.runs.folds import held_out, random_seed
from optree.bench.runs.score import REPEAT_SECONDS
from optree.bench.system import environment, schema
from optree.bench.system.cli import reporting
from optree.budget import peak_rss_mib, rss_mib
from optree.compilation import COMPILATION
from optree.datasets import Dataset, load_table
from optree.files import write_whole
from optree.problem import Problem
from optree.tree import Tree

SCHEMA = Path(__file__).with_name("fit.schema.json")
_WARM_UP_ROWS = 500
_SURFACE_POINTS = 100  # of each axis of a decision surface
_MAX_NODES = 31  # of a tree that the record keeps


@dataclass(frozen=True)
class Fit:
    """One fit: a dataset, a model, and a fold."""

    dataset: str  # name in the datasets table
    model: str  # name in the configuration
    estimator: str  # one of optree.bench.fits.models.ESTIMATORS
    split: str = "full"  # the fold; see optree.bench.runs.folds
    test_size: str = "0.2"  # share of rows that a seed holds out, a decimal
    parameters: dict = field(default_factory=dict)  # the estimator's; a search does not change them
    space: str | None = None  # of a random search, one of optree.bench.fits.trials.SPACES
    trials: int | None = None  # number of candidates of a random search
    staged: bool = False  # whether the record keeps the test score after each stage of boosting
    train_rows: int | None = None  # maximum number of training rows; the seed samples them
    test_rows: int | None = None  # the same for test or validation rows
    repeats: int = 1  # maximum number of fits; none starts after 10 seconds, and the record has the median's seconds
    encoding: str | None = None  # name of the encoding whose features are the columns; None for the table itself
    grid: dict[str, list] = field(default_factory=dict)  # lists of values by parameter, for a grid search

    @property
    def seed(self) -> int:
        return random_seed(self.split)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def release_memory() -> None:
    """Return freed memory to the system, and reset the peak of this process's memory, where possible (Linux)."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError, TypeError):
        return


def load_arrays(path: str | Path, dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return columns, float64[n, p] or the codes of an encoded problem, and class indices or numeric targets."""
    if Path(path).suffix == ".npz":
        problem, _ = Problem.load(path)
        return problem.codes, problem.y
    table = load_table(path, dataset)
    columns = [
        values.to_numpy(np.float64) if values.dtype.kind == "f" else np.unique(values, return_inverse=True)[1]
        for _, values in table.X.items()
    ]
    y = table.y.to_numpy()
    target = np.unique(y, return_inverse=True)[1] if dataset.classes else y.astype(np.float64)
    return np.column_stack(columns).astype(np.float64), target


def test_mask(y: np.ndarray, fit: Fit, dataset: Dataset) -> np.ndarray:
    """Return the test rows as a mask, bool[n], stratified by class but not by a numeric target."""
    return held_out(y if dataset.classes else np.zeros(len(y), int), fit.split, fit.test_size)


def sample_rows(mask: np.ndarray, max_rows: int | None, seed: int) -> np.ndarray:
    """Return the mask, bool[n], or a random sample of ``max_rows`` of its rows if it has more."""
    rows = np.flatnonzero(mask)
    if max_rows is None or len(rows) <= max_rows:
        return mask
    sampled = np.zeros_like(mask)
    sampled[np.random.RandomState(seed).permutation(rows)[:max_rows]] = True
    return sampled


def _decision_surface(model, X: np.ndarray, y: np.ndarray) -> list[str]:
    """Return the predicted class, a digit, at each point of a grid, a string per grid row from the lowest.

    Empty unless there are two columns and at most ten classes.
    """
    if X.shape[1] != 2 or y.dtype.kind == "f" or y.max() > 9 or getattr(model, "tree_", True) is None:
        return []
    across, up = (np.linspace(X[:, j].min(), X[:, j].max(), _SURFACE_POINTS) for j in range(2))
    predicted = model.predict(np.column_stack([np.tile(across, _SURFACE_POINTS), np.repeat(up, _SURFACE_POINTS)]))
    return ["".join(map(str, line)) for line in predicted.reshape(_SURFACE_POINTS, _SURFACE_POINTS).astype(int)]


def _size(tree) -> dict:
    """Return splits and depth of a tree, ours or scikit-learn's; None of models that are no single tree."""
    if tree is None:
        return {"splits": None, "depth": None}
    depth = tree.depth if isinstance(tree, Tree) else tree.max_depth
    return {"splits": int((tree.feature >= 0).sum()), "depth": int(depth)}


def _timed_fit(make: Callable, X: np.ndarray, y: np.ndarray, repeats: int) -> tuple[object, dict]:
    """Return a fitted model with its seconds and peak MiB, which a :class:`PeerModel` measures itself.

    A fit that compiles does not count: many rows may need kernels that the few rows of the warm-up do not.
    """
    spent: list[tuple[float, float]] = []
    warm = False
    while len(spent) < repeats and sum(wall for wall, _ in spent) < REPEAT_SECONDS:
        model = make()
        wall, processor = time.perf_counter(), time.process_time()
        compiled_before = COMPILATION.compiled
        model.fit(X, y)
        if COMPILATION.compiled > compiled_before and not warm:
            warm = True
            release_memory()
            continue
        spent.append((time.perf_counter() - wall, time.process_time() - processor))
    wall, processor = sorted(spent)[(len(spent) - 1) // 2]
    return model, getattr(model, "measured_", {"wall": wall, "processor": processor, "peak": peak_rss_mib()})


def execute(fit: Fit, X: np.ndarray, y: np.ndarray, dataset: Dataset, peer_folders: dict | None = None) -> dict:
    """Execute a fit and return its record; peers need the ``folder`` of all, and the ``markers`` of environments."""
    test, make = test_mask(y, fit, dataset), partial(models.make, fit.estimator, seed=fit.seed)
    train = sample_rows(~test, fit.train_rows, fit.seed)
    is_peer = fit.estimator == "Peer"
    peer_parameters = {"repeats": fit.repeats, **(peer_folders or {})} if is_peer else {}
    few = np.random.RandomState(0).permutation(np.flatnonzero(train))[:_WARM_UP_ROWS]
    one_tree = {"n_estimators": 1} if "n_estimators" in fit.parameters else {}
    if not is_peer:  # a peer's runner has a warm-up of its own
        make(fit.parameters | one_tree).fit(X[few], y[few])  # compiles the kernels, or loads them
    tried = trials.run_trials(fit, X, y, train, test)
    test = sample_rows(test, fit.test_rows, fit.seed)
    rows, target = (X, y) if train.all() else (X[train], y[train])
    release_memory()
    before = rss_mib()
    model, measured = _timed_fit(
        partial(make, fit.parameters | peer_parameters), rows, target, 1 if is_peer else fit.repeats
    )
    tree = getattr(model, "tree_", None)
    return {
        "fit": asdict(fit),
        "data": {"rows": len(X), "features": X.shape[1], "classes": dataset.classes, "sha256": list(dataset.sha256)},
        "rows_train": len(rows),
        "train": model.score(rows, target),
        "test": model.score(X[test], y[test]) if test.any() else None,
        "status": getattr(model, "status_", "heuristic"),
        "counters": getattr(model, "counters_", {}),
        "size": _size(tree),
        "seconds": {"search": getattr(model, "search_seconds_", None)}
        | {name: measured[name] for name in ("wall", "processor")},
        "memory_mib": {"before": 0.0 if is_peer else before, "peak": measured["peak"]},
        "staged": [float((stage == y[test]).mean()) for stage in model.staged_predict(X[test])] if fit.staged else [],
        "trials": tried,
        "surface": _decision_surface(model, X, y),
        "tree": tree.to_dict() if isinstance(tree, Tree) and tree.n_nodes <= _MAX_NODES else None,
        "environment": environment.describe([], environment.code_digest()),
    }


def write(made: dict, path: str | Path) -> None:
    """Validate a record and write its file, completely or not at all."""
    schema.check(made, SCHEMA, str(path))
    write_whole(path, (json.dumps(made) + "\n").encode())


def read(path: str | Path) -> dict:
    """Return the record in a file."""
    return record.read(path, SCHEMA, "not a record of a fit", "it is done again")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Bad input ends it with one line and exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.fits.fit", description=__doc__.splitlines()[0])
    parser.add_argument("table", help="the canonical content of a dataset (.csv), or an encoded problem (.npz)")
    parser.add_argument("record", help="the record to write (.json)")
    parser.add_argument("--fit", required=True, help="the fit, as JSON; see optree.bench.fits.fit.Fit")
    parser.add_argument("--dataset", required=True, help="the dataset's row, as JSON")
    add_peer_options(parser)
    parser.add_argument("--log", default=os.devnull, help="a file for a copy of errors and warnings")
    options = parser.parse_args(arguments)
    with reporting(options.log):
        row = json.loads(options.dataset)
        dataset = Dataset(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()})
        peer_folders = {"folder": options.peers, "markers": options.markers}
        fit = Fit(**json.loads(options.fit))
        write(execute(fit, *load_arrays(options.table, dataset), dataset, peer_folders), options.record)


if __name__ == "__main__":
    main()
