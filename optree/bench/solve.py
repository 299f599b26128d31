"""One run: ``python -m optree.bench.solve PROBLEM RECORD --run JSON`` reads an encoded problem and writes a record.

Imports only what a solve needs; scikit-learn and pandas alone would cost more than most searches.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np

from optree import solvers
from optree.bench import environment, record
from optree.bench.cli import reporting
from optree.bench.record import Run
from optree.bench.splits import test_rows
from optree.budget import Budget, peak_rss_mib
from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Feature, Problem
from optree.result import Result
from optree.solvers.spec import Solver

# Small, but it makes every kernel of a solver run: two classes, binary and, for those that take them, ternary features.
_WARM_UP_ROWS = np.array([[a, b, c] for a in range(2) for b in range(2) for c in range(3)], np.int32)


def _warm_up(solver: Solver, objective: Objective, parameters: dict) -> float:
    """Seconds that a first, tiny search takes: compilation, or loading what was compiled before."""
    start = time.perf_counter()
    width = 3 if "multiway" in solver.features else 2
    features = tuple(Feature(name, tuple("012"[:size])) for name, size in zip("abc"[:width], (2, 2, 3), strict=False))
    labels = _WARM_UP_ROWS.sum(axis=1) % 2
    problem = Problem(_WARM_UP_ROWS[:, :width], labels, features, ("even", "odd"))
    solver.solve(problem, objective, **parameters)
    return time.perf_counter() - start


def _score(tree, problem: Problem) -> dict | None:
    """Errors and accuracy of a tree, recomputed from the rows; None without rows."""
    if problem is None:
        return None
    errors = tree.errors(problem)
    return {"rows": problem.total_weight, "errors": errors, "accuracy": 1 - errors / problem.total_weight}


def _check(result: Result, objective: Objective, train: Problem, where: str) -> None:
    """Nobody grades himself: the cost is recomputed from the tree, and a proof must not contradict it."""
    cost = objective.cost(result.tree, result.scale, result.tree.loss(train))
    if cost != result.cost:
        raise OptreeError(f"{where}: claims cost {result.cost}, but its tree costs {cost}")
    if result.lower_bound is not None and result.lower_bound > cost:
        raise OptreeError(f"{where}: claims the bound {result.lower_bound} above the cost {cost} of its own tree")
    if result.status == "optimal" and result.lower_bound != cost:
        raise OptreeError(f"{where}: claims to be optimal with bound {result.lower_bound} and cost {cost}")
    for name, value in objective.broken(result.tree, train).items():
        raise OptreeError(f"{where}: its tree breaks {name} = {objective.constraints[name]} with {value}")


def solve(problem: Problem, notes: dict, run: Run) -> dict:
    """Do a run and return its record.

    Parameters
    ----------
    problem : Problem
        All rows of the dataset, encoded.
    notes : dict
        What the encode step wrote beside it: ``data`` (provenance) and ``seconds``.
    run : Run

    Raises
    ------
    OptreeError
        For what the solver does not accept, and for a result that its own tree contradicts.
    """
    solver = solvers.get(run.solver)
    objective = Objective.of(run.regularization, run.penalty, run.max_depth, run.max_splits, run.min_samples_leaf)
    budget = Budget(**run.limits)
    held_out = test_rows(problem.y, run.split, run.test_size)
    train = problem.take(np.flatnonzero(~held_out))
    test = problem.take(np.flatnonzero(held_out)) if held_out.any() else None
    warm_up_seconds = _warm_up(solver, objective, run.parameters)
    seed = int(run.split) if run.split.isdigit() else 0
    result = solver.solve(train, objective, budget, seed, **run.parameters)
    _check(result, objective, train, f"{run.dataset}/{run.encoding}: solver {run.solver}")
    bound = None if result.lower_bound is None else 1 - float(result.lower_bound_in_rows / train.total_weight)
    value = 1 - float(result.cost_in_rows / train.total_weight)
    return {
        "run": {**run.__dict__},
        "data": notes["data"] | {"encoded_features": len(problem.features), "parts": int(problem.n_parts.sum())},
        "status": result.status,
        "cost": {
            "value": result.cost,
            "lower_bound": result.lower_bound,
            "error_unit": result.scale.error,
            "penalty_unit": result.scale.penalty,
        },
        "objective": value,
        "objective_bound": bound,
        "gap": None if bound is None else bound - value,
        "train": _score(result.tree, train),
        "test": _score(result.tree, test),
        "size": {"splits": result.tree.n_splits, "leaves": result.tree.n_leaves, "depth": result.tree.depth},
        "counters": result.counters,
        "iteration": solver.iteration,
        "exact": solver.exact,
        "seconds": {"encode": notes["seconds"], "warm_up": warm_up_seconds, "search": result.search_seconds},
        "peak_rss_mib": peak_rss_mib(),
        "trace": [list(point) for point in result.trace],
        "tree": result.tree.to_dict(),
        "environment": environment.describe(sys.argv),
    }


def summary(entry: dict) -> str:
    """One line on a record, for the screen."""
    run = entry["run"]
    depth = "" if run["max_depth"] is None else f" depth {run['max_depth']}"
    gap = f" gap {entry['gap']:.4f}" if entry["gap"] else ""
    return (
        f"{run['algorithm']} on {run['dataset']}/{run['encoding']} lambda {run['regularization']}{depth} "
        f"split {run['split']}: {entry['status']}{gap}, objective {entry['objective']:.5f}, "
        f"{entry['size']['splits']} splits, {entry['counters']['iterations']} iterations, "
        f"{entry['seconds']['search']:.3f} s (+ {entry['seconds']['warm_up']:.1f} s warm-up)"
    )


def main(arguments: list[str] | None = None) -> None:
    """The command line. Bad input ends it with one line that says what is wrong, and exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.solve", description=__doc__.splitlines()[0])
    parser.add_argument("problem", help="an encoded problem (.npz)")
    parser.add_argument("record", help="the run record to write (.json)")
    parser.add_argument("--run", required=True, help="the run, as JSON; see optree.bench.record.Run")
    parser.add_argument("--log", help="where errors and warnings are copied to", default=os.devnull)
    options = parser.parse_args(arguments)
    with reporting(options.log):
        entry = solve(*Problem.load(options.problem), Run.from_json(options.run))
        record.write(entry, options.record)
        print(summary(entry), file=sys.stderr)


if __name__ == "__main__":
    main()
