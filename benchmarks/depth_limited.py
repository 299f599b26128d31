"""Search time of the solver ``murtree`` against pystreed, for the fewest errors of a tree of given depth.

Both get the same 0/1 columns and must find the same number of errors. Runs alternate, each in a process of its own, on
one thread. The clock is the processor time of the search, with the preparation of the data and the reading of the tree.
With ``--f1`` both find the greatest F1 score of the training rows, in the sets of two classes.

    python benchmarks/depth_limited.py --python VENV/bin/python --data DIR --out runs.csv

VENV has pystreed; DIR has the binarised sets as text, class first (``anneal.txt``, may be compressed: ``.txt.gz``).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import os
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from branches_authors import number, output
from drivers import alternate, saved

from optree.bench.system.cli import reporting
from optree.errors import OptreeError

PYSTREED = """
import numpy as np
from pystreed import STreeDClassifier

table, task, depth, seconds = sys.argv[1:]
rows = np.load(table)

def fit(depth):
    model = STreeDClassifier(optimization_task=task, max_depth=depth, time_limit=float(seconds))
    return model.fit(rows[:, 1:], rows[:, 0])

fit(1)
model, seconds = timed(lambda: fit(int(depth)))
found, y = model.predict(rows[:, 1:]), rows[:, 0]
errors, hits = int((found != y).sum()), int((found * y).sum())
score = errors if task == "accuracy" else round(2 * hits / (2 * hits + errors), 9)
report(complete=bool(model.fit_result.is_optimal()), score=score, **seconds)
"""

OPTREE = """
from optree import solvers
from optree.budget import Budget
from optree.encoding.problem_files import load_problem
from optree.objective import Objective

data, depth, seconds = sys.argv[1:]
problem, _ = load_problem(data)
solver, objective, budget = solvers.get("murtree"), Objective.of(0, max_depth=int(depth)), Budget(float(seconds))
solver.solve(problem, Objective.of(0, max_depth=min(4, int(depth))), budget)  # compiles the kernels, or loads them
result, seconds = timed(lambda: solver.solve(problem, objective, budget))
report(complete=result.status == "optimal", score=int(result.cost_in_rows), **seconds)
"""

BEST_F1 = """
from optree.budget import Budget
from optree.encoding.problem_files import load_problem
from optree.solvers.murtree.pareto_front import best_f1

data, depth, seconds = sys.argv[1:]
problem, _ = load_problem(data)
best_f1(problem, min(4, int(depth)), budget=Budget(float(seconds)))  # compiles the kernels, or loads them
result, seconds = timed(lambda: best_f1(problem, int(depth), budget=Budget(float(seconds))))
report(complete=result.status == "optimal", score=round(float(result.score), 9), **seconds)
"""


class Run(NamedTuple):
    """A search. ``complete``: it ended with a proof, before the limit. ``score``: the errors, or the F1 score."""

    dataset: str
    depth: int
    program: str
    repeat: int
    complete: bool
    score: float
    cpu_seconds: float
    wall_seconds: float
    peak_rss_mib: float


def read(path: Path) -> np.ndarray:
    """Read the rows of a file of whole numbers, class first."""
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as lines:
            rows = np.loadtxt(lines, np.int64, ndmin=2)
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: not rows of whole numbers ({error})") from error
    if rows.shape[1] < 2 or rows[:, 1:].min() < 0 or rows[:, 1:].max() > 1:
        raise OptreeError(f"{path}: columns after the first must be 0 or 1")
    rows[:, 0] = np.unique(rows[:, 0], return_inverse=True)[1]
    return rows


def measure(path: Path, depth: int, options: argparse.Namespace) -> Iterator[tuple[Run, Run]]:
    """Yield the runs of a case, alternated; once only if pystreed does not finish."""
    name, rows, limits = path.name.split(".")[0], read(path), [depth, options.time_limit]
    if options.f1 and rows[:, 0].max() > 1:
        return
    task, ours = ("f1-score", BEST_F1) if options.f1 else ("accuracy", OPTREE)
    with saved(rows) as (table, encoded):
        commands = {
            "pystreed": (options.python, PYSTREED, [table, task, *limits]),
            "optree": (sys.executable, ours, [encoded, *limits]),
        }
        rounds = alternate(f"{name}, depth {depth}", commands, options.repeats, options.time_limit)
        for repeat, reports in enumerate(rounds):
            theirs, ours = (Run(name, depth, program, repeat, **report) for program, report in reports.items())
            if theirs.complete and ours.complete and theirs.score != ours.score:
                raise OptreeError(f"{name}, depth {depth}: {task} {theirs.score} of pystreed, {ours.score} of optree")
            yield theirs, ours
            if not theirs.complete:
                return


def ratio(pairs: list[tuple[Run, Run]]) -> float | None:
    """Return the ratio of their seconds to ours: the median of neighbouring runs. None if ours did not end."""
    if not all(ours.complete for _, ours in pairs):
        return None
    return statistics.median(theirs.cpu_seconds / ours.cpu_seconds for theirs, ours in pairs)


def line(pairs: list[tuple[Run, Run]]) -> str:
    """Return a row of the table."""
    theirs, ours = pairs[0]
    mark, times = "" if theirs.complete else ">", ratio(pairs)
    seconds = [
        ("" if all(run.complete for run in runs) else ">") + number(statistics.median(run.cpu_seconds for run in runs))
        for runs in zip(*pairs, strict=True)
    ]
    cells = [ours.dataset, ours.depth, ours.score, *seconds, "" if times is None else mark + number(times)]
    return "| " + " | ".join(map(str, cells)) + " |"


def benchmark(options: argparse.Namespace) -> None:
    """Measure all cases; every run goes to the CSV file as soon as it is done, the table to the screen at the end."""
    paths = sorted(path for path in Path(options.data).glob("*.txt*") if path.name[0].islower())
    chosen = [path for path in paths if not options.datasets or path.name.split(".")[0] in options.datasets]
    if not chosen or options.repeats < 1:
        raise OptreeError(f"--data {options.data}: no such datasets, or --repeats {options.repeats} is below 1")
    score = "F1" if options.f1 else "errors"
    print(f"| dataset | depth | {score} | pystreed s | our s | ratio |\n| :-- | --: | --: | --: | --: | --: |")
    with output(options.out) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Run._fields)
        for depth in options.depths:
            ratios = []
            for path in chosen:
                pairs = []
                for pair in measure(path, depth, options):
                    pairs.append(pair)
                    writer.writerows(pair)
                    file.flush()
                if pairs:
                    ratios += [times] if (times := ratio(pairs)) else []
                    print(line(pairs), flush=True)
            if not ratios:
                continue
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            print(f"| geometric mean of {len(ratios)} | {depth} | | | | {number(mean)} (least {number(min(ratios))}) |")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with one line and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="a Python that has pystreed")
    parser.add_argument("--data", required=True, metavar="DIR", help="binarised sets, class first")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="some of them (all)")
    parser.add_argument("--f1", action="store_true", help="the greatest F1 score in place of the fewest errors")
    parser.add_argument("--depths", nargs="+", type=int, default=[4, 5], metavar="D", help="(4 5)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each program per case (3)")
    parser.add_argument("--time-limit", type=float, default=60, metavar="S", help="seconds a search may take (60)")
    parser.add_argument("--out", required=True, metavar="CSV", help="one line per run")
    with reporting(os.devnull):
        benchmark(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
