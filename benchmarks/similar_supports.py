"""The worth of the bounds of similar supports in `multisplit`, where all trees of splits into intervals are candidates.

    python benchmarks/similar_supports.py --mirror DIR

DIR is a directory of raw data files, as for the workflow (``data_mirror``). Searches with and without the bound run in
turns, and must find the same cost. Seconds are processor time of the whole call, medians. A search that reaches the
limit is marked ``>``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path

import numpy as np

from optree import solvers
from optree.bench.system.cli import reporting
from optree.budget import Budget
from optree.datasets import read_table
from optree.datasets.fetch import fetch
from optree.encoding import Encoder, EncodingSpec
from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem
from optree.solvers.split import family

DATASETS = ("compas-2016", "electricity-6", "eeg-eye-state", "heloc")
OPTIONS = {"lookahead": 3, "generator": "all", "max_ways": 3, "pair_bins": 0, "deepening": False}


def search(problem: Problem, regularization: str, seconds: float, similar: bool) -> tuple:
    """Return cost, status, iterations and seconds of a search."""
    rules_of = family.rules_of
    if not similar:
        family.rules_of = lambda *given: rules_of(*given)._replace(complete=False)
    try:
        begun, objective = time.process_time(), Objective.of(regularization, "leaf", max_depth=3)
        found = solvers.get("multisplit").solve(problem, objective, Budget(seconds=seconds), **OPTIONS)
    finally:
        family.rules_of = rules_of
    return found.cost, found.status, found.counters["iterations"], time.process_time() - begun


def compare(name: str, problem: Problem, regularization: str, options: argparse.Namespace) -> str:
    """Return a row of the table."""
    runs = [
        [search(problem, regularization, options.time_limit, similar) for similar in (False, True)]
        for _ in range(options.repeats)
    ]
    ended = {cost for pair in runs for cost, status, *_ in pair if status == "heuristic"}
    if len(ended) > 1:
        raise OptreeError(f"{name}, lambda {regularization}: searches end with the costs {sorted(ended)}; one is wrong")
    texts = []
    for side in zip(*runs, strict=True):
        late = ">" * any(status != "heuristic" for _, status, *_ in side)
        texts += [f"{late}{side[0][2]}", f"{late}{statistics.median(seconds for *_, seconds in side):.3g}"]
    return f"| {' | '.join([name, regularization, *texts])} |"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with one line and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", required=True, metavar="DIR", help="raw data files")
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS, help="some of them (all)")
    parser.add_argument("--lambdas", nargs="+", default=["0.01", "0.002"], metavar="L", help="(0.01 0.002)")
    parser.add_argument("--bins", type=int, default=20, metavar="B", help="thresholds of a feature, at most (20)")
    parser.add_argument("--repeats", type=int, default=3, help="rounds (3)")
    parser.add_argument("--time-limit", type=float, default=300, metavar="S", help="seconds a search may take (300)")
    with reporting(os.devnull):
        options = parser.parse_args(arguments)
        table = read_table(Path(__file__).parents[1] / "config" / "datasets.csv")
        spec = EncodingSpec(categorical="onehot", drop="first", numeric="bins", max_cuts=options.bins, missing="best")
        print("| dataset | lambda | visits without | seconds | visits with | seconds |")
        print("| :-- | --: | --: | --: | --: | --: |")
        for name in options.datasets:
            data = fetch(table[name], options.mirror)
            problem = Encoder(spec).fit(data.X, data.y).problem(data.X, data.y)
            for similar in (False, True):  # compiles, or loads the kernels
                search(problem.take(np.arange(0, len(problem.y), 50)), "0.01", options.time_limit, similar)
            for regularization in options.lambdas:
                print(compare(name, problem, regularization, options), flush=True)


if __name__ == "__main__":
    main()
