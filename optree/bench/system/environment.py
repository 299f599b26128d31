"""The environment of a record: machine, versions, and digests of the code."""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
# Modules that only read records, as files or folders of the package: an edit in one of them changes no run.
_READERS = (
    "drawing/",
    *(f"bench/{folder}/" for folder in ("figures", "papers", "report", "tables")),
    *("bench/fits/frame.py", "bench/runs/rerun.py", "bench/system/cli.py"),
)


def _digest_of(files: Iterable[tuple[str, Path]], seed: str = "") -> str:
    """Return a digest of named files, 16 hexadecimal digits."""
    digest = hashlib.sha256(seed.encode())
    for name, path in files:
        digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _package_digest(readers: bool) -> str:
    """Return a digest of the package's modules that only read records, or of all others."""
    files = ((path.relative_to(PACKAGE).as_posix(), path) for path in sorted(PACKAGE.rglob("*.py")))
    return _digest_of((name, path) for name, path in files if name.startswith(_READERS) == readers)


@cache
def code_digest() -> str:
    """Return a digest of all code that a run depends on.

    Snakemake does not notice an edit in an imported module: the workflow passes this digest to every solve job.
    """
    return _package_digest(readers=False)


@cache
def readers_digest() -> str:
    """Return a digest of all code that makes tables and figures from records: an edit there repeats no run."""
    return _package_digest(readers=True)


@cache
def peer_digest(folder: Path) -> str:
    """Return a digest of all code that a peer's run depends on: the package's, the peer's and the peers' runner."""
    paths = sorted([*(path for path in folder.iterdir() if path.is_file()), folder.parent / "runner.py"])
    return _digest_of(((path.name, path) for path in paths), seed=code_digest())


@cache
def cpu() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


@cache
def git_commit() -> str | None:
    """Return the commit of the package's checkout, with "+" after uncommitted changes; None outside a checkout."""
    git = ["git", "-C", str(PACKAGE)]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        edits = subprocess.run([*git, "status", "--porcelain", "--", "."], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if edits.stdout else "")


def versions() -> dict[str, str]:
    """Return the versions of the imported packages that a search depends on; an import just for its version is slow."""
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in ("numpy", "numba", "sklearn")}
    return {name: version for name, version in loaded.items() if version}


def describe(command: list[str], code: str) -> dict:
    """Return the ``environment`` of a run record, given the digest of the code."""
    return {
        "cpu": cpu(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions(),
        "code": code,
        "commit": git_commit(),
        "command": command,
    }
