"""One job: ``python -m optree.bench.runs.job PROBLEM < RUNS`` executes runs on an encoded problem, one after another.

Each run executes in a child process under limits. It leaves one record, written completely or not at all, whatever
happens to its search. A valid record of the same run, rows and code stays. So a job that starts again, after an end at
any moment, executes only the unfinished runs.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from optree import solvers
from optree.bench.peers.declaration import Peer, add_peer_options, read_peer
from optree.bench.peers.run_peer import run_peer
from optree.bench.runs import record
from optree.bench.runs.plan import comparison_key
from optree.bench.runs.record import Run
from optree.bench.runs.score import depth_limit, describe_data, solver_digest, summary_line
from optree.bench.runs.solve import solve_in_child
from optree.bench.system import environment
from optree.bench.system.cli import reporting
from optree.bench.system.process_limits import FOREIGN_SIGNALS, die_with_parent
from optree.errors import OptreeError
from optree.problem import Problem
from optree.solvers.base import Declaration


class PlannedRun(NamedTuple):
    """One run of a job: the path of its record, its solver, and for a peer the content of its marker."""

    path: Path
    run: Run
    solver: Declaration
    marker: dict | None


def read_runs(text: str, peers: Path, markers: Path) -> list[PlannedRun]:
    """Return the runs of a job from JSON, a list of [record's path, run], and the folders of all peers and markers."""
    planned = []
    for path, fields in json.loads(text):
        run = Run(**fields)
        if run.solver in solvers.names():
            solver, marker = solvers.get(run.solver), None
        else:
            solver, marker = read_peer(peers / run.solver), json.loads((markers / f"{run.solver}.json").read_text())
        planned.append(PlannedRun(Path(path), run, solver, marker))
    return planned


def preload(used: Iterable[Declaration]) -> None:
    """Import the solvers' libraries and initialise numba, once for all forks of this process.

    A fork then needs about 0.03 s of processor time before its search, in place of one to three seconds.
    """
    environment.git_commit()
    for solver in used:
        for name in solver.imports:
            import_module(name)
    if "numba" in sys.modules:
        sys.modules["numba"].njit(lambda: None)()


def read_finished(planned: PlannedRun, data: dict, reference: dict | None) -> dict | None:
    """Return the record of an earlier job, if it is about the same run, rows, depth limit and code; otherwise None."""
    if not planned.path.exists():
        return None
    try:
        found = record.read(planned.path)
    except OptreeError:
        print(f"{planned.path}: is no record of this version; its run is done again", file=sys.stderr)
        return None
    limit = depth_limit(planned.run, planned.solver, reference)
    expected = json.loads(planned.run.to_json()), data, solver_digest(planned.solver), limit
    same = (found["run"], found["data"], found["environment"]["code"], found["depth_limit"]) == expected
    return found if same and found["status"] != "skipped" else None  # the missing peer or reference may be there now


def execute(planned: PlannedRun, problem: Problem, notes: dict, reference: dict | None) -> dict:
    """Execute a run and return its record; repeat it once after a signal from elsewhere, which may be a mistake."""

    def attempt() -> dict:
        if isinstance(planned.solver, Peer):
            return run_peer(problem, notes, planned.run, planned.solver, planned.marker, reference)
        return solve_in_child(problem, notes, planned.run, reference)

    made = attempt()
    if made["status"] != "killed" or not made["reason"].startswith(FOREIGN_SIGNALS):
        return made
    print(f"{summary_line(made)}; it is done again", file=sys.stderr)
    return attempt()


def execute_job(job: list[PlannedRun], problem: Problem, notes: dict) -> None:
    """Execute the unfinished runs of a job in their order, and print a line about each."""
    data, records, new = describe_data(problem, notes), {}, 0
    for planned in job:
        run = planned.run
        reference = records[run.depth_of, comparison_key(run)] if run.depth_of else None
        made = read_finished(planned, data, reference)
        if made is None:
            made, new = execute(planned, problem, notes, reference), new + 1
            record.write(made, planned.path)
            print(summary_line(made), file=sys.stderr)
        records[run.algorithm, comparison_key(run)] = made
    if new < len(job):
        print(f"{len(job) - new} of {len(job)} runs had finished before and are kept", file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line.

    The exit code is 0 whatever the statuses of the searches, and 1, with one line, if records cannot be made.
    """
    parser = argparse.ArgumentParser(prog="python -m optree.bench.runs.job", description=__doc__.splitlines()[0])
    parser.add_argument("problem", help="an encoded problem (.npz)")
    add_peer_options(parser)
    parser.add_argument("--log", default=os.devnull, help="a file for a copy of errors and warnings")
    parser.add_argument("--parent", type=int, help="a process whose end ends this one; none by default")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the exception also ends the search
    if options.parent is not None:
        die_with_parent(options.parent, signal.SIGTERM)
    with reporting(options.log):
        try:
            problem, notes = Problem.load(options.problem)
            job = read_runs(sys.stdin.read(), options.peers, options.markers)
            preload(planned.solver for planned in job)
            execute_job(job, problem, notes)
        except OSError as error:
            raise OptreeError(
                f"{error.filename or options.problem}: {error.strerror}; mend that and type the same command again, "
                "finished runs are kept"
            ) from error
        except KeyboardInterrupt:
            sys.exit(130)  # Ctrl-C needs no message


if __name__ == "__main__":
    main()
