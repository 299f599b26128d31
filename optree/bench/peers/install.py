"""The environment of a peer: made once, from its lock. A peer that cannot be installed is a result, too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from optree.bench.peers.declaration import Peer
from optree.bench.runs.record import Run
from optree.bench.system.child_process import request, start
from optree.files import write_whole
from optree.objective import Objective


def _failure(command: list[str]) -> str:
    """Run a step; the last line that it wrote if it fails, otherwise nothing. All that it wrote goes to stderr."""
    # A user's site-packages or an activated environment must not leak into the peer's.
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean)
    sys.stderr.write(done.stdout)
    lines = done.stdout.strip().splitlines() or [f"exit code {done.returncode}"]
    return lines[-1].strip() if done.returncode else ""


def _make(peer: Peer, target: Path) -> str:
    """Make the environment; why it could not be made, or nothing."""
    python = str(target / "bin" / "python")
    lock = str(peer.folder / "requirements.lock")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Wheels only, unless the peer says otherwise: without one for this machine it is skipped, in place of half an hour
    # of compilers. What compiles a package is not in the lock, but the package itself is.
    kinds = ["--only-binary", ":all:", *(f"--no-binary={name}" for name in peer.compiled)]
    steps = [
        [sys.executable, "-m", "venv", "--clear", str(target)],
        [*pip, *kinds, "--require-hashes", "--requirement", lock],
    ]
    return next((f"cannot be installed: {said}" for step in steps if (said := _failure(step))), "")


def _try(peer: Peer, python: Path) -> str:
    """A first, tiny search, which also compiles what the peer compiles once; what it complains of, or nothing."""
    run = Run("", "", peer.name, peer.name, "0.01", limits={"seconds": 60, "memory_mib": 4096})
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        end, _ = start(peer, python, request(peer, run, Objective.of("0.01", max_depth=3)), Path(folder))
    return f"does not start: {end.reason}" if end.status else ""


def install(peer: Peer, marker: str | Path) -> None:
    """Make a peer's environment beside its marker, and write the marker.

    Parameters
    ----------
    peer : Peer
    marker : path
        ``NAME.json``: ``{"python": interpreter or null, "reason": why there is none}``. The environment goes to the
        directory ``NAME``.
    """
    marker = Path(marker).absolute()
    target = marker.with_suffix("")
    python = target / "bin" / "python"
    if reason := _make(peer, target) or _try(peer, python):
        shutil.rmtree(target, ignore_errors=True)
        reason = f"{reason}; delete {marker.name} in {marker.parent.name} to try again"
        print(f"{peer.name}: {reason}", file=sys.stderr)
    write_whole(marker, json.dumps({"python": None if reason else str(python), "reason": reason}).encode() + b"\n")
