"""One run: ``python -m optree.bench.solve PROBLEM RECORD --run JSON`` reads an encoded problem and writes a record.

Imports only what a solve needs; scikit-learn and pandas alone would cost more than most searches.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from optree import solvers
from optree.bench import record
from optree.bench.cli import reporting
from optree.bench.entries import REPEAT_SECONDS, Found, divide, entry, median_search, seed, summary, told_depth
from optree.bench.record import Run
from optree.budget import Budget, peak_rss_mib
from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem
from optree.result import Result
from optree.solvers.spec import Solver


def _warm_up(solver: Solver, train: Problem, objective: Objective, parameters: dict) -> float:
    """Seconds of a first call that ends after an iteration: compiling for data of this kind, or loading what was."""
    start = time.perf_counter()
    solver.solve(train, objective, Budget(iterations=1), **parameters)
    return time.perf_counter() - start


def _check(result: Result, objective: Objective, train: Problem, where: str) -> None:
    """Nobody grades himself: the cost is recomputed from the tree, and a proof must not contradict it."""
    cost = objective.cost(result.tree, result.scale, objective.measure.loss(result.tree, train))
    if cost != result.cost:
        raise OptreeError(f"{where}: claims cost {result.cost}, but its tree costs {cost}")
    if result.lower_bound is not None and result.lower_bound > cost:
        raise OptreeError(f"{where}: claims the bound {result.lower_bound} above the cost {cost} of its own tree")
    if result.status == "optimal" and result.lower_bound != cost:
        raise OptreeError(f"{where}: claims to be optimal with bound {result.lower_bound} and cost {cost}")
    for name, value in objective.broken(result.tree, train).items():
        raise OptreeError(f"{where}: its tree breaks {name} = {objective.constraints[name]} with {value}")


def _search(solver: Solver, train: Problem, objective: Objective, run: Run) -> tuple[list[Result], list[float]]:
    """Search ``run.repeats`` times, or less often if :data:`REPEAT_SECONDS` are spent or a limit was reached."""
    budget, results, calls = Budget(**run.limits), [], []
    while len(results) < run.repeats and sum(calls) < REPEAT_SECONDS:
        start = time.perf_counter()
        results.append(solver.solve(train, objective, budget, seed(run), **run.parameters))
        calls.append(time.perf_counter() - start)
        if results[-1].status not in ("optimal", "heuristic"):
            break
    return results, calls


def solve(problem: Problem, notes: dict, run: Run, reference: dict | None = None) -> dict:
    """Do a run and return its record.

    Parameters
    ----------
    problem : Problem
        All rows of the dataset, encoded.
    notes : dict
        What the encode step wrote beside it: ``data`` (provenance) and ``seconds``.
    run : Run
    reference : dict, optional
        The record of ``run.depth_of``: the depth of its tree is the depth limit.

    Raises
    ------
    OptreeError
        For what the solver does not accept, and for a result that its own tree contradicts.
    """
    solver = solvers.get(run.solver)
    objective = run.objective(told_depth(run, reference))
    train, _ = divide(problem, run)
    warm_up_seconds = _warm_up(solver, train, objective, run.parameters)
    results, calls = _search(solver, train, objective, run)
    for result in results:
        _check(result, objective, train, f"{run.dataset}/{run.encoding}: solver {run.solver}")
    searches = tuple(result.search_seconds for result in results)
    result = results[median_search(searches)]
    found = Found(
        status=result.status,
        tree=result.tree,
        lower_bound=result.lower_bound,
        counters=result.counters,
        searches=searches,
        calls=tuple(calls),
        warm_up_seconds=warm_up_seconds,
        peak_rss_mib=peak_rss_mib(),
        trace=result.trace,
    )
    return entry(problem, notes, run, solver, objective, found)


def main(arguments: list[str] | None = None) -> None:
    """The command line. Bad input ends it with one line that says what is wrong, and exit code 1."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.solve", description=__doc__.splitlines()[0])
    parser.add_argument("problem", help="an encoded problem (.npz)")
    parser.add_argument("record", help="the run record to write (.json)")
    parser.add_argument("--run", required=True, help="the run, as JSON; see optree.bench.record.Run")
    parser.add_argument("--depth-of", help="the record whose tree's depth is the depth limit (.json)")
    parser.add_argument("--log", help="where errors and warnings are copied to", default=os.devnull)
    options = parser.parse_args(arguments)
    with reporting(options.log):
        reference = record.read(options.depth_of) if options.depth_of else None
        made = solve(*Problem.load(options.problem), Run.from_json(options.run), reference)
        record.write(made, options.record)
        print(summary(made), file=sys.stderr)


if __name__ == "__main__":
    main()
