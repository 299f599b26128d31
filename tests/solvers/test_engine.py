"""The engine: known optima, every switch, limits in the middle of a visit, and the memo's exact keys."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.modes import COMPILED, compiled_only, seeds
from support.objectives import random_objective
from support.oracle import check
from support.problems import harder_problem, make, noise, random_problem, with_costs
from support.real_data import embedded

from optree import solvers
from optree.budget import Budget, Clock
from optree.encoding import Encoder, EncodingSpec
from optree.objective import Objective
from optree.solvers.engine import memory as engine_tables
from optree.solvers.engine import search as engine_search
from optree.solvers.kernels import bitset as bits
from optree.solvers.kernels import memo
from optree.solvers.kernels.bit_layout import Layout, layout
from optree.solvers.kernels.sorting import sort_by
from optree.solvers.lambda_path import lambda_path

SOLVER = solvers.get("optree")


@pytest.fixture
def few_features(monkeypatch):
    """Techniques that are for many features or rows only are tried with few, too."""
    monkeypatch.setattr(engine_search, "_MANY", 1)
    monkeypatch.setattr(engine_search, "_LONG", 1)
    monkeypatch.setattr(engine_search, "_SPARSE", 1)


@pytest.mark.slow
@pytest.mark.parametrize("by_depth", [True, False])
def test_harder_problems_with_every_penalty_and_depth_limit(by_depth, few_features):
    for seed in seeds(500, 10):
        problem = harder_problem(seed)
        check("optree", problem, random_objective(seed, len(problem.y)), by_depth=by_depth)


@pytest.mark.slow
def test_costs_and_least_rows_in_a_leaf(few_features):
    for seed in seeds(700, 15):
        problem = harder_problem(seed)
        if seed % 3:
            problem = with_costs(problem, seed)
        check("optree", problem, random_objective(seed, len(problem.y), (1, 2, 3, 5)))


@pytest.mark.slow
def test_numeric_columns_beside_categories():
    """Every threshold between distinct values, with ties, and categories split all ways or against the rest."""
    for seed in seeds(200, 3):
        random = np.random.RandomState(seed)
        n = random.randint(5, 16)
        X = pd.DataFrame(
            {
                "a": random.randint(4, size=n) / 2,
                "b": random.normal(size=n).round(1),
                "c": random.choice(list("xyz"), n),
            }
        )
        X.loc[:1, ["a", "c"]] = [[0.25, "x"], [9.5, "y"]]
        spec = EncodingSpec(max_cuts=None, onehot=("c",) if seed % 2 else ())
        problem = Encoder(spec).fit(X, random.choice(list("pq"), n), classes=("p", "q", "r"))
        check("optree", problem.problem(X, random.choice(list("pqr"), n)), random_objective(seed, n, (1, 1, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("few", [8, 0])
def test_a_limit_on_splits(monkeypatch, few, few_features):
    monkeypatch.setattr(engine_search, "_FEW", few)
    monkeypatch.setattr(engine_search, "_TRIED", 5)
    for seed in seeds(300, 8):
        problem = harder_problem(seed)
        problem = with_costs(problem, seed) if seed % 5 == 0 else problem
        check("optree", problem, random_objective(seed, len(problem.y), (1, 1, 3), splits=seed % 7), by_depth=False)


@pytest.mark.slow
def test_a_limit_on_splits_where_many_would_pay(few_features):
    for seed in seeds(250, 5):
        problem = listed_problem(seed, 140, 6)
        objective = Objective.of("0.001", ["split", "leaf"][seed % 2], [None, None, 4][seed % 3], 3 + seed % 4)
        check("optree", problem, objective, by_depth=False)


@pytest.mark.slow
@pytest.mark.parametrize("off", [*SOLVER.parameters, "all"])
def test_every_technique_may_be_off(off, few_features):
    switches = {name: False for name in SOLVER.parameters if off in (name, "all")}
    for seed in seeds(150, 5):
        problem, objective = harder_problem(seed), random_objective(seed, 30, (1, 1, 3))
        problem = problem if seed % 3 else with_costs(problem, seed)
        result = SOLVER.solve(problem, objective, **switches)
        assert result.cost == result.lower_bound == solvers.get("exhaustive").solve(problem, objective).cost


def test_a_multiway_split_buys_many_leaves_for_one_penalty():
    """B4 counts classes for binary splits only: one split on four parts names four classes here."""
    codes = np.repeat(np.arange(4), 5)[:, None]
    result = check("optree", make(codes, codes[:, 0], [4], 4), Objective.of("0.1"))
    assert (result.tree.n_splits, result.cost_in_rows) == (1, 2)


def listed_problem(seed, most_rows=60, n_columns=None):
    """Make a problem with a decision list as its truth, with noise; columns are often nested."""
    random = np.random.RandomState(seed)
    n, n_columns, classes = random.randint(6, most_rows + 1), n_columns or 4 + seed % 4, random.choice([2, 2, 2, 3, 4])
    columns = []
    while len(columns) < n_columns:
        values = random.randint(6, size=n)
        cuts = random.choice(5, random.randint(1, 4), replace=False)
        columns += [(values <= cut) ^ random.randint(2) for cut in cuts]
    codes = np.array(columns).T.astype(int)
    y, sorted_out = np.full(n, classes - 1), np.zeros(n, bool)
    for column in random.permutation(codes.shape[1])[: random.randint(1, 6)]:
        cell = (codes[:, column] == random.randint(2)) & ~sorted_out
        y[cell], sorted_out = random.randint(classes), sorted_out | cell
    noise = random.random_sample(n) < random.choice([0, 0.05, 0.15, 0.3])
    weights = random.randint(1, 5, n) if seed % 3 == 0 else None
    return make(codes, np.where(noise, random.randint(classes, size=n), y), [2] * len(columns), classes, weights)


@pytest.mark.slow
def test_rows_sorted_out_cell_by_cell(few_features):
    """Where a small cell after another is cut off, bounds of two splits and contained cells have most to say."""
    for seed in seeds(700, 10):
        problem = listed_problem(seed)
        value = ["0.002", "0.01", "0.03", "0.05", f"{1 + seed % 3}/{2 * problem.total_weight}"][seed % 5]
        check("optree", problem, Objective.of(value, ["split", "leaf"][seed % 2]))


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize("off", ["cover_bound", "contained"])
def test_what_bounds_spare(off, few_features):
    """On larger problems of that kind these spare visits (B7 spares pairs), and the optimum is the same."""
    spared = 0
    for seed in range(40):
        problem, objective = listed_problem(seed, 600, 12), Objective.of("0.002")
        on, without = SOLVER.solve(problem, objective), SOLVER.solve(problem, objective, **{off: False})
        assert on.cost == without.cost == on.lower_bound == without.lower_bound
        spared += without.counters["iterations"] - on.counters["iterations"]
    assert spared > 0


@compiled_only
@pytest.mark.parametrize(
    ("name", "encoding", "regularization", "objective", "splits"),
    [
        ("tic-tac-toe", "first", "0.005", 0.85072, 19),
        ("tic-tac-toe", "last", "0.005", 0.84259, 20),
        ("tic-tac-toe", "none", "0.005", 0.85072, 19),
        ("tic-tac-toe", "none", "0.02", 0.70167, None),  # 0.318330 with a penalty per leaf; elsewhere 0.324593
        ("tic-tac-toe", "first", "0.02", 0.70167, None),
        ("tic-tac-toe", "ordinal", "0.005", 0.773038, 17),
        ("balance-scale-576", "first", "0.01", 0.69347, None),
        ("balance-scale-576", "last", "0.01", 0.78896, None),
        ("balance-scale", "first", "0.01", 0.6344, 6),
        ("balance-scale", "ordinal", "0.01", 0.6716, 5),
    ],
)
def test_known_optima(name, encoding, regularization, objective, splits):
    problem = embedded(name, encoding)
    result = SOLVER.solve(problem, Objective.of(regularization))
    assert result.status == "optimal"
    assert 1 - float(result.cost_in_rows) / problem.total_weight == pytest.approx(objective, abs=6e-6)
    assert splits in (None, result.tree.n_splits)


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize(
    ("file", "regularization", "objective"),
    [
        ("lymph-f", "0.01", 0.82595),
        ("lymph-f", "0.02", 0.76486),
        ("lymph-o", "0.01", 0.85270),
        ("zoo-f", "0.001", 0.99200),
        ("nursery-f", "0.01", 0.77259),
        ("nursery-o", "0.01", 0.8221),
        ("mushroom-f", "0.01", 0.94523),
        ("mushroom-o", "0.01", 0.9752),
        ("krvskp", "0.01", 0.90086),
        ("careval-f", "0.005", 0.79921),
        ("monk2-f", "0.001", 0.93300),
        ("monk2-o", "0.001", 0.9550),
    ],
)
def test_the_optima_of_the_papers_files(file, regularization, objective, mirror_dir):
    path = next(mirror_dir.rglob(f"preprocessed/{file}.txt*"))
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as lines:
        table = np.loadtxt(lines, np.int64)
    codes, y = table[:, :-1] - table[:, :-1].min(axis=0), table[:, -1] - table[:, -1].min()
    result = SOLVER.solve(
        make(codes, y, np.maximum(2, codes.max(axis=0) + 1), y.max() + 1), Objective.of(regularization)
    )
    assert result.status == "optimal"
    assert 1 - float(result.cost_in_rows) / len(y) == pytest.approx(objective, abs=5e-5)


def test_stopped_anywhere_the_interval_holds_the_optimum(few_features):
    for seed in seeds(60, 3):
        problem, objective = harder_problem(seed), random_objective(seed, 30)
        best = solvers.get("exhaustive").solve(problem, objective).cost
        for iterations in (0, 1, 2, 3, 5, 8, 13):
            result = SOLVER.solve(problem, objective, Budget(iterations=iterations))
            assert result.lower_bound <= best <= result.cost
            assert result.cost == objective.cost(result.tree, result.scale, result.tree.errors(problem))


@pytest.mark.parametrize("penalty", ["leaf", "split"])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 2}, {"max_splits": 3}])
def test_splits_that_cost_nothing_and_part_nothing_end(penalty, limits):
    """Splits into several parts, all but one of which are empty further down, could go on for ever for nothing."""
    objective = Objective.of(0, penalty, **limits)
    for seed in seeds(100, 10):
        random = np.random.RandomState(seed)
        n_parts = random.choice([2, 3, 4], random.randint(2, 6))
        codes = (random.rand(random.randint(4, 30), len(n_parts)) * n_parts).astype(int)
        problem = make(codes, random.randint(3, size=len(codes)), list(n_parts), 3)
        result = SOLVER.solve(problem, objective, Budget(iterations=100_000))
        assert result.status == "optimal"
        assert result.cost == solvers.get("exhaustive").solve(problem, objective).cost


def test_tables_that_grow_many_times_hold_the_same_search(monkeypatch):
    grown = []

    def count(*arguments):
        grown.append(1)
        return grow(*arguments)

    roomy_memo, roomy_stack, grow = memo.new_memo, engine_tables.new_stack, memo.grow
    objective = Objective.of("0.01")
    expected = [SOLVER.solve(harder_problem(seed), objective) for seed in range(20)]
    monkeypatch.setattr(memo, "new_memo", lambda words, kind: roomy_memo(words, 2, kind))
    monkeypatch.setattr(engine_tables, "new_stack", lambda data, left: roomy_stack(data, left, depth=2))
    monkeypatch.setattr(memo, "grow", count)
    for seed, before in enumerate(expected):
        result = SOLVER.solve(harder_problem(seed), objective)
        assert (result.counters, result.tree.to_dict()) == (before.counters, before.tree.to_dict())
    assert len(grown) > 20


def test_sets_with_equal_hashes_are_told_apart(monkeypatch):
    """With all salts equal to zero every set of rows has the same hash: only the exact comparison separates them."""
    make_layout = engine_search.layout

    def without_salt(*given, **rest):
        data = make_layout(*given, **rest)
        return data and data._replace(salt=data.salt * 0)

    monkeypatch.setattr(engine_search, "layout", without_salt)
    for seed in seeds(40, 4):
        check("optree", random_problem(seed), Objective.of("0.02"))


def test_bounds_found_in_registers_are_those_from_tables():
    """Costs of one for each error are the same problem, but its bounds come from tables of counts (and B5 is off)."""
    for seed in seeds(300, 20):
        problem = random_problem(seed)
        costs = 1 - np.eye(len(problem.classes), dtype=np.int64)
        for penalty in ("split", "leaf") if max(problem.n_parts) == 2 else ("split",):
            plain, priced = (
                SOLVER.solve(one, Objective.of("0.02", penalty), cover_bound=False)
                for one in (problem, problem.with_costs(costs, problem.unit))
            )
            assert (plain.cost, plain.counters) == (priced.cost, priced.counters)


@pytest.mark.skipif(not COMPILED, reason="about compilation")
def test_a_part_of_a_kernel_is_not_called_from_python():
    with pytest.raises(KeyError, match="sort_by can be called by kernels only"):
        sort_by(np.arange(3), np.arange(3), 3)


def test_counting_bits_is_what_it_says():
    random = np.random.RandomState(0)
    for words, width in ((1, 8), (3, 48), (17, 16)):
        table = random.randint(0, 2**63 - 1, words * width, np.int64).astype(np.uint64)
        out = np.arange(width)
        bits.add_counts(table, width, 5, words // 2, words, 3, out)
        rows = table.reshape(words, width)[words // 2 :]
        expected = np.arange(width) + 3 * np.bitwise_count(rows & rows[:, 5:6]).sum(axis=0)
        assert (out == expected).all()


@pytest.mark.slow
@compiled_only
@pytest.mark.parametrize(("kind", "factor"), [("int32", 2**14), ("int64", 2**30)])
def test_numbers_of_any_width_lead_to_the_same_search(kind, factor, few_features, monkeypatch):
    for seed in seeds(200, 0):
        problem = harder_problem(seed)
        problem = replace(problem, weights=np.minimum(problem.weights, 300))
        heavy = replace(problem, weights=problem.weights * factor)
        objective = Objective.of(f"1/{2 * len(problem.y)}", max_depth=[None, 3][seed % 2])
        expected = SOLVER.solve(problem, objective, by_depth=False)
        found = SOLVER.solve(heavy, objective, by_depth=False)
        assert found.cost_in_rows == factor * expected.cost_in_rows, seed
        if (data := layout(problem)) is not None:
            assert (data.kind, layout(heavy).kind) == ("int16", kind), seed
        with monkeypatch.context() as patched:
            patched.setattr(Layout, "kind", np.dtype(kind))
            found = SOLVER.solve(problem, objective, by_depth=False)
        assert found.counters == expected.counters, seed
        assert found.tree.feature.tolist() == expected.tree.feature.tolist(), seed


def test_the_layout_counts_every_row_and_every_unavoidable_error():
    for seed in range(50):
        problem, counted = harder_problem(seed), seed % 3 == 0
        data = layout(problem, counted)
        if data is None:
            continue
        held = np.bitwise_count(data.rows[-1]).astype(int)
        counts = np.zeros(data.n_classes + data.n_totals, np.int64)
        for first, last, number in data.blocks[:, :3]:
            for term in range(data.first_term[number], data.first_term[number + 1]):
                counts[data.target[term]] += held[first:last].sum() * data.factor[term]
        groups = problem.groups.weights
        assert counts[: data.n_classes].tolist() == [int(w) for w in groups.sum(axis=0) if w]
        assert counts[-1] == groups.sum() - groups.max(axis=1).sum()
        if counted:
            assert counts[-3:-1].tolist() == [problem.total_weight, (problem.weights > 0).sum()]


@compiled_only
def test_limits_on_splits_agree_with_the_trees_along_lambda():
    """A tree that is optimal at some lambda is the best of its number of splits, at every lambda."""
    problem, objective = embedded("tic-tac-toe", "first"), Objective.of("0.005")
    for stretch in lambda_path(problem, objective).stretches[1:]:
        result = SOLVER.solve(problem, replace(objective, max_splits=stretch.paid))
        assert (result.status, result.tree.n_splits) == ("optimal", stretch.paid)
        assert result.tree.errors(problem) == stretch.loss


def test_a_visit_that_is_ended_by_the_clock_leaves_true_bounds(monkeypatch):
    """On thousands of columns a visit may take longer than limits allow, so the clock ends it from outside."""

    @contextmanager
    def ring_at_once(clock, ring):
        ring()
        yield

    monkeypatch.setattr(Clock, "alarm", ring_at_once)
    monkeypatch.setattr(engine_search.Search, "_slice", lambda self: 1)
    for seed in seeds(100, 3):
        problem, objective = harder_problem(seed), random_objective(seed, 30, splits=[None, 3][seed % 2])
        best = solvers.get("exhaustive").solve(problem, objective).cost
        result = SOLVER.solve(problem, objective, Budget(seconds=0.01))
        assert result.lower_bound <= best <= result.cost
        assert not objective.broken(result.tree, problem)


@compiled_only
def test_the_clock_ends_a_long_visit():
    problem = noise(200, 6000)
    result = SOLVER.solve(problem, Objective.of("0.01"), Budget(seconds=0.5))
    assert result.status == "time_limit"
    assert result.counters["iterations"] < 50
    assert result.lower_bound < result.cost
