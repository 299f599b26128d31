"""The comparison with the BRANCHES paper, and the bounds of its Table 1."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pandas as pd
import pytest
from support import ROOT
from support.refusal import refused
from support.runs import run

from optree.bench import papers
from optree.bench.papers import Results, verdicts
from optree.bench.papers.branches import work_bounds
from optree.bench.papers.branches.paper import comparable
from optree.bench.runs.plan import plan_runs
from optree.bench.tables.frame import frame

FOLDER = ROOT / "resources" / "papers" / "branches"
PAPER = papers.get("branches")


@pytest.fixture(scope="module")
def runs():
    return frame(
        [
            run("tic-tac-toe", "ordinal", "0.005"),
            run("tic-tac-toe", "onehot-drop-first", "0.005", limits={"iterations": 2000}),
            run("balance-scale-576", "ordinal", "0.01"),
            run("balance-scale", "ordinal", "0.005"),
            run("balance-scale", "ordinal", "0.005", split="0"),
            run("balance-scale-576", "ordinal", "0.01", max_depth=1),
        ]
    )


# --- the registry


@pytest.mark.parametrize("name", papers.names())
def test_every_paper_is_found_by_its_name_and_has_its_printed_numbers(name):
    paper = papers.get(name)
    assert paper.name == name
    assert paper.tables
    folder = ROOT / "resources" / "papers" / name
    assert (folder / "README.md").exists()
    assert list(folder.glob("*.csv"))


def test_other_papers_are_refused():
    with refused("paper: 'nobody'", *papers.names()):
        papers.get("nobody")
    with refused("config: paper: 'nobody'", *papers.names()):
        plan_runs({"limits": {}, "paper": "nobody"}, [])


def claims(table, runs, row) -> dict[tuple[str, str], dict]:
    data = PAPER.tables[table](Results(FOLDER, runs)).data
    return {(claim["encoding"], claim["claim"]): claim for claim in data[data["row"].eq(row)].to_dict("records")}


# --- bounds


def brute_force_trees(features: frozenset, depth: int) -> int:
    """Count the trees of at most this depth by enumeration."""
    if depth == 0:
        return 1
    below = [brute_force_trees(features - {feature}, depth - 1) for feature in features]
    return 1 + sum(count * count for count in below)


@pytest.mark.parametrize(("features", "depth"), list(product(range(1, 5), range(4))))
def test_trees_are_counted(features, depth):
    assert work_bounds.count_trees(features, depth) == brute_force_trees(frozenset(range(features)), depth)


def test_the_bound_is_that_of_all_branches_when_lambda_is_tiny():
    # kappa = q: every branch of fewer than q clauses is expanded, each of its q - h features has C children
    for q, c in ((3, 2), (3, 3), (2, 4)):
        clauses = [sum(part is not None for part in branch) for branch in product([None, *range(c)], repeat=q)]
        assert work_bounds.branches_bound(q, "0.000001", c) == sum((q - h) * c for h in clauses)


def test_bounds_grow_with_categories_and_classes_and_shrink_with_lambda():
    assert work_bounds.branches_bound(10, "0.05", 3) > work_bounds.branches_bound(10, "0.05", 2)
    assert work_bounds.branches_bound(10, "0.1", 2, 3) > work_bounds.branches_bound(10, "0.1", 2, 2)
    assert work_bounds.branches_bound(10, "0.1") < work_bounds.branches_bound(10, "0.05")
    assert work_bounds.branches_bound(10, "1") == 0
    assert work_bounds.osdt_bound(10, "1") == 1


@pytest.mark.parametrize("value", ["0", "-0.1", "2"])
def test_bounds_need_a_lambda(value):
    with refused("regularization", repr(value)):
        work_bounds.branches_bound(10, value)


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1.00e0"), (999, "9.99e2"), (9994, "9.99e3"), (9995, "1.00e4"), (57020, "5.70e4")]
)
def test_scientific(number, text):
    assert work_bounds.scientific(number) == text


def test_numbers_with_too_many_digits_for_python():
    assert work_bounds.scientific(10**5000 - 1) == "1.00e5000"
    assert (work_bounds.exponent(10**5000 - 1), work_bounds.exponent(10**5000)) == (4999, 5000)


def test_table_1_is_reproduced():
    table = PAPER.tables["1"](Results(FOLDER, frame([run("balance-scale", "ordinal", "0.005")])))
    assert len(table.data) == 18
    assert set(table.data["verdict"]) <= {"recomputed", "agrees as far as legible"}
    measured = dict(zip(zip(table.data["row"], table.data["claim"], strict=True), table.data["measured"], strict=True))
    assert measured["lambda = 0.1, q = 10", "BRANCHES' bound"] == "5.70e4"
    assert measured["lambda = 0.01, q = 20", "BRANCHES' bound"] == "4.65e10"
    assert measured["lambda = 0.01, q = 20", "OSDT's bound"] == "1.49e402731"


# --- verdicts


@pytest.mark.parametrize(
    ("printed", "value", "verdict"),
    [
        ("0.93", "0.93", "reproduced"),
        ("0.850", "0.85072", "reproduced (truncated)"),
        ("0.799", "0.79921", "reproduced (rounded)"),
        ("0.95", "0.955", "reproduced (truncated)"),
        ("0.956", "0.9555", "reproduced (rounded)"),
        ("0.832", "0.77304", None),
        ("0.850", "0.851", None),
        ("1e4", "10400", "reproduced (rounded)"),
        ("2.6e5", "269999", "reproduced (truncated)"),
    ],
)
def test_agreement_is_exact_to_the_printed_digit(printed, value, verdict):
    assert verdicts.agreement(printed, Fraction(value)) == verdict


def test_a_printed_number_that_no_tree_reaches_is_explained(runs):
    claim = claims("2", runs, "tic-tac-toe-o")["ordinal", "objective"]
    assert (claim["paper"], claim["measured"]) == ("0.832", "0.77304")
    assert claim["verdict"] == "paper contradicts its own artefact"
    assert "no tree of this encoding" in claim["explanation"]
    assert "authors' program gives 0.77304" in claim["explanation"]


def test_time_and_iterations_are_compared_where_both_searches_end(runs):
    found = claims("2", runs, "tic-tac-toe-o")
    assert found["ordinal", "ends within 300 s"]["verdict"] == "reproduced"
    assert found["ordinal", "ends within 300 s"]["difference"].endswith("times faster")
    assert found["ordinal", "iterations, at most"]["verdict"] == "reproduced"


def test_a_stopped_search_decides_nothing(runs):
    found = claims("2", runs, "tic-tac-toe")
    assert found["onehot-drop-first", "objective"]["verdict"] == "undecided"
    assert found["onehot-drop-first", "ends within 300 s"]["verdict"] == "undecided"
    assert ("onehot-drop-first", "iterations, at most") not in found
    assert found["onehot-drop-last", "objective"]["verdict"] == "not run"


def test_where_one_encoding_fits_the_others_are_other_encodings():
    entries = [run("balance-scale-576", e, "0.01") for e in ("onehot-drop-first", "onehot-drop-last")]
    found = claims("2", frame(entries), "balance")
    assert found["onehot-drop-first", "objective"]["verdict"] == "reproduced (rounded)"
    assert found["onehot-drop-last", "objective"]["verdict"] == "other encoding"
    assert found["onehot-drop-last", "objective"]["explanation"].startswith(
        "the printed value agrees with onehot-drop-first"
    )
    assert ("onehot-drop-last", "ends within 300 s") not in found
    peers = claims("3", frame(entries), "balance")
    assert set(peers) == {("onehot-drop-first", f"{name} is not better") for name in ("DL8.5", "MurTree", "STreeD")}
    assert {claim["verdict"] for claim in peers.values()} == {"consistent with the optimum"}


def test_of_encodings_that_fit_the_one_with_the_printed_features_counts():
    first = frame([run("balance-scale-576", "onehot-drop-first", "0.01")])
    alike = first.assign(encoding="onehot", encoded_features=20)  # the same objective from more features
    found = claims("2", pd.concat([first, alike], ignore_index=True), "balance")
    assert found["onehot", "objective"]["verdict"] == "reproduced (rounded)"
    assert ("onehot-drop-first", "ends within 300 s") in found
    assert ("onehot", "ends within 300 s") not in found


def test_a_better_tree_refutes_a_printed_optimum_and_improves_on_a_timeout(runs):
    claim = claims("2", runs, "balance-o")["ordinal", "objective"]
    assert (claim["measured"], claim["verdict"]) == ("0.73424", "paper contradicts its own artefact")
    solved = runs.query("dataset == 'balance-scale-576' and max_depth.isna()").iloc[0]
    assert verdicts.judge_objective("0.661", True, solved).verdict == "not reproduced"
    assert verdicts.judge_objective("0.661", False, solved).verdict == "better than printed"


def test_only_runs_like_the_papers_count(runs):
    assert len(comparable(runs)) == 4
    found = claims("program", runs, "balance-o")
    assert found["ordinal", "objective"]["verdict"] == "reproduced"
    assert found["ordinal", "iterations, at most"]["verdict"] == "reproduced"


def test_the_data_is_compared(runs):
    found = claims("5", runs, "balance-o")
    assert {claim["verdict"] for claim in found.values()} == {"same data"}
    assert "625 rows" in found["ordinal", "n"]["explanation"]
    assert claims("5", runs, "zoo")["", "n"]["verdict"] == "not run"


@pytest.mark.parametrize("table", PAPER.tables)
def test_every_row_of_a_table_has_a_claim_and_every_verdict_a_meaning(table, runs):
    comparison = PAPER.tables[table](Results(FOLDER, runs))
    assert comparison.data["verdict"].isin(verdicts.MEANING).all()
    assert comparison.result.startswith(f"{len(comparison.data)} claims: ")
    file = {"1": "table1.csv", "program": "authors_program.csv"}.get(table, "tables_2_3_5.csv")
    rows = Results(FOLDER, runs).printed(file)
    printed = [row for row in rows if table not in ("3", "3-run") or row["dl85_objective"]]
    if table not in ("bounds", "iterations"):  # Rows of formulas, and rows where both searches end.
        assert comparison.data["row"].nunique() == len(printed)


def test_every_note_belongs_to_a_claim(runs):
    claims = {table: PAPER.tables[table](Results(FOLDER, runs)).data for table in PAPER.tables}
    for note in Results(FOLDER, runs).printed("notes.csv"):
        known = claims[note["table"]]
        assert note["row"] in {"", *known["row"]}
        assert note["claim"] in set(known["claim"])  # a row has some claims only once it has been run
        assert note["verdict"] in ("", *verdicts.MEANING)
        assert note["explanation"]


def test_missing_numbers_are_named(tmp_path, runs):
    with refused("table1.csv", "not a CSV table of printed numbers"):
        PAPER.tables["1"](Results(tmp_path, runs))
