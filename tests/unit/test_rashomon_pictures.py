"""Pictures of Rashomon sets, and their trees for TimberTrek."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.mixed_table import mixed
from support.pictures import lies_inside
from support.refusal import refused

from optree import RashomonSet
from optree.drawing.rashomon import plots

TABLE, Y = mixed(0)


@pytest.fixture(scope="module")
def small() -> RashomonSet:
    """Return a set of a few hundred trees over columns of every kind."""
    return RashomonSet("0.03", multiplier="0.15").fit(TABLE, Y)


@pytest.fixture(scope="module")
def large() -> RashomonSet:
    """Return a set whose count float64 cannot hold."""
    random = np.random.RandomState(0)
    table = random.randint(0, 2, (100, 6))
    return RashomonSet("0.002", multiplier="1.5").fit(table, table[:, 0] ^ (random.rand(100) < 0.3))


def new_axes():
    return Figure(figsize=(6, 4)).add_subplot()


def test_bars_have_the_counts_of_the_histogram(small, large):
    for r in (small, large):
        ax = r.plot_histogram(ax=new_axes())
        tops = sorted(10 ** (bar.get_y() + bar.get_height()) for bar in ax.patches)
        assert sum(tops) == pytest.approx(r.count_, rel=1e-9)
        assert ax.xaxis.get_inverted()
        assert plots.short(r.count_) in ax.get_title(loc="left")
    assert len(small.plot_histogram(ax=new_axes()).patches) == len(small.histogram_)
    assert len(large.plot_histogram(ax=new_axes()).patches) <= plots._BARS < len(large.histogram_)


def test_reliance_of_the_trees_is_that_of_the_set_in_the_mean(small):
    ax = small.plot_importance(TABLE, Y, ax=new_axes())
    names = [text.get_text() for text in ax.get_yticklabels()]
    means = {
        names[round(line.get_ydata()[0] + 0.28)]: line.get_xdata()[0] for line in ax.lines if line.get_marker() == "^"
    }
    exact = dict(zip(small.feature_names_in_, small.model_reliance(TABLE, Y), strict=True))
    assert means == pytest.approx({name: exact[name] for name in names})
    assert f"all {small.count_} trees" in ax.get_title(loc="left")


def test_importances_of_few_columns_are_saved_whole():
    for table in (TABLE.iloc[:, :1], TABLE.iloc[:, :2]):
        ax = RashomonSet("0.03", multiplier="0.15").fit(table, Y).plot_importance(table, Y)
        assert lies_inside(ax.figure)


def test_a_large_set_is_sampled_and_the_picture_says_so(large):
    random = np.random.RandomState(0)
    X, y = random.randint(0, 2, (50, 6)), random.randint(0, 2, 50)
    ax = large.plot_importance(X, y, n_trees=7, random_state=3, ax=new_axes())
    assert f"a sample of 7 of {plots.short(large.count_)} trees" in ax.get_title(loc="left")


def test_unknown_classes_are_refused(small):
    with refused("plot_importance", "7"):
        small.plot_importance(TABLE, np.where(Y == 1, 7, Y), ax=new_axes())


def test_the_agreement_of_rows_is_that_of_the_votes(small):
    ax = small.plot_agreement(TABLE, ax=new_axes())
    most = np.sort(small.predict_proba(TABLE).max(axis=1))
    x, y = ax.lines[0].get_data()
    for share in (0.5, 0.8, 0.99, 1):
        assert y[np.searchsorted(x, share, side="right") - 1] == pytest.approx((most <= share).mean())
    assert f"trees, in agreement on {(most == 1).sum()} of {len(most)} rows" in ax.get_title(loc="left")


@pytest.mark.parametrize(
    ("number", "text"),
    [(9_999_999, "9,999,999"), (10**7, "1.0e7"), (3456789 * 10**30, "3.5e36"), (996 * 10**20, "1.0e23")],
)
def test_counts_are_rounded_to_two_digits(number, text):
    assert plots.short(number) == text


# Made by hand; timbertrek 0.1.7 makes the same of the trie that treefarms 0.2.4 writes of these three trees,
# {"0": {"-2 -1": ..., "-2 1": {"-1 -1": ...}, "1 -1": {"-1 -2": ...}}}.
TREES = {
    1: [{"f": ["0", 8, -1], "c": [{"f": ["+", 4, 3]}, {"f": ["-", 4, 3]}]}, 0.45, 0.75],
    2: [
        {
            "f": ["0", 8, -1],
            "c": [{"f": ["1", 4, -1], "c": [{"f": ["-", 2, 1]}, {"f": ["+", 2, 2]}]}, {"f": ["-", 4, 3]}],
        },
        0.55,
        0.75,
    ],
    3: [
        {
            "f": ["0", 8, -1],
            "c": [{"f": ["+", 4, 3]}, {"f": ["1", 4, -1], "c": [{"f": ["-", 2, 1]}, {"f": ["-", 2, 2]}]}],
        },
        0.55,
        0.75,
    ],
}


def with_sorted_children(node: dict) -> dict:
    """Return a node of paths with its children in one order."""
    return {**node, "c": sorted(map(with_sorted_children, node["c"]), key=repr)} if "c" in node else node


def test_timbertrek_gets_what_its_own_program_makes():
    table = pd.DataFrame({"a": list("00001111"), "b:<2": list("00110011")})
    r = RashomonSet("0.1", multiplier="0.5").fit(table, [0, 0, 0, 1, 1, 1, 1, 0])
    found = r.to_timbertrek(3)
    assert found["featureMap"] == {0: ["a", "= 1", "a"], 1: ["b", "< 2", "b"]}
    assert found["treeMap"] == TREES
    ends = [{"f": "_", "t": tree} for tree in (1, 2, 3)]
    paths = {"f": "root", "c": [{"f": "0", "c": [*ends, {"f": "1", "c": ends[1:]}]}]}
    assert with_sorted_children(found["trie"]) == with_sorted_children(paths)
    assert list(r.to_timbertrek(1)["treeMap"]) == [1]


def test_timbertrek_shows_two_classes_and_binary_splits(small):
    with refused("to_timbertrek", "3 classes"):
        small.to_timbertrek(5)
    two = RashomonSet("0.03").fit(TABLE, Y == 1)
    with refused("to_timbertrek", "'colour'", "one_vs_rest"):
        two.to_timbertrek(5)
    assert two.set_params(one_vs_rest=True).fit(TABLE, Y == 1).to_timbertrek(5)["treeMap"]


def test_an_empty_set_has_no_pictures(large):
    none = large.filter(forbid=range(6), require=[0])
    assert none.count_ == 0
    for draw in (
        none.plot_histogram,
        lambda: none.plot_agreement([[0] * 6]),
        lambda: none.plot_importance([[0] * 6], [0]),
    ):
        with refused("set is empty"):
            draw()
