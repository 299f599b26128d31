"""Wall-clock time of one search on one thread and on several, with the same tree, in turn.

    python benchmarks/threads.py --data DIR --threads 2 --out threads.csv

DIR has the binarised sets of MurTree's paper below ``murtree`` (class first) and the sets of numbers of ConTree's paper
below ``contree`` (class first), as text; files may be compressed (``.txt.gz``). A case is a kind, a set, and a depth or
a penalty. Cases of ``murtree`` and ``contree`` are searches to a depth. Cases of ``sparse`` are searches of the engine
without a limit on depth, for sets of MurTree's paper. Cases of ``thresholds`` have no limit on depth either, for sets
of ConTree's paper. Cases of ``split`` and ``licketysplit`` are those estimators on the sets of ConTree's paper, for a
depth and the levels of lookahead. Cases of ``rashomon`` are Rashomon sets of the same sets, for a penalty and a depth;
``breast-cancer-boosted`` is generated.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from optree import solvers
from optree.bench.system.cli import reporting
from optree.budget import Budget
from optree.columns import CodedColumns, Feature
from optree.datasets import builtin
from optree.errors import OptreeError
from optree.estimators import LicketySPLITClassifier, OptimalTreeClassifier, SPLITClassifier
from optree.objective import Objective
from optree.problem import Problem
from optree.target import Classes

CASES = (
    *("murtree/diabetes/6", "murtree/german-credit/5", "murtree/german-credit/6", "murtree/yeast/6"),
    *("murtree/vehicle/5", "murtree/ionosphere/4", "murtree/splice-1/4", "murtree/anneal/5", "murtree/anneal/4"),
    *("contree/eeg/3", "contree/htru/3", "contree/magic/3", "contree/avila/3", "contree/bean/3", "contree/rice/3"),
    *("sparse/lymph/0.005", "sparse/soybean/0.005", "sparse/kr-vs-kp/0.002", "sparse/anneal/0.01"),
    *("sparse/audiology/0.005", "sparse/vote/0.002", "sparse/tic-tac-toe/0.0005", "sparse/hepatitis/0.01"),
    *("thresholds/bank/0.01", "thresholds/raisin/0.02", "thresholds/page/0.01", "thresholds/wilt/0.002"),
    *("split/raisin/5:2", "split/bank/5:2", "split/fault/5:1", "split/bean/5:1", "split/eeg/5:1"),
    *("split/magic/5:1", "split/avila/5:1"),
    *("licketysplit/raisin/5:2", "licketysplit/bank/5:2", "licketysplit/fault/5:1", "licketysplit/avila/5:1"),
    *("rashomon/breast-cancer-boosted/0.0053:7", "rashomon/breast-cancer-boosted/0.0088:5"),
)


def read(folder: Path, name: str) -> np.ndarray:
    """Return the rows of a file of numbers, or of a generated set."""
    if name == "breast-cancer-boosted":
        *columns, label = builtin.read(SimpleNamespace(name=name, identifier=name)).columns
        return np.column_stack([np.unique(label, return_inverse=True)[1], *columns])
    found = sorted(folder.glob(f"{name}.txt*"))
    if not found:
        raise OptreeError(f"{folder}: no {name}.txt or {name}.txt.gz")
    return np.loadtxt(found[0])


def searches(data: Path, case: str, seconds: float) -> Callable[[int], tuple[float, str, int, str]]:
    """Return a function from a number of threads to wall seconds, status, iterations and the tree of a search."""
    kind, name, limit = case.split("/")
    has_numbers = kind in ("contree", "thresholds", "split", "licketysplit")
    rows = read(data / ("contree" if has_numbers else "murtree"), name)
    X, y = rows[:, 1:], rows[:, 0].astype(int)
    if has_numbers:
        estimator, wanted = OptimalTreeClassifier, {"regularization": limit}
        if kind == "contree":
            wanted = {"regularization": 0, "max_depth": int(limit)}
        elif kind != "thresholds":
            depth, lookahead = map(int, limit.split(":"))
            estimator = SPLITClassifier if kind == "split" else LicketySPLITClassifier
            wanted = {"max_depth": depth, "lookahead": lookahead}

        def fit(threads: int) -> tuple[float, str, int, str]:
            model = estimator(**wanted, time_limit=seconds, n_jobs=threads)
            start = time.perf_counter()
            model.fit(X, y)
            wall = time.perf_counter() - start - model.compile_seconds_
            return wall, model.status_, model.counters_["iterations"], model.export_text()

        return fit
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    features = tuple(Feature(one, (f"{one} = 0", f"{one} = 1")) for one in names)
    problem = Problem(CodedColumns(X.astype(int), features), Classes(y, tuple(map(str, range(y.max() + 1)))), None)
    if kind == "rashomon":
        penalty, depth = limit.split(":")
        solver, objective = solvers.get("rashomon"), Objective.of(penalty, "leaf", max_depth=int(depth))
    elif kind == "sparse":
        solver, objective = solvers.get("optree"), Objective.of(limit)
    else:
        solver, objective = solvers.get("murtree"), Objective.of(0, max_depth=int(limit))

    def solve(threads: int) -> tuple[float, str, int, str]:
        start = time.perf_counter()
        result = solver.solve(problem, objective, Budget(seconds, threads=threads))
        found = result.found.summary() if kind == "rashomon" else ""
        tree = f"{result.tree.to_dict()} {found}"
        return time.perf_counter() - start, result.status, result.counters["iterations"], tree

    return solve


def measure(data: Path, case: str, threads: int, repeats: int, seconds: float) -> dict:
    """Return the medians of a case; raise OptreeError if searches that no limit ends have different trees."""
    search, found = searches(data, case, seconds), {1: [], threads: []}
    for number in found:  # compiles the kernels, or loads them
        search(number)
    for _ in range(repeats):
        for number, runs in found.items():
            runs.append(search(number))
    whole = [run[3] for runs in found.values() for run in runs if run[1] in ("optimal", "heuristic")]
    if len(set(whole)) > 1:
        raise OptreeError(f"{case}: the trees of 1 and {threads} threads differ")
    one, several = (statistics.median(run[0] for run in runs) for runs in found.values())
    work = [statistics.median(run[2] for run in runs) for runs in found.values()]
    return {
        "case": case,
        "status": found[1][0][1],
        "one": round(one, 4),
        "several": round(several, 4),
        "speedup": round(one / several, 2),
        "work": round(work[1] / work[0], 3),
    }


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder with murtree/ and contree/")
    parser.add_argument("--out", type=Path, required=True, help="the table (.csv)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60, help="limit of a search")
    text = "kind/set/depth, sparse/set/penalty, thresholds/set/penalty, (lickety)split/set/depth:levels or "
    text += "rashomon/set/penalty:depth"
    parser.add_argument("--cases", nargs="*", default=CASES, help=text)
    options = parser.parse_args()
    rows = []
    with reporting(options.out.with_suffix(".log")):
        for case in options.cases:
            rows.append(measure(options.data, case, options.threads, options.repeats, options.seconds))
            print(*rows[-1].values(), flush=True)
        with open(options.out, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
