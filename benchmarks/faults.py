"""Kill, cancel, fill, cut and confuse the workflow at random moments, and see that nothing is lost.

    python benchmarks/faults.py --moments 20 --out faults.md    # on this machine, one core and two
    python benchmarks/faults.py --executor slurm --moments 5 --out slurm.md    # on a cluster of one node, started here

A run of 108 cells in nine jobs is started in a copy of the repository and disturbed; it is started again until it ends.
A fault is survived if three things hold at the end: all records equal the records of an undisturbed run (timings
aside), no earlier record was written again, and no process of the run is left.
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
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from harness.cluster import Cluster, ask, why_not
from trials import CELLS, Checkout, Plan, Tally, Trial, disturb, parent, searches


def to_driver(number: signal.Signals, trial: Trial, process: subprocess.Popen) -> bool:
    """Send a signal to the driver alone, not to its children."""
    process.send_signal(number)
    return True


def to_search(trial: Trial, process: subprocess.Popen) -> bool:
    """kill -9 of a search."""
    for pid in searches(trial.checkout.path)[:1]:
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def to_job(trial: Trial, process: subprocess.Popen) -> bool:
    """kill -9 of the process that watches a search."""
    for pid in searches(trial.checkout.path)[:1]:
        os.kill(parent(pid), signal.SIGKILL)
        return True
    return False


def stop(trial: Trial, process: subprocess.Popen) -> bool:
    """Stop a job until the cluster ends it at its time limit."""
    for pid in searches(trial.checkout.path)[:1]:
        os.kill(parent(pid), signal.SIGSTOP)
        return True
    return False


def cancelled(trial: Trial, process: subprocess.Popen) -> bool:
    """scancel of a job that runs or waits."""
    jobs = ask("squeue", "-h", "-o", "%A").split()
    return bool(jobs) and subprocess.run(["scancel", random.choice(jobs)]).returncode == 0


def power(cluster: Cluster, trial: Trial, process: subprocess.Popen) -> bool:
    """Switch a node off and on again."""
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


def cut(how: str, trial: Trial, process: subprocess.Popen) -> Path | bool:
    """Kill the driver, and truncate a record or give it an older schema."""
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
    assert trial.finish(), trial.said()  # a job that reads the record does its run again
    return path


def clock(trial: Trial, process: subprocess.Popen) -> bool:
    """Kill the driver and set the clock back by an hour, so that every file is from the future."""
    os.kill(process.pid, signal.SIGKILL)
    trial.gone()
    ahead = time.time() + 3600
    for path in trial.results.rglob("*"):
        os.utime(path, (ahead, ahead))
    return True


def campaign(trial: Trial, name: str, fault, plan: Plan) -> Tally:
    """Try a number of faults of a kind, each at a random moment; a run that has ended before starts anew."""
    tally, tries = Tally(name), 0
    while tally.injected < plan.moments and tries < 6 * plan.moments:
        tries += 1
        if len(trial.state()) == CELLS:
            shutil.rmtree(trial.results)
        disturb(trial, tally, fault, plan)
    good = plan.met(trial)
    tally.left += trial.gone()
    if good and not tally.left and not tally.again:
        tally.survived = tally.injected
    else:
        tally.notes.add(trial.said()[-1500:])
    return tally


def full(trial: Trial, name: str, plan: Plan) -> Tally:
    """Put the results on a file system of their own that fills up after a random number of records."""
    tally = Tally(name)
    for _ in range(min(2, plan.moments)):
        shutil.rmtree(trial.results, ignore_errors=True)
        trial.results.mkdir(parents=True)
        size = f"size={plan.draw.randint(200, 700)}k"
        if subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", trial.results]).returncode:
            tally.notes.add("no file system could be mounted here")
            return tally
        try:
            failed = not trial.finish() and "No space left on device" in trial.said()
            tally.injected += 1
            before = trial.state()
            subprocess.run(["mount", "-o", "remount,size=100m", trial.results], check=True)
            good = failed and plan.met(trial)
            after, left = trial.state(), trial.gone()
            again = sum(after[path] != entry for path, entry in before.items())
            tally.again, tally.left = tally.again + again, tally.left + left
            tally.survived += good and not again and not left
            if not good:
                tally.notes.add(trial.said()[-1500:])
        finally:
            subprocess.run(["umount", trial.results], check=True)
    return tally


def faults(cores: str, plan: Plan, checkout: Checkout) -> Iterator[tuple[str, Callable[[], Tally]]]:
    """Return the faults of a local run, by name."""
    kinds = ANYWHERE | {"job: SIGKILL": to_job}
    for number, (name, fault) in enumerate(kinds.items()):
        yield name, partial(campaign, Trial(checkout, f"c{cores}-{number}", ["--cores", cores]), name, fault, plan)
    name = "disk full while a record is written"
    yield name, partial(full, Trial(checkout, f"c{cores}-full", ["--cores", cores]), name, plan)


ANYWHERE = {
    **{f"driver: {one.name}": partial(to_driver, one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)},
    "search: SIGKILL": to_search,
    "second driver": second,
    **{f"record {how}": partial(cut, how) for how in ("truncated", "of an older schema")},
    "clock set back": clock,
}


def cluster_faults(cluster: Cluster, plan: Plan, checkout: Checkout) -> Iterator[tuple[str, Callable[[], Tally]]]:
    """Return the faults of a run on a cluster, by name."""
    arguments = ["--profile", "slurm", "--slurm-init-seconds-before-status-checks", "2"]
    kinds = ANYWHERE | {"scancel": cancelled, "node down and up": partial(power, cluster)}
    for number, (name, fault) in enumerate(kinds.items()):
        yield name, partial(campaign, Trial(checkout, f"s{number}", arguments), name, fault, plan)
    name = "disk full while a record is written"
    yield name, partial(full, Trial(checkout, "s-full", arguments), name, plan)
    slow = Trial(checkout, "stopped", [*arguments, "--set-resources", "solve:runtime=1"])
    twice = replace(plan, moments=min(2, plan.moments))
    yield "job over its time", partial(campaign, slow, "job over its time", stop, twice)
    name, small = "job over its memory", ["--set-resources", "solve:mem_mb=100", "--retries", "0"]
    yield (
        name,
        partial(over, Trial(checkout, "over", [*arguments, *small]), Trial(checkout, "over", arguments), name, plan),
    )


def over(small: Trial, enough: Trial, name: str, plan: Plan) -> Tally:
    """Run jobs with too small a request, which the cluster ends, and again with a sufficient request."""
    tally = Tally(name)
    for _ in range(min(2, plan.moments)):
        shutil.rmtree(small.results, ignore_errors=True)
        ended = not small.finish()
        tally.injected += ended
        before = small.state()
        good = plan.met(enough)
        again = sum(enough.state()[path] != entry for path, entry in before.items())
        left = enough.gone()
        tally.again, tally.left = tally.again + again, tally.left + left
        tally.survived += ended and good and not again and not left
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executor", choices=["local", "slurm"], default="local")
    parser.add_argument("--cores", nargs="+", default=["1", "2"], help="of this machine")
    parser.add_argument("--moments", type=int, default=20, help="faults of each kind")
    parser.add_argument("--seconds", type=float, default=12.0, help="after the start, in which a fault comes")
    parser.add_argument("--only", nargs="+", default=[""], help="kinds of faults whose names have one of these in them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("faults.md"))
    options = parser.parse_args()
    if options.executor == "slurm" and (reason := why_not()):
        sys.exit(f"error: {reason}")
    random.seed(options.seed)
    lines = ["| executor | fault | injected | survived | finished runs done again | processes left |"]
    lines += ["|---|---|--:|--:|--:|--:|"]
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, ExitStack() as stack:
        checkout = Checkout(Path(folder))
        checkout.environment["OPTREE_NODE_CACHE"] = str(checkout.path / ".numba_cache")
        undisturbed = Trial(checkout, "undisturbed", ["--cores", "2"])
        assert undisturbed.finish(), undisturbed.said()
        expected = checkout.records("undisturbed")
        assert len(expected) == CELLS
        plan = Plan(options.moments, options.seconds, expected, random.Random(options.seed))
        if options.executor == "slurm":
            kinds = [("SLURM", cluster_faults(stack.enter_context(Cluster()), plan, checkout))]
        else:
            kinds = [(f"{cores} core", faults(cores, plan, checkout)) for cores in options.cores]
        for executor, named in kinds:
            for name, measure in named:
                if any(part in name for part in options.only):
                    tally = measure()
                    row = (executor, name, tally.injected, tally.survived, tally.again, tally.left)
                    lines.append("| " + " | ".join(map(str, row)) + " |")
                    print(lines[-1], *tally.notes, flush=True)
                    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
