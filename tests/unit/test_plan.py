"""Planning: accepted configurations, and refusals before any work."""

from __future__ import annotations

import re

import pytest
from snakemake.utils import update_config
from support import ROOT
from support import peers as stubs
from support.refusal import refused

from optree import solvers
from optree.bench.models.estimators import ESTIMATORS, PEER
from optree.bench.peers.declaration import read_peer, read_peers
from optree.bench.report.reproduce import merged_configuration
from optree.bench.runs.plan import plan_runs
from optree.bench.runs.record import comparison_key
from optree.bench.system import schema
from optree.datasets import read_table
from optree.errors import choice

PEERS = ROOT / "workflow" / "peers"
CONFIG = {
    "limits": {"seconds": 1, "iterations": None, "memory_mib": 500},
    "test_size": "0.2",
    "encodings": {
        "ordinal": {"categorical": "ordinal", "numeric": "bins"},
        "onehot": {"categorical": "onehot", "drop": "none", "numeric": "thresholds"},
    },
    "algorithms": {
        "told": {"solver": "stub", "depth_of": "optree"},
        "told-too": {"solver": "stub", "depth_of": "told"},
        "told-free": {"solver": "free", "depth_of": "optree"},
        "slow": {"solver": "stub", "parameters": {"slowly": True}},
        "quick": {"solver": "stub", "parameters": {"quickly": True}},
        "nobody": {"solver": "nobody"},
    },
}
EXPERIMENT = {
    "datasets": ["monks-1"],
    "encodings": ["onehot"],
    "algorithms": ["optree", "stub"],
    "regularization": ["0.01", "0.1"],
    "splits": ["full"],
}


def runs(tmp_path, *experiments: dict, **config):
    stub = read_peer(stubs.write(tmp_path))
    free = read_peer(stubs.write(tmp_path, declaration=stubs.DECLARATION.replace("[max_depth]", "[]"), name="free"))
    made = [{**EXPERIMENT, **experiment} for experiment in experiments or [{}]]
    return plan_runs({**CONFIG, **config, "experiments": made}, ["monks-1"], {"stub": stub, "free": free})


def test_a_peer_is_planned_like_any_solver(tmp_path):
    planned = runs(tmp_path, {"algorithms": ["optree", "stub", "slow"]})
    assert [(run.algorithm, run.solver) for run in planned[::2]] == [
        ("optree", "optree"),
        ("stub", "stub"),
        ("slow", "stub"),
    ]
    assert planned[-1].parameters == {"slowly": True}
    assert len({comparison_key(run) for run in planned}) == 2  # two comparisons, one for each lambda


def test_repeats_are_of_the_configuration_unless_an_experiment_has_its_own(tmp_path):
    planned = runs(tmp_path, {}, {"regularization": ["0.05"], "repeats": 5}, repeats=3)
    assert {(run.regularization, run.repeats) for run in planned} == {("0.01", 3), ("0.1", 3), ("0.05", 5)}
    assert {run.repeats for run in runs(tmp_path / "other")} == {1}


def test_a_depth_may_be_told(tmp_path):
    planned = runs(tmp_path, {"algorithms": ["optree", "told"]})
    assert [run.depth_of for run in planned] == [None, None, "optree", "optree"]


@pytest.mark.parametrize(
    ("experiment", "config", "words"),
    [
        ({"encodings": ["ordinal"]}, {}, ["'stub'", "binary features only", "'ordinal'"]),
        ({"algorithms": ["quick"]}, {}, ["solver stub", "'quickly'", "accepted: slowly"]),
        (
            {"algorithms": ["nobody"]},
            {},
            ["algorithm 'nobody': solver", " names are accepted, the nearest are "],
        ),
        ({"algorithms": ["stab"]}, {}, ["algorithm: 'stab'", "did you mean stub"]),
        ({"max_splits": [3], "algorithms": ["stub"]}, {}, ["solver stub", "max_splits = 3"]),
        ({"limits": {"iterations": 10}}, {}, ["'stub' is not ours", "limits.iterations = 10", "give null"]),
        ({"algorithms": ["told"]}, {}, ["'told': depth_of", "'optree'", "accepted: an algorithm of the same"]),
        ({"algorithms": ["optree", "told", "told-too"]}, {}, ["'told-too'", "'told'", "waits for a depth itself"]),
        ({"algorithms": ["optree", "told-free"]}, {}, ["solver free has no depth limit"]),
        ({"algorithms": ["optree", "told"], "max_depth": [3]}, {}, ["'told'", "max_depth = [3]", "exclude"]),
        ({}, {"reference": "cart"}, ["config: reference", "'cart'", "accepted: optree, stub"]),
    ],
)
def test_misuse_is_refused(tmp_path, experiment, config, words):
    with refused(*words):
        runs(tmp_path, experiment, **config)


def test_two_runs_with_one_name_are_refused(tmp_path):
    with refused("optree on monks-1/onehot", "asked for twice"):
        runs(tmp_path, {}, {"limits": {"seconds": 2}})


def test_a_peer_must_not_have_the_name_of_a_solver(tmp_path):
    cart = read_peer(stubs.write(tmp_path, name="cart"))
    with refused("cart", "is the name of a solver of ours"):
        plan_runs({**CONFIG, "experiments": [EXPERIMENT]}, ["monks-1"], {"cart": cart})


def shipped(name: str, level: str | None = None) -> dict:
    """Return a configuration of the repository, laid over the default one as Snakemake does."""
    return merged_configuration(ROOT, name, level)


def everything(name: str, level: str | None = None) -> list:
    """Return the runs of a configuration of the repository."""
    return plan_runs(shipped(name, level), read_table(ROOT / "config" / "datasets.csv"), read_peers(PEERS))


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_what_ships_can_be_planned(path):
    schema.check(shipped(path.name), ROOT / "workflow" / "schemas" / "config.schema.yaml", path.name)
    assert everything(path.name)


def test_the_default_needs_no_peer():
    shown = (("config.yaml", None), ("test.yaml", None), ("branches.yaml", "smoke"))  # README.md, docs/artefact.md
    used = {run.solver for study in shown for run in everything(*study)}
    assert used <= {*solvers.names(), *ESTIMATORS} - {PEER}


def test_the_ablation_switches_every_part_off_once():
    off = [run.parameters for run in everything("ablation.yaml") if run.parameters]
    switches = {name for name, parameter in solvers.get("optree").parameters.items() if parameter.type is bool}
    assert {name for parameters in off for name in parameters} == switches
    assert all(list(parameters.values()) == [False] for parameters in off)


def test_a_number_without_quotes_and_a_misspelt_name_are_answered_with_what_to_write():
    where = ROOT / "workflow" / "schemas" / "config.schema.yaml"
    config = shipped("test.yaml")
    config["experiments"][0]["regularization"] = [0.02]
    with refused("experiments.0.regularization.0", 'write it in quotes: "0.02"'):
        schema.check(config, where, "config")
    many = [f"name-{i}" for i in range(40)]
    assert str(choice("dataset", "nam-17", many)).endswith(
        "'nam-17' is not known; did you mean name-17 or name-7 or name-1?"
    )
    assert re.search(
        "40 names are accepted, the nearest are (name-[0-9]+(, )?){3}$", str(choice("dataset", "xy", many))
    )
    assert str(choice("dataset", "nam-1", many[:3])).endswith("; accepted: name-0, name-1, name-2")


def small(**changes) -> dict:
    """Return a configuration of one run with changes to its experiment."""
    fields = {"datasets": ["monks-1"], "encodings": ["ordinal"], "algorithms": ["branches"]}
    return {"experiments": [fields | {"regularization": ["0.05"], "splits": ["full"]} | changes]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (small(algorithms=["brunches"]), ["experiments[0]", "algorithm", "'brunches'", "did you mean branches?"]),
        (small(encodings=["unary"]), ["experiments[0]", "encoding", "'unary'", "accepted", "ordinal"]),
        (small(algorithms=["cart"]), ["'cart'", "binary", "'ordinal'"]),
        (small(regularization=["-0.1"]), ["regularization", "'-0.1'", "from 0 to 1"]),
        (small(regularization=["1.5"]), ["regularization", "'1.5'", "from 0 to 1"]),
        (small(regularization=["many"]), ["regularization", "'many'"]),
        (small(penalty=["leaf"]), ["branches", "penalty", "'leaf'", "accepted", "split"]),
        (small(max_depth=[-1]), ["max_depth", "-1"]),
        (small(splits=["half"]), ["splits", "'half'"]),
        (small(lambda_=["0.1"]), ["unknown key 'lambda_'", "accepted", "regularization"]),
        ({"limits": {"seconds": -1}}, ["limits.seconds", "-1"]),
        (
            {
                **small(algorithms=["small"], encodings=["onehot"]),
                "algorithms": {"small": {"solver": "cart", "parameters": {"leaf": 1}}},
            },
            ["cart", "'leaf'", "accepted", "criterion"],
        ),
        (
            {"encodings": {"mine": {"categorical": "ordinal", "numeric": "bins", "drop": "first"}}},
            ["mine", "drop"],
        ),
    ],
)
def test_a_bad_configuration_is_named(given, words):
    config = shipped("test.yaml")
    update_config(config, given)
    with refused("config: ", *words):
        schema.check(config, ROOT / "workflow" / "schemas" / "config.schema.yaml", "config")
        plan_runs(config, read_table(ROOT / "config" / "datasets.csv"), read_peers(PEERS))
