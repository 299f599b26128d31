"""Printed numbers against measured ones: does the value have the printed digits, and if not, what does that mean?

Values are compared exactly, as fractions, with the digits that are printed. Each judge returns a :class:`Finding`.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import pandas as pd

from optree.bench.papers import work_bounds as bounds
from optree.bench.tables.summary import seconds

PASS, FAIL, KNOWN, SKIPPED = "PASS", "FAIL", "known FAIL", "SKIPPED"
MEANING = {
    "reproduced": "the same number, or what is claimed; for a limit, within it",
    "reproduced (rounded)": "the printed digits are the measured value's, rounded",
    "reproduced (truncated)": "the printed digits are the measured value's, cut off",
    "reproduced (as far as legible)": "the digits agree; part of the printed exponent cannot be read in our scan",
    "within 0.001": "differs by at most 0.001 (0.1 %)",
    "within 3 %": "differs by at most 3 %",
    "within 3 points": "differs by at most three percentage points; the paper's splits of the rows are not public",
    "same side of 1": "printed and measured ratio are both above one, or both below",
    "better than printed": "a better value or tree, a proof where the paper has none, a number where it has none",
    "other encoding": "the printed value is another one-hot encoding's, see that row",
    "other data": "shown beside each other; machine, rows or splits are not the paper's",
    "paper contradicts its own artefact": "the paper and its authors' data or program disagree",
    "paper contradicts itself": "see the explanation",
    "counted differently": "an iteration is not the same amount of work in both",
    "below printed": "a worse value, on other rows, splits or encodings than the paper's, which are not public",
    "other side of 1": "what is printed as faster, or fewer, is slower, or more, here",
    "not reproduced": "the measured value differs, and is final",
    "undecided": "the run was stopped by a limit, and could still have given the printed value; or noise decides",
    "not run": "there is no record of this run",
}
_RESULTS = {
    **dict.fromkeys(("other encoding", "other data", "undecided", "not run"), SKIPPED),
    **dict.fromkeys(("paper contradicts its own artefact", "paper contradicts itself", "counted differently"), KNOWN),
    **dict.fromkeys(("below printed", "other side of 1", "not reproduced"), FAIL),
}
FITS = ("reproduced", "reproduced (rounded)", "reproduced (truncated)")
LIMIT_SECONDS = 300  # of the paper's runs, and of its authors' program
TIMEOUT = "TO"


def result(verdict: str) -> str:
    """What a verdict comes to: PASS, FAIL, SKIPPED, or "known FAIL" where printed numbers contradict each other."""
    return _RESULTS.get(verdict, PASS)


class Finding(NamedTuple):
    """What was measured for a claim, and what follows."""

    measured: str
    difference: str
    verdict: str
    explanation: str = ""


NOT_RUN = Finding("", "", "not run")


def unit(printed: str) -> Fraction:
    """The worth of the last printed digit: 1/1000 for ``0.850``, 100 000 for ``3e5``."""
    return Fraction(10) ** Decimal(printed).as_tuple().exponent


def agreement(printed: str, value: Fraction | int) -> str | None:
    """How the printed digits come from a value: one of :data:`FITS`, or None if they do not."""
    number, digit = Fraction(printed), unit(printed)
    if value == number:
        return "reproduced"
    if number - digit / 2 <= value < number + digit / 2:
        return "reproduced (rounded)"
    return "reproduced (truncated)" if number <= value < number + digit else None


def objective_value(run: pd.Series, cost: str = "cost") -> Fraction:
    """The objective of a run's tree, or with ``cost_bound`` the proven upper bound, exactly."""
    return 1 - Fraction(int(run[cost]), int(run["cost_of_error"]) * int(run["rows_train"]))


def _difference(value: Fraction, printed: str) -> str:
    """Measured - printed, to five decimals."""
    difference = round(float(value - Fraction(printed)), 5)
    return f"{difference:+.5f}" if difference else "0"


def judge_objective(printed: str, ended: bool, run: pd.Series) -> Finding:
    """The same objective? ``ended``: the paper's search did, and so the printed value should be the optimum."""
    value, bound = objective_value(run), objective_value(run, "cost_bound")
    measured, difference = f"{float(value):.5f}", _difference(value, printed)
    if fit := agreement(printed, value):
        return Finding(measured, difference, fit)
    if value > Fraction(printed) and ended:
        return Finding(measured, difference, "not reproduced", "printed as optimal, but this tree is better")
    if value > Fraction(printed):
        return Finding(measured, difference, "better than printed")
    if bound < Fraction(printed) - unit(printed) / 2:
        text = f"no tree of this encoding has an objective above {float(bound):.5f}"
        return Finding(measured, difference, "not reproduced", text)
    return Finding(measured, difference, "undecided", f"{run['status']}, with the upper bound {float(bound):.5f}")


def judge_peer(printed: str, run: pd.Series) -> Finding:
    """Is another solver's printed objective at most ours?"""
    value = objective_value(run)
    reached = value >= Fraction(printed) or agreement(printed, value)
    text = "" if run["status"] == "optimal" else run["status"]
    verdict = "reproduced" if reached else "not reproduced" if run["status"] == "optimal" else "undecided"
    return Finding(f"{float(value):.5f}", _difference(value, printed), verdict, text)


def judge_time(printed: str, run: pd.Series) -> Finding:
    """Does the search end in time where the paper's did?"""
    here = run["search_seconds"]
    if run["status"] != "optimal":
        measured = f"no, {run['status']} at {seconds(here)} s, gap {run['gap']:.5f}"
        if here < LIMIT_SECONDS:
            return Finding(measured, "", "undecided", f"stopped before the paper's {LIMIT_SECONDS} s")
        return Finding(measured, "", "reproduced" if printed == TIMEOUT else "not reproduced")
    measured = f"yes, {seconds(here)} s"
    if printed == TIMEOUT:
        return Finding(measured, "", "better than printed")
    ratio = float(printed) / here
    difference = f"{ratio:.3g} times faster" if ratio >= 1 else f"{1 / ratio:.3g} times slower"
    return Finding(measured, difference, "reproduced")


def judge_iterations(printed: str, run: pd.Series) -> Finding:
    """No more iterations than printed?"""
    here, most = int(run["iterations"]), Fraction(printed)
    verdict = "reproduced" if here <= most else agreement(printed, here) or "not reproduced"
    return Finding(f"{here:,}", f"{float(here / most - 1):+.0%}", verdict)


def judge_count(printed: str, count: int) -> Finding:
    """The same whole number?"""
    difference = count - int(printed)
    if difference:
        return Finding(str(count), f"{difference:+d}", "not reproduced")
    return Finding(str(count), "0", "reproduced")


def judge_bound(printed: str, value: int) -> Finding:
    """The same huge whole number, to the printed digits?

    ``INF`` is the paper's word for an overflow; a ``?`` in an exponent (``5.69e?76``) is a digit that cannot be read.
    """
    measured, power = bounds.scientific(value), bounds.exponent(value)
    if printed == "INF":
        return Finding(measured, "", "better than printed")
    digits, _, printed_power = printed.partition("e")
    legible = printed_power.lstrip("?")
    if legible != printed_power:
        fits = agreement(digits, Fraction(value, 10**power)) and str(power).endswith(legible)
        return Finding(measured, "", "reproduced (as far as legible)" if fits else "not reproduced")
    difference = f"{float(value / Fraction(printed) - 1):+.2%}"
    return Finding(measured, difference, agreement(printed, value) or "not reproduced")
