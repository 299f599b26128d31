"""Processor seconds to write and to check proofs of optimal trees, and their bytes, beside the seconds of the search.

    python benchmarks/proofs.py --mirror DIR [--cases tic-tac-toe ...]

DIR is a directory of raw data files, as for the workflow (``data_mirror``). Without it embedded datasets are measured.
A first proof compiles the kernels and is not measured. ``optree-verify`` checks the proof on one thread, in a process
of its own, whose start is measured, too. The seconds of the search are the least of three, by the clock.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from optree import OptimalTreeClassifier
from optree.bench.system.cli import reporting
from optree.datasets import fetch, read_table

ROOT = Path(__file__).parents[1]


class Case(NamedTuple):
    """A dataset and an objective. ``form``: "first" (one column per category but the first), "values" or "numbers"."""

    dataset: str
    form: str
    regularization: str
    max_depth: int | None = None


CASES = {
    "tic-tac-toe": Case("tic-tac-toe", "first", "0.005"),
    "car": Case("car", "first", "0.005"),
    "balance": Case("balance-scale", "first", "0.01"),
    "nursery": Case("nursery", "first", "0.01"),
    "lymph": Case("lymph", "first", "0.02"),
    "kr-vs-kp": Case("kr-vs-kp", "first", "0.01"),
    "mushroom": Case("mushroom", "first", "0.01"),
    "lymph-0.01": Case("lymph", "first", "0.01"),
    "mushroom-0.003": Case("mushroom", "first", "0.003"),
    "anneal": Case("cp4im-anneal", "values", "0", 4),
    "diabetes": Case("cp4im-diabetes", "values", "0", 4),
    "german-credit": Case("cp4im-german-credit", "values", "0", 4),
    "iris": Case("iris", "numbers", "0.01"),
    "wine": Case("wine", "numbers", "0.01"),
    "wine-depth-3": Case("wine", "numbers", "0.01", 3),
    "breast-cancer-depth-2": Case("breast_cancer", "numbers", "0.01", 2),
    "breast-cancer-depth-3": Case("breast_cancer", "numbers", "0.01", 3),
    "rice-depth-3": Case("rice-train", "numbers", "0.01", 3),
}


def load(case: Case, mirror: Path | None) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the columns and the classes of a case."""
    data = fetch(read_table(ROOT / "config" / "datasets.csv")[case.dataset], mirror)
    if case.form == "numbers":
        return data.X.astype(float), np.asarray(data.y)
    X = data.X.astype(str)
    return (pd.get_dummies(X, drop_first=True).astype(str) if case.form == "first" else X), np.asarray(data.y)


def compile_kernels() -> None:
    """Write a small proof."""
    X, y = np.eye(4), np.arange(4) % 2
    with tempfile.TemporaryDirectory() as folder:
        OptimalTreeClassifier("0.01").fit(X, y).prove(X, y, Path(folder) / "tree.proof")


def measure(name: str, case: Case, mirror: Path | None, seconds: float) -> str:
    """Return the line of a case in the table."""
    X, y = load(case, mirror)
    named = "from_dtype" if case.form == "numbers" else list(X.columns)
    options = dict(max_depth=case.max_depth, one_vs_rest=False, time_limit=seconds, categorical_features=named)
    model = OptimalTreeClassifier(case.regularization, **options)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        searched = min(model.fit(X, y).search_seconds_ for _ in range(3))
        compile_kernels()
        begin = time.process_time()
        proof = model.prove(X, y, Path(folder) / "tree.proof", time_limit=seconds)
        written, before, one = time.process_time() - begin, os.times(), dict(os.environ, OPENBLAS_NUM_THREADS="1")
        command = [sys.executable, ROOT / "verify" / "optree_verify.py", proof.data, proof.path]
        line = subprocess.run(command, capture_output=True, text=True, env=one, check=False).stdout
        after = os.times()
        checked = after.children_user + after.children_system - before.children_user - before.children_system
    depth = "" if case.max_depth is None else f", depth {case.max_depth}"
    cells = f"{name}, {case.regularization}{depth}", f"{len(X):,} x {X.shape[1]}", f"{searched:.2f}"
    cells += f"{written:.2f}", f"{checked:.1f}", f"{proof.supports:,}", f"{proof.size:,}", line.split(":")[0]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mirror", type=Path, metavar="DIR", help="raw data files")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--seconds", type=float, default=300, help="limit of a search, and of that for a proof")
    options = parser.parse_args()
    table = read_table(ROOT / "config" / "datasets.csv")
    embedded = [name for name, case in CASES.items() if options.mirror or table[case.dataset].source == "builtin"]
    print("| data, lambda | rows x columns | search s | write s | check s | supports | bytes | verdict |")
    print("| :-- | --: | --: | --: | --: | --: | --: | :-- |")
    for name in options.cases or embedded:
        print(measure(name, CASES[name], options.mirror, options.seconds), flush=True)


if __name__ == "__main__":
    with reporting(os.devnull):
        main()
