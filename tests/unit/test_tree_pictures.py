"""Pictures of trees: their content, their legibility, their colours, and the parts that need rows."""

from __future__ import annotations

import itertools
import json
import re
import sys
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.mixed_table import mixed
from support.problems import make
from support.refusal import refused
from support.runs import records

from optree import DPDTreeClassifier, OptimalPolicyTree, OptimalTreeClassifier, OptimalTreeRegressor, solvers
from optree.columns import Feature
from optree.drawing import colours, svg, views
from optree.drawing.layout import Detail, Picture, Rect, Stroke, Words, picture
from optree.objective import Objective
from optree.problem import Problem
from optree.tree import LEAF, Tree

ROWS = re.compile(r"(?:all|([\d.]+) of) ([\d.]+)")


def grown() -> list[Tree]:
    """Return the different trees of the records."""
    texts = dict.fromkeys(json.dumps(entry["tree"]) for entry in records())
    return [Tree.from_dict(json.loads(text)) for text in texts]


def multiway(seed: int) -> Tree:
    """Return a tree of splits into three children."""
    random = np.random.RandomState(seed)
    problem = make(random.randint(0, 3, (60, 5)), random.randint(0, 3, 60), [3] * 5, 3)
    return solvers.get("branches").solve(problem, Objective.of("0.001", max_depth=3)).tree


def digits() -> DPDTreeClassifier:
    """Return a tree of many leaves and ten classes."""
    random = np.random.RandomState(0)
    X = random.rand(800, 4)
    return DPDTreeClassifier(7, regularization=0.0001).fit(X, (X @ [1, 2, 4, 3]).astype(int))


def texts(found: Picture, *kinds: str) -> list[str]:
    return [mark.text for mark in found.marks if isinstance(mark, Words) and (not kinds or mark.kind in kinds)]


def nodes(found: Picture) -> list[Rect]:
    return [mark for mark in found.marks if isinstance(mark, Rect) and mark.outlined]


@pytest.mark.parametrize("sideways", [False, True])
@pytest.mark.parametrize("tree", [*grown()[::2], *map(multiway, range(2))], ids=lambda tree: f"{tree.n_splits} splits")
def test_no_two_texts_meet_and_no_two_boxes_and_all_lie_inside(tree, sideways):
    found = picture(tree, sideways=sideways)
    for a, b in itertools.combinations(nodes(found), 2):
        assert a.x + a.width < b.x or b.x + b.width < a.x or a.y + a.height < b.y or b.y + b.height < a.y
    for box in nodes(found):
        assert 0 <= box.x < box.x + box.width <= found.width
        assert 0 <= box.y < box.y + box.height <= found.height
    ax = views.plot(tree, sideways=sideways)
    ax.figure.canvas.draw()
    drawn, page = [text.get_window_extent() for text in ax.texts], ax.figure.bbox
    plt.close(ax.figure)
    assert not [(a, b) for a, b in itertools.combinations(drawn, 2) if a.overlaps(b)]
    assert all(page.containsx(x) and page.containsy(y) for box in drawn for x, y in (box.min, box.max))


@pytest.mark.parametrize("tree", grown(), ids=lambda tree: f"{tree.n_splits} splits")
def test_matplotlib_and_svg_have_the_same_texts_and_leaves_have_all_rows(tree):
    ax = views.plot(tree, Figure().add_subplot())
    drawn = [element.text for element in ElementTree.fromstring(svg.to_svg(tree)).iter("text")]
    assert [text.get_text() for text in ax.texts] == drawn == texts(picture(tree))
    rows = [ROWS.fullmatch(text) for text in texts(picture(tree), "small")]
    assert sum(int(found[2]) for found in rows) == tree.counts[0].sum()
    right = sum(int(found[1] or found[2]) for found in rows)
    assert right == tree.counts[np.arange(tree.n_nodes), tree.prediction][tree.feature == LEAF].sum()
    inner = [f"{int(count)} rows" for count in tree.counts[tree.feature != LEAF].sum(axis=1)]
    assert sorted(inner) == sorted(
        text.replace("1 row", "1 rows") if text == "1 row" else text
        for text in texts(picture(tree), "quiet")
        if re.match(r"\d+ rows?$", text)
    )


@pytest.mark.parametrize("sideways", [False, True])
def test_the_child_whose_condition_holds_is_on_the_left(sideways):
    table, y = mixed(0)
    for lambda_ in ("0.02", "0.005"):
        model = OptimalTreeClassifier(lambda_, one_vs_rest=True, max_depth=3).fit(table, y)
        marks = [mark for mark in picture(model.tree_, sideways=sideways).marks if isinstance(mark, Words)]
        found = [(mark.y if sideways else mark.x, mark.text) for mark in marks if mark.kind == "if"]
        assert len(found) > 2
        assert {text for _, text in found} == {"yes", "no"}
        assert sorted(found)[0][1] == "yes"
        assert sorted(found)[-1][1] == "no"
    dot = model.export_dot()
    yes = {f"{model.tree_.features[j].labels[1]}" for j in model.tree_.used_features}
    labels = re.findall(r'label="([^"]*)"\];', "".join(re.findall(r"->.*\n?", dot)))
    assert yes.issuperset(labels[::2])
    assert not yes.intersection(labels[1::2])


def test_a_tree_is_drawn_without_empty_leaves_and_with_equal_siblings_together():
    codes = [[part] for part in (0, 1, 2, 3, 3)]
    problem = make(codes, [0, 0, 1, 2, 2], [6], 3)  # parts 4 and 5 are empty
    tree = solvers.get("branches").solve(problem, Objective.of("0.01")).tree
    shown = ["x0", "5 rows", "= 0, 1", "c0", "all 2", "= 2", "c1", "all 1", "= 3", "c2", "all 2"]
    assert sorted(texts(picture(tree), "text", "small", "if") + ["5 rows"]) == sorted(shown)


def test_neighbouring_bins_are_one_interval():
    labels = ("x <= 1", "1 < x <= 2", "2 < x <= 3", "3 < x <= 4", "x > 4")
    problem = Problem.coded(np.arange(5)[:, None], np.array([0, 0, 1, 1, 0]), (Feature("x", labels),), ("a", "b"))
    tree = solvers.get("branches").solve(problem, Objective.of("0.01")).tree
    assert sorted(texts(picture(tree), "if", "text")) == sorted(["x", "<= 2, > 4", "a", "in (2, 4]", "b"])


def test_a_group_of_categories_has_one_condition_in_pictures_and_texts():
    table = pd.DataFrame({"job": ["clerk", "cook", "nurse", None] * 10})
    tree = OptimalTreeClassifier("0.01").fit(table, ["a", "a", "b", "a"] * 10).tree_
    assert sorted(texts(picture(tree), "if")) == ["= clerk, cook", "= nurse", "or missing"]
    assert views.listed(["job = clerk", "job = cook", "job is missing"], "job ") == "job = clerk, cook or missing"
    assert views.listed(["job is missing"], "job ") == "job is missing"


def test_names_are_escaped_and_a_lone_leaf_is_a_picture():
    tree = Tree.grow(make([[0], [1]], [0, 0], [2], 2), lambda rows, state: (LEAF, []))
    assert texts(picture(tree)) == ["c0", "all 2"]
    odd = Tree(tree.feature, tree.first_child, tree.counts, tree.prediction, tree.features, ("<b>&", "c1"))
    for alone in (False, True):
        found = ElementTree.fromstring(svg.to_svg(odd, alone=alone))
        assert next(element.text for element in found.iter() if element.tag.endswith("text")) == "<b>&"


def test_many_leaves_have_a_readable_width():
    model = digits()
    assert model.tree_.n_leaves > 55
    found = picture(model.tree_)
    assert found.width / 108 < 20
    assert picture(model.tree_, sideways=False).width > 3 * found.width
    small = OptimalTreeClassifier("0.02", max_depth=2).fit(*mixed(0)).tree_
    assert picture(small) == picture(small, sideways=False) != picture(small, sideways=True)


def test_weights_are_shown_as_the_user_gave_them():
    table, y = mixed(0)
    weights = np.random.RandomState(0).rand(len(y))
    model = OptimalTreeClassifier("0.02", max_depth=2).fit(table, y, weights)
    shown = texts(picture(model.tree_), "quiet")
    assert f"weight {weights.sum():.6g}" in shown
    leaves = [ROWS.fullmatch(text) for text in texts(picture(model.tree_), "small")]
    assert sum(float(found[2]) for found in leaves) == pytest.approx(weights.sum(), rel=1e-4)


def test_bars_have_the_class_shares_of_their_nodes():
    tree = OptimalTreeClassifier("0.01", max_depth=2, one_vs_rest=True).fit(*mixed(3)).tree_
    found = picture(tree)
    bars = [mark for mark in found.marks if isinstance(mark, Rect) and mark.height == 6]
    shares = []
    for box in nodes(found):
        own = [bar for bar in bars if box.x < bar.x < box.x + box.width and box.y < bar.y < box.y + box.height]
        total = sum(bar.width for bar in own)
        shares.append(tuple(sorted((bar.fill, round(bar.width / total, 6)) for bar in own)))
    expected = [
        tuple(sorted((f"c{k}", round(float(n / row.sum()), 6)) for k, n in enumerate(row) if n)) for row in tree.counts
    ]
    assert set(shares) <= {*expected, *shares}
    assert expected[0] in shares
    assert len(set(shares) & set(expected)) >= 3


def luminance(colour: str) -> float:
    """Return the relative luminance of WCAG."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("dark", [False, True])
def test_text_is_readable_on_every_colour_of_nodes_and_classes_differ(dark):
    ink = luminance(colours.colour("ink", dark))
    for name in (*(name for name in colours.NAMES if name[0] in "t" and name != "track"), "paper", "v0", "v8"):
        low, high = sorted((ink, luminance(colours.colour(name, dark))))
        assert (high + 0.05) / (low + 0.05) >= 4.5, name
    solid = [colours.colour(colours.solid(label), dark) for label in range(colours.N_COLOURS)]
    far = [
        np.linalg.norm([int(a[i : i + 2], 16) - int(b[i : i + 2], 16) for i in (1, 3, 5)])
        for a, b in itertools.combinations(solid, 2)
    ]
    assert min(far) > 30
    assert colours.solid(colours.N_COLOURS) == colours.solid(0)


def test_a_dark_figure_has_a_dark_picture():
    tree = grown()[0]
    with plt.style.context("dark_background"):
        ax = views.plot(tree, plt.figure().add_subplot())
    assert all(
        np.mean(
            text.get_color()
            if not isinstance(text.get_color(), str)
            else [int(text.get_color()[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        )
        > 0.5
        for text in ax.texts
    )
    plt.close("all")
    assert "prefers-color-scheme: dark" in svg.to_svg(tree, alone=True)


def test_splits_of_numbers_show_the_rows_of_their_node_and_the_threshold():
    random = np.random.RandomState(0)
    X = pd.DataFrame({"a": random.rand(200), "b": random.choice(["u", "v", "w"], 200), "c": random.rand(200)})
    X.loc[::9, "a"] = np.nan
    y = ((X["a"] > 0.4) & (X["b"] == "u")) | (X["c"] > 0.7)
    model = OptimalTreeClassifier("0.01", max_depth=3, max_thresholds=8).fit(X, y)
    details = model._details(X, y)
    tree, drawn = model.tree_, 0
    assert set(details) == set(range(tree.n_nodes))
    for node, detail in details.items():
        name = tree.features[tree.feature[node]].name if tree.feature[node] != LEAF else ""
        assert (detail.chart is not None) == ("<=" in name)
        if detail.chart:
            drawn += 1
            (mark,) = detail.chart.marks
            assert 0 <= mark <= 1
            heights = [sum(high for _, high in bar) for bar in detail.chart.bars]
            assert max(heights) == pytest.approx(1)
            assert {fill for bar in detail.chart.bars for fill, _ in bar} <= {"c0", "c1"}
    assert drawn >= 2
    assert model._details(X, None)[0].chart is None or {
        fill for bar in model._details(X, None)[0].chart.bars for fill, _ in bar
    } == {"value"}
    marks = picture(tree, details).marks
    assert sum(isinstance(mark, Stroke) and mark.kind == "mark" for mark in marks) == drawn


def test_an_ordered_category_has_a_bar_for_each_category_and_its_names():
    sizes = ["small", "medium", "large", "huge"]
    X = pd.DataFrame({"size": pd.Categorical(np.tile(sizes, 15), sizes, ordered=True)})
    y = np.tile([0, 0, 1, 1], 15)
    model = OptimalTreeClassifier("0.05").fit(X, y)
    chart = model._details(X, y)[0].chart
    assert chart.ends == ("small", "huge")
    assert [len(bar) for bar in chart.bars] == [1, 1, 1, 1]
    assert chart.marks == (0.5,)
    found = texts(picture(model.tree_, model._details(X, y)))
    assert {"small", "huge", "size <= medium"} <= {*found}
    few = X[:30].assign(size=X["size"][:30].where(X["size"][:30] != "huge", "large"))
    assert model._details(few, y[:30])[0].chart.ends == ("small", "large")


def test_leaves_of_regression_trees_show_their_values_and_those_of_policies_their_savings():
    random = np.random.RandomState(0)
    X = random.rand(150, 3)
    y = np.where(X[:, 0] > 0.5, 2.0, 0.0) + random.rand(150)
    model = OptimalTreeRegressor("0.05", max_depth=2, max_thresholds=10).fit(X, y)
    details, leaves = model._details(X, y), np.flatnonzero(model.tree_.feature == LEAF)
    assert all(len(details[leaf].chart.marks) == 1 for leaf in leaves)
    assert "value" in model.to_svg(X=X, y=y)
    costs = np.column_stack([X[:, 0], 1 - X[:, 0], np.full(150, 0.9)])
    policy = OptimalPolicyTree("0.01", max_depth=2, max_thresholds=10).fit(X, costs)
    notes = [detail.note for detail in policy._details(X, costs).values() if detail.note]
    saved = sum(float(note.split()[1]) * (1 if note.startswith("saves") else -1) for note in notes)
    chosen = policy.tree_.predict(policy._codes(X))
    assert saved == pytest.approx(costs.sum(axis=0).min() - costs[np.arange(150), chosen].sum(), rel=1e-3)
    for arguments, word in (
        ({"y": y}, "y without X"),
        ({"X": X, "y": costs[:9]}, "9"),
        ({"X": X, "y": costs[:, :2]}, "(150, 2)"),
    ):
        with refused("plot", word):
            policy.plot(**arguments)
    classes = OptimalTreeClassifier("0.1", max_depth=1).fit(X, y > 1)
    with refused("plot", "7"):
        classes.plot(X=X, y=np.full(150, 7))


def test_pictures_are_written_to_files_without_matplotlib(tmp_path, monkeypatch):
    model = OptimalTreeClassifier("0.05", max_depth=1).fit(*mixed(0))
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert "<iframe" in model._repr_mimebundle_()["text/html"]
    assert model.to_svg(tmp_path / "tree.svg") == (tmp_path / "tree.svg").read_text()
    assert model.to_html(tmp_path / "tree.html") == (tmp_path / "tree.html").read_text()
    for write, name in ((model.to_svg, "svg"), (model.to_html, "html")):
        write(tmp_path / name / "new" / "tree")
        assert (tmp_path / name / "new" / "tree").exists()
        with refused(str(tmp_path), "cannot be written (Is a directory)"):
            write(tmp_path)
    assert isinstance(picture(model.tree_, {0: Detail(note="a note")}), Picture)
    assert any("a note" in text for text in texts(picture(model.tree_, {0: Detail(note="a note")})))


@pytest.mark.parametrize(("first", "step"), [(12345600, 1), (1, 1e-7), (519.9727, 1e-4)])
def test_a_picture_has_the_thresholds_of_the_model(first, step):
    X = pd.DataFrame({"x": first + step * np.arange(100)})
    model = OptimalTreeClassifier(max_depth=1).fit(X, np.arange(100) < 78)
    shown = re.search(r"x <= ([\d.]+)", model.export_text())[1]
    assert float(shown) == model.to_arrays().threshold[0]
    ax = model.plot(Figure().add_subplot())
    assert f"x <= {shown}" in " ".join(text.get_text() for text in ax.texts)
    assert f"x &lt;= {shown}" in " ".join(re.findall("<text.*?>(.*?)</text>", model.to_svg()))
    assert shown in model.to_html()
