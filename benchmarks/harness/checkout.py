"""A copy of the repository, in which tests and benchmarks run the real workflow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

from optree.bench.report.side_by_side import identity
from optree.bench.tables.frame import load

ROOT = Path(__file__).resolve().parents[2]


class Checkout:
    """A copy of all files that git tracks or would track, run with this environment's programs and its own optree.

    All copies share the repository's folder of compiled kernels.
    """

    def __init__(self, path: Path):
        self.path = path
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        for name in listed.stdout.splitlines():
            if (ROOT / name).is_file():
                (path / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, path / name)
        programs = Path(sys.executable).parent
        self.environment = os.environ | {
            "PYTHONPATH": str(path),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "XDG_CACHE_HOME": str(path / ".cache"),
            "OPTREE_NODE_CACHE": str(ROOT / ".numba_cache"),
            "NUMBA_CACHE_DIR": str(ROOT / ".numba_cache"),
        }

    def run(self, command: list[str], **options) -> subprocess.CompletedProcess:
        """Run a command in the copy."""
        return subprocess.run(
            command, cwd=self.path, env=self.environment, capture_output=True, text=True, check=False, **options
        )

    def start(self, command: list[str], output=subprocess.DEVNULL) -> subprocess.Popen:
        """Start a command in the copy, in a process group of its own."""
        return subprocess.Popen(
            command,
            cwd=self.path,
            env=self.environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )

    def snakemake(self, *arguments: str, config: str = "config/test.yaml", cores: int = 2):
        """Run the workflow in the copy."""
        return self.run(["snakemake", "--cores", str(cores), "--configfile", config, *arguments])

    def records(self, name: str = "test") -> dict[str, dict]:
        """Return the records by the names of their cells, without the fields that depend on clock or machine."""
        found = {}
        for entry in self.whole_records(name):
            for key in ("seconds", "peak_rss_mib", "trace", "environment", "digest"):
                del entry[key]
            if "model" in entry:
                del entry["model"]["memory_before_mib"]
                entry["model"]["trials"] = [trial | {"seconds": None} for trial in entry["model"]["trials"]]
            found[identity(entry)] = entry
        return found

    def whole_records(self, name: str = "test") -> list[dict]:
        """Return the records of all finished jobs, sorted by the names of their cells."""
        paths = (self.path / "results" / name / "jobs").glob("*.jsonl")
        return sorted(chain.from_iterable(map(load, paths)), key=identity)

    def cells(self, name: str | None = None) -> list[Path]:
        """Return the files of finished cells: of a configuration with a store of its own, or of the common store."""
        return sorted((self.path / "results" / (name or "") / "cells").glob("*/*.json"))
