"""What every record is made of, whoever searched: scores are recomputed here, from the tree and the rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from statistics import median_low

import numpy as np

from optree.bench.runs.folds import test_rows
from optree.bench.runs.record import Run
from optree.bench.system import environment
from optree.encoding import Encoder
from optree.measure import Measure
from optree.objective import Objective
from optree.problem import Problem
from optree.result import TracePoint
from optree.solvers.base import Declaration
from optree.tree import Tree

REPEAT_SECONDS = 10.0  # a search is not repeated once that much is spent


@dataclass(frozen=True)
class Found:
    """What searches came to.

    Attributes
    ----------
    status : str
    tree : Tree or None
        None if there is no tree: a search that was ended from outside, or did not start.
    lower_bound : int or None
        No tree costs less; in units of the objective's scale.
    counters : dict
        "iterations" first, None if the solver does not tell.
    searches, calls : tuple of float
        Seconds of each search by the solver's own clock, and of the calls around them. Empty without a search.
    warm_up_seconds, peak_rss_mib : float or None
        None where nothing was run.
    trace : tuple of TracePoint
        Of the search that has the median time.
    reason : str
        Why there is no more than this, one line; empty where there is nothing to say.
    claim : dict or None
        What a peer says of itself; see the schema of records.
    machine : dict
        What the environment of the search has other than that of this process.
    """

    status: str
    tree: Tree | None = None
    lower_bound: int | None = None
    counters: dict[str, int | None] = field(default_factory=lambda: {"iterations": None})
    searches: tuple[float, ...] = ()
    calls: tuple[float, ...] = ()
    warm_up_seconds: float | None = None
    peak_rss_mib: float | None = None
    trace: tuple[TracePoint, ...] = ()
    reason: str = ""
    claim: dict | None = None
    machine: dict = field(default_factory=dict)


def divide(problem: Problem, run: Run) -> tuple[Problem, Problem | None]:
    """The training rows of a run, and those that it holds out, None if it trains on all."""
    held_out = test_rows(problem.y, run.split, run.test_size)
    train = problem.take(np.flatnonzero(~held_out))
    return train, problem.take(np.flatnonzero(held_out)) if held_out.any() else None


def seed(run: Run) -> int:
    """The random seed of a run: that of its split."""
    return int(run.split) if run.split.isdigit() else 0


def depth_limit(run: Run, solver: Declaration, reference: dict | None) -> int | None:
    """The depth limit of a search: the run's own, or for ``depth_of`` the depth of the tree in the reference's record.

    A solver's own greatest depth (``deepest``, of a peer) is never exceeded, and its default.
    """
    told = run.max_depth if reference is None else reference["size"]["depth"]
    limits = [depth for depth in (told, getattr(solver, "deepest", None)) if depth is not None]
    return min(limits, default=None)


def untold(run: Run, reference: dict | None) -> str:
    """Why the depth that a run waits for cannot be told; empty if it can, or if it waits for none."""
    has_tree = reference is None or reference["tree"] is not None
    return "" if has_tree else f"{run.depth_of} has no tree whose depth could be told"


def describe_data(problem: Problem, notes: dict) -> dict:
    """What a record says of the rows: their provenance, and their shape once encoded."""
    return notes["data"] | {"encoded_features": len(problem.features), "parts": int(problem.n_parts.sum())}


def _score(tree: Tree | None, problem: Problem | None, measure: Measure) -> dict | None:
    """Errors, accuracy and loss of a tree on rows; None without rows, and without a tree the rows alone."""
    if problem is None:
        return None
    if tree is None:
        return {"rows": problem.total_weight, "errors": None, "accuracy": None, "loss": None}
    errors, loss = tree.errors(problem), float(measure.share(tree, problem))
    return {"rows": problem.total_weight, "errors": errors, "accuracy": 1 - errors / problem.total_weight, "loss": loss}


def median_search(searches: tuple[float, ...]) -> int:
    """Which search has the median time, of two middle ones the lower: its position."""
    return searches.index(median_low(searches))


def entry(
    problem: Problem, notes: dict, run: Run, solver: Declaration, objective: Objective, found: Found, code: str
) -> dict:
    """The record of a run.

    Parameters
    ----------
    problem : Problem
        All rows of the dataset, encoded.
    notes : dict
        What the encode step wrote beside it: ``data`` (provenance) and ``seconds``.
    run : Run
    solver : Declaration
    objective : Objective
        With the depth limit that the search had.
    found : Found
    code : str
        The digest of the code that the search depends on.
    """
    (train, test), tree, bound = divide(problem, run), found.tree, found.lower_bound
    scale, score = objective.scale(train), _score(tree, train, objective.measure)
    cost = None if tree is None else objective.cost(tree, scale, objective.measure.loss(tree, train))
    value, most = (None if c is None else 1 - float(scale.in_rows(c) / train.total_weight) for c in (cost, bound))
    search = found.searches[median_search(found.searches)] if found.searches else None
    return {
        "run": {**run.__dict__},
        "data": describe_data(problem, notes),
        "status": found.status,
        "reason": found.reason,
        "depth_limit": objective.max_depth,
        "cost": {"value": cost, "lower_bound": bound, "error_unit": scale.error, "penalty_unit": scale.penalty},
        "objective": value,
        "objective_bound": most,
        "gap": None if value is None or most is None else most - value,
        "claim": found.claim,
        "train": score,
        "test": _score(tree, test, objective.measure),
        "size": _size(tree, notes),
        "counters": found.counters,
        "iteration": solver.iteration,
        "exact": solver.exact,
        "seconds": {
            "encode": notes["seconds"],
            "warm_up": found.warm_up_seconds,
            "search": search,
            "searches": list(found.searches),
            "calls": list(found.calls),
        },
        "peak_rss_mib": found.peak_rss_mib,
        "trace": [list(point) for point in found.trace],
        "tree": None if tree is None else tree.to_dict(),
        "environment": environment.describe(sys.argv, code) | found.machine,
    }


def _size(tree: Tree | None, notes: dict) -> dict:
    """Splits, leaves and depth of a tree, and its decision sparsity: what a row meets on its path."""
    if tree is None:
        return dict.fromkeys(("splits", "leaves", "depth", "decisions", "path_features"))
    sources = Encoder.from_dict(notes["encoder"]).sources_ if "encoder" in notes else None
    decisions, features = tree.decisions(sources)
    size = {"splits": tree.n_splits, "leaves": tree.n_leaves, "depth": tree.depth}
    return size | {"decisions": decisions, "path_features": features}


def summary(entry: dict) -> str:
    """One line on a record, for the screen."""
    run, seconds = entry["run"], entry["seconds"]
    depth = "" if run["max_depth"] is None else f" depth {run['max_depth']}"
    head = f"{run['algorithm']} on {run['dataset']}/{run['encoding']} lambda {run['regularization']}{depth} "
    head += f"split {run['split']}: {entry['status']}"
    if entry["tree"] is None:
        return f"{head}, {entry['reason']}"
    gap = f" gap {entry['gap']:.4f}" if entry["gap"] else ""
    iterations = entry["counters"]["iterations"]
    return (
        f"{head}{gap}, objective {entry['objective']:.5f}, {entry['size']['splits']} splits, "
        f"{'?' if iterations is None else iterations} iterations, "
        f"{seconds['search']:.3f} s (+ {seconds['warm_up']:.1f} s warm-up)"
    )
