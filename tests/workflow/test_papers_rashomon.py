"""The notebooks of TreeFARMS, RESPLIT and PRAXIS: printed sizes of sets beside counted ones."""

from __future__ import annotations

import pandas as pd
import pytest
from support import ROOT

from optree.bench import papers
from optree.bench.papers import Results

FOLDER = ROOT / "resources" / "papers" / "rashomon"
PAPER = papers.get("rashomon")


def counted(algorithm: str, trees: str, cost: int = 30, status: str = "optimal") -> dict:
    """Return the columns of a run on the data of PRAXIS' notebook."""
    return {
        "dataset": "breast-cancer-boosted", "algorithm": algorithm, "split": "full", "max_depth": 7.0,
        "penalty": "leaf", "regularization": "3/569", "set_trees": trees, "cost": cost, "cost_of_error": 1,
        "rows_train": 569, "status": status,
    }  # fmt: skip


def test_a_count_is_that_of_the_exact_set(monkeypatch):
    """Not only at most: printed 1,422 trees are within 3 % of 1,424, and of no set much larger or smaller."""
    monkeypatch.setattr("optree.bench.papers.rashomon.paper.provenance", lambda runs: ())
    own = {"dataset": "compas-binned", "max_depth": float("nan"), "regularization": "0.01", "rows_train": 6907}
    expected = {"1424": "within 3 %", "1422": "reproduced", "1500": "not reproduced", "1300": "not reproduced"}
    for trees, verdict in expected.items():
        runs = pd.DataFrame([counted("rashomon-nontrivial", trees) | own])
        data = PAPER.tables["counts"](Results(FOLDER, runs)).data
        judged = data[data["row"].eq("TreeFARMS tutorial") & data["claim"].eq("trees, the exact count")]
        assert judged["verdict"].tolist() == [verdict]


def verdicts(monkeypatch, *runs: dict) -> list[str]:
    """Return the verdicts on the three claims about PRAXIS' notebook."""
    monkeypatch.setattr("optree.bench.papers.rashomon.paper.provenance", lambda runs: ())
    data = PAPER.tables["counts"](Results(FOLDER, pd.DataFrame(runs))).data
    assert set(data[data["row"].ne("PRAXIS notebook")]["verdict"]) == {"not run"}
    return data[data["row"].eq("PRAXIS notebook")]["verdict"].tolist()


@pytest.mark.parametrize(
    ("exact", "own", "expected"),
    [
        (counted("rashomon-31-rows", "6732"), "2188", ["reproduced (rounded)", "reproduced", "reproduced"]),
        (counted("rashomon-31-rows", "2187"), "2189", ["reproduced (rounded)", "not reproduced", "not reproduced"]),
        (counted("rashomon-31-rows", "6732", cost=29), None, ["not reproduced", "reproduced", "not run"]),
        (counted("rashomon-31-rows", "6732", status="time_limit"), None, ["undecided", "undecided", "not run"]),
        (counted("rashomon", "6732"), "2188", ["not run", "not run", "reproduced"]),
    ],
)
def test_a_set_is_at_least_as_large_as_printed(monkeypatch, exact, own, expected):
    runs = [exact] if own is None else [exact, counted("tree-praxis-default", own)]
    assert verdicts(monkeypatch, *runs) == expected


def test_claims_without_runs_are_not_run():
    table = PAPER.tables["counts"](Results(FOLDER, pd.DataFrame(columns=[*counted("", ""), "proof_verdict"])))
    assert set(table.data["verdict"]) == {"not run"}
    assert len(table.claims) == 7
