"""LicketySPLIT's trees, and SPLIT's beside them: no worse than the paper's and its authors' package's."""

from __future__ import annotations

import numpy as np
import pytest
from support.lickety_naive import Naive, OneByOne
from support.lookahead_problems import intervals, lickety_problem, search_for, solve
from support.modes import COMPILED, seeds
from support.problems import make

from optree.objective import Objective
from optree.solvers.kernels.interval_partitions import logs_of
from optree.solvers.split import family as lookahead
from optree.solvers.split.memory import new_memo
from optree.solvers.split.plans import grow_tree
from optree.solvers.split.state import LICKETY, READ
from optree.solvers.split.threshold_columns import unavoidable


@pytest.mark.slow
def test_licketysplit_is_no_worse_than_the_paper_s_and_the_greedy_tree():
    """Proven in `build_tree.py`; where no splits are equal, both follow the same splits."""
    better = 0
    for seed in seeds(400, 6):
        problem, depth = lickety_problem(seed), 1 + seed % 6
        objective = Objective.of(("0.02", "0.01", "0.005", "0.002", "0.001")[seed % 5], "leaf", max_depth=depth)
        naive = Naive(problem, objective.scale(problem), logs_of(problem))
        rows, cost = np.arange(len(problem.y)), solve("licketysplit", problem, objective).cost
        paper = naive.lickety(rows, depth)
        assert cost <= paper <= naive.greedy(rows, depth)
        assert cost == paper or depth > 2
        better += cost < paper
    assert better < len(seeds(400, 6)) // 3


@pytest.mark.slow
@pytest.mark.parametrize("look", [2, 3])
def test_licketysplit_with_more_levels_is_no_worse_than_its_authors_package(look):
    """Which values the parts of a split by trees with one level of lookahead less, and these with one less again."""
    better = same = 0
    for seed in seeds(60, 3):
        problem, depth = lickety_problem(seed), 3 + seed % 3
        objective = Objective.of(("0.02", "0.01", "0.005", "0.002", "0.001")[seed % 5], "leaf", max_depth=depth)
        naive = Naive(problem, objective.scale(problem), logs_of(problem))
        theirs = naive.lickety(np.arange(len(problem.y)), depth, look)
        cost = solve("licketysplit", problem, objective, lookahead=look).cost
        assert cost <= theirs
        better, same = better + (cost < theirs), same + (cost == theirs)
    assert same > 2 * better


def test_split_is_no_worse_than_licketysplit_nor_than_without_it():
    won = 0
    for seed in seeds(300, 8):
        problem, depth = lickety_problem(seed), 4 + seed % 2
        objective = Objective.of(("0.01", "0.005", "0.002")[seed % 3], "leaf", max_depth=depth)
        options = {"polish": seed % 2 == 0, "lookahead": (-1, 1, 2)[seed % 3]}
        greedy = {"criterion": ("entropy", "gini")[seed // 2 % 2]}
        options |= greedy
        cost = solve("split", problem, objective, **options).cost
        levels = (depth + 1) // 2 if options["lookahead"] < 0 else options["lookahead"]
        lickety = solve("licketysplit", problem, objective, lookahead=levels, **greedy).cost
        alone = solve("split", problem, objective, lickety=False, **options).cost
        assert cost == min(alone, lickety)
        won += lickety < alone
    assert won or not COMPILED


def test_what_is_known_of_split_s_own_nodes_from_licketysplit_s_tree():
    """Bounds on the values of nodes in SPLIT's own tree agree with a search for these values."""
    known = closed = 0
    for seed in seeds(200, 8):
        problem, depth, look = lickety_problem(seed), 3 + seed % 3, 1 + seed // 3 % 3
        objective = Objective.of(("0.02", "0.01", "0.005", "0.002", "0")[seed % 5], "leaf", max_depth=depth)
        greedy = {"criterion": ("entropy", "gini")[seed % 2]}
        search = search_for("split", problem, objective, recursive=False, **greedy)
        if search is None:
            continue
        search.find_trees(depth, look, LICKETY)
        other = search_for("split", problem, objective, recursive=False, lickety=False, **greedy)
        other.find_trees(depth, look, READ)
        values = dict(memo_of(other))
        for key, (lower, upper, split) in memo_of(search):
            assert lower <= upper
            least, most, same = values.get(key, (lower, upper, split))
            assert lower <= most
            assert least <= upper
            known += key in values
            if key in values and lower == upper == least == most:
                assert split == same or (look > 1 and key[1] % 256)  # with more lookahead there are ties
                closed += 1
    assert closed > known // 4 > 0


def memo_of(search):
    """Return the key, the bounds and the split of each node in the memo."""
    memo = search.memo
    for entry, split in zip(memo.entry[: memo.used[0]], memo.split.tolist(), strict=False):
        key, bounds = entry[["hash", "key"]], entry[["lower", "upper"]]
        yield key.item(), (*bounds.item(), split[1 : split[0]])


@pytest.mark.parametrize("name", ["split", "licketysplit", "multisplit", "licketymultisplit"])
def test_what_every_tree_loses_spares_work_and_changes_no_tree(name, monkeypatch):
    spared = 0
    for seed in seeds(200, 6):
        problem = (intervals if "multi" in name else lickety_problem)(seed)
        objective = Objective.of(("0.02", "0.01", "0.005", "0.002")[seed % 4], "leaf", max_depth=2 + seed % 4)
        search = search_for(name, problem, objective, recursive="lickety" in name)
        if search is not None:
            weights = problem.groups.weights
            lost = np.bitwise_count(unavoidable(search.data)) @ search.data.weight
            assert lost == (weights.sum(axis=1) - weights.max(axis=1)).sum()
        results = []
        for long in (0, 10**9):
            monkeypatch.setattr(lookahead, "_LONG", long)
            results.append(solve(name, problem, objective, lookahead=1 + seed // 4 % 2))
        assert results[0].tree.to_dict() == results[1].tree.to_dict()
        spared += results[1].counters["iterations"] - results[0].counters["iterations"]
    assert spared > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "parameters"),
    [
        ("licketysplit", 1200, {}),
        ("licketysplit", 400, {"criterion": "gini", "two_levels": "frontier"}),
        ("licketymultisplit", 300, {"max_ways": 3, "repeat": False}),
        ("licketymultisplit", 100, {"generator": "all", "two_levels": "never"}),
    ],
)
def test_one_call_finds_the_tree_of_searches_one_by_one(name, count, parameters):
    again = 0
    for seed in seeds(count, 12):
        problem = (intervals if "multi" in name else lickety_problem)(seed)
        depth, look = min(2 + seed % 5, len(problem.y) - 1), 1 + seed // 5 % 2
        objective = Objective.of(("0.02", "0.01", "0.005", "0.002", "0")[seed % 5], "leaf", max_depth=depth)
        search = search_for(name, problem, objective, **parameters)
        if search is None:
            continue
        search.find_trees(depth, look, LICKETY)
        twin = OneByOne(search_for(name, problem, objective, **parameters))
        assert search.plans() == [twin.plan(twin.root, depth, look)]
        again += twin.best(twin.root, depth, look)[2]
    assert again > len(seeds(count, 12)) // 10


def test_slices_of_any_size_find_the_same_tree():
    """The kernel returns and goes on wherever it is, and where the memo has to grow."""
    for seed in seeds(60, 4):
        problem, depth = lickety_problem(seed), 3 + seed % 4
        objective = Objective.of("0.002", "leaf", max_depth=depth)
        for look in (1, 2):
            search = search_for("licketysplit", problem, objective)
            if search is None:
                continue
            search.find_trees(depth, look, LICKETY)
            sliced = search_for("licketysplit", problem, objective)
            sliced.memo, step = new_memo(sliced.data, sliced.rules, 8), sliced.step
            sliced.step = lambda _, number, step=step: step(1, number)
            sliced.find_trees(depth, look, LICKETY)
            assert sliced.plans() == search.plans()
            assert sliced.iterations == search.iterations


def test_both_trees_of_split_in_slices_or_until_memory_ends(monkeypatch):
    """A full memo still has room for the nodes on the stack; without compilation an index error would show it."""
    for seed in seeds(30, 2):
        problem, depth, look = lickety_problem(seed), 4 + seed % 2, 1 + seed // 2 % 2
        objective = Objective.of("0.002", "leaf", max_depth=depth)
        search = search_for("split", problem, objective, recursive=False)
        if search is None:
            continue
        search.find_trees(depth, look, LICKETY, own=True)
        for entries in (0, *range(40, 100)):
            sliced = search_for("split", problem, objective, recursive=False)
            sliced.memo = new_memo(sliced.data, sliced.rules, 128 if entries else 8)
            if entries:
                sliced.memo = sliced.memo._replace(entry=sliced.memo.entry[:entries])
                monkeypatch.setattr(sliced.clock, "limit", lambda _, more=0: "memory_limit" if more else None)
            size, step = 100 if entries else 1, sliced.step
            sliced.step = lambda _, number, size=size, step=step: step(size, number)
            sliced.find_trees(depth, look, LICKETY, own=True)
            if not entries:
                assert (sliced.plans(), sliced.iterations) == (search.plans(), search.iterations)
            assert sliced.memo.used[0] <= len(sliced.memo.entry)
            assert not any(objective.broken(grow_tree(problem, plan), problem) for plan in sliced.plans())


@pytest.mark.parametrize("name", ["licketysplit", "licketymultisplit"])
def test_rows_that_nothing_parts_are_a_leaf(name):
    """Equal rows of several classes, below a split and at once, with levels left."""
    codes = np.repeat([[0, 0, 1], [1, 0, 1]], 20, axis=0)
    parts, y = ([2] * 3 if name == "licketysplit" else [2, 3, 4]), np.tile([0, 1, 1, 2], 10)
    for rows, leaves in ((slice(0, 20), 1), (slice(0, 40), 2)):
        labels = np.where(codes[:, 0], y, np.arange(40) % 2 * 2)[rows]
        result = solve(name, make(codes[rows], labels, parts, 3), Objective.of("0.001", "leaf", max_depth=5))
        assert result.tree.n_leaves == leaves
