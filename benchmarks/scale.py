"""Seconds and memory of the workflow beside its searches, against the number of planned runs.

    python benchmarks/scale.py --runs 1000 10000 100000 --out scale.csv

For each number, a configuration is planned (`snakemake -n`). Its records are then made from copies of ten real ones.
After that come collecting, tables, statistics, figures, the pages of trees and the report, the opening of the report in
Chromium (`opening.py`), a start in which nothing is to be done, and a start with one more run. Every other step is a
process of its own: its wall-clock seconds and the peak memory of its largest process, two cores, in a copy of the
repository. The records are copies, so their contents are alike; statistics of real records take a similar time, since
it depends on their number.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.checkout import Checkout
from opening import seconds_to_open

COLUMNS = ["runs", "jobs", "step", "seconds", "peak_mib", "bytes"]
DATASETS = ["monks-1", "monks-2", "monks-3", "tic-tac-toe", "iris"]
ALGORITHMS, SEEDS = ["branches", "cart"], 100
# Each cell gets a copy of the record of its dataset and algorithm; this program runs in the copy of the repository.
FILL = """
import json, sys
from pathlib import Path
from optree.bench.peers.declaration import read_peers
from optree.bench.report.reproduce import merged_configuration
from optree.bench.runs import record
from optree.bench.runs.jobs import group_into_jobs, identify
from optree.bench.runs.plan import plan_runs
from optree.datasets import read_table

home, name = Path.cwd(), sys.argv[1]
config = merged_configuration(home, f"../{name}.json")
table, peers = read_table("config/datasets.csv"), read_peers("workflow/peers")
store, folder = Path("results/cells"), Path("results", config["name"], "jobs")
real = {}
for path in store.glob("*/*.json"):
    made = record.read(path)
    real[made["run"]["dataset"], made["run"]["algorithm"]] = made
jobs = group_into_jobs(identify(plan_runs(config, table, peers), config, table, peers))
for job in jobs:
    lines = []
    for cell in job.cells:
        copy = real[cell.run.dataset, cell.run.algorithm] | {"run": vars(cell.run), "cell": cell.digest}
        line = json.dumps(record.seal(copy))
        path = cell.path(store)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line)
        lines.append(line + "\\n")
    (folder / f"{job.name}.jsonl").write_text("".join(lines))
print(len(jobs))
"""


def configuration(runs: int, name: str, more: int = 0) -> dict:
    """Return a configuration of ``runs`` short runs, and of ``more`` runs with another lambda."""
    problems = len(DATASETS) * len(ALGORITHMS)
    lambdas = [f"0.{number:04d}" for number in range(200, 200 + max(1, runs // (problems * SEEDS)))]
    common = {"encodings": ["onehot-drop-first"], "algorithms": ALGORITHMS}
    seeds = min(SEEDS, runs // problems)
    experiments = [{"datasets": DATASETS, **common, "regularization": lambdas, "splits": list(range(seeds))}]
    if more:
        one = {"datasets": DATASETS[:1], **common, "algorithms": ALGORITHMS[:1]}
        experiments.append({**one, "regularization": ["0.1"], "splits": list(range(more))})
    return {"name": name, "limits": {"seconds": 10, "memory_mib": 2000}, "experiments": experiments}


def timed(checkout: Checkout, command: list[str]) -> tuple[float, float, str]:
    """Run a command in the copy; return its seconds, the peak MiB of its largest process, and its output."""
    with tempfile.TemporaryFile("w+") as output:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=checkout.path, env=checkout.environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds, process.returncode = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read()
    if process.returncode:
        sys.exit(f"error: {' '.join(command)}:\n{said[-3000:]}")
    return seconds, usage.ru_maxrss / 1024, said


def measure(checkout: Checkout, runs: int, report: bool):
    """Yield a row for each step."""
    name = f"scale-{runs}"

    def write(planned: dict) -> None:
        (checkout.path / f"{name}.json").write_text(json.dumps(planned))

    def row(step: str, *arguments: str, file: str = "") -> dict:
        seconds, peak, _ = timed(checkout, ["snakemake", "--cores", "2", "--configfile", f"{name}.json", *arguments])
        size = (checkout.path / file).stat().st_size if file else ""
        return dict(zip(COLUMNS, (runs, jobs, step, f"{seconds:.1f}", f"{peak:.0f}", size), strict=True))

    write(configuration(10, name))
    jobs = ""
    timed(checkout, ["snakemake", "--cores", "2", "--configfile", f"{name}.json", "--until", "solve"])
    write(configuration(runs, name))
    yield row("plan", "-n")
    jobs = timed(checkout, ["python", "-c", FILL, name])[2].split()[-1]
    lines = f"results/{name}/tables/runs.jsonl"
    yield row("collect", "--until", "collect", file=lines)
    for step in ("tables", "statistics", "plots", "trees"):
        yield row(step, "--until", step)
    yield row("the rest")
    yield row("nothing to do")
    if report:
        yield row("report", "--report", "report.html", file="report.html")
        shown = checkout.path / "report.html"
        seconds = f"{seconds_to_open(shown):.1f}"
        yield dict(zip(COLUMNS, (runs, jobs, "report opened", seconds, "", shown.stat().st_size), strict=True))
    write(configuration(runs, name, more=1))
    yield row("one more run", "--until", "solve")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--no-report", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("scale.csv"))
    options = parser.parse_args()
    with open(options.out, "w", newline="") as file, tempfile.TemporaryDirectory(prefix="scale-") as folder:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        checkout = Checkout(Path(folder))
        for runs in options.runs:
            for line in measure(checkout, runs, not options.no_report):
                table.writerow(line)
                file.flush()
                print(*line.values(), sep="\t", flush=True)


if __name__ == "__main__":
    main()
