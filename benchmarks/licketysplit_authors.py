"""`licketysplit` and `split` against the package of LicketySPLIT's authors: objective on the training rows, and time.

Both get the same 0/1 columns: the columns of the file, or its numbers at quantile thresholds. Each case has a process
for each program, one after the other, on one thread, in each round. The first repeat of a process does not count; the
result is the least processor time of the other repeats. ``--lookahead`` is given to both.

    python -m venv lickety && lickety/bin/pip install licketysplit==0.2.1
    python benchmarks/licketysplit_authors.py --python lickety/bin/python --data DIR --out runs.csv

DIR has sets as text, class first (``bank.txt``, may be compressed: ``.txt.gz``).
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import statistics
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from branches_authors import number, output
from drivers import call

from optree.bench.system.cli import reporting
from optree.encoding import Encoder, EncodingSpec
from optree.errors import OptreeError

# Both are asked for all trees in one process, and tell of each (errors, leaves, seconds of the call, of the search).
_GRID = """
import itertools, warnings
import numpy as np
warnings.simplefilter("ignore")
table, solver, lookahead, depths, lambdas, repeats = sys.argv[1:]
rows = np.load(table)
X, y = np.ascontiguousarray(rows[:, 1:]), rows[:, 0]
least, fits = lambda times: min(seconds["cpu_seconds"] for seconds in times), []
for depth, lam in itertools.product(map(int, depths.split(",")), lambdas.split(",")):
    levels = (depth + 1) // 2 if lookahead == "half" else int(lookahead)
    fit(lam, depth, levels)  # compiles or loads the kernels, and touches memory for the first time
    models, calls = zip(*(timed(lambda: fit(lam, depth, levels)) for _ in range(int(repeats))))
    search = least(map(search_time, models))
    errors, leaves = int((models[0].predict(X) != y).sum()), count_leaves(models[0])
    fits.append([depth, lam, errors, leaves, least(calls), search])
report(fits=fits)
"""

AUTHORS = (
    """
from licketysplit import LicketySPLITClassifier

def fit(lam, depth, levels):
    model = LicketySPLITClassifier(lambda_leaf=float(lam), depth_budget=depth, lookahead_k=levels)
    return model.fit(X, y.astype("int32"))

def count_leaves(model):
    return len(model.get_tree_paths()[0])

def search_time(model):  # the body of its fit, without its checks
    core, labels = model._new_core(), y.astype("int32")
    asked = (float(model.lambda_leaf), model.eta_defer_used_, model.depth_budget, model.lookahead_k, None)
    return timed(lambda: core.fit(X, labels, labels, *asked))[1]
"""
    + _GRID
)

OPTREE = (
    """
import optree.compilation
optree.compilation.time = type("Processor", (), {"perf_counter": time.process_time})  # of search_seconds_
from optree import LicketySPLITClassifier, SPLITClassifier

def fit(lam, depth, levels):
    Tree = SPLITClassifier if solver == "split" else LicketySPLITClassifier
    return Tree(lam, max_depth=depth, lookahead=levels, time_limit=None).fit(X, y)

def count_leaves(model):
    return model.tree_.n_leaves

def search_time(model):
    return {"cpu_seconds": model.search_seconds_}
"""
    + _GRID
)
FIELDS = ("dataset", "cuts", "rows", "columns", "depth", "lambda", "program")
TOLD = ("errors", "leaves", "call_seconds", "search_seconds")


def read(path: Path, cuts: int, most: int) -> np.ndarray:
    """Read uint8 rows of a file, a random sample if it is long: the class, and 0/1 columns, thresholds at quantiles."""
    try:
        rows = np.loadtxt(path, ndmin=2)
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: not rows of numbers ({error})") from error
    if len(rows) > most:
        rows = rows[np.random.RandomState(0).permutation(len(rows))[:most]]
    labels = np.unique(rows[:, 0], return_inverse=True)[1]
    codes = Encoder(EncodingSpec(max_cuts=cuts)).fit(rows[:, 1:]).transform(rows[:, 1:])
    return np.column_stack([labels, codes]).astype(np.uint8)


def compare(name: str, cuts: int, rows: np.ndarray, options: argparse.Namespace, writer) -> list[tuple]:
    """Return, for each pair of trees, whether ours is better (1), equal (0) or worse (-1), and the ratio of seconds."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "rows.npy")
        np.save(table, rows)
        depths, lambdas = ",".join(map(str, options.depths)), ",".join(options.lambdas)
        asked = [table, options.solver, options.lookahead, depths, lambdas, options.repeats]
        programs = ("licketysplit 0.2.1", options.python, AUTHORS), ("optree", sys.executable, OPTREE)
        for program, python, driver in programs * options.rounds:
            fits = call(f"{name}, {cuts} cuts: {program}", python, driver, asked, options.time_limit)["fits"]
            before = found.get(program, fits)
            found[program] = [[*fit[:4], *map(min, fit[4:], old[4:])] for fit, old in zip(fits, before, strict=True)]
    for program, fits in found.items():
        writer.writerows([name, cuts, len(rows), rows.shape[1] - 1, *fit[:2], program, *fit[2:]] for fit in fits)

    def cost(fit: list) -> Fraction:
        return fit[2] + Fraction(fit[1]) * len(rows) * fit[3]

    theirs, ours = found.values()
    return [
        (int(np.sign(cost(other) - cost(one))), one[4] / other[4], one[5] / other[5])
        for one, other in zip(ours, theirs, strict=True)
    ]


def line(name: str, results: list[tuple]) -> str:
    """Return a row of the table."""
    signs = [sum(result[0] == sign for result in results) for sign in (1, 0, -1)]
    ratios = [[result[place] for result in results] for place in (2, 1)]
    cells = [f"{number(math.exp(statistics.fmean(map(math.log, r))))} ({number(max(r))})" for r in ratios]
    return "| " + " | ".join(map(str, [name, *signs, *cells])) + " |"


def benchmark(options: argparse.Namespace) -> None:
    """Compare on all cases; trees go to the CSV file as soon as they are there, the table to the screen."""
    paths = sorted(path for path in Path(options.data).glob("*.txt*") if path.name[0].islower())
    chosen = [path for path in paths if not options.datasets or path.name.split(".")[0] in options.datasets]
    if options.lookahead != "half" and not options.lookahead.isdecimal():
        raise OptreeError(f"--lookahead: {options.lookahead!r} is not accepted; give a whole number, or half")
    if not chosen:
        raise OptreeError(f"--data {options.data}: no such datasets")
    for name in ("repeats", "rounds"):
        if (value := getattr(options, name)) < 1:
            raise OptreeError(f"--{name} {value} is not accepted; give >= 1")
    print("| rows x columns | better | equal | worse | search, ours / theirs (most) | call, ours / theirs (most) |")
    print("| :-- | --: | --: | --: | --: | --: |")
    every = []
    with output(options.out) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS + TOLD)
        for path in chosen:
            seen = set()
            for cuts in options.cuts:
                rows = read(path, cuts, options.most_rows)
                if (digest := rows.tobytes()) in seen:  # columns of 0 and 1 have but one cut
                    continue
                seen.add(digest)
                name = path.name.split(".")[0]
                every += (results := compare(name, cuts, rows, options, writer))
                file.flush()
                print(line(f"{name}, {len(rows)} x {rows.shape[1] - 1}", results), flush=True)
    print(line(f"all {len(every)}", every))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with one line and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="a Python that has licketysplit")
    parser.add_argument("--data", required=True, metavar="DIR", help="sets as text, class first")
    parser.add_argument("--datasets", nargs="+", metavar="NAME", help="some of them (all)")
    parser.add_argument("--solver", choices=["licketysplit", "split"], default="licketysplit", help="of ours")
    parser.add_argument("--lookahead", default="1", metavar="K", help="levels, or half: of the depth, rounded up (1)")
    parser.add_argument("--cuts", nargs="+", type=int, default=[5, 10, 20], metavar="N", help="of a column (5 10 20)")
    parser.add_argument("--most-rows", type=int, default=4000, metavar="N", help="drawn from larger sets (4000)")
    parser.add_argument("--depths", nargs="+", type=int, default=[3, 4, 5], metavar="D", help="(3 4 5)")
    parser.add_argument("--lambdas", nargs="+", default=["0.01", "0.002"], metavar="L", help="(0.01 0.002)")
    parser.add_argument("--repeats", type=int, default=3, help="fits of each tree in a round (3)")
    parser.add_argument("--rounds", type=int, default=2, help="(2)")
    parser.add_argument("--time-limit", type=float, default=600, metavar="S", help="seconds for a case (600)")
    parser.add_argument("--out", required=True, metavar="CSV", help="one line per tree")
    with reporting(os.devnull):
        benchmark(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
