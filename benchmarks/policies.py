"""Search time of policy trees of a given depth against pystreed's instance-cost-sensitive trees.

Both programs get the same 0/1 columns and whole costs of actions. The cheapest action of a row depends on three
columns, with noise. Processes alternate: each solves a set at depths 2, 3 and 4, on one thread. The clock is the
processor time of ``fit``, with the reading of the table in both. The cost of a tree is computed again from its
predictions. A star marks a proof of the peer's that another tree refutes.

    python benchmarks/policies.py --streed VENV/bin/python --out runs.csv
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import statistics
import sys
import tempfile
from pathlib import Path

import numpy as np
from branches_authors import number, output
from drivers import call

from optree.bench.system.cli import reporting

SETS = [(500, 10, 3), (2000, 20, 3), (2000, 30, 2), (5000, 20, 4), (20_000, 30, 3)]  # rows, columns, actions
DEPTHS = (2, 3, 4)

_SOLVE = """
import numpy as np

given = np.load(sys.argv[1])
X, costs, found = given["X"], given["costs"], []
fit(2)  # compiles the kernels, or loads them
for depth in json.loads(sys.argv[2]):
    (model, complete), seconds = timed(lambda: fit(depth))
    chosen = model.predict(X).astype(int)
    found.append(dict(depth=depth, complete=complete, cost=int(costs[np.arange(len(X)), chosen].sum()), **seconds))
report(cases=found)
"""
PYSTREED = (
    """
from pystreed import STreeDInstanceCostSensitiveClassifier

def fit(depth):
    model = STreeDInstanceCostSensitiveClassifier(max_depth=depth, time_limit=300)
    model.fit(X, costs)
    return model, bool(model.fit_result.is_optimal())
"""
    + _SOLVE
)
OPTREE = (
    """
from optree import OptimalPolicyTree

def fit(depth):
    model = OptimalPolicyTree(0, max_depth=depth, time_limit=300).fit(X, costs)
    return model, model.status_ == "optimal"
"""
    + _SOLVE
)


def generate(rows: int, columns: int, actions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 0/1 columns, and costs of 0 to 124, of which 25 are saved by an action that three columns choose."""
    random = np.random.RandomState(0)
    X, costs = random.randint(2, size=(rows, columns)), random.randint(25, 125, (rows, actions))
    costs[np.arange(rows), np.where(X[:, 0] & X[:, 1], 0, np.where(X[:, 2], 1, actions - 1))] -= 25
    return X, costs


def benchmark(options: argparse.Namespace) -> None:
    """Measure all sets; every run goes to the CSV file, the table to the screen."""
    programs = {"pystreed": (options.streed, PYSTREED), "optree": (sys.executable, OPTREE)}
    print("| rows x columns, actions | depth | cost | pystreed s | our s | MiB | ratio |")
    print("| :-- | --: | --: | --: | --: | --: | --: |")
    ratios = []
    with output(options.out) as file, tempfile.TemporaryDirectory() as folder:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rows", "columns", "actions", "program", "depth", "complete", "cost", "cpu_seconds", "mib"])
        for shape in SETS:
            X, costs = generate(*shape)
            np.savez(Path(folder, "set.npz"), X=X, costs=costs)
            seconds, best = {}, {}
            for _ in range(options.repeats):
                for program, (python, code) in programs.items():
                    found = call(f"{shape}: {program}", python, code, [Path(folder, "set.npz"), list(DEPTHS)], 900)
                    for case in found["cases"]:
                        key = program, case["depth"]
                        seconds.setdefault(key, []).append(case["cpu_seconds"])
                        best[key] = case["cost"], case["complete"], found["peak_rss_mib"]
                        row = [*shape, *key, case["complete"], case["cost"], case["cpu_seconds"]]
                        writer.writerow([*row, found["peak_rss_mib"]])
            for depth in DEPTHS:
                theirs, ours = (statistics.median(seconds[program, depth]) for program in programs)
                (their_cost, complete, their_mib), (cost, _, mib) = (best[program, depth] for program in programs)
                star = "*" * (complete and their_cost > cost)
                ratios.append(theirs / ours)
                cells = [f"{shape[0]} x {shape[1]}, {shape[2]}", depth, cost, number(theirs) + star, number(ours)]
                cells += [f"{number(their_mib)} / {number(mib)}", number(theirs / ours)]
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    print(f"geometric mean of {len(ratios)} ratios {number(math.exp(statistics.fmean(map(math.log, ratios))))}")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with one line and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streed", metavar="PYTHON", required=True, help="a Python that has pystreed")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each program per set (3)")
    parser.add_argument("--out", required=True, metavar="CSV", help="one line per run")
    with reporting(os.devnull):
        benchmark(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
