"""The table of Rashomon sets, and the counts of peers in records."""

from __future__ import annotations

import pytest
from support import peers as stubs
from support.compared_records import record

from optree.bench.tables.frame import frame
from optree.bench.tables.rashomon_sets import agreement, rashomon_sets

EXACT = 412_862_327_056_991_885_906_522_094_217_710_339


@pytest.mark.parametrize(
    ("counted", "exact", "said"),
    [
        ("2738", "2738", "equal"),
        ("2739", "2738", "+1 trees"),
        ("0", "2738", "-2,738 trees"),
        ("836589501990554371", str(EXACT), "equal modulo 2^64"),
        ("836589501990554372", str(EXACT), f"{836589501990554372 - EXACT:+,} trees"),
        (None, "2738", ""),
        ("2738", None, ""),
    ],
)
def test_counts_are_compared_in_all_digits(counted, exact, said):
    assert agreement(counted, exact) == said


def counting(algorithm, trees, status="optimal", multiplier=None):
    made = record("compas", algorithm, 0.5, status)
    made["run"]["solver"], made["run"]["parameters"] = (
        algorithm,
        {} if multiplier is None else {"multiplier": multiplier},
    )
    return made | {"found": {"count": trees}}


def test_each_program_stands_beside_the_exact_count_of_the_same_bound():
    runs = [
        counting("rashomon", str(EXACT)),
        counting("wraps", str(EXACT % 2**64)),
        counting("killed", None, "memory_limit"),
        counting("rashomon", "5", multiplier="0.1"),
        counting("lacks-one", "4", multiplier="0.1"),
        counting("rashomon", "3", "time_limit", multiplier="0.2"),  # a set up to a smaller bound is no reference
        counting("alone", "4", multiplier="0.2"),
        record("compas", "optree", 0.1),
    ]
    table = rashomon_sets(frame(runs))
    found = {(row.set_bound, row.algorithm): row.agreement for row in table.data.itertuples()}
    assert found == {
        ("multiplier 0.05", "rashomon"): "",
        ("multiplier 0.05", "wraps"): "equal modulo 2^64",
        ("multiplier 0.05", "killed"): "",
        ("multiplier 0.1", "rashomon"): "",
        ("multiplier 0.1", "lacks-one"): "-1 trees",
        ("multiplier 0.2", "rashomon"): "",
        ("multiplier 0.2", "alone"): "",
    }
    assert f"{EXACT:,}" in set(table.shown["trees"])
    assert table.result == "1 of 2 counts of other programs agree, 1 of them modulo 2^64."


def test_the_count_of_a_peer_is_in_its_record(tmp_path):
    claims = stubs.claiming(trees="17")
    declaration = stubs.DECLARATION.replace("exact: true", "exact: true\ncounts_trees: true")
    assert stubs.run(stubs.write(tmp_path, claims, declaration))["found"] == {"count": "17"}
    silent = stubs.write(tmp_path / "silent", declaration=declaration)
    assert stubs.run(silent)["found"] == {"count": None}
    assert "found" not in stubs.run(stubs.write(tmp_path / "other", claims))
