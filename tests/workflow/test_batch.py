"""Jobs of several runs: limits from outside, kept and repeated records, grouping, and the driver."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import platform
import resource
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest
from support import ROOT
from support.model_runs import model_run
from support.refusal import refused
from support.runs import encoded

from optree import solvers
from optree.bench.runs import job, jobs, record, score
from optree.bench.runs.jobs import (
    JOB_MIB,
    MAX_RUNS,
    MODEL_MINUTES,
    UNLIMITED_MIB,
    UNLIMITED_MINUTES,
    group_into_jobs,
    max_seconds,
    resources,
    threads,
)
from optree.bench.runs.record import Run, comparison_key
from optree.bench.runs.store import AGAIN, Cell, digest_of
from optree.bench.system import driver, environment, numba_cache, screen
from optree.budget import rss_mib
from optree.datasets import read_table
from optree.encoding.problem_files import save_problem

WANTED = Run("monks-1", "onehot-drop-first", "cart", "cart", "0.05", limits={"seconds": 5, "memory_mib": 2000})


def planned(*runs: Run) -> list[Cell]:
    """Return the cells of a job."""
    return [Cell(digest_of(vars(run)), run) for run in runs]


def do(folder, cells) -> list[dict]:
    """Execute a job with the store in a folder, and return its records."""
    rows = folder.parent / f"{folder.name}.npz"
    if not rows.exists():
        problem, notes = encoded("monks-1", "onehot-drop-first")
        save_problem(problem, rows, **notes)
    return job.execute_job(cells, job.Place(rows, folder, folder, folder))


@pytest.fixture
def trouble(monkeypatch):
    """Return a function that makes CART act otherwise after its warm-up."""

    def make(act, times=None):
        cart = solvers.get("cart")

        def run(task, seed, **parameters):
            if task.clock.budget.iterations != 1:
                act()
            return cart.run(task, seed, **parameters)

        monkeypatch.setattr(solvers, "get", lambda name: replace(cart, run=run))

    return make


def held(mib: int) -> None:
    """Hold memory for a minute: ``mib`` MiB beyond the tenth that the hard limit adds."""
    kept = bytearray(int(mib + rss_mib() / 10) * 2**20)
    time.sleep(60)
    del kept


def fail() -> None:
    raise ValueError("no such luck")


def test_code_and_machine_are_read_before_the_forks(tmp_path, monkeypatch):
    for cached in (score.solver_digest, environment.code_digest, environment.git_commit):
        cached.cache_clear()
    monkeypatch.setattr(platform, "_uname_cache", None)
    monkeypatch.setattr(platform, "_platform_cache", {})
    job.preload([WANTED], job.Place(tmp_path, tmp_path))
    monkeypatch.setattr(environment, "imported_modules", lambda *modules: fail())
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **options: fail())
    (made,) = do(tmp_path, planned(WANTED))
    assert made["status"] == "heuristic"


@pytest.mark.parametrize(
    ("act", "limits", "status", "reason"),
    [
        (partial(time.sleep, 60), {"seconds": 0.1}, "time_limit", "ignores its limit of 0.1 s"),
        (partial(held, 900), {"seconds": 20, "memory_mib": 300}, "memory_limit", "the limit is "),
        (partial(held, 9000), {"seconds": 20, "memory_mib": 300}, "memory_limit", "MemoryError"),
        (fail, {"seconds": 5}, "error", "ValueError: no such luck"),
        (partial(os._exit, 3), {"seconds": 5}, "error", "no message"),
        (partial(signal.raise_signal, signal.SIGALRM), {"seconds": 5}, "killed", "Alarm clock"),
    ],
)
def test_whatever_becomes_of_a_search_there_is_a_record_of_it(tmp_path, trouble, act, limits, status, reason):
    trouble(act)
    if "memory_mib" in limits:  # what this process holds counts
        limits = limits | {"memory_mib": limits["memory_mib"] + rss_mib()}
    (made,) = do(tmp_path, planned(replace(WANTED, limits=limits)))
    assert made["status"] == status
    assert reason in made["reason"]
    assert made["tree"] is made["objective"] is made["cost"]["value"] is None
    assert made["peak_rss_mib"] > 1
    assert len(made["seconds"]["searches"]) == 1
    assert record.read(*tmp_path.glob("*/*")) == made


def test_what_somebody_else_killed_is_done_again_once(tmp_path, trouble):
    def kill():
        with open(tmp_path / "times", "a") as file:
            file.write("x")
        if (tmp_path / "times").stat().st_size <= most:
            os.kill(os.getpid(), signal.SIGKILL)

    trouble(kill)
    for most, status in ((1, "heuristic"), (2, "killed")):
        (tmp_path / "times").unlink(missing_ok=True)
        (made,) = do(tmp_path, planned(replace(WANTED, split=str(most))))
        assert made["status"] == status
        assert (tmp_path / "times").read_text() == "xx"


def test_a_limit_that_the_solver_keeps_leaves_its_tree_and_bound(tmp_path):
    wanted = replace(WANTED, algorithm="branches", solver="branches", regularization="0.001")
    exceeded = max(1, rss_mib() - 200)  # by a process that is ended at 256 MiB more
    asked = planned(*(replace(wanted, limits=one) for one in ({"iterations": 1}, {"memory_mib": exceeded})))
    made = do(tmp_path, asked)
    assert [entry["status"] for entry in made] == ["iteration_limit", "memory_limit"]
    assert all(entry["tree"] and entry["gap"] > 0 for entry in made)


def test_what_has_finished_is_kept_and_what_has_changed_is_done_again(tmp_path, monkeypatch, capsys):
    wanted = planned(*(replace(WANTED, split=str(seed)) for seed in range(3)))
    done = []
    monkeypatch.setattr(
        job, "solve_in_child", lambda *args, real=job.solve_in_child: done.append(args[2].split) or real(*args)
    )

    def again(*cells):
        done.clear()
        do(tmp_path, cells)
        return "".join(done)

    assert again(*wanted) == "012"
    paths = [cell.path(tmp_path) for cell in wanted]
    files = {path: path.read_bytes() for path in paths}
    assert again(*wanted) == ""
    assert "3 of 3 runs had finished before and are kept" in capsys.readouterr().err
    assert files == {path: path.read_bytes() for path in paths}
    paths[1].unlink()
    assert again(*wanted) == "1"
    paths[0].write_bytes(files[paths[0]][:500])
    older = json.loads(files[paths[2]])
    del older["data"]["encoded_sha256"]
    paths[2].write_text(json.dumps(older))
    assert again(*wanted) == "02"
    assert capsys.readouterr().err.count("is no record of this version; its run is done again") == 2
    monkeypatch.setenv(AGAIN, str(time.time() + 10))
    assert again(*wanted) == "012"


def test_a_cell_of_another_configuration_gets_the_names_of_this_one(tmp_path):
    (first,) = do(tmp_path, [Cell("ab0", WANTED)])
    (second,) = do(tmp_path, [Cell("ab0", replace(WANTED, algorithm="greedy", encoding="binary"))])
    assert (second["run"]["algorithm"], second["run"]["encoding"]) == ("greedy", "binary")
    changed = ("run", "digest")
    assert {key: first[key] for key in first if key not in changed} == {
        key: second[key] for key in second if key not in changed
    }


def test_who_is_told_a_depth_does_not_wait_for_what_is_not_there(tmp_path, trouble):
    trouble(fail)
    asked = planned(WANTED, replace(WANTED, algorithm="told", depth_of="cart"))
    assert [(made["status"], made["reason"]) for made in do(tmp_path, asked)] == [
        ("error", "ValueError: no such luck"),
        ("skipped", "cart has no tree whose depth could be the limit"),
    ]


def run_job(store, tmp_path, **options) -> tuple[int, str]:
    """Run a job as the workflow does; return its exit code and last line."""
    problem, notes = encoded("monks-1", "onehot-drop-first")
    save_problem(problem, tmp_path / "problem.npz", **notes)
    wanted = jobs.Job("monks-1", "onehot-drop-first", tuple(planned(WANTED)))
    wanted.write(tmp_path / "job.json", read_table(ROOT / "config" / "datasets.csv")["monks-1"])
    paths = [tmp_path / name for name in ("job.json", "problem.npz", "job.jsonl")]
    done = subprocess.run(
        [sys.executable, "-m", "optree.bench.runs.job", *paths, "--store", store],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )
    return done.returncode, done.stderr.strip().splitlines()[-1]


def test_a_disk_that_is_full_fails_the_job_with_one_line_and_leaves_no_record(tmp_path):
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))

    code, said = run_job(tmp_path / "cells", tmp_path, preexec_fn=small_files)
    assert code == 1
    assert said.startswith("error: ")
    assert "cannot be written (File too large); nothing was changed" in said
    assert list((tmp_path / "cells").glob("*/*")) == []
    code, said = run_job(tmp_path / "cells", tmp_path)
    assert code == 0
    assert "heuristic" in said
    assert json.loads((tmp_path / "job.jsonl").read_text())["cell"] == planned(WANTED)[0].digest


def test_a_full_disk_in_the_search_is_no_result(tmp_path, trouble):
    def full():
        raise OSError(28, os.strerror(28))

    trouble(full)
    with pytest.raises(OSError, match="No space left on device"):
        do(tmp_path, planned(WANTED))
    assert list(tmp_path.iterdir()) == []


RUNS = [
    Run("d", encoding, algorithm, algorithm, "0.1", split=str(seed), limits={"seconds": seconds}, depth_of=told)
    for encoding, seconds in (("a", 10), ("b", 1), ("c", None))
    for algorithm, told in (("told", "one"), ("one", None), ("two", None))
    for seed in range(60)
]


def test_runs_share_jobs_within_their_limits_and_what_is_compared_is_never_parted():
    found = [one.runs for one in group_into_jobs(planned(*RUNS), 300)]
    assert sorted(map(Run.to_json, (run for one in found for run in one))) == sorted(map(Run.to_json, RUNS))
    homes = {}
    for number, one in enumerate(found):
        assert len({run.encoding for run in one}) == 1
        assert len(one) <= MAX_RUNS
        if one[0].encoding != "c":
            assert sum(map(max_seconds, one)) <= 300
        for run in one:
            assert homes.setdefault(comparison_key(run), number) == number
            if run.depth_of:
                assert any(
                    other.algorithm == "one" and comparison_key(other) == comparison_key(run)
                    for other in one[: one.index(run)]
                )
    sizes = {name: {len(one) for one in found if one[0].encoding == name} for name in "abc"}
    assert sizes == {"a": {21, 12}, "b": {48, 36}, "c": {3}}
    assert [len(one.cells) for one in group_into_jobs(planned(*RUNS[:180]), 0)] == [3] * 60


def test_what_a_job_asks_for_follows_from_the_limits_of_its_runs():
    limits = {"seconds": 10, "memory_mib": 1000}
    assert resources([replace(WANTED, limits=limits)] * 18) == {"mem_mb": 1356 + JOB_MIB, "runtime": 7}
    assert resources([replace(WANTED, limits={})]) == {"mem_mb": UNLIMITED_MIB, "runtime": UNLIMITED_MINUTES}
    model = model_run("iris", "search", "DPDTreeClassifier", "0", space="dpdt", trials=9)
    assert resources([model]) == {"mem_mb": UNLIMITED_MIB, "runtime": 2 + 10 * MODEL_MINUTES}
    several = replace(WANTED, limits=limits | {"threads": 3})
    assert [threads(runs) for runs in ([WANTED], [WANTED, several], [model])] == [1, 3, 1]
    assert threads([replace(model, parameters={"n_jobs": 2}), replace(model, parameters={"n_jobs": None})]) == 2


def test_runs_of_an_unknown_peer_are_refused(tmp_path):
    with refused("nobody", "not a peer's declaration"):
        do(tmp_path, planned(replace(WANTED, solver="nobody")))


@pytest.mark.parametrize("others", [False, True])
def test_jobs_of_a_killed_driver_are_cancelled_unless_another_is_at_work(tmp_path, monkeypatch, others):
    """Check that the jobs of a second driver in the same directory survive: they look the same."""
    started = []
    monkeypatch.setattr(driver.os, "execv", lambda *arguments: started.append(arguments))
    for name, text in (
        ("squeue", f"[ -e {tmp_path}/cancelled ] || echo '7|optree_1|{tmp_path}'"),
        ("scancel", f"echo $@ > {tmp_path}/cancelled"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(driver, "_held", [])
    (tmp_path / "results").mkdir()
    with open("results/.drivers", "w") as other:
        if others:
            fcntl.flock(other, fcntl.LOCK_SH)
        driver.start("results/one")
    assert (tmp_path / "cancelled").exists() == bool(started) != others


def test_a_full_disk_is_named_where_only_a_job_has_seen_it(tmp_path, monkeypatch, capsys):
    end = screen.Screen()
    end.start([str(tmp_path)], lambda: "1 of 2 runs are done")
    end.tell()
    assert "stopped: 1 of 2 runs are done and kept" in (said := capsys.readouterr().err)
    assert "No space left" not in said
    monkeypatch.setattr(screen.shutil, "disk_usage", lambda path: SimpleNamespace(free=4096))
    end.tell()
    assert f"No space left on device: {tmp_path}; make room first\nstopped:" in capsys.readouterr().err


def test_a_handler_that_waits_for_the_thread_it_interrupts_does_not_stop_it():
    """Check a handler that takes a lock of the main thread, as Snakemake's does for SIGTERM."""
    lock, ended = threading.Lock(), threading.Event()

    def end(*arguments):
        with lock:
            ended.set()

    before = signal.signal(signal.SIGTERM, end)
    try:
        driver.handle_sigterm_in_a_thread()
        with lock:
            os.kill(os.getpid(), signal.SIGTERM)
            assert not ended.wait(0.05)
        assert ended.wait(10)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_files_from_the_future_get_the_present_time(tmp_path):
    for name, ahead in (("old", -100), ("new", 3600)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time() + ahead,) * 2)
    driver.correct_times([*tmp_path.rglob("*"), *(tmp_path / "nowhere").rglob("*")])
    assert (tmp_path / "old").stat().st_mtime < time.time() - 99
    assert time.time() - 60 < (tmp_path / "new").stat().st_mtime <= time.time()


def test_kernels_are_kept_on_the_node_of_a_job_unless_somebody_else_has_the_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPTREE_NODE_CACHE", raising=False)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert numba_cache.cache_folder() == tmp_path / ".numba_cache"
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert str(numba_cache.cache_folder()) == f"/tmp/optree-{os.getuid()}"
    monkeypatch.setenv("OPTREE_NODE_CACHE", str(tmp_path / "node"))
    assert numba_cache.cache_folder() == tmp_path / "node"
    assert (tmp_path / "node").stat().st_mode & 0o777 == 0o700
    (tmp_path / "link").symlink_to(tmp_path / "node")
    monkeypatch.setenv("OPTREE_NODE_CACHE", str(tmp_path / "link"))
    assert numba_cache.cache_folder() == tmp_path / ".numba_cache"


def test_one_process_at_a_time_compiles(tmp_path, monkeypatch):
    monkeypatch.setenv(numba_cache.VARIABLE, str(tmp_path))

    def compile_slowly():
        with numba_cache.compilation_lock(), open(tmp_path / "order", "a") as file:
            print("in", file=file, flush=True)
            time.sleep(0.2)
            print("out", file=file, flush=True)

    copies = [multiprocessing.get_context("fork").Process(target=compile_slowly) for _ in range(3)]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join()
    assert (tmp_path / "order").read_text().split() == ["in", "out"] * 3
