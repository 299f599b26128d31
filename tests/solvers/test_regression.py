"""Regression trees: brute force, weights, limits, and what rounding the target may do."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeRegressor
from support.modes import COMPILED, compiled_only, seeds
from support.problems import binary_problem
from support.refusal import refused

from optree import MurTreeRegressor, solvers
from optree.budget import Budget
from optree.columns import CodedColumns, Feature
from optree.objective import Objective
from optree.problem import Problem
from optree.solvers.kernels.jit import kernel
from optree.solvers.murtree.all_limits import grid
from optree.solvers.murtree.binary_columns import pack
from optree.solvers.murtree.fast.pair_gains import near_gains
from optree.solvers.murtree.fast.pair_sums import make_groups
from optree.target import Grid, Values

MURTREE = solvers.get("murtree")


def least(codes, y, weights, depth, splits, price=0.0, memo=None):
    """Return the least squared error plus ``price`` per split over all trees, by brute force."""
    memo = {} if memo is None else memo

    def best(rows, depth, splits):
        key = rows.tobytes(), depth, splits
        if key not in memo:
            mean = np.average(y[rows], weights=weights[rows])
            memo[key] = (weights[rows] * (y[rows] - mean) ** 2).sum()
            for column in codes.T if depth and splits else ():
                parts = rows[column[rows] == 0], rows[column[rows] == 1]
                if all(map(len, parts)):
                    for share in range(splits):
                        shares = share, splits - 1 - share
                        below = [best(part, depth - 1, n) for part, n in zip(parts, shares, strict=True)]
                        memo[key] = min(memo[key], sum(below) + price)
        return memo[key]

    return best(np.arange(len(y)), depth, splits)


def least_units(problem, depth, splits, penalty):
    """Return the least cost in whole units of the grid, by brute force over sets of rows as whole numbers."""
    grid, codes = problem.target.grid(problem), problem.codes
    masks = [sum(1 << int(r) for r in np.flatnonzero(column)) for column in codes.T]
    weights, centred = grid.weights.astype(float), (grid.whole - grid.centre).astype(float)

    @cache
    def gain(rows):
        held = [r for r in range(len(codes)) if rows >> r & 1]
        total, weight = centred[held] @ weights[held], max(weights[held].sum(), 1.0)
        return int(np.floor(total * total / weight * (grid.fine * (1 - 2.0**-51))))

    @cache
    def best(rows, depth, splits):
        found = gain(rows)
        for mask in masks if depth and splits else ():
            if rows & mask and rows & ~mask:
                for below in range(splits if splits < 2**depth - 1 else 1):
                    first = below if splits < 2**depth - 1 else splits
                    second = splits - 1 - below if splits < 2**depth - 1 else splits
                    both = best(rows & mask, depth - 1, first) + best(rows & ~mask, depth - 1, second)
                    found = max(found, both - penalty)
        return found

    return grid.squares - best((1 << len(codes)) - 1, depth, 2**depth if splits is None else splits)


def hard_regression_problem(seed):
    """Return a problem of up to 90 rows: parity, ties, copies, complements, equal rows, weights of any size."""
    random = np.random.RandomState(seed)
    n, q = random.randint(2, 91 if seed % 4 == 0 else 31), random.randint(1, 9)
    codes = random.randint(2, size=(n, q))
    if q > 2 and random.randint(2):
        codes[:, 1], codes[:, 2] = 1 - codes[:, 0], codes[:, 0] & codes[:, 2]
    if random.randint(3) == 0:
        codes = codes[random.randint(max(1, n // 3), size=n)]
    y = [
        random.randn(n),
        codes[:, :3].sum(axis=1) % 2 * 1.0,
        random.randint(-3, 4, n) * 1.0,
        random.randn(n) ** 9,
        codes @ np.arange(q) + np.round(random.randn(n), 2),
    ][random.randint(5)]
    weights = [np.ones(n), random.randint(0, 4, n), random.randint(1, 1000, n) ** 3, 2 ** random.randint(0, 30, n)]
    weights = weights[random.randint(4)].astype(int)
    weights[0] = max(weights[0], 1)
    return Problem(binary_columns(codes), Values(y), weights)


def binary_columns(codes):
    return CodedColumns(codes, tuple(Feature(f"x{j}", ("0", "1")) for j in range(codes.shape[1])))


def regression_problem(seed):
    """Noise, small whole numbers with ties, decimals, a function of the columns; whole weights or none."""
    problem, random = binary_problem(seed), np.random.RandomState(seed)
    codes, n = problem.codes, len(problem.y)
    y = [
        random.randn(n),
        random.randint(0, 9, n).astype(float),
        np.round(random.randn(n) * 5, 2),
        codes[:, 0] * 3.0 + codes[:, -1] * codes[:, 1] + 0.1 * random.randn(n) + 1e4,
    ][seed % 4]
    return problem, y, random.randint(1, 4, n) if seed % 3 else np.ones(n, int)


def some_limits(seed):
    random = np.random.RandomState(seed)
    return int(random.randint(5)), None if random.randint(2) else int(random.randint(8))


@pytest.mark.slow
def test_the_least_squared_error():
    for seed in seeds(120, 12):
        (problem, y, weights), (depth, splits) = regression_problem(seed), some_limits(seed)
        share = ["0", "0", "0.03"][seed % 3]
        valued = Problem(problem.columns, Values(y), weights)
        found = MURTREE.solve(valued, Objective.of(share, "split", depth, splits))
        total = least(problem.codes, y, weights, 0, 0)
        price = float(share) * total
        most = min(len(y) - 1, 2**depth - 1) if splits is None else splits
        best = least(problem.codes, y, weights, depth, most, price)
        assert found.status == "optimal"
        assert found.cost == found.lower_bound
        grid = valued.target.grid(valued)
        step, of_a_leaf = 0 if grid.exact else grid.step, float(valued.target.whole_loss(valued))
        moved = step * weights.sum() ** 0.5  # twice the change of a root by rounding
        squares = found.tree.loss(valued) + price * found.tree.n_splits
        for value, exact in ((float(found.cost_in_rows), best), (of_a_leaf, total), (squares, best)):
            if not exact and value == 1:  # all numbers are equal
                continue
            assert value == pytest.approx(exact, abs=moved * (2 * exact**0.5 + moved) + 1e-10 * total + 1e-10)
        assert squares >= best * (1 - 1e-12) - 1e-9
        assert found.tree.depth <= depth
        assert found.tree.n_splits <= most
        assert step == 0 or seed % 4 in (0, 3)


@pytest.mark.slow
def test_every_cost_is_the_least_in_whole_units():
    for seed in seeds(400, 6):
        problem, (depth, splits) = hard_regression_problem(seed), some_limits(seed)
        objective = Objective.of(["0", "0.001", "0.03", "0.2"][seed % 4], "split", depth, splits)
        found = MURTREE.solve(problem, objective)
        assert found.cost == found.lower_bound
        assert found.cost == least_units(problem, depth, splits, objective.scale(problem).penalty), seed


def test_stopped_anywhere_the_interval_holds_the_optimum():
    for seed in seeds(40, 2):
        problem, y, weights = regression_problem(seed)
        arguments = Problem(problem.columns, Values(y), weights), Objective.of(0, max_depth=4)
        best = MURTREE.solve(*arguments).cost
        for iterations in (0, 1, 2, 5, 20):
            found = MURTREE.solve(*arguments, Budget(iterations=iterations))
            assert found.lower_bound <= best <= found.cost
            squares, grid = found.tree.loss(arguments[0]), arguments[0].target.grid(arguments[0])
            assert float(found.cost_in_rows) == pytest.approx(squares, rel=1e-5, abs=len(y) * grid.step**2)


def test_the_paper_has_no_search_for_values():
    problem, y, weights = regression_problem(0)
    valued, objective = Problem(problem.columns, Values(y), weights), Objective.of(0, max_depth=2)
    for option in ({"search": "paper"}, {"fewest_splits": True}):
        with refused(f"solver murtree: {next(iter(option))} = ", "with a target of values"):
            MURTREE.solve(valued, objective, **option)
    with refused("solver dl85: target: 'values' is not known; accepted: classes"):
        solvers.get("dl85").solve(valued, objective)


def test_targets_on_a_grid_are_kept():
    weights = np.ones(4, int)
    whole = Grid.of(np.array([3.0, 9, 6, 3]), weights)
    assert (whole.start, whole.step, whole.exact) == (3, 3, True)
    assert Grid.of(np.array([0.1, 0.35, 0.2, 0.1]), weights).exact
    assert Grid.of(np.array([5.0] * 4), weights).whole.tolist() == [0] * 4
    for scale in (1e-300, 1e-3, 1e100):
        y = np.random.RandomState(0).randn(4) * scale
        rounded = Grid.of(y, weights)
        assert not rounded.exact
        assert np.abs(rounded.start + rounded.step * rounded.whole - y).max() <= 0.51 * rounded.step
        assert rounded.step < np.ptp(y) / 2**19


@compiled_only
def test_it_is_no_worse_than_greedy_on_the_same_splits():
    random = np.random.RandomState(0)
    X = random.random_sample((400, 5))
    y = np.sin(6 * X[:, 0]) * X[:, 1] + (X[:, 2] > X[:, 3]) + 0.1 * random.randn(400)
    for depth in (1, 2, 3, 4):
        model = MurTreeRegressor(depth, max_thresholds=6).fit(X, y)
        codes = model.encoder_.transform(X)
        greedy = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(codes, y)
        assert model.status_ == "optimal"
        assert model.score(X, y) >= greedy.score(codes, y) - 1e-9
        assert model.cost_ == pytest.approx(((y - model.predict(X)) ** 2).sum(), rel=1e-5)
        assert 0 < model.resolution_ < np.ptp(y) / 2**18


@pytest.mark.slow
def test_the_path_along_lambda_has_the_optimum_of_each():
    for seed in seeds(40, 2):
        (depth, splits), random = some_limits(seed), np.random.RandomState(seed)
        n, q = random.randint(20, 60), random.randint(2, 8)
        X, weights = random.randint(2, size=(n, q)), random.randint(1, 4, n)
        y = X[:, 0] * X[:, 1] + [random.randn(n), random.randint(5, size=n)][seed % 2]
        model = MurTreeRegressor(depth, max_splits=splits)
        path = model.lambda_path(X, y, weights)
        problem = Problem(binary_columns(X), Values(y), weights)
        ends, whole = [highest for highest, _ in path] + [0.0], float(problem.target.whole_loss(problem))
        for (highest, fitted), lowest in zip(path, ends[1:], strict=True):
            assert fitted.status_ == "optimal"
            for share in (highest, (highest + lowest) / 2, lowest):
                best = MurTreeRegressor(depth, max_splits=splits, regularization=share).fit(X, y, weights)
                cost = fitted.cost_ + (share - highest) * whole * fitted.tree_.n_splits
                assert cost == pytest.approx(best.cost_, rel=1e-6, abs=1e-6 * whole)
                assert fitted.resolution_ == best.resolution_


@pytest.mark.slow
def test_the_least_squared_error_of_all_limits():
    for seed in seeds(60, 2):
        problem, (depth, splits) = hard_regression_problem(seed), some_limits(seed)
        found = grid(problem, depth, splits)
        assert (found.loss == found.lower).all()
        for d, n in np.ndindex(found.loss.shape):
            assert found.loss[d, n] == least_units(problem, d, n, 0)


def test_weights_are_repeated_rows_and_rows_without_any_are_not_there():
    random = np.random.RandomState(1)
    X, y, weights = random.randint(2, size=(60, 5)), random.randint(50, size=60) / 10, random.randint(4, size=60) / 2
    model = MurTreeRegressor(3).fit(X, y, weights)
    rows = np.repeat(np.arange(60), (2 * weights).astype(int))
    again = MurTreeRegressor(3).fit(X[rows], y[rows])
    assert model.cost_ == pytest.approx(again.cost_ / 2, rel=1e-9)
    assert np.allclose(model.predict(X), again.predict(X))


def test_limits_and_bad_input():
    random = np.random.RandomState(0)
    X, y = random.randint(2, size=(200, 12)), random.randn(200)
    with pytest.warns(ConvergenceWarning, match="ended by its iteration_limit with a gap of 0"):
        model = MurTreeRegressor(5, iteration_limit=30).fit(X, y)
    assert model.lower_bound_ < model.cost_ < ((y - y.mean()) ** 2).sum()
    with refused("max_depth: -1 is not accepted; give a whole number >= 0"):
        MurTreeRegressor(-1).fit(X, y)
    with refused("y: 1 of 200 rows have NaN or inf"):
        MurTreeRegressor().fit(pd.DataFrame(X), np.where(np.arange(200) == 3, np.inf, y))
    assert MurTreeRegressor(2).fit(X, np.ones(200)).predict(X[:2]).tolist() == [1, 1]
    assert MurTreeRegressor(0).fit(X, y).tree_.n_splits == 0


def _near(bits, width, columns, runs, digits, sums, slices, tables, *rest):
    groups = make_groups(bits, width, runs[digits], sums, slices, tables)
    near_gains(bits, width, columns, runs, digits, slices, tables, groups, *rest)


if COMPILED:
    _near = kernel(_near)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
def test_near_gains_are_as_near_as_stated(kind):
    """Leaves of a few rows beside heavy ones, in a child of a node and in the rest of the node."""
    for seed in seeds(40, 4):
        random = np.random.RandomState(seed)
        n, q, f = random.randint(2, 200), random.randint(3, 20), 2
        codes = (random.rand(n, q) < random.rand(q)).astype(np.int8)
        most = 2**30 // n if kind == np.uint32 else 2**40
        sums = random.randint(-most, most, n) // random.choice([1, 1000, most], n)
        weights = random.randint(1, 1 + 2 ** random.randint(1, 24 if kind == np.uint32 else 40), n)
        codes[0, f - 1] = 1
        held = codes[:, f - 1] == 1
        data, size = pack(codes[held], weights[held, None], kind=kind), 8 * kind().itemsize
        width, tiles = len(data.bits) // len(data.group), (q + 4) // 4 * 4
        table = np.pad(np.column_stack([np.ones(n, int), codes]), ((0, 0), (0, width - q - 1)))
        node = np.stack([table.T @ (x[:, None] * table) for x in (weights, sums)])
        signed = np.dtype(f"i{kind().itemsize}")
        rows, at = np.unique(data.group, return_index=True)
        at, packed = at[rows >= 0], np.zeros(data.group.size + size, signed)
        packed[at] = sums[held]
        slices, tables = np.zeros(size * len(data.bits), signed), np.zeros(size * len(data.group) * 64, signed)
        factor, out, counts = 2.0**20, np.zeros(4 * width, np.float32), np.zeros(2 * width * width, signed)
        own, roots = node[:, f].astype(signed).ravel(), np.zeros(4 * width * 64 // signed.itemsize, np.float32)
        arrays = data.bits, width, tiles, data.runs, data.digits, packed, slices, tables
        _near(*arrays, own, node.astype(signed).ravel(), width * width, counts, roots, out)
        for c, m, j in np.ndindex(2, 2, q + 1):
            root = held if c == 0 else ~held
            root = root & (table[:, j] == m)
            gain = max(
                sum(
                    int(Fraction(int(sums[leaf].sum()) ** 2 * int(factor), max(1, int(weights[leaf].sum()))))
                    for leaf in (root & (column == 1), root & (column == 0))
                )
                for column in table[:, : q + 1].T
            )
            near = float(out[(2 * c + m) * width + j]) * factor
            assert near * (1 - 2.0**-12) - 2 <= gain <= near * (1 + 2.0**-12)
