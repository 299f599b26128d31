"""Limits from outside, on programs that ignore limits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from optree.bench.runs import progress
from optree.bench.system import process_limits


def run(tmp_path, code: str, **options) -> process_limits.ProcessEnd:
    return process_limits.run_program([sys.executable, "-c", code], tmp_path / "output", **options)


def after(seconds: float):
    """Return a function that reports a program as overdue after some seconds."""
    start = time.monotonic()
    return lambda: "too late" if time.monotonic() - start > seconds else None


def gone(pid: int) -> bool:
    """Return whether a process ends within a second, apart from its exit code."""
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


def test_a_program_that_ends_by_itself_is_left_alone(tmp_path):
    end = run(tmp_path, "print('done')", memory_mib=500)
    assert (end.status, end.reason) == (None, "")
    assert end.peak_rss_mib > 1
    assert (tmp_path / "output").read_text() == "done\n"


def test_time_is_up(tmp_path):
    start = time.monotonic()
    end = run(tmp_path, "import time; time.sleep(60)", overdue=after(0.3))
    assert (end.status, end.reason) == ("time_limit", "too late")
    assert time.monotonic() - start < 5


def test_a_program_that_grows_is_ended_near_its_limit(tmp_path):
    grow = "import time\nkept = []\nwhile True: kept.append(bytearray(2**20)); time.sleep(0.001)"
    end = run(tmp_path, grow, memory_mib=200, overdue=after(20))
    assert end.status == "memory_limit"
    assert "the limit is 200 MiB" in end.reason
    assert 200 < end.peak_rss_mib < 300


def test_memory_of_children_counts_and_they_end_with_their_parent(tmp_path):
    grow = f"kept = bytearray(150 * 2**20); open({str(tmp_path / 'pid')!r}, 'w').write(str(__import__('os').getpid()))"
    child = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grow + '; import time; time.sleep(60)'!r}])"
    )
    end = run(tmp_path, child, memory_mib=140, overdue=after(20))
    assert end.status == "memory_limit"
    end = run(tmp_path, child, overdue=after(2))
    assert end.status == "time_limit"
    assert end.peak_rss_mib > 150
    assert gone(int((tmp_path / "pid").read_text()))


def test_what_is_asked_for_at_once_is_refused_by_the_operating_system(tmp_path):
    end = run(tmp_path, f"kept = bytearray({4 * 2**30})", memory_mib=200)
    assert (end.status, end.reason) == ("memory_limit", "MemoryError")


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("import sys; print('before'); sys.exit('no such thing')", "error", "no such thing"),
        ("raise ValueError('bad data')", "error", "ValueError: bad data"),
        ("import os; os._exit(3)", "error", "no message"),
        ("import os; os.abort()", "killed", "Aborted: no message"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed", "Killed: no message"),
    ],
)
def test_how_it_ended_is_said(tmp_path, code, status, reason):
    end = run(tmp_path, code)
    assert (end.status, end.reason) == (status, reason)


def test_a_program_that_is_not_there(tmp_path):
    end = process_limits.run_program(["no-such-program"], tmp_path / "output")
    assert (end.status, end.reason) == ("error", "no-such-program: No such file or directory")


WATCHER = """
import sys
from optree.bench.system import process_limits
code = "import os, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
process_limits.run_program([sys.executable, "-c", "import sys; " + code, sys.argv[1]], sys.argv[2])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_program_does_not_outlive_the_one_that_watches_it(tmp_path):
    watcher = subprocess.Popen([sys.executable, "-c", WATCHER, tmp_path / "pid", tmp_path / "output"])
    deadline = time.monotonic() + 20
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(watcher.pid, signal.SIGKILL)
    watcher.wait()
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_compilation_within_a_search_is_outside_of_its_limit(tmp_path, monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    search = progress.Progress(tmp_path / "answers", 10)  # ended from outside after 13 seconds

    def after(wait: float, **event) -> str | None:
        clock.now += wait
        if event:
            with open(tmp_path / "answers", "a") as file:
                print(json.dumps(event), file=file)
        return search.overdue()

    assert after(0, event="search") is None
    assert after(5, event="compilation", begins=True, seconds=2.0) is None
    assert after(100) is None
    assert after(100, event="compilation", begins=False, seconds=202.0) is None
    assert after(7.9) is None
    assert after(0.2) == "ignores its limit of 10 s"
    assert after(0, event="compilation", begins=True, seconds=202.0) == "ignores its limit of 10 s"
    assert after(301) == "no end of a compilation within 300 s"
    search.close()
