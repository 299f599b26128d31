"""BRANCHES: the paper's numbers on the embedded data, memory that grows, and equal hashes."""

from __future__ import annotations

import numpy as np
import pytest
from support.problems import random_problem
from support.real_data import embedded

from optree import solvers
from optree.objective import Objective
from optree.solvers.branches import solver as branches

SOLVER = solvers.get("branches")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "encoding", "regularization", "objective", "splits", "paper_iterations"),
    [
        ("tic-tac-toe", "first", "0.005", 0.85072, 19, 260_000),
        ("tic-tac-toe", "last", "0.005", 0.84259, 20, None),
        ("tic-tac-toe", "ordinal", "0.005", 0.773038, 17, 3479),
        ("balance-scale-576", "first", "0.01", 0.69347, None, 300_000),
        ("balance-scale-576", "ordinal", "0.01", 0.73424, 8, None),
        ("balance-scale", "ordinal", "0.01", 0.6716, 5, None),
        ("balance-scale", "ordinal", "0.005", 0.7132, 10, None),
    ],
)
def test_the_papers_objective_in_at_most_the_papers_iterations(
    name, encoding, regularization, objective, splits, paper_iterations
):
    problem = embedded(name, encoding)
    result = SOLVER.solve(problem, Objective.of(regularization))
    assert result.status == "optimal"
    assert 1 - float(result.cost_in_rows) / problem.total_weight == pytest.approx(objective, abs=6e-6)
    assert splits in (None, result.tree.n_splits)
    assert paper_iterations is None or result.counters["iterations"] <= paper_iterations


def test_a_store_that_grows_many_times_holds_the_same_search(monkeypatch):
    grown = []

    def small(data, *rest):
        store = roomy(data, *rest)
        for name in ("branch", "split", "bound", "child"):  # as small as an expansion allows
            getattr(store, name).resize(2 * len(data.salt), refcheck=False)
        store.clauses.resize(2 * len(data.salt) * len(data.offset), refcheck=False)
        slots = np.full(4 << len(data.salt).bit_length(), -1, np.int64)
        slots[0] = 0
        return store._replace(slots=slots)

    def count(search, code):
        grown.append(len(search.store.branch))
        return room(search, code)

    roomy, room = branches._new_store, branches.Search.room
    problem, objective = embedded("tic-tac-toe", "ordinal"), Objective.of("0.005")
    expected = SOLVER.solve(problem, objective)
    monkeypatch.setattr(branches, "_new_store", small)
    monkeypatch.setattr(branches.Search, "room", count)
    result = SOLVER.solve(problem, objective)
    assert len(grown) > 5
    assert (result.counters, result.tree.to_dict()) == (expected.counters, expected.tree.to_dict())


def test_branches_with_equal_hashes_are_told_apart(monkeypatch):
    """With all salts equal to zero every branch has the same hash: only the exact comparison separates them."""
    data = branches._data
    monkeypatch.setattr(branches, "_data", lambda *args: data(*args)._replace(salt=data(*args).salt * 0))
    for seed in range(30):
        problem, objective = random_problem(seed), Objective.of("0.02")
        assert SOLVER.solve(problem, objective).cost == solvers.get("exhaustive").solve(problem, objective).cost
