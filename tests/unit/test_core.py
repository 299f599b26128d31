"""Problem, objective, budget, tree, result: the nouns."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from support.problems import make, problems, random_problem
from support.refusal import refused

from optree import solvers
from optree.bench.runs.record import SCHEMA
from optree.bench.tables.summary import STATUS
from optree.budget import Budget, Clock, Pace, peak_rss_mib, rss_mib
from optree.columns import Feature
from optree.drawing import views
from optree.encoding.problem_files import load_problem, save_problem
from optree.errors import OptreeError
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import STATUSES
from optree.target import Values
from optree.tree import LEAF, Tree


def solved(seed=3, **objective):
    problem = random_problem(seed)
    return problem, solvers.get("exhaustive").solve(problem, Objective.of(**{"regularization": "0.01", **objective}))


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.005", Fraction(1, 200)),
        (0.1, Fraction(1, 10)),
        ("1e-3", Fraction(1, 1000)),
        (1, Fraction(1)),
        ("1/3", Fraction(1, 3)),
    ],
)
def test_lambda_is_read_as_the_decimal_it_prints_as(written, exact):
    assert Objective.of(written).regularization == exact


@pytest.mark.parametrize("value", ["-0.1", "1.1", "nan", "many", "inf", None, True, float("nan"), "", "1/0"])
def test_lambda_outside_its_range_is_refused(value):
    with pytest.raises(OptreeError, match=r"regularization: .* is not accepted; give a number from 0 to 1"):
        Objective.of(value)


@pytest.mark.parametrize("depth", [-1, 1.5, True, "deep"])
def test_depth_outside_its_range_is_refused(depth):
    with pytest.raises(OptreeError, match=r"max_depth: .* is not accepted"):
        Objective.of("0.1", max_depth=depth)


def rows(n):
    return make(np.zeros((n, 1), int), [0] * n, [2], 1)


def test_costs_are_exact_and_bounded():
    assert Objective.of("0.005").scale(rows(958)) == Scale(100, 479, 100)
    assert Objective.of("0").scale(rows(7)) == Scale(1, 0, 1)
    assert Scale(100, 479, 100).in_rows(579) == Fraction(579, 100)
    with pytest.raises(OptreeError, match=r"costs of up to .* units do not fit into 64 bits; give weights or costs"):
        Objective.of("0.1").scale(make([[0]], [0], [2], 2, costs=[[0, 2**62], [1, 0]]))


def test_a_lambda_of_many_digits_is_rounded_as_precisely_as_a_float():
    weights = np.array([2**44, 3])
    for value in ("0.1234567890123456789", 1 / 3, 0.1 * 0.1, *np.logspace(-6, -1, 20)):
        for problem in (rows(10), rows(100_000), make([[0], [1]], [0, 1], [2], 2, weights)):
            scale, total = Objective.of(value).scale(problem), problem.total_weight
            exact = Fraction(str(value))
            assert scale.row == scale.error
            assert scale.error * total <= 2**61
            assert abs(Fraction(scale.penalty, scale.row) / total - exact) < Fraction(1, 2**52)
            if (exact * total).denominator * total <= 2**61:
                assert Fraction(scale.penalty, scale.row) == exact * total


def test_costs_of_a_problem_are_in_fractions_of_a_row():
    problem = make([[0], [1]], [0, 1], [2], 2, costs=[[0, 5], [10, 0]], unit=10)
    scale = Objective.of("0.1").scale(problem)
    leaf, stump = (solvers.get("exhaustive").solve(problem, Objective.of(value)) for value in ("0.3", "0.1"))
    assert (scale.in_rows(scale.error * 5), scale.in_rows(scale.penalty)) == (Fraction(1, 2), Fraction(1, 5))
    assert (leaf.cost_in_rows, leaf.tree.prediction.tolist()) == (Fraction(1, 2), [1])
    assert (stump.cost_in_rows, stump.tree.n_splits) == (Fraction(1, 5), 1)


def test_broken_constraints_are_told():
    problem = make([[0, 0], [0, 1], [1, 0], [1, 0]], [0, 1, 1, 1], [2, 2], 2)
    tree = solvers.get("exhaustive").solve(problem, Objective.of("0")).tree
    assert Objective.of("0", "split", 1, 1, 2).broken(tree, problem) == {
        "max_depth": 2,
        "max_splits": 2,
        "min_samples_leaf": 1,
    }
    assert Objective.of("0", "split", 2, 2).broken(tree, problem) == {}


def test_leaf_penalty_is_split_penalty_plus_one_leaf_on_binary_features():
    for seed in range(40):
        problem = random_problem(seed)
        if max(problem.n_parts) > 2:
            continue
        by = {p: solvers.get("exhaustive").solve(problem, Objective.of("0.03", p)) for p in ("split", "leaf")}
        assert by["leaf"].cost == by["split"].cost + by["leaf"].scale.penalty


def test_groups_merge_equal_rows_and_keep_all_weight():
    problem = make([[0, 1], [1, 1], [0, 1]], [0, 1, 1], [2, 2], 2, weights=[1, 2, 4])
    assert problem.groups.codes.tolist() == [[0, 1], [1, 1]]
    assert problem.groups.weights.tolist() == [[1, 4], [0, 2]]


def test_groups_are_those_of_sorting_whole_rows():
    random = np.random.RandomState(0)
    for width in (1, 5, 90):  # 90 binary columns do not fit into 64 bits
        codes = random.randint(2, size=(6, width))[random.randint(6, size=40)]
        problem = make(codes, random.randint(3, size=40), [2] * width, 3, random.randint(1, 5, 40))
        expected, group = np.unique(codes, axis=0, return_inverse=True)
        assert np.array_equal(problem.groups.codes, expected)
        for g in range(len(expected)):
            rows = group.ravel() == g
            assert np.array_equal(problem.groups.weights[g], np.bincount(problem.y[rows], problem.weights[rows], 3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(codes=np.zeros((0, 1)), y=[]), "0 rows and 1 features"),
        (dict(codes=[[2]], y=[0]), "feature 'x0' has codes 2 to 2; -1 to 1 are accepted"),
        (dict(codes=[[0]], y=[2]), "y has classes 2 to 2; 0 to 1 are accepted"),
        (dict(codes=[[0]], y=[0], weights=[0]), "weights from 0, with sum 0"),
        (dict(codes=[[0], [1]], y=[0]), "the columns have 2 rows, the target 1, and the weights 1"),
    ],
)
def test_bad_problems_are_refused(arguments, message):
    with pytest.raises(OptreeError, match=message):
        make(**arguments, n_parts=[2], class_count=2)


@pytest.mark.parametrize(("categories", "kind"), [(2, np.int8), (128, np.int8), (129, np.int16), (40_000, np.int32)])
@pytest.mark.parametrize("wide", [np.int64, np.int32, np.float64, np.int16])
def test_codes_have_the_narrowest_type_of_their_categories(categories, kind, wide):
    codes = np.array([[categories - 1, 1], [-1, 0], [0, -1]])
    if categories - 1 > 2**15 and wide == np.int16:
        return
    problem = make(codes.astype(wide), [0, 1, 0], [categories, 2], 2)
    assert problem.codes.dtype == kind
    assert np.array_equal(problem.codes, codes)
    assert np.array_equal(problem.groups.codes[np.argsort(-problem.groups.codes[:, 0])], codes[[0, 2, 1]])
    assert problem.groups.codes.dtype == kind
    for beyond in (256, 2**16, 2**32):  # 0 in a narrower type
        with refused(f"feature 'x1' has codes {beyond} to {beyond}", "-1 to 1 are accepted"):
            make(np.array([[0, beyond]]), [0], [categories, 2], 2)


def test_a_problem_survives_the_disk(tmp_path):
    problem = random_problem(11)
    save_problem(problem, tmp_path / "p.npz", seconds=1.5)
    again, notes = load_problem(tmp_path / "p.npz")
    assert notes == {"seconds": 1.5}
    assert (again.features, again.classes) == (problem.features, problem.classes)
    for name in ("codes", "y", "weights"):
        assert np.array_equal(getattr(again, name), getattr(problem, name))


def test_a_truncated_problem_is_named(tmp_path):
    path = tmp_path / "p.npz"
    save_problem(random_problem(11), path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(OptreeError, match=r"p\.npz: not an encoded problem"):
        load_problem(path)


@given(problem=problems)
@settings(max_examples=100, deadline=None)
def test_a_tree_survives_json_and_predicts_as_it_counted(problem):
    tree = solvers.get("exhaustive").solve(problem, Objective.of("0.01")).tree
    again = Tree.from_dict(json.loads(json.dumps(tree.to_dict())))
    assert again.to_dict() == tree.to_dict()
    assert views.to_text(again) == views.to_text(tree)
    leaves = again.apply(problem.codes)
    for node in np.unique(leaves):
        here = leaves == node
        assert np.array_equal(
            np.bincount(problem.y[here], problem.weights[here], len(problem.classes)), tree.counts[node]
        )
    proba = again.predict_proba(problem.codes)
    assert np.allclose(proba.sum(axis=1), 1)
    assert np.array_equal(proba.argmax(axis=1), again.predict(problem.codes))


def test_what_is_not_a_tree_is_named():
    with pytest.raises(OptreeError, match=r"not what Tree\.to_dict writes"):
        Tree.from_dict({"feature": [0]})


def test_empty_parts_predict_the_parents_majority_and_unknown_codes_stop_at_the_split():
    problem = make([[0], [0], [2], [2], [2]], [0, 0, 1, 1, 1], [3], 2)
    tree = solvers.get("exhaustive").solve(problem, Objective.of("0.01")).tree
    assert (tree.n_splits, tree.n_leaves, tree.n_nodes) == (1, 2, 4)
    assert tree.predict(np.array([[0], [1], [2], [-1]])).tolist() == [0, 1, 1, 1]
    assert tree.apply(np.array([[-1]])).tolist() == [0]
    assert tree.predict_proba(np.array([[1]])).tolist() == [[0, 1]]


def test_pruning_keeps_what_pays_and_nothing_else():
    problem = make([[a, b] for a in (0, 1) for b in (0, 1)] * 3, [0, 0, 0, 1] * 3, [2, 2], 2)
    tree = solvers.get("exhaustive").solve(problem, Objective.of("0")).tree
    assert tree.n_splits == 2
    assert tree.prune(lambda errors, splits, leaves, own: own - errors - splits * 2).n_splits == 0
    kept = tree.prune(lambda errors, splits, leaves, own: own - errors - splits)
    assert kept.to_dict() == tree.to_dict()


def test_text_and_dot_name_every_condition():
    feature = Feature("size <= 2", ("size > 2", "size <= 2"))
    problem = Problem.coded(np.array([[0], [1]]), np.array([0, 1]), (feature,), ("big", "small"))
    tree = solvers.get("exhaustive").solve(problem, Objective.of("0.1")).tree
    assert views.to_text(tree) == "size <= 2: small (1)\nsize > 2: big (1)"
    assert '0 -> 1 [label="size > 2"];' in views.to_dot(tree)
    assert views.to_text(Tree.from_dict(tree.prune(lambda *_: 0).to_dict())) == "big (1 of 2)"


def test_children_follow_their_parents():
    tree = solved(seed=0, regularization="0")[1].tree
    splits = np.flatnonzero(tree.feature != LEAF)
    assert len(splits)
    assert all(min(tree.children(node)) > node for node in splits)


@pytest.mark.parametrize("field", ["seconds", "iterations", "memory_mib"])
@pytest.mark.parametrize("value", [-1, "1", True, float("nan")])
def test_bad_limits_are_refused(field, value):
    with pytest.raises(OptreeError, match=f"budget: {field} = "):
        Budget(**{field: value})


def test_limits_are_reached_in_turn():
    assert Budget().start().limit(10**9) is None
    assert Budget(seconds=0).start().limit(0) == "time_limit"
    assert Budget(iterations=5).start().limit(5) == "iteration_limit"
    assert Budget(iterations=5).start().limit(4) is None
    assert Budget(memory_mib=1).start().limit(0) == "memory_limit"
    here = rss_mib()
    assert Budget(memory_mib=here + 500).start().limit(0) is None
    assert Budget(memory_mib=here + 500).start().limit(0, more_mib=600) == "memory_limit"


def test_peak_memory_is_the_process_own():
    ballast = np.ones(400 * 2**17)  # 400 MiB in the parent
    code = "from optree.budget import peak_rss_mib; print(peak_rss_mib())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 5 < float(done.stdout) < 200 < peak_rss_mib() - ballast.nbytes / 2**21


def test_a_record_may_have_every_status_that_a_result_or_a_peer_may_have():
    accepted = json.loads(SCHEMA.read_text())["properties"]["status"]["enum"]
    assert set(STATUSES) < set(accepted) == set(STATUS)


def test_slices_never_pass_the_iteration_limit():
    pace = Pace(Clock(Budget(iterations=100)))
    done = 0
    while done < 100:
        done += pace.next(done)
    assert done == 100


def test_a_target_of_values_predicts_means_and_is_refused_by_solvers_of_classes():
    problem, y = make([[0], [0], [1], [1]], [0] * 4, [2], 1, [1, 3, 1, 0]), [1.0, 5.0, 2.5, 9.0]
    valued = Problem(problem.columns, Values(y), problem.weights)
    tree = Tree.grow(valued, lambda rows, state: (0, [False, False]) if state else (LEAF, []), True)
    assert tree.predict(valued.codes).tolist() == [4, 4, 2.5, 2.5]
    assert tree.loss(valued) == 9 + 3
    assert tree.loss(valued.take(np.array([0, 2]))) == 9
    with pytest.raises(OptreeError, match="solver branches: target: 'values' is not known; accepted: classes"):
        solvers.get("branches").solve(valued, Objective.of(0))


def test_real_weights_stay_floats_and_no_search_of_the_registry_takes_them():
    codes, y, weights = [[0], [1], [1]], [0, 1, 1], [0.5, 1e-200, 2**53]
    problem = make(codes, y, [2], 2, np.array(weights))
    assert problem.weights.tolist() == weights
    with refused("solver exhaustive: weights that are no whole numbers"):
        solvers.get("exhaustive").solve(problem, Objective.of("0.01"))
    assert make(codes, y, [2], 2, np.array([2.0, 0.0, 1.0])).weights.dtype == np.int64
    with refused("floats >= 0 with a finite sum > 0"):
        make(codes, y, [2], 2, np.array([np.inf, 0.5, 0.5]))


def test_all_rows_at_once_make_the_tree_of_one_node_after_the_other():
    deepest = 0
    for seed in range(200):
        problem, random = random_problem(seed), np.random.RandomState(seed)
        weights = random.randint(0, 3, len(problem.y))
        weights[0] = 1
        problem = Problem(problem.columns, problem.target, weights)

        def choose(rows, level, problem=problem, random=random):
            feature = random.randint(len(problem.features))
            is_split = level < 4 and problem.weights[rows].any()
            return (feature, [level + 1] * int(problem.n_parts[feature])) if is_split else (LEAF, [])

        tree = Tree.grow(problem, choose, 0)
        again = Tree.route(problem, tree.feature, tree.first_child)
        for name in ("feature", "first_child", "counts", "prediction"):
            assert np.array_equal(getattr(again, name), getattr(tree, name)), (seed, name)
        deepest = max(deepest, tree.depth)
    assert deepest == 4
