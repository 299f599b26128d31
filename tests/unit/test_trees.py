"""Pages of trees: every proven tree is drawn once and is legible."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pandas as pd
import pytest
from support.runs import records, shuffled

from optree.bench.figures import tree_pages
from optree.bench.tables import formats
from optree.bench.tables.frame import frame
from optree.bench.tables.summary import summary
from optree.tree import LEAF, Tree


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return frame(records())


def cards(page: str) -> dict[int, str]:
    return {int(card[: card.index('"')]): card for card in page.split('<article id="')[1:]}


def test_proven_trees_of_fits_come_last(runs):
    """Each once, and none that proves nothing."""
    tree = runs[runs["dataset"].eq("tic-tac-toe")]["tree"].iloc[0]
    fits = pd.DataFrame(
        {
            "dataset": ["tic-tac-toe", "tic-tac-toe", "tic-tac-toe", "wine"],
            "model": ["exact", "exact", "greedy", "exact"],
            "split": ["full", "3", "full", "full"],
            "status": ["optimal", "optimal", "heuristic", "optimal"],
            "train": [0.75, 0.5, 0.25, 1.0],
            "tree": [tree] * 4,
        }
    )
    without, with_ = (cards(tree_pages.page(runs, "tic-tac-toe", some)) for some in (None, fits))
    assert set(with_) - set(without) == {max(without) + 1}
    last = with_[max(with_)]
    assert "exact: training accuracy 0.75000, proven" in last
    assert "training accuracy 0.50000" in last
    assert "greedy" not in last
    assert "<svg" in last
    assert list(cards(tree_pages.page(runs, "wine", fits))) == [1]


def texts(picture: str) -> list[str]:
    return [element.text for element in ElementTree.fromstring(picture).iter("text")]


def test_each_proven_run_has_a_tree_and_different_trees_have_different_numbers(runs):
    numbers = tree_pages.picture_numbers(runs)
    assert numbers[runs["status"].eq("optimal")].notna().all()
    for _, own in runs.assign(number=numbers, text=runs["tree"].map(str)).dropna(subset="number").groupby("dataset"):
        assert sorted(set(own["number"])) == list(range(1, own["number"].nunique() + 1))
        assert (own.groupby("number")["text"].nunique() == 1).all()
        assert (own.groupby("text")["number"].nunique() == 1).all()
        first = own.groupby("number")["split"].agg(lambda splits: "full" in set(splits))
        assert first.tolist() == sorted(first, reverse=True)  # trees on all rows come first


def test_an_algorithm_without_a_proof_has_one_tree(runs):
    own = runs.assign(number=tree_pages.picture_numbers(runs))
    cart = own.query("algorithm == 'cart'").dropna(subset="number")
    assert cart[["split", "regularization"]].to_numpy().tolist() == [["full", "0.01"]]
    (stopped,) = own.query("status == 'iteration_limit'")["number"]
    assert stopped == 1  # the only one of its encoding


def test_the_order_of_the_records_does_not_matter(runs):
    for dataset in ("monks-1", "tic-tac-toe"):
        assert tree_pages.page(frame(shuffled()), dataset) == tree_pages.page(runs, dataset)


def test_a_card_tells_the_runs_that_proved_its_tree_and_shows_it(runs):
    numbers, found = tree_pages.picture_numbers(runs), cards(tree_pages.page(runs, "monks-1"))
    own = runs[runs["dataset"].eq("monks-1") & numbers.notna()]
    assert set(found) == set(numbers[own.index])
    for index, run in own.iterrows():
        card = found[numbers[index]]
        assert f"{run['encoding']}, lambda {run['regularization']} per split" in card
        assert f"objective {run['objective']:.5f}" in card
        assert ("proven by <b>branches" in card) == (run["status"] == "optimal")
        assert ("not proven" in card) == (run["status"] != "optimal")
        tree, (picture,) = Tree.from_dict(run["tree"]), re.findall("<svg.*</svg>", card)
        names = {tree.features[feature].name for feature in tree.feature if feature != LEAF}
        assert names <= set(texts(picture))
        shown = sum(int(rows[1]) for text in texts(picture) if (rows := re.fullmatch(r"(?:all|\d+ of) (\d+)", text)))
        assert shown == run["rows_train"]


def test_the_number_of_pictures_is_limited_and_the_page_says_so(runs, monkeypatch):
    assert "no room" not in tree_pages.page(runs, "monks-1")
    monkeypatch.setattr(tree_pages, "MAX_PICTURES", 3)
    page = tree_pages.page(runs, "monks-1")
    assert list(cards(page)) == [1, 2, 3]
    assert "no room" in page


def test_the_summary_links_to_the_pictures(runs):
    numbers = tree_pages.picture_numbers(runs)
    table = summary(runs, numbers)
    assert "tree" not in summary(runs).shown
    for row in table.data.to_dict("records"):
        same = runs["dataset"].eq(row["dataset"]) & runs["encoding"].eq(row["encoding"])
        same &= runs["algorithm"].eq(row["algorithm"]) & runs["regularization"].eq(row["regularization"])
        same &= runs["split"].eq("full") if row["rows"] == "full" else runs["split"].ne("full")
        same &= runs["max_depth"].isna() if pd.isna(row["max_depth"]) else runs["max_depth"].eq(row["max_depth"])
        assert row["picture"].split() == [str(number) for number in sorted(set(numbers[same].dropna()))]
    assert table.linked["tree"].iloc[0].format(7) == "../plots/trees/monks-1.html#7"


def test_datasets_of_a_table_link_to_their_pages_if_there_are_any(runs):
    shown = pd.DataFrame({"dataset": ["monks-1", "not run"], "value": ["1", "2"]})
    table = tree_pages.with_links(formats.Table("T", shown, shown, ()), runs)
    assert table.linked["dataset"].tolist() == ["../plots/trees/{}.html", ""]
    assert tree_pages.with_links(formats.Table("T", shown[["value"]], shown[["value"]], ()), runs).linked == {}
