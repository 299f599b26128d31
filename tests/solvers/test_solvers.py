"""The registry, what solvers declare, CART, and processes that share compiled kernels."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pkgutil import iter_modules

import pytest
from numba import njit
from support.modes import COMPILED
from support.problems import make, random_problem

from optree import solvers
from optree.bench.runs import solve as bench_solve
from optree.bench.runs.record import Run
from optree.errors import OptreeError
from optree.objective import Objective


def test_every_solver_declares_itself():
    assert {"branches", "cart", "exhaustive"} <= set(solvers.names())
    for name in solvers.names():
        solver = solvers.get(name)
        assert solver.name == name
        assert solver.title
        assert solver.paper
        assert solver.iteration
        assert set(solver.features) <= {"binary", "multiway"}


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
        (lambda: solve("cart", parts=3), "solver cart: features with 3 parts are not accepted; use a binary encoding"),
    ],
)
def test_what_a_solver_cannot_do_is_refused_before_any_work(call, message):
    with pytest.raises(OptreeError) as caught:
        call()
    assert str(caught.value) == message


def test_training_rows_of_an_unknown_category_are_refused():
    problem = make([[0], [-1]], [0, 1], [2], 2)
    for solver in map(solvers.get, solvers.names()):
        depth = 2 if "max_depth" in solver.constraints and "accuracy" in solver.measures else None
        penalty, measure = (solver.penalties or ("split",))[0], solver.measures[0].replace("f-beta", "f1")
        objective = Objective.of("0", penalty, max_depth=depth, measure=measure)
        with pytest.raises(OptreeError, match=f"solver {solver.name}: training rows have code -1"):
            solver.solve(problem, objective)


def solve(name, penalty="split", parts=2, **parameters):
    problem = make([[0], [1]], [0, 1], [parts], 2)
    return solvers.get(name).solve(problem, Objective.of("0.1", penalty), **parameters)


def test_cart_is_feasible_and_never_beats_the_optimum():
    for seed in range(150):
        problem = random_problem(seed)
        if max(problem.n_parts) > 2:
            continue
        for depth in (None, 0, 2):
            objective = Objective.of("0.02", max_depth=depth)
            result = solvers.get("cart").solve(problem, objective, seed=seed)
            best = solvers.get("exhaustive").solve(problem, objective)
            assert result.status == "heuristic"
            assert result.lower_bound is None
            assert result.cost >= best.cost
            assert depth is None or result.tree.depth <= depth


FRESH = """
import time
from optree import solvers
from optree.objective import Objective
start = time.perf_counter()
for seed in (1, 2):
    print(solvers.get("branches").solve(random_problem(seed), Objective.of("0.01")).cost)
from optree.solvers.branches import search as branch_search
from numba.core.dispatcher import Dispatcher
for name, kernel in vars(branch_search).items():
    if isinstance(kernel, Dispatcher):
        print(name, len(kernel.signatures), sum(kernel.stats.cache_misses.values()))
"""


def test_a_second_process_loads_what_the_first_compiled(tmp_path):
    """One signature per kernel; the cache of one process serves the next, and gives the same answers."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": "tests", "PATH": "/usr/bin:/bin"}
    runs = [
        subprocess.run([sys.executable, "-c", FRESH], env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    first, second = (run.stdout.split("\n") for run in runs)
    assert first[:2] == second[:2]
    kernels = [line.split() for line in second[2:] if line]
    assert len(kernels) > 5
    assert {(int(signatures), int(misses)) for _, signatures, misses in kernels if int(signatures)} == {(1, 0)}


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
    for family, name, module in declared:
        assert import_module(f"{family}.{module}").SOLVER is solvers.get(name)
