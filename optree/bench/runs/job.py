"""One job: ``python -m optree.bench.runs.job PROBLEM < ORDERS`` does some runs on an encoded problem, one after another.

Each run leaves one record, written whole or not at all, whatever happens to its search: it runs in a process of its own
under limits from outside. A record that is there and is still about the same run, rows and code is left as it is, so a
job that was ended at any moment and starts again does only what had not finished.
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
from optree.bench.peers import run_peer as peer
from optree.bench.peers.declaration import Peer, read
from optree.bench.runs import record
from optree.bench.runs.plan import cell
from optree.bench.runs.record import Run
from optree.bench.runs.score import depth_limit, describe_data, summary
from optree.bench.runs.solve import guarded
from optree.bench.system import environment
from optree.bench.system import process_limits as guard
from optree.bench.system.cli import reporting
from optree.errors import OptreeError
from optree.problem import Problem
from optree.solvers.base import Declaration


class Order(NamedTuple):
    """One run that is wanted: where its record goes, what it is, who does it, and where a peer is installed."""

    path: Path
    run: Run
    solver: Declaration
    marker: dict | None


def read_orders(text: str, peers: Path, markers: Path) -> list[Order]:
    """The runs that a job is asked for: JSON, a list of [record, run].

    Parameters
    ----------
    text : str
    peers : Path
        The folder of all peers.
    markers : Path
        The folder with what :mod:`optree.bench.peers.install` wrote.
    """
    orders = []
    for path, fields in json.loads(text):
        run = Run(**fields)
        if run.solver in solvers.names():
            orders.append(Order(Path(path), run, solvers.get(run.solver), None))
        else:
            marker = json.loads((markers / f"{run.solver}.json").read_text())
            orders.append(Order(Path(path), run, read(peers / run.solver), marker))
    return orders


def preload(used: Iterable[Declaration]) -> None:
    """Load once what every copy of this process would load again: libraries, and what numba sets up at its first call.

    A copy then needs about 0.03 s of processor time before its search, in place of one to three seconds.
    """
    environment.git_commit()
    for solver in used:
        for name in solver.imports:
            import_module(name)
    if "numba" in sys.modules:
        sys.modules["numba"].njit(lambda: None)()


def code_of(solver: Declaration) -> str:
    """The digest of the code that a solver's runs depend on."""
    return environment.peer_digest(solver.folder) if isinstance(solver, Peer) else environment.code_digest()


def finished(order: Order, data: dict, reference: dict | None) -> dict | None:
    """The record that is there already, if it is about the same run, rows, depth and code; otherwise None.

    Parameters
    ----------
    order : Order
    data : dict
        From :func:`optree.bench.runs.score.describe_data`.
    reference : dict, optional
        The record of ``run.depth_of``.
    """
    if not order.path.exists():
        return None
    try:
        made = record.read(order.path)
    except OptreeError:
        print(f"{order.path}: is no record of this version; its run is done again", file=sys.stderr)
        return None
    asked = json.loads(order.run.to_json()), data, code_of(order.solver)
    there = made["run"], made["data"], made["environment"]["code"]
    if there != asked or made["depth_limit"] != depth_limit(order.run, order.solver, reference):
        return None
    return None if made["status"] == "skipped" else made  # what it waited for may be there now


def do(order: Order, problem: Problem, notes: dict, reference: dict | None) -> dict:
    """The record of a run. One that somebody else killed is done again, once: it may not have been meant."""
    for attempt in (1, 2):
        if isinstance(order.solver, Peer):
            made = peer.solve(problem, notes, order.run, order.solver, order.marker, reference)
        else:
            made = guarded(problem, notes, order.run, reference)
        if made["status"] != "killed" or not made["reason"].startswith(guard.FOREIGN) or attempt == 2:
            return made
        print(f"{summary(made)}; it is done again", file=sys.stderr)
    raise AssertionError


def work(orders: list[Order], problem: Problem, notes: dict) -> None:
    """Do all that is not done, in their order; say so, a line for each."""
    data, records, new = describe_data(problem, notes), {}, 0
    for order in orders:
        run = order.run
        reference = records[run.depth_of, cell(run)] if run.depth_of else None
        made = finished(order, data, reference)
        if made is None:
            made, new = do(order, problem, notes, reference), new + 1
            record.write(made, order.path)
            print(summary(made), file=sys.stderr)
        records[run.algorithm, cell(run)] = made
    if new < len(orders):
        print(f"{len(orders) - new} of {len(orders)} runs had finished before and are kept", file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """The command line. Exit code 0 whatever became of the searches; 1, with one line, where records cannot be made."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.runs.job", description=__doc__.splitlines()[0])
    parser.add_argument("problem", help="an encoded problem (.npz)")
    parser.add_argument("--peers", default="workflow/peers", help="the folder of all peers")
    parser.add_argument("--markers", default=".peers", help="the folder with the peers' environments")
    parser.add_argument("--log", default=os.devnull, help="where errors and warnings are copied to")
    parser.add_argument("--parent", type=int, help="the process with which this one ends; by default it goes on")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the search is ended, too
    if options.parent is not None:
        guard.die_with(options.parent, signal.SIGTERM)
    with reporting(options.log):
        try:
            problem, notes = Problem.load(options.problem)
            orders = read_orders(sys.stdin.read(), Path(options.peers), Path(options.markers))
            preload(order.solver for order in orders)
            work(orders, problem, notes)
        except OSError as error:
            raise OptreeError(
                f"{error.filename or options.problem}: {error.strerror}; mend that and type the same command again, "
                "what has finished is kept"
            ) from error
        except KeyboardInterrupt:
            sys.exit(130)  # Ctrl-C: who typed it knows


if __name__ == "__main__":
    main()
