"""Proofs of a configuration: every tree is proven after the searches, and an independent program checks the files."""

from __future__ import annotations

import json

import pytest
from harness.checkout import Checkout
from optree_verify import main as verify

from optree.bench.runs import record
from optree.bench.runs.proof import ProofLimits, remove_incomplete
from optree.bench.runs.prove import prove_job
from optree.bench.tables.frame import load

PROVEN = {
    "name": "proven",
    "cells": "results/proven/cells",
    "limits": {"seconds": 10, "memory_mib": 4096},
    "encodings": {"bins": {"categorical": "ordinal", "numeric": "bins", "max_cuts": 3}},
    "experiments": [
        {
            "datasets": ["monks-1"],
            "encodings": ["ordinal", "onehot-drop-first"],
            "algorithms": ["branches", "optree"],
            "regularization": ["0.02"],
            "splits": ["full", 0],
        },
        {
            "datasets": ["monks-1"],
            "encodings": ["onehot-drop-first"],
            "algorithms": ["gosdt", "cart"],
            "regularization": ["0.02"],
            "splits": ["full", 0],
        },
        {
            "datasets": ["iris"],
            "encodings": ["onehot-drop-first", "bins"],
            "algorithms": ["optree"],
            "regularization": ["0.02"],
            "splits": ["full", 0],
            "max_depth": [3],
        },
        {
            "datasets": ["monks-1"],
            "encodings": ["ordinal"],
            "algorithms": ["optree"],
            "regularization": ["0.02"],
            "splits": ["full"],
            "feature_costs": [{"a1": "0.01", "a5": "1/30"}],
        },
    ],
}


@pytest.fixture(scope="module")
def proven(finished):
    """Return the copy of the repository in which a configuration has run, first without proofs."""
    for prove in (False, True):
        (finished.path / "proven.json").write_text(json.dumps(PROVEN | {"prove": prove}))
        done = finished.snakemake("--until", "tables", "first_page", config="proven.json")
        assert done.returncode == 0, done.stdout + done.stderr
        if not prove:
            before = {path: path.stat().st_mtime_ns for path in finished.cells("proven")}
    assert before == {path: path.stat().st_mtime_ns for path in finished.cells("proven")}
    return finished


def test_every_tree_is_proven_and_the_files_can_be_checked_again(proven, capsys):
    results = proven.path / "results" / "proven"
    records = load(results / "tables" / "runs.jsonl")
    assert len(records) == 17
    assert sum("costs of features" in entry["proof"]["statement"] for entry in records) == 1
    for entry in records:
        record.check_seal(entry, "tables/runs.jsonl")
        proof = entry["proof"]
        assert proof["verdict"] == {"optimal": "optimal", "heuristic": "within"}[entry["status"]], proof
        assert verify([str(results / "proofs" / proof["table"]), str(results / "proofs" / proof["file"])]) == 0
        assert capsys.readouterr().out.strip() == proof["statement"]
        assert proof["bytes"] == (results / "proofs" / proof["file"]).stat().st_size
    checks = {(entry["proof"]["table"], entry["proof"]["sha256"]): entry["proof"]["check_seconds"] for entry in records}
    assert len(checks) < 17  # two solvers with one tree have one proof, which is checked once
    for entry in records:
        assert entry["proof"]["check_seconds"] == checks[entry["proof"]["table"], entry["proof"]["sha256"]]
    page = (results / "tables" / "findings.rst").read_text()
    assert "17 of 17 proofs checked by an independent program, 15 of them of optima" in page
    table = (results / "tables" / "proofs.html").read_text()
    assert table.count('href="../proofs/') == 17


def jobs_with(proven, change, **limits) -> list[dict]:
    """Return the entries that the proofs of changed records get."""
    results, entries = proven.path / "results" / "proven", []
    for path in (results / "jobs").glob("*.jsonl"):
        records = [change(json.loads(line)) for line in path.read_text().splitlines()]
        changed = proven.path / "changed" / path.name
        changed.parent.mkdir(exist_ok=True)
        changed.write_text("".join(json.dumps(entry) + "\n" for entry in records))
        table = results / "data" / f"{records[0]['run']['dataset']}.csv"
        program = proven.path / "verify" / "optree_verify.py"
        output = changed.parent / "proofs" / path.name
        prove_job(path.with_suffix(".json"), changed, table, program, output, ProofLimits(**limits))
        entries += load(changed.parent / "proofs" / path.name)
    return entries


def test_a_bound_above_the_least_cost_has_no_proof(proven):
    def raise_bound(entry):
        if entry["cost"]["lower_bound"] is not None:
            entry["cost"]["lower_bound"] += 1
        return entry

    verdicts = [entry["statement"] for entry in jobs_with(proven, raise_bound) if entry["verdict"] == "refused"]
    assert len(verdicts) == 15
    assert all("the lower bound is 1 above the least cost" in statement for statement in verdicts)


def test_a_worse_tree_is_no_optimum(proven):
    def turn(entry):
        entry["tree"]["prediction"] = [1 - k if k < 2 else k for k in entry["tree"]["prediction"]]
        return entry

    entries = jobs_with(proven, turn)
    assert {entry["verdict"] for entry in entries} == {"within"}


def test_limits_and_other_measures_are_verdicts(proven):
    def other(entry):
        entry["run"]["measure"] = "auc"
        return entry

    assert {entry["statement"] for entry in jobs_with(proven, other)} == {
        "the measure is auc; proofs are about accuracy"
    }
    late = jobs_with(proven, dict, check_seconds=0.001)
    assert {entry["statement"] for entry in late} == {"the check did not end within 0.001 s"}
    assert {entry["verdict"] for entry in jobs_with(proven, dict, memory_mib=1)} == {"none"}


def test_answers_whose_files_are_gone_are_made_again(tmp_path):
    answers = [tmp_path / "one.jsonl", tmp_path / "two.jsonl", tmp_path / "none.jsonl"]
    for path, name in zip(answers, ("a.proof", "b.proof"), strict=False):
        entries = [{"file": name, "table": "data.csv"}, {"verdict": "none"}]
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    for name in ("a.proof", "b.proof", "data.csv"):
        (tmp_path / name).touch()
    remove_incomplete(map(str, answers))
    assert answers[0].exists()
    (tmp_path / "a.proof").unlink()
    remove_incomplete(map(str, answers))
    assert [path.exists() for path in answers] == [False, True, False]


def test_a_wrong_bound_in_the_engine_is_caught(tmp_path):
    """The engine prunes splits that gain up to six times the penalty: it returns a worse tree as the optimum."""
    checkout = Checkout(tmp_path)
    engine = tmp_path / "optree" / "solvers" / "engine" / "search.py"
    text = engine.read_text()
    gains = "leaves * scale.penalty // scale.error"
    assert text.count(gains) == 1
    engine.write_text(text.replace(gains, f"6 * {gains}"))
    experiment = PROVEN["experiments"][0] | {"encodings": ["onehot-drop-first"], "splits": ["full"]}
    experiment["regularization"] = ["0.01"]
    config = PROVEN | {"prove": True, "experiments": [experiment]}
    (tmp_path / "proven.json").write_text(json.dumps(config))
    done = checkout.snakemake("--until", "tables", "first_page", config="proven.json")
    assert done.returncode == 0, done.stdout + done.stderr
    found = {entry["run"]["algorithm"]: entry for entry in load(tmp_path / "results/proven/tables/runs.jsonl")}
    assert found["branches"]["proof"]["verdict"] == "optimal"
    assert found["optree"]["status"] == "optimal"
    assert found["optree"]["proof"]["verdict"] == "refused", found["optree"]["proof"]
    assert "the lower bound is" in found["optree"]["proof"]["statement"]
    assert "1 refused" in (tmp_path / "results/proven/tables/findings.rst").read_text()
