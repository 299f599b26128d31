"""Repetition of one run: ``python -m optree.bench.runs.rerun RECORD`` executes it again and prints both results.

Its rows have to be where the workflow left them. Nothing is written. The exit code is 1 if any value differs
that does not depend on a clock.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from optree.bench.peers.declaration import add_peer_options
from optree.bench.runs import record
from optree.bench.runs.job import Place, execute, preload
from optree.bench.runs.record import Run
from optree.bench.system.cli import reporting
from optree.datasets import Dataset, load_table, read_table
from optree.encoding.problem_files import load_problem
from optree.errors import OptreeError

_FINAL = ("optimal", "heuristic")  # statuses of a search that no limit stopped
_MEASURED = ("seconds of search", "peak MiB")


def printed_values(made: dict) -> dict[str, str]:
    """Return the values of a record that are printed, by name."""
    values = {
        "status": made["status"],
        "objective": made["objective"],
        "cost": made["cost"]["value"],
        "score": (made["train"] or {}).get("score"),
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


def find_rows(before: dict, results: Path, datasets: Path) -> tuple[Path, Dataset | None]:
    """Return the file with the rows of a record, in the results of any configuration, and its dataset's row."""
    run, wanted = before["run"], before["data"]
    if run["encoding"] is None:
        dataset = read_table(datasets)[run["dataset"]]
        paths = sorted(results.glob(f"*/data/{run['dataset']}.csv"))
        matching = (path for path in paths if load_table(path, dataset).sha256() == wanted["sha256"])
    else:
        dataset = None
        paths = sorted(results.glob(f"*/encoded/{run['dataset']}/*.npz"))
        matching = (path for path in paths if load_problem(path)[1]["data"] == wanted)
    if (path := next(matching, None)) is None:
        raise OptreeError(f"{results}: no rows of {run['dataset']} there that the record names; run the workflow")
    return path, dataset


def rerun(path: Path, results: Path, datasets: Path, peers: Path, markers: Path) -> tuple[dict, dict]:
    """Return the record in a file, and a new record of the same run."""
    before = record.read(path)
    run = Run(**before["run"])
    if run.depth_of:
        raise OptreeError(f"{path}: depends on the depth of {run.depth_of}'s tree; delete it and run the workflow")
    rows, dataset = find_rows(before, results, datasets)
    place = Place(rows, path.parent.parent, peers, markers, dataset)
    preload([run], place)
    return before, execute(run, place)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.runs.rerun", description=__doc__.splitlines()[0])
    parser.add_argument("record", type=Path, help="a run's record, results/cells/../....json")
    parser.add_argument("--results", type=Path, default="results", help="the folder of all results, with their rows")
    parser.add_argument("--datasets", type=Path, default="config/datasets.csv", help="the table of datasets")
    add_peer_options(parser)
    options = parser.parse_args(arguments)
    with reporting(os.devnull):
        before, now = rerun(options.record, options.results, options.datasets, options.peers, options.markers)
    print(f"{'':20}{'record':>24}{'now':>24}")
    for name, value in printed_values(now).items():
        print(f"{name:20}{printed_values(before)[name]:>24}{value:>24}")
    changed = differences(before, now)
    print(f"different: {', '.join(changed)}" if changed else "the same, apart from values that depend on a clock")
    return bool(changed)


if __name__ == "__main__":
    raise SystemExit(main())
