"""Table 6 of the DPDT paper: exact searches are judged by proofs only."""

from __future__ import annotations

import pandas as pd
import pytest
from support import ROOT

from optree.bench import papers
from optree.bench.papers import Results
from optree.bench.papers.verdicts import FAIL, PASS, SKIPPED, result
from optree.bench.tables.frame import frame

FOLDER = ROOT / "resources" / "papers" / "dpdt"
DATASET, ROWS = "hayes-roth-binary", 100
PROVEN, STOPPED, OUT_OF_MEMORY = "optimal", "time_limit", "memory_limit"


def searches(algorithm: str, statuses: list, errors: list, depth: int = 5) -> list[dict]:
    """Return runs of an algorithm on seeds 0, 1 and so on."""
    limits = {"limit_seconds": 10.0, "limit_memory_mib": 4096.0}
    run = {"dataset": DATASET, "algorithm": algorithm, "solver": algorithm, "max_depth": depth} | limits
    return [
        run | {"split": str(seed), "status": status, "errors_train": wrong, "reason": "",
               "accuracy_train": 1 - wrong / ROWS, "accuracy_test": 1 - wrong / ROWS}
        for seed, (status, wrong) in enumerate(zip(statuses, errors, strict=True))
    ]  # fmt: skip


def table(name: str, runs: list[dict]) -> pd.DataFrame:
    """Return the claims of a table that were run."""
    made = pd.DataFrame(runs).reindex(columns=frame([]).columns).astype({"errors_train": "Int64", "max_depth": "Int64"})
    data = papers.get("dpdt").tables[name](Results(FOLDER, made)).data
    return data[data["verdict"].ne("not run")]


CART = searches("cart", ["heuristic"] * 3, [6, 8, 7])


@pytest.mark.parametrize("algorithm", ["oct", "binoct", "murtree"])
@pytest.mark.parametrize("errors", [[6, 8, 2], [60, 80, 20]], ids=["better than printed", "worse"])
@pytest.mark.parametrize(
    ("statuses", "ends"),
    [
        ([STOPPED] * 3, "3 of 3 runs: time_limit of 10 s"),
        ([PROVEN, STOPPED, PROVEN], "1 of 3 runs: time_limit of 10 s"),
        ([STOPPED, OUT_OF_MEMORY, STOPPED], "2 of 3 runs: time_limit of 10 s; 1 of 3 runs: memory_limit of 4096 MiB"),
    ],
)
def test_a_search_at_its_limit_decides_nothing(algorithm, errors, statuses, ends):
    runs = searches(algorithm, statuses, errors)
    for cart, count in ((CART, 2 if errors[0] == 6 else 0), ([], None), (CART[:2], None)):
        found = table("6", runs + cart)
        found = found[found["model"].eq(algorithm)]
        equal = f"; {count} of 3 trees have the training errors of CART's tree on the same rows; "
        assert found["verdict"].map(result).tolist() == [SKIPPED] * 2
        assert found["explanation"].str.startswith(ends + (equal if cart == CART else "; the paper")).all()


@pytest.mark.parametrize(("errors", "decision"), [([6, 8, 2], PASS), ([60, 80, 20], FAIL)])
def test_proven_trees_are_judged_by_the_printed_mean(errors, decision):
    found = table("6", searches("oct", [PROVEN] * 3, errors) + searches("oct", [STOPPED], [6], depth=2) + CART)
    found = found[found["model"].eq("oct")]
    assert found["verdict"].map(result).tolist() == [decision] * 2
    assert not found["explanation"].str.contains("runs:").any()


@pytest.mark.parametrize(
    ("status", "errors", "verdict", "measured"),
    [
        (PROVEN, 20, "reproduced", "20 beside 20"),
        (PROVEN, 21, "not reproduced", "21 beside 20"),
        ("wrong_certificate", 21, "not reproduced", "21 beside 20"),
        (STOPPED, 20, "undecided", "20 beside 20"),
        (STOPPED, None, "undecided", "no tree beside 20"),
    ],
)
def test_a_proven_tree_of_flowoct_has_the_errors_of_our_optimum(status, errors, verdict, measured):
    flow = [searches("odtlearn", [status], [0], depth=2)[0] | {"errors_train": errors}]
    found = table("6-flow", flow + searches("murtree", [PROVEN], [20], depth=2))
    assert found[["row", "verdict", "measured"]].to_numpy().tolist() == [["hayes-roth, seed 0", verdict, measured]]
    if verdict == "undecided":
        assert found["explanation"].tolist() == ["odtlearn: time_limit of 10 s"]


def test_flowoct_is_compared_with_a_proof_only():
    runs = searches("odtlearn", [PROVEN], [20], depth=2)
    assert table("6-flow", runs).empty
    assert table("6-flow", runs + searches("murtree", [PROVEN], [4], depth=5)).empty
    assert table("6-flow", runs + searches("murtree", [STOPPED], [20], depth=2))["verdict"].tolist() == ["undecided"]
