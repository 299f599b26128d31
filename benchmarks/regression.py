"""Search time of the solver ``murtree`` against three programs, for the least squared error at a given depth.

All programs get the same 0/1 columns: sets of scikit-learn, and generated sets. A case is a depth, without a penalty or
with a penalty lambda for each split. Processes alternate: each solves all cases of a set, on one thread. A case
that takes longer than two seconds is not repeated. osrt, which needs a penalty, solves each case in a process of its
own, within 4 GiB and from the highest lambda and the least depth on, until it fails to prove one. The clock is the
processor time of ``fit`` there, and of ``Solver.solve`` here. The cost of a tree is computed again from its leaves. A
star marks a wrong certificate: the cost of another program's tree is lower, by more than 1e-9 of it. CLARITree is a
heuristic without a limit on time: its tree for constant leaves is compared by its cost above the least one, and a plus
marks a tree that is not optimal.

With the defaults the whole table takes at most 25 minutes on a quiet machine. Runs are added to the CSV file, and runs
that stand there are not repeated: the same command continues a table that was interrupted, or prints it again.

    python benchmarks/regression.py --streed VENV/bin/python --osrt VENV/bin/python --claritree VENV/bin/python \
        --out runs.csv

The first VENV has pystreed, the second osrt, the third claritree. Programs without an environment are left out.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from branches_authors import number, output
from drivers import call
from sklearn import datasets

from optree.bench.system.cli import reporting
from optree.columns import CodedColumns, Feature
from optree.encoding.encoder import Encoder, EncodingSpec
from optree.encoding.problem_files import save_problem
from optree.errors import OptreeError
from optree.problem import Problem
from optree.target import Values

DEPTHS, PENALTIES = (3, 4, 5), (0, 0.05, 0.02, 0.01, 0.005, 0.002)
CASES = [(depth, penalty) for depth in DEPTHS for penalty in PENALTIES]
LONG = 2  # seconds
SHORT = 0.01  # seconds below which a ratio counts the preparation of the data rather than the search
EQUAL = 1e-9  # relative difference of equal costs
HEURISTICS = {"claritree"}  # programs that prove nothing

# Rows of equal predictions get their mean. The splits are counted in the program's own tree: two leaves may predict the
# same number.
_CASES = """
import numpy as np

table, cases, seconds = sys.argv[1], json.loads(sys.argv[2]), float(sys.argv[3])
rows = np.load(table)
X, y = rows[:, 1:].astype(int), rows[:, 0]
whole = ((y - y.mean()) ** 2).sum()

def cost(predicted, penalty, splits):
    leaf = np.unique(predicted, return_inverse=True)[1].ravel()
    mean = np.bincount(leaf, y) / np.bincount(leaf)
    return ((y - mean[leaf]) ** 2).sum() + penalty * whole * splits

def solve_all(fit):
    found = []
    for depth, penalty in cases:
        (complete, predicted, iterations, leaves), seconds = timed(lambda: fit(depth, penalty))
        own = cost(predicted(X), penalty, leaves() - 1)
        found.append(dict(complete=complete, cost=own, iterations=iterations, **seconds))
    report(cases=found)
"""

PYSTREED = (
    _CASES
    + """
from pystreed import STreeDRegressor

def fit(depth, penalty):
    task = {"optimization_task": "cost-complex-regression", "cost_complexity": penalty}
    if not penalty:
        task = {"optimization_task": "regression"}
    model = STreeDRegressor(max_depth=depth, time_limit=seconds, **task).fit(X, y)
    return bool(model.fit_result.is_optimal()), model.predict, None, model.get_n_leaves

fit(1, 0)
solve_all(fit)
"""
)

OSRT = (
    _CASES
    + """
import contextlib, os, resource
import pandas as pd
from osrt.model.osrt import OSRT

resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])

def fit(depth, penalty):
    options = {"regularization": penalty, "depth_budget": depth + 1, "time_limit": int(seconds), "metric": "L2"}
    model = OSRT({**options, "weights": [], "model_limit": 1, "worker_limit": 1})
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        model.fit(table, pd.DataFrame({"y": y}))
    predicted = lambda X: np.array([float(value) for value in np.ravel(model.predict(table))])
    return not model.timeout and model.ub <= model.lb, predicted, model.iterations, model.leaves

solve_all(fit)
"""
)

# Its penalty is for each leaf, which is one more than splits. A threshold of a column is its only one.
CLARITREE = (
    _CASES
    + """
from clari_tree import CLARITreeConst

def fit(depth, penalty):
    model = CLARITreeConst(depth=depth, lambda_=penalty, n_thresholds=1, verbose=False)
    model.fit(X, y)
    return True, model.predict, None, model.n_leaves

fit(1, 0)
solve_all(fit)
"""
)

OPTREE = (
    _CASES
    + """
from optree import solvers
from optree.budget import Budget
from optree.encoding.encoder import Encoder, EncodingSpec
from optree.encoding.problem_files import load_problem
from optree.objective import Objective

problem, _ = load_problem(table.replace(".npy", ".npz"))
solver = solvers.get("murtree")

def fit(depth, penalty):
    result = solver.solve(problem.over(problem.columns), Objective.of(str(penalty), "split", depth), Budget(seconds))
    predicted = lambda X: result.tree.apply(problem.codes)
    return result.status == "optimal", predicted, result.counters["iterations"], lambda: result.tree.n_leaves

fit(4, 0)  # compiles the kernels, or loads them
solve_all(fit)
"""
)


def binary(random: np.random.RandomState, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw binary columns, and a target of a few interactions and noise."""
    X = random.randint(2, size=(rows, columns))
    y = 2.0 * (X[:, 0] & X[:, 1]) + (X[:, 2] ^ X[:, 3]) + X[:, 4] - 1.5 * (X[:, 5] & X[:, 6] & X[:, 7])
    return X, y + random.randn(rows)


def tables() -> dict[str, tuple[np.ndarray, np.ndarray, int]]:
    """Return columns, target, and the number of thresholds of a column, of each set."""
    wine, cancer = datasets.load_wine().data, datasets.load_breast_cancer().data
    digits, random = datasets.load_digits(return_X_y=True), np.random.RandomState(0)
    x = random.rand(3000, 6)
    waves = np.sin(6 * x[:, 0]) * x[:, 1] + (x[:, 2] > x[:, 3]) + 0.2 * random.randn(3000)
    return {
        "diabetes": (*datasets.load_diabetes(return_X_y=True), 4),
        "wine, proline": (wine[:, :12], wine[:, 12], 3),
        "cancer, texture": (np.delete(cancer, [1, 21], axis=1), cancer[:, 1], 1),
        "digits": (*digits, 1),
        "friedman1": (*datasets.make_friedman1(1000, noise=1.0, random_state=0), 4),
        "friedman2": (*datasets.make_friedman2(1000, noise=100.0, random_state=0), 9),
        "friedman3": (*datasets.make_friedman3(1000, noise=0.1, random_state=0), 9),
        "waves": (x, waves, 6),
        "interactions": (*binary(random, 2000, 40), 1),
        "interactions, many": (*binary(random, 20_000, 40), 1),
    }


class Run(NamedTuple):
    """A search. ``complete``: it ended before the limit, and with a proof unless the program is a heuristic.

    MiB is the peak of all cases of a process.
    """

    dataset: str
    depth: int
    penalty: float
    program: str
    repeat: int
    complete: bool
    cost: float
    iterations: int | None
    cpu_seconds: float
    wall_seconds: float
    peak_rss_mib: float


def write_set(folder: Path, X: np.ndarray, y: np.ndarray, thresholds: int) -> Path:
    """Write a set for all programs: a table, the target first, and the problem beside it; return the table."""
    codes = Encoder(EncodingSpec(max_cuts=thresholds)).fit(X).transform(X)
    features = tuple(Feature(f"x{j}", (f"x{j} = 0", f"x{j} = 1")) for j in range(codes.shape[1]))
    np.save(folder / "rows.npy", np.column_stack([y, codes]))
    save_problem(Problem(CodedColumns(codes, features), Values(y)), folder / "rows.npz")
    return folder / "rows.npy"


def read_runs(path: Path) -> list[Run]:
    """Return the runs of a CSV file; none if there is no such file."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        lines = csv.reader(file)
        if tuple(next(lines, Run._fields)) != Run._fields:
            raise OptreeError(f"--out {path}: the first line is not {','.join(Run._fields)!r}; give another file")
        try:
            return [
                Run(
                    dataset,
                    int(depth),
                    float(penalty),
                    program,
                    int(repeat),
                    complete == "True",
                    float(cost),
                    int(iterations) if iterations else None,
                    *map(float, numbers),
                )
                for dataset, depth, penalty, program, repeat, complete, cost, iterations, *numbers in lines
            ]
        except (TypeError, ValueError) as error:
            raise OptreeError(f"--out {path}, line {lines.line_num}: no run ({error}); delete this line") from error


def measure(
    name: str, table: Path, pythons: dict, options: argparse.Namespace, known: list[Run], keep: Callable
) -> list[Run]:
    """Return the runs of all cases of a set: known ones, and new ones, which go to ``keep`` as they are done."""

    def run(program: str, cases: list, repeat: int) -> list[Run]:
        arguments, start = [table, json.dumps(cases), options.time_limit], time.perf_counter()
        try:
            found = call(f"{name}: {program}", *pythons[program], arguments, len(cases) * options.time_limit)
        except OptreeError:
            if program != "osrt":
                raise
            spent = time.perf_counter() - start  # it is out of memory
            lost = {
                "complete": False,
                "cost": math.inf,
                "iterations": None,
                "cpu_seconds": spent,
                "wall_seconds": spent,
            }
            found = {"cases": [lost], "peak_rss_mib": 4096}
        runs = zip(cases, found["cases"], strict=True)
        runs = [Run(name, *case, program, repeat, **one, peak_rss_mib=found["peak_rss_mib"]) for case, one in runs]
        keep(runs)
        return runs

    runs, left = [], {program: list(CASES) for program in pythons}
    if "osrt" in left:
        left["osrt"] = sorted((case for case in CASES if case[1]), key=lambda case: (-case[1], case[0]))
    for repeat in range(options.repeats):
        for program, cases in left.items():
            before = {(one.depth, one.penalty): one for one in known if (one.program, one.repeat) == (program, repeat)}
            own = []
            for group in [[case] for case in cases] if program == "osrt" else [cases]:
                own += [before[case] for case in group if case in before]
                if missing := [case for case in group if case not in before]:
                    own += run(program, missing, repeat)
                if program == "osrt" and not own[-1].complete:
                    break
            left[program] = [(one.depth, one.penalty) for one in own if one.complete and one.cpu_seconds < LONG]
            runs += own
    return runs


class Case(NamedTuple):
    """The runs of one case: medians of seconds, whether all runs are complete, and trees that are not optimal.

    Such a tree is a wrong certificate, or of a heuristic. It has the share by which its cost is above the lowest.
    """

    seconds: dict[str, float]
    complete: dict[str, bool]
    above: dict[str, float]

    @classmethod
    def of(cls, runs: list[Run]) -> Case:
        """Return the case of some runs."""
        by_program = defaultdict(list)
        for run in runs:
            by_program[run.program].append(run)
        best = min(run.cost for run in runs)
        return cls(
            {program: statistics.median(run.cpu_seconds for run in own) for program, own in by_program.items()},
            {program: all(run.complete for run in own) for program, own in by_program.items()},
            {
                run.program: run.cost / best - 1
                for run in runs
                if run.complete and run.cost > best * (1 + EQUAL) + EQUAL
            },
        )

    def text(self, program: str) -> str:
        """Return the seconds of a program for the table, "-" if it was not run."""
        if program not in self.seconds:
            return "-"
        mark = ("+" if program in HEURISTICS else "*") * (program in self.above)
        return ">" * (not self.complete[program]) + number(self.seconds[program]) + mark

    def is_wrong(self, program: str) -> bool:
        """Return whether a certificate of a program is wrong."""
        return program in self.above and program not in HEURISTICS

    def ratio(self, program: str) -> float | None:
        """Return the ratio of a program's seconds to ours; None if its proof is wrong, or ours is missing."""
        if program not in self.seconds or self.is_wrong(program) or not self.complete["optree"]:
            return None
        return self.seconds[program] / self.seconds["optree"]


def summary(program: str, cases: dict[tuple, Case]) -> Iterator[str]:
    """Yield lines on the ratios of a program's seconds to ours."""
    groups = [
        (f"depth {depth} {'with' if lam else 'without'} lambda", depth, lam) for depth in DEPTHS for lam in (0, 1)
    ]
    for what, *group in [*groups, ("all cases",)]:
        own = [case for (_, depth, penalty), case in cases.items() if not group or group == [depth, bool(penalty)]]
        pairs = [(case, ratio) for case in own if (ratio := case.ratio(program)) is not None]
        if not pairs:
            continue
        mean = math.exp(statistics.fmean(math.log(ratio) for _, ratio in pairs))
        stopped = sum(not case.complete[program] for case, _ in pairs)
        text = f"- {program}, {what}: {number(mean)} in {len(pairs)} cases" + f", {stopped} of them stopped" * (
            stopped > 0
        )
        long = [ratio for case, ratio in pairs if case.complete[program] and case.seconds[program] >= SHORT]
        text += f"; at least {number(min(long))} where it ends after 10 ms" if long else ""
        if program in HEURISTICS:
            shares = [case.above.get(program, 0) for case, _ in pairs]
            text += f"; {shares.count(0)} trees are optimal, costs are {statistics.fmean(shares):.2%} above on average"
            text += f" and {max(shares):.1%} at most"
        yield text
    wrong = [
        f"{key[0]}, depth {key[1]}, lambda {key[2]:g}: {case.above[program]:.2g}"
        for key, case in cases.items()
        if case.is_wrong(program)
    ]
    if wrong:
        yield f"- {program}, wrong certificates, by the share of the cost above ours: {'; '.join(wrong)}"


def benchmark(options: argparse.Namespace) -> None:
    """Measure all sets; every run goes to the CSV file as soon as its process is done, the table to the screen."""
    every = tables()
    unknown = set(options.datasets or ()) - set(every)
    if unknown or options.repeats < 1:
        raise OptreeError(f"--datasets {sorted(unknown)} are not known, or --repeats {options.repeats} is below 1")
    pythons = {
        "pystreed": (options.streed, PYSTREED),
        "osrt": (options.osrt, OSRT),
        "claritree": (options.claritree, CLARITREE),
        "optree": (sys.executable, OPTREE),
    }
    pythons = {program: command for program, command in pythons.items() if command[0]}
    known, path = read_runs(options.out), options.out
    print("| set | depth | " + " | ".join(f"lambda {penalty}" for penalty in PENALTIES) + " |")
    print("| :-- | --: |" + " --: |" * len(PENALTIES), flush=True)
    cases: dict[tuple, Case] = {}
    with output(path, "a") as file, tempfile.TemporaryDirectory() as folder:
        writer = csv.writer(file, lineterminator="\n")

        def keep(runs: list[Run]) -> None:
            writer.writerows(runs)
            file.flush()

        if not file.tell():
            writer.writerow(Run._fields)
        for name in options.datasets or every:
            table = write_set(Path(folder), *every[name])
            rows, columns = np.load(table, mmap_mode="r").shape
            runs = measure(name, table, pythons, options, [run for run in known if run.dataset == name], keep)
            for depth in DEPTHS:
                cells = [f"{name} ({rows} x {columns - 1})", str(depth)]
                for penalty in PENALTIES:
                    case = Case.of([run for run in runs if (run.depth, run.penalty) == (depth, penalty)])
                    cases[name, depth, penalty] = case
                    cells.append(", ".join(case.text(program) for program in pythons))
                print("| " + " | ".join(cells) + " |", flush=True)
    print("\nGeometric means of the ratios to our seconds (with stopped searches, without wrong certificates):\n")
    for program in pythons:
        if program != "optree":
            print(*summary(program, cases), sep="\n")
    failed = sum(not case.complete["optree"] for case in cases.values())
    print(f"- optree was stopped in {failed} of {len(cases)} cases")
    wrong = [key for key, case in cases.items() if "optree" in case.above]
    print(f"- optree has {len(wrong)} wrong certificates", *wrong)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with one line and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streed", metavar="PYTHON", help="a Python that has pystreed")
    parser.add_argument("--osrt", metavar="PYTHON", help="a Python that has osrt")
    parser.add_argument("--claritree", metavar="PYTHON", help="a Python that has claritree")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="some of the sets (all)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each program per case (3)")
    parser.add_argument("--time-limit", type=float, default=15, metavar="S", help="seconds a search may take (15)")
    parser.add_argument("--out", required=True, metavar="CSV", type=Path, help="one line per run; it is continued")
    with reporting(os.devnull):
        benchmark(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
