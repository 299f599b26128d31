"""Folds: seeds and cross-validation, stratified, always the same rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.refusal import refused
from support.runs import ENCODINGS, run

from optree.bench.runs.encode import encode, parse_encoding
from optree.bench.runs.folds import fold_name, held_out
from optree.bench.tables.frame import frame
from optree.bench.tables.summary import summarise
from optree.datasets import fetch, save_table
from optree.encoding.problem_files import load_problem


def test_folds_hold_out_every_row_once_and_every_class_evenly():
    for seed in range(200):
        random = np.random.RandomState(seed)
        count, y = random.randint(2, 7), random.randint(random.randint(1, 5), size=random.randint(1, 60))
        test = np.array([held_out(y, f"{i}of{count}", "0.2") for i in range(1, count + 1)])
        assert (test.sum(axis=0) == 1).all()
        assert np.ptp(test.sum(axis=1)) <= 1
        for label in set(y):
            assert np.ptp(test[:, y == label].sum(axis=1)) <= 1


def test_splits_are_the_same_for_ever():
    y = np.repeat([0, 1], [7, 5])
    assert np.flatnonzero(held_out(y, "1of3", "0.2")).tolist() == [3, 4, 6, 11]
    assert np.flatnonzero(held_out(y, "7", "0.25")).tolist() == [2, 5, 10]
    assert not held_out(y, "full", "0.25").any()


def test_splits_have_names():
    assert [fold_name(split) for split in ("full", "3", "2of5")] == ["", "seed 3", "fold 2of5"]


@pytest.mark.parametrize("split", ["half", "0of5", "6of5", "1of1", "-1", "1.5", "²"])
def test_other_splits_are_refused(split):
    with refused(repr(split), "full, a seed, or a fold"):
        held_out(np.array([0, 1]), split, "0.2")


def test_folds_are_summed_up_apart_from_seeds_and_all_rows():
    done = [run("monks-1", "onehot-drop-first", "0.01", split) for split in ("full", "0", "1", "1of2", "2of2")]
    table = frame(done)
    assert table["split"].tolist() == ["full", "0", "1", "1of2", "2of2"]
    assert table["rows_test"].tolist()[-2:] == [216, 216]
    assert summarise(table)["rows"].tolist() == ["full", "2 seeds", "2 folds"]


def test_rows_can_be_there_several_times(table, tmp_path):
    save_table(fetch(table["monks-1"]), tmp_path / "table.csv")
    spec, repeat = parse_encoding({"categorical": "onehot", "drop": "first", "numeric": "thresholds", "repeat": 3})
    assert (spec, repeat) == (replace(ENCODINGS["onehot-drop-first"], missing="best"), 3)
    encode(tmp_path / "table.csv", table["monks-1"], spec, tmp_path / "problem.npz", repeat)
    problem, notes = load_problem(tmp_path / "problem.npz")
    assert notes["data"]["rows"] == len(problem.y) == 3 * 432
    assert (problem.codes.reshape(3, 432, -1) == problem.codes[:432]).all()
