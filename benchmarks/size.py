"""Growth of the engine's search with rows, features and classes: seconds, iterations and memory, in a table and a plot.

The data are drawn at random: binary features, a planted tree of five splits, a tenth of the labels noise; lambda is
0.01. Rows grow in two ways, by sampling more and by repeating the same thousand. Each point is a process of its own,
after a search that compiles; seconds are processor time of ``Solver.solve``, preparing the data and building the tree
included, the median of some seeds. Slopes are fitted on a log-log scale.

    python benchmarks/size.py --out size.csv --plot size.svg
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from optree import solvers
from optree.bench.figures.panels import STYLE
from optree.bench.system.cli import reporting
from optree.budget import Budget, peak_rss_mib
from optree.columns import Feature
from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem

ROWS = [1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
SWEEPS = {
    "rows, sampled": ("rows", ROWS),
    "rows, repeated": ("rows", ROWS),
    "features": ("features", [10, 20, 50, 100, 200]),
    "classes": ("classes", [2, 3, 4, 5, 6, 7, 8]),
}
USUAL = {"rows": 10_000, "features": 40, "classes": 2}


def draw(rows: int, features: int, classes: int, seed: int, distinct: int | None = None) -> Problem:
    """Draw rows with a planted tree; with ``distinct``, repeat that number of rows."""
    random = np.random.RandomState(seed)
    n = distinct or rows
    codes = (random.random_sample((n, features)) < random.uniform(0.2, 0.8, features)).astype(np.int32)
    leaf = np.where(codes[:, 0], np.where(codes[:, 1], 0, 1 + codes[:, 2]), np.where(codes[:, 3], 3, 4 + codes[:, 4]))
    y = np.where(random.random_sample(n) < 0.1, random.randint(classes, size=n), leaf % classes)
    times = -(-rows // n)
    names = tuple(Feature(f"x{j}", (f"x{j} = 0", f"x{j} = 1")) for j in range(features))
    return Problem.coded(
        np.tile(codes, (times, 1))[:rows], np.tile(y, times)[:rows], names, tuple(map(str, range(classes)))
    )


def measure(point: dict, seconds: float) -> dict:
    """Measure one search in this process."""
    solver, objective = solvers.get("optree"), Objective.of("0.01")
    sizes = {name: point[name] for name in USUAL}
    solver.solve(draw(100, 5, sizes["classes"], 0), objective)
    problem = draw(**sizes, seed=point["seed"], distinct=1000 if point["sweep"] == "rows, repeated" else None)
    start = time.process_time()
    result = solver.solve(problem, objective, Budget(seconds=seconds))
    return {
        **point,
        "status": result.status,
        "seconds": time.process_time() - start,
        "iterations": result.counters["iterations"],
        "peak_rss_mib": peak_rss_mib(),
    }


def sweep(seeds: int, seconds: float) -> pd.DataFrame:
    """Measure all points, each in a process of its own."""
    found = []
    for name, (size, values) in SWEEPS.items():
        for value in values:
            for seed in range(seeds):
                point = {"sweep": name, **USUAL, size: value, "seed": seed}
                command = [sys.executable, __file__, "--point", json.dumps(point), "--time-limit", str(seconds)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    raise OptreeError(f"{point}: {done.stderr.strip().splitlines()[-1:]}")
                found.append({**json.loads(done.stdout), "size": value})
                print(f"{name} = {value}, seed {seed}: {found[-1]['seconds']:.3f} s", file=sys.stderr)
    return pd.DataFrame(found)


def slope(table: pd.DataFrame, least: float = 0) -> float:
    """Return the slope of log seconds over log size, for sizes from ``least`` on."""
    medians = table.groupby("size")["seconds"].median()
    chosen = medians[medians.index >= least]
    return float(np.polyfit(np.log(chosen.index), np.log(chosen), 1)[0])


@rc_context(STYLE)
def plot(table: pd.DataFrame) -> Figure:
    """Draw seconds, iterations and memory (rows of panels) against each size (columns)."""
    measures = {"seconds": "processor seconds", "iterations": "iterations", "peak_rss_mib": "peak MiB of the process"}
    figure = Figure(figsize=(2.2 * len(SWEEPS), 5.4), layout="constrained")
    panels = figure.subplots(len(measures), len(SWEEPS), sharex="col", sharey="row")
    for column, (name, (size, _)) in zip(panels.T, SWEEPS.items(), strict=True):
        mine = table[table["sweep"] == name]
        for ax, (measure, label) in zip(column, measures.items(), strict=True):
            seeds = mine.groupby("size")[measure]
            ax.fill_between(seeds.min().index, seeds.min(), seeds.max(), color="C0", alpha=0.2, linewidth=0)
            ax.plot(seeds.median(), "o-", color="C0")
            ax.set_xscale("log" if size != "classes" else "linear")
            ax.set_yscale("log")
            if ax in panels[:, 0]:
                ax.set_ylabel(label)
        tenth = mine["size"].max() / 10
        growth = f"\nslope {slope(mine):.2f}, last decade {slope(mine, tenth):.2f}" if size == "rows" else ""
        column[0].set_title(name + growth)
        column[-1].set_xlabel(size)
    return figure


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="size.csv", help="table of all searches")
    parser.add_argument("--plot", default="size.svg", help="picture, of any format that matplotlib writes")
    parser.add_argument("--seeds", type=int, default=3, help="random data sets of each size (default 3)")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds of a search (default 120)")
    parser.add_argument("--point", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    with reporting(os.devnull):
        if options.point:
            print(json.dumps(measure(json.loads(options.point), options.time_limit)))
            return
        table = sweep(options.seeds, options.time_limit)
        table.to_csv(options.out, index=False)
        plot(table).savefig(options.plot, metadata={"Date": None} if Path(options.plot).suffix == ".svg" else {})


if __name__ == "__main__":
    main()
