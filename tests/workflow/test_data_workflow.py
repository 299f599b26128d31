"""The whole workflow from a server, and from a mirror without a network: the same records."""

from __future__ import annotations

import csv
import hashlib
import json
import random
import subprocess
from dataclasses import replace

import pytest
from support.openml_server import arff, serving

from optree.datasets import fetch, read_table
from optree.datasets.table import LISTS


def cells(dataset) -> list[str]:
    return [" ".join(map(str, value)) if key in LISTS else str(value) for key, value in vars(dataset).items()]


def config(name: str, **changes) -> str:
    """Return a configuration of two datasets that are not generated, few runs, and a fit."""
    names = ["first", "raw"]
    experiment = dict(datasets=names, encodings=["ordinal"], algorithms=["branches"], regularization=["0.02"])
    model = {"datasets": ["raw"], "algorithms": ["cart-2"], "splits": [0]}
    algorithms = {"cart-2": {"solver": "DecisionTreeClassifier", "parameters": {"max_depth": 2}}}
    experiments = [{**experiment, "splits": ["full", 0]}, model]
    folder = {"name": name, "cells": f"results/{name}/cells"}
    return json.dumps({**folder, "algorithms": algorithms, "experiments": experiments, **changes})


@pytest.fixture
def offline():
    """Return a command prefix that starts a program without a network."""
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not permit a separate network (unshare --net)")
    return alone


def test_from_a_server_and_from_a_mirror_without_a_network(finished, offline, table, tmp_path, monkeypatch):
    monks = fetch(table["monks-1"])
    row = replace(table["monks-1"], source="openml", identifier="333")
    before = (finished.path / "config" / "datasets.csv").read_text()
    with serving(tmp_path / "openml", monkeypatch.setenv) as server:
        finished.environment["XDG_CONFIG_HOME"] = str(tmp_path / "openml")
        server.add(333, "monks", arff(monks))
        server.pages["/raw.csv"] = (200, monks.content())
        server.faults["/raw.csv"] = [503]
        rows = [
            replace(row, name="first", target="default", numeric="declared", sha256=()),
            replace(table["monks-1"], name="raw", source="url", file="raw.csv", url=(f"{server.url}/raw.csv",)),
        ]
        rows[1] = replace(rows[1], file_sha256=hashlib.sha256(monks.content()).hexdigest())
        with open(finished.path / "config" / "datasets.csv", "a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(map(cells, rows))
        assert list(read_table(finished.path / "config" / "datasets.csv"))[-2:] == ["first", "raw"]
        (finished.path / "server.json").write_text(config("server"))
        (finished.path / "offline.json").write_text(config("offline", data_mirror="bits"))
        fill = finished.run(["python", "-m", "optree.datasets", "mirror", "bits", "--configfile", "server.json"])
        assert fill.returncode == 0, fill.stderr
        done = finished.snakemake(config="server.json", cores=1)
        assert done.returncode == 0, done.stdout + done.stderr
    command = ["snakemake", "--cores", "1", "--configfile", "offline.json"]
    done = finished.run([*offline, *command])
    assert done.returncode == 0, done.stdout + done.stderr
    report = finished.run([*offline, *command, "--report", "offline.html"])
    assert report.returncode == 0, report.stderr
    (finished.path / "config" / "datasets.csv").write_text(before)
    (finished.path / "config" / "datasets.lock.json").unlink()

    online, alone = finished.records("server"), finished.records("offline")
    assert alone == online
    assert len(alone) == 5
    results = finished.path / "results"
    for name in ("first", "raw"):
        content = (results / "offline" / "data" / f"{name}.csv").read_bytes()
        assert content == (results / "server" / "data" / f"{name}.csv").read_bytes() == monks.content()
    with open(results / "offline" / "tables" / "datasets.csv") as file:
        first, raw = csv.DictReader(file)
    assert first["verified"] == "sha256 of datasets.lock.json"
    assert first["origin"].startswith("OpenML 333 at http://127.0.0.1")
    assert raw["classes"] == "2 (0: 216, 1: 216)"
    assert "datasets.html" in (finished.path / "offline.html").read_text()


def test_missing_numbers_of_an_own_file_reach_searches_and_models(finished):
    draw, folder = random.Random(1), finished.path / "own"
    folder.mkdir()
    income = [None if draw.random() < 0.25 else round(draw.uniform(0, 100), 2) for _ in range(120)]
    classes = ["late" if value is None or value > 70 else "paid" for value in income]
    rows = zip(income, (draw.choice("uvw") for _ in income), classes, strict=True)
    text = "".join(f"{'?' if value is None else value},{home},{own}\n" for value, home, own in rows)
    (folder / "own.csv").write_text("income,home,class\n" + text)
    before = (finished.path / "config" / "datasets.csv").read_text()
    proposed = finished.run(["python", "-m", "optree.datasets", "row", "own/own.csv", "--add"])
    assert "recipe keep-missing: " in proposed.stderr, proposed.stderr
    tree = {"tree": {"solver": "DecisionTreeClassifier", "parameters": {"max_depth": 2}}}
    asked = {"datasets": ["own"], "regularization": ["0.02"], "splits": ["full", 0]}

    def run(*algorithms: str):
        experiments = [asked | {"algorithms": list(algorithms)}]
        given = {"name": "own", "cells": "results/own/cells", "data_mirror": "own", "algorithms": tree}
        (finished.path / "own.json").write_text(json.dumps(given | {"experiments": experiments}))
        return finished.snakemake(config="own.json")

    refused = run("pycontree")
    assert refused.returncode == 1
    (line,) = (line for line in refused.stderr.splitlines() if line.startswith("error: "))
    assert line.startswith("error: config: experiments[0]: dataset 'own' keeps missing numbers")
    assert "which pycontree does not take; these do: allthresholds, " in line
    done = run("optree", "cart", "gosdt", "tree")
    assert done.returncode == 0, done.stdout + done.stderr
    (finished.path / "config" / "datasets.csv").write_text(before)
    records = finished.whole_records("own")
    assert len(records) == 8
    for record in records:
        assert record["train"]["rows"] + (record["test"] or {"rows": 0})["rows"] == 120
        assert record["train"]["accuracy"] == 1, record["run"]
        if record["run"]["model"] is None:
            (feature,) = record["tree"]["features"].values()
            assert record["size"]["splits"] == 1
            assert any(label.endswith(" or missing") for label in feature["labels"])
    with open(finished.path / "results" / "own" / "data" / "own.json") as file:
        assert json.load(file)["facts"]["missing"] == {"income": income.count(None)}
