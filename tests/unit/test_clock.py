"""The clock of limits: it starts at the call of ``fit``, and stands still while kernels are compiled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from support import ROOT
from support.modes import compiled_only
from support.problems import random_problem

import optree
from optree import compilation, solvers
from optree.arrays import transposed
from optree.budget import Budget, Clock
from optree.compilation import Compilation
from optree.estimators.problems import TableEstimator
from optree.objective import Objective
from optree.result import Trace
from optree.solvers.dpdt import sampled


@pytest.fixture
def time(monkeypatch):
    """Replace the system's clock by one that the test sets: ``time.at``."""
    set_by_test = SimpleNamespace(at=100.0)
    set_by_test.perf_counter = lambda: set_by_test.at
    monkeypatch.setattr(compilation, "time", set_by_test)
    return set_by_test


@pytest.fixture
def process(monkeypatch):
    """Replace the compilation of this process by one that only the test begins and ends."""
    made = Compilation()
    for module in ("optree.compilation", "optree.budget"):
        monkeypatch.setattr(f"{module}.COMPILATION", made)
    return made


def test_the_clock_stands_still_from_the_first_begin_to_the_last_end(time, process):
    other = threading.Thread(target=process.begin)
    for at, event, seconds in (
        (101, process.begin, 0),
        (103, process.begin, 2),  # a compilation within another
        (104, process.end, 3),
        (105, lambda: (other.start(), other.join()), 4),  # in another thread, at the same time
        (107, process.end, 6),
        (110, lambda: None, 9),
    ):
        time.at = at
        event()
        assert process.seconds() == seconds
        assert process.now() == 101


def test_a_thread_that_starts_a_clock_is_not_compiling(time, process):
    """Ctrl-C may keep numba from saying that a compilation ended."""
    process.begin()
    time.at += 7
    clock = Budget(seconds=5).start()
    time.at += 5
    assert (clock.seconds(), clock.compile_seconds(), clock.limit(0)) == (5, 0, "time_limit")


def test_compilation_is_in_neither_preparation_nor_search_nor_limit(time, process):
    clock = Budget(seconds=10).start()

    def work(compiles: float, other: float) -> None:
        process.begin()
        time.at += compiles
        process.end()
        time.at += other

    work(100, 2)
    search = clock.start()
    work(200, 3)
    search.prepared()
    work(300, 4)
    assert search.limit(0) is None
    assert search.searched() == 4
    work(0, 1)
    assert (search.prepare_seconds, search.searched(), search.compile_seconds()) == (3, 4, 600)
    assert search.limit(0) == clock.limit(0) == "time_limit"


def test_a_running_clock_counts_the_iterations_of_searches_before():
    clock = Budget(iterations=10).start()
    assert clock.start(4).limit(5) is None
    assert clock.start(4).limit(6) == clock.start(11).limit(0) == "iteration_limit"
    assert clock.limit(9) is None


def test_the_alarm_does_not_ring_during_compilation(process):
    rang = threading.Event()
    with Clock(Budget(seconds=0.5)).alarm(rang.set):  # time enough for the next line on a busy machine
        process.begin()
        assert not rang.wait(0.8)
        process.end()
        assert rang.wait(10)


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_message_promises_later_fits_from_disk_only_where_machine_code_is_kept(time, process, caplog, is_kept):
    process.is_kept = is_kept
    process.begin()
    for _ in range(3):
        time.at += 2
        process.count()
    (message,) = caplog.messages
    assert "seconds" in message
    assert ("from disk" in message, "python -m optree.compile" in message) == (is_kept, is_kept)


def test_compilation_is_logged_apart_from_the_search(time, process):
    lines = []
    trace = Trace(Budget().start(), lines.append)
    trace.add(3, 1)
    process.begin()
    time.at += 8.9
    process.end()
    trace.add(2, 1)
    trace.add(1, 1)
    trace.end("optree", "optimal", 1, 1)
    assert lines == ["compiled for 8.9 s", "optree: optimal; 0.0 s, cost 1"]
    assert {point.seconds for point in trace.points()} == {0}


RANDOM = np.random.RandomState(0)
X, LABELS = RANDOM.randint(2, size=(400, 12)), RANDOM.randint(2, size=400)
SLOW = {
    "BranchesClassifier": {},
    "DL85Classifier": {},
    "DPDTreeClassifier": {},
    "DPDTreeRegressor": {},
    "GOSDTClassifier": {},
    "LicketySPLITClassifier": {},
    "MurTreeClassifier": {},
    "MurTreeRegressor": {},
    "OptimalTreeClassifier": {"max_depth": 3},
    "OptimalTreeRegressor": {"max_depth": 3},
    "SPLITClassifier": {},
}


@pytest.fixture
def slow_reading(monkeypatch, time):
    """Let the reading of the training rows take 100 seconds."""
    rows = TableEstimator._rows

    def read(self, *arguments, **options):
        time.at += 100
        return rows(self, *arguments, **options)

    monkeypatch.setattr(TableEstimator, "_rows", read)


@pytest.mark.usefixtures("slow_reading")
@pytest.mark.parametrize("name", SLOW)
def test_the_limit_counts_from_the_call_of_fit(name):
    model = getattr(optree, name)(**SLOW[name], time_limit=100)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X, LABELS)
    assert model.status_ == "time_limit"
    assert model.search_seconds_ == 0
    assert model.set_params(time_limit=101).fit(X, LABELS).status_ in ("optimal", "heuristic")


@pytest.mark.usefixtures("slow_reading")
@pytest.mark.parametrize("search", ["lambda_path", "limit_grid", "best_f1", "error_front"])
def test_the_limit_of_several_searches_counts_from_the_call(search):
    model = optree.MurTreeClassifier(2, time_limit=100) if search != "lambda_path" else optree.OptimalTreeClassifier()
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        getattr(model.set_params(time_limit=100), search)(X, LABELS)


def fresh(code: str, cache) -> subprocess.CompletedProcess:
    """Run code in a process that finds no compiled kernels."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


FIT = """
from sklearn.datasets import load_iris
from optree import OptimalTreeClassifier
X, y = load_iris(return_X_y=True)
model = OptimalTreeClassifier(max_depth=2, max_thresholds=5, time_limit=1, verbose=True)
"""


@compiled_only
@pytest.mark.slow
def test_a_first_fit_that_compiles_for_longer_than_its_limit_is_optimal(tmp_path):
    first, second = (fresh(FIT + "print(model.fit(X, y).status_, model.compile_seconds_)", tmp_path) for _ in range(2))
    assert first.stdout.split()[-2] == second.stdout.split()[-2] == "optimal"
    assert float(first.stdout.split()[-1]) > 1
    assert "compiled for " in first.stderr
    assert first.stderr.count("compiles its search") == first.stderr.count("python -m optree.compile") == 1
    assert "compiles its search" not in second.stderr


@compiled_only
@pytest.mark.slow
def test_ctrl_c_during_the_first_compilation_is_raised(tmp_path):
    interrupted = """
from optree.compilation import COMPILATION
def interrupt(self):
    COMPILATION.count = lambda: None
    raise KeyboardInterrupt
COMPILATION.count = interrupt.__get__(COMPILATION)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print(hasattr(model, "tree_"), model.fit(X, y).status_, COMPILATION.now() > 0)
"""
    done = fresh(FIT + interrupted, tmp_path)
    assert done.stdout.split()[-3:] == ["False", "optimal", "True"], done


@pytest.mark.parametrize("penalty", ["visits", "split"])
@pytest.mark.parametrize("regression", [False, True])
def test_a_limit_that_ends_the_sorting_of_columns_leaves_trees_of_few_rows(time, monkeypatch, regression, penalty):
    """The clock is looked at before each column. The loss is the loss on all rows."""
    sorted_columns, check = [], Clock.check

    def slow_check(clock):
        sorted_columns.append(1)
        time.at += 40
        check(clock)

    monkeypatch.setattr(Clock, "check", slow_check)
    monkeypatch.setattr(sampled, "_ROWS", 100)
    kind, weights = optree.DPDTreeRegressor if regression else optree.DPDTreeClassifier, np.arange(len(X)) % 3 + 0.5
    model = kind(time_limit=100, max_features=5, min_samples_leaf=3, penalty=penalty, random_state=0)
    with pytest.warns(ConvergenceWarning, match="ended by its time_limit; the trees are of few rows"):
        model.fit(X, LABELS, weights)
    assert len(sorted_columns) == 3 < X.shape[1]
    assert model.status_ == "time_limit"
    assert len(model.path_) > 1
    for step in model.path_:
        tree = model.at(step.lowest)
        wrong = (tree.predict(X) - LABELS) ** 2 if regression else tree.predict(X) != LABELS
        assert step.loss == pytest.approx(np.average(wrong, weights=weights))
        decisions = tree.tree_.decisions()[0]
        assert step.complexity == pytest.approx(step.splits if penalty == "split" else decisions)
        assert np.unique(tree.apply(X), return_counts=True)[1].min() >= 3
    sorted_columns.clear()
    model.set_params(time_limit=0, min_impurity_decrease=0.0)
    with pytest.warns(ConvergenceWarning, match="ended by its time_limit"):
        assert model.fit(X, LABELS).tree_.n_nodes == 1


def test_a_limit_before_the_search_leaves_a_leaf_or_the_tree_to_start_from(time):
    problem, objective = random_problem(3), Objective.of("0.01")
    best = solvers.get("exhaustive").solve(problem, objective)
    clock = Budget(seconds=5).start()
    time.at += 5
    for name in ("optree", "licketysplit"):
        solver, wanted = solvers.get(name), objective if name == "optree" else Objective.of("0.01", "leaf", max_depth=3)
        result = solver.solve(problem, wanted, clock)
        assert (result.status, result.tree.n_nodes, result.counters["iterations"]) == ("time_limit", 1, 0)
        assert result.lower_bound == (0 if solver.exact else None)
    assert solvers.get("optree").solve(problem, objective, clock, incumbent=best.tree).cost == best.cost


def test_a_blocked_transposition_is_the_transposition():
    for shape in ((0, 3), (1, 4), (511, 2), (512, 3), (1500, 7)):
        table = np.arange(shape[0] * shape[1], dtype=np.int32).reshape(shape)
        found = transposed(table)
        assert found.flags.c_contiguous
        assert np.array_equal(found, table.T)


def test_a_limit_that_ends_the_sorting_of_all_thresholds_leaves_the_tree_of_a_sample_and_a_bound(time, monkeypatch):
    def slow_check(clock, check=Clock.check):
        time.at += 40
        check(clock)

    monkeypatch.setattr(Clock, "check", slow_check)
    numbers = np.random.RandomState(0).rand(300, 12)
    model = optree.OptimalTreeClassifier(max_depth=3, time_limit=100)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(numbers, LABELS[:300])
    assert (model.status_, model.lower_bound_, model.search_seconds_) == ("time_limit", 0, 0)
    assert model.tree_.n_splits
    wrong = np.count_nonzero(model.predict(numbers) != LABELS[:300])
    assert model.cost_ == wrong + 3 * model.tree_.n_splits < 300 - np.bincount(LABELS[:300]).max()


class Interrupted:
    """An object during whose deletion Ctrl-C comes."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_whose_exception_python_drops_ends_the_search():
    clock, before = Budget().start(), signal.getsignal(signal.SIGINT)
    with clock.heard():
        assert clock.limit(0) is None
        Interrupted()
        assert clock.start().limit(0) == "interrupted"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_is_left_alone_where_it_is_ignored_and_outside_of_the_main_thread():
    clock, before = Budget().start(), signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with clock.heard():
            signal.raise_signal(signal.SIGINT)
            assert clock.limit(0) is None
    finally:
        signal.signal(signal.SIGINT, before)
    seen = []

    def search() -> None:
        with clock.heard():
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    assert seen == [True]
