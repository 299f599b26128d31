"""Run records, made alike for every solver: scores are recomputed here, from the tree and the rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median_low

import numpy as np

from optree import solvers
from optree.bench.runs.folds import held_out
from optree.bench.runs.record import Run
from optree.bench.system import environment
from optree.columns import Columns
from optree.measure import Measure
from optree.objective import Objective
from optree.problem import Problem
from optree.result import TracePoint
from optree.solvers.base import Declaration
from optree.tree import Tree
from optree.words import count

REPEAT_SECONDS = 10.0  # of search, after which no search is repeated


@dataclass(frozen=True)
class SearchOutcome:
    """The outcome of a run's searches; fields with a default may have no value after a search that was killed."""

    status: str
    tree: Tree | None = None
    lower_bound: int | None = None  # on the cost of every tree, in units of the objective's scale
    counters: dict[str, int | None] = field(default_factory=lambda: {"iterations": None})  # "iterations" comes first
    searches: tuple[float, ...] = ()  # seconds of each search by the solver's own clock
    calls: tuple[float, ...] = ()  # seconds of the calls around them
    warm_up_seconds: float | None = None
    peak_rss_mib: float | None = None
    trace: tuple[TracePoint, ...] = ()  # of the search with the median time
    columns: Columns | None = None  # the columns whose features the tree splits; None for the problem's own
    search: str | None = None  # name of the search that did the work; None for a peer
    reason: str = ""  # explanation of the status, one line; may be empty
    claim: dict | None = None  # a peer's own values; see the schema of records
    found: dict | None = None  # the solver's own result beside the tree; see optree.result.Result
    machine: dict = field(default_factory=dict)  # fields of the search's environment that differ from this process's


def train_and_test(problem: Problem, run: Run) -> tuple[Problem, Problem | None]:
    """Return the training rows of a run, and its test rows, None if it trains on all."""
    mask = held_out(problem.y, run.split, run.test_size)
    train = problem.take(np.flatnonzero(~mask))
    return train, problem.take(np.flatnonzero(mask)) if mask.any() else None


def depth_limit(run: Run, solver: Declaration, reference: dict | None) -> int | None:
    """Return the depth limit of a search: the run's own, or with ``depth_of`` the depth of the reference's tree.

    A peer's greatest depth (``deepest``) is an upper limit, and the default.
    """
    requested = run.max_depth if reference is None else reference["size"]["depth"]
    limits = (requested, getattr(solver, "deepest", None))
    return min((depth for depth in limits if depth is not None), default=None)


def why_no_depth(run: Run, reference: dict | None) -> str:
    """Return the reason why the reference of ``depth_of`` gives no depth limit; empty if there is a limit."""
    has_tree = reference is None or reference["tree"] is not None
    return "" if has_tree else f"{run.depth_of} has no tree whose depth could be the limit"


def why_too_large(problem: Problem, notes: dict, run: Run, solver: Declaration) -> str:
    """Return the reason why a run's limit on memory excludes a solver without columns of numbers; empty if it does not.

    Such a solver reads a byte or more for each training row and threshold.
    """
    limit = run.limits.get("memory_mib")
    if limit is None or solver.readable(problem) is problem:
        return ""
    features = notes["data"]["encoded_features"]
    mib = features * int((~held_out(problem.y, run.split, run.test_size)).sum()) / 2**20
    if mib <= limit:
        return ""
    return (
        f"solver {solver.name} takes no columns of numbers; their thresholds are {features:,} binary features, which "
        f"need {mib:,.0f} MiB or more; the limit is {limit:g} MiB"
    )


def _score(tree: Tree | None, problem: Problem | None, measure: Measure) -> dict | None:
    """Return errors, accuracy and loss of a tree on rows; None without rows, only the rows without a tree."""
    if problem is None:
        return None
    if tree is None:
        return {"rows": problem.total_weight, "errors": None, "accuracy": None, "loss": None}
    errors, loss = tree.errors(problem), float(measure.share(tree, problem))
    return {"rows": problem.total_weight, "errors": errors, "accuracy": 1 - errors / problem.total_weight, "loss": loss}


@cache
def solver_digest(name: str, folder: Path | None = None) -> str:
    """Return the digest of the code that the runs of a solver depend on; a peer has a folder."""
    module = "optree.bench.peers.run_peer" if folder else solvers.module_of(name)
    code = environment.code_digest(module, "optree.bench.runs.solve", "optree.bench.runs.encode")
    return environment.folder_digest(folder, code) if folder else code


def median_index(seconds: tuple[float, ...]) -> int:
    """Return the index of the median, of two middle values the lower."""
    return seconds.index(median_low(seconds))


def make_record(
    problem: Problem, notes: dict, run: Run, solver: Declaration, objective: Objective, outcome: SearchOutcome
) -> dict:
    """Return the record of a run, whose objective has the depth limit of the search."""
    (train, test), tree, bound = train_and_test(problem, run), outcome.tree, outcome.lower_bound
    if outcome.columns is not None:
        train, test = (part and part.over(part.columns.like(outcome.columns)) for part in (train, test))
    scale, score = objective.scale(train), _score(tree, train, objective.measure)
    cost = None if tree is None else objective.cost(tree, scale, objective.measure.loss(tree, train))
    value, upper = (None if c is None else 1 - float(scale.in_rows(c) / train.total_weight) for c in (cost, bound))
    search = outcome.searches[median_index(outcome.searches)] if outcome.searches else None
    return {
        "run": {**run.__dict__},
        "data": notes["data"],
        "status": outcome.status,
        "reason": outcome.reason,
        "search": outcome.search,
        "depth_limit": objective.max_depth,
        "cost": {"value": cost, "lower_bound": bound, "error_unit": scale.error, "penalty_unit": scale.penalty},
        "objective": value,
        "objective_bound": upper,
        "gap": None if value is None or upper is None else upper - value,
        "claim": outcome.claim,
        "train": score,
        "test": _score(tree, test, objective.measure),
        "size": _size(tree, train.columns.sources or notes.get("sources")),
        "counters": outcome.counters,
        **({"found": outcome.found or {"count": None}} if solver.counts_trees else {}),
        "iteration": solver.iteration,
        "exact": solver.exact,
        "seconds": {
            "encode": notes["seconds"],
            "warm_up": outcome.warm_up_seconds,
            "search": search,
            "searches": list(outcome.searches),
            "calls": list(outcome.calls),
        },
        "peak_rss_mib": outcome.peak_rss_mib,
        "trace": [list(point) for point in outcome.trace],
        "tree": None if tree is None else tree.to_dict(),
        "environment": environment.describe(sys.argv, solver_digest(solver.name, getattr(solver, "folder", None)))
        | outcome.machine,
    }


def _size(tree: Tree | None, sources: list[int] | None) -> dict:
    """Return splits, leaves and depth of a tree, and the mean splits and features on a row's path."""
    if tree is None:
        return dict.fromkeys(("splits", "leaves", "depth", "decisions", "path_features"))
    decisions, features = tree.decisions(sources)
    size = {"splits": tree.n_splits, "leaves": tree.n_leaves, "depth": tree.depth}
    return size | {"decisions": decisions, "path_features": features}


def summary_line(record: dict) -> str:
    """Return one line about a record, for the screen."""
    run, seconds = record["run"], record["seconds"]
    if run["model"] is not None:
        scores = ((name, record[name]) for name in ("train", "test"))
        said = [f"{name} {score['score']:.4f}" for name, score in scores if score and score["score"] is not None]
        head = f"{run['algorithm']} on {run['dataset']}/{run['encoding'] or 'table'} split {run['split']}"
        return f"{head}: {', '.join([record['status'], *said])}, {seconds['calls'][0]:.3f} s"
    depth = "" if run["max_depth"] is None else f" depth {run['max_depth']}"
    head = f"{run['algorithm']} on {run['dataset']}/{run['encoding']} lambda {run['regularization']}{depth} "
    head += f"split {run['split']}: {record['status']}"
    if record["tree"] is None:
        return f"{head}, {record['reason']}"
    gap = f" gap {record['gap']:.4f}" if record["gap"] else ""
    iterations = record["counters"]["iterations"]
    return (
        f"{head}{gap}, objective {record['objective']:.5f}, {count(record['size']['splits'], 'split')}, "
        f"{'?' if iterations is None else iterations} iterations, "
        f"{seconds['search']:.3f} s (+ {seconds['warm_up']:.1f} s warm-up)"
    )
