"""Processor seconds of proofs without a limit on depth, beside the goals of the project.

The first command has all thresholds. The second has the hardest sparse problems: each category has a column, or the
columns are binary already. Each problem is a process of its own, one thread. Seconds are processor time of
``OptimalTreeClassifier.fit``, the median of some fits after one that compiles. A fit that ends at its limit has a gap.

    python benchmarks/goals.py --mirror DIR --out goals.csv
    python benchmarks/goals.py --hardest --mirror DIR --out hardest.csv

DIR is a directory of raw data files, as for the workflow (``data_mirror``). Without it three tables of scikit-learn are
measured.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from harness.children import measured_alone
from sklearn import datasets

from optree import OptimalTreeClassifier
from optree.bench.system.cli import reporting
from optree.budget import peak_rss_mib
from optree.datasets import fetch, read_table

GOALS = [  # table, lambda, processor seconds
    ("iris", "0.01", 0.02),
    ("wine", "0.01", 0.1),
    ("wine", "0.005", 0.3),
    ("bank-train", "0.02", 0.1),
    ("bank-train", "0.01", 10),
    ("rice-train", "0.02", 0.1),
    ("htru-train", "0.01", 0.05),
    ("breast_cancer", "0.02", 0.7),
    ("breast_cancer", "0.01", 60),
]
HARDEST = [
    ("lymph", "0.01", 60),
    ("lymph", "0.005", 60),
    ("lymph", "0.002", 60),
    ("mushroom", "0.001", 60),
    ("balance-scale", "0.001", 60),
    ("kr-vs-kp", "0.005", 60),
    ("kr-vs-kp", "0.002", 60),
    ("cp4im-soybean", "0.01", 60),
    ("cp4im-splice-1", "0.01", 60),
    ("nursery", "0.003", 60),
    ("car", "0.002", 60),
]
EMBEDDED = ("iris", "wine", "breast_cancer")
_ONE = 1.0  # seconds: a longer fit is not repeated


def load(name: str, mirror: Path | None, coded: bool) -> tuple:
    """Return the columns and the classes: numbers, or a column of 0 and 1 for each category."""
    if name in EMBEDDED:
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    data = fetch(read_table(Path(__file__).parents[1] / "config" / "datasets.csv")[name], mirror)
    y = np.unique(data.y, return_inverse=True)[1]
    if not coded:
        return data.X.to_numpy(float), y
    texts = data.X.astype(str)
    return (texts if name.startswith("cp4im") else pd.get_dummies(texts).astype(int)).astype("category"), y


def measure(name: str, regularization: str, mirror: Path | None, limit: float, repeats: int, coded: bool) -> dict:
    """Fit one problem some times."""
    warnings.simplefilter("ignore")
    X, y = load(name, mirror, coded)
    OptimalTreeClassifier(regularization, one_vs_rest=False, time_limit=10).fit(X, y)
    spent = []
    while len(spent) < repeats and sum(spent) < _ONE * repeats:
        start = time.process_time()
        model = OptimalTreeClassifier(regularization, one_vs_rest=False, time_limit=limit).fit(X, y)
        spent.append(time.process_time() - start)
    return {
        "rows": len(X),
        "columns": X.shape[1],
        "status": model.status_,
        "objective": model.objective_,
        "gap": model.gap_,
        "splits": model.tree_.n_splits,
        "iterations": model.counters_["iterations"],
        "seconds": float(np.median(spent)),
        "peak_mib": peak_rss_mib(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, metavar="DIR", help="raw data files")
    parser.add_argument("--limit", type=float, default=120, help="seconds of a fit, 120 by default")
    parser.add_argument("--repeats", type=int, default=5, help="fits of less than a second, 5 by default")
    parser.add_argument("--out", type=Path, help="a CSV file")
    parser.add_argument("--hardest", action="store_true", help="the hardest sparse problems")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one, options.mirror, options.limit, options.repeats, options.hardest)))
        return
    found = []
    for name, regularization, goal in HARDEST if options.hardest else GOALS:
        if name not in EMBEDDED and not options.mirror:
            continue
        mirror = ["--mirror", options.mirror] if options.mirror else []
        limits = ["--limit", options.limit, "--repeats", options.repeats, *["--hardest"] * options.hardest]
        row = measured_alone("--one", name, regularization, *limits, *mirror)
        holds = row["status"] == "optimal" and row["seconds"] < goal
        found.append({"table": name, "lambda": regularization, **row, "goal": goal, "holds": holds})
    table = pd.DataFrame(found)
    if options.out:
        table.to_csv(options.out, index=False)
    print(table.round(4).to_markdown(index=False))


if __name__ == "__main__":
    with reporting(os.devnull):
        main()
