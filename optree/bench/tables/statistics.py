"""Statistics of each algorithm, from run records alone: problems proven, seconds, PAR2, primal integral, memory.

Sources: PAR2 is the score of the SAT competitions; the primal integral is T. Berthold, "Measuring the impact of primal
heuristics", Operations Research Letters 41, 2013. Pairwise comparisons are in :mod:`optree.bench.tables.pairwise`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from optree.bench.tables.comparison import CERTIFIED, PROBLEM, bootstrap_interval, reasons, with_interval
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import number, provenance, seconds

ENDED = (CERTIFIED, "heuristic")
PENALTY = 2  # PAR2: an unfinished search scores its time limit times this factor.
_RESAMPLES = 1999


def scored(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that were not skipped, with their PAR2 ``score``.

    The score is the seconds of search if the search ended by itself, otherwise :data:`PENALTY` times the time limit. It
    is NaN for an unfinished search without a time limit.
    """
    ran = runs[runs["status"].ne("skipped")].copy()
    ended = ran["status"].isin(ENDED)
    ran["score"] = ran["search_seconds"].where(ended, PENALTY * ran["limit_seconds"])
    return ran


def median_interval(values: pd.Series, clusters: pd.Series) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of the median, NaN with fewer than two clusters.

    Whole clusters are resampled, because problems of one dataset are not independent.
    """
    groups = [group.to_numpy(float) for _, group in values.groupby(clusters.to_numpy())]

    def median(drawn: np.ndarray) -> float:
        return float(np.median(np.concatenate([groups[int(one)] for one in drawn])))

    return bootstrap_interval(len(groups), median, _RESAMPLES, vectorized=False)


def primal_integral(trace: list, end: float, best: float) -> float:
    """Return the primal integral: seconds times the relative gap of the incumbent, summed until ``end``.

    The gap is ``(cost - best) / cost``, and 1 before the first incumbent. The integral is 0 if the best tree is found
    at once, ``end`` if no tree is found, and NaN without a trace.
    """
    if not trace:
        return float("nan")
    moments = np.minimum([point[0] for point in trace], end)
    costs = np.array([point[1] for point in trace], float)
    gaps = np.where(costs > best, 1 - best / np.maximum(costs, 1e-300), 0.0)
    return float(moments[0] + np.sum(gaps * np.diff([*moments, end])))


def primal_integrals(runs: pd.DataFrame) -> pd.Series:
    """Return the primal integral of each run, until its time limit.

    A run without a time limit is measured until the end of the longest run of its problem. The best known cost is the
    lowest cost of any algorithm's tree on the problem.
    """
    problems = runs.groupby(PROBLEM, dropna=False)
    best = problems["cost"].transform("min").astype(float)
    ends = runs["limit_seconds"].fillna(problems["search_seconds"].transform("max"))
    values = [primal_integral(*one) for one in zip(runs["trace"], ends, best, strict=True)]
    return pd.Series(values, runs.index, dtype=float)


def _statistics_of(own: pd.DataFrame) -> dict:
    """Return the statistics of one algorithm."""
    measured = own[own["score"].notna()]
    low, high = median_interval(measured["score"], measured["dataset"])
    return {
        "algorithm": own["algorithm"].iloc[0],
        "problems": len(own),
        "datasets": own["dataset"].nunique(),
        "certified": int(own["status"].eq(CERTIFIED).sum()),
        "seconds_median": measured["score"].median(),
        "seconds_low": low,
        "seconds_high": high,
        "par2_seconds": measured["score"].mean(),
        "primal_integral_seconds": own["primal_integral"].mean(),
        "iterations_median": own["iterations"].median(),
        "peak_mib_median": own["peak_rss_mib"].median(),
        "peak_mib_most": own["peak_rss_mib"].max(),
    }


_COLUMNS = [
    *("algorithm", "problems", "datasets", "certified", "seconds_median", "seconds_low", "seconds_high"),
    *("par2_seconds", "primal_integral_seconds", "iterations_median", "peak_mib_median", "peak_mib_most"),
]


def statistics(runs: pd.DataFrame) -> Table:
    """Return the table of statistics, a row per algorithm."""
    ran = scored(runs)
    ran["primal_integral"] = primal_integrals(ran)
    data = pd.DataFrame([_statistics_of(own) for _, own in ran.groupby("algorithm")], columns=_COLUMNS)
    intervals = data[["seconds_median", "seconds_low", "seconds_high"]].to_numpy()
    shown = pd.DataFrame(
        {
            **data[["algorithm", "problems", "datasets", "certified"]],
            "median seconds [95 %]": [with_interval(*row, seconds) for row in intervals],
            "PAR2, s": data["par2_seconds"].map(seconds),
            "primal integral, s": data["primal_integral_seconds"].map(seconds),
            "median iterations": data["iterations_median"].map(number(0)),
            "median MiB": data["peak_mib_median"].map(number(0)),
            "most MiB": data["peak_mib_most"].map(number(0)),
        }
    ).astype(str)
    notes = (
        "Each row covers the problems that its algorithm was run on. A problem is a dataset, encoding, lambda, "
        "penalty, constraints, measure and fold (split). The table of pairwise comparisons and the figures compare "
        "algorithms on common problems.",
        f"A search that a limit stopped scores {PENALTY} times its time limit, in the median and in PAR2 (the mean). "
        f"Brackets: 95 % bootstrap interval of the median over datasets ({_RESAMPLES:,} draws), from two datasets "
        "on.",
        "primal integral = mean over problems of the relative gap of the incumbent, (cost - best cost of any "
        "algorithm) / cost, integrated over seconds until the time limit. It is 0 if the best tree is found at once. "
        "Peers report their final tree only.",
        *reasons(runs),
        *provenance(runs),
    )
    return Table("Statistics of all algorithms", data, shown, notes)
