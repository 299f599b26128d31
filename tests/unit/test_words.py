"""Numbers and their nouns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from optree import OptimalTreeClassifier, RashomonSet
from optree.drawing.layout import boxes
from optree.drawing.views import rows_text
from optree.words import count, size_text


@pytest.mark.parametrize(("number", "text"), [(0, "0 leaves"), (1, "1 leaf"), (2, "2 leaves"), (1000, "1,000 leaves")])
def test_a_number_has_the_noun_in_singular_or_plural(number, text):
    assert count(number, "leaf", "leaves") == text


def test_a_page_says_that_sibling_leaves_are_drawn_as_one():
    X = np.repeat(np.arange(4), 9)[:, None]
    model = OptimalTreeClassifier(categorical_features=["x0"]).fit(X, X[:, 0] > 0)
    assert (model.tree_.n_leaves, boxes(model.tree_).n_leaves) == (4, 2)
    assert "4 leaves, depth 1; sibling leaves of one class are drawn as one, 2 leaves in all" in model.to_html()


def test_one_of_anything_is_singular_in_pages_texts_and_pictures(tmp_path, capsys):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = OptimalTreeClassifier("0.1", max_depth=2, max_thresholds=5, verbose=2).fit(X, y)
    assert size_text(1, 2, 1) == "1 split, 2 leaves, depth 1"
    model.to_html(tmp_path / "tree.html")
    assert "1 split, 2 leaves, depth 1" in (tmp_path / "tree.html").read_text()
    model.lambda_path(X, y)
    log = capsys.readouterr().err
    assert "1 split is optimal" in log
    assert "1 splits" not in log
    assert [rows_text(weight, True) for weight in (1, 2)] == ["1 row", "2 rows"]
    few = RashomonSet("0.1", adder=0, max_depth=1, max_thresholds=1).fit(X, y)
    assert few.count_ == 1
    few.to_html(tmp_path / "set.html")
    assert "at most 1 split on a path" in (tmp_path / "set.html").read_text()
    assert few.plot_histogram().get_title(loc="left") == "1 tree"
