"""What every registered solver promises, a new one included: all checks follow from its declaration.

One solver: `python -m pytest tests/solvers/test_conformance.py -k "[NAME"`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from support import ROOT
from support.declared import LIMITS, MEASURES, PROGRAMS, check_result, draw, measures, objective, optimum
from support.modes import COMPILED, compiled_only, seeds
from support.problems import make, noise
from support.refusal import refused

from optree import solvers
from optree.budget import Budget, Clock, Pace, peak_rss_mib, rss_mib
from optree.objective import PENALTIES, Objective

SOLVERS = [solvers.get(name) for name in solvers.names()]
EXACT = [solver for solver in SOLVERS if solver.exact]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
every_exact_solver = pytest.mark.parametrize("solver", EXACT, ids=lambda solver: solver.name)
TOY = make([[0], [1]], [0, 1], [2], 2)
MIDDLING, LONG = noise(60, 8), noise(1000, 60)
MIDDLING_OF = dict.fromkeys(PROGRAMS, noise(20, 4))
EDGES = {
    "one row": make([[0, 1]], [0], [2, 2], 2),
    "one class": make([[0], [1], [1]], [0, 0, 0], [2], 1),
    "one class of two": make([[0], [1], [1]], [1, 1, 1], [2], 2),
    "constant features": make([[0, 1]] * 6, [0, 1] * 3, [2, 2], 2),
}
# Kernels with a signature for each of two kinds of problems: with and without a limit on splits, few and many rows.
SPECIALISED = {
    "optree": {"optree.solvers.engine.depth_first.search": 2},
    "murtree": {"optree.solvers.murtree.binary_columns.pack_columns": 2},
}
# Promises that are broken, and how; an entry is removed when its test passes.
BROKEN = {
    "test_undeclared_parameters_are_refused[cart]": "the error of an unknown criterion is scikit-learn's",
}


@pytest.fixture(autouse=True)
def broken(request):
    """Expect the failures of :data:`BROKEN`."""
    if reason := BROKEN.get(request.node.name):
        request.node.add_marker(pytest.mark.xfail(reason=reason))


@every_solver
def test_a_solver_declares_itself(solver):
    assert solver.name in solvers.names()
    assert solver.title
    assert solver.paper
    assert solver.iteration
    assert set(solver.features) <= {"binary", "multiway", "numeric"}
    assert set(solver.penalties) <= set(PENALTIES)
    assert set(solver.constraints) <= {*LIMITS, "costs", "feature_costs"}
    assert set(solver.needs) <= set(solver.constraints)
    assert set(solver.measures) <= set(MEASURES)
    assert all(isinstance(parameter.default, parameter.type) for parameter in solver.parameters.values())


def refuses(solver, problem=TOY, wanted=None, words=(), **options):
    """Check that a solver refuses a problem, an objective or an option in one line, before its search begins."""
    idle = replace(solver, run=lambda *_, **__: pytest.fail(f"{solver.name} begins to search"))
    with refused(f"solver {solver.name}: ", *words):
        idle.solve(problem, wanted or objective(solver), **options)


@every_solver
def test_undeclared_kinds_of_problems_are_refused(solver):
    if "multiway" not in solver.features:
        refuses(solver, make([[0], [2]], [0, 1], [3], 2), words=["3 categories"])
    if "costs" not in solver.constraints:
        refuses(solver, make([[0], [1]], [0, 1], [2], 2, costs=[[0, 2], [1, 0]]), words=["costs"])
    refuses(solver, make([[0], [-1]], [0, 1], [2], 2), words=["training rows have code -1"])


@every_solver
def test_undeclared_objectives_are_refused(solver):
    for penalty in set(PENALTIES).difference(solver.penalties) if solver.penalties else ():
        refuses(solver, wanted=objective(solver, penalty=penalty), words=["penalty", repr(penalty)])
    if not solver.penalties:
        refuses(solver, wanted=replace(objective(solver), regularization=Objective.of("0.1").regularization))
    for name in set(LIMITS).difference(solver.constraints):
        refuses(solver, wanted=objective(solver, **{name: LIMITS[name]}), words=[f"{name} = {LIMITS[name]}"])
    if "feature_costs" not in solver.constraints:
        refuses(solver, wanted=objective(solver, feature_costs={"x0": "0.1"}), words=["feature_costs"])
    for name in solver.needs:
        refuses(solver, wanted=replace(objective(solver), **{name: None}), words=[f"{name} = None"])
    for name in set(MEASURES).difference(measures(solver)):
        refuses(solver, wanted=objective(solver, measure=MEASURES[name]), words=["measure", name])


@every_solver
def test_undeclared_parameters_are_refused(solver):
    refuses(solver, words=["'nonsense'", *sorted(solver.parameters)], nonsense=1)
    for name, parameter in solver.parameters.items():
        refuses(solver, words=[f"{name} = None", parameter.type.__name__], **{name: None})
        if parameter.type is str:
            with refused(f"solver {solver.name}: {name}", "'nonsense'"):
                solver.solve(TOY, objective(solver), **{name: "nonsense"})
    if not solver.warm_start:
        refuses(solver, upper_bound=1, words=["an upper bound to start from"])


def holds_the_optimum(solver, problem, result, optimum):
    """Check bound and cost; a heuristic that groups the categories of features has more trees than the oracle."""
    if solver.exact or max(problem.n_parts) == 2:
        assert (result.lower_bound or 0) <= optimum <= result.cost


@every_solver
def test_the_tree_attains_its_cost_and_only_the_optimum_is_proven(solver):
    for seed in seeds(120, 12):
        problem, wanted = draw(solver, seed)
        result = solver.solve(problem, wanted)
        check_result(solver, problem, wanted, result)
        holds_the_optimum(solver, problem, result, optimum(problem, wanted))
        assert result.status == "optimal" or not solver.exact


@every_solver
def test_stopped_at_any_iteration_the_interval_holds_the_optimum(solver):
    """The first tree, the end of a search and the reading of its tree may take one iteration more."""
    for seed in seeds(12, 3):
        problem, wanted = draw(solver, seed)
        best = optimum(problem, wanted)
        for iterations in (0, 1, 2, 3, 5, 8, 13, 50):
            result = solver.solve(problem, wanted, Budget(iterations=iterations))
            check_result(solver, problem, wanted, result)
            holds_the_optimum(solver, problem, result, best)
            if solver.anytime:
                assert result.counters["iterations"] <= iterations + 1
                assert result.status in ("iteration_limit", "optimal", "heuristic")


@every_exact_solver
def test_more_iterations_never_give_a_worse_tree_or_bound(solver):
    wanted, limits = objective(solver, "0.01"), (0, 1, 10, 30, 100, 300, 1000)
    middling = MIDDLING_OF.get(solver.name, MIDDLING)
    results = [solver.solve(middling, wanted, Budget(iterations=limit)) for limit in limits[: len(seeds(7, 4))]]
    costs, bounds = [result.cost for result in results], [result.lower_bound for result in results]
    assert costs == sorted(costs, reverse=True)
    assert bounds == sorted(bounds)


@every_solver
@pytest.mark.parametrize("edge", EDGES.values(), ids=EDGES)
def test_edges_need_no_search(solver, edge):
    """One row, one class, constant features, equal rows of two classes: a leaf is optimal."""
    if "accuracy" not in solver.measures and len(edge.classes) == 1:
        pytest.skip("the measure is for two classes")
    for depth in (0, 3, 9):
        wanted = objective(solver, depth=depth)
        result = solver.solve(edge, wanted)
        check_result(solver, edge, wanted, result)
        assert result.tree.n_nodes == 1
        assert (result.status == "optimal") or not solver.exact


def same(result, expected):
    """Check that two searches were the same search."""
    assert result.tree.to_dict() == expected.tree.to_dict()
    assert (result.cost, result.lower_bound) == (expected.cost, expected.lower_bound)
    assert (result.status, result.counters) == (expected.status, expected.counters)


@every_solver
def test_two_searches_in_slices_of_any_size_are_the_same_search(solver, monkeypatch):
    cases = [draw(solver, seed) for seed in seeds(20, 3)]
    middling = MIDDLING_OF.get(solver.name, MIDDLING)
    cases.append((middling, objective(solver, "0.01"), Budget(iterations=len(seeds(300, 60)))))
    expected = [solver.solve(*case) for case in cases]
    for case, result in zip(cases, expected, strict=True):
        same(solver.solve(*case), result)
    monkeypatch.setattr(Pace, "next", lambda self, iterations: 1)
    for case, result in zip(cases, expected, strict=True):
        same(solver.solve(*case), result)


def hard(solver):
    """Return the objective for which LONG takes an exact search minutes; the kernels for it are compiled or loaded."""
    wanted = objective(solver, "0.0005", depth=7)
    solver.solve(LONG, wanted, Budget(iterations=2, seconds=1))
    return wanted


def ended(solver, wanted, status, **limits):
    """Search within limits; the result is that of this limit, or of a heuristic that ended before."""
    result = solver.solve(LONG, wanted, Budget(**limits))
    check_result(solver, LONG, wanted, result)
    assert result.status == status or (not solver.exact and result.status == "heuristic")
    return result


@compiled_only
@every_solver
def test_limits_are_kept_and_leave_a_tree_and_a_bound(solver):
    wanted = hard(solver)
    assert ended(solver, wanted, "time_limit", seconds=0.2).search_seconds < 10  # .22 on an idle machine
    none = [ended(solver, wanted, "time_limit", seconds=0), ended(solver, wanted, "memory_limit", memory_mib=1)]
    result = ended(solver, wanted, "iteration_limit", iterations=5)
    if solver.anytime:
        assert [one.status for one in none] == ["time_limit", "memory_limit"]
        assert result.counters["iterations"] <= 5


@compiled_only
@every_solver
def test_no_more_memory_is_held_than_is_allowed(solver):
    """The allocator adds some MiB at times, so the least of three peaks counts."""
    wanted, above = hard(solver), []
    solver.solve(LONG, wanted, Budget(iterations=1))  # loads the kernels, which are no memory of the search
    while len(above) < 3 and min(above, default=8) >= 8:
        allowed = rss_mib() + 8
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak is taken anew
        except OSError:
            pytest.skip("the peak of memory cannot be reset on this system")
        result = solver.solve(LONG, wanted, Budget(seconds=1, memory_mib=allowed))
        check_result(solver, LONG, wanted, result)
        assert result.status in ("memory_limit", "time_limit") or not solver.exact
        above.append(peak_rss_mib() - allowed)
    assert min(above) < 8


@every_solver
@pytest.mark.parametrize("after", [1, 2, 4])
def test_ctrl_c_between_slices_leaves_a_tree_and_a_bound(solver, after, monkeypatch):
    """As the search asks for limits: the first time, and after a few slices. Before any iteration, Ctrl-C is raised."""
    asked, limit = [], Clock.limit

    def interrupted(self, iterations, *arguments):
        asked.append(iterations)
        if len(asked) == after:
            raise KeyboardInterrupt
        return limit(self, iterations, *arguments)

    monkeypatch.setattr(Pace, "next", lambda self, iterations: 5)
    monkeypatch.setattr(Clock, "limit", interrupted)
    problem = LONG if COMPILED else noise(200, 12)
    wanted = objective(solver, "0.0005", depth=7)
    try:
        result = solver.solve(problem, wanted, Budget(iterations=200))
    except KeyboardInterrupt:
        assert len(asked) == after
        assert asked[-1] == 0
        return
    check_result(solver, problem, wanted, result)
    if len(asked) >= after:
        assert result.status == "interrupted"
    assert not solver.anytime or len(asked) >= after


@compiled_only
@every_exact_solver
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_search_with_what_it_has(solver, monkeypatch):
    """A signal comes .2 s after the first iterations; before them Ctrl-C would be raised."""
    wanted, limit = hard(solver), Clock.limit
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])

    def begun(self, iterations, *arguments):
        if iterations and timer.ident is None:
            timer.start()
        return limit(self, iterations, *arguments)

    monkeypatch.setattr(Clock, "limit", begun)
    result = solver.solve(LONG, wanted, Budget(seconds=60))
    timer.join()
    check_result(solver, LONG, wanted, result)
    assert result.status == "interrupted"
    assert result.lower_bound < result.cost
    assert result.search_seconds < 10


def in_two_processes(names: list[str], **settings: str) -> list[dict]:
    """Return the results of some solvers in two fresh processes that share a cache of compiled kernels."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"} | settings
    command, said = [sys.executable, "-m", "support.fresh_process", *names], []
    for _ in range(2):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        lines = {line["solver"]: line for line in map(json.loads, done.stdout.splitlines())}
        assert done.returncode == 0, f"after {list(lines)}: {done.stderr}"
        said.append(lines)
    return said


@pytest.fixture(scope="module")
def processes(request) -> list[dict]:
    """Return the results of all solvers that are tested, in two processes."""
    chosen = [item.callspec.params["solver"].name for item in request.session.items if "processes" in item.fixturenames]
    return in_two_processes(chosen)


def check_second(name: str, first: dict, second: dict) -> None:
    """Check that the second process compiles nothing, and that each kernel has one signature."""
    assert first[name]["results"] == second[name]["results"]
    assert second[name]["compiled"] == 0
    assert second[name]["signatures"] == SPECIALISED.get(name, {})


@compiled_only
@every_solver
def test_a_second_process_loads_what_the_first_compiled(solver, processes):
    check_second(solver.name, *processes)


@compiled_only
@pytest.mark.slow
def test_a_process_with_an_empty_cache_compiles_for_the_next_one(tmp_path):
    first, second = in_two_processes(["branches"], NUMBA_CACHE_DIR=str(tmp_path))
    assert first["branches"]["compiled"] > 0
    check_second("branches", first, second)
