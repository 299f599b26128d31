"""BRANCHES, arXiv 2406.02175: Tables 1, 2, 3 and 5, its other bounds, and Figures 4 to 8, a claim per row.

The published version (PMLR 267) adds figures of ten folds: ``folds.py``.

Printed numbers and explanations are data, in ``resources/papers/branches``; ``verdicts.py`` judges the claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial

import pandas as pd

from optree.bench.papers import verdicts
from optree.bench.papers.branches import bounds, depth_six, folds, sweeps, work_bounds
from optree.bench.papers.claims import judged
from optree.bench.papers.printed import by_encoding, claim, fitting
from optree.bench.papers.spec import Paper, Results
from optree.bench.papers.verdicts import AGREES, LIMIT_SECONDS, NOT_RUN, TIMEOUT, Finding
from optree.bench.runs.folds import FULL
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance

_PEERS = {"dl85": "DL8.5", "murtree": "MurTree", "streed": "STreeD"}
_TOLERANCES = {
    f"ends within {LIMIT_SECONDS} s": f"{LIMIT_SECONDS} s",
    "iterations, at most": "no more",
    **{f"{name} is not better": "none: exact" for name in _PEERS.values()},
    **dict.fromkeys(("n", "q", "K", depth_six.WHOLE), "none: exact"),
    bounds.PROOF: "no more",
    bounds.OPTIMUM: "no more",
    bounds.TIGHTER: "no more",
    bounds.ONE_HOT: "none: exact",
    **dict.fromkeys(map(sweeps.FEWER.format, sweeps.GOSDT), "fewer"),
    **dict.fromkeys(map(sweeps.TEN.format, sweeps.GOSDT), f"a factor of {sweeps.ORDER:.3g}"),
}


def comparable(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the paper's setting: ``branches`` on all rows, with a penalty per split and no depth limit."""
    same = runs["algorithm"].eq("branches") & runs["penalty"].eq("split") & runs["max_depth"].isna()
    return runs[same & runs["split"].eq(FULL)]


def _claims(row: dict, runs: Mapping, name: str, paper: str, judge: Callable[[pd.Series], Finding]) -> Iterator[dict]:
    """Yield a claim about each run, by encoding. If a row may mean several encodings, one of them has to agree."""
    findings = {encoding: NOT_RUN if run is None else judge(run) for encoding, run in runs.items()}
    fits = [encoding for encoding, finding in findings.items() if finding.verdict in AGREES]
    for encoding, finding in findings.items():
        if fits and finding.verdict not in (*AGREES, "not run"):
            text = f"the printed value agrees with {', '.join(fits)}"
            finding = finding._replace(verdict="other encoding", explanation=text)
        yield claim({"row": row["row"], "lambda": row["lambda"], "encoding": encoding}, name, paper, finding)


def table_1(results: Results) -> Iterator[dict]:
    """Yield the claims of Table 1: the bounds, computed without runs."""
    for row in results.printed("table1.csv"):
        q, lam = int(row["q"]), row["lambda"]
        head = {"row": f"lambda = {lam}, q = {q}", "lambda": lam, "encoding": ""}
        branches = _judge_bound(row["branches"], work_bounds.branches_bound(q, lam))
        yield claim(head, "BRANCHES' bound", row["branches"], branches)
        yield claim(head, "OSDT's bound", row["osdt"], _judge_bound(row["osdt"], work_bounds.osdt_bound(q, lam)))


def _judge_bound(printed: str, value: int) -> Finding:
    """Judge whether a huge integer has the printed digits.

    ``INF`` is the paper's word for an overflow; a ``?`` in an exponent (``5.69e?76``) is an illegible digit.
    """
    measured, power = work_bounds.scientific(value), work_bounds.exponent(value)
    if printed == "INF":
        return Finding(measured, "", "recomputed", "the paper prints no number")
    digits, _, printed_power = printed.partition("e")
    legible = printed_power.lstrip("?")
    if legible != printed_power:
        fits = verdicts.agreement(digits, Fraction(value, 10**power)) and str(power).endswith(legible)
        return Finding(measured, "", "agrees as far as legible" if fits else "not reproduced")
    difference = f"{float(value / Fraction(printed) - 1):+.2%}"
    return Finding(measured, difference, "recomputed" if verdicts.agreement(printed, value) else "not reproduced")


def _search_claims(row: dict, runs: pd.DataFrame, objective: str, time: str, iterations: str) -> Iterator[dict]:
    """Yield claims on the objective of every encoding, and on time and iterations of the encodings that agree."""
    judge = partial(verdicts.judge_objective, objective, time != TIMEOUT)
    yield from _claims(row, by_encoding(row, runs), "objective", objective, judge)
    paper = "no" if time == TIMEOUT else f"yes, {time} s"
    for encoding, run in fitting(row, runs, objective).items():
        if run is None:
            continue
        one = {encoding: run}
        yield from _claims(row, one, f"ends within {LIMIT_SECONDS} s", paper, partial(verdicts.judge_time, time))
        if time != TIMEOUT and run["status"] == "optimal":
            judge = partial(verdicts.judge_iterations, iterations)
            yield from _claims(row, one, "iterations, at most", iterations, judge)


def table_2(results: Results) -> Iterator[dict]:
    """Yield the claims of the BRANCHES columns of Table 2, which Table 3 repeats."""
    runs, columns = comparable(results.searches), ("branches_objective", "branches_time_s", "branches_iterations")
    for row in results.printed("tables_2_3_5.csv"):
        yield from _search_claims(row, runs, *(row[name] for name in columns))


def program(results: Results) -> Iterator[dict]:
    """Yield the claims on the results of the authors' program on its own files."""
    runs = comparable(results.searches)
    for row in results.printed("authors_program.csv"):
        time = row["seconds"] if float(row["seconds"]) < LIMIT_SECONDS else TIMEOUT
        yield from _search_claims(row, runs, row["objective"], time, row["iterations"])


def table_3(results: Results) -> Iterator[dict]:
    """Yield the claims of Table 3: no other solver's objective is better."""
    runs = comparable(results.searches)
    for row in results.printed("tables_2_3_5.csv"):
        found = fitting(row, runs, row["branches_objective"])
        for key, name in _PEERS.items():
            if paper := row[f"{key}_objective"]:
                yield from _claims(row, found, f"{name} is not better", paper, partial(verdicts.judge_peer, paper))


def table_5(results: Results) -> Iterator[dict]:
    """Yield the claims of Table 5: rows, features and classes of the encoded data."""
    runs = comparable(results.searches)
    for row in results.printed("tables_2_3_5.csv"):
        found = by_encoding(row, runs, any_lambda=True)
        one = dict([next((pair for pair in found.items() if pair[1] is not None), ("", None))])
        for name, column in (("n", "rows"), ("K", "classes")):
            yield from _claims(row, one, name, row[name], partial(_judge_fact, row[name], column))
        yield from _claims(row, found, "q", row["q"], partial(_judge_features, row["q"]))


def _judge_fact(printed: str, column: str, run: pd.Series) -> Finding:
    """Judge the number of rows or classes."""
    return verdicts.judge_count(printed, int(run[column]))


def _judge_features(printed: str, run: pd.Series) -> Finding:
    """Judge the number of features, with or without the constant ones, which the encoder leaves out."""
    finding, constant = _judge_fact(printed, "encoded_features", run), int(run["constant_features"])
    if constant and int(run["encoded_features"]) + constant == int(printed):
        return finding._replace(verdict="same data", explanation=f"{constant} of them constant, left out here")
    return finding


_TABLES = {
    "1": ("Table 1: bounds on the work of BRANCHES and OSDT", table_1),
    "2": ("Table 2: objective, time and iterations of BRANCHES", table_2),
    "3": ("Table 3: DL8.5, MurTree and STreeD against the optimum", table_3),
    "5": ("Table 5: the data", table_5),
    "program": ("The authors' program on its own files", program),
    "3-run": (
        f"Table 3, run: DL8.5, MurTree and STreeD at depth {depth_six.DEPTH} and {depth_six.NODES} nodes",
        lambda results: depth_six.rows(results, comparable(results.searches)),
    ),
    "iterations": (
        "Section 5: iterations of GOSDT and of BRANCHES",
        lambda results: sweeps.rows(results, comparable(results.searches)),
    ),
    "bounds": (
        "Theorems 4.4, B.1 and C.3, and Corollary C.4",
        lambda results: bounds.rows(results, comparable(results.searches)),
    ),
}


def _compare(table: str, results: Results) -> Table:
    """Return a table of claims, with explanations and provenance."""
    title, make = _TABLES[table]
    rows, subject = list(make(results)), ["row", "lambda", "encoding"]
    measured = provenance(depth_six.runs_of(results.searches) if table == "3-run" else comparable(results.searches))
    measured = measured if table != "1" else ()
    return judged(f"{PAPER.title}, {title}", subject, rows, _TOLERANCES, measured, results.explanations(table))


PAPER = Paper(
    name="branches",
    title="BRANCHES (arXiv 2406.02175)",
    tables={name: partial(_compare, name) for name in _TABLES},
    tolerances=_TOLERANCES,
    figures={
        "4": bounds.figure_4,
        "5": sweeps.figure_5,
        "6": sweeps.figure_6,
        "7": sweeps.figure_7,
        "8": sweeps.figure_8,
        "folds": folds.figure,
    },
)
