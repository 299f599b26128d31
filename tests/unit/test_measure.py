"""Measures: by definition, at their edges, and in records."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, fbeta_score, jaccard_score, roc_auc_score
from support import runs
from support.problems import make

from optree import solvers
from optree.bench.runs import record
from optree.errors import OptreeError
from optree.measure import LABELLED, RANKED, Measure
from optree.objective import Objective
from optree.tree import LEAF, Tree

ALL = ("accuracy", "balanced-accuracy", "weighted-accuracy:3", "f1", "f-beta:2", "jaccard", "auc", "partial-auc:0.3")


def two_classes(seed: int, n: int = 30, q: int = 4):
    random = np.random.RandomState(seed)
    codes = random.randint(2, size=(n, q))
    return make(codes, (random.random_sample(n) < 0.2 + 0.6 * codes[:, 0] * codes[:, 1]).astype(int), [2] * q, 2)


def any_tree(problem, seed: int) -> Tree:
    random = np.random.RandomState(seed)

    def choose(rows, depth):
        feature = int(random.randint(len(problem.features)))
        return (LEAF, []) if depth == 0 or random.randint(4) == 0 else (feature, [depth - 1] * 2)

    return Tree.grow(problem, choose, 3)


@pytest.mark.parametrize("text", ["f1", "f-beta:2", "jaccard", "auc", "balanced-accuracy", "weighted-accuracy:2.5"])
def test_losses_are_those_of_scikit_learn(text):
    measure = Measure.of(text)
    for seed in range(40):
        problem = two_classes(seed)
        tree = measure.label(any_tree(measure.with_costs(problem), seed))
        guess, score = tree.predict(problem.codes), tree.predict_proba(problem.codes)[:, 1]
        weights = np.where(problem.y == 1, 2.5, 1)
        expected = {
            "f1": lambda y=problem.y, g=guess: fbeta_score(y, g, beta=1),
            "f-beta:2": lambda y=problem.y, g=guess: fbeta_score(y, g, beta=2),
            "jaccard": lambda y=problem.y, g=guess: jaccard_score(y, g),
            "auc": lambda y=problem.y, s=score: roc_auc_score(y, s),
            "balanced-accuracy": lambda y=problem.y, g=guess: balanced_accuracy_score(y, g),
            "weighted-accuracy:2.5": lambda y=problem.y, g=guess, w=weights: (w * (y == g)).sum() / w.sum(),
        }[text]()
        assert float(1 - measure.share(tree, problem)) == pytest.approx(expected)


def test_the_partial_area_is_what_is_left_of_theta():
    problem = make([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 0, 0], [2, 2], 2, [3, 2, 1, 4])
    tree = Tree.grow(problem, lambda rows, depth: (depth, [depth + 1] * 2) if depth < 2 else (LEAF, []), 0)
    # the curve rises to (0, 1) at once; then nothing is lost
    assert Measure.of("partial-auc:0.25").share(tree, problem) == 0
    stump = Tree.grow(problem, lambda rows, depth: (0, [1] * 2) if depth == 0 else (LEAF, []), 0)
    # steps (3 negative, 2 positive) and (5, 0): slope 8/3 up to the rate 3/8
    area = Fraction(1, 4) * Fraction(1, 4) * Fraction(8, 3) / 2
    assert Measure.of("partial-auc:0.25").share(stump, problem) == Fraction(1, 4) - area


def test_the_best_labels_of_a_tree_are_those_of_the_sweep():
    for seed, text in product(range(60), ("f1", "f-beta:0.5", "f-beta:3", "jaccard")):
        problem, measure = two_classes(seed, 16, 3), Measure.of(text)
        tree = measure.label(any_tree(problem, seed))
        leaves = np.flatnonzero((tree.feature == LEAF) & tree.counts.any(axis=1))
        losses = []
        for labels in product((0, 1), repeat=len(leaves)):
            fp = int(sum(tree.counts[v, 0] for v, label in zip(leaves, labels, strict=True) if label))
            fn = int(sum(tree.counts[v, 1] for v, label in zip(leaves, labels, strict=True) if not label))
            losses.append(measure.ratio(int(problem.y.sum())).of(fp, fn))
        assert measure.share(tree, problem) == min(losses)
        assert measure.of_leaves([tuple(tree.counts[v].tolist()) for v in leaves]) == min(losses)


@pytest.mark.parametrize("text", ["weighted-accuracy:0", "partial-auc:0"])
def test_at_zero_there_is_nothing_to_get_wrong(text):
    result = solvers.get("exhaustive").solve(two_classes(1, 12, 3), Objective.of("0.01", measure=text))
    assert (result.cost, result.tree.n_splits) == (0, 0)


@pytest.mark.parametrize("text", ALL)
@pytest.mark.parametrize("label", [0, 1])
def test_without_rows_of_a_class_a_leaf_is_perfect(text, label):
    problem = make([[0], [1], [1]], [label] * 3, [2], 2)
    names = ("exhaustive", "gosdt", "optree") if Measure.of(text).additive else ("exhaustive", "roc")
    for name in names:
        result = solvers.get(name).solve(problem, Objective.of("0.01", measure=text))
        assert (result.cost, result.status, result.tree.n_splits) == (0, "optimal", 0)


def test_theta_of_one_is_the_whole_area():
    for seed in range(10):
        tree, problem = any_tree(two_classes(seed), seed), two_classes(seed)
        assert Measure.of("auc").share(tree, problem) == Measure.of("partial-auc:1").share(tree, problem)


def test_balanced_accuracy_of_many_classes_counts_those_that_are_there():
    problem = make([[0], [0], [1]], [0, 0, 2], [2], 4)
    leaf = solvers.get("gosdt").solve(problem, Objective.of("1", measure="balanced-accuracy"))
    assert Measure.of("balanced-accuracy").share(leaf.tree, problem) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("acuracy", "measure: 'acuracy' is not known; accepted: f1, accuracy, "),
        ("auc:1", "measure: 'auc:1' is not known; accepted: "),
        ("f-beta", "measure: 'f-beta' is not known; accepted: "),
        ("f-beta:0", "measure: 'f-beta:0' is not accepted; BETA is a number above 0"),
        ("partial-auc:1.5", "measure: 'partial-auc:1.5' is not accepted; THETA is a number from 0 to 1"),
        ("weighted-accuracy:-1", "measure: 'weighted-accuracy:-1' is not accepted; OMEGA is a number >= 0"),
        ("partial-auc:many", "measure: 'partial-auc:many' is not accepted; THETA is a number from 0 to 1"),
    ],
)
def test_what_is_no_measure_is_refused(text, message):
    with pytest.raises(OptreeError) as caught:
        Objective.of("0.1", measure=text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "measure", "fields", "message"),
    [
        ("branches", "auc", {}, "solver branches: measure: 'auc' is not known; accepted: accuracy"),
        ("gosdt", "f1", {}, "solver gosdt: measure: 'f-beta:1' is not known; accepted: accuracy, balanced-accuracy, "),
        ("roc", "accuracy", {}, "solver roc: measure: 'accuracy' is not known; accepted: f-beta, jaccard, auc, "),
        (
            "exhaustive",
            "auc",
            {"max_depth": 2},
            "solver exhaustive: max_depth = 2 is not accepted with the measure auc; ",
        ),
    ],
)
def test_a_solver_refuses_a_measure_that_it_does_not_have(name, measure, fields, message):
    with pytest.raises(OptreeError) as caught:
        solvers.get(name).solve(two_classes(0), Objective.of("0.1", measure=measure, **fields))
    assert str(caught.value).startswith(message)


def test_a_measure_of_two_classes_refuses_three():
    problem = make([[0], [1], [1]], [0, 1, 2], [2], 3)
    with pytest.raises(OptreeError, match="measure: auc is for two classes; the problem has 3"):
        solvers.get("roc").solve(problem, Objective.of("0.1", measure="auc"))


@pytest.mark.parametrize("measure", ALL)
def test_a_record_tells_the_loss_of_the_tree_on_both_parts(measure, tmp_path):
    algorithm = "gosdt" if Measure.of(measure).additive else "roc"
    made = runs.run("monks-1", "onehot-drop-first", "0.02", "0", algorithm, penalty="leaf", measure=measure)
    record.write(made, tmp_path / "record.json")
    assert made["run"]["measure"] == measure
    assert made["status"] == "optimal"
    value = 1 - made["train"]["loss"] - 0.02 * made["size"]["leaves"]
    assert made["objective"] == pytest.approx(value, abs=1e-9)
    assert 0 <= made["test"]["loss"] <= 1


def test_every_measure_is_named_once():
    assert len({*LABELLED, *RANKED}) == 4
    assert str(Measure.of("partial-auc:0.1")) == "partial-auc:1/10"
    assert Measure.of(str(Measure.of("f1"))) == Measure.of("f-beta:1")
