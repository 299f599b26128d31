"""The page of a tree, used in a browser: paths of rows against the library's, folding, counts, names, screens."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import sklearn
from harness.browser import CHROMIUM, page
from support.mixed_table import mixed

from optree import (
    BranchesClassifier,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    RashomonSet,
    SPLITClassifier,
)
from optree.columns import NO_SIDE
from optree.encoding.cells import cell_text, is_missing
from optree.tree import LEAF

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"


def table(n: int = 160) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with columns of every kind, of hostile names, and three classes of hostile names."""
    found, y = mixed(1, n)
    random = np.random.RandomState(2)
    found["size"] = pd.Categorical(random.choice(["S", "M", "L", "XL"], n), ["S", "M", "L", "XL"], ordered=True)
    found[HOSTILE] = random.randn(n).round(2)
    found["whole"] = random.randint(0, 9, n)
    y = np.where((found["size"] > "M") & (found[HOSTILE] > 0.3), 2, y)
    y = np.where(found["whole"] > 6, (found["colour"] == "blue").astype(int), y)
    return found, np.array([f"{HOSTILE}{k}" for k in y])


def numbers(n: int = 160) -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.RandomState(3)
    found = pd.DataFrame(random.randn(n, 4), columns=list("abcd"))
    return found, (found["a"] * found["b"] > 0.2) + 0.5 * (found["c"] > 0)


def fitted(name: str):
    """Return a fitted estimator and its table."""
    X, y = table()
    Z, values = numbers()
    match name:
        case "mixed":
            return OptimalTreeClassifier("0.004", unseen="ignore", max_depth=4, max_thresholds=6).fit(X, y), X
        case "one against the rest":
            model = OptimalTreeClassifier("0.006", one_vs_rest=True, max_depth=4, max_thresholds=6)
            return model.set_params(unseen="ignore").fit(X, y), X
        case "all values":
            return BranchesClassifier("0.004", unseen="ignore").fit(X, y), X
        case "intervals":
            return SPLITClassifier("0.004", max_ways=3, max_depth=3, unseen="ignore").fit(X, y), X
        case "regression":
            return OptimalTreeRegressor("0.01", max_depth=3, max_thresholds=8).fit(Z, values), Z
        case "policy":
            costs = np.column_stack([values, 1 - values, np.full(len(Z), 0.6)])
            return OptimalPolicyTree("0.01", max_depth=3, max_thresholds=8).fit(Z, costs), Z
        case "leaf":
            return OptimalTreeClassifier("0.9").fit(X, y), X
        case "members":
            return RashomonSet("0.03", multiplier="0.1", max_depth=3, max_thresholds=4, unseen="ignore").fit(X, y)[0], X


KINDS = ("mixed", "one against the rest", "all values", "intervals", "regression", "policy", "leaf", "members")


def drawn_rows(X: pd.DataFrame, seed: int, n: int = 400, unseen: bool = True) -> pd.DataFrame:
    """Return rows whose values are drawn from each column, with missing and unseen values and other numbers."""
    random = np.random.RandomState(seed)
    found = X.iloc[random.randint(0, len(X), n)].reset_index(drop=True)
    for name in X:
        values = found[name].sample(frac=1, random_state=random).to_numpy()
        if values.dtype.kind in "fi":
            values = np.where(random.rand(n) < 0.3, values.astype(float) + random.randn(n), values)
        values = values.astype(object)
        values[random.rand(n) < 0.1] = None
        if unseen and any(isinstance(value, str) for value in values):
            values[random.rand(n) < 0.1] = "never seen"
        found[name] = values if values.dtype == object and not _is_number(X[name]) else values.astype(float)
    return found


def _is_number(column: pd.Series) -> bool:
    return column.dtype.kind in "fi"


def typed(value, options: list | None):
    """Return the value of a field of the page for JSON: a number, an option, null for another, or "MISSING"."""
    if is_missing(value):
        return {"missing": True}
    if options is None:
        return float(value)
    text = cell_text(value)
    return text if text in options else None


class Opened:
    """An open page of a fitted estimator."""

    def __init__(self, browser, model, path):
        self.browser, self.model = browser, model
        model.to_html(path)
        browser.open(path)
        self.data = json.loads(browser.ask("document.getElementById('data').textContent"))

    def ask(self, expression: str):
        return self.browser.ask(expression)

    @property
    def path(self) -> list[int]:
        return [int(node) for node in self.ask("document.body.dataset.path").split()]

    def follow(self, rows: pd.DataFrame) -> list[int]:
        """Return the node where the page has each row end."""
        columns = self.data["columns"]
        records = [
            [typed(value, column["options"]) for column, value in zip(columns, row, strict=True)]
            for row in rows[[column["name"] for column in columns]].itertuples(index=False)
        ]
        program = """rows => rows.map(values => {
          values.forEach((value, i) => row.set(i, value?.missing ? MISSING : value));
          const {path, open} = follow();
          return open === undefined ? path.at(-1) : -1;
        })"""
        return self.ask(f"JSON.stringify(({program})({json.dumps(records)}))")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with page() as opened:
        yield opened
        assert opened.errors == []
        assert [address for address in opened.requests if not address.startswith("file:")] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_rows_end_on_the_page_where_they_end_in_the_library(browser, tmp_path, name):
    model, X = fitted(name)
    opened = Opened(browser, model, tmp_path / "tree.html")
    assert model.tree_.n_splits > 1 or name == "leaf"
    rows = drawn_rows(X, 0)
    if name == "all values":  # a number that was not seen is an unseen category
        rows["whole"] = rows["whole"].round()
    found = json.loads(opened.follow(rows))
    assert found == model.apply(rows).tolist()
    assert len(set(found)) > model.tree_.n_splits or name == "leaf"


@pytest.mark.slow
def test_a_typed_row_is_followed_and_its_leaf_is_shown(browser, tmp_path):
    model, X = fitted("mixed")
    opened = Opened(browser, model, tmp_path / "tree.html")
    row = X.dropna().iloc[[3]]
    for column in opened.data["columns"]:
        if not column["used"]:
            continue
        value = row[column["name"]].iloc[0]
        chosen = float(value) if column["options"] is None else column["options"].index(cell_text(value))
        event = "input" if column["options"] is None else "change"
        opened.ask(
            f"(() => {{ const label = [...document.querySelectorAll('#fields > label')].find(one => "
            f"one.dataset.column === {json.dumps(column['name'])}); const field = label.querySelector('select, input');"
            f"field.value = {json.dumps(str(chosen))}; field.dispatchEvent(new Event('{event}')); }})()"
        )
    leaf = int(model.apply(row)[0])
    assert opened.path[-1] == leaf
    assert opened.ask("document.getElementById('answer').textContent") == f"Class: {model.predict(row)[0]}"
    counts = "[...document.querySelectorAll('#counts tr')].map(row => row.cells[1].textContent)"
    own = sorted((int(count) for count in model.tree_.counts[leaf] if count), reverse=True)
    assert [int(count) for count in opened.ask(counts)] == own
    assert opened.ask("document.getElementById('rows').textContent") == f"Training rows: {sum(own)}"
    assert opened.ask("document.querySelectorAll('.on-path').length") == len(opened.path)
    opened.ask("document.getElementById('clear').click()")
    assert opened.path == [0]


@pytest.mark.slow
def test_every_node_can_be_chosen_and_has_its_counts(browser, tmp_path):
    model, _ = fitted("mixed")
    tree, opened = model.tree_, Opened(browser, model, tmp_path / "tree.html")
    for number, own in enumerate(json.loads(opened.ask("JSON.stringify(boxes.map(box => box.nodes))"))):
        opened.ask(f"boxes[{number}].shown.click()")
        path = opened.path
        assert path[-1] == own[0]
        assert all(child in tree.children(node) for node, child in pairwise(path))
        note = opened.ask(f"boxes[{number}].shown.querySelector('.note').textContent")
        rows = int(tree.counts[own].sum())
        assert note.split()[-1 if tree.feature[own[0]] == LEAF else 0] == str(rows)
        shown = json.loads(
            opened.ask("JSON.stringify([...document.querySelectorAll('#counts tr')].map(r => +r.cells[1].textContent))")
        )
        assert sum(shown) == rows


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(1400, False), (1400, True), (390, False), (390, True)])
def test_nodes_fold_and_the_page_fits_and_obeys_the_keyboard(browser, tmp_path, width, dark):
    preference = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.send("Emulation.setEmulatedMedia", features=[preference])
    browser.size(width, 900)
    model, _ = fitted("mixed")
    opened = Opened(browser, model, tmp_path / "tree.html")
    seen = "boxes.filter(box => box.item.offsetParent !== null).length"
    every = opened.ask("boxes.length")
    assert opened.ask(seen) == every > 4
    assert opened.ask("document.documentElement.scrollWidth") <= width
    assert opened.ask("boxes.every(box => box.shown.scrollWidth <= box.shown.clientWidth)")
    background = opened.ask("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") != dark
    opened.ask("document.querySelector('.fold').click()")
    assert opened.ask(seen) == 1
    assert opened.ask("document.querySelector('.fold').getAttribute('aria-expanded')") == "false"
    opened.ask("boxes[0].shown.focus()")
    for key, count in (("ArrowRight", every), ("ArrowLeft", 1), ("ArrowRight", every)):
        event = {"key": key, "code": key}
        browser.send("Input.dispatchKeyEvent", type="keyDown", **event)
        browser.send("Input.dispatchKeyEvent", type="keyUp", **event)
        assert opened.ask(seen) == count
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        browser.send("Input.dispatchKeyEvent", type="keyDown", key=key, code=key)
    assert opened.ask("boxes.findIndex(box => box.shown === document.activeElement)") == 1
    opened.ask("document.getElementById('fold').click()")
    assert opened.ask(seen) == 1
    opened.ask("document.getElementById('unfold').click()")
    assert opened.ask(seen) == every
    assert opened.ask("document.documentElement.scrollWidth") <= width
    assert opened.ask("document.querySelectorAll('img').length") == 0  # of a hostile name
    browser.size(1400, 900)


@pytest.mark.slow
def test_a_notebook_shows_the_parameters_and_the_tree(browser, tmp_path):
    model, _ = fitted("one against the rest")
    unfitted = OptimalTreeClassifier()
    assert "<iframe" not in unfitted._repr_html_()
    shown = model._repr_mimebundle_()["text/html"]
    assert shown.split("<iframe")[1] == model._repr_html_().split("<iframe")[1]
    assert shown.count("<iframe") == 1
    assert "max_depth" in shown.split("<iframe")[0]
    (tmp_path / "notebook.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{shown}{shown}")
    browser.open(tmp_path / "notebook.html")
    frames = "[...document.querySelectorAll('iframe')].map(one => one.contentDocument)"
    assert (
        browser.ask(f"{frames}.map(one => one.querySelectorAll('.box').length)")
        == [browser.ask(f"{frames}[0].querySelectorAll('.box').length")] * 2
    )
    assert browser.ask(f"{frames}[0].querySelectorAll('.box').length") > 3
    fits = "one => one.clientHeight >= Math.min(890, one.contentDocument.body.scrollHeight)"
    assert browser.ask(f"[...document.querySelectorAll('iframe')].every({fits})")
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_the_page_has_no_other_page_and_no_name_that_ends_its_data(tmp_path):
    model, _ = fitted("leaf")
    found = model.to_html()
    assert found.count("</script>") == 2
    assert "http" not in found.split("<script", 1)[0]
    assert HOSTILE not in found
    assert math.isfinite(NO_SIDE)
