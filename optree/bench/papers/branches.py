"""BRANCHES, arXiv 2406.02175: Tables 1, 2, 3 and 5, a claim per row.

Printed numbers and explanations are data, in ``resources/papers/branches``; ``verdicts.py`` judges the claims.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

import pandas as pd

from optree.bench.papers import verdicts, work_bounds
from optree.bench.papers.claims import judged
from optree.bench.papers.spec import Level, Paper, read
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


class Printed:
    """The rows of a file of printed numbers, each with the runs that reproduce it.

    Parameters
    ----------
    path : Path
        A CSV file with columns dataset, encodings and lambda.
    runs : pandas.DataFrame
        From :func:`comparable`.
    """

    def __init__(self, path: Path, runs: pd.DataFrame):
        self.rows, self._runs = read(path), runs

    def by_encoding(self, row: dict, any_lambda: bool = False) -> dict[str, pd.Series | None]:
        """Return the run of each encoding that a row may mean, None if it was not run."""
        found = {}
        for encoding in row["encodings"].split():
            same = self._runs["dataset"].eq(row["dataset"]) & self._runs["encoding"].eq(encoding)
            if not any_lambda:
                same &= self._runs["regularization"].map(Fraction).eq(Fraction(row["lambda"]))
            found[encoding] = self._runs[same].iloc[0] if same.any() else None
        return found

    def fitting(self, row: dict, printed: str) -> dict[str, pd.Series | None]:
        """Return the runs with the printed objective, if possible also with the printed number of features.

        If no run has the printed objective, all runs of the row are returned.
        """
        found = self.by_encoding(row)
        done = {encoding: run for encoding, run in found.items() if run is not None}
        fits = {e: run for e, run in done.items() if verdicts.agreement(printed, verdicts.objective_value(run))}
        same = {e: run for e, run in fits.items() if str(run["encoded_features"]) == row.get("q")}
        return same or fits or found


def comparable(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the paper's setting: ``branches`` on all rows, with a penalty per split and no depth limit."""
    same = runs["algorithm"].eq("branches") & runs["penalty"].eq("split") & runs["max_depth"].isna()
    return runs[same & runs["split"].eq(FULL)]


def _claims(row: dict, runs: dict, claim: str, paper: str, judge: Callable[[pd.Series], Finding]) -> list[dict]:
    """Return a claim about each run, by encoding. If a row may mean several encodings, one of them has to agree."""
    findings = {encoding: NOT_RUN if run is None else judge(run) for encoding, run in runs.items()}
    fits = [encoding for encoding, finding in findings.items() if finding.verdict in FITS]
    for encoding, finding in findings.items():
        if fits and finding.verdict not in (*FITS, "not run"):
            text = f"the printed value agrees with {', '.join(fits)}"
            findings[encoding] = finding._replace(verdict="other encoding", explanation=text)
    head = {"row": row["row"], "lambda": row["lambda"], "claim": claim, "paper": paper}
    return [{**head, "encoding": encoding, **finding._asdict()} for encoding, finding in findings.items()]


def table_1(folder: Path) -> list[dict]:
    """Return the claims of Table 1: the bounds, computed without runs."""
    claims = []
    for row in read(folder / "table1.csv"):
        q, lam = int(row["q"]), row["lambda"]
        head = {"row": f"lambda = {lam}, q = {q}", "lambda": lam, "encoding": ""}
        for claim, paper, value in (
            ("BRANCHES' bound", row["branches"], work_bounds.branches_bound(q, lam)),
            ("OSDT's bound", row["osdt"], work_bounds.osdt_bound(q, lam)),
        ):
            claims.append({**head, "claim": claim, "paper": paper, **verdicts.judge_bound(paper, value)._asdict()})
    return claims


def _search_claims(printed: Printed, row: dict, objective: str, time: str, iterations: str) -> list[dict]:
    """Return claims on the objective of every encoding, and on time and iterations of the encodings that agree."""
    judge = partial(verdicts.judge_objective, objective, time != TIMEOUT)
    claims = _claims(row, printed.by_encoding(row), "objective", objective, judge)
    done = {encoding: run for encoding, run in printed.fitting(row, objective).items() if run is not None}
    paper = "no" if time == TIMEOUT else f"yes, {time} s"
    for encoding, run in done.items():
        one = {encoding: run}
        claims += _claims(row, one, f"ends within {LIMIT_SECONDS} s", paper, partial(verdicts.judge_time, time))
        if time != TIMEOUT and run["status"] == "optimal":
            judge = partial(verdicts.judge_iterations, iterations)
            claims += _claims(row, one, "iterations, at most", iterations, judge)
    return claims


def table_2(folder: Path, runs: pd.DataFrame) -> list[dict]:
    """Return the claims of the BRANCHES columns of Table 2, which Table 3 repeats."""
    printed = Printed(folder / "tables_2_3_5.csv", runs)
    columns = ("branches_objective", "branches_time_s", "branches_iterations")
    return [c for row in printed.rows for c in _search_claims(printed, row, *(row[name] for name in columns))]


def program(folder: Path, runs: pd.DataFrame) -> list[dict]:
    """Return the claims on the results of the authors' program on its own files."""
    printed = Printed(folder / "authors_program.csv", runs)
    claims = []
    for row in printed.rows:
        time = row["seconds"] if float(row["seconds"]) < LIMIT_SECONDS else TIMEOUT
        claims += _search_claims(printed, row, row["objective"], time, row["iterations"])
    return claims


def table_3(folder: Path, runs: pd.DataFrame) -> list[dict]:
    """Return the claims of Table 3: no other solver's objective is better."""
    printed = Printed(folder / "tables_2_3_5.csv", runs)
    claims = []
    for row in printed.rows:
        for key, name in _PEERS.items():
            if paper := row[f"{key}_objective"]:
                found = printed.fitting(row, row["branches_objective"])
                claims += _claims(row, found, f"{name} is not better", paper, partial(verdicts.judge_peer, paper))
    return claims


def table_5(folder: Path, runs: pd.DataFrame) -> list[dict]:
    """Return the claims of Table 5: rows, features and classes of the encoded data."""
    printed = Printed(folder / "tables_2_3_5.csv", runs)
    claims = []
    for row in printed.rows:
        found = printed.by_encoding(row, any_lambda=True)
        one = dict([next((pair for pair in found.items() if pair[1] is not None), ("", None))])
        claims += _claims(row, one, "n", row["n"], lambda run, n=row["n"]: verdicts.judge_count(n, int(run["rows"])))
        claims += _claims(row, one, "K", row["K"], lambda run, k=row["K"]: verdicts.judge_count(k, int(run["classes"])))
        claims += _claims(row, found, "q", row["q"], partial(_judge_features, row["q"]))
    return claims


def _judge_features(printed: str, run: pd.Series) -> Finding:
    """Judge the number of features, with or without the constant ones, which the encoder leaves out."""
    finding, constant = verdicts.judge_count(printed, int(run["encoded_features"])), int(run["constant_features"])
    if constant and int(run["encoded_features"]) + constant == int(printed):
        return finding._replace(verdict="reproduced", explanation=f"{constant} of them constant, left out here")
    return finding


def _explain(claims: list[dict], notes: list[dict], table: str) -> None:
    """Add the explanations of the notes to the claims; a note's verdict replaces "not reproduced"."""
    for claim in claims:
        for note in notes:
            same = note["table"] == table and note["row"] == claim["row"] and note["claim"] == claim["claim"]
            if same and note["encoding"] in ("", claim["encoding"]) and claim["verdict"] != "not run":
                claim["explanation"] = "; ".join(filter(None, [claim["explanation"], note["explanation"]]))
                if note["verdict"] and claim["verdict"] == "not reproduced":
                    claim["verdict"] = note["verdict"]


_TABLES: dict[str, tuple[str, Callable]] = {
    "1": ("Table 1: bounds on the work of BRANCHES and OSDT", lambda folder, runs: table_1(folder)),
    "2": ("Table 2: objective, time and iterations of BRANCHES", table_2),
    "3": ("Table 3: DL8.5, MurTree and STreeD against the optimum", table_3),
    "5": ("Table 5: the data", table_5),
    "program": ("The authors' program on its own files", program),
}


def compare(table: str, folder: Path, runs: pd.DataFrame) -> Table:
    """Return a comparison with the paper.

    Parameters
    ----------
    table : str
        A key of ``PAPER.tables``.
    folder : Path
        The folder of printed numbers, ``resources/papers/branches``.
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`. Only those that :func:`comparable` selects count.
    """
    title, make = _TABLES[table]
    runs = comparable(runs)
    claims = make(folder, runs)
    _explain(claims, read(folder / "notes.csv"), table)
    measured = provenance(runs) if table != "1" and len(runs) else ()
    return judged(f"{PAPER.title}, {title}", pd.DataFrame(claims, columns=_COLUMNS), _TOLERANCES, measured)


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
    tables={name: partial(compare, name) for name in _TABLES},
    tolerances=_TOLERANCES,
)
