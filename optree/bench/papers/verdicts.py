"""Verdicts on claims: whether a measured value agrees with the printed digits, and the reason if it does not.

Values are compared exactly, as fractions, with the printed digits. Each judge returns a :class:`Finding`.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pandas as pd

from optree.bench.runs.proof import OPTIMAL, REFUSED
from optree.bench.tables.summary import seconds
from optree.measure import ACCURACY

PASS, CONSISTENT, FAIL, KNOWN = "PASS", "CONSISTENT", "FAIL", "known FAIL"
SKIPPED, MISSING = "SKIPPED", "not run"
MEANING = {
    "reproduced": "the same number, or the claimed statement holds; for a limit, within the limit",
    "reproduced (rounded)": "the measured value rounds to the printed digits",
    "reproduced (truncated)": "the measured value, cut off, has the printed digits",
    "agrees as far as legible": "the digits agree; part of the printed exponent is illegible in our scan",
    "within 0.001": "differs by at most 0.001 (0.1 %)",
    "within 3 %": "differs by at most 3 %",
    "within 3 points": "differs by at most three percentage points; the paper's train/test partitions are not public",
    "same side of 1": "printed and measured ratio are both above one, or both below",
    "better than printed": "a better value or tree, or a proof or number that the paper does not have",
    "same data": "rows, features or classes of the data are the printed ones; no result of a search",
    "recomputed": "the paper's formula, computed here, gives the printed digits; no search was run",
    "consistent with the optimum": "printed for a solver that was not run here, and no better than an optimum that was "
    "proven here, or within the tolerance of one",
    "other encoding": "the printed value agrees with another one-hot encoding, or is only in its reach",
    "other data": "shown for information; machine, rows or partitions differ from the paper's",
    "paper contradicts its own artefact": "the paper and its authors' data or program disagree",
    "paper contradicts itself": "see the explanation",
    "counted differently": "paper and solver count different amounts of work as an iteration",
    "below printed": "a worse value, on rows, partitions or encodings other than the paper's, which are not public",
    "other side of 1": "the printed ratio is above one and the measured ratio below, or the reverse",
    "not reproduced": "the measured value differs, and is final",
    "undecided": "a limit stopped the run before it could decide about the printed value, or the difference is noise",
    "not run": "there is no record of this run, or the claim is about more datasets than were run",
}
_RESULTS = {
    **dict.fromkeys(("same data", "recomputed", "consistent with the optimum"), CONSISTENT),
    **dict.fromkeys(("agrees as far as legible", "other encoding", "other data", "undecided"), SKIPPED),
    MISSING: MISSING,
    **dict.fromkeys(("paper contradicts its own artefact", "paper contradicts itself", "counted differently"), KNOWN),
    **dict.fromkeys(("below printed", "other side of 1", "not reproduced"), FAIL),
}
FITS = ("reproduced", "reproduced (rounded)", "reproduced (truncated)")
AGREES = (*FITS, "same data", "consistent with the optimum")
LIMIT_SECONDS = 300  # Time limit of the BRANCHES paper's runs, and of its authors' program.
TIMEOUT = "TO"


def result(verdict: str) -> str:
    """Return the result of a verdict.

    PASS needs a run of the printed number's solver, or of an exact stand-in. CONSISTENT needs none. A "known FAIL" is a
    contradiction between printed numbers. SKIPPED is no decision, and MISSING has no run.
    """
    return _RESULTS.get(verdict, PASS)


class Finding(NamedTuple):
    """A measured value, its difference from the printed one, the verdict, and its explanation."""

    measured: str
    difference: str
    verdict: str
    explanation: str = ""


NOT_RUN = Finding("", "", MISSING)


def unit(printed: str) -> Fraction:
    """Return the unit of the last printed digit: 1/1000 for ``0.850``, 100 000 for ``3e5``."""
    return Fraction(10) ** Decimal(printed).as_tuple().exponent


def reproduced(holds: bool) -> str:
    """Return the verdict on a claim that either holds or does not."""
    return "reproduced" if holds else "not reproduced"


def agreement(printed: str, value: Fraction | int) -> str | None:
    """Return how the printed digits agree with a value: one of :data:`FITS`, or None if they do not."""
    number, digit = Fraction(printed), unit(printed)
    if value == number:
        return "reproduced"
    if number - digit / 2 <= value < number + digit / 2:
        return "reproduced (rounded)"
    return "reproduced (truncated)" if number <= value < number + digit else None


def objective_value(run: pd.Series, cost: str = "cost") -> Fraction:
    """Return the exact objective of a run's tree, or for the column ``cost_bound`` its proven upper bound."""
    return 1 - Fraction(int(run[cost]), int(run["cost_of_error"]) * int(run["rows_train"]))


def _difference(value: Fraction, printed: str) -> str:
    """Return measured - printed, to five decimals."""
    difference = round(float(value - Fraction(printed)), 5)
    return f"{difference:+.5f}" if difference else "0"


def doubt_of_optimum(run: pd.Series) -> str:
    """Return the reason why a run that asked for a proof has no checked proof of an optimum, or nothing.

    Measures other than accuracy have no proofs, so that nobody can ask for one.
    """
    verdict = run.get("proof_verdict")
    asked = isinstance(verdict, str) and run["measure"] == ACCURACY.name
    return f"no checked proof of an optimum: {run['proof_statement']}" if asked and verdict != OPTIMAL else ""


def judge_objective(printed: str, ended: bool, run: pd.Series) -> Finding:
    """Judge a printed objective; ``ended`` tells that the paper's search ended, so that it printed an optimum."""
    value, bound = objective_value(run), objective_value(run, "cost_bound")
    measured, difference = f"{float(value):.5f}", _difference(value, printed)
    doubt, fit = doubt_of_optimum(run), agreement(printed, value)
    if ended and doubt and (fit or run["proof_verdict"] == REFUSED):
        return Finding(measured, difference, "undecided", doubt)
    if fit:
        return Finding(measured, difference, fit)
    if value > Fraction(printed) and ended:
        return Finding(measured, difference, "not reproduced", "printed as the optimum, but this tree is better")
    if value > Fraction(printed):
        return Finding(measured, difference, "better than printed")
    if bound < Fraction(printed) - unit(printed) / 2:
        text = f"no tree of this encoding has an objective above {float(bound):.5f}"
        return Finding(measured, difference, "not reproduced", text)
    return Finding(measured, difference, "undecided", f"{run['status']}, with the upper bound {float(bound):.5f}")


def judge_peer(printed: str, run: pd.Series) -> Finding:
    """Judge whether the printed objective of a solver that was not run here is at most our optimum.

    Without a proof, nothing is decided.
    """
    value = objective_value(run)
    reached = value >= Fraction(printed) or agreement(printed, value)
    doubt = doubt_of_optimum(run) if run["status"] == "optimal" else run["status"]
    verdict = "undecided" if doubt else "consistent with the optimum" if reached else "not reproduced"
    return Finding(f"{float(value):.5f}", _difference(value, printed), verdict, doubt)


def judge_time(printed: str, run: pd.Series) -> Finding:
    """Judge whether the search ends within the time limit if the paper's search did."""
    here = run["search_seconds"]
    if run["status"] != "optimal":
        measured = f"no, {run['status']} at {seconds(here)} s, gap {run['gap']:.5f}"
        if here < LIMIT_SECONDS:
            return Finding(measured, "", "undecided", f"stopped before the paper's {LIMIT_SECONDS} s")
        return Finding(measured, "", reproduced(printed == TIMEOUT))
    measured = f"yes, {seconds(here)} s"
    if printed == TIMEOUT:
        return Finding(measured, "", "better than printed")
    ratio = float(printed) / here
    difference = f"{ratio:.3g} times faster" if ratio >= 1 else f"{1 / ratio:.3g} times slower"
    return Finding(measured, difference, "reproduced")


def judge_iterations(printed: str, run: pd.Series) -> Finding:
    """Judge whether the search needs at most the printed number of iterations."""
    here, paper = int(run["iterations"]), Fraction(printed)
    verdict = "reproduced" if here <= paper else agreement(printed, here) or "not reproduced"
    return Finding(f"{here:,}", f"{float(here / paper - 1):+.0%}", verdict)


def judge_count(printed: str, count: int) -> Finding:
    """Judge whether a count of the data's rows, features or classes is the printed one."""
    difference = count - int(printed)
    verdict = "not reproduced" if difference else "same data"
    return Finding(str(count), f"{difference:+d}" if difference else "0", verdict)
