"""The child process that runs a peer: its request, its environment variables, and its limits."""

from __future__ import annotations

import json
import os
from pathlib import Path

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
    peer: Peer, python: str | Path, request: dict, folder: Path, problem: Problem | None = None
) -> tuple[ProcessEnd, Progress]:
    """Run the peer's runner under the limits of the request; without a problem it only warms up.

    Parameters
    ----------
    peer : Peer
    python : path
        The interpreter of the peer's environment.
    request : dict
        From :func:`make_request`.
    folder : Path
        An empty directory for the files that are exchanged.
    problem : Problem, optional
        The training rows.
    """
    (folder / "request.json").write_text(json.dumps(request))
    command = [python, peer.folder.parent / "runner.py", peer.folder, folder / "request.json", folder / "answers"]
    if problem is not None:
        problem.save(folder / "problem.npz")
        command.append(folder / "problem.npz")
    progress = Progress(folder / "answers", request["seconds"])
    environment = clean_environment("NUMBA_") | _THREADS
    try:
        end = run_program(
            list(map(str, command)), folder / "output", request["memory_mib"], progress.overdue, environment
        )
    finally:
        progress.close()
    return end, progress
