"""TreeFARMS, RESPLIT and PRAXIS: the numbers of their notebooks, beside the exact sets and the programs' own counts.

The papers have figures and large tables that are not at hand; the notebooks print the size of a set and its least
objective (``resources/papers/rashomon``).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pandas as pd

from optree.bench.papers import verdicts
from optree.bench.papers.claims import judged
from optree.bench.papers.printed import claim
from optree.bench.papers.spec import Paper, Results
from optree.bench.runs.folds import FULL
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance

_EQUAL, _AT_MOST, _OWN = (
    "trees, the exact count",
    "trees, at most the exact count",
    "trees, counted by the program itself",
)
_TOLERANCES = {_EQUAL: "3 %, for sets computed in single precision", _AT_MOST: "no more", _OWN: "none"}


def _find(row: dict, algorithm: str, runs: pd.DataFrame) -> pd.Series | None:
    """Return the run of an algorithm in the setting of a printed row, None if it was not run."""
    depth = runs["max_depth"].isna() if row["max_depth"] == "none" else runs["max_depth"].eq(float(row["max_depth"]))
    same = runs["dataset"].eq(row["dataset"]) & runs["algorithm"].eq(algorithm) & runs["split"].eq(FULL) & depth
    same &= runs["penalty"].eq("leaf") & runs["regularization"].map(Fraction).eq(Fraction(row["lambda"]))
    return runs[same].iloc[0] if same.any() else None


def _judge_loss(printed: str, run: pd.Series) -> verdicts.Finding:
    """Judge a printed least objective, which is a loss here: errors plus penalties as a share of all rows."""
    loss = 1 - verdicts.objective_value(run)
    verdict = verdicts.agreement(printed, loss) or "not reproduced"
    return verdicts.Finding(f"{float(loss):.7f}", "", verdict if run["status"] == "optimal" else "undecided")


def _judge_trees(claimed: str, trees: int, run: pd.Series) -> verdicts.Finding:
    """Judge a claim about a printed number of trees."""
    count = int(run["set_trees"])
    verdict = verdicts.reproduced(trees <= count if claimed == _AT_MOST else trees == count)
    if claimed == _EQUAL and trees != count and abs(trees - count) <= 0.03 * trees:
        verdict = "within 3 %"
    difference = f"{count / trees - 1:+.2%}" if claimed == _EQUAL and trees != count else ""
    return verdicts.Finding(f"{count:,}", difference, verdict if run["status"] == "optimal" else "undecided")


def _claims(row: dict, runs: pd.DataFrame) -> Iterator[tuple[str, str, verdicts.Finding]]:
    """Yield claim, printed value and finding for the numbers of a row."""
    run, trees = _find(row, row["exact"], runs), int(row["trees"])
    counted = run is not None and isinstance(run["set_trees"], str)
    yield "least objective", row["loss"], _judge_loss(row["loss"], run) if counted else verdicts.NOT_RUN
    claims = {row["exact"]: _EQUAL if row["claim"] == "equal" else _AT_MOST, row["program"]: _OWN}
    for algorithm, claimed in claims.items():
        if algorithm:
            run = _find(row, algorithm, runs)
            counted = run is not None and isinstance(run["set_trees"], str)
            yield claimed, f"{trees:,}", _judge_trees(claimed, trees, run) if counted else verdicts.NOT_RUN


def counts(results: Results) -> Table:
    """Return the claims of the notebooks: the size of a set, and its least objective."""
    claims = []
    for row in results.printed("notebooks.csv"):
        head = {"row": row["row"], "dataset": row["dataset"], "lambda": row["lambda"], "max_depth": row["max_depth"]}
        claims += [claim(head, *one) for one in _claims(row, results.searches)]
    title = "Sizes of Rashomon sets in the notebooks of TreeFARMS, RESPLIT and PRAXIS"
    subject = ["row", "dataset", "lambda", "max_depth"]
    return judged(title, subject, claims, _TOLERANCES, provenance(results.searches))


PAPER = Paper(
    name="rashomon",
    title="Rashomon sets: TreeFARMS (NeurIPS 2022), RESPLIT (ICML 2025), PRAXIS (ICML 2026)",
    tables={"counts": counts},
    tolerances=_TOLERANCES,
)
