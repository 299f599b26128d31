"""ShapeCART: its assignments against brute force, its bins against scikit-learn's, and trees of such splits."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from sklearn.tree import DecisionTreeClassifier
from support.modes import seeds
from support.problems import make

from optree import solvers
from optree.bench.runs.record import SCHEMA
from optree.budget import Budget
from optree.columns import Feature
from optree.drawing.views import conditions, plot, to_dot, to_text
from optree.errors import OptreeError
from optree.objective import Objective
from optree.problem import Problem
from optree.solvers.base import Task
from optree.solvers.shapecart.solver import PARAMETERS, Grower
from optree.tree import LEAF, Tree

DEFAULTS = {name: parameter.default for name, parameter in PARAMETERS.items()}
ONE_LEVEL = Objective.of("0", "leaf", max_depth=1)


def numbers(seed, classes=None, rows=40, parts=7):
    """Features of several parts in order, some of them empty; rates that rise and fall; weights, some of them zero."""
    random = np.random.RandomState(seed)
    classes = classes or random.randint(2, 5)
    n, q = random.randint(2, rows), random.randint(1, 4)
    sizes = random.randint(2, parts, q)
    codes = (random.random_sample((n, q)) * sizes).astype(int)
    y = random.randint(classes, size=n) if seed % 3 else (codes.sum(axis=1) + (random.random_sample(n) < 0.2)) % classes
    weights = random.randint(0, 4, n) + (np.arange(n) == 0) if seed % 4 == 0 else None
    return make(codes, y, sizes, classes, weights)


def solve(problem, objective=ONE_LEVEL, budget=None, **options):
    return solvers.get("shapecart").solve(problem, objective, budget, **{"support": 1, **options})


def grower(problem, **options):
    scale = ONE_LEVEL.scale(problem)
    return Grower(Task(problem, ONE_LEVEL, scale, Budget().start(), None), {**DEFAULTS, "support": 1, **options})


def impurity(counts, criterion="gini"):
    n, share = counts.sum(), counts[counts > 0] / max(1, counts.sum())
    return n * (1 - (share**2).sum() if criterion == "gini" else -(share * np.log2(share)).sum() / 2)


def by_part(problem, f):
    """Weight by part and class, and rows of positive weight by part."""
    table = np.zeros((problem.n_parts[f], len(problem.classes)))
    np.add.at(table, (problem.codes[:, f], problem.y), problem.weights)
    return table, np.bincount(problem.codes[problem.weights > 0, f], minlength=len(table))


def assignments(bins, ways):
    """Yield all assignments of bins to two or more groups, each numbered by its first bin."""
    for groups in product(range(ways), repeat=bins):
        firsts = [groups.index(g) for g in range(max(groups) + 1) if g in groups]
        if len(firsts) == max(groups) + 1 > 1 and firsts == sorted(firsts):
            yield np.array(groups)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_of_two_classes_no_assignment_is_better(criterion):
    for seed in seeds(600, 15):
        problem, ways, support = numbers(seed, classes=2), 2 + seed % 3, 1 + seed % 2
        least = impurity(np.bincount(problem.y, problem.weights, 2), criterion)
        found = solve(problem, max_ways=ways, support=support, criterion=criterion).tree
        for f in range(len(problem.features)):
            table, size = by_part(problem, f)
            held = np.flatnonzero(size)
            by_number = {}
            for groups in assignments(len(held), ways):
                parts = [held[groups == g] for g in range(groups.max() + 1)]
                value = sum(impurity(table[part].sum(axis=0), criterion) for part in parts)
                few = min(size[part].sum() for part in parts) < support
                by_number.setdefault(len(parts), []).append((value, few))
            for values in by_number.values():
                best = min(value for value, _ in values)
                tied = [few for value, few in values if value < best + 1e-9]
                if not any(tied):  # the best assignments to this number of groups have enough rows in each
                    least = min(least, best)
        leaves = found.feature == LEAF
        assert sum(impurity(c, criterion) for c in found.counts[leaves]) <= least + 1e-4
        if support == 1:
            assert sum(impurity(c, criterion) for c in found.counts[leaves]) == pytest.approx(least, abs=1e-4)


@pytest.mark.slow
def test_of_more_classes_no_move_and_no_intervals_are_better():
    better = total = 0
    for seed in seeds(500, 15):
        problem, ways = numbers(seed, classes=3 + seed % 2), 2 + seed % 3
        problem = make(problem.codes[:, :1], problem.y, problem.n_parts[:1], len(problem.classes), problem.weights)
        table, size = by_part(problem, 0)
        held, tree = np.flatnonzero(size), solve(problem, max_ways=ways).tree
        if not tree.n_splits:
            continue
        places = np.array(tree.child_of_each_category(0) or range(len(table)))[held]
        value = sum(impurity(table[held[places == g]].sum(axis=0)) for g in range(places.max() + 1))
        for starts in (s for w in range(1, ways) for s in combinations(range(1, len(held)), w)):
            pieces = np.split(held, starts)
            assert value <= sum(impurity(table[piece].sum(axis=0)) for piece in pieces) + 1e-4
        for i, g in product(range(len(held)), range(places.max() + 1)):
            moved = np.where(np.arange(len(held)) == i, g, places)
            other = sum(impurity(table[held[moved == h]].sum(axis=0)) for h in range(places.max() + 1))
            assert value <= other + 1e-4
        best = min(
            sum(impurity(table[held[groups == g]].sum(axis=0)) for g in range(groups.max() + 1))
            for groups in assignments(len(held), ways)
        )
        total += 1
        better += best < value - 1e-4
    assert total > 5
    assert better <= total // 50  # a local optimum is seldom not the best


def test_bins_are_the_leaves_of_scikit_learns_tree():
    for seed in seeds(150, 10):
        random = np.random.RandomState(seed)
        rows, parts, classes = 3000, random.randint(5, 80), random.randint(2, 4)
        rate = random.random_sample((parts, classes)).cumsum(axis=1)
        codes = random.randint(parts, size=(rows, 1))
        y = (random.random_sample((rows, 1)) * rate[codes[:, 0], -1:] > rate[codes[:, 0]]).sum(axis=1)
        problem = make(codes, y, [parts], classes)
        depth, most, least = random.randint(1, 8), random.randint(2, 40), random.choice([1, 1, 50])
        options = {"inner_depth": depth, "inner_leaves": most, "inner_least": int(least)}
        search = grower(problem, **options)
        search.shape(np.arange(rows))
        work, end = search.work, len(np.unique(codes))
        model = DecisionTreeClassifier(max_depth=depth, max_leaf_nodes=most, min_samples_leaf=int(least))
        theirs = model.fit(codes, y).tree_
        found = {int(work.value[c]) for c in work.cols[1 : work.cols.tolist().index(end)]}
        assert found == {int(np.ceil(cut)) for cut in theirs.threshold[theirs.feature >= 0]}


def test_a_level_is_never_worse_than_that_of_cart():
    for seed in seeds(400, 10):
        problem, support = numbers(seed, rows=200, parts=30), 1 if seed % 2 else 1 + seed % 25
        tree = solve(problem, max_ways=2 + seed % 3, support=support, inner_least=1 if seed % 5 else support).tree
        held = problem.weights > 0
        codes, y, weights = problem.codes[held], problem.y[held], problem.weights[held]
        inner = 1 if support > 1 and seed % 5 else support  # with bins of one row, CART's cut need not be among them
        model = DecisionTreeClassifier(max_depth=1, min_samples_leaf=inner)
        leaf = model.fit(codes, y, weights).apply(codes)
        if np.bincount(leaf)[np.unique(leaf)].min() < support:
            continue
        theirs = sum(
            impurity(np.bincount(y[leaf == at], weights[leaf == at], len(problem.classes))) for at in np.unique(leaf)
        )
        assert sum(impurity(counts) for counts in tree.counts[tree.feature == LEAF]) <= theirs + 1e-3


def test_trees_keep_to_what_was_asked_for():
    for seed in seeds(200, 8):
        problem, depth, support = numbers(seed, rows=120), seed % 5, 1 + seed % 7
        objective = Objective.of("0.01", "leaf", depth, min_samples_leaf=1 + seed % 3)
        result = solve(problem, objective, support=support, max_ways=2 + seed % 2)
        assert (result.status, result.lower_bound) == ("heuristic", None)
        assert result.cost == objective.cost(result.tree, result.scale, result.tree.errors(problem))
        assert not Objective.of("0", "leaf", depth, min_samples_leaf=support).broken(result.tree, problem)
        assert not objective.broken(result.tree, problem)
        pruned = solve(problem, objective, support=support, max_ways=2 + seed % 2, prune=True)
        assert pruned.cost <= result.cost
        assert not objective.broken(pruned.tree, problem)
        for budget in (Budget(iterations=1), Budget(seconds=0)):
            stopped = solve(problem, Objective.of("0", "leaf"), budget)
            assert stopped.tree.n_splits <= (budget.iterations or 0)


def test_shapes_are_saved_read_refitted_and_told():
    told = 0
    for seed in seeds(150, 8):
        problem = numbers(seed)
        tree = solve(problem, Objective.of("0", "leaf", max_depth=3), max_ways=3).tree
        again = Tree.from_dict(tree.to_dict())
        assert again.places == tree.places
        assert np.array_equal(again.predict(problem.codes), tree.predict(problem.codes))
        assert np.array_equal(again.refit(problem).counts, tree.counts)
        assert tree.apply(np.full((1, len(problem.features)), -1))[0] == 0
        for node in np.flatnonzero(tree.feature != LEAF):
            parts = [part for child in tree.children(node) for part in tree.categories_of(node, child)]
            assert sorted(parts) == list(range(problem.n_parts[tree.feature[node]]))
            for text, child in zip(conditions(tree, node), tree.children(node), strict=True):
                assert re.findall(r"\d+", text.partition("=")[2]) == list(map(str, tree.categories_of(node, child)))
        assert len(to_text(tree).splitlines()) == max(1, tree.n_nodes - 1)
        assert to_dot(tree).count(" -> ") == tree.n_nodes - 1
        told += "leads" in tree.to_dict()
    assert told


def regimes():
    """Make a number with the class of the second child in two regimes that are not neighbours."""
    codes = np.repeat(np.arange(6), 30)[:, None]
    labels = ("x <= 1", "1 < x <= 2", "2 < x <= 3", "3 < x <= 4", "4 < x <= 5", "x > 5")
    return Problem.coded(codes, np.isin(codes[:, 0], (1, 2, 4)).astype(int), (Feature("x", labels),), ("low", "high"))


def test_an_edge_tells_all_its_intervals():
    tree = solve(regimes()).tree
    assert (tree.n_splits, tree.n_leaves, tree.errors(regimes())) == (1, 2, 0)
    assert to_text(tree).splitlines() == [
        "x <= 1, in (3, 4], > 5: low (90)",
        "x in (1, 3], in (4, 5]: high (90)",
    ]
    assert tree.to_dict()["starts"] == [[1, 3, 4, 5], [], []]
    assert tree.to_dict()["leads"] == [[0, 1, 0, 1, 0], [], []]
    drawn = [text.get_text() for text in plot(tree).texts]
    assert "<= 1, in (3, 4], > 5" in drawn
    assert tree.decisions() == (1.0, 1.0)
    accepted = Draft202012Validator(json.loads(SCHEMA.read_text())["properties"]["tree"]).is_valid
    assert accepted(tree.to_dict())
    assert not accepted({**tree.to_dict(), "leads": [[0, -1, 0, 1, 0], [], []]})


def test_sibling_leaves_of_one_class_are_drawn_as_one():
    problem = regimes()
    y = np.where((problem.codes[:, 0] == 1) & (np.arange(180) % 3 > 0), 1, 0)  # most of one bin, few of the others'
    y[problem.codes[:, 0] == 1] &= np.arange(30) % 2
    tree = solve(replace(problem, target=replace(problem.target, y=y)), Objective.of("0", "leaf", max_depth=1)).tree
    assert tree.n_leaves == 2
    assert set(tree.prediction) == {0}
    texts = [text.get_text() for text in plot(tree).texts]
    assert [text for text in texts if text in ("any", "x") or " of " in text] == ["170 of 180", "any", "x"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_ways": 1}, "solver shapecart: max_ways = 1 is not accepted; give >= 2"),
        ({"support": 0}, "solver shapecart: support = 0 is not accepted; give >= 1"),
        ({"criterion": "mse"}, "solver shapecart: criterion: 'mse' is not known; accepted: gini, entropy"),
    ],
)
def test_what_is_not_accepted_is_named(parameters, message):
    with pytest.raises(OptreeError, match=message):
        solve(numbers(0), **parameters)
