"""Levels change a configuration key by key, and choose among its experiments."""

from __future__ import annotations

import pytest
from support.refusal import refused

from optree.bench.runs.levels import at_level

STUDY = {
    "name": "study",
    "limits": {"seconds": 60, "memory_mib": 100},
    "encodings": {"cuts": {"numeric": "bins", "max_cuts": 20}},
    "experiments": [
        {"name": "one", "datasets": ["a", "b"], "limits": {"seconds": 1}},
        {"datasets": ["c"]},
        {"name": "two", "datasets": ["d"]},
    ],
    "levels": {
        "smoke": {
            "limits": {"seconds": 5},
            "encodings": {"cuts": {"max_cuts": None}},
            "experiments": {"two": {}, "one": {"datasets": ["a"], "limits": None}},
        },
        "slow": {"limits": {"seconds": 600}},
        "wrong": {"experiments": {"three": {}}},
    },
}


def test_a_level_merges_values_and_runs_the_experiments_that_it_names():
    changed = at_level({**STUDY, "level": "smoke"})
    assert changed == {
        "name": "study-smoke",
        "limits": {"seconds": 5, "memory_mib": 100},
        "encodings": {"cuts": {"numeric": "bins", "max_cuts": None}},
        "experiments": [{"name": "two", "datasets": ["d"]}, {"name": "one", "datasets": ["a"]}],
    }
    assert at_level({**STUDY, "level": "slow"})["experiments"] == STUDY["experiments"]


@pytest.mark.parametrize("level", [None, "full"])
def test_without_a_level_it_is_the_whole_study(level):
    whole = {key: value for key, value in STUDY.items() if key != "levels"}
    assert at_level({**STUDY, "level": level}) == whole


def test_the_command_line_overrules_a_level():
    changed = at_level({**STUDY, "level": "smoke"}, {"level": "smoke", "limits": {"seconds": 7}, "name": "mine"})
    assert (changed["name"], changed["limits"]["seconds"]) == ("mine", 7)
    assert STUDY["limits"]["seconds"] == 60


def test_unknown_names_are_refused():
    with refused("config: level: 'smok' is not known", "smoke, slow, wrong, full"):
        at_level({**STUDY, "level": "smok"})
    with refused("config: levels.wrong: experiment: 'three' is not known; accepted: one, two"):
        at_level({**STUDY, "level": "wrong"})
    twice = {**STUDY, "level": "smoke", "experiments": [{"name": "one"}, {"name": "one"}]}
    with refused("two experiments have the same name"):
        at_level(twice)
