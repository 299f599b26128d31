"""The registry, its errors, its imports, and searches that compile."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest
from numba import njit
from support.modes import COMPILED
from support.problems import make

from optree import solvers
from optree.bench.runs import solve as bench_solve
from optree.bench.runs.record import Run
from optree.errors import OptreeError
from optree.objective import Objective


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: solvers.get("brnaches"),
            f"algorithm: 'brnaches' is not known; accepted: {', '.join(solvers.names())}",
        ),
        (lambda: solve("branches", depth=3), "solver branches: parameter: 'depth' is not known; accepted: none"),
        (lambda: solve("cart", criterion=2), "solver cart: criterion = 2 is not accepted; give str"),
        (lambda: solve("branches", "leaf"), "solver branches: penalty: 'leaf' is not known; accepted: split"),
        (lambda: solve("murtree"), "solver murtree: max_depth = None is not accepted; give a whole number >= 0"),
        (lambda: solve("dl85"), "solver dl85: regularization = 1/10 is not accepted; give 0"),
        (
            lambda: solve("cart", parts=3),
            "solver cart: features of 3 categories are not accepted; use a binary encoding",
        ),
    ],
)
def test_what_a_solver_cannot_do_is_refused_before_any_work(call, message):
    with pytest.raises(OptreeError) as caught:
        call()
    assert str(caught.value) == message


def solve(name, penalty="split", parts=2, **parameters):
    problem = make([[0], [1]], [0, 1], [parts], 2)
    return solvers.get(name).solve(problem, Objective.of("0.1", penalty), **parameters)


def test_a_search_that_compiles_does_not_count():
    kernel, searched, told = njit(lambda x: x + 1), [], []

    class Compiling:
        def solve(self, train, objective, budget, seed, **parameters):
            searched.append(kernel(seed))
            return solve("cart")

    problem = make([[0], [1]], [0, 1], [2], 2)
    run = Run("toy", "binary", "cart", "cart", "0.1", repeats=2)
    results, calls = bench_solve._search(Compiling(), problem, Objective.of("0.1"), run, told.append)
    assert len(results) == len(calls) == 2
    assert len(searched) == (3 if COMPILED else 2)
    assert [event["event"] for event in told][-4:] == ["search", "answer"] * 2


def test_a_cold_start_rehearses_and_a_warm_one_does_not():
    kernel, budgets = njit(lambda x: x + 2), []

    class Compiling:
        def solve(self, train, objective, budget, **parameters):
            budgets.append(budget)
            kernel(1)

    problem, run = make([[0], [1]], [0, 1], [2], 2), Run("toy", "binary", "cart", "cart", "0.1")
    for _ in range(2):
        bench_solve._warm_up(Compiling(), problem, Objective.of("0.1"), run)
    assert [budget.iterations for budget in budgets] == ([1, None, 1] if COMPILED else [1, 1])


def test_a_solve_job_does_without_scikit_learn_and_pandas():
    code = (
        "import sys, optree, optree.bench.runs.solve, optree.solvers.branches.solver\n"
        "print([name for name in ('sklearn', 'pandas', 'matplotlib', 'snakemake') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_solvers_are_found_from_the_package_without_numba_or_another_import():
    code = (
        "import sys, optree\n"
        "assert 'optree' in optree.solvers.names() and 'numba' not in sys.modules\n"
        "print(optree.solvers.get('optree').name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "optree"


def test_every_folder_of_solvers_says_what_it_is_and_declares_what_it_holds():
    families = [import_module(f"optree.solvers.{one.name}") for one in iter_modules(solvers.__path__) if one.ispkg]
    assert all(family.__doc__ for family in families)
    declared = [(family.__name__, *pair) for family in families for pair in getattr(family, "SOLVERS", {}).items()]
    assert sorted(name for _, name, _ in declared) == solvers.names()
    for family, name, place in declared:
        module, _, variable = place.partition(":")
        assert getattr(import_module(f"{family}.{module}"), variable or "SOLVER") is solvers.get(name)
