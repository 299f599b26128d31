"""Fitted models keep the features of their trees, and predictions read the columns of these features alone."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from support.refusal import refused
from support.traced import traced

from optree import BranchesClassifier, MurTreeClassifier, MurTreeRegressor, OptimalTreeClassifier
from optree.encoding import Encoder, EncodingSpec
from optree.encoding.coded_rows import BELOW, BELOW_OR_MISSING, EQUAL, POSITION, CodedRows, ValueTests
from optree.objective import Objective

SPECS = [
    EncodingSpec(categorical, drop, numeric, max_cuts=4, unseen="ignore")
    for categorical, drop in (("ordinal", "none"), ("onehot", "none"), ("onehot", "first"), ("onehot", "last"))
    for numeric in ("thresholds", "bins", "intervals", "values")
]


def mixed(seed: int, n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of texts, truth values, numbers and whole numbers, and classes that depend on them."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "colour": random.choice(["red", "green", "blue", "grey"], n),
            "size": random.randn(n).round(1) + 0.0,  # no -0.0, whose text is another category
            "open": random.rand(n) > 0.5,
            "doors": random.randint(0, 7, n),
            "one": "same",
        }
    )
    return X, (X["size"] > 0.3) ^ (X.colour == "red") ^ (random.rand(n) < 0.15)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: f"{spec.categorical}-{spec.drop}-{spec.numeric}")
def test_an_encoder_of_some_features_gives_their_codes(spec):
    X, _ = mixed(0)
    new, random = mixed(1)[0].assign(colour=["pink", *mixed(2)[0].colour[1:]]), np.random.RandomState(0)
    encoder = Encoder(spec).fit(X)
    for _ in range(20):
        some = np.flatnonzero(random.random_sample(len(encoder.features_)) < random.choice([0, 0.2, 0.9])).tolist()
        kept = encoder.keep(some)
        for one in (kept, Encoder.from_dict(json.loads(json.dumps(kept.to_dict()))), pickle.loads(pickle.dumps(kept))):
            assert one.features_ == tuple(encoder.features_[feature] for feature in some)
            assert np.array_equal(one.transform(new), encoder.transform(new)[:, some])
        assert kept.names_ == encoder.names_
        again = random.permutation(len(some))[: len(some) // 2]
        assert kept.keep(sorted(again)).features_ == tuple(encoder.features_[some[i]] for i in sorted(again))


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_codes_on_access_are_those_of_the_array(kind):
    random = np.random.RandomState(0)
    values = random.randint(-1, 6, (400, 5)).astype(kind)
    if kind != np.int64:
        values[random.random_sample(values.shape) < 0.1] = np.nan
        values[:, 0] = np.nan_to_num(values[:, 0])
    tests = [
        (random.randint(1, 5), random.choice([EQUAL, BELOW, BELOW_OR_MISSING]), number / 2) for number in range(12)
    ]
    tests[5] = tests[11] = (0, POSITION, 0.0)
    codes = CodedRows(values, ValueTests.of(tests))
    expected = np.empty((400, 12), int)
    for j, (column, which, operand) in enumerate(tests):
        for i, value in enumerate(values[:, column]):
            missing = which == BELOW_OR_MISSING and np.isnan(value)
            expected[i, j] = value if which == POSITION else value == operand if which == EQUAL else value <= operand
            expected[i, j] |= missing
    assert np.array_equal(codes.array(6), expected)
    assert codes.array(6).dtype == np.int8
    assert codes.array(200).dtype == np.int16
    rows, features = random.randint(400, size=999), random.randint(12, size=999)
    assert np.array_equal(codes[rows, features], expected[rows, features])


@pytest.mark.parametrize("unseen", ["error", "ignore"])
@pytest.mark.parametrize(
    "model",
    [
        OptimalTreeClassifier("0.02"),
        OptimalTreeClassifier("0.01", one_vs_rest=True),
        OptimalTreeClassifier("0.01", max_depth=3, one_vs_rest=True),
        MurTreeClassifier(2),
        MurTreeRegressor(2),
        BranchesClassifier("0.02"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_rows_end_where_the_conditions_lead(model, unseen):
    for seed in range(6):
        X, y = mixed(seed)
        new = mixed(seed + 100)[0]
        if unseen == "ignore":
            new.loc[3, "colour"] = "pink"
        else:
            new = new[new["size"].isin(X["size"])]  # a value of BRANCHES is a category
        model.set_params(unseen=unseen).fit(X, y.astype(int))
        for row, end in zip(new.to_dict("records"), model.apply(new), strict=True):
            assert walk(model.tree_, row) == end


def walk(tree, row: dict) -> int:
    """Return the node where a row ends, by the conditions as they are written."""
    node = 0
    while tree.feature[node] != -1:
        labels = tree.features[tree.feature[node]].labels
        reached = [child for child, label in zip(tree.children(node), labels, strict=True) if holds(label, row)]
        if not reached:
            return node
        (node,) = reached
    return node


def holds(label: str, row: dict) -> bool:
    if " < " in label:
        low, _, name, _, high = label.split(" ")
        return float(low) < row[name] <= float(high)
    name, relation, value = label.split(" ")
    if relation in ("<=", ">"):
        return (row[name] <= float(value)) == (relation == "<=")
    text = (
        str(row[name]).lower() if isinstance(row[name], bool) else f"{row[name]:g}" if name != "colour" else row[name]
    )
    return (text == value) == (relation == "=")


def test_columns_that_the_tree_does_not_split_are_not_read():
    X, y = mixed(3)
    model = OptimalTreeClassifier("0.05").fit(X, y)
    assert {feature.name for feature in model.encoder_.features_} == {"size <= 0.45", "colour"}
    strange = X.assign(open="perhaps", doors=np.nan, one=range(60))
    assert np.array_equal(model.predict(strange), model.predict(X))
    assert np.array_equal(model.predict_proba(strange), model.predict_proba(X))
    with refused("column 'colour'", "'pink'", "blue, green, grey, red"):
        model.predict(X.assign(colour="pink"))
    with refused("column 'size'", "60 rows have no value"):
        model.set_params(missing="error").fit(X, y).predict(X.assign(size=np.nan))
    with refused("column 'size'", "numbers only"):
        model.predict(X.assign(size="large"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.drop(columns="doors"))


def test_a_model_of_many_thresholds_is_small_and_predicts_in_the_memory_of_its_columns():
    random = np.random.RandomState(0)
    X = random.random_sample((2000, 6))
    y = X[:, 2] > 0.5
    model = OptimalTreeClassifier("0.1", max_depth=5, max_thresholds=300).fit(X, y)
    assert (model.tree_.n_splits, len(model.tree_.features)) == (1, 1)
    leaf = OptimalTreeClassifier("0.5", max_thresholds=300).fit(X, X[:, 2] > 0.1)
    assert leaf.tree_.features == leaf.encoder_.features_ == ()
    for fitted in (model, leaf):
        assert len(pickle.dumps(fitted)) < 4000
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.predict(X), fitted.predict(X))
    many = random.random_sample((100_000, 6))
    for rows in (many, pd.DataFrame(many)):
        model.set_params(max_thresholds=100).fit(rows[:500], y[:500])
        with traced() as peak:
            model.predict(rows)
            assert peak() < 2 * many.nbytes  # the codes of all thresholds were 1000 times as large


@pytest.mark.parametrize("max_thresholds", [None, 5])
def test_a_warm_start_finds_its_columns_again(max_thresholds):
    X, y = mixed(4)
    model = OptimalTreeClassifier("0.02", warm_start=True, max_thresholds=max_thresholds)
    objective, cold = Objective.of("0.02"), clone(model).set_params(warm_start=False).fit(X, y)
    problem = model._problem(X, y, None)[0]
    assert model._start(problem, objective, [model]) == (None, None)
    model.fit(X, y)
    start, columns = model._start(problem, objective, [model])
    assert start.to_dict() == model.tree_.to_dict()
    assert start.refit(problem.over(columns)).loss(problem.over(columns)) == (model.predict(X) != y).sum()
    assert model.fit(X, y).cost_ == cold.cost_
    assert model.solver_ == cold.solver_
    for other in (X.rename(columns={"size": "length"}), X.assign(colour="pink"), X.assign(size=np.nan)):
        assert model._start(model._problem(other, y, None)[0], objective, [model]) == (None, None)
    with pytest.warns(ConvergenceWarning, match="iteration_limit"):
        stopped = model.set_params(regularization="0.015", iteration_limit=0).fit(X, y)
    assert stopped.tree_.n_splits == start.n_splits


def test_a_tree_of_other_thresholds_is_no_start():
    random = np.random.RandomState(0)
    X = random.random_sample((200, 2))
    y = (X[:, 0] > 0.41).astype(int)
    model = OptimalTreeClassifier("0.02", warm_start=True, max_thresholds=3)
    model.fit(np.where(X > 0.41, 0.82, 0.0), y)  # one threshold, 0.41, parts the classes
    assert (model.tree_.n_splits, (model.predict(X) != y).sum()) == (1, 0)
    problem = model._problem(X, y, None)[0]  # no quantile is 0.41
    assert model._start(problem, Objective.of("0.02"), [model]) == (None, None)
    cold = clone(model).set_params(warm_start=False).fit(X, y)
    assert model.fit(X, y).cost_ == cold.cost_
    assert (model.predict(X) != y).any()  # three quantiles do not hit the threshold


def test_trees_of_one_search_keep_their_own_features():
    X, y = mixed(5)
    for models in (
        [model for _, model in OptimalTreeClassifier("0.005", max_thresholds=4).lambda_path(X, y)],
        [model for _, _, model in MurTreeClassifier(2, max_thresholds=4).limit_grid(X, y)],
    ):
        assert len({len(model.encoder_.features_) for model in models}) > 1
        for model in models:
            assert model.tree_.features == model.encoder_.features_
            assert model.tree_.used_features == list(range(len(model.tree_.features)))
            assert np.array_equal(model.predict(X), model.classes_[model.tree_.predict(model.encoder_.transform(X))])
            assert (model.predict(X) != y).sum() == float(model.cost_ - paid(model, len(y)))


def paid(model, n: int) -> Fraction:
    """Return the penalty of a model's tree in rows."""
    return Fraction(model.regularization) * n * model.tree_.n_splits
