"""Milliseconds for each tree of a Rashomon set: by rank, drawn, the best ones, the rank of a tree, and membership.

Each set is fitted twice in a process, so that kernels are loaded. The *first* trees are from the second set, right
after its fit. The other numbers are medians of rounds of a hundred trees each, at ranks that no round before had. The
fit is the whole preparation of a set, counts included.

    python benchmarks/rashomon_access.py --mirror DIR --out access.csv

DIR has ``gosdt/compas/binned.csv`` and ``murtree/*.txt``.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

from branches_authors import number, output
from rashomon import numbers

from optree import RashomonSet
from optree.bench.system.cli import reporting
from optree.errors import OptreeError

_TREES = 100  # in a round

SETS = {
    "compas": ("0.001", {"multiplier": "0.3", "max_depth": 6}),
    "heart-cleveland": ("0.005", {"multiplier": "0.05", "max_depth": 5}),
    "german-credit": ("0.02", {"multiplier": "0.05", "max_depth": 5}),
}


def fit(mirror: Path, name: str) -> RashomonSet:
    """Return the fitted set of a dataset."""
    regularization, settings = SETS[name]
    if name == "compas":
        rows = numbers(mirror / "gosdt/compas/binned.csv", delimiter=",", skiprows=1)
        X, y = rows[:, :-1], rows[:, -1]
    else:
        rows = numbers(mirror / f"murtree/{name}.txt")
        X, y = rows[:, 1:], rows[:, 0]
    r = RashomonSet(regularization, time_limit=300, **settings).fit(X, y)
    if r.status_ != "optimal":
        raise OptreeError(f"{name}: {r.status_}; a search without a limit is accepted")
    return r


def milliseconds(call: Callable[[], list]) -> tuple[float, list]:
    """Return the milliseconds of processor time for each tree of a call, and its result."""
    start = time.process_time()
    found = call()
    return 1000 * (time.process_time() - start) / len(found), found


def measure(mirror: Path, name: str, rounds: int) -> dict:
    """Return the row of a set."""
    first = fit(mirror, name)
    first.index(first[first.count_ // 2])
    start = time.process_time()
    r, random = fit(mirror, name), Random(0)
    row = {"set": name, "trees": r.count_, "fit_seconds": time.process_time() - start}
    times: dict[str, list[float]] = {}

    def note(what: str, call: Callable[[], list]) -> list:
        ms, found = milliseconds(call)
        times.setdefault(what, []).append(ms)
        return found

    for turn in range(rounds + 1):
        begin = "first " if turn == 0 else ""
        trees = note(f"{begin}r[i]", lambda: [r[random.randrange(r.count_)] for _ in range(_TREES)])
        note(f"{begin}index", lambda trees=trees: [r.index(tree) for tree in trees])
        drawn = note(f"{begin}sample", lambda turn=turn: r.sample(_TREES, turn))
        note(f"{begin}in", lambda drawn=drawn: [tree in r for tree in drawn])
        note(f"{begin}best", lambda: r.best(_TREES))
    return row | {what: statistics.median(values) for what, values in times.items()}


def benchmark(options: argparse.Namespace) -> None:
    """Measure all sets; each row goes to the CSV file and to the screen as soon as it is done."""
    if options.rounds < 1:
        raise OptreeError(f"--rounds {options.rounds} is not accepted; give a whole number >= 1")
    writer = None
    with output(options.out) as file:
        for name in SETS:
            row = measure(Path(options.mirror), name, options.rounds)
            if writer is None:
                writer = csv.DictWriter(file, list(row), lineterminator="\n")
                writer.writeheader()
                print("| " + " | ".join(row) + " |\n| :-- " + "| --: " * (len(row) - 1) + "|")
            writer.writerow(row)
            file.flush()
            cells = [number(value) if isinstance(value, float) else f"{value}" for value in row.values()]
            print("| " + " | ".join(cells) + " |", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends with one line and exit code 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", required=True, metavar="DIR", help="the data")
    parser.add_argument("--rounds", type=int, default=5, help="of a hundred trees (5)")
    parser.add_argument("--out", required=True, metavar="CSV", help="one line per set")
    with reporting(os.devnull):
        benchmark(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
