"""Pairwise comparisons of all algorithms, from run records alone.

Wilcoxon's test over datasets with Holm's correction follows J. Demsar, "Statistical Comparisons of Classifiers over
Multiple Data Sets", JMLR 7, 2006.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from optree.bench.tables.comparison import (
    CERTIFIED,
    PROBLEM,
    both_certify,
    memory_and_iterations,
    pairs,
    ratio_of_seconds,
    times,
    with_interval,
)
from optree.bench.tables.formats import Table
from optree.bench.tables.statistics import scored
from optree.bench.tables.summary import number, provenance

CLEARLY = (0.1, 0.01)  # A smaller difference is a tie: share of the slower search's seconds, and seconds.


def _outcomes(shared: pd.DataFrame) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Count wins, ties and losses of the first algorithm: by objective, and by seconds to the proof."""
    both = shared[shared["objective"].notna() & shared["objective_reference"].notna()]
    better = np.sign((both["objective"] - both["objective_reference"]).round(9))
    proven, other = (shared[name].eq(CERTIFIED) for name in ("status", "status_reference"))
    gain = shared["search_seconds_reference"] - shared["search_seconds"]
    slower = shared[["search_seconds", "search_seconds_reference"]].max(axis=1)
    clear = gain.abs().gt(np.maximum(CLEARLY[0] * slower, CLEARLY[1]))
    faster = np.sign(gain).where(clear, 0).where(proven & other, proven.astype(int) - other.astype(int))
    faster = faster[proven | other]
    return tuple(tuple(int((signs == sign).sum()) for sign in (1, 0, -1)) for signs in (better, faster))


def by_dataset(ran: pd.DataFrame, quantity: str, names: list[str]) -> pd.DataFrame:
    """Return means over the problems that all these algorithms were run on: a row per dataset, a column per algorithm.

    The mean of ``score`` is geometric. The table is empty if the algorithms share no problem.
    """
    wide = ran[ran["algorithm"].isin(names)].pivot_table(quantity, PROBLEM, "algorithm", dropna=False, observed=True)
    wide = wide.reindex(columns=names).dropna()
    if quantity == "score":
        return np.exp(np.log(wide.clip(lower=1e-6)).groupby(level="dataset").mean())
    return wide.groupby(level="dataset").mean()


def holm(values: list[float]) -> list[float]:
    """Return Holm's corrected p-values in the given order; NaN stays NaN and does not count as a test."""
    p = pd.Series(values, dtype=float).dropna().sort_values(kind="stable")
    corrected = (p * np.arange(len(p), 0, -1)).clip(upper=1).cummax()
    return corrected.reindex(range(len(values))).tolist()


def wilcoxon(one: pd.Series, other: pd.Series) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test, NaN if fewer than two pairs differ."""
    from scipy.stats import wilcoxon as test

    differences = (one - other).to_numpy(float)
    return float(test(differences).pvalue) if np.count_nonzero(differences) > 1 else float("nan")


def _compare(runs: pd.DataFrame, ran: pd.DataFrame, one: str, other: str) -> dict:
    """Return the comparison of two algorithms."""
    shared = pairs(runs, other, one)
    both = both_certify(shared)
    ratio, low, high = ratio_of_seconds(both)
    objective, faster = _outcomes(shared)
    exact = ran.groupby("algorithm")["exact"].first()[[one, other]].astype(bool).all()
    scores = by_dataset(ran, "score", [one, other]) if exact else pd.DataFrame(columns=[one, other], dtype=float)
    return {
        "one": one,
        "other": other,
        "problems": len(shared),
        "objective": objective,
        "speed": faster if exact else (0, 0, 0),
        "ratio": ratio,
        "low": low,
        "high": high,
        **memory_and_iterations(both),
        "datasets": len(scores),
        "p": wilcoxon(np.log(scores[one]), np.log(scores[other])),
    }


def pairwise_comparisons(runs: pd.DataFrame) -> Table:
    """Return a row per pair of algorithms: wins, ratios of seconds and memory, and Wilcoxon's test.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    """
    ran = scored(runs)
    rows = [_compare(runs, ran, *pair) for pair in combinations(sorted(set(ran["algorithm"])), 2)]
    rows = [row for row in rows if row["problems"]]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    data = pd.DataFrame(rows, columns=[*_COLUMNS, "p_holm"])
    shown = pd.DataFrame(
        {
            "one": data["one"],
            "other": data["other"],
            "problems": data["problems"].astype(str),
            "objective: wins, ties, losses": data["objective"].map(_outcome),
            "time: wins, ties, losses": data["speed"].map(_outcome),
            "seconds, one / other [95 %]": [with_interval(row["ratio"], row["low"], row["high"]) for row in rows],
            "median iterations, one / other": [_iterations(row) for row in rows],
            "MiB, one / other": data["memory_ratio"].map(times),
            "datasets": data["datasets"].astype(str),
            "p (Wilcoxon, Holm)": data["p_holm"].map(lambda p: "" if pd.isna(p) else f"{p:.3g}"),
        }
    ).astype(str)
    for name in ("objective", "speed"):
        for place, kind in enumerate(("wins", "ties", "losses")):
            data[f"{name}_{kind}"] = [row[name][place] for row in rows]
    data = data.drop(columns=["objective", "speed"]).rename(columns={"iterations_reference": "iterations_other"})
    return Table("Every algorithm against every other", data, shown, _notes(runs))


_COLUMNS = [
    *("one", "other", "problems", "objective", "speed", "ratio", "low", "high"),
    *("memory_ratio", "iterations", "iterations_reference", "datasets", "p"),
]


def _iterations(row: dict) -> str:
    """Return both medians as text, empty if both algorithms prove no problem."""
    counts = [number(0)(row[name]) for name in ("iterations", "iterations_reference")]
    return " / ".join(counts) if any(counts) else ""


def _outcome(outcome: tuple[int, int, int]) -> str:
    """Return wins, ties and losses as text, empty without any."""
    return " / ".join(map(str, outcome)) if any(outcome) else ""


def _notes(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return the notes below the table."""
    return (
        "Each row covers the problems that both algorithms were run on. objective: wins by the better tree; the "
        "workflow scores both trees. time: wins by the earlier proof, or the only one, over the problems that either "
        f"algorithm proves. Differences below {CLEARLY[0]:.0%} or {1000 * CLEARLY[1]:.0f} ms are ties. The column is "
        "empty if one of the two never proves anything.",
        "seconds, one / other = geometric mean of the ratio over the problems that both prove; brackets: 95 % "
        "bootstrap interval over datasets, from two datasets on. MiB, one / other = the same mean for peak memory of "
        "the whole process. Iterations are medians over the same problems, in each algorithm's own units (defined "
        "below); do not compare them where the units differ.",
        "p = Wilcoxon's signed-rank test on the datasets' geometric mean seconds (PAR2 where a search did not end), "
        "with Holm's correction for the number of rows. It is empty if fewer than two datasets differ. Few datasets "
        "cannot be significant: the smallest p for five datasets is 0.0625.",
        *provenance(runs),
    )
