"""What a run ran on: machine, versions, code."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
# Modules that only read records: editing one of them does not change any run.
_READERS = (
    "views.py",
    *(f"bench/{name}.py" for name in ("fits", "frame", "tables", "formats", "verdicts", "bounds", "cli", "datasheets")),
    *(
        f"bench/{name}.py"
        for name in ("certificates", "comparison", "problems", "ablation", "plots", "races", "panels")
    ),
    *(f"bench/{name}.py" for name in ("statistics", "duels", "ranks", "findings", "pages")),
    *(f"bench/{name}.py" for name in ("reproduce", "archive", "again")),
)


def _digest(readers: bool) -> str:
    """A digest of the package's modules that only read records, or of all others, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if (name in _READERS or name.startswith("bench/papers/")) == readers:
            digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def code_digest() -> str:
    """A digest of all code that a run depends on, 16 hexadecimal digits.

    Neither Snakemake nor numba's disk cache sees an edit in an imported module: the workflow passes this digest to
    every solve job, and keys numba's cache by it.
    """
    return _digest(readers=False)


@cache
def peer_digest(folder: Path) -> str:
    """A digest of all code that a run of a peer depends on: ours, its folder's and the runner of all peers."""
    digest = hashlib.sha256(code_digest().encode())
    for path in sorted([*(path for path in folder.iterdir() if path.is_file()), folder.parent / "runner.py"]):
        digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def readers_digest() -> str:
    """A digest of all code that makes tables and figures of records: an edit there makes them again, and no run."""
    return _digest(readers=True)


@cache
def cpu() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


@cache
def git_commit() -> str | None:
    """The commit of the checkout that holds the package, None outside one; "+" marks uncommitted changes."""
    git = ["git", "-C", str(PACKAGE)]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        edits = subprocess.run([*git, "status", "--porcelain", "--", "."], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if edits.stdout else "")


def versions() -> dict[str, str]:
    """What is loaded of the packages that a search depends on; an import costs more than it tells."""
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in ("numpy", "numba", "sklearn")}
    return {name: version for name, version in loaded.items() if version}


def describe(command: list[str], code: str) -> dict:
    """The environment of a run record, of code with this digest."""
    return {
        "cpu": cpu(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions(),
        "code": code,
        "commit": git_commit(),
        "command": command,
    }
