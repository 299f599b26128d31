"""The run of a model, in this process; :mod:`optree.bench.runs.job` executes it in a child.

Models serve everything beyond a search over encoded features: numeric columns without an encoding, numeric targets,
forests, boosted trees, random searches. In a table, categories become the integers of their sorted order. A run with an
encoding takes the encoded features as columns, and the numbers that the encoding keeps.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from optree.bench.models import estimators, trials
from optree.bench.runs.encode import describe_table
from optree.bench.runs.folds import held_out
from optree.bench.runs.record import Run
from optree.bench.runs.score import REPEAT_SECONDS
from optree.bench.system import environment
from optree.bench.system.numba_cache import compilation_lock
from optree.budget import peak_rss_mib, rss_mib
from optree.compilation import COMPILATION
from optree.datasets import Dataset, load_table
from optree.encoding.problem_files import load_problem
from optree.tree import Tree

_WARM_UP_ROWS = 500
_SURFACE_POINTS = 100  # of each axis of a decision surface
_MAX_NODES = 31  # of a tree that the record keeps


def release_memory() -> None:
    """Return freed memory to the system, and reset the peak of this process's memory, where possible (Linux)."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError, TypeError):
        return


class Rows(NamedTuple):
    """The rows of a dataset for models: columns float64[n, p], or codes of an encoded problem, and the target."""

    X: np.ndarray
    y: np.ndarray  # class indices, or float64 values
    data: dict  # for the record

    @property
    def has_classes(self) -> bool:
        return self.y.dtype.kind != "f"


def load_rows(path: str | Path, dataset: Dataset) -> Rows:
    """Return the rows in an encoded problem (.npz), or in the canonical content of a dataset (.csv)."""
    if Path(path).suffix == ".npz":
        problem, notes = load_problem(path)
        X = problem.columns.as_numbers().X if problem.columns.has_numbers else problem.codes
        return Rows(X, problem.y, notes["data"])
    table = load_table(path, dataset)
    columns = [
        values.to_numpy(np.float64) if values.dtype.kind == "f" else np.unique(values, return_inverse=True)[1]
        for _, values in table.X.items()
    ]
    y = table.y.to_numpy()
    y = np.unique(y, return_inverse=True)[1] if dataset.classes else y.astype(np.float64)
    X = np.column_stack(columns).astype(np.float64)
    return Rows(X, y, describe_table(table, dataset, X.shape[1], int(y.max()) + 1 if dataset.classes else 0))


def test_mask(rows: Rows, run: Run) -> np.ndarray:
    """Return the test rows as a mask, bool[n], stratified by class but not by a numeric target."""
    return held_out(rows.y if rows.has_classes else np.zeros(len(rows.y), int), run.split, run.test_size)


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


def _root_splits(model, X: np.ndarray) -> list[list]:
    """Return the candidate splits of the root: each one's test, and the rows of code 1, packed as hexadecimal text.

    A tree whose search does not list candidate splits has its own root split.
    """
    if (encoder := getattr(model, "root_encoder_", None)) is None:
        encoder = model.encoder_.keep([int(model.tree_.feature[0])])
    packed = np.packbits(encoder.transform(X).T == 1, axis=1)
    return [[feature.name, rows.tobytes().hex()] for feature, rows in zip(encoder.features_, packed, strict=True)]


def _size(tree) -> dict:
    """Return the size of a tree, ours or scikit-learn's; models that are no single tree have none."""
    size: dict = dict.fromkeys(("splits", "leaves", "depth", "decisions", "path_features"))
    if tree is not None:
        depth = tree.depth if isinstance(tree, Tree) else tree.max_depth
        size |= {"splits": int((tree.feature >= 0).sum()), "depth": int(depth)}
    return size


def _score(model, rows: Rows, mask: np.ndarray) -> dict | None:
    """Return the score of a model on rows, None without rows: accuracy, or R2 of a regression."""
    if not mask.any():
        return None
    score = model.score(rows.X[mask], rows.y[mask])
    score = None if score is None else float(score)
    accuracy = score if rows.has_classes else None
    return {"rows": int(mask.sum()), "errors": None, "accuracy": accuracy, "loss": None, "score": score}


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


def execute(run: Run, rows: Rows, peers: Path | None = None, markers: Path | None = None) -> dict:
    """Execute the run of a model and return its record; a peer needs the folders of all peers and of their markers."""
    X, y, training = rows.X, rows.y, run.training
    test, make = test_mask(rows, run), partial(estimators.make, run.solver, seed=run.seed)
    train = sample_rows(~test, training.train_rows, run.seed)
    is_peer = run.solver == estimators.PEER
    peer_parameters = {"repeats": run.repeats, "folder": peers, "markers": markers} if is_peer else {}
    few = np.random.RandomState(0).permutation(np.flatnonzero(train))[:_WARM_UP_ROWS]
    one_tree = {"n_estimators": 1} if "n_estimators" in run.parameters else {}
    start = time.perf_counter()
    if not is_peer:  # a peer's runner has a warm-up of its own
        with compilation_lock():
            make(run.parameters | one_tree).fit(X[few], y[few])  # compiles the kernels, or loads them
    warm_up = time.perf_counter() - start
    tried = trials.run_trials(run, X, y, train, test, peer_parameters)
    test = sample_rows(test, training.test_rows, run.seed)
    release_memory()
    before = rss_mib()
    own = (X, y) if train.all() else (X[train], y[train])
    model, measured = _timed_fit(partial(make, run.parameters | peer_parameters), *own, 1 if is_peer else run.repeats)
    tree, searched = getattr(model, "tree_", None), getattr(model, "search_seconds_", None)
    staged = [float((stage == y[test]).mean()) for stage in model.staged_predict(X[test])] if training.staged else []
    return {
        "run": vars(run),
        "data": rows.data,
        "status": getattr(model, "status_", "heuristic"),
        "reason": getattr(model, "reason_", ""),
        "search": getattr(model, "solver_", None),
        "depth_limit": None,
        "cost": dict.fromkeys(("value", "lower_bound", "error_unit", "penalty_unit")),
        **dict.fromkeys(("objective", "objective_bound", "gap", "claim")),
        "train": _score(model, rows, train),
        "test": _score(model, rows, test),
        "size": _size(tree),
        "counters": {"iterations": None, **getattr(model, "counters_", {})},
        "iteration": "",
        "exact": False,
        "seconds": {
            "encode": 0.0,
            "warm_up": warm_up,
            "search": searched,
            "searches": [] if searched is None else [searched],
            "calls": [measured["wall"]],
            "processor": measured["processor"],
        },
        "peak_rss_mib": measured["peak"],
        "trace": [],
        "tree": tree.to_dict() if isinstance(tree, Tree) and tree.n_nodes <= _MAX_NODES else None,
        "environment": environment.describe(sys.argv, estimators.code_digest(run, peers)),
        "model": {
            "memory_before_mib": 0.0 if is_peer else before,
            "staged": staged,
            "trials": tried,
            "surface": _decision_surface(model, X, y),
            "root_splits": _root_splits(model, own[0]) if training.root_splits else [],
        },
    }
