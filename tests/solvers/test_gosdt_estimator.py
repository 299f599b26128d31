"""GOSDTClassifier: objectives by name, labels and ranks, guesses."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score, f1_score, fbeta_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.refusal import refused

from optree import GOSDTClassifier, OptimalTreeClassifier

X, Y = load_breast_cancer(return_X_y=True)
X = X[:, [7, 20, 21]]


@parametrize_with_checks([GOSDTClassifier(iteration_limit=2000)])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_each_objective_is_best_at_its_own_measure():
    models = {o: GOSDTClassifier("0.02", objective=o, max_thresholds=6).fit(X, Y) for o in ("accuracy", "f1", "auc")}
    assert {model.status_ for model in models.values()} == {"optimal"}

    def value(name, model):
        score = {
            "accuracy": lambda: model.score(X, Y),
            "f1": lambda: f1_score(Y, model.predict(X)),
            "auc": lambda: roc_auc_score(Y, model.predict_proba(X)[:, 1]),
        }[name]()
        return score - 0.02 * model.tree_.n_leaves

    for name, model in models.items():
        assert value(name, model) == pytest.approx(model.objective_)
        assert all(value(name, model) >= value(name, other) - 1e-9 for other in models.values())


def test_accuracy_is_what_the_engine_finds():
    model = GOSDTClassifier("0.03", max_thresholds=8).fit(X, Y)
    engine = OptimalTreeClassifier("0.03", penalty="leaf", max_thresholds=8).fit(X, Y)
    assert model.cost_ == model.lower_bound_ == engine.cost_


def test_an_f_score_labels_leaves_for_itself():
    random = np.random.RandomState(0)
    column = random.randint(2, size=(300, 1))
    rare = (random.random_sample(300) < 0.05 + 0.3 * column[:, 0]).astype(int)
    accuracy, f1 = (GOSDTClassifier("0.01", objective=o).fit(column, rare) for o in ("accuracy", "f1"))
    assert accuracy.predict(column).sum() == 0
    assert f1.predict(column).tolist() == column[:, 0].tolist()
    weighted = GOSDTClassifier("0.01", objective="weighted-accuracy:5").fit(column, rare)
    assert weighted.predict(column).tolist() == column[:, 0].tolist()


def test_many_classes_where_the_objective_adds_up():
    flowers, kinds = load_iris(return_X_y=True)
    model = GOSDTClassifier("0.02", objective="balanced-accuracy", max_thresholds=5).fit(flowers, kinds)
    assert model.status_ == "optimal"
    assert model.tree_.n_leaves == 3
    with refused("measure: auc is for two classes"):
        GOSDTClassifier(objective="auc").fit(flowers, kinds)


@pytest.mark.slow
@pytest.mark.parametrize("guess", [(True, False), (False, True), (True, True)])
def test_a_guess_is_never_called_optimal(guess):
    exact = GOSDTClassifier("0.01", max_thresholds=8).fit(X, Y)
    model = clone(exact).set_params(guess_thresholds=guess[0], guess_lower_bound=guess[1], random_state=0).fit(X, Y)
    assert model.status_ == "heuristic"
    assert (model.lower_bound_, model.gap_) == (None, None)
    assert model.counters_["proven_within_guess"] == 1
    assert 1 <= model.counters_["features_kept"] <= 24
    assert exact.cost_ <= model.cost_
    assert model.cost_ / len(Y) < 0.15
    with pytest.warns(ConvergenceWarning, match="iteration_limit with no bound"):
        clone(model).set_params(iteration_limit=1).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"objective": "gini"}, "objective: 'gini' is not known; accepted: f1, accuracy"),
        (
            {"objective": "auc", "guess_thresholds": True},
            "guess_thresholds = True is not accepted with the objective auc",
        ),
        (
            {"objective": "balanced-accuracy", "guess_lower_bound": True},
            "solver gosdt: guess_lower_bound = True is not accepted with costs",
        ),
        ({"guess_thresholds": 1}, "guess_thresholds: 1 is not accepted; give True or False"),
    ],
)
def test_what_it_does_not_do_is_refused(parameters, message):
    with refused(message):
        GOSDTClassifier(**parameters).fit(X, Y)


def test_the_objective_can_be_searched_for():
    grid = {"objective": ["accuracy", "auc"], "regularization": ["0.05", "0.02"]}
    search = GridSearchCV(GOSDTClassifier(max_thresholds=4), grid, scoring="roc_auc", cv=3).fit(X, Y)
    assert search.best_params_["objective"] in grid["objective"]


@pytest.mark.parametrize("objective", ["balanced-accuracy", "weighted-accuracy:2.37", "f1", "f-beta:0.37", "auc"])
def test_any_float_is_a_weight(objective):
    random = np.random.RandomState(1)
    table = random.randint(3, size=(400, 3))
    labels = (table.sum(axis=1) + random.randint(3, size=400) > 3).astype(int)
    weights = random.random_sample(400)
    model = GOSDTClassifier("0.02", objective=objective).fit(table, labels, weights)
    guess, rank = model.predict(table), model.predict_proba(table)[:, 1]
    costs = weights * np.where(labels, 2.37, 1)
    value = {
        "balanced-accuracy": lambda: balanced_accuracy_score(labels, guess, sample_weight=weights),
        "weighted-accuracy:2.37": lambda: costs[guess == labels].sum() / costs.sum(),
        "f1": lambda: f1_score(labels, guess, sample_weight=weights),
        "f-beta:0.37": lambda: fbeta_score(labels, guess, beta=0.37, sample_weight=weights),
        "auc": lambda: roc_auc_score(labels, rank, sample_weight=weights),
    }[objective]()
    assert model.status_ == "optimal"
    assert model.tree_.n_splits
    assert model.objective_ == pytest.approx(value - 0.02 * model.tree_.n_leaves, abs=1e-3)


def test_balanced_accuracy_takes_many_classes():
    random = np.random.RandomState(2)
    labels = random.randint(12, size=20_000)
    column = np.where(random.random_sample(20_000) < 0.5, labels % 3, 3)[:, None]
    model = GOSDTClassifier("0.01", objective="balanced-accuracy").fit(column, labels)
    score = balanced_accuracy_score(labels, model.predict(column))
    assert model.status_ == "optimal"
    assert model.objective_ == pytest.approx(score - 0.01 * model.tree_.n_leaves)
