"""The real workflow on the tiny configuration: run, rerun, edit, kill, and bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import time

import numpy as np
import pandas as pd
import pytest
import scale
import yaml
from harness.checkout import Checkout

from optree import OptimalTreeClassifier

RUNS = 19


def planned(checkout, *arguments) -> str:
    """Return the jobs of a dry run."""
    done = checkout.snakemake("-n", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_tiny_configuration_gives_records_tables_and_plots(finished):
    found = finished.records()
    assert len(found) == RUNS
    assert {entry["status"] for entry in found.values()} == {"optimal", "heuristic", "iteration_limit"}
    results = finished.path / "results" / "test"
    for name in ("tables/runs.csv", "tables/summary.csv", "tables/summary.md", "tables/summary.tex"):
        assert (results / name).stat().st_size > 100
    assert len(list((results / "plots").rglob("*.svg"))) == len(list((results / "plots").rglob("*.png"))) > 4


def test_a_rerun_has_nothing_to_do(finished):
    assert "Nothing to be done" in planned(finished)
    for arguments, left in (((), 0), (("-R", "solve"), RUNS)):
        *_, line = (line for line in planned(finished, *arguments).splitlines() if line.startswith("all "))
        assert line.split()[1:4] == [str(RUNS), str(RUNS - left), str(left)]


def test_an_edit_in_the_library_solves_again_and_an_edit_of_a_plot_does_not(finished):
    plots, branches, cart = "bench/figures/plots.py", "solvers/branches/solver.py", "solvers/cart/solver.py"
    for module, solves in ((plots, 0), (branches, 5), (cart, 2)):  # of six jobs, one has a model, and two have CART
        path = finished.path / "optree" / module
        before = path.read_text()
        path.write_text(before + "\n# edited\n")
        jobs = planned(finished)
        if module == plots:  # as Snakemake's manual says, only newer files count then
            assert "Nothing to be done" in planned(finished, "--rerun-triggers", "mtime")
        path.write_text(before)
        assert "Nothing to be done" not in jobs
        assert re.findall(r"^solve +(\d+)$", jobs, re.MULTILINE)[:1] == ([str(solves)] if solves else [])


def test_a_dry_run_of_ten_thousand_cells_is_a_page_and_ends_with_a_table(checkout):
    (checkout.path / "many.json").write_text(json.dumps(scale.configuration(10_000, "many")))
    done = checkout.snakemake("-n", config="many.json")
    assert done.returncode == 0, done.stderr
    assert len((done.stdout + done.stderr).splitlines()) < 60
    *_, total, note = done.stdout.splitlines()
    assert re.match(r"all +10,000 +0 +10,000 ", total)
    cost = "with at most 3,156 MB and 12 minutes each, about 400 MB on disk in all. "
    assert note.startswith(f"240 jobs have runs to do, {cost}")


def test_a_dry_run_shows_the_resources_that_the_command_line_gives_to_jobs(finished):
    for arguments, shown in (
        ((), "5,462 MB and 62 minutes"),
        (("--set-resources", "solve:mem_mb=1777"), "1,777 MB and 62 minutes"),
        (("--set-resources", "solve:mem_mb=1777", "solve:runtime=90"), "1,777 MB and 90 minutes"),
    ):
        cost = f"with at most {shown} each, about 1 MB on disk in all."
        assert f"6 jobs have runs to do, {cost}" in planned(finished, "-R", "solve", *arguments)
    assert "0 jobs have runs to do. " in planned(finished)


def test_lint_has_no_finding(finished):
    done = finished.run(["snakemake", "--lint"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Congratulations, your workflow is in a good condition!" in done.stdout + done.stderr
    assert not [line for line in done.stderr.splitlines() if line.startswith("    * ")]


def test_the_report_is_one_file(finished):
    done = finished.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stderr
    assert (finished.path / "report.html").stat().st_size > 100_000


def test_a_truncated_file_of_a_job_is_named_and_a_missing_one_is_made_of_finished_cells(finished):
    before, cells = finished.records(), {path: path.stat().st_ino for path in finished.cells()}
    text, path = max((path.read_text(), path) for path in (finished.path / "results" / "test" / "jobs").glob("*.jsonl"))
    for size in (len(text) // 2, text.index("\n") + 1):  # within a record, and after the first one
        path.write_text(text[:size])
        done = finished.snakemake("--forcerun", "collect")
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("error: ")]
        assert done.returncode != 0
        assert lines
        assert all(path.name in line and "delete the file and its runs are done again" in line for line in lines)
    path.unlink()
    assert finished.snakemake().returncode == 0
    assert finished.records() == before
    assert cells == {path: path.stat().st_ino for path in finished.cells()}, "no cell is solved again"


def test_killed_in_the_middle_it_resumes_and_gives_the_same_records(finished, tmp_path):
    checkout = Checkout(tmp_path)
    process = checkout.start(["snakemake", "--cores", "2", "--configfile", "config/test.yaml"])
    deadline = time.monotonic() + 120
    while len(checkout.cells()) < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_ino for path in checkout.cells()}
    assert len(kept) < RUNS
    unused = checkout.run(["python", "-m", "optree.bench.runs.store", "results/test", "-n"])
    assert f"0 records would be deleted, {len(kept)} kept" in unused.stdout, "cells of unfinished jobs are needed"
    done = checkout.snakemake(cores=1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert checkout.records() == finished.records()
    assert kept == {path: path.stat().st_ino for path in kept}, "a finished cell is not written again"


def test_an_output_that_a_cancelled_job_of_a_killed_driver_removes_is_made_again(finished, monkeypatch):
    """Give the driver a SLURM with one job, which removes a planned input of ``collect`` when it is cancelled."""
    before, path = finished.records(), sorted((finished.path / "results" / "test" / "jobs").glob("*.jsonl"))[0]
    (programs := finished.path / "programs").mkdir()
    for name, script in {
        "squeue": f'test ! -e "{path}" || echo "7|optree_1|{finished.path}"',
        "scancel": f'rm "{path}"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setitem(finished.environment, "PATH", f"{programs}:{finished.environment['PATH']}")
    done = finished.snakemake("--forcerun", "collect")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 jobs of a driver that was killed are cancelled: scancel 7" in done.stderr
    assert finished.records() == before


def test_tables_of_the_finished_jobs_name_the_others(finished):
    """Check the tables while one dataset has no records; then the missing job is made of finished cells."""
    before, results = finished.records(), finished.path / "results" / "test"
    jobs = {path: path.read_text() for path in (results / "jobs").glob("*.jsonl")}
    (gone,) = (path for path, text in jobs.items() if '"dataset": "iris", "encoding": null' in text)
    gone.unlink()
    done = finished.snakemake("--config", "partial=true")
    assert done.returncode == 0, done.stdout + done.stderr
    page = (results / "tables" / "findings.rst").read_text()
    assert "1 job without records" in page
    assert "2 runs on iris/table" in page
    assert len((results / "tables" / "models.csv").read_text().splitlines()) == 1
    assert finished.snakemake().returncode == 0
    assert finished.records() == before
    assert "What is missing" not in (results / "tables" / "findings.rst").read_text()


def test_cells_are_shared_by_configurations_and_survive_their_changes(finished):
    """Check that a second configuration with other names solves nothing but its own cell."""
    config = yaml.safe_load((finished.path / "config" / "test.yaml").read_text())
    config["algorithms"]["greedy"] = {"solver": "cart"}
    config["experiments"][2]["algorithms"] = ["greedy", "branches"]
    config["experiments"][3]["splits"] = ["full", 7]
    (finished.path / "second.json").write_text(json.dumps(config | {"name": "second"}))
    prune = ["python", "-m", "optree.bench.runs.store", "results/test"]
    assert finished.run(prune).returncode == 0  # tests of other files, run before this one, may have left cells
    before = set(finished.cells())
    table = planned(finished, "--configfile", "second.json")
    assert re.search(r"^all +20 +19 +1 ", table, re.MULTILINE), table
    done = finished.snakemake(config="second.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(set(finished.cells()) - before) == 1
    assert before < set(finished.cells())
    assert {entry["run"]["algorithm"] for entry in finished.whole_records("second")} == {"greedy", "branches", "cart-2"}
    folder = next(iter(before)).parent
    killed, running = (folder / f".half.json.{process}.tmp" for process in (1, 2))  # what writers leave, and write now
    for path in (killed, running):
        path.touch()
    os.utime(killed, (0, 0))
    unused = finished.run(prune)
    assert "1 records deleted, 19 kept" in unused.stdout
    assert not killed.exists()
    assert running.exists()
    running.unlink()
    again = finished.snakemake("--forcerun", "solve", "--until", "solve")
    assert again.returncode == 0, again.stdout + again.stderr
    assert len(finished.cells()) == 19


def test_an_own_table_of_numbers_is_searched_over_all_thresholds(finished):
    """Check a study that says nothing on thresholds: 2,000 rows, numbers, and texts with commas."""
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.random_sample((2000, 3)).round(3), columns=["a", "b b", "c"])
    X["kind"] = random.choice(["s, t", "u", ""], 2000)
    y = ((X["a"] > 0.61) & (X["b b"] < 0.83)) ^ (random.random_sample(2000) < 0.03)
    (finished.path / "mine").mkdir()
    X.assign(good=np.where(y, "yes", "no")).to_csv(finished.path / "mine" / "own.csv", index=False)
    table = finished.path / "config" / "datasets.csv"
    before = table.read_text()
    added = finished.run(["python", "-m", "optree.datasets", "row", "mine/own.csv", "--target", "good", "--add"])
    assert added.returncode == 0, added.stderr
    asked = {"datasets": ["own"], "algorithms": ["optree", "cart"], "regularization": ["0.01"], "splits": ["full", 0]}
    config = {"name": "own", "data_mirror": "mine", "experiments": [asked]}
    (finished.path / "own.json").write_text(json.dumps(config))
    done = finished.snakemake(config="own.json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {(entry["run"]["algorithm"], entry["run"]["split"]): entry for entry in finished.whole_records("own")}
    made, cell = found["optree", "full"], f"{found['optree', '0']['cell'][:2]}/{found['optree', '0']['cell'][2:]}.json"
    again = finished.run(["python", "-m", "optree.bench.runs.rerun", f"results/cells/{cell}"])
    table.write_text(before)

    model = OptimalTreeClassifier(one_vs_rest=True).fit(X, y)
    assert (made["status"], made["objective"]) == (model.status_, model.objective_) == ("optimal", model.objective_)
    assert (made["run"]["encoding"], made["data"]["encoding"]["numeric"]) == ("numbers", "numbers")
    thresholds = {name: X[name].nunique() - 1 for name in ("a", "b b", "c")}
    assert made["data"]["thresholds"] == {name: [count, count] for name, count in thresholds.items()}
    assert {entry["status"] for entry in found.values()} == {"optimal", "heuristic"}
    assert found["optree", "0"]["test"]["accuracy"] > 0.93
    assert found["cart", "0"]["objective"] <= found["optree", "0"]["objective"]
    page = (finished.path / "results" / "own" / "tables" / "findings.rst").read_text()
    assert f"keeps all {sum(thresholds.values()):,} thresholds of numeric columns." in page
    assert (again.returncode, "the same, apart from" in again.stdout) == (0, True), again.stdout + again.stderr


def test_a_configuration_of_models_alone_has_tables_and_a_first_page(finished):
    config = {
        "name": "models",
        "limits": {"seconds": 5},
        "algorithms": {
            "tree": {"solver": "DecisionTreeClassifier", "parameters": {"max_depth": 2}},
            "regression": {"solver": "DecisionTreeRegressor", "parameters": {"max_depth": 2}},
        },
        "experiments": [
            {"datasets": ["iris", "wine"], "algorithms": ["tree"], "splits": [0, 1]},
            {"datasets": ["diabetes"], "algorithms": ["regression"], "splits": ["full"]},
        ],
    }
    (finished.path / "models.json").write_text(json.dumps(config))
    done = finished.snakemake(config="models.json")
    assert done.returncode == 0, done.stdout + done.stderr
    tables = finished.path / "results" / "models" / "tables"
    table = pd.read_csv(tables / "model_summary.csv").set_index(["dataset", "rows"])
    assert table["score"].to_dict() == {
        ("diabetes", "full"): "R2",
        ("iris", "2 seeds"): "accuracy",
        ("wine", "2 seeds"): "accuracy",
    }
    assert not (tables / "summary.html").exists()
    page = (tables / "findings.rst").read_text()
    assert "Mean accuracy of models on held-out rows, over 4 partitions of 2 datasets: tree 0." in page
    assert "searches" not in page


def test_two_at_once_are_refused(finished):
    holder = (
        "import fcntl, sys, time; lock = open('results/test/.lock'); fcntl.flock(lock, fcntl.LOCK_EX); "
        "print('held', flush=True); time.sleep(60)"
    )
    process = finished.start(["python", "-c", holder])
    try:
        time.sleep(1)
        done = finished.snakemake("--forcerun", "tables")
        assert done.returncode != 0
        assert "error: another snakemake is at work in results/test; wait for it to end" in done.stderr
    finally:
        process.kill()
        process.wait()


TINY = {
    "name": "bad",
    "experiments": [
        {
            "datasets": ["monks-1"],
            "encodings": ["ordinal"],
            "algorithms": ["branches"],
            "regularization": ["0.05"],
            "splits": ["full"],
        }
    ],
}


def edited(**changes):
    """Return TINY with changes to its experiment."""
    return {**TINY, "experiments": [{**TINY["experiments"][0], **changes}]}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (edited(datasets=["monk"]), ["experiments[0]", "dataset", "'monk'", "did you mean monk"]),
        ({**TINY, "limit": {}}, ["unknown key 'limit'", "accepted", "limits"]),
    ],
)
def test_bad_configurations_end_with_one_line_before_any_work(finished, config, words):
    path = finished.path / "bad.json"
    path.write_text(json.dumps(config))
    done = finished.snakemake(config="bad.json")
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: config: ")]
    assert done.returncode != 0
    assert len(lines) == 1
    assert all(word in lines[0] for word in words), lines[0]
    assert "Traceback" not in done.stderr
    assert not (finished.path / "results" / "bad").exists()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ("iris,bultin", "iris: source: 'bultin' is not accepted; accepted: builtin, mirror, openml, url"),
        ("iris,builtin,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", " fields are needed"),
    ],
    ids=["source", "commas"],
)
def test_a_bad_row_of_the_datasets_table_is_named(finished, wrong, error):
    path = finished.path / "config" / "datasets.csv"
    before = path.read_text()
    path.write_text(before.replace("iris,builtin", wrong))
    done = finished.snakemake("-n")
    path.write_text(before)
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert done.returncode != 0
    assert "config/datasets.csv" in line
    assert error in line


def test_a_mirror_file_with_the_wrong_checksum_stops_its_dataset_only(finished):
    mirror = finished.path / "mirror"
    mirror.mkdir()
    (mirror / "monks-1.train").write_text(" 1 1 1 1 1 3 1 data_5\n")
    config = {**edited(datasets=["monk1-train", "monks-1"]), "name": "mirror", "data_mirror": "mirror"}
    (finished.path / "mirror.json").write_text(json.dumps(config))
    done = finished.snakemake(config="mirror.json")
    lines = {line for line in (done.stdout + done.stderr).splitlines() if line.startswith("error: ")}
    assert done.returncode != 0
    (line,) = lines
    assert all(word in line for word in ["monk1-train", "monks-1.train"])
    assert [entry["run"]["dataset"] for entry in finished.records("mirror").values()] == ["monks-1"]
