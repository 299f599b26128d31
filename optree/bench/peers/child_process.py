"""The child process that runs a peer: its request, its environment variables, and its limits."""

from __future__ import annotations

import json
import os
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from optree.bench.peers.declaration import Peer
from optree.bench.runs.folds import random_seed
from optree.bench.runs.progress import Progress
from optree.bench.runs.record import Run
from optree.bench.runs.score import REPEAT_SECONDS
from optree.bench.system.process_limits import ProcessEnd, run_program
from optree.objective import CONSTRAINTS, Objective
from optree.problem import Problem

_THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def clean_environment(*prefixes: str) -> dict[str, str]:
    """Return our environment variables, without the Python-specific ones and the ones with a given prefix."""
    removed = ("PYTHON", "VIRTUAL_ENV", *prefixes)
    return {name: value for name, value in os.environ.items() if not name.startswith(removed)}


def make_request(peer: Peer, run: Run, objective: Objective) -> dict:
    """Return the request for the peer's runner: objective, limits, and the peer's own parameters."""
    return {
        "regularization": str(float(Fraction(run.regularization))),  # no peer reads fractions
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
    peer: Peer, python: str | Path, request: dict, train: Problem | None = None
) -> tuple[ProcessEnd, Progress]:
    """Run the peer's runner in its environment's ``python``, under the limits of the request.

    The runner reads the training rows as numbers or codes; without them it only warms up.
    """
    with TemporaryDirectory(prefix="peer-") as name:
        folder = Path(name)
        (folder / "request.json").write_text(json.dumps(request))
        command = [python, peer.folder.parent / "runner.py", peer.folder, folder / "request.json", folder / "answers"]
        if train is not None:
            columns = train.columns
            rows = columns.as_numbers().X if columns.has_numbers else columns.codes
            np.savez(folder / "problem.npz", codes=rows, y=train.y)
            command.append(folder / "problem.npz")
        variables, memory_mib = clean_environment("NUMBA_") | _THREADS, request["memory_mib"]
        with closing(Progress(folder / "answers", request["seconds"])) as progress:
            end = run_program(list(map(str, command)), folder / "output", memory_mib, progress.overdue, variables)
    return end, progress
