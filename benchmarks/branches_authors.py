"""Search time of the solver ``branches`` against the program that the authors of BRANCHES published.

Both get the same codes, made by this package's datasets and encoder, and search for the same optimum. Runs alternate,
each in a process of its own (their memo is a global of their module). What counts is the processor time of the search
alone: imports, reading and, on our side, compiling the kernels come before the clock starts. See the README beside.

    python benchmarks/branches_authors.py --authors CLONE --mirror DIR --out runs.csv

CLONE is a checkout of github.com/Chaoukia/branches (MIT licence), which is not part of this project. Linux only.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from optree.bench.cli import reporting
from optree.datasets import fetch, read_table
from optree.encoding import Encoder, EncodingSpec
from optree.errors import OptreeError, choice
from optree.problem import Problem

ENCODINGS = {
    "ordinal": EncodingSpec("ordinal", numeric="bins"),
    "onehot": EncodingSpec("onehot"),
    "onehot-drop-first": EncodingSpec("onehot", "first"),
    "onehot-drop-last": EncodingSpec("onehot", "last"),
}
TOLERANCE = 1e-9  # between their floats and our fractions

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

_AUTHORS = """
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

_OPTREE = """
from optree import solvers
from optree.budget import Budget
from optree.objective import Objective
from optree.problem import Problem

data, regularization, seconds, memory_mib = sys.argv[1:]
problem, _ = Problem.load(data)
budget = Budget(seconds=float(seconds), memory_mib=float(memory_mib))
solver, objective = solvers.get("branches"), Objective.of(regularization)
solver.solve(problem, objective, budget)  # compiles the kernels, or loads what was compiled before
result, seconds = timed(lambda: solver.solve(problem, objective, budget))
complete = result.status == "optimal"
value = 1 - float(result.cost_in_rows / problem.total_weight) if complete else None
report(complete=complete, objective=value, iterations=result.counters["iterations"], **seconds)
"""


class Case(NamedTuple):
    """What is solved; as text ``dataset/encoding/lambda``."""

    dataset: str
    encoding: str
    regularization: str

    @classmethod
    def of(cls, text: str) -> Case:
        parts = text.split("/")
        if len(parts) != 3:
            raise OptreeError(f"--cases: {text!r} is not accepted; give dataset/encoding/lambda")
        if parts[1] not in ENCODINGS:
            raise choice(f"--cases: {text!r}: encoding", parts[1], ENCODINGS)
        return cls(*parts)

    def __str__(self) -> str:
        return "/".join(self)


CASES = (
    Case("tic-tac-toe", "onehot-drop-first", "0.005"),
    Case("tic-tac-toe", "ordinal", "0.005"),
    Case("balance-scale", "onehot-drop-first", "0.01"),
    Case("car", "onehot-drop-first", "0.005"),
    Case("lymph", "ordinal", "0.01"),
    Case("zoo", "onehot-drop-first", "0.001"),
    Case("monk1-train", "onehot-drop-first", "0.001"),
    Case("monk2-train", "onehot-drop-first", "0.001"),
    Case("monk3-train", "onehot-drop-first", "0.001"),
    Case("nursery", "ordinal", "0.01"),
)


class Run(NamedTuple):
    """A search. ``complete``: it ended with a proof, before a limit; ``iterations`` as the program reports them."""

    case: Case
    rows: int
    features: int
    program: str
    repeat: int
    complete: bool
    objective: float | None
    iterations: int | None
    cpu_seconds: float
    wall_seconds: float
    peak_rss_mib: float


Pair = tuple[Run, Run]  # theirs, ours


def encode(case: Case, table: dict, mirror: str | None) -> Problem:
    """All rows of the case's dataset, encoded."""
    if case.dataset not in table:
        raise choice(f"--cases: {str(case)!r}: dataset", case.dataset, table)
    data = fetch(table[case.dataset], mirror)
    return Encoder(ENCODINGS[case.encoding]).fit(data.X, data.y).problem(data.X, data.y)


def commands(case: Case, problem: Problem, options: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """Write the data for both programs; how each is called."""
    matrix, encoded = folder / "matrix.txt", folder / "problem.npz"
    np.savetxt(matrix, np.column_stack([problem.codes, problem.y]), fmt="%d")
    problem.save(encoded)
    one_hot = "binary" if len(problem.classes) == 2 else "multi"
    theirs = "ordinal" if ENCODINGS[case.encoding].multiway else one_hot
    limits = [str(options.time_limit), str(options.memory_mib)]
    source = Path(options.authors).resolve() / "src"
    authors = [options.python, "-c", _COMMON + _AUTHORS, source, matrix, theirs, case.regularization, *limits]
    optree = [sys.executable, "-c", _COMMON + _OPTREE, encoded, case.regularization, *limits]
    return {"authors": [str(word) for word in authors], "optree": [str(word) for word in optree]}


def call(where: str, command: list[str], time_limit: float) -> dict:
    """What a driver reports. One thread; killed if it goes far beyond its own time limit."""
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


def check(theirs: Run, ours: Run) -> None:
    """Two proofs must agree."""
    if theirs.complete and ours.complete and abs(theirs.objective - ours.objective) > TOLERANCE:
        raise OptreeError(f"{ours.case}: the authors' program proves {theirs.objective}, optree {ours.objective}")


def measure(case: Case, problem: Problem, options: argparse.Namespace) -> Iterator[Pair]:
    """Runs of a case, alternated. A case that the authors' program does not finish is run once."""
    with tempfile.TemporaryDirectory() as folder:
        calls = commands(case, problem, options, Path(folder))
        for repeat in range(options.repeats):
            runs = []
            for program, command in calls.items():
                report = call(f"{case}: {program}", command, options.time_limit)
                runs.append(Run(case, *problem.codes.shape, program, repeat, **report))
                ending = "" if runs[-1].complete else ", not finished"
                print(f"{case}: {program} {runs[-1].cpu_seconds:.4f} s{ending}", file=sys.stderr)
            check(*runs)
            yield tuple(runs)
            if not runs[0].complete:
                return


def number(value: float) -> str:
    """Three significant digits, without an exponent for large numbers."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def ratio(pairs: list[Pair]) -> str:
    """How many times longer theirs takes: median (min-max); a bound with ``>`` or ``<`` if one side is not finished."""
    values = [theirs.cpu_seconds / ours.cpu_seconds for theirs, ours in pairs]
    done = tuple(all(run.complete for run in runs) for runs in zip(*pairs, strict=True))
    if done == (False, False):
        return "-"
    mark = {(True, True): "", (False, True): ">", (True, False): "<"}[done]
    spread = f" ({number(min(values))}-{number(max(values))})" if len(values) > 1 else ""
    return f"{mark}{number(statistics.median(values))}{spread}"


HEADER = ["case", "rows", "features", "objective", "authors' s", "our s", "ratio (min-max)"]
HEADER += ["authors' iterations", "our iterations", "authors' MiB", "our MiB"]


def line(pairs: list[Pair]) -> list[str]:
    """A case as a row of the table: medians."""
    theirs, ours = pairs[0]
    columns = [
        [number(statistics.median(getattr(run, name) for run in runs)) for runs in zip(*pairs, strict=True)]
        for name in ("cpu_seconds", "peak_rss_mib")
    ]
    for side, run in enumerate((theirs, ours)):
        columns[0][side] = columns[0][side] if run.complete else f">{columns[0][side]}"
    value = ours.objective if ours.complete else theirs.objective
    iterations = ["-" if run.iterations is None else str(run.iterations) for run in (theirs, ours)]
    objective = "-" if value is None else f"{value:.6f}"
    return [str(ours.case), str(ours.rows), str(ours.features), objective, *columns[0], ratio(pairs)] + [
        *iterations,
        *columns[1],
    ]


def markdown(rows: list[list[str]]) -> str:
    """A table: the first column to the left, numbers to the right."""
    rule = [":--"] + ["--:"] * (len(HEADER) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [HEADER, rule, *rows])


def benchmark(options: argparse.Namespace) -> None:
    """Measure all cases; every run goes to the CSV file as soon as it is done, the table to the screen at the end."""
    if not (Path(options.authors) / "src" / "branches.py").is_file():
        raise OptreeError(f"--authors: {options.authors} has no src/branches.py; give a clone of Chaoukia/branches")
    table = read_table(Path(__file__).resolve().parents[1] / "config" / "datasets.csv")
    embedded = [case for case in CASES if options.mirror or table[case.dataset].source == "builtin"]
    cases = [Case.of(text) for text in options.cases] if options.cases else embedded
    rows = []
    with open(options.out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Case._fields + Run._fields[1:])
        for case in cases:
            pairs = []
            for pair in measure(case, encode(case, table, options.mirror), options):
                pairs.append(pair)
                writer.writerows((*run.case, *run[1:]) for run in pair)
                file.flush()
            rows.append(line(pairs))
    print(markdown(rows))


def main(arguments: list[str] | None = None) -> None:
    """The command line. Bad input ends it with one line that says what is wrong, and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--authors", required=True, metavar="CLONE", help="a checkout of github.com/Chaoukia/branches")
    parser.add_argument("--python", default=sys.executable, help="the Python that runs their program; needs numpy")
    parser.add_argument("--mirror", metavar="DIR", help="raw data files; without it only datasets that are generated")
    parser.add_argument("--repeats", type=int, default=3, help="runs of each program per case (3)")
    parser.add_argument("--cases", nargs="+", metavar="CASE", help="dataset/encoding/lambda, ...")
    parser.add_argument("--time-limit", type=float, default=120, metavar="S", help="seconds a search may take (120)")
    parser.add_argument("--memory-mib", type=float, default=8192, metavar="MIB", help="memory it may use (8192)")
    parser.add_argument("--out", required=True, metavar="CSV", help="one line per run")
    with reporting(os.devnull):
        benchmark(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
