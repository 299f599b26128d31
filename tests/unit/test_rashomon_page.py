"""The page of a Rashomon set, used in a browser: its counts, filters and exports against the library's."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from harness.browser import CHROMIUM, page
from sklearn.exceptions import ConvergenceWarning
from support.mixed_table import mixed
from support.refusal import refused

from optree import RashomonSet
from optree.drawing.rashomon import arrays
from optree.tree import LEAF, Tree


@pytest.fixture(scope="module")
def small() -> RashomonSet:
    """Return a set of a few thousand trees over columns of every kind, with weights, copies and three classes."""
    table, y = mixed(0)
    weights = np.random.RandomState(1).choice([0.57, 1.0, 1.5], len(y))
    return RashomonSet("0.03", multiplier="0.25", min_samples_leaf=2, unseen="ignore").fit(table, y, weights)


@pytest.fixture(scope="module")
def filtered(small) -> RashomonSet:
    """Return a part of the small set."""
    return small.filter(forbid="copy")


@pytest.fixture(scope="module")
def large() -> RashomonSet:
    """Return a set of more than 2^64 trees."""
    return RashomonSet("0.002", multiplier="1.5").fit(*binary())


def binary() -> tuple[pd.DataFrame, pd.Series]:
    """Return a table of six 0/1 columns."""
    random = np.random.RandomState(0)
    table = pd.DataFrame(random.randint(0, 2, (100, 6)), columns=[f"x{i}</script><b>&" for i in range(6)])
    return table, table.iloc[:, 0] ^ table.iloc[:, 1] ^ (random.rand(100) < 0.2)


def polynomials(data: dict, forbidden=frozenset()) -> Counter:
    """Return the number of trees of a page's arrays by cost above the optimum: a plain twin of the script."""
    starts = np.cumsum([0, *data["edges"]])
    sizes = [data["splits"][s]["children"] for s in data["split"]]
    first, found = np.cumsum([0, *sizes]), {}
    copies = [sum(f not in forbidden for f in split["features"]) for split in data["splits"]]
    for v in reversed(range(len(data["slack"]))):
        found[v] = Counter({data["leaf"][v]: 1} if data["leaf"][v] >= 0 else {})
        for e in range(starts[v], starts[v + 1]):
            product = Counter({data["rise"][e]: copies[data["split"][e]]})
            for child in data["child"][first[e] : first[e + 1]]:
                if child >= 0:
                    before, product = product, Counter()
                    for x, ways in before.items():
                        for z, more in found[child].items():
                            product[x + z] += ways * more
            found[v].update({x: n for x, n in product.items() if n and x <= data["slack"][v]})
    return found[0]


@pytest.mark.parametrize("seed", range(30))
def test_the_arrays_count_the_trees_of_the_set(seed):
    table, y = mixed(seed, 40)
    random = np.random.RandomState(seed)
    depth, rows = random.choice([None, 2, 3]), int(random.choice([1, 2]))
    penalty = random.choice(["leaf", "split"]).item()
    limit = random.choice([None, None, 30, 100, 300])
    settings = {"multiplier": random.choice(["0", "0.1", "0.3"]).item(), "max_depth": depth, "min_samples_leaf": rows}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        r = RashomonSet("0.04", penalty=penalty, iteration_limit=limit, **settings).fit(table, y)
    for found in [r, r.filter(forbid="colour")] if r.count_ else []:
        if found.count_:
            data = arrays.Arrays(found).to_dict()
            counted = {data["objectives"][x]: n for x, n in polynomials(data).items()}
            assert counted == {round(1 - float(cost / len(y)), 7): n for cost, n in found.histogram_.items()}


def matches(part: dict, data: dict, tree: Tree, node: int) -> bool:
    """Return whether a tree completes a partial tree of the page."""
    if part["at"] < 0 or part.get("leaf"):
        return tree.feature[node] == LEAF
    if "children" not in part:
        return True
    if tree.feature[node] != part["feature"]:
        return False
    places, children = data["features"][part["feature"]]["children"], tree.children(node)
    return all(
        matches(below, data, tree, children[places.index(place)]) for place, below in enumerate(part["children"])
    )


class Walk:
    """A page in a browser."""

    def __init__(self, opened):
        self.opened, self.shown = opened, 0
        self.wait()
        self.data = json.loads(self.ask("JSON.stringify(set)"))

    def ask(self, expression: str):
        return self.opened.ask(expression)

    def wait(self) -> None:
        """Wait until the page has counted."""
        self.shown += 1
        self.opened.wait(f"Number(document.body.dataset.shown) >= {self.shown}")

    def do(self, action: str) -> None:
        """Do something that makes the page count."""
        self.ask(f"void ({action})")
        self.wait()

    @property
    def remaining(self) -> int:
        return int(self.ask("document.querySelector('#remaining .number').dataset.digits"))

    @property
    def partial(self) -> dict:
        return json.loads(self.ask("JSON.stringify(tree)"))

    def completions(self, trees: list[Tree]) -> list[int]:
        """Return the numbers of the trees that complete the partial tree."""
        partial = self.partial
        return [number for number, tree in enumerate(trees) if matches(partial, self.data, tree, 0)]

    def options(self) -> list[tuple[str, int, float]]:
        """Return name, number of trees and best objective of each option."""
        cells = "[row.cells[0].textContent, row.querySelector('.number').dataset.digits, row.cells[2].textContent]"
        rows = self.ask(f"[...document.querySelectorAll('#options tr')].map(row => {cells})")
        return [(name, int(number), float(objective)) for name, number, objective in rows]

    def choose(self, number: int) -> None:
        self.do(f"document.querySelectorAll('#options button')[{number}].click()")

    def filter(self, column: str, kind: str) -> None:
        select = f"document.querySelector('select[data-column=\"{column}\"]')"
        self.do(f"({select}.value = '{kind}', {select}.dispatchEvent(new Event('change')))")

    def exported(self, name: str) -> str:
        return unquote(self.ask(f"document.getElementById('save-{name}').href").split(",", 1)[1])


@pytest.fixture
def opened(request, tmp_path):
    """Yield a browser with the page of a set."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    r = request.getfixturevalue(request.param)
    r.to_html(tmp_path / "set.html")
    with page() as browser:
        browser.open(tmp_path / "set.html")
        yield r, Walk(browser)
        assert browser.errors == []
        assert [address for address in browser.requests if not address.startswith("file:")] == []


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["small", "filtered"], indirect=True)
def test_choices_until_a_tree_is_complete_count_and_export_as_the_library(opened):
    r, walk = opened
    members = [model.tree_ for model in r]
    objectives = [model.objective_ for model in r]
    for seed in range(3):
        random = np.random.RandomState(seed)
        best = json.loads(walk.ask("JSON.stringify(toDict(withCounts(complete(tree))))"))
        assert Tree.from_dict(best).to_dict() == members[0].to_dict()
        while walk.ask("document.getElementById('export').hidden"):
            left = walk.completions(members)
            assert walk.remaining == len(left)
            options = walk.options()
            assert sum(number for _, number, _ in options) == len(left)
            name, number, objective = options[chosen := random.randint(len(options))]
            walk.choose(chosen)
            left = walk.completions(members)
            assert (len(left), round(objectives[left[0]], 5)) == (number, objective), name
            completed = json.loads(walk.ask("JSON.stringify(toDict(withCounts(complete(tree))))"))
            assert r.index(Tree.from_dict(completed)) == left[0]
        rank = int(walk.ask("document.querySelector('#rank .number').dataset.digits"))
        exported = Tree.from_dict(json.loads(walk.exported("json")))
        assert exported.to_dict() == members[rank].to_dict()
        assert r.index(exported) == rank
        assert walk.exported("text") == r[rank].export_text() == walk.ask("document.getElementById('text').textContent")
        walk.do("document.getElementById('back').click()")
        assert walk.ask("document.getElementById('export').hidden")
        walk.do("document.getElementById('restart').click()")
        assert walk.remaining == r.count_


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["small", "large"], indirect=True)
def test_filters_and_the_bound_count_as_the_library(opened):
    r, walk = opened
    columns = r.feature_names_in_[np.argsort(r.feature_usage_, kind="stable")].tolist()
    assert walk.remaining == r.count_
    assert int(walk.ask("document.querySelector('#count .number').dataset.digits")) == r.count_
    walk.filter(columns[0], "forbid")
    assert walk.remaining == r.filter(forbid=columns[0]).count_
    for required in (columns[1:2], columns[1:3]):
        walk.filter(required[-1], "require")
        found = r.filter(forbid=columns[0], require=required)
        assert 0 < walk.remaining == found.count_
        assert next(best for *_, best in walk.options()) == round(found[0].objective_, 5)
        completed = json.loads(walk.ask("JSON.stringify(toDict(withCounts(complete(tree))))"))
        assert found[found.index(Tree.from_dict(completed))].cost_ == found[0].cost_
    for column in columns[:3]:
        walk.filter(column, "any")
    places = int(walk.ask("Number(document.getElementById('bound').max)"))
    assert places == len(r.histogram_) - 1
    slider = "document.getElementById('bound')"
    for place in (0, places // 3, places):
        walk.do(f"({slider}.value = {place}, {slider}.dispatchEvent(new Event('input')))")
        bound = list(r.histogram_)[place]
        assert walk.remaining == r.count_within(str(bound / min(r.histogram_) - 1))


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["large"], indirect=True)
def test_counts_of_many_digits_are_readable_and_exact(opened):
    r, walk = opened
    assert r.count_ > 2**64
    shown = walk.ask("document.querySelector('#count .number').textContent")
    assert float(shown) == pytest.approx(r.count_, rel=0.05)
    walk.ask("document.querySelector('#count .number').click()")
    assert walk.ask("document.querySelector('#count .number').textContent") == f"{r.count_:,}"
    random = np.random.RandomState(0)
    while walk.ask("document.getElementById('export').hidden"):
        walk.choose(random.randint(len(walk.options())))
    rank = int(walk.ask("document.querySelector('#rank .number').dataset.digits"))
    exported = Tree.from_dict(json.loads(walk.exported("json")))
    assert r.index(exported) == rank


@pytest.mark.slow
@pytest.mark.parametrize("opened", ["large"], indirect=True)
def test_the_page_fits_a_telephone_and_obeys_the_keyboard(opened):
    _, walk = opened
    walk.opened.size(390, 800)
    walk.ask("document.querySelector('#options button').focus()")
    every, (_, second, _) = walk.remaining, walk.options()[1]
    for key, code in (("ArrowDown", 40), ("Enter", 13), ("Backspace", 8)):
        text = {"text": "\r"} if key == "Enter" else {}
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        walk.opened.send("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        walk.opened.send("Input.dispatchKeyEvent", type="keyUp", **event)
        if key != "ArrowDown":
            walk.wait()
            assert walk.remaining == (second if key == "Enter" else every)
            assert walk.ask("document.activeElement.closest('#options') !== null")
    for _ in range(3):
        walk.choose(0)
    assert walk.ask("document.documentElement.scrollWidth") <= 390


def test_a_page_that_would_be_too_large_is_refused_with_a_bound_that_fits(large, tmp_path, monkeypatch):
    needed = arrays.Arrays(large)
    monkeypatch.setitem(arrays._MOST, "million products", needed._products(0, needed.spare >= 0) / 2e6)
    with refused("to_html", "million products") as caught:
        large.to_html(tmp_path / "large.html")
    assert not (tmp_path / "large.html").exists()
    bound = re.search("bound='(.*)'", str(caught.value))[1]
    smaller = RashomonSet("0.002", bound=bound).fit(*binary())
    smaller.to_html(tmp_path / "large.html")
    assert 1 < smaller.count_ < large.count_
    assert smaller.histogram_.items() <= large.histogram_.items()
    monkeypatch.setitem(arrays._MOST, "MiB", 0.001)
    with refused("to_html", "MiB"):
        large.to_html(tmp_path / "large.html")


def test_sets_without_a_page_are_refused(small, tmp_path):
    for r in (small.filter(require="flag"), small.filter(max_depth=1), small.filter(forbid="flag", require="flag")):
        with refused("to_html"):
            r.to_html(tmp_path / "none.html")


def test_a_set_of_one_leaf_has_a_page(tmp_path):
    table, y = binary()
    r = RashomonSet("0.5").fit(table, y)
    assert r.count_ == 1
    r.to_html(tmp_path / "leaf.html")
    some = np.tile([0, 1], 20)  # a set of one split, whose page has no node but the root
    one = RashomonSet("0.05", max_depth=2).fit(np.column_stack([some, np.arange(40) % 5 > 2]), some)
    assert one.count_ == 1
    one.to_html(tmp_path / "new" / "split.html")
    if CHROMIUM is None:
        return
    with page() as browser:
        browser.open(tmp_path / "leaf.html")
        walk = Walk(browser)
        assert walk.remaining == 1
        walk.choose(0)
        assert walk.exported("text") == r[0].export_text()
        assert Tree.from_dict(json.loads(walk.exported("json"))).to_dict() == r[0].tree_.to_dict()
        assert browser.errors == []


def test_a_notebook_shows_the_number_of_trees(large, filtered):
    assert f"the best of {large.count_:,} trees; " in large._repr_html_()
    assert f"the best of {filtered.count_:,} trees; " in filtered._repr_html_()


def test_the_page_is_returned_and_written(small, tmp_path):
    assert small.to_html(tmp_path / "pages/set.html") == (tmp_path / "pages/set.html").read_text() == small.to_html()
