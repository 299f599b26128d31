"""Claims of papers: results, known failures, and required claims."""

from __future__ import annotations

import pandas as pd
import pytest
from support import ROOT
from support.refusal import refused
from support.runs import run

from optree.bench import papers
from optree.bench.papers import Results, claims, verdicts
from optree.bench.papers.murtree import ratios
from optree.bench.papers.murtree.ratios import Interval, Ratio, Setting
from optree.bench.papers.spec import LEVELS
from optree.bench.papers.verdicts import CONSISTENT, FAIL, KNOWN, MISSING, PASS, SKIPPED
from optree.bench.tables.frame import frame

PRINTED = ROOT / "resources" / "papers"
PAPER = papers.get("branches")
WAITING = "not run by this configuration, or on too few datasets"


@pytest.fixture(scope="module")
def table():
    runs = frame([run("tic-tac-toe", "ordinal", "0.005"), run("balance-scale-576", "ordinal", "0.01")])
    return claims.claims(PAPER, Results(PRINTED / "branches", runs))


def results(table) -> dict[str, str]:
    """Return the result of each claim of Table 2."""
    rows = table.data[table.data["table"].eq("2")]
    return dict(zip(rows["claim"], rows["result"], strict=True))


def test_claims_pass_or_fail_and_contradictions_of_the_paper_are_known(table):
    found = results(table)
    assert found["tic-tac-toe-o, lambda = 0.005, ordinal: objective"] == KNOWN
    assert found["tic-tac-toe-o, lambda = 0.005, ordinal: ends within 300 s"] == PASS
    assert found["tic-tac-toe-o, lambda = 0.005, ordinal: iterations, at most"] == PASS
    assert list(table.data.columns) == claims.COLUMNS
    assert table.data["why"][table.data["result"].ne(PASS)].ne("").all()
    assert table.data["tolerance"][table.data["result"].isin((PASS, FAIL, KNOWN))].ne("").all()


def test_no_claim_is_lost(table):
    made = [
        PAPER.tables[name](Results(PRINTED / "branches", frame([run("tic-tac-toe", "ordinal", "0.005")]))).claims
        for name in "23"
    ]
    assert all(len(own) for own in made)
    total = int(table.result.split()[0])
    waiting = table.data["claim"].str.extract(r"^(\d+) further claims$")[0].dropna().astype(int).sum()
    assert total == len(table.data[table.data["why"].ne(WAITING)]) + waiting
    assert f"{int((table.data['result'] == PASS).sum())} {PASS}" in table.result
    skipped = (table.data["why"].ne(WAITING) & table.data["result"].eq(SKIPPED)).sum()
    assert table.result.endswith(f"{skipped} {SKIPPED}, {waiting} {MISSING}.")


def test_a_worse_value_fails(monkeypatch, table):
    monkeypatch.setattr(verdicts, "agreement", lambda printed, value: None)
    runs = frame([run("balance-scale-576", "ordinal", "0.01")])
    worse = claims.claims(PAPER, Results(PRINTED / "branches", runs))
    assert FAIL in set(worse.data["result"])
    failing = set(worse.data.loc[worse.data["result"].eq(FAIL), "table"])
    with refused("claims.csv", "required claims fail", f"table {min(failing)}"):
        claims.check(worse.data, list(PAPER.tables), "claims.csv")
    claims.check(worse.data, sorted({"1", "5"} - failing), "claims.csv")
    claims.check(worse.data, [], "claims.csv")
    claims.check(table.data, ["1", "2", "5"], "claims.csv")  # Known failures do not count.


def test_a_required_table_without_a_decided_claim_is_no_success(table):
    with refused("claims.csv", "no run decides", "iterations", "required_claims"):
        claims.check(table.data, ["2", "iterations"], "claims.csv")
    skipped = table.data.assign(result=SKIPPED)
    with refused("claims.csv", "tables 2, 5;"):
        claims.check(skipped, ["2", "5"], "claims.csv")


@pytest.mark.parametrize(
    ("proof", "objective", "peer"),
    [
        (None, PASS, CONSISTENT),  # the configuration asks for no proofs
        ("optimal", PASS, CONSISTENT),
        ("within", SKIPPED, SKIPPED),
        ("none", SKIPPED, SKIPPED),
        ("refused", SKIPPED, SKIPPED),
    ],
)
def test_a_claim_of_an_optimum_needs_a_checked_proof_where_the_configuration_proves(proof, objective, peer):
    runs = frame([run("balance-scale-576", "onehot-drop-first", "0.01")])
    one = runs.assign(proof_verdict=proof, proof_statement="why").iloc[0]
    printed = f"{float(verdicts.objective_value(one)):.3f}"
    found = verdicts.judge_objective(printed, True, one), verdicts.judge_peer(printed, one)
    assert tuple(verdicts.result(finding.verdict) for finding in found) == (objective, peer)
    if objective == SKIPPED:
        assert {finding.explanation for finding in found} == {"no checked proof of an optimum: why"}
    assert verdicts.judge_objective(printed, False, one).verdict in verdicts.FITS  # printed after a limit


def test_the_result_of_every_verdict():
    assert {verdicts.result(name) for name in verdicts.MEANING} == {PASS, CONSISTENT, FAIL, KNOWN, SKIPPED, MISSING}
    assert verdicts.result("not reproduced") == FAIL
    assert verdicts.result("undecided") == SKIPPED
    assert all(verdicts.result(name) == PASS for name in verdicts.FITS)


def pair(printed: float, measured: float) -> dict:
    return {"paper": Interval(printed, printed, printed), "measured": Interval(measured, measured, measured)}


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        ([pair(2, 3), pair(4, 1.5)], "same side of 1"),
        ([pair(2, 0.5)], "other side of 1"),
        ([pair(0.5, 0.8)], "same side of 1"),
        ([pair(2, 1.05)], "undecided"),
        ([pair(1.05, 3)], "undecided"),
        ([{"paper": Interval(600, float("inf")), "measured": Interval(2, 2, 2)}], "not run"),
    ],
)
def test_a_ratio_has_to_be_on_the_printed_side_of_one(pairs, verdict):
    ratio = Ratio("a / b", Setting("a", "a_s", "x", "binary"), Setting("b", "b_s", "y", "binary"))
    assert ratios._claim(ratio, pairs)["verdict"] == verdict


@pytest.mark.parametrize("name", papers.names())
def test_every_paper_has_every_level_and_its_configurations(name):
    paper = papers.get(name)
    assert list(paper.levels) == list(LEVELS)
    for level in paper.levels.values():
        assert all((ROOT / "config" / study.config).is_file() for study in level.studies)


def test_required_tables_are_named():
    assert papers.required({"paper": "branches", "required_claims": "all"}) == list(PAPER.tables)
    assert papers.required({"paper": "branches", "required_claims": ["2"]}) == ["2"]
    assert papers.required({"paper": "branches", "required_claims": None}) == []
    with refused("config: required_claims", "'9'", "program"):
        papers.required({"paper": "branches", "required_claims": ["9"]})
    with refused("required_claims", "without a paper"):
        papers.required({"paper": None, "required_claims": "all"})


def test_claims_of_nothing_are_not_run():
    runs = frame([run("iris", "onehot-drop-first", "0.05")])
    for name in ("murtree", "dpdt"):
        found = claims.claims(papers.get(name), Results(PRINTED / name, runs))
        assert set(found.data["result"]) == {MISSING}
        assert isinstance(found.data, pd.DataFrame)


def test_a_number_that_cannot_be_read_is_no_success(table):
    illegible = table.data[table.data["paper"].str.contains("?", regex=False)]
    assert list(illegible["result"]) == [SKIPPED] * 3
    assert illegible["why"].eq("agrees as far as legible").all()


@pytest.mark.parametrize(("limits", "result"), [({}, CONSISTENT), ({"iterations": 2000}, SKIPPED)])
def test_a_printed_number_of_a_solver_that_was_not_run_is_consistent_and_only_beside_a_proof(limits, result):
    runs = frame([run("tic-tac-toe", "onehot-drop-first", "0.005", limits=limits)])
    found = claims.claims(PAPER, Results(PRINTED / "branches", runs)).data
    of_peers = found[found["claim"].str.contains("is not better")]
    assert set(of_peers["result"]) == {result}
    assert len(of_peers) == 3


def test_formulas_and_the_size_of_the_data_are_no_results_of_runs(table):
    results = table.data.groupby("table")["result"].agg(set)
    assert results["1"] <= {CONSISTENT, SKIPPED}
    assert PASS not in results["5"]
    assert CONSISTENT in results["5"]
    answered = claims.answer(table.data, ["1"])
    assert answered.startswith("decided by runs: 0 of ")
    assert "consistent with the paper without a run" in answered
