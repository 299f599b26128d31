"""Missing values: the side of each split is chosen by the search, as brute force over all trees chooses it."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator
from support.modes import seeds
from support.refusal import refused

from optree import (
    BranchesClassifier,
    DPDTGradientBoostingClassifier,
    DPDTGradientBoostingRegressor,
    DPDTreeClassifier,
    MurTreeClassifier,
    MurTreeRegressor,
    OptimalTreeClassifier,
    SPLITClassifier,
)
from optree.drawing.svg import to_svg
from optree.encoding import Encoder
from optree.solvers import routing


def random_table(seed):
    """Return a small table of numbers, texts and truth values with gaps, classes, and weights or None."""
    random = np.random.RandomState(seed)
    n, columns = random.randint(4, 13), {}
    for number in range(random.randint(1, 4)):
        values = [
            random.randint(0, 4, n).astype(float),
            random.normal(size=n).round(1),
            np.array(list("abcd"), object)[random.randint(0, random.randint(2, 5), n)],
            random.randint(0, 2, n).astype(bool).astype(object),
        ][kind := random.randint(4)]
        values[random.random_sample(n) < random.choice([0, 0.3])] = np.nan if kind < 2 else None
        columns[f"x{number}"] = values
    X = pd.DataFrame(columns)
    y = random.randint(0, random.randint(2, 5), n)
    if random.randint(2):  # the missing values tell the class
        y = (X.isna().sum(axis=1).to_numpy() + y) % 3
    y[:2] = 0, 1
    return X, y, random.randint(1, 4, n) if random.randint(2) else None


def candidate_splits(X, one_vs_rest):
    """Yield the children of each split, as masks of rows."""
    for name in X:
        values, missing = X[name].to_numpy(), X[name].isna().to_numpy()
        known = sorted(set(values[~missing]))
        if values.dtype.kind != "f" and not one_vs_rest:
            yield [values == value for value in known] + [missing]
            continue
        below = [missing, *((values <= value if values.dtype.kind == "f" else values == value) for value in known)]
        for own in below:
            for side in (own & ~missing, own | missing):
                yield [side, ~side]


def least_cost(X, y, weight, penalty, per_leaf, depth, one_vs_rest):
    """Return the lowest cost of a tree in rows: every split of every set of rows is tried."""
    splits, memo = list(candidate_splits(X, one_vs_rest)), {}

    def least(rows, depth):
        key = rows.tobytes(), depth
        if key not in memo:
            by_class = np.bincount(y[rows], weight[rows])
            leaf = best = int(by_class.sum() - by_class.max()) + penalty * per_leaf
            for split in splits if depth != 0 and leaf > 0 else ():
                children = [rows & child for child in split if (rows & child).any()]
                if len(children) > 1:
                    below = None if depth is None else depth - 1
                    best = min(best, penalty * (not per_leaf) + sum(least(child, below) for child in children))
            memo[key] = best
        return memo[key]

    return least(np.ones(len(y), bool), depth)


def test_scikit_learn_accepts_that_missing_values_are_refused():
    check_estimator(DPDTreeClassifier(missing="error"))


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [False, True])
def test_the_optimum_over_all_sides(numbers, monkeypatch):
    monkeypatch.setattr(routing, "_MEAN_THRESHOLDS", 0 if numbers else 10**9)
    monkeypatch.setattr(routing, "_PAIRS", 10**18)
    used = set()
    for seed in seeds(300, 60):
        (X, y, weight), random = random_table(seed), np.random.RandomState(seed)
        if X.nunique(dropna=False).max() < 2:
            continue
        share, penalty, depth = (
            random.choice(["0.02", "0.1"]),
            random.choice(["split", "leaf"]),
            random.choice([None, 2, 3]),
        )
        one_vs_rest = bool(random.randint(2))
        model = OptimalTreeClassifier(share, penalty=penalty, max_depth=depth, one_vs_rest=one_vs_rest)
        model.fit(X, y, sample_weight=weight)
        weight = np.ones(len(y), int) if weight is None else weight
        price = Fraction(str(share)) * int(weight.sum())
        assert model.status_ == "optimal"
        assert model.cost_ == least_cost(X, y, weight, price, penalty == "leaf", depth, one_vs_rest)
        paid = model.tree_.n_splits if penalty == "split" else model.tree_.n_leaves
        assert model.cost_ == int(weight[model.predict(X) != y].sum()) + price * paid
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(X), model.predict(X))
        encoder = Encoder.from_dict(json.loads(json.dumps(model.encoder_.to_dict(), allow_nan=False)))
        assert np.array_equal(encoder.transform(X), model.encoder_.transform(X))
        used.add(model.solver_)
    assert len(used & {"allthresholds", "sparsethresholds"}) == 2 * numbers


def gaps(n=300, seed=0):
    """Return numbers, a third of one column missing, and classes that the gaps tell."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame({"size": random.random_sample(n).round(2), "age": random.randint(20, 60, n).astype(float)})
    y = np.where(X["size"] > 0.6, 1, X["age"] > 40)
    X.loc[random.random_sample(n) < 0.3, "size"] = np.nan
    return X, np.where(X["size"].isna(), 1, y)


@pytest.mark.parametrize(
    "model", [OptimalTreeClassifier(0.01), MurTreeClassifier(max_depth=2, max_thresholds=None), DPDTreeClassifier()]
)
def test_the_side_is_in_the_text_and_the_json(model):
    X, y = gaps()
    model.fit(X, y)
    assert model.score(X, y) == 1
    assert "or missing" in model.export_text()
    assert "or missing" in model.export_dot()
    assert "or missing" in json.dumps(model.tree_.to_dict())


def test_a_test_for_missing_values_alone():
    X = pd.DataFrame({"size": [1.0, 2, 1, 2, np.nan, np.nan] * 5, "colour": list("rgrgrg") * 5})
    y = X["size"].isna().to_numpy()
    text = "size is missing: True (10)"
    for model in (OptimalTreeClassifier(0.01), OptimalTreeClassifier(0.01, max_thresholds=3)):
        assert text in model.fit(X, y).export_text()
    colours = X[["colour"]].assign(colour=X["colour"].where(~y, None))
    for model in (OptimalTreeClassifier(0.01), OptimalTreeClassifier(0.01, one_vs_rest=True), BranchesClassifier(0.01)):
        assert "colour is missing: True (10)" in model.fit(colours, y).export_text()


def test_a_column_without_gaps_in_training_sends_later_ones_to_the_heavier_child():
    X = pd.DataFrame({"size": np.arange(20.0), "colour": ["red"] * 12 + ["blue"] * 8})
    y = np.arange(20) >= 14
    lost = X.assign(size=np.nan, colour=None)
    for columns in (["size"], ["colour"]):
        for weight, heavier in ((np.ones(20), False), (np.where(y, 9, 1), True)):
            label = y if columns == ["size"] else X["colour"] == "blue"
            weight = weight if columns == ["size"] else np.where(label, 9, 1) if heavier else weight
            model = OptimalTreeClassifier(0.01).fit(X[columns], label, sample_weight=weight)
            assert model.tree_.n_splits == 1
            assert (model.predict(lost[columns]) == heavier).all()
    for model in (DPDTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=1)):
        assert not model.fit(X[["size"]], y).predict(lost[["size"]]).any()


@pytest.mark.parametrize("model", [DPDTGradientBoostingClassifier, DPDTGradientBoostingRegressor])
@pytest.mark.parametrize("order", [1, 2])
def test_boosted_trees_send_unknown_gaps_to_the_heavier_child(model, order):
    X, first, last = np.arange(20.0)[:, None], np.r_[np.full(15, 9), np.ones(5)], np.r_[np.ones(15), np.full(5, 9)]
    y = (X[:, 0] >= 15).astype(int)
    for weight, low in ((None, True), (first, True), (last, False)):
        boosted = model(3, order=order).fit(X, y, sample_weight=weight)
        predict = boosted.predict_proba if hasattr(boosted, "predict_proba") else boosted.predict
        assert np.array_equal(predict([[np.nan]]), predict([[0.0 if low else 19.0]]))
    X[3] = np.nan  # with missing values in the training rows, the side is chosen
    boosted = model(3, order=order).fit(X, y, sample_weight=last)
    assert boosted.predict(X)[3] == boosted.predict(X)[0]


@pytest.mark.parametrize(
    ("low", "middle", "high", "lost", "ways", "texts"),
    [
        (0, 1, 0, 2, 4, ["size <= 3.5", "size in (3.5, 6.5]", "size > 6.5", "size is missing"]),
        (0, 1, 2, 2, 3, ["size <= 3.5", "size in (3.5, 6.5]", "size > 6.5 or missing"]),
        (0, 0, 0, 1, 3, ["size is not missing", "size is missing"]),
    ],
)
def test_splits_into_intervals_name_the_missing_values(low, middle, high, lost, ways, texts):
    size = np.tile([1.0, 2, 3, 4, 5, 6, 7, 8, 9, np.nan], 6)
    y = np.select([size < 3.5, size < 6.5, size > 6.5], [low, middle, high], lost)
    model = SPLITClassifier(0.01, max_depth=1, max_ways=ways).fit(pd.DataFrame({"size": size}), y)
    assert [line.partition(":")[0] for line in model.export_text().split("\n")] == texts
    assert all(f'"{text}"' in model.export_dot() for text in texts)
    assert "missing" in to_svg(model.tree_)


def test_missing_values_are_refused_on_demand():
    X, y = gaps()
    full = X.fillna(0.5)
    for model in (
        OptimalTreeClassifier(missing="error"),
        MurTreeClassifier(missing="error"),
        DPDTreeClassifier(missing="error"),
        MurTreeRegressor(missing="error"),
    ):
        with refused("column 'size'", f"{X['size'].isna().sum()} rows have no value", "fill them in"):
            model.fit(X, y)
        with refused("column 'size'", "1 rows have no value"):
            model.fit(full, y).predict(full.assign(size=[np.nan, *full["size"][1:]]))
    with refused("missing: 'drop' is not accepted; give 'best' or 'error'"):
        OptimalTreeClassifier(missing="drop").fit(X, y)


def test_regression_with_missing_values():
    X, _ = gaps()
    y = np.where(X["size"].isna(), 5.0, np.where(X["size"] > 0.5, 5.0, 1.0))
    model = MurTreeRegressor(max_depth=1, max_thresholds=None).fit(X, y)
    assert model.tree_.n_splits == 1
    assert np.array_equal(model.predict(X), y)
