"""Run records of small real searches, for tests of tables and figures."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from optree.bench.runs.encode import encode
from optree.bench.runs.record import Run
from optree.bench.runs.solve import solve
from optree.datasets import fetch, read_table, save_table
from optree.encoding import EncodingSpec
from optree.encoding.problem_files import load_problem
from optree.problem import Problem
from support import ROOT

ENCODINGS = {
    "ordinal": EncodingSpec(categorical="ordinal"),
    "onehot-drop-first": EncodingSpec(categorical="onehot", drop="first"),
    "onehot-drop-none": EncodingSpec(categorical="onehot", drop="none"),
    "onehot-drop-last": EncodingSpec(categorical="onehot", drop="last"),
    "all-thresholds": EncodingSpec(),
    "numbers": EncodingSpec(categorical="onehot", numeric="numbers"),
}


@cache
def encoded(dataset: str, encoding: str) -> tuple[Problem, dict]:
    """Return a builtin dataset, encoded as the workflow does, and the notes in its file."""
    row = read_table(ROOT / "config" / "datasets.csv")[dataset]
    with TemporaryDirectory() as folder:
        table, problem = Path(folder, "table.csv"), Path(folder, "problem.npz")
        save_table(fetch(row), table)
        encode(table, row, ENCODINGS[encoding], problem)
        return load_problem(problem)


def run(dataset: str, encoding: str, regularization: str, split="full", algorithm="branches", **fields) -> dict:
    """Return the record of a run."""
    wanted = Run(dataset, encoding, algorithm, algorithm, regularization, split=split, **fields)
    return solve(*encoded(dataset, encoding), wanted)


@cache
def records() -> tuple[dict, ...]:
    """Return records of two datasets, encodings and algorithms, three seeds, a depth limit, and a stopped search."""
    done = [run("monks-1", "ordinal", lam) for lam in ("0.1", "0.01", "0.005")]
    for algorithm in ("branches", "cart"):
        for lam in ("0.05", "0.01"):
            for split in ("full", "0", "1", "2"):
                done.append(run("monks-1", "onehot-drop-first", lam, split, algorithm))
    done.append(run("monks-1", "onehot-drop-first", "0.01", max_depth=2))
    done.append(run("tic-tac-toe", "onehot-drop-first", "0.005", limits={"iterations": 2000}))
    done.append(run("tic-tac-toe", "ordinal", "0.005"))
    return tuple(done)


def shuffled() -> list[dict]:
    """Return the same records in another order."""
    return [records()[i] for i in np.random.RandomState(0).permutation(len(records()))]
