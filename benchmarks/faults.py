"""Kill, cancel, fill, cut and confuse the workflow at random moments, and see that nothing is lost.

    python benchmarks/faults.py --moments 20 --out faults.md    # on this machine, one core and two
    python benchmarks/faults.py --executor slurm --moments 5 --out slurm.md    # on a cluster of one node, started here

A run of 108 cells in nine jobs is started in a copy of the repository and disturbed; it is started again until it ends.
A fault is survived if then all records are what an undisturbed run gives (timings aside), no record that was there when
the fault came has been written again, and no process of the run is left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from trials import CELLS, Checkout, Tally, Trial, disturb, read

from cluster import Cluster, ask, why_not  # isort: skip - tests/ is on the path once trials is imported


def to_driver(number: signal.Signals, trial: Trial, process: subprocess.Popen) -> bool:
    """A signal to the driver alone; what it has started is its own affair."""
    process.send_signal(number)
    return True


def to_search(trial: Trial, process: subprocess.Popen) -> bool:
    """kill -9 of a search."""
    for pid in trial.searching()[:1]:
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def to_job(trial: Trial, process: subprocess.Popen) -> bool:
    """kill -9 of the process that watches a search."""
    for pid in trial.searching()[:1]:
        os.kill(int(read(Path(f"/proc/{pid}/stat")).rsplit(b")", 1)[1].split()[1]), signal.SIGKILL)
        return True
    return False


def cancelled(trial: Trial, process: subprocess.Popen) -> bool:
    """scancel of a job that runs or waits."""
    jobs = ask("squeue", "-h", "-o", "%A").split()
    return bool(jobs) and subprocess.run(["scancel", random.choice(jobs)]).returncode == 0


def power(cluster: Cluster, trial: Trial, process: subprocess.Popen) -> bool:
    """The node loses its power and comes back."""
    if not ask("squeue", "-h", "-t", "R", "-o", "%A"):
        return False
    cluster.node_down()
    time.sleep(2)
    cluster.node_up()
    return True


def second(trial: Trial, process: subprocess.Popen) -> bool:
    """Another driver in the same folder: it is refused."""
    if not trial.state():
        return False
    done = subprocess.run(
        trial.command, cwd=trial.checkout.path, env=trial.checkout.environment, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "another snakemake is at work" in done.stderr, done.stderr
    return True


def cut(how: str, trial: Trial, process: subprocess.Popen) -> bool:
    """The driver is killed, and a record is not what it was: truncated, or of an older schema."""
    if not (state := trial.state()):
        return False
    os.kill(process.pid, signal.SIGKILL)
    trial.gone()
    path = random.choice(list(state))
    if how == "truncated":
        path.write_bytes(state[path][1][:700])
    else:
        older = json.loads(state[path][1])
        del older["data"]["encoded_sha256"]
        path.write_text(json.dumps(older))
    if not trial.finish():  # its job had been done, so Snakemake does not look at it, but who reads it says what to do
        said = trial.said()
        assert "delete the file and its run is done again" in said or "unknown key" in said or "required" in said, said
        path.unlink()
    return True


def clock(trial: Trial, process: subprocess.Popen) -> bool:
    """The driver is killed and the clock set back by an hour: all that is there is from the future."""
    os.kill(process.pid, signal.SIGKILL)
    trial.gone()
    ahead = time.time() + 3600
    for path in trial.results.rglob("*"):
        os.utime(path, (ahead, ahead))
    return True


def campaign(trial: Trial, name: str, fault, moments: int, expected: dict, draw: random.Random) -> Tally:
    """So many faults of a kind, each at a random moment; when the run has ended before, it starts anew."""
    tally, tries = Tally(name), 0
    while tally.injected < moments and tries < 6 * moments:
        tries += 1
        shutil.rmtree(trial.results, ignore_errors=True) if len(trial.state()) == CELLS else None
        disturb(trial, tally, fault, draw)
    good = trial.finish() and trial.checkout.records(trial.name) == renamed(expected, trial.name)
    good = good and not tally.left and not tally.again
    tally.survived = tally.injected if good else 0
    if not good:
        tally.notes.add(trial.said()[-1500:])
    return tally


def renamed(records: dict, name: str) -> dict:
    """Records of the undisturbed run as if they were of another."""
    return {path.replace("/undisturbed/", f"/{name}/"): entry for path, entry in records.items()}


def full(checkout: Checkout, arguments: list[str], moments: int, expected: dict, draw: random.Random) -> Tally:
    """The results are on a file system of their own that is full at a random number of records."""
    tally, trial = Tally("disk full while a record is written"), Trial(checkout, "full", arguments)
    for _ in range(moments):
        shutil.rmtree(trial.results, ignore_errors=True)
        trial.results.mkdir(parents=True)
        size = draw.randint(200, 700)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "none", trial.results]).returncode:
            tally.notes.add("no file system could be mounted here")
            return tally
        try:
            failed = trial.start().wait() != 0
            assert failed
            assert "No space left on device" in trial.said(), trial.said()[-3000:]
            tally.injected += 1
            before = trial.state()
            subprocess.run(["mount", "-o", "remount,size=100m", trial.results], check=True)
            good = trial.finish() and checkout.records("full") == renamed(expected, "full")
            after = trial.state()
            tally.again += sum(after[path] != entry for path, entry in before.items())
            tally.left += trial.gone()
            tally.survived += good and not tally.again
        finally:
            subprocess.run(["umount", trial.results], check=True)
    return tally


def faults(cores: str, moments: int, checkout: Checkout, expected: dict, draw: random.Random):
    """All that can be done to a run on this machine."""
    arguments = ["--cores", cores]
    kinds = {f"driver: {name.name}": partial(to_driver, name) for name in SIGNALS}
    kinds |= {"search: SIGKILL": to_search, "job: SIGKILL": to_job, "second driver": second}
    kinds |= {f"record {how}": partial(cut, how) for how in ("truncated", "of an older schema")}
    kinds |= {"clock set back": clock}
    for number, (name, fault) in enumerate(kinds.items()):
        trial = Trial(checkout, f"c{cores}-{number}", arguments)
        yield partial(campaign, trial, name, fault, moments, expected, draw)
    yield partial(full, checkout, arguments, max(1, moments // 5), expected, draw)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def cluster_faults(cluster: Cluster, moments: int, checkout: Checkout, expected: dict, draw: random.Random):
    """What can be done to a run on a cluster."""
    arguments = ["--profile", "slurm", "--slurm-init-seconds-before-status-checks", "2"]
    kinds = {f"driver: {name.name}": partial(to_driver, name) for name in SIGNALS}
    kinds |= {"search: SIGKILL": to_search, "scancel": cancelled, "node down and up": partial(power, cluster)}
    for number, (name, fault) in enumerate(kinds.items()):
        yield partial(campaign, Trial(checkout, f"s{number}", arguments), name, fault, moments, expected, draw)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executor", choices=["local", "slurm"], default="local")
    parser.add_argument("--cores", nargs="+", default=["1", "2"], help="of this machine")
    parser.add_argument("--moments", type=int, default=20, help="faults of each kind")
    parser.add_argument("--only", default="", help="kinds of faults whose names have this in them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("faults.md"))
    options = parser.parse_args()
    draw = random.Random(options.seed)
    random.seed(options.seed)
    lines = ["| executor | fault | injected | survived | finished runs done again | processes left |"]
    lines += ["|---|---|--:|--:|--:|--:|"]
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        checkout = Checkout(Path(folder))
        checkout.environment["OPTREE_NODE_CACHE"] = str(checkout.path / ".numba_cache")
        assert Trial(checkout, "undisturbed", ["--cores", "2"]).finish(), (
            checkout.path / "undisturbed.log"
        ).read_text()
        expected = checkout.records("undisturbed")
        assert len(expected) == CELLS
        if options.executor == "local":
            plan = [
                (f"{cores} core", faults(cores, options.moments, checkout, expected, draw)) for cores in options.cores
            ]
        elif reason := why_not():
            sys.exit(f"error: {reason}")
        else:
            cluster = Cluster()
            cluster.start()
            plan = [("SLURM", cluster_faults(cluster, options.moments, checkout, expected, draw))]
        try:
            for executor, tallies in plan:
                for measure in tallies:
                    if options.only not in str(measure.args) + str(measure.func):
                        continue
                    tally = measure()
                    row = (executor, tally.fault, tally.injected, tally.survived, tally.again, tally.left)
                    lines.append("| " + " | ".join(map(str, row)) + " |")
                    print(lines[-1], *tally.notes, flush=True)
                    options.out.write_text("\n".join(lines) + "\n")
        finally:
            if options.executor == "slurm":
                cluster.stop()


if __name__ == "__main__":
    main()
