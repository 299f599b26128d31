"""SPLIT and LicketySPLIT, of two ways and of more: against the oracle, brute force over intervals, and each other."""

from __future__ import annotations

from collections import OrderedDict
from functools import cache
from itertools import combinations, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from support.lickety_naive import OneByOne
from support.lookahead_problems import binary, intervals, lickety_problem, search_for, solve
from support.modes import COMPILED, compiled_only, seeds
from support.objectives import REGULARIZATIONS
from support.problems import make, noise, random_problem

from optree import solvers
from optree.errors import OptreeError
from optree.objective import Objective
from optree.solvers.kernels.interval_partitions import CRITERIA
from optree.solvers.kernels.jit.direct_call import direct
from optree.solvers.split import build_tree as kernel
from optree.solvers.split import family as lookahead
from optree.solvers.split.family import Search
from optree.solvers.split.plans import Plan, collapse, grow_tree
from optree.tree import LEAF

LAMBDAS = ("0.01", "0.05", "0.125", "0", "0.001", "0.333333333333")
EXACT = {"generator": "all", "max_ways": 4}


def best_cost(problem, objective, ways, repeat=True):
    """Return the least cost of a tree of splits into intervals, by brute force."""
    scale, limits = objective.scale(problem), [ways] * 9 if isinstance(ways, int) else ways

    @cache
    def value(rows, depth, used, level):
        index = np.array(rows)
        losses = problem.losses(index).sum(axis=0)
        best = scale.error * int(losses.min()) + scale.penalty
        if depth == 0:
            return best
        for f in range(len(problem.features)):
            present = sorted(set(problem.codes[index, f].tolist()))
            if f in used:
                continue
            for number in range(2, min(limits[level], len(present)) + 1):
                for starts in combinations(present[1:], number - 1):
                    place = np.searchsorted(starts, problem.codes[index, f], "right")
                    after = used if repeat else used | {f}
                    parts = (tuple(index[place == i].tolist()) for i in range(number))
                    best = min(best, sum(value(part, depth - 1, after, level + 1) for part in parts))
        return best

    return value(tuple(range(len(problem.y))), objective.max_depth, frozenset(), 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["split", "licketysplit"])
def test_a_minimum_of_rows_in_a_leaf_is_obeyed_and_exact_with_full_lookahead(name):
    """Rows of no weight do not count, and heavy rows count once."""
    solver, found = solvers.get(name), 0
    options = [{}, {"two_levels": "frontier"}, {"criterion": "gini", "collapse": True}, {"cuts": "near_optimal"}]
    for seed in seeds(200, 10):
        random, depth = np.random.RandomState(seed), 1 + seed % 4
        problem = random_problem(seed)
        weights = random.randint(0, 4, len(problem.y)) + (np.arange(len(problem.y)) == 0) if seed % 3 == 0 else None
        binary = [2] * len(problem.features)
        problem = make(problem.codes.clip(max=1), problem.y, binary, len(problem.classes), weights)
        penalty = ("leaf", "split")[seed // 2 % 2]
        objective = Objective.of(REGULARIZATIONS[seed % 11], penalty, max_depth=depth, min_samples_leaf=2 + seed % 5)
        best = solvers.get("exhaustive").solve(problem, objective).cost
        for levels in {1, 2, depth}:
            for own in [*options, *[{"polish": True}] * (name == "split")]:
                result = solver.solve(problem, objective, lookahead=levels, **own)
                assert not objective.broken(result.tree, problem)
                assert result.cost >= best
                if result.status == "optimal" or (name == "split" and levels == depth and "cuts" not in own):
                    assert result.cost == best
                found += result.tree.n_splits > 0
    assert found


@pytest.mark.slow
@pytest.mark.parametrize("two_levels", ["never", "lookahead", "frontier"])
def test_as_much_lookahead_as_levels_is_the_optimum(two_levels):
    for seed in seeds(600, 25):
        problem, depth = binary(seed), 1 + seed % 4
        objective = Objective.of(LAMBDAS[seed % len(LAMBDAS)], ("leaf", "split")[seed % 2], max_depth=depth)
        optimum = solvers.get("exhaustive").solve(problem, objective)
        result = solve("split", problem, objective, lookahead=depth, two_levels=two_levels)
        assert result.cost == result.lower_bound == optimum.cost
        assert result.status == "optimal"
        again = solve("split", problem, objective, lookahead=depth, two_levels=two_levels, deepening=False)
        assert again.cost == again.lower_bound == optimum.cost
        polished = solve("split", problem, objective, lookahead=1, two_levels=two_levels, polish=True)
        assert optimum.cost <= polished.cost <= solve("split", problem, objective, lookahead=1).cost
        lickety = solve("licketysplit", problem, objective, lookahead=depth, two_levels=two_levels)
        assert lickety.cost == optimum.cost
        assert solve(
            "multisplit", problem, Objective.of(objective.regularization, "leaf", depth), lookahead=depth, **EXACT
        )


def test_it_agrees_with_the_exact_search_on_larger_problems():
    for seed in seeds(12, 1):
        random = np.random.RandomState(seed)
        codes = random.randint(2, size=(400, 12))
        y = np.where(random.random_sample(400) < 0.1, random.randint(3, size=400), codes[:, :4].sum(axis=1) % 3)
        problem = make(codes, y, [2] * 12, 3)
        objective = Objective.of("0.004", "leaf", max_depth=4)
        exact = solvers.get("murtree").solve(problem, objective)
        assert solve("split", problem, objective, lookahead=4).cost == exact.cost


@pytest.mark.slow
@pytest.mark.parametrize("ways", [2, 3, 5])
@pytest.mark.parametrize("two_levels", ["never", "lookahead"])
def test_splits_into_intervals_against_brute_force(ways, two_levels):
    for seed in seeds(250, 12):
        problem, depth, repeat = intervals(seed), 1 + seed % 3, seed % 5 > 0
        objective = Objective.of(LAMBDAS[seed % len(LAMBDAS)], "leaf", max_depth=depth)
        options = {"max_ways": ways, "generator": "all", "two_levels": two_levels, "repeat": repeat}
        least = best_cost(problem, objective, ways, repeat)
        assert solve("multisplit", problem, objective, lookahead=depth, **options).cost == least
        assert solve("licketymultisplit", problem, objective, lookahead=depth, **options).cost == least


def exact_costs(monkeypatch, problem, objective, complete, **options):
    """Return the cost and the iterations of a search over all trees of intervals, with or without similar supports."""
    rules_of = lookahead.rules_of
    with monkeypatch.context() as patch:
        if not complete:
            patch.setattr(lookahead, "rules_of", lambda *given: rules_of(*given)._replace(complete=False))
        found = solve("multisplit", problem, objective, lookahead=objective.max_depth, deepening=False, **options)
    return found.cost, found.counters["iterations"]


@compiled_only
@pytest.mark.slow
def test_similar_supports_save_visits_and_keep_the_optimum(monkeypatch):
    """Of weighted rows with ties; two levels may be left to stumps, and ways may be fewer below."""
    visits = np.zeros(2, int)
    for seed in seeds(300, 12):
        random = np.random.RandomState(seed)
        n, q, classes, parts = random.randint(20, 200), random.randint(1, 7), random.randint(2, 5), random.randint(3, 8)
        codes = random.randint(parts, size=(n, q))
        y = np.where(random.rand(n) < 0.2, random.randint(classes, size=n), codes.sum(axis=1) % classes)
        problem = make(codes, y, [parts] * q, classes, random.randint(0, 9, n) if seed % 2 else None)
        objective = Objective.of(LAMBDAS[seed % len(LAMBDAS)], "leaf", max_depth=3 + seed % 2)
        options = {
            **{
                "generator": "all",
                "max_ways": 2 + seed % 3,
                "two_levels": ("never", "lookahead", "frontier")[seed % 3],
            },
            **({"two_way_from": 1} if seed % 7 == 0 else {}),
        }
        on, off = (exact_costs(monkeypatch, problem, objective, complete, **options) for complete in (True, False))
        assert on[0] == off[0]
        visits += on[1], off[1]
    assert visits[0] < visits[1] * 0.9


@pytest.mark.skipif(not COMPILED, reason="many searches")
def test_similar_supports_do_not_bound_each_other_with_beams():
    """A similar support has other candidates: one row may change the value by more than one."""

    def breaks_bound(seed):
        random = np.random.RandomState(seed)
        codes, y = random.randint(4, size=(24, 3)), random.randint(2, size=24)
        objective, options = Objective.of("0", "leaf", max_depth=2), {"max_ways": 3, "beam": [1, 1], "lookahead": 1}
        less, more = (
            solve(
                "multisplit", make(codes[first:], y[first:], [4] * 3, 2), objective, two_levels="never", **options
            ).cost
            for first in (1, 0)
        )
        return not less <= more <= less + 1

    assert any(map(breaks_bound, range(100)))


def test_many_ways_first_and_two_later():
    for seed in seeds(120, 8):
        problem, level = intervals(seed), seed % 3
        objective = Objective.of(LAMBDAS[seed % len(LAMBDAS)], "leaf", max_depth=2)
        least = best_cost(problem, objective, [5 if at < level else 2 for at in range(3)])
        for two_levels in ("never", "lookahead"):
            options = {"max_ways": 5, "generator": "all", "two_levels": two_levels, "two_way_from": level}
            assert solve("multisplit", problem, objective, lookahead=2, **options).cost == least


@pytest.mark.slow
def test_more_ways_are_never_worse():
    """With more ways every earlier candidate is left, of greedy splits too, so no value is greater."""
    for seed in seeds(300, 15):
        problem, depth = intervals(seed), 1 + seed % 4
        objective = Objective.of(LAMBDAS[seed % len(LAMBDAS)], "leaf", max_depth=depth)
        options = {
            "lookahead": seed % (depth + 1),
            "generator": ("all", "midpoints", "cart")[seed % 3],
            "two_levels": ("never", "lookahead", "frontier")[seed // 3 % 3],
        }
        two = solve("multisplit", problem, objective, max_ways=2, **options)
        for ways in (3, 5):
            assert solve("multisplit", problem, objective, max_ways=ways, **options).cost <= two.cost


def impurity(counts, criterion):
    n, share = counts.sum(), counts[counts > 0] / counts.sum()
    return n * (1 - (share**2).sum() if criterion == "gini" else -(share * np.log2(share)).sum() / 2)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_program_over_bins_finds_the_least_impurity(criterion):
    """A greedy split of one feature, with leaves for free: the beam's first partition is the best of all."""
    tested = 0
    for seed in seeds(200, 10):
        random = np.random.RandomState(seed)
        n, parts, classes = random.randint(4, 60), random.randint(3, 8), random.randint(2, 4)
        codes = random.randint(parts, size=(n, 1))
        codes[:2] = [[0], [parts - 1]]
        problem = make(codes, random.randint(classes, size=n), [parts], classes)
        options = {"criterion": criterion, "max_ways": 4, "two_levels": "never"}
        search = search_for("multisplit", problem, Objective.of("0", "leaf", max_depth=2), recursive=False, **options)
        if search is None:
            continue
        twin = OneByOne(search)
        twin.ask(twin.root, 2, 1)
        work, present = search.work, np.unique(codes)
        least = {
            w: min(
                sum(
                    impurity(
                        np.bincount(problem.y[np.searchsorted(starts, codes[:, 0], "right") == i], minlength=classes),
                        criterion,
                    )
                    for i in range(w)
                )
                for starts in combinations(present[1:], w - 1)
            )
            for w in range(2, min(4, len(present)) + 1)
        }
        found = {}
        for ways, score in zip(work.candidate[0]["children"].tolist(), work.score[0], strict=True):
            if ways:
                found[ways] = min(found.get(ways, np.inf), score)
        for w, score in found.items():
            assert score == pytest.approx(least[w], abs=1e-4)
        tested += bool(found)
    assert tested > len(seeds(200, 10)) // 2  # the others are solved with one level


def draw_plan(problem, random, depth):
    f = random.randint(len(problem.features))
    parts = len(problem.features[f].labels)
    if depth == 0 or random.randint(4) == 0:
        return Plan()
    starts = tuple(sorted(random.choice(np.arange(1, parts), random.randint(1, parts), replace=False).tolist()))
    return Plan(f, starts, tuple(draw_plan(problem, random, depth - 1) for _ in range(len(starts) + 1)))


def every_split(plan):
    return [plan, *(node for child in plan.below for node in every_split(child))] if plan.below else []


def test_collapsing_keeps_predictions_and_saves_leaves():
    joined = 0
    for seed in seeds(400, 10):
        problem = intervals(seed)
        random = np.random.RandomState(seed)
        plan = draw_plan(problem, random, 3)
        less = collapse(problem, plan, 5)
        before, after = grow_tree(problem, plan), grow_tree(problem, less)
        for node in every_split(less):
            assert 2 <= len(node.below) <= max(5, *(len(other.below) for other in every_split(plan)))
            assert all(one != other for one, other in pairwise(node.below))
        assert collapse(problem, less, 5) == less
        joined += after.n_leaves < before.n_leaves
        assert np.array_equal(before.predict(problem.codes), after.predict(problem.codes))
        assert after.n_leaves <= before.n_leaves
        assert after.depth <= before.depth
    assert joined


def test_equal_neighbouring_subtrees_become_one():
    """Both children of the root split the second feature in the same way, so the first feature is of no use."""
    codes = np.array([[a, b] for a in range(3) for b in range(3)] * 2)
    problem = make(codes, (codes[:, 1] == 1).astype(int), [3, 3], 2)
    regimes = Plan(1, (1, 2), (Plan(), Plan(), Plan()))
    plan = Plan(0, (1,), (regimes, regimes))
    assert grow_tree(problem, plan).n_leaves == 6
    less = grow_tree(problem, collapse(problem, plan, 3))
    assert (less.n_leaves, less.depth, less.n_splits) == (3, 1, 1)
    assert np.array_equal(less.predict(problem.codes), problem.y)


def test_half_of_the_levels_is_rounded_up_or_down():
    for seed in range(8 if COMPILED else 2):
        problem, objective = intervals(seed), Objective.of("0.01", "leaf", max_depth=3)
        for name, given, levels in (("multisplit", -1, 2), ("multisplit", -2, 1)):
            one, two = (solve(name, problem, objective, lookahead=value) for value in (given, levels))
            assert one.counters == two.counters
            assert one.tree.to_dict() == two.tree.to_dict()


@pytest.mark.parametrize("name", ["split", "licketysplit", "multisplit", "licketymultisplit"])
def test_fewer_cuts_and_guessed_bounds_give_feasible_trees(name):
    for seed in range(6 if COMPILED else 1):
        problem = intervals(seed) if "multi" in name else binary(seed)
        objective = Objective.of("0.02", "leaf", max_depth=3)
        best = solvers.get("multisplit").solve(problem, objective, lookahead=3, generator="all")
        for options in (
            {"cuts": "boosting"},
            {"cuts": "near_optimal"},
            {"cuts": "rashomon"},
            {"reference": True},
            {"most_candidates": 2},
        ):
            result = solve(name, problem, objective, **options)
            assert result.cost >= best.cost
            if best.counters["cuts"]:  # else a leaf is proven optimal
                assert (result.status, result.lower_bound) == ("heuristic", None)


def test_interval_splits_are_saved_read_and_refitted():
    trees = []
    for problem in map(intervals, range(20)):
        tree = solve("multisplit", problem, Objective.of("0", "leaf", max_depth=2), **EXACT).tree
        trees += [(problem, tree)] if tree.places else []
    problem, tree = trees[0]
    again = type(tree).from_dict(tree.to_dict())
    assert np.array_equal(again.predict(problem.codes), tree.predict(problem.codes))
    assert np.array_equal(again.refit(problem).counts, tree.counts)
    for node in np.flatnonzero(tree.feature != LEAF):
        parts = [part for child in tree.children(node) for part in tree.categories_of(node, child)]
        assert parts == list(range(problem.n_parts[tree.feature[node]]))
    unknown = np.full((1, len(problem.features)), -1)
    assert tree.apply(unknown)[0] == 0


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("split", {"criterion": "ginni"}, "solver split: criterion: 'ginni' is not known; accepted: gini, entropy"),
        ("licketysplit", {"lookahead": 0}, "solver licketysplit: lookahead = 0 is not accepted; give >= 1"),
        ("multisplit", {"max_ways": 1}, "solver multisplit: max_ways = 1 is not accepted; give >= 2"),
        ("multisplit", {"beam": [0]}, r"solver multisplit: beam = \[0\] is not accepted; give whole numbers >= 1"),
        (
            "split",
            {"cuts": "some"},
            "solver split: cuts: 'some' is not known; accepted: all, boosting, near_optimal, rashomon",
        ),
    ],
)
def test_what_is_not_accepted_is_named(name, parameters, message):
    with pytest.raises(OptreeError, match=message):
        solvers.get(name).solve(binary(0), Objective.of("0.1", "leaf", max_depth=2), **parameters)


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="compiled once")
def test_a_kernel_that_is_called_directly_is_always_given_the_same_types(monkeypatch):
    """The dispatcher looks at them here, and would compile another version."""
    solve("split", binary(1), Objective.of("0.1", "leaf", max_depth=2))
    assert direct(kernel.search_binary) is not kernel.search_binary
    monkeypatch.setattr(lookahead, "direct", lambda search: search)
    for seed in range(12):
        for options in (
            {},
            {"cuts": "boosting"},
            {"cuts": "near_optimal"},
            {"cuts": "rashomon"},
            {"reference": True},
            {"collapse": True},
        ):
            for name in ("split", "licketysplit", "multisplit", "licketymultisplit"):
                problem = intervals(seed) if "multi" in name else lickety_problem(seed)
                solve(name, problem, Objective.of(LAMBDAS[seed % 6], "leaf", max_depth=4), **options)
    assert len(kernel.search.signatures) == len(kernel.search_binary.signatures) == 1


def test_of_several_versions_the_dispatcher_chooses():
    for number in (0, 2):
        several = SimpleNamespace(overloads=OrderedDict.fromkeys(range(number)))
        assert direct(several) is several
    assert direct(len) is len


@pytest.mark.parametrize("name", ["split", "licketysplit"])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_interrupt_leaves_a_tree(name, after, monkeypatch):
    """Ctrl-C arrives when the kernel has returned, between two slices of work; before the first it is an exception."""
    called, call = [], Search._call

    def interrupted(self, iterations):
        called.append(iterations)
        if len(called) == after + 1:
            raise KeyboardInterrupt
        return call(self, min(iterations, 20))

    monkeypatch.setattr(Search, "_call", interrupted)
    problem, objective = noise(300, 20), Objective.of("0.001", "leaf", max_depth=6)
    if not after:
        with pytest.raises(KeyboardInterrupt):
            solve(name, problem, objective)
        return
    result = solve(name, problem, objective)
    assert result.status == "interrupted"
    assert called[-1] == kernel.CLOSE
