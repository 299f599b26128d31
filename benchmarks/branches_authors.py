"""Search time of the solver ``branches`` against the program that the authors of BRANCHES published.

Both get the same codes, made by this package's datasets and encoder, and search for the same optimum. Runs alternate,
each in a process of its own, since their memo is a global of their module. The clock is the processor time of the
search: imports, reading and our compilation come before the clock starts. See the README beside.

    python benchmarks/branches_authors.py --authors CLONE --mirror DIR --out runs.csv

CLONE is a checkout of github.com/Chaoukia/branches (MIT licence), which is not part of this project. Linux only.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np
from drivers import AUTHORS, OPTREE, call

from optree.bench.system.cli import reporting
from optree.datasets import fetch, read_table
from optree.encoding import Encoder, EncodingSpec
from optree.encoding.problem_files import save_problem
from optree.errors import OptreeError, choice
from optree.problem import Problem

ENCODINGS = {
    "ordinal": EncodingSpec("ordinal", numeric="bins", max_cuts=4),
    "onehot": EncodingSpec("onehot", max_cuts=4),
    "onehot-drop-first": EncodingSpec("onehot", "first", max_cuts=4),
    "onehot-drop-last": EncodingSpec("onehot", "last", max_cuts=4),
}
TOLERANCE = 1e-9  # between their floats and our fractions


class Case(NamedTuple):
    """The problem; as text ``dataset/encoding/lambda``."""

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
    """Encode all rows of the case's dataset."""
    if case.dataset not in table:
        raise choice(f"--cases: {str(case)!r}: dataset", case.dataset, table)
    data = fetch(table[case.dataset], mirror)
    return Encoder(ENCODINGS[case.encoding]).fit(data.X, data.y).problem(data.X, data.y)


def calls(case: Case, problem: Problem, options: argparse.Namespace, folder: Path) -> dict[str, tuple]:
    """Write the data for both programs; the Python, driver and arguments of each."""
    matrix, encoded = folder / "matrix.txt", folder / "problem.npz"
    np.savetxt(matrix, np.column_stack([problem.codes, problem.y]), fmt="%d")
    save_problem(problem, encoded)
    one_hot = "binary" if len(problem.classes) == 2 else "multi"
    encoding = "ordinal" if ENCODINGS[case.encoding].multiway else one_hot  # as their program calls it
    limits = [case.regularization, options.time_limit, options.memory_mib]
    source = Path(options.authors).resolve() / "src"
    return {
        "authors": (options.python, AUTHORS, [source, matrix, encoding, *limits]),
        "optree": (sys.executable, OPTREE, [encoded, *limits]),
    }


def check(theirs: Run, ours: Run) -> None:
    """Raise if two proofs disagree."""
    if theirs.complete and ours.complete and abs(theirs.objective - ours.objective) > TOLERANCE:
        raise OptreeError(f"{ours.case}: the authors' program proves {theirs.objective}, optree {ours.objective}")


def measure(case: Case, problem: Problem, options: argparse.Namespace) -> Iterator[Pair]:
    """Yield the runs of a case, alternated; once only if the authors' program does not finish."""
    with tempfile.TemporaryDirectory() as folder:
        programs = calls(case, problem, options, Path(folder))
        for repeat in range(options.repeats):
            runs = []
            for program, command in programs.items():
                report = call(f"{case}: {program}", *command, options.time_limit)
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
    """Return the ratio of their seconds to ours: median (min-max); ``>`` or ``<`` marks a bound."""
    values = [theirs.cpu_seconds / ours.cpu_seconds for theirs, ours in pairs]
    done = tuple(all(run.complete for run in runs) for runs in zip(*pairs, strict=True))
    if done == (False, False):
        return "-"
    mark = {(True, True): "", (False, True): ">", (True, False): "<"}[done]
    spread = f" ({number(min(values))}-{number(max(values))})" if len(values) > 1 else ""
    return f"{mark}{number(statistics.median(values))}{spread}"


HEADER = ["case", "rows", "features", "objective", "authors' s", "our s", "ratio (min-max)"]
HEADER += ["authors' iterations", "our iterations", "authors' MiB", "our MiB"]


def medians(runs: tuple[Run, ...]) -> tuple[str, str, str]:
    """Return seconds, iterations and MiB of a program's runs of one case; ``>`` marks an unfinished search."""
    seconds = number(statistics.median(run.cpu_seconds for run in runs))
    mark = "" if all(run.complete for run in runs) else ">"
    iterations = "-" if runs[0].iterations is None else f"{runs[0].iterations}"
    return mark + seconds, iterations, number(statistics.median(run.peak_rss_mib for run in runs))


def line(pairs: list[Pair]) -> list[str]:
    """Return a row of the table."""
    theirs, ours = pairs[0]
    value = ours.objective if ours.complete else theirs.objective
    objective = "-" if value is None else f"{value:.6f}"
    case = [str(ours.case), str(ours.rows), str(ours.features), objective]
    seconds, iterations, mib = zip(*(medians(runs) for runs in zip(*pairs, strict=True)), strict=True)
    return [*case, *seconds, ratio(pairs), *iterations, *mib]


def markdown(rows: list[list[str]]) -> str:
    """Format a table: the first column to the left, numbers to the right."""
    rule = [":--"] + ["--:"] * (len(HEADER) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [HEADER, rule, *rows])


def benchmark(options: argparse.Namespace) -> None:
    """Measure all cases; every run goes to the CSV file as soon as it is done, the table to the screen at the end."""
    if not (Path(options.authors) / "src" / "branches.py").is_file():
        raise OptreeError(f"--authors: {options.authors} has no src/branches.py; give a clone of Chaoukia/branches")
    if options.repeats < 1:
        raise OptreeError(f"--repeats: {options.repeats} is not accepted; give a whole number >= 1")
    table = read_table(Path(__file__).resolve().parents[1] / "config" / "datasets.csv")
    embedded = [case for case in CASES if options.mirror or table[case.dataset].source == "builtin"]
    cases = [Case.of(text) for text in options.cases] if options.cases else embedded
    rows = []
    with output(options.out) as file:
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


def output(path: str | Path, mode: str = "w") -> TextIO:
    """Open the CSV file."""
    try:
        return open(path, mode, newline="")
    except OSError as error:
        raise OptreeError(f"--out: {error}") from error


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with one line and exit code 1."""
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
