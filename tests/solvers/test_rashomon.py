"""Rashomon sets against plain enumeration: counts, members, ranks, votes, shares, filters and limits."""

from __future__ import annotations

import itertools
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.modes import compiled_only, seeds
from support.problems import make, noise, random_problem
from support.rashomon_naive import Naive
from support.real_data import embedded
from support.refusal import refused

from optree import solvers
from optree.budget import Budget, Clock, rss_mib
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.solvers import driver, stages
from optree.solvers.engine import search as engine
from optree.solvers.kernels.codes import COMPLETE, PAUSED
from optree.solvers.murtree.fast.search import Search as DepthLimited
from optree.solvers.rashomon import counts as rashomon_counts
from optree.solvers.rashomon import exact
from optree.solvers.rashomon import search as rashomon
from optree.solvers.rashomon.graph import HALT, PASS, PLACE
from optree.solvers.rashomon.search import Search
from optree.solvers.rashomon.trees import Trees
from optree.solvers.rashomon.units import Units
from optree.solvers.rashomon.votes import Votes
from optree.solvers.team import Team

SOLVER = solvers.get("rashomon")
BOUNDS = [{"multiplier": "0.05"}, {"multiplier": "0.3"}, {"multiplier": "1"}, {"adder": "0.06"}, {"bound": "0.35"}]


def draw(seed: int) -> tuple[Problem, Objective, dict]:
    """Return a random problem of up to five features, an objective and a bound."""
    random = np.random.RandomState(seed)
    problem = random_problem(seed)
    problem = make(problem.codes[:, :5], problem.y, problem.n_parts[:5], len(problem.classes), problem.weights)
    if random.randint(3) == 0:
        problem = Problem(
            problem.columns, problem.target, random.randint(0, 4, len(problem.y)) + (problem.y == problem.y[0])
        )
    depth, rows = random.choice([None, 1, 2, 3]), int(random.choice([1, 1, 1, 2, 3]))
    decimal = random.choice(["0.02", "0.05", "0.1", "0.03", "0.0312345678901", "0.07071067811865476"]).item()
    wanted = Objective.of(decimal, random.choice(["split", "leaf"]).item(), max_depth=depth, min_samples_leaf=rows)
    return problem, wanted, BOUNDS[random.randint(len(BOUNDS))]


def solve(problem: Problem, wanted: Objective, budget: Budget | None = None, **bound) -> Search:
    """Return the search of the solver."""
    return SOLVER.solve(problem, wanted, budget, **bound).found


def histogram(search: Search) -> dict[int, int]:
    """Return the number of trees by cost."""
    return {} if search.trees is None else search.histogram


def as_features(search: Search, tree):
    """Return a subtree of the graph as the nested tuple of :class:`Naive`."""
    if tree is None:
        return None
    feature = search.copies[tree.feature][tree.copy]
    places = search.children[feature].tolist()
    return feature, *(as_features(search, tree.children[place]) if place >= 0 else None for place in places)


def check_counts(seed: int, trivial: bool = True) -> int:
    """Check bound and histogram; return the number of trees. ``trivial``: see `Naive`."""
    problem, wanted, bound = draw(seed)
    search, naive = solve(problem, wanted, **bound, trivial_extensions=trivial), Naive(problem, wanted, trivial)
    (name, value), unit = next(iter(bound.items())), problem.total_weight * naive.scale.row
    most = {
        "multiplier": (1 + Fraction(value)) * search.optimum,
        "adder": search.optimum + Fraction(value) * unit,
        "bound": Fraction(value) * unit,
    }[name]
    assert search.certified == search.bound == most.__floor__()
    found = naive.histogram(search.bound)
    assert histogram(search) == found, seed
    if found:
        assert min(found) == search.optimum
    return sum(found.values())


def check_members(seed: int, most: int, trivial: bool = True) -> int:
    """Check each tree of a set of at most ``most`` trees, its rank, and all sums over the set; return their number."""
    problem, wanted, bound = draw(seed)
    search = solve(problem, wanted, **bound, trivial_extensions=trivial)
    if search.trees is None or search.trees.total > most:
        return 0
    random, naive, trees = np.random.RandomState(seed), Naive(problem, wanted, trivial), search.trees
    expected = naive.trees(search.bound)
    listed = [trees.tree(rank) for rank in range(trees.total)]
    named = [as_features(search, tree) for tree in listed]
    assert dict.fromkeys(named, 0).keys() == expected.keys()
    assert [expected[tree] for tree in named] == sorted(expected.values())
    assert [trees.rank(tree) for tree in listed] == list(range(len(listed)))
    check_sums(search, trees, named, naive)
    forbidden, needed, also = random.randint(len(problem.features), size=3).tolist()
    depth, required = int(random.randint(4)), [{needed}, {also}][: random.randint(3)]
    groups = [
        [-1 if j == forbidden else sum(1 << i for i, own in enumerate(required) if j in own) for j in copies]
        for copies in search.copies
    ]
    some = Trees(trees.graph, trees.terms, trees.most, groups, len(required), depth, trivial=trivial)
    kept = [
        i
        for i, tree in enumerate(named)
        if naive.levels(tree) <= depth
        and forbidden not in naive.used(tree)
        and all(own & {*naive.used(tree)} for own in required)
    ]
    found = [some.tree(rank) for rank in range(some.total)]
    assert {as_features(search, tree) for tree in found} == {named[i] for i in kept}
    assert [some.rank(tree) for tree in found] == list(range(len(kept)))
    assert sum(some.rank(tree) is not None for tree in listed) == len(kept)
    if not trivial:
        every = solve(problem, wanted, **bound).trees
        known = {*listed} if every.total <= 2 * most else None
        for tree in (every.tree(rank) for rank in range(every.total if known is not None else 0)):
            assert (trees.rank(tree) is None) == (tree not in known)
    check_sums(search, some, [named[i] for i in kept], naive)
    return len(listed)


def check_sums(search: Search, trees: Trees, named: list, naive: Naive) -> None:
    """Check the splits of each feature, and the votes for rows of any codes."""
    splits, edges = Counter(feature for tree in named for feature in naive.used(tree)), Counter()
    for f, numbers in zip(trees.graph.edge["feature"].tolist(), trees.through()[1], strict=True):
        edges.update({search.copies[f][copy]: number for copy, number in enumerate(numbers) if number})
    assert edges == splits
    problem, random = naive.problem, np.random.RandomState(0)
    codes = random.randint(-2, 3, (4, len(problem.features))).clip(max=problem.n_parts - 1)
    codes = np.vstack([codes, problem.codes[naive.rows[:4]]])
    votes = np.zeros((len(codes), len(problem.classes)), int)
    for tree in named:
        votes[np.arange(len(codes)), naive.predict(tree, codes)] += 1
    assert np.array_equal(Votes(search, trees).of(codes), votes)


def test_counts_are_those_of_all_trees():
    assert sum(check_counts(seed) for seed in seeds(60, 6)) > 0


@pytest.mark.slow
def test_counts_of_a_thousand_problems():
    counts = [check_counts(seed) for seed in range(100, 100 + len(seeds(1000, 20)))]
    assert np.median(counts) > 1


@pytest.mark.parametrize("number", [30, pytest.param(800, marks=pytest.mark.slow)])
def test_counts_without_trivial_extensions(number):
    assert sum(check_counts(seed, trivial=False) for seed in seeds(number, 4)) > 0


@pytest.mark.parametrize("number", [30, pytest.param(400, marks=pytest.mark.slow)])
def test_members_without_trivial_extensions(number):
    assert sum(check_members(seed, 100, trivial=False) for seed in seeds(number, 4)) > 0


def check_shallow(seed: int) -> int:
    """Check a set of four or five levels of binary splits, whose nodes the depth-limited search widens first."""
    random = np.random.RandomState(seed)
    n, q, classes, depth = random.randint(20, 400), random.randint(5, 7), random.randint(2, 4), random.randint(4, 6)
    codes = random.randint(0, 2, (n, q))
    codes[:, -1] = np.where(random.rand(n) < 0.9, codes[:, 0], codes[:, -1])
    y = np.where(random.rand(n) < random.choice([0.05, 0.3]), random.randint(classes, size=n), codes[:, :3].sum(1))
    weights = random.randint(0, 4, n) if seed % 3 == 0 else np.ones(n, int)
    problem = make(codes, y % classes, [2] * q, classes, weights)
    wanted = Objective.of(random.choice(["0.01", "0.02", "0.04"]).item(), ["leaf", "split"][seed % 2], max_depth=depth)
    search = solve(problem, wanted, multiplier=random.choice(["0.05", "0.2", "0.4"]).item())
    assert histogram(search) == Naive(problem, wanted).histogram(search.bound), seed
    return search.trees.total


@pytest.mark.parametrize("number", [10, pytest.param(60, marks=pytest.mark.slow)])
def test_sets_of_four_and_five_levels(monkeypatch, number):
    widened, widen = [], DepthLimited.widen
    monkeypatch.setattr(rashomon, "_BEFORE", 1)
    monkeypatch.setattr(DepthLimited, "widen", lambda *given: widened.append(len(given)) or widen(*given))
    assert max(check_shallow(seed) for seed in seeds(number, 10)) > 100
    assert {*widened} == {3, 5}  # the root, and children of the root


def test_a_node_without_open_children_is_widened(monkeypatch):
    widen = DepthLimited.widen
    monkeypatch.setattr(rashomon, "_BEFORE", 1)
    monkeypatch.setattr(DepthLimited, "widen", lambda *given: widen(*given)[: 0 if len(given) == 5 else None])
    assert sum(check_shallow(seed) for seed in seeds(5, 10)) > 100


def test_the_tree_of_a_set_is_optimal_if_a_heuristic_tree_is(monkeypatch):
    """Heuristic trees come after an iteration each; an optimal one leaves the engine without a tree of its own."""
    monkeypatch.setattr(stages, "_WORDS", (1, 1, 1, 1))
    improve, costs = stages.Starts.improve, []
    monkeypatch.setattr(stages.Starts, "improve", lambda starts: costs.append(improve(starts)) or costs[-1])
    found = 0
    for seed in seeds(60, 20):
        problem, wanted, bound = draw(seed)
        costs.clear()
        result = SOLVER.solve(problem, wanted, starts=True, **bound)
        assert result.cost == result.lower_bound
        found += bool(costs) and min(costs) == result.lower_bound
    assert found > 5


def graph_of(search: Search) -> tuple:
    """Return the bounds and the arrays of a graph."""
    graph = search.graph
    nodes = [graph.node[name].tolist() for name in ("budget", "opt", "leaf", "label", "first_edge", "n_edges")]
    edges = [graph.edge[name].tolist() for name in ("cost", "feature", "child", "nodes", "heaviest")]
    return search.optimum, search.certified, nodes, edges, graph.child.tolist(), graph.order.tolist()


@pytest.mark.parametrize("visits", [1, None])
@pytest.mark.parametrize("number", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_threads_make_the_same_graph(monkeypatch, number, visits):
    """``visits`` of each slice: few have threads meet often, by default they run side by side."""
    monkeypatch.setattr(driver, "ALONE", 0)
    if visits:
        monkeypatch.setattr(engine.Search, "_slice", lambda search: visits)
    joined, join = [], Team._join
    monkeypatch.setattr(Team, "_join", lambda team, *given: joined.append(given[-1]) or join(team, *given))
    for seed in seeds(number, 15):
        problem, wanted, bound = draw(seed)
        one, two, three = (solve(problem, wanted, Budget(threads=threads), **bound) for threads in (1, 2, 3))
        assert one.status == two.status == three.status == "optimal"
        assert str(one.tree) == str(two.tree) == str(three.tree)
        if one.graph is not None:
            assert graph_of(one) == graph_of(two) == graph_of(three), seed
    assert {*joined} == {2, 3}


def test_every_tree_has_its_rank_and_sums_are_over_all_trees():
    assert sum(check_members(seed, 60) for seed in seeds(60, 6)) > 0


@pytest.mark.slow
def test_members_of_many_sets():
    listed = [check_members(seed, 300) for seed in range(100, 100 + len(seeds(600, 10)))]
    assert sum(count > 1 for count in listed) > len(listed) // 4


def test_primes_give_the_same_numbers(monkeypatch):
    """As if float64 were exact for counts of one digit only: residues modulo primes, put together again."""
    monkeypatch.setattr(exact, "EXACT", 8.0)
    assert sum(check_counts(seed, trivial) for seed in seeds(40, 4) for trivial in (True, False)) > 0
    assert sum(check_members(seed, 60, trivial) for seed in seeds(30, 3) for trivial in (True, False)) > 0


def heavy(seed: int) -> tuple[Problem, Objective, dict]:
    """Return the problem of `draw` with weights of ten digits, so that costs have large gaps."""
    problem, wanted, bound = draw(seed)
    noise = np.random.RandomState(seed).randint(0, 10**6, len(problem.y))
    return Problem(problem.columns, problem.target, problem.weights * (10**9 + 7 + noise)), wanted, bound


@pytest.mark.parametrize("slots", [2, 1 << 12])
@pytest.mark.parametrize("below", [8.0, exact.EXACT])
def test_weights_of_many_digits_count_as_others(monkeypatch, slots, below):
    """Against plain enumeration; two slots have the hash tables grow, and float64 may be exact for one digit only."""
    drawn = [heavy(seed) for seed in range(40)]
    monkeypatch.setitem(globals(), "draw", drawn.__getitem__)
    monkeypatch.setattr(rashomon_counts, "_SLOTS", slots)
    monkeypatch.setattr(exact, "EXACT", below)
    assert sum(check_counts(seed, trivial) for seed in seeds(40, 4) for trivial in (True, False)) > 0
    assert sum(check_members(seed, 60, trivial) for seed in seeds(30, 3) for trivial in (True, False)) > 0


@pytest.mark.parametrize("digits", [8, 13])
def test_hash_tables_count_as_dense_tables(digits):
    """Weights that differ by a small part give the same trees, of many more costs; the bound is between two costs."""
    problem, wanted = noise(60, 6), Objective.of("0.02", "leaf", max_depth=3)
    weights = 10**digits * problem.weights + np.arange(len(problem.y))
    near = Problem(problem.columns, problem.target, weights)
    found, costs = [solve(some, wanted, bound="0.4561") for some in (problem, near)], []
    for search in found:
        unit, costs_here = search.problem.total_weight * wanted.scale(search.problem).row, Counter()
        for cost, number in search.histogram.items():
            costs_here[round(cost / unit, 6)] += number
        costs.append(costs_here)
    assert costs[0] == costs[1]
    assert len(found[1].histogram) > 10 * len(found[0].histogram)
    assert len(found[1].trees.terms.key) <= max(rashomon_counts._SLOTS, 4 * len(found[1].histogram))
    ranks = range(0, found[1].trees.total, 97)
    assert [found[1].trees.rank(found[1].trees.tree(rank)) for rank in ranks] == [*ranks]


def test_kernels_and_whole_numbers_find_the_same_ranks(monkeypatch):
    for seed in seeds(40, 4):
        problem, wanted, bound = draw(seed)
        if (trees := solve(problem, wanted, **bound).trees) is None:
            continue
        ranks = range(0, trees.total, 1 + trees.total // 30)
        listed = [trees.tree(rank) for rank in ranks]
        with monkeypatch.context() as patch:
            patch.setattr(exact, "EXACT", 0.0)  # as if float64 were exact for no number
            assert [trees.tree(rank) for rank in ranks] == listed
            assert [trees.rank(tree) for tree in listed] == [*ranks]


def test_threads_that_read_a_set_wait_for_each_other(monkeypatch):
    """The kernels write to scratch arrays of the set, and release Python's global lock."""
    drawn = (draw(seed) for seed in itertools.count())
    sets = (solve(problem, wanted, **bound).trees for problem, wanted, bound in drawn)
    trees = next(found for found in sets if found and found.total > 100)
    monkeypatch.setattr(exact, "EXACT", 0.0)  # as if float64 were exact for no number
    called, inside, most, count = 0, 0, 0, rashomon_counts.count_edges

    def watched(*arguments):
        nonlocal called, inside, most
        called, inside = called + 1, inside + 1
        most = max(most, inside)
        time.sleep(0.002)
        inside -= 1
        return count(*arguments)

    monkeypatch.setattr(rashomon_counts, "count_edges", watched)
    ranks = range(24)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(trees.tree, ranks))
    assert found == [trees.tree(rank) for rank in ranks]
    assert called > len(ranks)
    assert most == 1


@compiled_only
@pytest.mark.parametrize("error", [0, 0.3])
def test_counts_of_many_digits_are_exact(monkeypatch, error):
    """A set of 28 digits, against the same recurrence in Python's integers; float64 may find the wrong neighbour."""
    problem = noise(60, 8)
    search = solve(problem, Objective.of("0.005", "leaf"), adder="0.2")
    assert search.trees.total > 2**64
    numbers: dict[int, Counter] = {}
    graph, trees = search.graph, search.trees
    for v in graph.order[::-1].tolist():
        node, own = graph.node[v], Counter()
        budget = int(node["budget"])
        if node["leaf"] <= budget:
            own[int(node["leaf"])] = 1
        for e in range(int(node["first_edge"]), int(node["first_edge"] + node["n_edges"])):
            product = {int(graph.edge[e]["cost"]): trees.counts(0).copies[graph.edge[e]["feature"]].astype(int).item()}
            for child in (child for child in trees.children(e) if child >= 0):
                before, product = product, Counter()
                for x, ways in before.items():
                    for y, more in numbers[child].items():
                        if x + y <= budget:
                            product[x + y] += ways * more
            own.update(product)
        numbers[v] = own
    assert dict(sorted(numbers[0].items())) == trees.by_cost
    for counts in trees._counts.values():
        noisy = counts.floats * (1 + error * np.random.RandomState(0).rand(len(counts.floats)))
        monkeypatch.setattr(counts, "_floats", np.where(counts.floats < exact.EXACT, counts.floats, noisy))
    ranks = [0, 1, trees.total - 1, *(trees.total * part // 97 for part in range(97))]
    found = [trees.tree(rank) for rank in ranks]
    assert [trees.rank(tree) for tree in found] == ranks
    monkeypatch.setattr(Trees, "_is_whole", False)  # the walk of sets with required features
    assert [trees.tree(rank) for rank in ranks[::20]] == found[::20]
    assert [trees.rank(tree) for tree in found[::20]] == ranks[::20]


def test_a_limit_leaves_a_complete_set():
    reached = []
    for seed in seeds(60, 6):
        problem, wanted, bound = draw(seed)
        whole = solve(problem, wanted, **bound)
        for iterations in (0, 3, 10, 30, 100):
            search = solve(problem, wanted, Budget(iterations=iterations), **bound)
            if search is None or search.certified is None:
                assert search is None or search.trees is None
                continue
            wide = whole if search.depth is None else solve(problem, replace(wanted, max_depth=search.depth), **bound)
            assert search.certified <= search.bound == wide.bound
            within = {cost: number for cost, number in histogram(wide).items() if cost <= search.certified}
            assert histogram(search) == within, (seed, iterations)
            reached.append((search.status == "optimal", bool(within)))
    assert {(True, True), (False, True), (False, False)} <= {*reached}


def test_a_longer_limit_leaves_no_smaller_depth():
    """Also where the first limits end the expansion before it has the optimal trees."""
    reached = set()
    for seed in [69, *seeds(200, 4)]:  # 69 reaches the set of depth 2
        problem, wanted, bound = draw(seed)
        depths = []
        for iterations in (0, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500):
            search = solve(problem, wanted, Budget(iterations=iterations), **bound)
            is_empty = search is None or (search.status != "optimal" and search.trees is None)
            depths.append(0 if is_empty else search.depth or 99)
        assert depths == sorted(depths), (seed, depths)
        reached.update(depths)
    assert {0, 2, 99} <= reached


@compiled_only
def test_a_limit_leaves_the_set_of_a_lower_depth():
    problem, wanted = noise(300, 12), Objective.of("0.004", "leaf")
    for iterations, depth in ((600, 2), (2000, 3), (20000, 4)):
        result = SOLVER.solve(problem, wanted, Budget(iterations=iterations), multiplier="0.05")
        search, shallow = result.found, solve(problem, replace(wanted, max_depth=depth), multiplier="0.05")
        assert (result.status, search.depth) == ("iteration_limit", depth)
        assert result.counters["iterations"] <= iterations + 100
        assert search.certified == search.bound == shallow.bound
        assert histogram(search) == histogram(shallow)
        assert result.lower_bound < result.cost <= search.optimum


def test_a_set_without_memory_for_its_counts_has_a_lower_bound(monkeypatch):
    problem, wanted = noise(60, 6), Objective.of("0.02", "leaf", max_depth=3)
    problem = Problem(problem.columns, problem.target, 10**12 * problem.weights + np.arange(len(problem.y)) ** 3)
    whole, enlarge = solve(problem, wanted, multiplier="0.2"), rashomon_counts.enlarge

    def refuse(tables, more):
        """Let a table have up to 1024 rows."""
        return enlarge(tables, more if len(tables[0]) + more <= 1024 else 1 << 50)

    monkeypatch.setattr(rashomon_counts, "_SLOTS", 2)
    monkeypatch.setattr(rashomon_counts, "enlarge", refuse)
    search = solve(problem, wanted, multiplier="0.2")
    assert search.status == "memory_limit"
    assert search.optimum <= search.certified < search.bound == whole.bound
    assert histogram(search) == {cost: n for cost, n in whole.histogram.items() if cost <= search.certified}


def test_another_thread_ends_a_pass_within_a_node():
    search = solve(noise(60, 6), Objective.of("0.02", "leaf", max_depth=3), multiplier="0.2")
    graph, copies = search.graph, search.trees.counts(0).copies

    def halted(step, count, room):
        graph.state[HALT] = graph.state[PASS] + 1
        assert step(1 << 40) == PAUSED
        assert graph.state[PLACE] == 0
        graph.state[PASS] += 1
        assert step(1 << 40) == COMPLETE

    terms, _ = rashomon_counts.find_terms(graph, copies, halted)
    assert np.array_equal(terms.exponent, search.trees.terms.exponent)


@compiled_only
@pytest.mark.parametrize("digits", [0, 12])
@pytest.mark.parametrize("limit", ["time_limit", "memory_limit"])
def test_limits_of_time_and_memory_lower_the_bound(limit, digits):
    problem, wanted = noise(200, 14), Objective.of("0.02", "leaf")
    more = np.arange(len(problem.y)) if digits else 0
    problem = Problem(problem.columns, problem.target, 10**digits * problem.weights + more)
    solve(problem, wanted, multiplier="0.001")
    budget = Budget(seconds=0.3) if limit == "time_limit" else Budget(memory_mib=rss_mib() + 16)
    result = SOLVER.solve(problem, wanted, budget, multiplier="0.4")
    search = result.found
    assert result.status == limit
    assert search.optimum <= search.certified <= search.bound
    assert search.certified < search.bound or search.depth is not None  # the whole set, of a limited depth
    bound = Fraction(search.certified, problem.total_weight * wanted.scale(problem).row)
    assert histogram(search) == histogram(solve(problem, replace(wanted, max_depth=search.depth), bound=str(bound)))


@compiled_only
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("where", "call", "iterations"),
    [("_go_on", 1, None), ("_go_on", 2, 400_000), ("_go_on", 3, 400_000), ("_count", 1, None)],
)
def test_ctrl_c_leaves_the_optimal_trees(monkeypatch, where, call, iterations):
    """In each of the three graphs of an expansion, and while trees are counted, between two kernels."""
    problem, wanted = noise(200, 14), Objective.of("0.02", "leaf")
    best, began, own, limit = solve(problem, wanted, multiplier="0"), [], getattr(Search, where), Clock.limit

    def begin(*given):
        began.append(True)
        return own(*given)

    def interrupted(clock, *given):
        if len(began) == call:
            began.append(True)
            signal.raise_signal(signal.SIGINT)
        return limit(clock, *given)

    monkeypatch.setattr(Search, where, begin)
    monkeypatch.setattr(Clock, "limit", interrupted)
    result = SOLVER.solve(problem, wanted, Budget(iterations=iterations), multiplier="0.2")
    assert result.status == "interrupted"
    assert len(began) > call
    assert result.found.certified == result.found.optimum < result.found.bound
    assert histogram(result.found) == histogram(best)


def test_bounds_that_are_not_accepted():
    problem, wanted = make([[0], [1]], [0, 1], [2], 2), Objective.of("0.1", "leaf")
    with refused("solver rashomon: multiplier", "'-1'"):
        SOLVER.solve(problem, wanted, multiplier="-1")
    with refused("solver rashomon: multiplier, adder", "together"):
        SOLVER.solve(problem, wanted, multiplier="1", adder="1")


def test_the_numbers_of_exact_peers():
    """tic-tac-toe to depth 5, as tree-praxis 0.0.30 and arborenum 0.2.6 count its trees with majority labels.

    They round the penalty and the bound to whole rows: lambda = .02 is 19 rows, .005 is 5 rows.
    """
    problem = embedded("tic-tac-toe", "first")
    for penalty, optimum, bound, count in ((19, 304, 319, 148), (5, 168, 176, 4580928)):
        wanted = Objective.of(f"{penalty}/958", "leaf", max_depth=5)
        search = solve(problem, wanted, bound=f"{bound}/958")
        assert (search.optimum, search.trees.total) == (optimum, count)


def test_small_units_order_all_trees_of_a_set_as_the_given_units_do():
    random = np.random.RandomState(0)
    for _ in range(300):
        share = Fraction(int(random.randint(1, 10**12)), 10**12) * random.choice([1, 10, 100]).item()
        given = Scale(share.denominator, share.numerator, share.denominator)
        bound = int(random.randint(1, 12)) * given.penalty + int(random.randint(10)) * given.error
        least, leaves = int(random.randint(3)), int(random.randint(1, 20))
        units = Units(given, bound, least, leaves)
        most = min(max(0, bound - given.error * least) // given.penalty + 1, leaves)
        assert units.small == given or units.small.error <= 2 * most
        losses, numbers = range(least, bound // given.error + 3), range(leaves + 1)
        trees = [(loss, paid) for loss in losses for paid in numbers]
        trees = [trees[k] for k in random.permutation(len(trees))[:200]]
        costs = [given.error * loss + given.penalty * paid for loss, paid in trees]
        small = [units.small.error * loss + units.small.penalty * paid for loss, paid in trees]
        limit = units.bound_to_small(bound)
        assert [cost <= bound for cost in costs] == [cost <= limit for cost in small]
        within = [(cost, other) for cost, other in zip(costs, small, strict=True) if cost <= bound]
        assert [cost for cost, _ in sorted(within)] == [cost for cost, _ in sorted(within, key=lambda pair: pair[1])]
        assert all(units.to_small(cost) == other and units.to_given(other) == cost for cost, other in within)
        assert all(units.bound_to_given(other) == cost for cost, other in within)


def test_small_units_of_a_large_penalty_take_few_steps():
    """A weight of a row may be a small part of all: then a step of one for the whole part of lambda takes for ever."""
    units = Units(Scale(10**6, 10**24 + 1, Fraction(10**6)), 10**26, 0, 30)
    assert units.small.error <= 60
    cost = 20 * (10**24 + 1) + 5 * 10**6
    assert units.to_given(units.to_small(cost)) == cost


def test_a_lambda_of_many_digits_takes_no_more_memory():
    problem = embedded("tic-tac-toe", "first")
    rounded, exact_sets = (solve(problem, Objective.of(share, "leaf")) for share in ("0.02", "0.02000000000001"))
    assert max(exact_sets.graph.node["budget"]) < 10**7
    assert exact_sets.trees.total <= rounded.trees.total
    assert exact_sets.trees.total > 10


def test_more_trees_than_float64_counts_are_refused():
    with refused("solver rashomon", "more than 10^308 trees"):
        exact.moduli_for(np.inf)
