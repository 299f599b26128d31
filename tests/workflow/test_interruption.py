"""Interruptions end with one short paragraph of ours: Ctrl-C, a full disk, and a killed job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from harness.checkout import Checkout
from trials import jobs, parent, processes, read, searches

from optree.bench.system.screen import _SCHEDULER

RUNS, MANY = 8, 20
# Jobs of one run each; a run takes minutes.
LONG = {
    "name": "long",
    "cells": "results/long/cells",
    "limits": {"seconds": 300},
    "job_seconds": 1,
    "experiments": [
        {
            "datasets": ["tic-tac-toe"],
            "encodings": ["onehot"],
            "algorithms": ["branches"],
            "regularization": ["0.0001"],
            "splits": list(range(RUNS)),
        }
    ],
}
SHORT = LONG | {
    "name": "short",
    "cells": "results/short/cells",
    "experiments": [LONG["experiments"][0] | {"regularization": ["0.02"], "splits": list(range(MANY))}],
}
CHARACTERS = 700  # of an ending


class Driver:
    """The workflow on a configuration in a copy of the repository, with its output in a file."""

    def __init__(self, checkout: Checkout, config: dict, *arguments: str):
        self.checkout, self.screen = checkout, checkout.path / f"{config['name']}.txt"
        (checkout.path / f"{config['name']}.json").write_text(json.dumps(config))
        with self.screen.open("w") as output:
            self.process = checkout.start(
                ["snakemake", "--cores", str(RUNS), "--configfile", f"{config['name']}.json", *arguments], output
            )
        self._before = 0

    def wait_for(self, ready) -> None:
        """Wait until something is true, while the driver runs."""
        end = time.monotonic() + 300
        while not ready():
            assert self.process.poll() is None, self.screen.read_text()
            assert time.monotonic() < end, self.screen.read_text()
            time.sleep(0.05)

    def mark(self) -> None:
        """Begin the part of the output that :meth:`ended` returns."""
        self._before = self.screen.stat().st_size

    def ended(self) -> str:
        """Wait for the end of the driver, and return its output since the mark."""
        assert self.process.wait(300) != 0
        assert jobs(self.checkout.path) == []
        return self.screen.read_text()[self._before :]


def test_ctrl_c_with_eight_running_jobs(finished, interruptible):
    driver = Driver(finished, LONG)
    driver.wait_for(lambda: len(searches(finished.path)) == RUNS)
    driver.mark()
    os.killpg(driver.process.pid, signal.SIGINT)
    said = driver.ended()
    assert len(said) < CHARACTERS, said
    assert f"stopped by Ctrl-C: 0 of {RUNS} runs are done and kept. To continue, type\n    snakemake" in said
    logs = (finished.path / ".snakemake" / "log").glob("*.log")
    assert max(logs, key=lambda path: path.stat().st_mtime).read_text().count("CalledProcessError") == RUNS


AFTER = """
import logging
from optree.bench.system.screen import Screen
logger, screen = logging.getLogger("some"), Screen()
screen.attach(logger)
logger.handlers.clear()
logger.error("an error")
screen.interrupted = True
logger.error("This event loop is already running")
"""


def test_an_error_of_snakemake_without_its_handlers_is_printed_but_not_after_ctrl_c():
    done = subprocess.run([sys.executable, "-c", AFTER], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["an error", "stopped by Ctrl-C: no job was started"]


def test_ctrl_c_while_jobs_and_plans_are_made(finished, interruptible):
    """Check moments in which the driver reads its configuration, and in which jobs import libraries."""
    driver = Driver(finished, LONG)
    driver.wait_for(lambda: "/rpds/" in (Path("/proc") / str(driver.process.pid) / "maps").read_text())
    os.killpg(driver.process.pid, signal.SIGINT)
    assert driver.ended().splitlines()[-1] == "stopped by Ctrl-C: no job was started"
    assert len(driver.screen.read_text()) < CHARACTERS
    driver = Driver(finished, LONG)
    driver.wait_for(lambda: jobs(finished.path))
    driver.mark()
    os.killpg(driver.process.pid, signal.SIGINT)
    said = driver.ended()
    assert "Traceback" not in said, said
    assert f"stopped by Ctrl-C: 0 of {RUNS} runs are done" in said


def test_ctrl_c_ends_proofs(finished, interruptible):
    config = LONG | {"name": "long-proofs", "cells": "results/long-proofs/cells", "prove": True}
    config["experiments"] = [LONG["experiments"][0] | {"algorithms": ["optree"], "regularization": ["0.005"]}]
    driver = Driver(finished, config, "--cores", "2")

    def provers() -> list[int]:
        return [
            pid for pid in processes(finished.path) if b"optree.bench.runs.prove" in read(Path(f"/proc/{pid}/cmdline"))
        ]

    driver.wait_for(provers)
    driver.mark()
    os.killpg(driver.process.pid, signal.SIGINT)
    said = driver.ended()
    assert provers() == []
    assert len(said) < CHARACTERS, said
    assert "stopped by Ctrl-C: " in said


def test_snakemake_has_the_loop_in_which_ctrl_c_is_raised():
    module, name = _SCHEDULER
    assert callable(getattr(import_module(module).JobScheduler, name))


def test_a_killed_job_is_one_line(finished, interruptible):
    driver = Driver(finished, LONG, "--cores", "1")
    driver.wait_for(lambda: searches(finished.path))
    driver.mark()
    os.kill(parent(searches(finished.path)[0]), signal.SIGKILL)
    driver.wait_for(lambda: "died" in driver.screen.read_text())
    os.killpg(driver.process.pid, signal.SIGINT)
    lines = [line for line in driver.ended().splitlines() if "died" in line]
    assert len(lines) == 1
    assert lines[0].startswith("error: results/long/jobs/")
    assert lines[0].endswith(".json: died of SIGKILL")


def test_a_full_disk_starts_no_further_job(finished):
    results = finished.path / "results" / "short"
    results.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", results], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        driver = Driver(finished, SHORT, "--cores", "2", "--until", "collect")
        driver.wait_for(lambda: "No space left" in driver.screen.read_text())
        said = driver.ended()
        said = said[said.index("error: ") :]
        kept = {path: path.read_bytes() for path in finished.cells("short")}
        assert said.count("error: ") <= 2, said
        assert len(said) < 2 * CHARACTERS, said
        assert "No space left on device: results/short; make room first\nstopped: " in said
        assert 0 < len(kept) < MANY
        subprocess.run(["mount", "-o", "remount,size=100m", results], check=True)
        done = finished.snakemake("--until", "collect", config="short.json")
        assert done.returncode == 0, done.stdout + done.stderr
        assert all(path.read_bytes() == content for path, content in kept.items())
        assert len(finished.whole_records("short")) == MANY
    finally:
        subprocess.run(["umount", results], check=True)
