"""Counts and time of Rashomon sets: the solver ``rashomon`` against tree-praxis and arborenum, exact.

All get the same 0/1 columns without constant columns, copies and complements, the same penalty and the same bound, both
in whole rows as the peers round them. All must count the same trees; the peers count modulo 2^64. Runs alternate, each
in a process of its own, on one thread, after a first search. Seconds are processor time of the whole call.

    python benchmarks/rashomon.py --python VENV/bin/python --mirror DIR --out runs.csv

VENV has tree-praxis and arborenum. DIR has ``gosdt/compas/binned.csv``, ``branches/preprocessed/*-o.txt`` and
``murtree/*.txt``, as the papers' programs read them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import os
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from branches_authors import number, output
from drivers import alternate, saved
from size import draw

from optree.bench.system.cli import reporting
from optree.errors import OptreeError

PEER = """
import numpy as np
import signal
name, table, penalty, depth, multiplier, limit = sys.argv[1:]
signal.alarm(int(float(limit)))  # a limit on processor time would make the processor's clock coarse
rows = np.load(table)
X, y, depth = rows[:, 1:].astype(np.uint8), rows[:, 0].astype(int), int(depth)
if name == "praxis":
    from praxis import PRAXIS as Model
else:
    from arborenum import ArborEnum as Model

def fit(X, y):
    model = Model()
    search = model.fit if name == "praxis" else model.fit_binarized
    search(X, y, lambda_reg=int(penalty) / len(rows), depth_budget=depth, rashomon_mult=float(multiplier),
           lookahead_k=depth - 1, key_mode="exact", majority_leaf_only=True)
    return model

fit(X[::7, :3], y[::7])
model, seconds = timed(lambda: fit(X, y))
report(count=str(model.count_trees()), optimum=round(model.get_min_objective()), **seconds)
"""

OPTREE = """
from math import floor
from optree import solvers
from optree.encoding.problem_files import load_problem
from optree.objective import Objective

data, penalty, depth, multiplier = sys.argv[1:]
problem, _ = load_problem(data)
n, solver = problem.total_weight, solvers.get("rashomon")
objective = Objective.of(f"{penalty}/{n}", "leaf", max_depth=int(depth))
optimum = int(solver.solve(problem, objective, multiplier="0").found.optimum)
bound = floor(optimum * (1 + float(multiplier)) + 0.5)
problem, _ = load_problem(data)
result, seconds = timed(lambda: solver.solve(problem, objective, bound=f"{bound}/{n}"))
report(count=str(result.found.trees.total), optimum=optimum, **seconds)
"""


PLANTED = "planted"  # 100,000 rows of 30 columns: ``size.draw``


class Case(NamedTuple):
    """A set: the penalty is ``regularization`` times the rows, rounded, at least 1."""

    dataset: str
    regularization: float
    depth: int
    multiplier: float


CASES = [
    *(Case("compas", *rest) for rest in ((0.02, 5, 0.05), (0.01, 5, 0.05), (0.005, 5, 0.05), (0.01, 5, 0.1))),
    *(Case("compas", *rest) for rest in ((0.005, 5, 0.1), (0.001, 6, 0.3))),
    *(Case(f"monk{i}", *rest) for i, rest in ((1, (0.02, 5, 0.05)), (2, (0.005, 5, 0.05)), (3, (0.01, 5, 0.05)))),
    Case("careval", 0.005, 5, 0.05),
    Case("balance", 0.005, 5, 0.05),
    *(Case("tictactoe", lam, 5, 0.05) for lam in (0.02, 0.005)),
    Case("anneal", 0.01, 4, 0.05),
    *(Case("heart-cleveland", lam, 5, 0.05) for lam in (0.02, 0.01, 0.005)),
    *(Case("german-credit", 0.02, depth, 0.05) for depth in (4, 5)),
    Case("breast-wisconsin", 0.01, 5, 0.05),
    Case("splice-1", 0.02, 4, 0.05),
    Case(PLANTED, 0.001, 5, 0.1),
]


class Run(NamedTuple):
    """A search. ``count`` has any number of digits; a peer's is modulo 2^64."""

    dataset: str
    regularization: float
    depth: int
    multiplier: float
    program: str
    repeat: int
    count: str
    optimum: int
    cpu_seconds: float
    wall_seconds: float
    peak_rss_mib: float


def numbers(path: Path, **options) -> np.ndarray:
    """Read a file of whole numbers, which may be compressed."""
    packed = path.with_name(path.name + ".gz")
    try:
        with gzip.open(packed, "rt") if packed.exists() else open(path) as lines:
            return np.loadtxt(lines, np.int64, ndmin=2, **options)
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: not rows of whole numbers ({error})") from error


def read(mirror: Path, name: str) -> np.ndarray:
    """Return 0/1 columns of a dataset after the class, without constant columns, copies and complements."""
    if name == PLANTED:
        problem = draw(100_000, 30, 2, seed=0)
        X, y = problem.codes, problem.y
    elif name == "compas":
        rows = numbers(mirror / "gosdt/compas/binned.csv", delimiter=",", skiprows=1)
        X, y = rows[:, :-1], rows[:, -1]
    elif (mirror / f"branches/preprocessed/{name}-o.txt").exists():
        rows = numbers(mirror / f"branches/preprocessed/{name}-o.txt")
        y, tests = rows[:, -1], [rows[:, j : j + 1] == np.unique(rows[:, j])[1:] for j in range(rows.shape[1] - 1)]
        X = np.hstack(tests)
    else:
        rows = numbers(mirror / f"murtree/{name}.txt")
        X, y = rows[:, 1:], rows[:, 0]
    kept = {}
    for j, column in enumerate((X ^ X[0]).astype(np.uint8).T):
        if column.any():
            kept.setdefault(column.tobytes(), j)
    return np.column_stack([np.unique(y, return_inverse=True)[1], X[:, [*kept.values()]]])


def measure(case: Case, options: argparse.Namespace) -> list[Run]:
    """Return the runs of a case, alternated; a peer that fails or reaches the time limit runs once."""
    rows, runs = read(Path(options.mirror), case.dataset), []
    penalty = max(1, round(case.regularization * len(rows)))
    with saved(rows) as (table, encoded):
        arguments = [penalty, case.depth, case.multiplier]
        commands = {"optree": (sys.executable, OPTREE, [encoded, *arguments])}
        for peer in options.peers:
            commands[peer] = (options.python, PEER, [peer, table, *arguments, options.time_limit])
        where = f"{case.dataset}, {case.regularization}, depth {case.depth}"
        rounds = alternate(where, commands, options.repeats, options.time_limit, may_fail=options.peers)
        for repeat, reports in enumerate(rounds):
            runs += [Run(*case, program, repeat, **report) for program, report in reports.items()]
    check(case, runs)
    return runs


def check(case: Case, runs: list[Run]) -> None:
    """Raise OptreeError if two programs differ in the optimum or, modulo 2^64, in the count."""
    for run in runs:
        same = run.optimum == runs[0].optimum and (int(run.count) - int(runs[0].count)) % 2**64 == 0
        if not same:
            raise OptreeError(
                f"{case.dataset}: {run.program} counts {run.count} trees above {run.optimum} rows, "
                f"optree {runs[0].count} above {runs[0].optimum}"
            )


def line(case: Case, runs: list[Run], peers: list[str]) -> str:
    """Return a row of the table."""
    cells = [f"{case.dataset} {case.regularization:g} d{case.depth}, {case.multiplier:.0%}", runs[0].count]
    for program in (*peers, "optree"):
        own = [run for run in runs if run.program == program]
        for name in ("cpu_seconds", "peak_rss_mib"):
            cells.append(number(statistics.median(getattr(run, name) for run in own)) if own else "-")
    times = [statistics.median(run.cpu_seconds for run in runs if run.program == p) for p in {r.program for r in runs}]
    ours = statistics.median(run.cpu_seconds for run in runs if run.program == "optree")
    others = sorted(time for time in times if time != ours)
    cells.append(number(others[0] / ours) if others else "-")
    return "| " + " | ".join(cells) + " |"


def benchmark(options: argparse.Namespace) -> None:
    """Measure all cases; every run goes to the CSV file as soon as it is done, the table to the screen."""
    cases = [case for case in CASES if not options.datasets or case.dataset in options.datasets]
    if not cases or options.repeats < 1:
        raise OptreeError(f"--datasets {options.datasets}: none is known, or --repeats {options.repeats} is below 1")
    heads = [f"{program} {unit}" for program in (*options.peers, "optree") for unit in ("s", "MiB")]
    print("| set | trees | " + " | ".join(heads) + " | ratio |\n| :-- " + "| --: " * (len(heads) + 2) + "|")
    ratios = []
    with output(options.out) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Run._fields)
        for case in cases:
            runs = measure(case, options)
            writer.writerows(runs)
            file.flush()
            row = line(case, runs, options.peers)
            print(row, flush=True)
            last = row.split("|")[-2].strip()
            ratios += [] if last == "-" else [float(last)]
    if ratios:
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"Ratios to the faster peer: {len(ratios)}, geometric mean {number(mean)}, least {number(min(ratios))}.")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with one line and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="a Python that has tree-praxis and arborenum")
    parser.add_argument("--mirror", required=True, metavar="DIR", help="the data")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="some of them (all)")
    parser.add_argument("--peers", nargs="*", default=["praxis", "arborenum"], help="(praxis arborenum)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each program per case (3)")
    parser.add_argument("--time-limit", type=float, default=60, metavar="S", help="seconds of a peer (60)")
    parser.add_argument("--out", required=True, metavar="CSV", help="one line per run")
    with reporting(os.devnull):
        benchmark(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
