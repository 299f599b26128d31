"""BRANCHES, arXiv 2406.02175: Tables 1, 2, 3 and 5, a claim per row.

Printed numbers and explanations are data, in ``resources/papers/branches``; ``verdicts.py`` judges the claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

import pandas as pd

from optree.bench.papers import verdicts
from optree.bench.papers.branches import work_bounds
from optree.bench.papers.claims import explain, judged
from optree.bench.papers.printed import by_encoding, fitting
from optree.bench.papers.spec import Level, Paper, Results
from optree.bench.papers.verdicts import FITS, LIMIT_SECONDS, NOT_RUN, TIMEOUT, Finding
from optree.bench.runs.folds import FULL
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance

_PEERS = {"dl85": "DL8.5", "murtree": "MurTree", "streed": "STreeD"}
_TOLERANCES = {
    f"ends within {LIMIT_SECONDS} s": f"{LIMIT_SECONDS} s",
    "iterations, at most": "no more",
    **{f"{name} is not better": "none: exact" for name in _PEERS.values()},
    **dict.fromkeys(("n", "q", "K"), "none: exact"),
}
_COLUMNS = ["row", "lambda", "encoding", "claim", "paper", "measured", "difference", "verdict", "explanation"]


def comparable(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the paper's setting: ``branches`` on all rows, with a penalty per split and no depth limit."""
    same = runs["algorithm"].eq("branches") & runs["penalty"].eq("split") & runs["max_depth"].isna()
    return runs[same & runs["split"].eq(FULL)]


def _claims(row: dict, runs: Mapping, claim: str, paper: str, judge: Callable[[pd.Series], Finding]) -> list[dict]:
    """Return a claim about each run, by encoding. If a row may mean several encodings, one of them has to agree."""
    findings = {encoding: NOT_RUN if run is None else judge(run) for encoding, run in runs.items()}
    fits = [encoding for encoding, finding in findings.items() if finding.verdict in FITS]
    for encoding, finding in findings.items():
        if fits and finding.verdict not in (*FITS, "not run"):
            text = f"the printed value agrees with {', '.join(fits)}"
            findings[encoding] = finding._replace(verdict="other encoding", explanation=text)
    head = {"row": row["row"], "lambda": row["lambda"], "claim": claim, "paper": paper}
    return [{**head, "encoding": encoding, **finding._asdict()} for encoding, finding in findings.items()]


def table_1(results: Results) -> list[dict]:
    """Return the claims of Table 1: the bounds, computed without runs."""
    claims = []
    for row in results.printed("table1.csv"):
        q, lam = int(row["q"]), row["lambda"]
        head = {"row": f"lambda = {lam}, q = {q}", "lambda": lam, "encoding": ""}
        for claim, paper, value in (
            ("BRANCHES' bound", row["branches"], work_bounds.branches_bound(q, lam)),
            ("OSDT's bound", row["osdt"], work_bounds.osdt_bound(q, lam)),
        ):
            claims.append({**head, "claim": claim, "paper": paper, **_judge_bound(paper, value)._asdict()})
    return claims


def _judge_bound(printed: str, value: int) -> Finding:
    """Judge whether a huge integer has the printed digits.

    ``INF`` is the paper's word for an overflow; a ``?`` in an exponent (``5.69e?76``) is an illegible digit.
    """
    measured, power = work_bounds.scientific(value), work_bounds.exponent(value)
    if printed == "INF":
        return Finding(measured, "", "better than printed")
    digits, _, printed_power = printed.partition("e")
    legible = printed_power.lstrip("?")
    if legible != printed_power:
        fits = verdicts.agreement(digits, Fraction(value, 10**power)) and str(power).endswith(legible)
        return Finding(measured, "", "reproduced (as far as legible)" if fits else "not reproduced")
    difference = f"{float(value / Fraction(printed) - 1):+.2%}"
    return Finding(measured, difference, verdicts.agreement(printed, value) or "not reproduced")


def _search_claims(row: dict, runs: pd.DataFrame, objective: str, time: str, iterations: str) -> list[dict]:
    """Return claims on the objective of every encoding, and on time and iterations of the encodings that agree."""
    judge = partial(verdicts.judge_objective, objective, time != TIMEOUT)
    claims = _claims(row, by_encoding(row, runs), "objective", objective, judge)
    paper = "no" if time == TIMEOUT else f"yes, {time} s"
    for encoding, run in fitting(row, runs, objective).items():
        if run is None:
            continue
        one = {encoding: run}
        claims += _claims(row, one, f"ends within {LIMIT_SECONDS} s", paper, partial(verdicts.judge_time, time))
        if time != TIMEOUT and run["status"] == "optimal":
            judge = partial(verdicts.judge_iterations, iterations)
            claims += _claims(row, one, "iterations, at most", iterations, judge)
    return claims


def table_2(results: Results) -> list[dict]:
    """Return the claims of the BRANCHES columns of Table 2, which Table 3 repeats."""
    runs, columns = comparable(results.runs), ("branches_objective", "branches_time_s", "branches_iterations")
    rows = results.printed("tables_2_3_5.csv")
    return [claim for row in rows for claim in _search_claims(row, runs, *(row[name] for name in columns))]


def program(results: Results) -> list[dict]:
    """Return the claims on the results of the authors' program on its own files."""
    runs, claims = comparable(results.runs), []
    for row in results.printed("authors_program.csv"):
        time = row["seconds"] if float(row["seconds"]) < LIMIT_SECONDS else TIMEOUT
        claims += _search_claims(row, runs, row["objective"], time, row["iterations"])
    return claims


def table_3(results: Results) -> list[dict]:
    """Return the claims of Table 3: no other solver's objective is better."""
    runs, claims = comparable(results.runs), []
    for row in results.printed("tables_2_3_5.csv"):
        for key, name in _PEERS.items():
            if paper := row[f"{key}_objective"]:
                found = fitting(row, runs, row["branches_objective"])
                claims += _claims(row, found, f"{name} is not better", paper, partial(verdicts.judge_peer, paper))
    return claims


def table_5(results: Results) -> list[dict]:
    """Return the claims of Table 5: rows, features and classes of the encoded data."""
    runs, claims = comparable(results.runs), []
    for row in results.printed("tables_2_3_5.csv"):
        found = by_encoding(row, runs, any_lambda=True)
        one = dict([next((pair for pair in found.items() if pair[1] is not None), ("", None))])
        for claim, column in (("n", "rows"), ("K", "classes")):
            claims += _claims(row, one, claim, row[claim], partial(_judge_fact, row[claim], column))
        claims += _claims(row, found, "q", row["q"], partial(_judge_features, row["q"]))
    return claims


def _judge_fact(printed: str, column: str, run: pd.Series) -> Finding:
    """Judge the number of rows or classes."""
    return verdicts.judge_count(printed, int(run[column]))


def _judge_features(printed: str, run: pd.Series) -> Finding:
    """Judge the number of features, with or without the constant ones, which the encoder leaves out."""
    finding, constant = _judge_fact(printed, "encoded_features", run), int(run["constant_features"])
    if constant and int(run["encoded_features"]) + constant == int(printed):
        return finding._replace(verdict="reproduced", explanation=f"{constant} of them constant, left out here")
    return finding


_TABLES: dict[str, tuple[str, Callable[[Results], list[dict]]]] = {
    "1": ("Table 1: bounds on the work of BRANCHES and OSDT", table_1),
    "2": ("Table 2: objective, time and iterations of BRANCHES", table_2),
    "3": ("Table 3: DL8.5, MurTree and STreeD against the optimum", table_3),
    "5": ("Table 5: the data", table_5),
    "program": ("The authors' program on its own files", program),
}


def _compare(table: str, results: Results) -> Table:
    """Return a table of claims, with explanations and provenance."""
    title, make = _TABLES[table]
    data = pd.DataFrame(make(results), columns=_COLUMNS)
    explain(data, (note for note in results.printed("notes.csv") if note["table"] == table))
    measured = provenance(comparable(results.runs)) if table != "1" else ()
    return judged(f"{PAPER.title}, {title}", data, _TOLERANCES, measured)


_FULL = Level(
    ("branches.yaml",), "a mirror with the monks' training sets; the rest from OpenML", "6 minutes, two cores"
)
PAPER = Paper(
    name="branches",
    title="BRANCHES (arXiv 2406.02175)",
    levels={
        "smoke": Level(("branches-smoke.yaml",), "nothing", "a minute and a half, one core of two, beside other work"),
        "short": _FULL,
        "full": _FULL,
    },
    tables={name: partial(_compare, name) for name in _TABLES},
    tolerances=_TOLERANCES,
)
