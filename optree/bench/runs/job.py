"""One job: ``python -m optree.bench.runs.job JOB ROWS OUTPUT`` executes runs on the same rows, one after another.

Each run executes in a child process under limits. It leaves one record in the store of cells, written completely or not
at all, whatever happens to its search. A valid record of the same cell stays. So a job that starts again, after an end
at any moment, executes only the unfinished runs. OUTPUT gets all records, a line each, at the end of the job.
"""

from __future__ import annotations

import argparse
import gc
import json
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from optree import solvers
from optree.bench.models import estimators
from optree.bench.peers.declaration import Peer, add_peer_options, read_peer
from optree.bench.peers.run_peer import run_peer
from optree.bench.runs import record
from optree.bench.runs.jobs import Job
from optree.bench.runs.record import Run, comparison_key
from optree.bench.runs.score import depth_limit, solver_digest, summary_line
from optree.bench.runs.solve import solve_in_child
from optree.bench.runs.store import Cell
from optree.bench.system import environment
from optree.bench.system.cli import log_of, parse_command, reporting
from optree.bench.system.process_limits import FOREIGN_SIGNALS, call_function, end_with_next_poll
from optree.datasets import Dataset
from optree.encoding.problem_files import load_problem
from optree.errors import OptreeError
from optree.files import write_whole
from optree.problem import Problem
from optree.solvers.base import Declaration

SHORT_SECONDS = 1.0  # a run of less has its line in the log alone


@dataclass
class Place:
    """The places of files that a job needs, and its rows, which are read once."""

    rows: Path  # the canonical content of a dataset (.csv), or an encoded problem (.npz)
    store: Path  # finished cells
    peers: Path = Path("workflow/peers")
    markers: Path = Path(".peers")  # environments of peers, and their markers
    dataset: Dataset | None = None  # for models

    @cached_property
    def problem(self) -> tuple[Problem, dict]:
        """Return the encoded problem and its notes."""
        return load_problem(self.rows)

    @cached_property
    def model_rows(self):
        """Return the rows for models."""
        from optree.bench.models.fit import load_rows  # imports pandas and scikit-learn, which searches do not need

        return load_rows(self.rows, self.dataset)

    def data(self, run: Run) -> dict:
        """Return the ``data`` of a run's record."""
        return self.problem[1]["data"] if run.model is None else self.model_rows.data

    def solver(self, run: Run) -> Declaration:
        """Return the solver of a run, ours or a peer."""
        return solvers.get(run.solver) if run.solver in solvers.names() else read_peer(self.peers / run.solver)

    def marker(self, peer: str) -> dict:
        """Return the content of a peer's marker."""
        return json.loads((self.markers / f"{peer}.json").read_text())


def preload(runs: Iterable[Run], place: Place) -> None:
    """Import the solvers' libraries and initialise numba, once for all forks of this process.

    A fork then needs about 0.03 s of processor time before its search, in place of one to three seconds.
    """
    environment.describe([], "")  # asks git and uname, whose answers every fork inherits
    for run in runs:
        for name in place.solver(run).imports if run.model is None else ("sklearn.ensemble", "optree.estimators"):
            import_module(name)
        if run.model is not None:
            estimators.code_digest(run, place.peers)  # is cached
        else:
            solver_digest(run.solver, getattr(place.solver(run), "folder", None))  # likewise
    if "numba" in sys.modules:
        sys.modules["numba"].njit(lambda: None)()
    gc.freeze()  # a collection in a fork would copy the pages of all modules


def read_finished(cell: Cell, place: Place, reference: dict | None) -> dict | None:
    """Return the record of an earlier job, if it is of the same cell, rows and depth limit; otherwise None.

    The names that another configuration gave to the parts of the cell become this one's.
    """
    path, run = cell.path(place.store), cell.run
    if not cell.is_finished(place.store):
        return None
    try:
        found = record.read(path)
    except OptreeError:
        print(f"{path}: is no record of this version; its run is done again", file=sys.stderr)
        return None
    if found["cell"] != cell.digest or found["status"] == "skipped":  # the missing peer or reference may be there now
        return None
    limit = None if run.model is not None else depth_limit(run, place.solver(run), reference)
    return {**found, "run": vars(run)} if (found["data"], found["depth_limit"]) == (place.data(run), limit) else None


def _fit_in_child(run: Run, place: Place) -> dict:
    """Execute the run of a model in a child process without limits, and return its record."""
    from optree.bench.models import fit

    rows = place.model_rows
    with TemporaryDirectory(prefix="model-") as name:
        path = Path(name, "record.json")

        def fit_and_write() -> None:
            path.write_text(json.dumps(fit.execute(run, rows, place.peers, place.markers)))

        end = call_function(fit_and_write, Path(name, "output"))
        if end.status is not None:
            raise OptreeError(f"{run.algorithm} on {run.dataset}, split {run.split}: {end.reason}")
        return json.loads(path.read_text())


def execute(run: Run, place: Place, reference: dict | None = None) -> dict:
    """Execute a run and return its record; repeat it once after a signal from elsewhere, which may be a mistake."""
    attempt: Callable[[], dict]
    if run.model is not None:
        return _fit_in_child(run, place)
    solver = place.solver(run)
    if isinstance(solver, Peer):
        attempt = partial(run_peer, *place.problem, run, solver, place.marker(solver.name), reference)
    else:
        attempt = partial(solve_in_child, *place.problem, run, reference)
    made = attempt()
    if made["status"] != "killed" or not made["reason"].startswith(FOREIGN_SIGNALS):
        return made
    print(f"{summary_line(made)}; it is done again", file=sys.stderr)
    return attempt()


def execute_job(cells: Iterable[Cell], place: Place) -> list[dict]:
    """Execute the unfinished runs of a job in their order, write a line about each, and return all records."""
    made, references, new = [], {}, 0
    for cell in cells:
        run = cell.run
        reference = references[run.depth_of, comparison_key(run)] if run.depth_of else None
        entry = read_finished(cell, place, reference)
        if entry is None:
            entry, new = execute(run, place, reference) | {"cell": cell.digest}, new + 1
            path = cell.path(place.store)
            path.parent.mkdir(parents=True, exist_ok=True)
            record.write(entry, path)
            short = sum(entry["seconds"]["calls"] or ()) < SHORT_SECONDS  # thousands of lines would fill the screen
            print(summary_line(entry), file=log_of(sys.stderr) if short else sys.stderr)
        made.append(record.seal(entry))
        references[run.algorithm, comparison_key(run)] = entry
    if new < len(made):
        print(f"{len(made) - new} of {len(made)} runs had finished before and are kept", file=log_of(sys.stderr))
    return made


def main(arguments: list[str] | None = None) -> None:
    """Run the command line.

    The exit code is 0 whatever the statuses of the searches, and 1, with one line, if records cannot be made.
    """
    parser = argparse.ArgumentParser(prog="python -m optree.bench.runs.job", description=__doc__.splitlines()[0])
    parser.add_argument("job", type=Path, help="the job, a file of optree.bench.runs.jobs.Job (.json)")
    parser.add_argument("rows", type=Path, help="an encoded problem (.npz), or the content of a dataset (.csv)")
    parser.add_argument("output", type=Path, help="the file for all records of the job (.jsonl)")
    parser.add_argument("--store", type=Path, default="results/cells", help="the folder of finished cells")
    add_peer_options(parser)
    options = parse_command(parser, arguments)
    with reporting(options.log):
        try:
            job, dataset = Job.read(options.job)
            place = Place(options.rows, options.store, options.peers, options.markers, dataset)
            preload(job.runs, place)
            end_with_next_poll(signal.SIGTERM)
            lines = (json.dumps(made) + "\n" for made in execute_job(job.cells, place))
            write_whole(options.output, "".join(lines).encode())
        except OSError as error:
            raise OptreeError(
                f"{error.filename or options.job}: {error.strerror}; mend that and type the same command again, "
                "finished runs are kept"
            ) from error


if __name__ == "__main__":
    main()
