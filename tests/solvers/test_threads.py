"""Threads inside one search: for any number of them the same optimum, the same proof and the same tree."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from support.lookahead_problems import longer
from support.modes import COMPILED, FULL, compiled_only, seeds
from support.objectives import limited_objective, random_objective
from support.oracle import accepted, check
from support.problems import binary_problem, harder_problem, nested_problem, noise, random_problem, with_costs
from support.refusal import refused
from support.thresholds import every_cut, numbers, shallow_objective

from optree import (
    DL85Classifier,
    MurTreeClassifier,
    MurTreeRegressor,
    OptimalTreeClassifier,
    SPLITClassifier,
    solvers,
)
from optree.budget import Budget, Pace
from optree.objective import Objective
from optree.solvers import driver, team
from optree.solvers.all_thresholds import crew, sparse_search, tasks
from optree.solvers.all_thresholds import search as all_searches
from optree.solvers.driver import Gate
from optree.solvers.engine import search as engine
from optree.solvers.kernels import memo as memos
from optree.solvers.kernels import similar_sets
from optree.solvers.kernels.atomics import acquire, add, release, swap
from optree.solvers.kernels.jit import kernel
from optree.solvers.kernels.similar_sets import for_thread, new_sets, remember, similar_bound
from optree.solvers.murtree.fast import search as depth_limited
from optree.solvers.split import family
from optree.solvers.split.memory import new_memo
from optree.solvers.split.shared_root import THREADS

MURTREE, ALL_THRESHOLDS, SPARSE, ENGINE, SPLIT = (
    solvers.get(name) for name in ("murtree", "allthresholds", "sparsethresholds", "optree", "split")
)
TIMES = 20_000 if COMPILED else 50


def shorten_rounds(monkeypatch, iterations):
    """Have threads join soon, in a first round of some iterations."""
    init = depth_limited.Search.__init__

    def quick(self, *arguments):
        init(self, *arguments)
        self.quick = iterations / 1000

    monkeypatch.setattr(depth_limited.Search, "__init__", quick)
    monkeypatch.setattr(driver, "ALONE", 0)


@pytest.fixture
def hasty(monkeypatch):
    """Have threads join after an iteration, and rounds of few iterations follow."""
    shorten_rounds(monkeypatch, 20)


@pytest.fixture
def joined(monkeypatch):
    """Return a list that gets the number of threads of each search on several."""
    found, together = [], driver.together

    def counted(work, threads, stop, delay=0):
        found.append(threads)
        together(work, threads, stop, delay)

    for module in (team, crew):
        monkeypatch.setattr(module, "together", counted)
    return found


def trees_of(solver, problem, objective, numbers=(1, 2, 3), **parameters):
    """Return the trees for several numbers of threads, all proven, and assert that their costs are the same."""
    found = [solver.solve(problem, objective, Budget(threads=number), **parameters) for number in numbers]
    assert {result.status for result in found} == {"optimal"}
    assert len({result.cost for result in found} | {result.lower_bound for result in found}) == 1
    return [result.tree.to_dict() for result in found]


def sparse_cases(numbers_of):
    """Return problems of all thresholds with objectives of any depth."""
    for seed in numbers_of:
        problem = every_cut(*numbers(seed, rows=18, values=12))
        yield problem, random_objective(seed, len(problem.y), (1, 1, 2, 3))


def depth_limited_cases(seeds_of):
    """Return problems of two to eight features with objectives for the depth-limited search."""
    for seed in seeds_of:
        problem = harder_problem(seed) if seed % 3 == 0 else binary_problem(seed)
        yield accepted("murtree", problem, limited_objective(seed))


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("deepening", [True, False])
def test_the_depth_limited_tree_is_the_same_and_optimal(deepening, joined):
    number = len(seeds(1000, 25))
    for problem, objective in depth_limited_cases(range(number)):
        one, *others = trees_of(MURTREE, problem, objective, deepening=deepening)
        assert others == [one, one]
        check("murtree", problem, objective, budget=Budget(threads=2), deepening=deepening)
    assert len(joined) > number / 5


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_a_search_alone_finds_the_tree_of_rounds_and_threads(monkeypatch):
    """The first tree: rounds, heuristics and memo do not change it."""
    for problem, objective in depth_limited_cases(seeds(300, 10)):
        one, two = trees_of(MURTREE, problem, objective, (1, 2))
        with monkeypatch.context() as patch:
            patch.setattr(depth_limited.Search, "_rounds", lambda self, *_: [(self.limits, 2**62, 2**62)])
            assert MURTREE.solve(problem, objective).tree.to_dict() == one == two


@pytest.mark.usefixtures("hasty")
def test_threads_grow_one_table_and_tell_equal_hashes_apart(monkeypatch):
    new_memo, room, grown = memos.new_memo, depth_limited.Search.room, []
    monkeypatch.setattr(memos, "new_memo", lambda words, kind: new_memo(words, 2, kind))
    monkeypatch.setattr(depth_limited.Search, "room", lambda *asked: grown.append(1) or room(*asked))
    init = depth_limited.Search.__init__

    def unsalted(self, data, *others):
        init(self, data._replace(salt=data.salt * 0), *others)

    cases = list(depth_limited_cases(range(60 if FULL else 15)))
    before = [trees_of(MURTREE, *case, (1,)) for case in cases]
    monkeypatch.setattr(depth_limited.Search, "__init__", unsalted)
    for case, expected in zip(cases, before, strict=True):
        assert trees_of(MURTREE, *case, (2, 3)) == 2 * expected
    assert len(grown) > (60 if FULL else 5)


@pytest.mark.slow
@compiled_only
def test_long_searches_share_the_work(joined, monkeypatch):
    """Two threads do about the iterations of one."""
    shorten_rounds(monkeypatch, 100_000)
    problem, objective = noise(250, 18), Objective.of(0, max_depth=5)
    one, two = (MURTREE.solve(problem, objective, Budget(threads=number)) for number in (1, 2))
    assert one.tree.to_dict() == two.tree.to_dict()
    assert joined
    assert two.counters["iterations"] < 1.5 * one.counters["iterations"]


@pytest.mark.slow
@pytest.mark.usefixtures("hasty")
def test_regression_has_the_same_tree():
    random = np.random.RandomState(0)
    X = random.random_sample((60, 4))
    y = np.round(X.sum(axis=1) + random.random_sample(60), 1)
    texts = {MurTreeRegressor(max_depth=4, max_thresholds=3, n_jobs=n).fit(X, y).export_text() for n in (None, 2, 3)}
    assert len(texts) == 1


@pytest.mark.usefixtures("hasty")
def test_the_trees_of_all_limits_are_the_same(joined):
    random = np.random.RandomState(0)
    X = random.randint(2, size=(80, 7))
    y = X[:, :3].sum(axis=1) % 2 ^ (random.random_sample(80) < 0.2)
    grids = [MurTreeClassifier(4, max_splits=6, n_jobs=n).limit_grid(X, y) for n in (1, 2, 3)]
    texts = [[model.export_text() for _, _, model in grid] for grid in grids]
    assert texts[0] == texts[1] == texts[2]
    assert {2, 3} <= set(joined)


def engine_cases(numbers):
    """Return problems with binary and multiway features and with costs, and objectives with constraints for them."""
    for seed in numbers:
        problem = harder_problem(seed) if seed % 4 < 2 else random_problem(seed)
        problem = with_costs(problem, seed) if seed % 4 == 3 else problem
        yield accepted("optree", problem, random_objective(seed, len(problem.y), least=(1, 1, 2, 3)))


def test_threads_of_the_engine_grow_one_table_and_tell_equal_hashes_apart(monkeypatch):
    monkeypatch.setattr(driver, "ALONE", 0)
    monkeypatch.setattr(engine.Search, "_slice", lambda self: 2)
    cases, options = list(engine_cases(seeds(60, 10))), {"by_depth": False, "few_rows": False}
    before = [trees_of(ENGINE, *case, (1,), **options) for case in cases]
    new_memo, room, layout, grown = memos.new_memo, engine.Search.room, engine.layout, []
    monkeypatch.setattr(memos, "new_memo", lambda words, kind: new_memo(words, 2, kind))
    monkeypatch.setattr(engine.Search, "room", lambda *asked: grown.append(1) or room(*asked))

    def unsalted(*given, **named):
        data = layout(*given, **named)
        return data and data._replace(salt=data.salt * 0)

    monkeypatch.setattr(engine, "layout", unsalted)
    for case, expected in zip(cases, before, strict=True):
        assert trees_of(ENGINE, *case, (2, 3), **options) == 2 * expected
    assert len(grown) > len(cases) / 2


@pytest.mark.slow
@pytest.mark.parametrize("visits", [1, 3, 50])
def test_the_tree_of_the_engine_is_the_same_and_optimal(visits, joined, monkeypatch):
    """``visits`` of each slice: few have threads meet often, many have them run side by side."""
    monkeypatch.setattr(driver, "ALONE", 0)
    monkeypatch.setattr(engine.Search, "_slice", lambda self: visits)
    numbers = seeds(1500, 30)
    for seed, (problem, objective) in zip(numbers, engine_cases(numbers), strict=True):
        one, *others = trees_of(ENGINE, problem, objective, by_depth=False, few_rows=False)
        assert others == [one, one], seed
        if seed % 5 == 0:
            check("optree", problem, objective, budget=Budget(threads=2), by_depth=False, few_rows=False)
    assert len(joined) > len(numbers) / 2


@pytest.mark.slow
def test_the_first_tree_does_not_depend_on_what_the_memo_holds(monkeypatch):
    """Other budgets, other halves and another order of the visits fill the memo with other intervals."""
    monkeypatch.setattr(driver, "ALONE", 0)
    monkeypatch.setattr(engine, "_MANY", 1)
    monkeypatch.setattr(engine, "_LONG", 1)
    numbers = seeds(600, 15)
    nested = [(nested_problem(seed), Objective.of(f"{1 + seed % 4}/60")) for seed in numbers]
    options = {"by_depth": False, "few_rows": False}
    for problem, objective in [*nested, *(case for case in engine_cases(numbers) if case[1].regularization)]:
        one, two = trees_of(ENGINE, problem, objective, (1, 2), **options)
        assert one == two
        for off in ("easier_first", "by_halves", "best_first", "lazy", "two_split_bound", "cover_bound"):
            assert ENGINE.solve(problem, objective, **options, **{off: False}).tree.to_dict() == one, off
        other = solvers.get("exhaustive").solve(problem, objective).tree
        assert ENGINE.solve(problem, objective, incumbent=other, **options).tree.to_dict() == one


@pytest.fixture
def early(monkeypatch):
    """Have the evaluations of the root's thresholds be tasks from the first iteration on."""
    monkeypatch.setattr(all_searches, "_QUICK_CELLS", 0)
    monkeypatch.setattr(driver, "ALONE", 0)


@pytest.mark.slow
@pytest.mark.usefixtures("early")
@pytest.mark.parametrize("window", [1, 2, 16])
def test_the_tree_over_all_thresholds_is_the_same_and_optimal(window, joined, monkeypatch):
    monkeypatch.setattr(tasks, "WINDOW", window)
    monkeypatch.setattr(crew, "WINDOW", window)
    for seed in seeds(300, 8):
        problem, objective = every_cut(*numbers(seed)), shallow_objective(seed)
        one, *others = trees_of(ALL_THRESHOLDS, problem, objective)
        assert others == [one, one]
        check("allthresholds", problem, objective, budget=Budget(threads=2))
    assert bool(joined) == (window > 1)


@pytest.fixture
def shared(monkeypatch):
    """Have threads share the root of a sparse search after slices of a wave; return the calls of both functions."""
    calls = []
    give, again = sparse_search.give_half, sparse_search.SparseSearch._find_same_tree
    monkeypatch.setattr(Pace, "next", lambda self, iterations: 1)
    monkeypatch.setattr(sparse_search, "give_half", lambda *of: give(*of) and not calls.append("given"))
    monkeypatch.setattr(sparse_search.SparseSearch, "_find_same_tree", lambda of: calls.append("again") or again(of))
    return calls


@pytest.mark.slow
@pytest.mark.usefixtures("early")
@pytest.mark.parametrize("starts", [True, False], ids=["heuristics", "no heuristics"])
@pytest.mark.parametrize("size", [8, 2**14])
def test_the_sparse_tree_over_all_thresholds_is_the_same_and_optimal(size, starts, shared, joined, monkeypatch):
    for name in ("_SETS", "_LEAST_SETS"):
        monkeypatch.setattr(similar_sets, name, size)  # the memo replaces its oldest sets, or none
    if not starts:  # the rounds have to find the tree
        monkeypatch.setattr(all_searches.AnytimeSearch, "_heuristics", lambda self: iter(()))
    for problem, objective in sparse_cases(seeds(400, 6)):
        one, *others = trees_of(SPARSE, problem, objective)
        assert others == [one, one]
        check("sparsethresholds", problem, objective, budget=Budget(threads=2))
    if COMPILED:  # few of the problems are shared
        assert joined
        assert "given" in shared
        assert starts or "again" in shared


@kernel
def store_and_look_up(sets, rows, weight, cost, steps):
    """Store sets with their costs, and look up others; return the number of bounds above the cost of a set."""
    wrong = 0
    for at in steps:
        remember(sets, 1, rows[at], weight[at], 1, 1, cost[at])
        other = (7 * at + 3) % len(rows)
        wrong += similar_bound(sets, 1, rows[other], weight[other], 1, 1, 0, 1 << 40) > cost[other]
    return wrong


@pytest.mark.parametrize("size", [4, 64, 1000])
def test_bounds_of_similar_sets_hold_while_threads_write_them(size):
    """The cost of a set is the number of its rows in another set: a further row raises it by 1 at most."""
    random = np.random.RandomState(size)
    member = random.rand(500 if COMPILED else 20, 640) < random.rand(500 if COMPILED else 20, 1)
    rows, cost = np.packbits(member, axis=1, bitorder="little").view(np.uint64), member[:, :320].sum(axis=1)
    sets = new_sets(size, np.zeros(0, np.int64), 10, np.arange(640), [np.arange(640)])
    steps = random.randint(len(rows), size=(3, TIMES // 2))
    store_and_look_up(sets, rows, member.sum(axis=1), cost, steps[0, :0])
    with ThreadPoolExecutor(3) as pool:
        views = [sets, for_thread(sets), for_thread(sets)]
        wrong = list(pool.map(store_and_look_up, views, [rows] * 3, [member.sum(axis=1)] * 3, [cost] * 3, steps))
    assert wrong == [0, 0, 0]
    assert sets.state[0] >= min(size, 2)
    assert (sets.version % 2 == 0).sum() >= min(size, 2)


def split_cases(name, numbers):
    """Return problems for a solver of the SPLIT family, with objectives and parameters."""
    for seed in numbers:
        multiway, depth = "multi" in name, 2 + seed // 3 % 3
        penalty = ("leaf", "split")[seed // 4 % 2 and not multiway]
        objective = Objective.of(("0.01", "0.005", "0.002", "0", "0.02", "0.001")[seed % 6], penalty, max_depth=depth)
        parameters = {"lookahead": max(int("lickety" in name), seed // 2 % (3 if multiway else depth + 1))}
        parameters["two_levels"] = ("never", "lookahead", "frontier")[seed % 3]
        parameters |= {"max_ways": 2 + seed % 3, "repeat": seed % 5 > 0} if multiway else {}
        parameters |= {} if "lickety" in name else {"polish": seed % 4 == 0, "deepening": seed % 7 > 0}
        yield longer(seed, multiway), objective, parameters


@pytest.fixture
def split_searches(monkeypatch):
    """Have threads join the searches of SPLIT at once, with a full memo; return these searches.

    Before each slice the first thread waits up to .01 s for the end of another thread's slice. So a busy machine does
    not end a search before other threads begin. The wait has an end, because the other thread may have ended, or may
    wait for room in the memo, which it gets after the first thread's slice.
    """
    found, share, step, has_helped = set(), family.Search.share, family.Search.step, threading.Event()

    def step_in_turns(self, iterations, number=0):
        if number == 0 and self.root.state[THREADS] > 1:
            has_helped.clear()
            has_helped.wait(0.01)
        code = step(self, iterations, number)
        if number:
            has_helped.set()
        return code

    monkeypatch.setattr(family.Search, "step", step_in_turns)
    monkeypatch.setattr(driver, "ALONE", 0)
    monkeypatch.setattr(family.Search, "share", lambda self, threads: found.add(self) or share(self, threads))
    monkeypatch.setattr(family, "new_memo", lambda data, rules: new_memo(data, rules, 8))
    monkeypatch.setattr(family, "_PAUSE", 0)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [1, 50])
@pytest.mark.parametrize("name", ["split", "licketysplit", "multisplit", "licketymultisplit"])
def test_the_tree_of_split_is_the_same(name, nodes, split_searches, monkeypatch):
    """Threads join before the first node, or in the middle of a root."""
    next_slice = Pace.next
    monkeypatch.setattr(Pace, "next", lambda self, done: min(nodes, next_slice(self, done)))
    monkeypatch.setattr(driver, "ALONE", 0.0003 if nodes == 1 else 0)
    solver, numbers = solvers.get(name), seeds(150, 3)
    for problem, objective, parameters in split_cases(name, numbers):
        one, *others = [
            solver.solve(problem, objective, Budget(threads=threads), **parameters) for threads in (1, 2, 3)
        ]
        for other in others:
            assert (other.cost, other.status, other.lower_bound) == (one.cost, one.status, one.lower_bound)
            assert other.tree.to_dict() == one.tree.to_dict()
            assert other.counters.get("candidates_bound") == one.counters.get("candidates_bound")
        if one.status == "optimal":
            assert one.cost == solvers.get("optree").solve(problem, objective).cost
    helped = [search for search in split_searches if any(m.work.state["iterations"] for m in search.machines[1:])]
    assert len(helped) > len(numbers) / 2 or not FULL


@pytest.mark.parametrize("name", ["split", "licketymultisplit"])
def test_split_stopped_anywhere_has_a_tree(name, split_searches):
    for problem, objective, parameters in split_cases(name, seeds(30, 2)):
        for nodes in (1, 2, 5, 20, 100):
            result = solvers.get(name).solve(problem, objective, Budget(iterations=nodes, threads=3), **parameters)
            assert objective.cost(result.tree, result.scale, result.tree.errors(problem)) == result.cost
            assert not objective.broken(result.tree, problem)


@compiled_only
@pytest.mark.usefixtures("hasty")  # else a quick machine ends these searches before threads join
def test_estimators_have_threads(joined):
    X, y = load_breast_cancer(return_X_y=True)
    random = np.random.RandomState(0)
    for model, columns in (
        (MurTreeClassifier(5, max_thresholds=4), X[:, :12]),
        (OptimalTreeClassifier(0, max_depth=3), random.random_sample((150, 3))),
        (SPLITClassifier(max_depth=4, lookahead=2, max_thresholds=4), X[:, :12]),
    ):
        texts = {model.set_params(n_jobs=n).fit(columns, y[: len(columns)]).export_text() for n in (1, 2)}
        assert len(texts) == 1
    assert 2 in joined
    few = DL85Classifier(n_jobs=2).fit(X[:, :3], y)  # whose search runs on one thread
    assert few.export_text() == DL85Classifier().fit(X[:, :3], y).export_text()


def test_a_number_of_threads_is_whole():
    for threads in (0, 1.5, True, None):
        with refused("budget: threads = ", repr(threads), "give a whole number >= 1"):
            Budget(threads=threads)
    with refused("n_jobs: 0 is not accepted; give None or a whole number other than 0"):
        MurTreeClassifier(n_jobs=0).fit([[0], [1]], [0, 1])


@pytest.mark.usefixtures("hasty", "early")
@pytest.mark.parametrize("solver", [MURTREE, SPARSE, ENGINE], ids=lambda solver: solver.name)
def test_stopped_anywhere_the_interval_holds_the_optimum(solver, monkeypatch):
    monkeypatch.setattr(engine.Search, "_slice", lambda self: 2)
    cases = {"murtree": depth_limited_cases, "sparsethresholds": sparse_cases, "optree": engine_cases}
    for problem, objective in cases[solver.name](seeds(20, 2)):
        best = solvers.get("exhaustive").solve(problem, objective).cost
        for iterations in (1, 2, 3, 5, 8, 20):
            result = solver.solve(problem, objective, Budget(iterations=iterations, threads=3))
            assert result.lower_bound <= best <= result.cost
            assert not objective.broken(result.tree, problem)


@pytest.mark.usefixtures("interruptible", "hasty", "early")
@pytest.mark.parametrize("limit", ["interrupted", "time_limit"])
@pytest.mark.parametrize("solver", [MURTREE, SPARSE, ENGINE, SPLIT], ids=lambda solver: solver.name)
def test_limits_and_ctrl_c_end_all_threads(solver, limit, joined, monkeypatch):
    monkeypatch.setattr(all_searches.AnytimeSearch, "_heuristics", lambda self: iter(()))  # they are on one thread
    rows, depth = (3000, 6) if COMPILED else (300, 4)
    problem, objective = noise(rows, 60), Objective.of(0, max_depth=depth)
    if solver is not MURTREE:
        objective = Objective.of("0.001", max_depth=depth if solver is SPLIT else None)
    parameters = {"lookahead": depth} if solver is SPLIT else {}
    solver.solve(problem, objective, Budget(iterations=1), **parameters)  # compiles
    budget = Budget(seconds=0.3 if limit == "time_limit" else 60, threads=2)
    if limit == "interrupted":
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    result = solver.solve(problem, objective, budget, **parameters)
    assert result.status == limit
    assert 0 <= result.lower_bound < result.cost
    assert joined or not COMPILED


@kernel
def count(numbers, times):
    """Add to a shared number: atomically, by swaps, and under a lock."""
    for _ in range(times):
        add(numbers, 1, 1)
        before = numbers[2]
        while not swap(numbers, 2, before, before + 1):
            before = numbers[2]
        acquire(numbers, 0)
        numbers[3] += 1
        release(numbers, 0)


def test_numbers_that_threads_share_lose_no_change():
    numbers = np.zeros(4, np.int64)
    count(numbers, 0)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(count, [numbers] * 3, [TIMES] * 3))
    assert numbers.tolist() == [0, 3 * TIMES, 3 * TIMES, 3 * TIMES]


def test_one_thread_passes_the_gate_alone():
    hurries, inside, seen = [], set(), []
    gate = Gate(hurries.append)

    def work(number):
        for step in range(30):
            if step % 10 == number:
                with gate.alone():
                    seen.append(set(inside))
            with gate.beside():
                inside.add(number)
                inside.discard(number)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert seen == [set()] * 9
    assert hurries == [True, False] * 9


def test_a_failure_in_one_thread_ends_the_others():
    ended = threading.Event()

    def work(number):
        if number == 0:
            raise ValueError("of thread 0")
        assert ended.wait(10)

    with pytest.raises(ValueError, match="of thread 0"):
        driver.together(work, 2, ended.set)


def test_other_threads_begin_after_a_delay_unless_the_first_is_done():
    seen, others = [], threading.Event()

    def work(number):
        seen.append(number)
        if number:
            others.set()

    driver.together(work, 3, lambda: None, 10)
    assert seen == [0]
    driver.together(lambda number: work(number) if number else others.wait(10), 2, lambda: None, 0.001)
    assert seen == [0, 1]


def test_a_thread_that_waits_for_a_heuristic_runs_another():
    root = SimpleNamespace(status=None, end=0, take=lambda machine: None)
    work, seen = crew.Crew(root, 0, False), []
    jobs = [crew._Job(lambda name=name: [seen.append(name) or name]) for name in "abc"]
    work._jobs.extend(jobs[1:])  # another thread runs the first
    work._help_with(jobs[0])
    assert (seen, jobs[0].found, list(work._jobs)) == (["b"], None, [jobs[2]])
    work._jobs.appendleft(jobs[0])
    work._help_with(jobs[2])  # no thread runs it: it precedes the others
    assert seen == ["b", "c"]


def test_heuristics_that_threads_share_come_in_their_order():
    root, begun = SimpleNamespace(status=None, end=0, take=lambda machine: None), threading.Event()
    work = crew.Crew(root, 0, False)

    def first():
        assert begun.wait(30)  # while another thread runs the last heuristic
        yield "first"

    def last():
        begun.set()
        yield "last"

    def help_out():
        while not begun.is_set():
            with work._turn:
                job = work._jobs.pop() if work._jobs else None
            if job:
                job.run()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(help_out)
        assert list(work.in_order([first, last])) == ["first", "last"]
        other.result()
