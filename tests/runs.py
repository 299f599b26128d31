"""Run records of small real searches, for the tests of what is made of records."""

from __future__ import annotations

from functools import cache

import numpy as np
from checkout import ROOT

from optree.bench.record import Run
from optree.bench.solve import solve
from optree.datasets import fetch, read_table
from optree.encoding import Encoder, EncodingSpec
from optree.problem import Problem

ENCODINGS = {
    "ordinal": EncodingSpec(categorical="ordinal"),
    "onehot-drop-first": EncodingSpec(categorical="onehot", drop="first"),
    "onehot-drop-last": EncodingSpec(categorical="onehot", drop="last"),
}


@cache
def encoded(dataset: str, encoding: str) -> tuple[Problem, dict]:
    """A builtin dataset, encoded, with the notes that the encode step would have written."""
    row = read_table(ROOT / "config" / "datasets.csv")[dataset]
    table = fetch(row)
    encoder = Encoder(ENCODINGS[encoding]).fit(table.X, table.y)
    problem = encoder.problem(table.X, table.y)
    data = {
        "source": row.source,
        "identifier": row.identifier,
        "version": row.version,
        "sha256": table.sha256(),
        "rows": len(table.y),
        "features": len(table.X.columns),
        "classes": len(problem.classes),
        "constant": encoder.constant_,
    }
    return problem, {"data": data, "seconds": 0.01}


def run(dataset: str, encoding: str, regularization: str, split="full", algorithm="branches", **fields) -> dict:
    """The record of a run."""
    wanted = Run(dataset, encoding, algorithm, algorithm, regularization, split=split, **fields)
    return solve(*encoded(dataset, encoding), wanted)


@cache
def records() -> tuple[dict, ...]:
    """Two datasets, two encodings, two algorithms, three lambdas, three seeds, a depth limit, and a stopped search."""
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
    """The same records in another order."""
    return [records()[i] for i in np.random.RandomState(0).permutation(len(records()))]
