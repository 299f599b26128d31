"""Exports that the standard library runs, and scikit-learn's form of a tree, on random tables."""

from __future__ import annotations

import json
import pickle
import sqlite3
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline
from sklearn.tree import export_text
from support.exported import REFUSED, answers, in_json, in_python, in_sqlite, random_model, same
from support.refusal import refused

from optree import MurTreeClassifier, OptimalPolicyTree, OptimalTreeClassifier, RashomonSet, exports
from optree.errors import OptreeError

SCHEMA = jsonschema.Draft202012Validator(json.loads((Path(exports.__file__).parent / "rules.schema.json").read_text()))


def check_texts(seeds):
    """Compare the exports of random trees with their predictions; return the number of refused rows."""
    count = 0
    for seed in seeds:
        model, rows = random_model(seed)
        expected = answers(model, rows)
        count += expected.count(REFUSED)
        rules = model.export("json")
        SCHEMA.validate(json.loads(rules))
        assert same(in_json(rules, rows), expected), seed
        assert same(in_python(model.export("python"), rows), expected), seed
        assert same(in_sqlite(model.export("sql"), rows), expected), seed
    return count


def check_sklearn(seeds):
    """Compare scikit-learn's form of random trees with the trees; return the numbers of trees of numbers and others."""
    count = [0, 0]
    for seed in seeds:
        model, rows = random_model(seed)
        try:
            made = pickle.loads(pickle.dumps(model.to_sklearn()))
        except OptreeError:
            continue
        has_tests = isinstance(made, Pipeline)
        count[has_tests] += model.tree_.n_splits > 0
        expected = answers(model, rows)
        known = [answer != REFUSED for answer in expected]
        if not all(known):
            with pytest.raises(OptreeError):
                made.predict(rows)
        tree = made["tree"] if has_tests else made
        if any(known):
            rows = rows[known]
            assert same(made.predict(rows).tolist(), [answer for answer in expected if answer != REFUSED]), seed
            read = made["encoder"].transform(rows) if has_tests else rows
            assert (tree.decision_path(read).sum(axis=1) == model.decision_path(rows).sum(axis=1)).all()
            if hasattr(model, "classes_"):
                assert (made.predict_proba(rows) == model.predict_proba(rows)).all(), seed
        if not has_tests:
            assert np.allclose(tree.feature_importances_, model.feature_importances_, rtol=0, atol=1e-9), seed
        assert (tree.get_depth(), tree.tree_.node_count) == (model.get_depth(), model.tree_.n_nodes)
    return count


def test_exports_give_the_answers_of_predict():
    assert check_texts(range(12)) > 5


@pytest.mark.slow
def test_exports_give_the_answers_of_predict_for_many_trees():
    assert check_texts(range(100, 200)) > 30


def test_scikit_learn_gives_the_answers_of_predict():
    numbers, others = check_sklearn(range(80))
    assert min(numbers, others) > 2


@pytest.mark.slow
def test_scikit_learn_gives_the_answers_of_predict_for_many_trees():
    numbers, others = check_sklearn(range(1000, 1250))
    assert min(numbers, others) > 10


def test_sides_of_thresholds_are_exact_in_64_bits():
    random = np.random.RandomState(0)
    X = random.normal(size=(300, 3)) * [1, 1e-30, 1e30]
    y = (X > 0).sum(axis=1)
    model = OptimalTreeClassifier("0.001", max_depth=3).fit(X, y)
    arrays = model.to_arrays()
    rows = []
    for column, threshold in zip(arrays.column, arrays.threshold, strict=True):
        if column >= 0:
            for value in (threshold, np.nextafter(threshold, np.inf), threshold * (1 + 1e-9), threshold * (1 - 1e-9)):
                rows.append(X[len(rows)].copy())
                rows[-1][column] = value
    rows = np.array([*rows, [1e300, -1e300, 0], [-1e300, 1e300, 1e-320]])
    tree = model.to_sklearn()
    assert (tree.predict(rows) == model.predict(rows)).all()
    nearest = tree.tree_.predict(rows.clip(-1e38, 1e38).astype(np.float32))
    assert (model.classes_[nearest.argmax(axis=1)] != model.predict(rows)).any()  # without the rounding of the tree
    assert (tree.predict_proba(rows) == model.predict_proba(rows)).all()


def test_thresholds_that_are_one_number_in_32_bits_are_refused():
    x = np.array([1, 1 + 1e-12, 1 + 2e-12] * 5)[:, None]
    model = MurTreeClassifier(max_depth=2, max_thresholds=None).fit(x, [0, 1, 0] * 5)
    with refused("to_sklearn: column 'x0'", "32 bits"):
        model.to_sklearn()
    assert in_sqlite(model.export("sql"), pd.DataFrame(x, columns=["x0"])) == [0, 1, 0] * 5
    with refused("threshold", "3.40282e+38"):
        MurTreeClassifier(max_depth=1).fit([[0.0], [1e300]] * 3, [0, 1] * 3).to_sklearn()


@pytest.mark.parametrize("unseen", ["ignore", "error"])
@pytest.mark.parametrize("declared", ["", "REAL", "INTEGER", "TEXT"])
def test_sql_reads_numbers_as_categories_from_a_column_of_any_type(unseen, declared):
    code = np.array([1.0, 2.0, 3.0, 4.5] * 10)
    X = pd.DataFrame({"code": code})
    model = OptimalTreeClassifier("0.01", categorical_features=["code"], unseen=unseen, one_vs_rest=unseen == "error")
    query = model.fit(X, [0, 1, 0, 1] * 10).export("sql")
    with sqlite3.connect(":memory:") as engine:
        engine.execute(f"CREATE TABLE rows (code {declared})")
        engine.executemany("INSERT INTO rows VALUES (?)", [(value,) for value in code])
        assert [row[-1] for row in engine.execute(query)] == model.predict(X).tolist()


def test_sql_keeps_a_text_that_is_the_text_of_another_number_apart():
    X = pd.DataFrame({"code": ["3", "3.0", "a"] * 10})
    model = OptimalTreeClassifier("0.01").fit(X, [0, 1, 2] * 10)
    assert in_sqlite(model.export("sql"), X) == model.predict(X).tolist() == [0, 1, 2] * 10


def test_what_has_no_words_is_refused(monkeypatch):
    table = pd.DataFrame({"colour": ["red", "green", "blue"] * 10})
    y = ["a", "b", "c"] * 10
    model = OptimalTreeClassifier("0.01").fit(table, y)
    with refused("to_sklearn", "'colour'", "several children", "one_vs_rest=True"):
        model.to_sklearn()
    single = OptimalTreeClassifier("0.01", one_vs_rest=True).fit(table, y).to_sklearn()
    assert single.predict(table).tolist() == y
    names = single["encoder"].get_feature_names_out().tolist()
    assert set(names) < {"colour = red", "colour = green", "colour = blue"}
    assert all(name in export_text(single["tree"], feature_names=names) for name in names)
    with refused("language", "'cobol'", "sql"):
        model.export("cobol")
    with refused("option of sql", "'schema'", "table, name"):
        model.export("sql", schema="x")
    named = OptimalTreeClassifier("0.01").fit(
        pd.DataFrame({"Prediction": [0, 1] * 5, "b": [0, 0, 1, 1, 1] * 2}), [0, 1] * 5
    )
    with refused("name = 'prediction'", "'Prediction'", "another name="):
        named.export("sql")
    assert named.export("sql", name="answer").count('AS "answer"') == 1
    with refused("option of json", "none"):
        model.export("json", table="x")
    with refused("NUL", "rename"):
        OptimalTreeClassifier("0.01").fit(table.rename(columns={"colour": "a\0"}), y).export("sql")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with refused("the package onnx", "not installed"):
        model.export("onnx")
    with refused("control character", "rename"):
        OptimalTreeClassifier("0.01").fit(table.rename(columns={"colour": "a\1"}), y).export("pmml")
    with refused("trees of a set", "model[0]"):
        RashomonSet("0.05", max_depth=1).fit([[0], [1]] * 5, [0, 1] * 5).export("sql")
    costs = OptimalTreeClassifier("0.01", costs=[[0, 1], [9, 0]]).fit([[0], [1], [1]] * 5, [0, 0, 1] * 5)
    with refused("to_sklearn", "class 1 of leaf", "weight"):
        costs.to_sklearn()


def test_an_empty_category_is_visible():
    table = pd.DataFrame({"c": ["", "x", "'", "''"] * 10})
    model = OptimalTreeClassifier("0.01").fit(table, list("abcd") * 10)
    assert [line.split(":")[0] for line in model.export_text().splitlines()] == [
        f"c = {shown}" for shown in ("''", "'''", "''''", "x")
    ]
    assert r"{\scriptsize '{}'{}'{}'{}}" in model.export("latex")
    assert "if c is '', or" in model.export("if-else")


def test_sqlite_needs_no_types_of_columns():
    """A view, or a table without declared types, has truth values and numbers of categories as numbers."""
    X = pd.DataFrame({"vip": [True, False, True, False] * 10, "code": pd.Categorical([1, 1, 2, 2] * 10)})
    y = np.where(X["vip"], "a", np.where(X["code"] == 1, "b", "c"))
    with sqlite3.connect(":memory:") as base:
        base.execute("create table rows (vip, code)")
        base.executemany("insert into rows values (?, ?)", [(int(v), int(c)) for v, c in X.to_numpy()])
        for unseen in ("error", "ignore"):
            model = OptimalTreeClassifier(0.01, unseen=unseen).fit(X, y)
            found = [row[-1] for row in base.execute(model.export("sql"))]
            assert found == model.predict(X).tolist()
            assert set(found) == {"a", "b", "c"}


def test_a_policy_is_exported():
    random = np.random.RandomState(0)
    X = pd.DataFrame({"age": random.randint(20, 80, 90), "sex": random.choice(["f", "m"], 90)})
    costs = pd.DataFrame({"it's": X["age"] > 50, "b": (X["age"] <= 50) * 2, "none": X["sex"] == "f"}).astype(float)
    model = OptimalPolicyTree("0.02").fit(X, costs)
    assert model.tree_.n_splits
    expected = model.predict(X).tolist()
    assert in_python(model.export("python"), X) == expected
    assert in_json(model.export("json"), X) == expected
    assert in_sqlite(model.export("sql", name="action"), X) == expected
    with refused("to_sklearn", "OptimalPolicyTree"):
        model.to_sklearn()


def test_words_of_a_small_tree():
    X = pd.DataFrame({"a_b": [1, 2, 3, 4.0] * 15, "kind": ["x", "y", "z & w"] * 20})
    y = [0 if a <= 2.5 else {"x": 1, "y": 2, "z & w": 3}[k] for a, k in zip(X["a_b"], X["kind"], strict=True)]
    model = OptimalTreeClassifier("0.01").fit(X, y)
    assert model.export("if-else").split("\n") == [
        "if a_b <= 2.5:",
        "    0",
        "else if kind is x, or kind is missing:",
        "    1",
        "else if kind is y:",
        "    2",
        "else:",
        "    3",
    ]
    assert model.export("sql", table="my rows").splitlines()[-1] == 'FROM "my rows"'
    assert r"[{{\scriptsize $\leq 2.5$}\\0}, draw]" in model.export("latex")
    assert model.export("python").endswith("    else:\n        return 3\n")


def test_a_frame_whose_columns_have_numbers_as_names():
    X = pd.DataFrame({2: np.arange(40.0), 10: np.arange(40) % 7})
    model = OptimalTreeClassifier(max_depth=2).fit(X, (X[2] > 11) & (X[10] > 2))
    assert model.tree_.n_splits == 2
    rows = X.to_dict("records")
    assert [in_python(model.export("python"), pd.DataFrame([row]))[0] for row in rows] == model.predict(X).tolist()
