"""Codes equal the encoded files of the authors of BRANCHES."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from optree.datasets import fetch
from optree.encoding import Encoder, EncodingSpec

# The endings of the files: bare (none dropped), -f (first), -l (last), -o (ordinal).
SPECS = {
    "": EncodingSpec("onehot", "none"),
    "-f": EncodingSpec("onehot", "first"),
    "-l": EncodingSpec("onehot", "last"),
    "-o": EncodingSpec("ordinal"),
}
FILES = {
    "tic-tac-toe": ("tictactoe", {"": 27, "-f": 18, "-o": 9}),
    "balance-scale": ("balance", {"": 20, "-f": 16, "-o": 4}),
    "monk1-train": ("monk1", {"": 17, "-f": 11, "-l": 11, "-o": 6}),
    "monk2-train": ("monk2", {"": 17, "-f": 11, "-o": 6}),
    "monk3-train": ("monk3", {"": 17, "-f": 11, "-o": 6}),
    "car": ("careval", {"": 21, "-f": 15, "-o": 6}),
    "nursery": ("nursery", {"": 27, "-f": 19, "-o": 8}),
    "mushroom": ("mushroom", {"": 117, "-f": 95, "-o": 22}),
    "kr-vs-kp": ("krvskp", {"": 73}),
    "zoo": ("zoo", {"": 36, "-f": 20, "-o": 16}),
    "lymph": ("lymph", {"": 59, "-f": 41, "-o": 18}),
}


@pytest.mark.parametrize("name", FILES)
def test_codes_are_those_of_the_paper_up_to_the_order_of_columns(name, table, mirror_dir):
    data = fetch(table[name], mirror_dir)
    file, sizes = FILES[name]
    for suffix, size in sizes.items():
        path = next(mirror_dir.rglob(f"preprocessed/{file}{suffix}.txt*"))
        with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as lines:
            theirs = np.loadtxt(lines, np.int32)
        codes, y = theirs[:, :-1], theirs[:, -1]
        assert codes.shape[1] == size
        codes = codes[:, codes.min(axis=0) < codes.max(axis=0)]  # theirs keeps mushroom's constant veil-type
        encoder = Encoder(SPECS[suffix]).fit(data.X, data.y)
        problem = encoder.problem(data.X, data.y)
        ours = problem.codes.astype(np.int32)
        assert sorted(column.tobytes() for column in ours.T) == sorted(column.tobytes() for column in codes.T)
        assert (problem.y == y).all()
        assert encoder.constant_ == ["veil-type"] * (name == "mushroom")
