"""Statistics of all algorithms, from run records alone: what each proves, and what it takes.

Sources: PAR2 is the score of the SAT competitions; the primal integral is T. Berthold, "Measuring the impact of primal
heuristics", Operations Research Letters 41, 2013. Every algorithm against every other: :mod:`optree.bench.tables.pairwise`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from optree.bench.tables.comparison import CERTIFIED, PROBLEM, reasons
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import number, provenance, seconds

ENDED = (CERTIFIED, "heuristic")
PENALTY = 2  # PAR2: a search that did not end counts as this many times its limit
_RESAMPLES = 1999


def scored(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that were not skipped, with ``score``: seconds of search, or PAR2's penalty where it did not end.

    NaN where a search ended early, for want of memory, say, and had no limit of time to be measured by.
    """
    ran = runs[runs["status"].ne("skipped")].copy()
    ended = ran["status"].isin(ENDED)
    ran["score"] = ran["search_seconds"].where(ended, PENALTY * ran["limit_seconds"])
    return ran


def median_interval(values: pd.Series, clusters: pd.Series) -> tuple[float, float]:
    """A 95 % bootstrap interval of the median, over clusters: problems of one dataset are not independent.

    Returns
    -------
    tuple of float
        NaN with fewer than two clusters.
    """
    from scipy.stats import bootstrap

    groups = [group.to_numpy(float) for _, group in values.groupby(clusters.to_numpy())]
    if len(groups) < 2:
        return float("nan"), float("nan")

    def median(drawn: np.ndarray) -> float:
        return float(np.median(np.concatenate([groups[int(one)] for one in drawn])))

    found = bootstrap(
        (np.arange(len(groups)),), median, vectorized=False, method="percentile", n_resamples=_RESAMPLES,
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return float(found.low), float(found.high)


def primal_integral(trace: list, end: float, best: float) -> float:
    """Seconds times the distance of the incumbent from the best known cost, until ``end``.

    The distance is ``(cost - best) / cost``, and 1 while there is no tree: a search that has the best tree at once gets
    0, one that finds none gets ``end``. NaN without a trace.
    """
    if not trace:
        return float("nan")
    moments = np.minimum([point[0] for point in trace], end)
    costs = np.array([point[1] for point in trace], float)
    gaps = np.where(costs > best, 1 - best / np.maximum(costs, 1e-300), 0.0)
    return float(moments[0] + np.sum(gaps * np.diff([*moments, end])))


def primal_integrals(runs: pd.DataFrame) -> pd.Series:
    """:func:`primal_integral` of each run, until its limit of time; without one, that of the longest of its problem.

    The best known cost is that of the best tree that any algorithm has found, as scored here.
    """
    problems = runs.groupby(PROBLEM, dropna=False)
    best = problems["cost"].transform("min").astype(float)
    ends = runs["limit_seconds"].fillna(problems["search_seconds"].transform("max"))
    values = [primal_integral(*one) for one in zip(runs["trace"], ends, best, strict=True)]
    return pd.Series(values, runs.index, dtype=float)


def _scores(own: pd.DataFrame) -> dict:
    """All that is summed up of one algorithm."""
    known = own[own["score"].notna()]
    low, high = median_interval(known["score"], known["dataset"])
    return {
        "algorithm": own["algorithm"].iloc[0],
        "problems": len(own),
        "datasets": own["dataset"].nunique(),
        "certified": int(own["status"].eq(CERTIFIED).sum()),
        "seconds_median": known["score"].median(),
        "seconds_low": low,
        "seconds_high": high,
        "par2_seconds": known["score"].mean(),
        "primal_integral_seconds": own["primal_integral"].mean(),
        "iterations_median": own["iterations"].median(),
        "peak_mib_median": own["peak_rss_mib"].median(),
        "peak_mib_most": own["peak_rss_mib"].max(),
    }


_SCORES = [
    *(
        "algorithm",
        "problems",
        "datasets",
        "certified",
        "seconds_median",
        "seconds_low",
        "seconds_high",
        "par2_seconds",
    ),
    *("primal_integral_seconds", "iterations_median", "peak_mib_median", "peak_mib_most"),
]


def statistics(runs: pd.DataFrame) -> Table:
    """A row per algorithm: what it certifies, its seconds with an interval, PAR2, primal integral, iterations, memory.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    """
    ran = scored(runs)
    ran["primal_integral"] = primal_integrals(ran)
    data = pd.DataFrame([_scores(own) for _, own in ran.groupby("algorithm")], columns=_SCORES)
    ends = data["seconds_low"].map(seconds) + ", " + data["seconds_high"].map(seconds)
    shown = pd.DataFrame(
        {
            "algorithm": data["algorithm"],
            **{name: data[name].astype(str) for name in ("problems", "datasets", "certified")},
            "median seconds [95 %]": data["seconds_median"].map(seconds)
            + ends.where(data["seconds_low"].notna(), "").map(lambda text: f" [{text}]" if text else ""),
            "PAR2, s": data["par2_seconds"].map(seconds),
            "primal integral, s": data["primal_integral_seconds"].map(seconds),
            "median iterations": data["iterations_median"].map(number(0)),
            "median MiB": data["peak_mib_median"].map(number(0)),
            "most MiB": data["peak_mib_most"].map(number(0)),
        }
    )
    notes = (
        "Each row is about the problems that the algorithm was run on (a problem = dataset, encoding, lambda, penalty, "
        "constraints, measure, split); what all of them have in common is compared pair by pair in duels, and in the "
        "figures.",
        f"A search that a limit stopped counts as {PENALTY} times its limit of time, in the median and in PAR2 (the "
        f"mean). In brackets the median's 95 % bootstrap interval over datasets ({_RESAMPLES:,} draws), where there "
        "are two or more.",
        "primal integral = mean of seconds x (cost of the tree in hand - least cost that any algorithm has found) / "
        "cost of the tree in hand, until the limit of time: 0 if the best tree is there at once. Of peers only the end "
        "is known.",
        *reasons(runs),
        *provenance(runs),
    )
    return Table("Statistics of all algorithms", data, shown, notes)
