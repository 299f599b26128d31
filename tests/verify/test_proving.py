"""Proofs of fitted estimators: the program accepts them, with the cost of the estimator."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import optree_verify
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from support.refusal import refused

import optree
from optree import (
    BranchesClassifier,
    DL85Classifier,
    DPDTGradientBoostingClassifier,
    DPDTGradientBoostingRegressor,
    DPDTreeClassifier,
    GOSDTClassifier,
    MurTreeClassifier,
    MurTreeRegressor,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeClassifierCV,
    OptimalTreeRegressor,
    SPLITClassifier,
)
from optree.budget import Budget
from optree.errors import OptreeError
from optree.estimators import proving
from optree.estimators.proving import Provable
from optree.solvers.engine import search


def table(missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Return sixty rows of three columns of categories and one of numbers, in which some values may be missing."""
    random, n = np.random.default_rng(5), 60
    X = pd.DataFrame({"a, b": random.choice(list("xyz"), n), "b": random.choice(["p", "", "q"], n)})
    X["c"], X["n"] = random.choice(["u", "ü"], n), random.integers(0, 6, n) / 2
    y = np.where((X["a, b"] == "x") ^ (X["n"] > 1.2), "yes", "no").astype(object)
    y[random.integers(0, n, 8)] = "maybe"
    if missing:
        X.loc[::7, "n"], X.loc[3::11, "c"] = np.nan, None
    return X, y


def answer(capsys, model, X, y, tmp_path, **options) -> str:
    """Return the line that the program prints about a proof of a model."""
    written = model.prove(X, y, tmp_path / "tree.proof", **options)
    capsys.readouterr()
    assert optree_verify.main([str(written.data), str(written.path)]) == 0, capsys.readouterr().out
    assert written.path.stat().st_size == written.size
    return capsys.readouterr().out


EXACT = {
    "multiway": OptimalTreeClassifier("0.02"),
    "a penalty per leaf": OptimalTreeClassifier("0.02", penalty="leaf"),
    "one against the rest": OptimalTreeClassifier("0.01", one_vs_rest=True),
    "some thresholds": OptimalTreeClassifier("0.01", max_thresholds=3),
    "depth": OptimalTreeClassifier("0.01", max_depth=3),
    "splits": OptimalTreeClassifier(0, max_splits=3),
    "rows in a leaf": OptimalTreeClassifier("0.01", min_samples_leaf=4),
    "costs": OptimalTreeClassifier("0.01", costs=[[0, 1, 0.5], [2, 0, 1], [1, 1, 0]]),
    "class weights": OptimalTreeClassifier("0.01", class_weight={"maybe": 2.5}),
    "murtree": MurTreeClassifier(3, max_splits=5),
    "dl85": DL85Classifier(2),
    "branches": BranchesClassifier("0.02"),
    "gosdt": GOSDTClassifier("0.02"),
    "cross-validation": OptimalTreeClassifierCV(lowest="0.02", max_depth=2),
    "costs of columns": OptimalTreeClassifier("0.01", feature_costs={"n": "0.03", "c": 0, "b": "1/70"}),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("model", EXACT.values(), ids=EXACT)
def test_the_program_accepts_the_proof_of_an_optimal_tree(model, missing, capsys, tmp_path):
    X, y = table(missing)
    line = answer(capsys, model.fit(X, y), X, y, tmp_path)
    assert model.status_ == "optimal"
    assert line.startswith("optimal: cost ")
    assert f"cost {model.cost_}, " in line
    assert f"lambda {Fraction(str(model.regularization_)) if model.regularization_ else 0} per" in line


@pytest.mark.parametrize("decimal", ["0.5", "3.3", "0.000000001"])
def test_costs_are_in_the_proof_as_they_were_given(decimal, capsys, tmp_path):
    X, y = table()
    costs = [[0, Fraction(decimal), 1], [2, 0, 1], [1, 1, 0]]
    model = OptimalTreeClassifier("0.01", max_depth=2, costs=costs, feature_costs={"n": "0.005"}).fit(X, y)
    line = answer(capsys, model, X, y, tmp_path)
    assert line.startswith(f"optimal: cost {model.cost_}, lambda 1/100 per split, ")
    head = json.loads((tmp_path / "tree.proof").read_bytes().split(b"\n")[1])
    assert head["costs"] == [[str(Fraction(cost)) for cost in row] for row in costs]
    assert {feature[4] for feature in head["features"] if feature[0] == "n"} == {"1/200"}


def test_the_gap_of_a_proof_with_decimal_costs_is_in_their_unit(capsys, tmp_path):
    random = np.random.default_rng(1)
    X, y, costs = random.integers(0, 2, (200, 12)), random.integers(0, 3, 200), [[0, 2.5, 1], [2, 0, 1], [1, 1, 0]]
    with pytest.warns(ConvergenceWarning):
        model = OptimalTreeClassifier("0.002", costs=costs, iteration_limit=20, max_thresholds=1).fit(X, y)
    line = answer(capsys, model, X, y, tmp_path)
    gap = model.prove(X, y, tmp_path / "tree.proof").gap
    assert 0 < gap == model.cost_ - model.lower_bound_
    assert 0 < float(line.split()[1][:-1]) <= gap
    assert f"cost {model.cost_}, lambda 1/500 per split, " in line


@pytest.mark.parametrize("change", ["remove", "alter"])
def test_a_proof_of_another_table_is_refused(change, capsys, tmp_path):
    X, y = table()
    model = OptimalTreeClassifier("0.02").fit(X, y)
    line = answer(capsys, model, X, y, tmp_path)
    written = model.prove(X, y, tmp_path / "tree.proof")
    assert line.rstrip().endswith(f"data {written.digest[:16]}")
    header, *rows = written.data.read_text().splitlines()
    rows = rows[:-1] if change == "remove" else [*rows[:-1], rows[-1].replace("yes", "no").replace("maybe", "no")]
    rows = rows if change == "remove" or y[-1] != "no" else [*rows[:-1], rows[-1].replace("no", "yes")]
    written.data.write_text("\n".join([header, *rows]) + "\n")
    assert optree_verify.main([str(written.data), str(written.path)]) == 1
    assert capsys.readouterr().out == "refused: data: the proof is about another table\n"


NUMBERS = {
    "penalty": OptimalTreeRegressor("0.05"),
    "a penalty per leaf": OptimalTreeRegressor("0.05", penalty="leaf"),
    "depth": OptimalTreeRegressor("0.01", max_depth=2),
    "splits": OptimalTreeRegressor("0.02", max_splits=3),
    "rows in a leaf": OptimalTreeRegressor("0.05", min_samples_leaf=6),
    "costs of columns": OptimalTreeRegressor("0.04", feature_costs={"n": "0.03", "c": 0, "b": "1/70"}),
    "murtree": MurTreeRegressor(2, max_splits=3),
}


@pytest.mark.parametrize("digits", [1, 17])
@pytest.mark.parametrize("model", NUMBERS.values(), ids=NUMBERS)
def test_the_program_accepts_the_proof_of_least_squared_errors(model, digits, capsys, tmp_path):
    X, y = table(digits == 17)
    random = np.random.default_rng(1)
    numbers = ((y == "yes") * 3 - (X["n"] > 2) + random.normal(size=len(y)) / 4).round(digits).to_numpy()
    weights = random.integers(0, 4, len(y))
    line = answer(capsys, model.fit(X, numbers, weights), X, numbers, tmp_path, sample_weight=weights)
    assert model.status_ == "optimal"
    assert line.startswith("optimal: cost ")
    assert "squared errors" in line
    cost = float(Fraction(line.split()[2][:-1])) * (model.resolution_ or 1) ** 2  # in steps, where they are rounded
    assert cost == pytest.approx(model.cost_, rel=1e-9)


ACTIONS = {
    "penalty": OptimalPolicyTree("0.05"),
    "a penalty per leaf": OptimalPolicyTree("0.05", penalty="leaf"),
    "depth": OptimalPolicyTree(0, max_depth=2),
    "splits": OptimalPolicyTree("0.01", max_splits=3),
    "rows in a leaf": OptimalPolicyTree("0.02", min_samples_leaf=6),
    "some thresholds": OptimalPolicyTree("1/30", max_thresholds=3, one_vs_rest=True),
    "costs of columns": OptimalPolicyTree("0.02", feature_costs={"n": "0.03", "c": 0, "a, b": "1/70"}),
}


def prices(X, y, seed: int) -> pd.DataFrame:
    """Return random costs of three actions, some of them negative, which depend on the columns and the class."""
    costs = np.random.default_rng(seed).normal(size=(len(y), 3)) / 2
    return pd.DataFrame(costs + np.column_stack([y == "yes", X["n"] > 2, X["c"] == "u"]), columns=["n", "drug", "diet"])


@pytest.mark.parametrize("digits", [1, 17])
@pytest.mark.parametrize("model", ACTIONS.values(), ids=ACTIONS)
def test_the_program_accepts_the_proof_of_the_cheapest_actions(model, digits, capsys, tmp_path):
    X, y = table(digits == 17)
    costs, X = prices(X, y, 1).round(digits), X.rename(columns={"b": "cost of n"})
    weights = np.random.default_rng(1).integers(0, 4, len(y)) / 2
    line = answer(capsys, model.fit(X, costs, weights), X, costs, tmp_path, sample_weight=weights)
    assert model.status_ == "optimal"
    assert line.startswith("optimal: cost ")
    assert (", actions, " in line, model.resolution_ > 0) == (True, digits == 17)
    least = weights @ costs.min(axis=1) if model.resolution_ else 0  # rounded regrets are in steps, without it
    cost = float(Fraction(line.split()[2][:-1])) * (model.resolution_ or 1) + least
    assert cost == pytest.approx(model.cost_, abs=1e-9)


def test_a_policy_without_regret_has_a_proof(capsys, tmp_path):
    X = np.arange(6)[:, None]
    costs = np.random.default_rng(0).normal(size=(6, 1)) + [0, 0.1 / 3]
    model = OptimalPolicyTree("0.01").fit(X, costs)
    assert answer(capsys, model, X, costs, tmp_path).startswith("optimal: cost 0, ")


@pytest.mark.parametrize("exponent", [0, -100, 120])
@pytest.mark.parametrize("regularization", ["0.01", "0.0123456789012345", "1/7"])
def test_an_action_without_regret_has_a_proof_whatever_the_digits(regularization, exponent, capsys, tmp_path):
    random = np.random.default_rng(0)
    X, whole, real = random.integers(0, 5, (40, 3)), random.integers(0, 9, 40), random.random(40)
    scale = float(f"1e{exponent}")
    for costs in ([whole, whole + 3], [real, real], [real, real + random.random(40)], [0 * real + np.pi, real + 4]):
        given = np.column_stack(costs) * scale
        penalty = "leaf" if len(set(costs[0])) < 10 else "split"
        model = OptimalPolicyTree(regularization, max_depth=2, penalty=penalty).fit(X, given)
        assert answer(capsys, model, X, given, tmp_path).startswith("optimal: cost ")


@pytest.mark.parametrize("exponent", [-100, -3, 120])
@pytest.mark.parametrize(
    "model", [OptimalPolicyTree(max_depth=2), OptimalTreeClassifier(max_depth=2), OptimalTreeRegressor(max_depth=2)]
)
def test_numbers_with_long_exponents_have_proofs(model, exponent, capsys, tmp_path):
    """So have weights, of whole numbers or of many digits: the program gets whole weights."""
    random, scale = np.random.default_rng(1), float(f"1e{exponent}")
    X, y = random.integers(0, 5, (40, 3)), random.integers(0, 2, 40)
    numbers, is_regression = random.integers(0, 9, (40, 2)) * scale, isinstance(model, OptimalTreeRegressor)
    target = y if isinstance(model, OptimalTreeClassifier) else numbers[:, 0] if is_regression else numbers
    many, few = random.random(40) * scale, random.integers(1, 4, 40) * 2.0**-3
    for weights in (None, few, many) if target is y else (None, few):
        line = answer(capsys, model.fit(X, target, weights), X, target, tmp_path, sample_weight=weights)
        assert line.startswith("optimal: cost ")
        assert model.status_ == "optimal"
    if is_regression:
        with refused("proof: the target has too many digits for a proof; give numbers or weights of fewer"):
            target = random.random(40)
            model.fit(X, target, many).prove(X, target, tmp_path / "tree.proof", many)


def claimed(path) -> float:
    """Return the gap that a proof claims."""
    return float(Fraction(json.loads(path.read_bytes().split(b"\n")[1])["claim"]))


def test_the_gap_of_weights_of_many_digits_is_in_the_units_of_the_table(capsys, tmp_path):
    random = np.random.default_rng(0)
    X, y, weights = random.integers(0, 2, (200, 12)), random.integers(0, 2, 200), random.random(200) / 3
    with pytest.warns(ConvergenceWarning):
        model = OptimalTreeClassifier("0.005", iteration_limit=30, max_thresholds=1).fit(X, y, weights)
    written = model.prove(X, y, tmp_path / "tree.proof", weights)
    line = answer(capsys, model, X, y, tmp_path, sample_weight=weights)
    said, cost = float(line.removeprefix("within ").split(":")[0]), float(Fraction(line.split()[3][:-1]))
    assert cost * float(written.gap) == pytest.approx(float(model.cost_) * claimed(written.path))
    assert 0 < said <= claimed(written.path)


def test_a_policy_tree_that_is_not_optimal_has_no_proof(tmp_path):
    X, y = table()
    costs = prices(X, y, 2).round(1)
    model, leaf = OptimalPolicyTree("0.02").fit(X, costs), OptimalPolicyTree("0.9").fit(X, costs)
    with pytest.raises(OptreeError, match="give the same rows"):
        model.prove(X, costs + [0, 0.1, 0], tmp_path / "tree.proof")
    model.tree_, model.encoder_, model._searched = leaf.tree_, leaf.encoder_, leaf._searched
    model.regularization = "0.9"
    model.prove(X, costs, tmp_path / "tree.proof")
    model.regularization, regret = "0.02", Fraction(leaf._searched[0])
    model._searched = regret, regret
    with pytest.raises(OptreeError, match="above the least cost"):
        model.prove(X, costs, tmp_path / "tree.proof")
    with pytest.warns(UserWarning, match="one action"):
        model.fit(X, costs[["n"]])
    with pytest.warns(UserWarning, match="one action"), refused("prove: the costs of one action have no proofs"):
        model.prove(X, costs[["n"]], tmp_path / "tree.proof")


def test_a_regression_tree_that_is_not_optimal_has_no_proof(tmp_path):
    X, y = np.arange(20.0)[:, None] * 0.7, np.arange(20.0) % 7
    model, leaf = OptimalTreeRegressor("0.02").fit(X, y), OptimalTreeRegressor("0.9").fit(X, y)
    model.tree_, model.encoder_ = leaf.tree_, leaf.encoder_
    with pytest.raises(OptreeError, match="prove: the tree costs"):
        model.prove(X, y, tmp_path / "tree.proof")
    model._searched = leaf.cost_, leaf.cost_
    with pytest.raises(OptreeError, match="above the least cost"):
        model.prove(X, y, tmp_path / "tree.proof")
    with refused("prove: criterion = 'absolute_error' has no proofs; give criterion = 'squared_error'"):
        OptimalTreeRegressor("0.2", criterion="absolute_error").fit(X, y).prove(X, y, tmp_path / "tree.proof")


def test_weights_of_rows_are_in_the_table_and_rows_without_weight_are_not(capsys, tmp_path):
    X, y = table()
    weights = np.linspace(0, 3, len(y)).round(1)
    model = OptimalTreeClassifier("0.02").fit(X, y, weights)
    line = answer(capsys, model, X, y, tmp_path, sample_weight=weights, data=tmp_path / "weighted.csv")
    assert line.startswith(f"optimal: cost {model.cost_}, ")
    assert len((tmp_path / "weighted.csv").read_text().splitlines()) == 1 + (weights > 0).sum()


def test_a_search_that_reached_a_limit_proves_its_lower_bound(capsys, tmp_path):
    random = np.random.default_rng(0)
    X, y = random.integers(0, 2, (200, 12)), random.integers(0, 2, 200)
    with pytest.warns(ConvergenceWarning):
        model = OptimalTreeClassifier("0.005", iteration_limit=30, max_thresholds=1).fit(X, y)
    assert 0 < model.lower_bound_ < model.cost_
    line = answer(capsys, model, X, y, tmp_path)
    assert line.startswith("within ")
    assert float(line.split()[1][:-1]) <= float(model.cost_ - model.lower_bound_)


def test_a_policy_search_that_reached_a_limit_proves_its_lower_bound(capsys, tmp_path):
    random = np.random.default_rng(0)
    X, costs = random.integers(0, 2, (200, 12)), random.integers(-3, 4, (200, 3)) / 2
    with pytest.warns(ConvergenceWarning):
        model = OptimalPolicyTree("0.005", iteration_limit=30, max_thresholds=1).fit(X, costs)
    line = answer(capsys, model, X, costs, tmp_path)
    assert 0 < float(line.removeprefix("within ").split(":")[0]) <= (model.cost_ - model.lower_bound_) * (1 + 1e-5)
    assert float(Fraction(line.split()[3][:-1])) == pytest.approx(model.cost_)


def test_the_cost_of_a_heuristic_tree_is_checked(capsys, tmp_path):
    X, y = table()
    model = SPLITClassifier("0.02").fit(X, y)
    assert f"cost {model.cost_}, " in answer(capsys, model, X, y, tmp_path)


def test_a_wrong_bound_of_the_engine_is_caught(monkeypatch, tmp_path):
    """The engine prunes splits that gain four times the penalty: its tree is not optimal, and it says so."""
    rules = search._rules

    def wrong(*given):
        found = rules(*given)
        return found._replace(margin=6 * found.margin, least_gain=6 * found.least_gain)

    monkeypatch.setattr(search, "_rules", wrong)
    X, y = table()
    X = X[["a, b", "b", "c"]]
    y = np.where((X["b"] == "p") & (X["c"] == "u"), "yes", "no")
    model = OptimalTreeClassifier("0.05").fit(X, y)
    assert model.status_ == "optimal"
    with pytest.raises(OptreeError, match="above the least cost"):
        model.prove(X, y, tmp_path / "tree.proof")
    assert not (tmp_path / "tree.proof").exists()


def test_a_tree_that_is_not_optimal_has_no_proof(tmp_path):
    X, y = table()
    model, greater = OptimalTreeClassifier("0.02").fit(X, y), OptimalTreeClassifier("0.3").fit(X, y)
    model.tree_, model.encoder_ = greater.tree_, greater.encoder_
    model._searched = greater.cost_, greater.cost_
    assert not greater.tree_.n_splits
    with pytest.raises(OptreeError, match="above the least cost"):
        model.prove(X, y, tmp_path / "tree.proof")


def test_other_rows_and_other_objectives_are_refused(tmp_path):
    X, y = table()
    model = OptimalTreeClassifier("0.02").fit(X, y)
    with pytest.raises(OptreeError, match="give the same rows"):
        model.prove(X[:50], y[:50], tmp_path / "tree.proof")
    two = np.where(y == "yes", "yes", "no")
    with pytest.raises(OptreeError, match="has no proofs; accuracy has"):
        GOSDTClassifier("0.02", objective="auc").fit(X, two).prove(X, two, tmp_path / "tree.proof")
    with warnings.catch_warnings(), pytest.raises(OptreeError, match="limit was reached"):
        OptimalTreeClassifier("0.005").fit(X, y).prove(X, y, tmp_path / "tree.proof", time_limit=0)


LIMITED = {
    "classes": (OptimalTreeClassifier("0.002"), table()),
    "all thresholds": (OptimalTreeClassifier("0.01", max_depth=3), load_iris(return_X_y=True)),
    "limit on splits": (OptimalTreeClassifier("0.002", max_splits=5), table()),
    "squared errors": (OptimalTreeRegressor("0.005"), (table()[0], np.random.default_rng(0).integers(0, 9, 60))),
}


@pytest.mark.parametrize(("model", "rows"), LIMITED.values(), ids=LIMITED)
def test_a_limit_leaves_a_proof_of_a_greater_gap(model, rows, capsys, tmp_path, monkeypatch):
    """The limits here are on visits to supports, in place of seconds."""
    X, y = rows
    model.fit(X, y)
    gaps, errors = [], []
    for visits in [2, 4, 16, 64, 256, 1024, 10**6]:
        monkeypatch.setattr(proving, "Budget", lambda visits=visits, **_: Budget(iterations=visits))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                written = model.prove(X, y, tmp_path / "tree.proof", time_limit=9)
            except OptreeError as error:
                errors.append((str(error), len(gaps)))
                continue
        gaps.append(written.gap)
        assert [one.category for one in caught] == [] if written.complete else [ConvergenceWarning]
        capsys.readouterr()
        assert optree_verify.main([str(written.data), str(written.path)]) == 0, capsys.readouterr().out
        verdict = capsys.readouterr().out.partition(" ")[0]
        assert verdict == "optimal:" or (verdict == "within" and written.gap > 0)  # the program may find a better bound
        assert written.complete == (written.gap <= model.cost_ - model.lower_bound_)
    assert gaps == sorted(gaps, reverse=True)
    assert len(set(gaps)) > 2
    assert written.complete
    assert all("the iteration_limit was reached after" in text and before == 0 for text, before in errors)


def test_a_proof_replaces_no_file_of_the_user(tmp_path):
    X, y = [[0], [0], [1], [1]], [0, 0, 1, 1]
    model = OptimalTreeClassifier("0.1").fit(X, y)
    (tmp_path / "mine.csv").write_text("a\n1\n")
    with refused("mine.csv' exists, and would be replaced; give data, the file of the table"):
        model.prove(X, y, tmp_path / "mine.proof")
    for path, data in (("one.csv", None), ("one", "one"), ("one", str(tmp_path / "." / "one"))):
        with refused("is not accepted for both files; give the table a name of its own"):
            model.prove(X, y, tmp_path / path, data=data and tmp_path / data)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]
    assert (tmp_path / "mine.csv").read_text() == "a\n1\n"
    for _ in range(2):  # the second proof replaces the first one
        assert model.prove(X, y, tmp_path / "own.proof").data == tmp_path / "own.csv"
    with refused("prove: time_limit = -1 is not accepted"):
        model.prove(X, y, tmp_path / "own.proof", time_limit=-1)


@pytest.mark.parametrize("kind", [DPDTreeClassifier, DPDTGradientBoostingClassifier, DPDTGradientBoostingRegressor])
def test_an_estimator_without_proofs_names_estimators_with_proofs(kind, tmp_path):
    with refused(f"prove: {kind.__name__} has no proofs; OptimalTreeClassifier, OptimalTreeRegressor with"):
        kind().prove([[0], [1]], [0, 1], tmp_path / "tree.proof")


def test_the_guide_says_which_estimators_have_certificates():
    guide = (Path(__file__).parents[2] / "docs" / "estimators.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in guide.splitlines() if re.match(r"\|.*`[A-Z]\w+.*\|", line)]
    said = {name: row[3] for row in rows for name in re.findall(r"`([A-Z]\w+)`", row[1])}
    assert len(said) > 12
    for name, certificate in said.items():
        assert issubclass(getattr(optree, name), Provable) == (certificate != "no"), name


def test_the_guide_says_which_estimators_have_which_parameters():
    guide = (Path(__file__).parents[2] / "docs" / "estimators.md").read_text()
    head, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in guide.split("These parameters are not in every estimator:")[1].strip().split("\n\n")[0].splitlines()
    ]
    said = {row[0].strip("`"): dict(zip([name.strip("`") for name in head[1:]], row[1:], strict=True)) for row in rows}
    fits = [name for name in optree.__all__ if hasattr(getattr(optree, name), "fit")]
    assert sorted(said) == sorted(fits)
    for name, cells in said.items():
        accepted = inspect.signature(getattr(optree, name)).parameters
        assert {key: "yes" * (key in accepted) for key in cells} == cells, name
