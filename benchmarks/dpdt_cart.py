"""Seconds and memory of ``DPDTreeClassifier`` against scikit-learn's CART of the same depth.

Each case is a process of its own for each program. DPDT is fitted once to few rows before, which compiles or loads its
kernels. Then both fit all rows. Runs alternate: CART, DPDT, CART, DPDT, ... The clock is the processor time of ``fit``,
with all its checks and sorting; memory is the peak of the process.

    python benchmarks/dpdt_cart.py --mirror DIR --out runs.csv

DIR is a directory of raw data files, as for the workflow (``data_mirror``): its folder ``contree`` has the real sets of
the paper's Table 1, ``uci/kddcup.data_10_percent.gz`` the rows of KDD Cup 99. Without it, the generated cases are run.
Linux only.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

TABLE_1 = ("avila", "bank", "bean", "bidding", "eeg", "fault", "htru", "magic", "occupancy", "page", "raisin", "rice")
TABLE_1 += ("room", "segment", "wilt")
PROGRAMS = ("cart", "dpdt")


class Case(NamedTuple):
    """``rows`` are a name of Table 1, "kdd", or a number of rows, of ten features, to generate."""

    rows: str
    depth: int = 3
    nodes: tuple[int, ...] = (8, 8, 8)


def cases(mirror: Path | None) -> list[Case]:
    generated = [Case("10000"), Case("100000"), Case("1000000")]
    return generated if mirror is None else [*map(Case, TABLE_1), Case("kdd", 10, (4,)), *generated]


def rows(name: str, mirror: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers float64[n, p], and classes."""
    if name.isdigit():
        random = np.random.RandomState(0)
        X = random.random_sample((int(name), 10))
        return X, (X[:, :5].sum(axis=1) + random.standard_normal(len(X)) > 2.5).astype(int)
    if name == "kdd":
        table = pd.read_csv(mirror / "uci" / "kddcup.data_10_percent.gz", header=None)
        columns = [pd.factorize(c, sort=True)[0] if j in (1, 2, 3, 41) else c.to_numpy() for j, c in table.items()]
        return np.column_stack(columns[:-1]).astype(float), columns[-1]
    table = np.loadtxt(next((mirror / "contree").glob(f"{name}.txt*")))
    return np.ascontiguousarray(table[:, 1:]), table[:, 0].astype(int)


def fit(case: Case, program: str, file: str) -> None:
    """Fit in a process of its own: print seconds, MiB and errors."""
    with np.load(file) as arrays:
        X, y = arrays["X"], arrays["y"]
    if program == "cart":
        from sklearn.tree import DecisionTreeClassifier

        model = DecisionTreeClassifier(max_depth=case.depth, random_state=0)
        model.fit(X[:500], y[:500])
    else:
        from optree import DPDTreeClassifier

        model = DPDTreeClassifier(case.depth, cart_nodes_list=case.nodes, time_limit=None)
        model.fit(X[:500], y[:500])
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))
    print(seconds, peak, int((model.predict(X) != y).sum()))


def measure(case: Case, mirror: Path | None, folder: Path, repeats: int) -> list[dict]:
    file = folder / f"{case.rows}.npz"
    X, y = rows(case.rows, mirror)
    np.savez(file, X=X, y=y)
    runs = []
    for repeat in range(repeats):
        for program in PROGRAMS:
            call = [sys.executable, __file__, "--fit", program, str(file), repr(tuple(case))]
            done = subprocess.run(call, capture_output=True, text=True, check=True)
            seconds, peak, errors = done.stdout.split()
            runs.append(
                {"rows": case.rows, "n": len(X), "p": X.shape[1], "depth": case.depth, "nodes": case.nodes}
                | {"repeat": repeat, "program": program, "seconds": seconds, "mib": peak, "errors": errors}
            )
    file.unlink()
    return runs


def line(case: Case, runs: list[dict]) -> str:
    """Return a row of the table: medians, and their ratios."""
    found = {
        (program, key): statistics.median(float(run[key]) for run in runs if run["program"] == program)
        for program in PROGRAMS
        for key in ("seconds", "mib", "errors")
    }
    cells = [case.rows, f"{runs[0]['n']} x {runs[0]['p']}", str(case.nodes), str(case.depth)]
    for key, form in (("seconds", ".4f"), ("mib", ".0f")):
        cart, dpdt = found["cart", key], found["dpdt", key]
        cells += [format(cart, form), format(dpdt, form), f"{dpdt / cart:.2f}"]
    return "| " + " | ".join([*cells, f"{found['cart', 'errors']:.0f}", f"{found['dpdt', 'errors']:.0f}"]) + " |"


def main() -> None:
    if sys.argv[1:2] == ["--fit"]:
        import ast

        fit(Case(*ast.literal_eval(sys.argv[4])), sys.argv[2], sys.argv[3])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cases", nargs="*", help="names of rows, e.g. bank kdd 10000")
    arguments = parser.parse_args()
    head = ["rows", "n x p", "cart_nodes_list", "depth", "CART s", "DPDT s", "ratio", "CART MiB", "DPDT MiB", "ratio"]
    print("| " + " | ".join([*head, "CART errors", "DPDT errors"]) + " |\n|" + " :-- |" * (len(head) + 2))
    with open(arguments.out, "w", newline="") as file:
        writer = None
        for case in cases(arguments.mirror):
            if arguments.cases and case.rows not in arguments.cases:
                continue
            runs = measure(case, arguments.mirror, arguments.out.resolve().parent, arguments.repeats)
            writer = writer or csv.DictWriter(file, list(runs[0]))
            if file.tell() == 0:
                writer.writeheader()
            writer.writerows(runs)
            file.flush()
            print(line(case, runs), flush=True)


if __name__ == "__main__":
    main()
