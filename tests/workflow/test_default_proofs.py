"""Optima of the default configuration are proven, and an independent program checks the proofs.

The two largest proofs of lambda .005 and folds beyond the first would take two thirds of the time.
"""

from __future__ import annotations

import json

import pytest
import yaml
from harness.checkout import ROOT, Checkout
from support.modes import THOROUGH, thorough

from optree.bench.tables.frame import load

DEFAULT = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
GROUPS = {  # a run of the workflow for each
    "tic-tac-toe": {"tic-tac-toe"},
    "balance": {"balance-scale", "balance-scale-576"},
    "monks": {"monks-1", "monks-2", "monks-3"},
    "numbers": {"iris", "wine"},
    "breast cancer": {"breast_cancer"},
}
LONG = {"balance", "breast cancer", "tic-tac-toe"}
SECONDS = {"breast cancer": 2}  # of a search, and to write its proof: spent in full, as a limit ends both
UNPROVEN = {}  # the reason for each cell whose optimum has no checked proof; this list may not grow


def only(group: str) -> dict:
    """Return the default configuration with proofs, for the datasets of a group, and without its longest proofs."""
    some = [
        {
            **one,
            "datasets": [name for name in one["datasets"] if name in GROUPS[group]],
            "regularization": [value for value in one["regularization"] if value != "0.005"],
            "splits": one["splits"][: 2 if THOROUGH else 1],
        }
        for one in DEFAULT["experiments"]
    ]
    limits = DEFAULT["limits"] | {"seconds": SECONDS.get(group, DEFAULT["limits"]["seconds"])}
    proofs = {"write_seconds": SECONDS.get(group, 60)}
    return DEFAULT | {"limits": limits, "prove": proofs, "experiments": [one for one in some if one["datasets"]]}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    """Return a copy of the repository, whose runs share a store of finished searches."""
    return Checkout(tmp_path_factory.mktemp("default"))


def test_the_groups_have_all_datasets():
    names = {name for one in DEFAULT["experiments"] for name in one["datasets"]}
    assert set().union(*GROUPS.values()) == names


@pytest.mark.parametrize("group", [pytest.param(name, marks=thorough if name in LONG else ()) for name in GROUPS])
def test_all_optima_of_the_default_are_proven(group, checkout):
    (checkout.path / "group.json").write_text(json.dumps(only(group)))
    done = checkout.snakemake("--until", "tables", config="group.json")
    assert done.returncode == 0, done.stdout + done.stderr
    records = load(checkout.path / "results" / "default" / "tables" / "runs.jsonl")
    assert {entry["run"]["dataset"] for entry in records} == GROUPS[group]
    optima = [entry for entry in records if entry["status"] == "optimal"]
    without = {entry["cell"]: entry["proof"] for entry in optima if entry["proof"]["verdict"] != "optimal"}
    assert len(optima) > len(records) / 8
    assert without.keys() <= UNPROVEN.keys(), without
    assert "refused" not in {entry["proof"]["verdict"] for entry in records}
