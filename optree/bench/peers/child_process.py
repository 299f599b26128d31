"""The child process that runs a peer: its request, its environment variables, and its limits."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from optree.bench.peers.declaration import Peer
from optree.bench.runs.folds import random_seed
from optree.bench.runs.progress import Progress
from optree.bench.runs.record import Run
from optree.bench.runs.score import REPEAT_SECONDS
from optree.bench.system.process_limits import ProcessEnd, run_program
from optree.objective import CONSTRAINTS, Objective

_THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def clean_environment(*prefixes: str) -> dict[str, str]:
    """Return our environment variables, without the Python-specific ones and the ones with a given prefix."""
    removed = ("PYTHON", "VIRTUAL_ENV", *prefixes)
    return {name: value for name, value in os.environ.items() if not name.startswith(removed)}


def make_request(peer: Peer, run: Run, objective: Objective) -> dict:
    """Return the request for the peer's runner: objective, limits, and the peer's own parameters."""
    return {
        "regularization": run.regularization,
        "penalty": run.penalty,
        **{name: getattr(objective, name) for name in CONSTRAINTS},
        "seconds": run.limits.get("seconds"),
        "memory_mib": run.limits.get("memory_mib"),
        "seed": random_seed(run.split),
        "repeats": run.repeats,
        "repeat_seconds": REPEAT_SECONDS,
        "parameters": peer.check_parameters(run.parameters),
    }


def run_child(
    peer: Peer, python: str | Path, request: dict, save_rows: Callable[[Path], None] | None = None
) -> tuple[ProcessEnd, Progress]:
    """Run the peer's runner in its environment's ``python``, under the limits of the request.

    ``save_rows`` writes the training rows to a file; without it the runner only warms up.
    """
    with TemporaryDirectory(prefix="peer-") as name:
        folder = Path(name)
        (folder / "request.json").write_text(json.dumps(request))
        command = [python, peer.folder.parent / "runner.py", peer.folder, folder / "request.json", folder / "answers"]
        if save_rows is not None:
            save_rows(folder / "problem.npz")
            command.append(folder / "problem.npz")
        variables, memory_mib = clean_environment("NUMBA_") | _THREADS, request["memory_mib"]
        with closing(Progress(folder / "answers", request["seconds"])) as progress:
            end = run_program(list(map(str, command)), folder / "output", memory_mib, progress.overdue, variables)
    return end, progress
