"""Seconds and memory of the optimal tree of three levels for up to ten million rows, beside scikit-learn's CART.

    python benchmarks/rows.py --rows 100000 1000000 10000000

A table has 30 columns of random truth values. The class depends on four of them, and a tenth of the classes is wrong.
Each fit is a process of its own, and the programs run in turns. A first fit to few rows compiles or loads the kernels.
The seconds are wall-clock seconds of ``fit`` without compilation, with all checks. "own MiB" is the peak of the process
beyond its peak before the fit, when the table was made. Errors are counted in the first million rows. Linux only.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time

import numpy as np
from harness.children import measured_alone

COLUMNS, LEVELS = 30, 3
PROGRAMS = ("cart", "optree")


def table(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return truth values, bool[n, 30], and classes, bool[n]."""
    random, X = np.random.default_rng(0), np.empty((rows, COLUMNS), bool)
    for column in range(COLUMNS):
        X[:, column] = random.random(rows, np.float32) < 0.5
    y = (X[:, 0] & X[:, 1]) | (X[:, 2] & ~X[:, 3])
    return X, y ^ (random.random(rows, np.float32) < 0.1)


def peak_mib() -> float:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit(program: str, rows: int) -> dict:
    """Return the seconds, memory and errors of one fit."""
    X, y = table(rows)
    if program == "cart":
        from sklearn.tree import DecisionTreeClassifier

        model = DecisionTreeClassifier(max_depth=LEVELS, random_state=0)
    else:
        from optree import OptimalTreeClassifier

        model = OptimalTreeClassifier(max_depth=LEVELS, time_limit=None, memory_limit=8192)
    model.fit(X[:20_000], y[:20_000])
    before, start = peak_mib(), time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start - getattr(model, "compile_seconds_", 0)
    return {
        "seconds": seconds,
        "own MiB": peak_mib() - before,
        "status": getattr(model, "status_", ""),
        "errors": int((model.predict(X[: 10**6]) != y[: 10**6]).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fit", choices=PROGRAMS, help="one fit, for this program itself")
    options = parser.parse_args()
    if options.fit:
        print(json.dumps(fit(options.fit, *options.rows)))
        return
    print("| rows | CART s | optree s | ratio | CART own MiB | optree own MiB | status | CART errors | optree errors |")
    print("|" + " --: |" * 9)
    for rows in options.rows:
        runs = {program: [] for program in PROGRAMS}
        for _ in range(options.repeats):
            for program in PROGRAMS:
                runs[program].append(measured_alone("--fit", program, "--rows", rows))
        cart, optree = (
            {key: statistics.median(run[key] for run in runs[name]) for key in ("seconds", "own MiB", "errors")}
            for name in PROGRAMS
        )
        cells = [f"{rows:,}", f"{cart['seconds']:.2f}", f"{optree['seconds']:.2f}"]
        cells += [f"{optree['seconds'] / cart['seconds']:.2f}", f"{cart['own MiB']:.0f}", f"{optree['own MiB']:.0f}"]
        cells += [runs["optree"][0]["status"], f"{cart['errors']:.0f}", f"{optree['errors']:.0f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
