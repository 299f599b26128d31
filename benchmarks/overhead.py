"""Overhead of the workflow beside the searches: wall-clock and processor seconds per run, against the number of runs.

    python benchmarks/overhead.py --runs 10 100 1000 --executors local slurm --out overhead.csv --plot overhead.svg

Each point is the whole workflow on short runs, from typing to tables and plots, in a copy of the repository whose
kernels are compiled; the searches' own seconds are taken off. The SLURM cluster is one node, this machine, started
here.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from harness.checkout import Checkout
from harness.cluster import Cluster, ask, why_not
from matplotlib.ticker import LogLocator, NullFormatter

COLUMNS = ["executor", "cores", "runs", "jobs", "wall_seconds", "cpu_seconds", "search_seconds", "job_seconds"]
SEEDS = 25
CORES = 2


def configuration(runs: int, name: str) -> dict:
    """Return a configuration of ``runs`` short runs on one problem, with a limit of ten seconds each."""
    seeds = min(SEEDS, runs)
    lambdas = [f"0.{number:03d}" for number in range(20, 20 + runs // seeds)]
    experiment = {"datasets": ["monks-1"], "encodings": ["onehot-drop-first"], "algorithms": ["branches"]}
    experiment |= {"regularization": lambdas, "splits": list(range(seeds))}
    return {
        "name": name,
        "cells": f"results/{name}/cells",
        "limits": {"seconds": 10, "memory_mib": 2000},
        "experiments": [experiment],
    }


def cluster_seconds() -> dict[str, tuple[float, float]]:
    """Per job: elapsed seconds, and processor seconds of all its steps."""
    found: dict[str, tuple[float, float]] = {}
    for line in ask("sacct", "-n", "-P", "-o", "JobIDRaw,ElapsedRaw,TotalCPU").splitlines():
        step, elapsed, text = line.split("|")
        job = step.split(".")[0]
        seconds = 0.0
        for part in text.replace("-", ":").split(":"):
            seconds = seconds * 60 + float(part)
        before = found.get(job, (0.0, 0.0))
        found[job] = (max(before[0], float(elapsed)), before[1] + (seconds if "." in step else 0.0))
    return found


def measure(checkout: Checkout, executor: str, runs: int) -> dict:
    """Measure one point."""
    name = f"{executor}-{runs}"
    (checkout.path / f"{name}.json").write_text(json.dumps(configuration(runs, name)))
    how = ["--cores", str(CORES)] if executor == "local" else ["--profile", "slurm"]
    before = cluster_seconds() if executor == "slurm" else {}
    used, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = checkout.run(["snakemake", *how, "--configfile", f"{name}.json"])
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout + done.stderr
    records = checkout.whole_records(name)
    assert len(records) == runs
    time.sleep(2)  # until accounting has it all
    jobs = [spent for job, spent in (cluster_seconds() if executor == "slurm" else {}).items() if job not in before]
    logs = list((checkout.path / "results" / name / "logs" / "solve").glob("*.log"))
    return {
        "executor": executor,
        "cores": CORES,
        "runs": runs,
        "jobs": len(logs),
        "wall_seconds": wall,
        "cpu_seconds": after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime + sum(cpu for _, cpu in jobs),
        "search_seconds": sum(sum(entry["seconds"]["calls"]) for entry in records),
        "job_seconds": sum(elapsed for elapsed, _ in jobs),
    }


def per_run(row: dict) -> dict[str, float]:
    """Return the seconds per run beyond the search."""
    runs, search = int(row["runs"]), float(row["search_seconds"])
    shown = {
        "wall clock": (float(row["wall_seconds"]) - search / int(row["cores"])) / runs,
        "processor": (float(row["cpu_seconds"]) - search) / runs,
    }
    return shown | ({"in jobs": (float(row["job_seconds"]) - search) / runs} if row["executor"] == "slurm" else {})


def draw(rows: list[dict], path: Path) -> None:
    """Draw the seconds per run against the number of runs."""
    figure, axes = plt.subplots(figsize=(6.4, 4))
    colours, marks = {"local": "#0072b2", "slurm": "#d55e00"}, {"wall clock": "-o", "processor": "--s", "in jobs": ":^"}
    for executor in colours:
        mine = sorted((row for row in rows if row["executor"] == executor), key=lambda row: int(row["runs"]))
        for quantity in per_run(mine[0]) if mine else ():
            name = {"local": "this machine", "slurm": "SLURM, one node"}[executor]
            points = [(int(row["runs"]), per_run(row)[quantity]) for row in mine]
            axes.plot(*zip(*points, strict=True), marks[quantity], color=colours[executor], label=f"{name}: {quantity}")
    axes.set(xscale="log", yscale="log", xlabel="runs", ylabel="seconds per run beyond the search")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.grid(which="major", color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def write(rows: list[dict], path: Path) -> None:
    """Write all points to a CSV file."""
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[10, 100], help="at most 25, or a multiple of 25")
    parser.add_argument("--executors", nargs="+", choices=["local", "slurm"], default=["local"])
    parser.add_argument("--out", type=Path, default=Path("overhead.csv"))
    parser.add_argument("--earlier", type=Path, nargs="+", default=[], help="CSV files whose points are kept")
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    if "slurm" in options.executors and (reason := why_not(True)):
        sys.exit(f"error: {reason}")
    rows = [row for path in options.earlier for row in csv.DictReader(path.open(newline=""))]
    with tempfile.TemporaryDirectory(prefix="overhead-") as folder, ExitStack() as stack:
        checkout = Checkout(Path(folder))
        checkout.environment["OPTREE_NODE_CACHE"] = str(checkout.path / ".numba_cache")
        measure(checkout, "local", 1)  # compiles
        if "slurm" in options.executors:
            stack.enter_context(Cluster(accounting=True, cpus=CORES))
        for executor in options.executors:
            for runs in options.runs:
                rows.append(measure(checkout, executor, runs))
                print({name: value for name, value in rows[-1].items()}, per_run(rows[-1]), flush=True)
                write(rows, options.out)
    if options.plot:
        draw(rows, options.plot)


if __name__ == "__main__":
    main()
