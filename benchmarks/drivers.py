"""The two programs as processes: the code of each (``python -c``), and its call.

A driver reads data, searches, and prints one line of JSON. Processor and wall-clock seconds are the seconds of the
search.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from optree.columns import Feature
from optree.encoding.problem_files import save_problem
from optree.errors import OptreeError
from optree.problem import Problem

# Both drivers start with this. The peak is read from /proc, for ru_maxrss counts the parent's memory before exec, too.
_COMMON = """
import json, sys, time

def timed(search):
    cpu, wall = time.process_time(), time.perf_counter()
    found = search()
    return found, {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}

def report(**values):
    with open("/proc/self/status") as file:
        kib = next(line.split()[1] for line in file if line.startswith("VmHWM:"))
    print(json.dumps({**values, "peak_rss_mib": int(kib) / 1024}))
"""

AUTHORS = """
import contextlib, os, resource, types
source, data, encoding, regularization, seconds, memory_mib = sys.argv[1:]
for name in ("nltk", "svgling"):  # they only draw trees
    sys.modules[name] = types.ModuleType(name)
sys.modules["nltk"].Tree = None
sys.path.insert(0, source)
import numpy as np
from branches import Branches

rows = np.genfromtxt(data, delimiter=" ", dtype=int)
search = Branches(rows, encoding)
before = resource.getrlimit(resource.RLIMIT_AS)

def solve():
    try:
        return search.solve(float(regularization), n=10**12, print_iter=100, time_limit=float(seconds))
    except MemoryError:
        return None

with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    resource.setrlimit(resource.RLIMIT_AS, (int(float(memory_mib) * 2**20), before[1]))
    iterations, seconds = timed(solve)
    resource.setrlimit(resource.RLIMIT_AS, before)
complete, objective = bool(search.lattice.root.complete), None
if complete:
    accuracy = float(np.mean(search.predict(rows[:, :-1]) == rows[:, -1]))
    objective = accuracy - float(regularization) * search.infer()[1]
report(complete=complete, objective=objective, iterations=iterations, **seconds)
"""

OPTREE = """
from optree import solvers
from optree.budget import Budget
from optree.encoding.problem_files import load_problem
from optree.objective import Objective

data, regularization, seconds, memory_mib = sys.argv[1:]
problem, _ = load_problem(data)
budget = Budget(seconds=float(seconds), memory_mib=float(memory_mib))
solver, objective = solvers.get("branches"), Objective.of(regularization)
solver.solve(problem, objective, budget)  # compiles the kernels, or loads them
result, seconds = timed(lambda: solver.solve(problem, objective, budget))
complete = result.status == "optimal"
value = 1 - float(result.cost_in_rows / problem.total_weight) if complete else None
report(complete=complete, objective=value, iterations=result.counters["iterations"], **seconds)
"""


def call(where: str, python: str, driver: str, arguments: list, time_limit: float) -> dict:
    """Run a driver in one thread and return its report; kill the driver far beyond its own time limit."""
    command = [python, "-c", _COMMON + driver, *map(str, arguments)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    patience = 3 * time_limit + 300  # ours searches twice, and may compile; theirs looks at its clock now and then
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, env=os.environ | threads)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = f"still runs after {patience:.0f} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
        raise OptreeError(f"{where}: {reason}") from error
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError) as error:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise OptreeError(f"{where}: ended with code {done.returncode} and said: {said}") from error


def problem_of(rows: np.ndarray) -> Problem:
    """Return the problem of rows of 0/1 columns after the class."""
    features = tuple(Feature(f"x{j}", (f"x{j} = 0", f"x{j} = 1")) for j in range(rows.shape[1] - 1))
    return Problem.coded(rows[:, 1:], rows[:, 0], features, tuple(map(str, range(rows[:, 0].max() + 1))))


@contextmanager
def saved(rows: np.ndarray) -> Iterator[tuple[Path, Path]]:
    """Save rows of 0/1 columns after the class for both programs: as an array of numpy, and as a problem."""
    with tempfile.TemporaryDirectory() as folder:
        table, encoded = Path(folder, "rows.npy"), Path(folder, "problem.npz")
        np.save(table, rows)
        save_problem(problem_of(rows), encoded)
        yield table, encoded


def alternate(
    where: str, commands: Mapping[str, tuple], repeats: int, time_limit: float, may_fail: Container[str] = ()
) -> Iterator[dict[str, dict]]:
    """Yield the reports of each round of runs, by program.

    commands : Python, driver and arguments of each program. may_fail : programs that do not run again after a failure.
    """
    ended = set()
    for _ in range(repeats):
        reports = {}
        for program, command in commands.items():
            if program in ended:
                continue
            try:
                reports[program] = call(f"{where}: {program}", *command, time_limit)
            except OptreeError as error:
                if program not in may_fail:
                    raise
                print(error, file=sys.stderr)
                ended.add(program)
                continue
            print(f"{where}: {program} {reports[program]['cpu_seconds']:.4f} s", file=sys.stderr)
        yield reports
