"""Growth of the search over all thresholds with rows and with distinct values: seconds, in a table and a plot.

The data are random: ten columns of numbers, a planted tree of depth three, a tenth of the labels noise. A column has a
distinct value per row, or the number of distinct values of the sweep. Seconds are processor time of
``OptimalTreeClassifier.fit``, one thread, after fits that compile; the median of some seeds.

    python benchmarks/all_thresholds.py --out thresholds.csv --plot thresholds.svg
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from optree import OptimalTreeClassifier
from optree.bench.figures.panels import STYLE
from optree.bench.system.cli import reporting

ROWS = [1000, 3000, 10_000, 30_000, 100_000]
VALUES = [100, 300, 1000, 3000, 10_000]
USUAL = 10_000  # rows, where values grow


def draw(rows: int, values: int | None, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw numbers, rounded to ``distinct`` values of a column, and the classes of a planted tree with noise."""
    random = np.random.RandomState(seed)
    X = random.random_sample((rows, 10))
    X = X if values is None else np.floor(X * values)
    above = np.median(X, axis=0) < X
    leaf = np.where(above[:, 0], 2 * above[:, 1] + above[:, 2], 4 + 2 * above[:, 3] + above[:, 4])
    return X, np.where(random.random_sample(rows) < 0.1, random.randint(classes, size=rows), leaf % classes)


def measure(rows: int, values: int | None, depth: int, classes: int, seed: int, seconds: float) -> dict:
    X, y = draw(rows, values, classes, seed)
    start = time.process_time()
    model = OptimalTreeClassifier(0, max_depth=depth, time_limit=seconds).fit(X, y)
    spent = time.process_time() - start
    return {"status": model.status_, "seconds": spent, "solver": model.solver_, "cost": int(model.cost_)}


def sweep(rows: list[int], values: list[int], seeds: int, seconds: float) -> pd.DataFrame:
    """Measure all points."""
    found, points = [], [("rows", n, None) for n in rows] + [("values", USUAL, n) for n in values]
    for classes in (2, 5):
        for n in (300, 40_000):  # compile for counts of two bytes, and of four
            measure(n, None, 2, classes, 0, seconds)
        for name, n, distinct in points:
            for depth in (2, 3):
                for seed in range(seeds):
                    point = {"sweep": name, "size": distinct or n, "classes": classes, "depth": depth, "seed": seed}
                    found.append(point | measure(n, distinct, depth, classes, seed, seconds))
                    print(" ".join(f"{key} {value}" for key, value in found[-1].items()), file=sys.stderr)
    return pd.DataFrame(found)


@rc_context(STYLE)
def plot(table: pd.DataFrame) -> Figure:
    """Draw the seconds of the proven searches."""
    table = table[table["status"].eq("optimal")]
    figure = Figure(figsize=(6.4, 2.9), layout="constrained")
    for ax, (name, mine) in zip(figure.subplots(1, 2, sharey=True), table.groupby("sweep"), strict=True):
        for number, ((depth, classes), line) in enumerate(mine.groupby(["depth", "classes"])):
            seeds = line.groupby("size")["seconds"]
            ax.fill_between(seeds.min().index, seeds.min(), seeds.max(), color=f"C{number}", alpha=0.2, linewidth=0)
            ax.plot(seeds.median(), "o-", color=f"C{number}", label=f"depth {depth}, {classes} classes")
        ax.set(xscale="log", yscale="log", xlabel={"rows": "rows", "values": f"distinct values, {USUAL} rows"}[name])
    figure.axes[0].set_ylabel("processor seconds")
    figure.axes[0].legend()
    return figure


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="thresholds.csv", help="table of all searches")
    parser.add_argument("--plot", default="thresholds.svg", help="picture, of any format that matplotlib writes")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="numbers of rows")
    parser.add_argument("--values", type=int, nargs="+", default=VALUES, help="numbers of distinct values")
    parser.add_argument("--seeds", type=int, default=3, help="random data sets of each size (default 3)")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds of a search (default 120)")
    options = parser.parse_args(arguments)
    with reporting(os.devnull), warnings.catch_warnings(action="ignore"):
        table = sweep(options.rows, options.values, options.seeds, options.time_limit)
        table.to_csv(options.out, index=False)
        plot(table).savefig(options.plot, metadata={"Date": None} if Path(options.plot).suffix == ".svg" else {})


if __name__ == "__main__":
    main()
