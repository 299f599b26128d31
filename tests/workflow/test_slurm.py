"""The real workflow on a real SLURM cluster: the same results as locally, after any end of a job or the driver."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest
import yaml
from harness.cluster import Cluster, ask, why_not

# Searches of about a second that end at the same iteration everywhere, in six jobs.
SLOW = {
    "name": "slow",
    "cells": "results/slow/cells",
    "limits": {"seconds": 60, "iterations": 100000},
    "job_seconds": 150,
    "experiments": [
        {
            "datasets": ["tic-tac-toe", "monks-2"],
            "encodings": ["onehot"],
            "algorithms": ["branches"],
            "regularization": ["0.002", "0.001", "0.0005"],
            "splits": ["full", 0],
        }
    ],
}
HANGS = 400  # seconds: the driver would wait forever for a job that no node takes
QUICK = ("--slurm-init-seconds-before-status-checks", "2")


def running(accounting: bool = False) -> Iterator[Cluster]:
    """Yield a cluster, or skip the test if this machine cannot have one."""
    if reason := why_not(accounting):
        pytest.skip(reason)
    cluster = Cluster(accounting)
    try:
        try:
            cluster.start()
        except (AssertionError, OSError) as error:
            pytest.skip(f"SLURM's daemons do not run on this machine: {error}")
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(params=[False, True], ids=["no-accounting", "accounting"])
def cluster(request):
    """Yield a cluster without, and one with, a database of jobs."""
    yield from running(request.param)


@pytest.fixture
def plain():
    """Yield a cluster without a database of jobs."""
    yield from running()


def command(*arguments: str, config: str = "config/test.yaml") -> list[str]:
    return ["snakemake", "--profile", "slurm", "--configfile", config, *QUICK, *arguments]


@pytest.fixture
def compiled(finished):
    """Return the checkout in which the tiny configuration has run; the node uses its compiled kernels."""
    finished.environment["OPTREE_NODE_CACHE"] = str(finished.path / ".numba_cache")
    return finished


def wait_for(what: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_tiny_configuration_gives_what_it_gives_locally(cluster, compiled):
    config = yaml.safe_load((compiled.path / "config" / "test.yaml").read_text())
    config |= {"name": "there", "cells": "results/there/cells"}
    jobs = 6
    if cluster.accounting:  # one experiment will do
        config, jobs = config | {"name": "accounted", "experiments": config["experiments"][3:]}, 1
    (compiled.path / "there.json").write_text(json.dumps(config))
    done = compiled.run(command(config="there.json"), timeout=HANGS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("has been submitted with SLURM jobid") == jobs
    found, local = compiled.records(config["name"]), compiled.records()
    assert found == {name: local[name] for name in found}
    assert len(found) == (1 if cluster.accounting else 19)
    assert cluster.jobs() == []


def slow(checkout) -> subprocess.Popen:
    """Start a driver on SLOW, and wait for a first record and a running job."""
    asked = ["--set-resources", "solve:mem_mb=1777", "solve:runtime=90"]
    asked += ["--default-resources", "slurm_partition=debug", "--retries", "1"]
    process = checkout.start(command(*asked, config="slow.json"))
    wait_for(lambda: checkout.cells("slow") and ask("squeue", "-h", "-t", "R", "-o", "%A"))
    return process


def test_jobs_are_cancelled_and_the_driver_is_killed(plain, compiled):
    (compiled.path / "slow.json").write_text(json.dumps(SLOW))
    process = slow(compiled)
    assert set(ask("squeue", "-h", "-o", "%P %m %l").splitlines()) == {"debug 1777M 1:30:00"}
    ask("scancel", ask("squeue", "-h", "-t", "R", "-o", "%A").split()[0])  # is tried again
    time.sleep(1)
    kept = {path: path.read_bytes() for path in compiled.cells("slow")}
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
    left = plain.jobs()
    assert left
    done = compiled.run(command(config="slow.json"), timeout=HANGS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "jobs of a driver that was killed are cancelled: scancel" in done.stderr
    assert all(path.read_bytes() == content for path, content in kept.items())
    (compiled.path / "slow.json").write_text(json.dumps(SLOW | {"name": "local", "cells": "results/local/cells"}))
    assert compiled.snakemake(config="slow.json").returncode == 0
    assert compiled.records("slow") == compiled.records("local")
    assert plain.jobs() == []


def test_a_job_that_its_partition_never_starts_is_told(plain, compiled):
    (compiled.path / "long.json").write_text(json.dumps(SLOW | {"name": "long", "cells": "results/long/cells"}))
    asked = ["--set-resources", "solve:runtime=300"]  # the partition has 120
    log = compiled.path / "long.txt"
    with log.open("w") as output:
        process = compiled.start(command(*asked, config="long.json"), output)
    wait_for(lambda: "wait, perhaps for ever" in log.read_text(), HANGS)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
    ask("scancel", "--me")
    said = log.read_text()
    assert "6 jobs wait, perhaps for ever: SLURM's reason is PartitionTimeLimit" in said
    assert "they ask partition debug for 5:00:00" in said
