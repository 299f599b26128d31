"""DL8.5, MurTree and STreeD in the setting of Table 3 of BRANCHES: depth 6 and at most 40 inner nodes.

DL8.5 and MurTree minimise errors; the table prints the regularised objective of their trees. STreeD maximises the
regularised objective. STreeD 1.4.0 refuses a limit on nodes beside lambda. Its runs have the limit on depth alone. The
engine ``optree`` proves the optimum with both limits. A run of either, with a tree of at most 40 nodes, tells
whether STreeD's printed value is the optimum of its own problem. A run of ``optree`` is no run of STreeD: a claim that
agrees with this run is consistent, and not reproduced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import pandas as pd

from optree.bench.papers import verdicts
from optree.bench.papers.printed import by_encoding, claim
from optree.bench.papers.spec import Results
from optree.bench.papers.verdicts import NOT_RUN, Finding
from optree.bench.runs.folds import FULL
from optree.words import count

DEPTH, NODES = 6, 40
# Column of the printed objective -> the algorithms that stand for it, with limits on splits or without, if lambda is 0.
_ERRORS = {"dl85": ("pydl85", "dl85"), "murtree": ("murtree",)}
_STAND_IN = "optree"
_SPARSE = ("pystreed", _STAND_IN)
TITLES = {"dl85": "DL8.5", "murtree": "MurTree", "streed": "STreeD"}
WHOLE = "STreeD is suboptimal even when it ends"


def runs_of(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs at depth 6 on all rows with a penalty per split."""
    return runs[runs["max_depth"].eq(DEPTH) & runs["split"].eq(FULL) & runs["penalty"].eq("split")]


def rows(results: Results, whole: pd.DataFrame) -> Iterator[dict]:
    """Yield the claims about each printed objective; ``whole`` are the runs of ``branches``, with any depth."""
    deep = runs_of(results.searches)
    for row in results.printed("tables_2_3_5.csv"):
        for key, names in _ERRORS.items():
            if printed := row[f"{key}_objective"]:
                for name in names:
                    found = by_encoding(row | {"lambda": "0"}, deep[deep["algorithm"].eq(name)])
                    yield from _claims(row, found, TITLES[key], name, printed, _fewest_errors)
        if printed := row["streed_objective"]:
            for name in _SPARSE:
                found = by_encoding(row, deep[deep["algorithm"].eq(name)])
                yield from _claims(row, found, TITLES["streed"], name, printed, _sparse)
            yield from _whole(row, deep, by_encoding(row, whole))


def _claims(row: dict, found: Mapping, peer: str, name: str, printed: str, judge) -> Iterator[dict]:
    """Yield a claim about each encoding that was run, or one that is not run; an encoding that agrees decides.

    An encoding that reaches more than the printed value decides about the encodings that do not reach it.
    """
    title = f"{peer}, run: {name}"
    ran = {encoding: judge(row, printed, run) for encoding, run in found.items() if run is not None}
    ran = {encoding: finding for encoding, finding in ran.items() if finding != NOT_RUN}
    fits = [encoding for encoding, finding in ran.items() if finding.verdict in verdicts.FITS]
    reach = [encoding for encoding, finding in ran.items() if finding.verdict == "better than printed"]
    for encoding, finding in (ran or {"": NOT_RUN}).items():
        if fits and encoding not in fits:
            text = f"the printed value agrees with {', '.join(fits)}"
            finding = finding._replace(verdict="other encoding", explanation=text)
        elif reach and verdicts.result(finding.verdict) == verdicts.FAIL:
            text = f"{finding.explanation}; the printed value is in reach of {', '.join(reach)}"
            finding = finding._replace(verdict="other encoding", explanation=text)
        yield claim({"row": row["row"], "lambda": row["lambda"], "encoding": encoding}, title, printed,
                    _of_solver(name, finding))  # fmt: skip


def _of_solver(name: str, finding: Finding) -> Finding:
    """Return the finding of a run, which reproduces nothing if the run is the stand-in's."""
    passes = name == _STAND_IN and verdicts.result(finding.verdict) == verdicts.PASS
    return finding._replace(verdict="consistent with the optimum") if passes else finding


def _penalised(row: dict, run: pd.Series) -> Fraction:
    """Return the objective of a run's tree at the lambda of a row."""
    return 1 - Fraction(int(run["errors_train"]), int(run["rows_train"])) - Fraction(row["lambda"]) * int(run["splits"])


def _finding(printed: str, value: Fraction, verdict: str, why: str) -> Finding:
    return Finding(f"{float(value):.5f}", f"{float(value - Fraction(printed)):+.5f}", verdict, why)


def _fewest_errors(row: dict, printed: str, run: pd.Series) -> Finding:
    """Judge the printed objective of a tree of fewest errors: trees of equal errors differ in splits."""
    if pd.isna(run["errors_train"]):
        return NOT_RUN
    value = _penalised(row, run)
    if fit := verdicts.agreement(printed, value):
        return _finding(printed, value, fit, "")
    if run["status"] != "optimal":
        return _finding(printed, value, "undecided", run["status"])
    right = 1 - Fraction(int(run["errors_train"]), int(run["rows_train"]))
    if Fraction(printed) - verdicts.unit(printed) / 2 > right:
        return _finding(
            printed, value, "not reproduced", "the printed objective is above the best accuracy of this depth"
        )
    return _finding(
        printed, value, "other data", f"{run['errors_train']} errors, proven; trees of equal errors differ in splits"
    )


def _sparse(row: dict, printed: str, run: pd.Series) -> Finding:
    """Judge the printed objective of STreeD by a proven optimum over the trees of depth 6."""
    if pd.isna(run["errors_train"]):
        return NOT_RUN
    value = _penalised(row, run)
    if run["status"] != "optimal":
        return _finding(printed, value, "undecided", run["status"])
    if run["splits"] > NODES:
        return _finding(printed, value, "undecided", f"{count(run['splits'], 'split')}, more than {NODES}")
    if fit := verdicts.agreement(printed, value):
        return _finding(printed, value, fit, "")
    verdict = "better than printed" if value > Fraction(printed) else "not reproduced"
    return _finding(printed, value, verdict, "the proven optimum of depth 6")


def _whole(row: dict, deep: pd.DataFrame, whole: Mapping) -> Iterator[dict]:
    """Yield the claim that STreeD ended with a tree below the optimum, or with the optimum, as the paper prints.

    A printed value below the optimum is the optimum with both limits, STreeD's own problem, or below that, too.
    """
    printed, proven = row["streed_objective"], deep[deep["algorithm"].isin(_SPARSE) & deep["status"].eq("optimal")]
    proven = proven[proven["splits"].le(NODES)]
    proven = proven.sort_values("algorithm", ascending=False)  # The peer itself decides, if it was run.
    below = Fraction(printed) < Fraction(row["branches_objective"])
    for encoding, best in by_encoding(row, proven).items():
        run = whole[encoding]
        if run is None or best is None or run["status"] != "optimal":
            continue
        limited, free = _penalised(row, best), verdicts.objective_value(run)
        if not verdicts.agreement(row["branches_objective"], free):
            continue  # Another encoding than the paper's.
        text = f"{float(limited):.5f} with the limits, {float(free):.5f} without"
        if not below:
            finding = Finding(text, "", verdicts.reproduced(limited == free))
        elif verdicts.agreement(printed, limited):
            why = "the limits explain it: STreeD found the optimum of its own problem"
            finding = Finding(text, "", verdicts.reproduced(limited < free), why)
        else:
            why = f"the printed value is neither of these optima; {best['algorithm']} proves the limited one"
            finding = Finding(text, "", "other data", f"{why}, and contradicts the sentence")
        head = {"row": row["row"], "lambda": row["lambda"], "encoding": encoding}
        paper = f"{printed}, {'below' if below else 'equal to'} {row['branches_objective']}"
        yield claim(head, WHOLE, paper, _of_solver(best["algorithm"], finding))
