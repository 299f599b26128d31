"""One cell of a table alone: ``python -m optree.bench.runs.rerun RECORD`` does a run again, and sets it beside its record.

The encoded problem has to be where the workflow left it. Nothing is written; the exit code is 1 if anything that no
clock decides came out differently.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from optree.bench.runs import job as batch
from optree.bench.runs import record
from optree.bench.system.cli import reporting
from optree.errors import OptreeError
from optree.problem import Problem

_RUNS = "runs"
_FINAL = ("optimal", "heuristic")  # how a search ends that no limit stops


def facts(made: dict) -> dict[str, str]:
    """What is set side by side, by name."""
    size, seconds = made["size"], made["seconds"]
    return {
        "status": made["status"],
        "objective": str(made["objective"]),
        "cost": str(made["cost"]["value"]),
        "lower bound": str(made["cost"]["lower_bound"]),
        "splits": str(size["splits"]),
        "iterations": str(made["counters"]["iterations"]),
        "seconds of search": str(seconds["search"]),
        "peak MiB": str(made["peak_rss_mib"]),
    }


def differ(before: dict, now: dict) -> list[str]:
    """The facts that should be the same, and are not: all that no clock decides, if neither search was stopped."""
    if before["status"] not in _FINAL or now["status"] not in _FINAL:
        return []
    names = ("status", "objective", "cost", "lower bound", "splits", "iterations")
    return [name for name in names if facts(before)[name] != facts(now)[name]]


def again(path: Path, peers: Path, markers: Path) -> tuple[dict, dict]:
    """The record in a file, and that of the same run done now.

    Raises
    ------
    OptreeError
        If it is not one of the workflow's records, or its encoded problem is gone.
    """
    before = record.read(path)
    run = before["run"]
    if run["depth_of"]:
        raise OptreeError(f"{path}: was told the depth of {run['depth_of']}'s tree; delete it and run the workflow")
    folders = [folder for folder in path.resolve().parents if folder.name == _RUNS]
    if not folders:
        raise OptreeError(f"{path}: not below results/NAME/{_RUNS}, where the workflow puts records")
    encoded = folders[-1].parent / "encoded" / run["dataset"] / f"{run['encoding']}.npz"
    if not encoded.exists():
        raise OptreeError(f"{encoded}: the encoded problem is not there; run the workflow, which makes it")
    (order,) = batch.read_orders(json.dumps([[str(path), run]]), peers, markers)
    batch.preload([order.solver])
    problem, notes = Problem.load(encoded)
    return before, batch.do(order, problem, notes, None)


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.runs.rerun", description=__doc__.splitlines()[0])
    parser.add_argument("record", type=Path, help="a run's record, results/NAME/runs/...json")
    parser.add_argument("--peers", type=Path, default=Path("workflow/peers"), help="the folder of all peers")
    parser.add_argument("--markers", type=Path, default=Path(".peers"), help="the folder with the peers' environments")
    options = parser.parse_args(arguments)
    with reporting("/dev/null"):
        before, now = again(options.record, options.peers, options.markers)
    print(f"{'':20}{'record':>24}{'now':>24}")
    for name, value in facts(now).items():
        print(f"{name:20}{facts(before)[name]:>24}{value:>24}")
    changed = differ(before, now)
    print(f"different: {', '.join(changed)}" if changed else "the same, as far as no clock decides")
    return bool(changed)


if __name__ == "__main__":
    raise SystemExit(main())
