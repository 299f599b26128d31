"""Real problems: datasets that ship, as the workflow encodes them, and files of the mirror."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from optree.problem import Problem
from support.problems import make
from support.runs import encoded


def embedded(name: str, encoding: str) -> Problem:
    """Return a dataset that ships, encoded.

    The encoding is "ordinal", or the category that one-hot columns leave out: "first", "last" or "none".
    """
    return encoded(name, encoding if encoding == "ordinal" else f"onehot-drop-{encoding}")[0]


def murtree_problem(mirror: Path, name: str) -> Problem:
    """Return a dataset of the MurTree paper: binary columns, two classes."""
    path = next((mirror / "murtree").glob(f"{name}.txt*"))
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as lines:
        rows = np.loadtxt(lines, np.int64)
    return make(rows[:, 1:], rows[:, 0], [2] * (rows.shape[1] - 1), 2)
