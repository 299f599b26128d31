"""Repetition of one run: ``python -m optree.bench.runs.rerun RECORD`` executes it again and prints both results.

The encoded problem has to be where the workflow left it. Nothing is written. The exit code is 1 if any value differs
that does not depend on a clock.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from optree.bench.peers.declaration import add_peer_options
from optree.bench.runs import record
from optree.bench.runs.job import execute, preload, read_runs
from optree.bench.system.cli import reporting
from optree.errors import OptreeError
from optree.problem import Problem

_RUNS = "runs"
_FINAL = ("optimal", "heuristic")  # statuses of a search that no limit stopped
_MEASURED = ("seconds of search", "peak MiB")


def printed_values(made: dict) -> dict[str, str]:
    """Return the values of a record that are printed, by name."""
    values = {
        "status": made["status"],
        "objective": made["objective"],
        "cost": made["cost"]["value"],
        "lower bound": made["cost"]["lower_bound"],
        "splits": made["size"]["splits"],
        "iterations": made["counters"]["iterations"],
        "seconds of search": made["seconds"]["search"],
        "peak MiB": made["peak_rss_mib"],
    }
    return {name: str(value) for name, value in values.items()}


def differences(before: dict, now: dict) -> list[str]:
    """Return the names of differing values that should agree; none if a limit stopped either search."""
    if before["status"] not in _FINAL or now["status"] not in _FINAL:
        return []
    values = printed_values(now)
    return [name for name, value in printed_values(before).items() if name not in _MEASURED and values[name] != value]


def rerun(path: Path, peers: Path, markers: Path) -> tuple[dict, dict]:
    """Return the record in a file, and a new record of the same run."""
    before = record.read(path)
    run = before["run"]
    if run["depth_of"]:
        raise OptreeError(f"{path}: depends on the depth of {run['depth_of']}'s tree; delete it and run the workflow")
    folders = [folder for folder in path.resolve().parents if folder.name == _RUNS]
    if not folders:
        raise OptreeError(f"{path}: not below results/NAME/{_RUNS}, where the workflow puts records")
    encoded = folders[-1].parent / "encoded" / run["dataset"] / f"{run['encoding']}.npz"
    if not encoded.exists():
        raise OptreeError(f"{encoded}: the encoded problem is missing; run the workflow, which makes it")
    (planned,) = read_runs(json.dumps([[str(path), run]]), peers, markers)
    preload([planned.solver])
    problem, notes = Problem.load(encoded)
    return before, execute(planned, problem, notes, None)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.runs.rerun", description=__doc__.splitlines()[0])
    parser.add_argument("record", type=Path, help="a run's record, results/NAME/runs/...json")
    add_peer_options(parser)
    options = parser.parse_args(arguments)
    with reporting(os.devnull):
        before, now = rerun(options.record, options.peers, options.markers)
    print(f"{'':20}{'record':>24}{'now':>24}")
    for name, value in printed_values(now).items():
        print(f"{name:20}{printed_values(before)[name]:>24}{value:>24}")
    changed = differences(before, now)
    print(f"different: {', '.join(changed)}" if changed else "the same, apart from values that depend on a clock")
    return bool(changed)


if __name__ == "__main__":
    raise SystemExit(main())
