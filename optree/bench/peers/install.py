"""Installation of a peer into an environment of its own, from its lock. A failed installation is a result, too."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from optree.bench.peers.child_process import clean_environment, make_request, run_child
from optree.bench.peers.declaration import Peer
from optree.bench.runs.record import Run
from optree.files import write_whole
from optree.objective import Objective


def _failure(command: list[str]) -> str:
    """Run a command, copy its output to stderr, and return its last line if it fails, else an empty string."""
    # Without our variables, a user's site-packages or an activated environment cannot leak into the peer's.
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean_environment())
    sys.stderr.write(done.stdout)
    lines = done.stdout.strip().splitlines() or [f"exit code {done.returncode}"]
    return lines[-1].strip() if done.returncode else ""


def _make_environment(peer: Peer, target: Path) -> str:
    """Make the environment; return the reason of a failure, else an empty string."""
    python = str(target / "bin" / "python")
    lock = str(peer.folder / "requirements.lock")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Only wheels, apart from the packages that the peer declares as compiled. A peer without a wheel for this machine
    # is skipped, because compilation may take half an hour. The lock does not pin the tools that compile a package.
    formats = ["--only-binary", ":all:", *(f"--no-binary={name}" for name in peer.compiled)]
    steps = [
        [sys.executable, "-m", "venv", "--clear", str(target)],
        [*pip, *formats, "--require-hashes", "--requirement", lock],
    ]
    return next((f"cannot be installed: {message}" for step in steps if (message := _failure(step))), "")


def _try_search(peer: Peer, python: Path) -> str:
    """Run a first, tiny search, which also compiles the peer's kernels; return the reason of a failure."""
    run = Run("", "", peer.name, peer.name, "0.01", limits={"seconds": 60, "memory_mib": 4096})
    request = make_request(peer, run, Objective.of("0.01", max_depth=3))
    end, _ = run_child(peer, python, request)
    return f"does not start: {end.reason}" if end.status else ""


def install(peer: Peer, marker: str | Path) -> None:
    """Make a peer's environment, a directory ``NAME``, and beside it the marker ``NAME.json``.

    The marker has ``python``, the interpreter or null, and ``reason``, the reason of a failure.
    """
    marker = Path(marker).absolute()
    target = marker.with_suffix("")
    python = target / "bin" / "python"
    if reason := _make_environment(peer, target) or _try_search(peer, python):
        shutil.rmtree(target, ignore_errors=True)
        reason = f"{reason}; delete {marker.name} in {marker.parent.name} to try again"
        print(f"{peer.name}: {reason}", file=sys.stderr)
    write_whole(marker, json.dumps({"python": None if reason else str(python), "reason": reason}).encode() + b"\n")
