"""Statistics of all algorithms, from run records alone: what each proves, how long it takes, and who beats whom.

Sources: PAR2 is the score of the SAT competitions; the primal integral is T. Berthold, "Measuring the impact of primal
heuristics", Operations Research Letters 41, 2013; Wilcoxon's test with Holm's correction over datasets follows
J. Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7, 2006.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from optree.bench.comparison import CERTIFIED, PROBLEM, both_certify, geometric_mean, interval, pairs, reasons, times
from optree.bench.formats import Table
from optree.bench.tables import number, provenance, seconds

ENDED = (CERTIFIED, "heuristic")
PENALTY = 2  # PAR2: a search that did not end counts as this many times its limit
CLEARLY = (0.1, 0.01)  # a difference in seconds that is not noise: share of the slower one, and seconds
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
        From :func:`optree.bench.frame.frame`.
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


def _outcomes(shared: pd.DataFrame) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Wins, ties and losses of the first of two algorithms: by the objective, and by seconds to the proof."""
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
    """A row per dataset, a column per algorithm: the mean over the problems that all of them have been run on.

    ``score`` is averaged geometrically. Empty if there is no such problem.
    """
    wide = ran[ran["algorithm"].isin(names)].pivot_table(quantity, PROBLEM, "algorithm", dropna=False, observed=True)
    wide = wide.reindex(columns=names).dropna()
    if quantity == "score":
        return np.exp(np.log(wide.clip(lower=1e-6)).groupby(level="dataset").mean())
    return wide.groupby(level="dataset").mean()


def holm(values: list[float]) -> list[float]:
    """Holm's corrected p-values, in the order given; NaN stays, and does not count."""
    order = sorted((p, i) for i, p in enumerate(values) if p == p)
    corrected, least = [float("nan")] * len(values), 0.0
    for rank, (p, i) in enumerate(order):
        least = max(least, min(1.0, p * (len(order) - rank)))
        corrected[i] = least
    return corrected


def wilcoxon(one: pd.Series, other: pd.Series) -> float:
    """The two-sided p-value of Wilcoxon's signed ranks; NaN if fewer than two pairs differ."""
    from scipy.stats import wilcoxon as test

    differences = (one - other).to_numpy(float)
    return float(test(differences).pvalue) if np.count_nonzero(differences) > 1 else float("nan")


def _duel(runs: pd.DataFrame, ran: pd.DataFrame, one: str, other: str) -> dict:
    shared = pairs(runs, other, one)
    both = both_certify(shared)
    ratio = both["search_seconds"] / both["search_seconds_reference"]
    low, high = interval(ratio, both["dataset"]) if len(both) else (float("nan"),) * 2
    objective, faster = _outcomes(shared)
    exact = ran.groupby("algorithm")["exact"].first()[[one, other]].astype(bool).all()
    scores = by_dataset(ran, "score", [one, other]) if exact else pd.DataFrame(columns=[one, other], dtype=float)
    return {
        "one": one,
        "other": other,
        "problems": len(shared),
        "objective": objective,
        "speed": faster if exact else (0, 0, 0),
        "ratio": geometric_mean(ratio),
        "low": low,
        "high": high,
        "datasets": len(scores),
        "p": wilcoxon(np.log(scores[one]), np.log(scores[other])),
    }


def duels(runs: pd.DataFrame) -> Table:
    """A row per pair of algorithms: wins, ties and losses by objective and by time, the ratio of seconds, and a test.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.frame.frame`.
    """
    ran = scored(runs)
    rows = [_duel(runs, ran, *pair) for pair in combinations(sorted(set(ran["algorithm"])), 2)]
    rows = [row for row in rows if row["problems"]]
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = p
    data = pd.DataFrame(rows, columns=[*_DUEL, "p_holm"])
    shown = pd.DataFrame(
        {
            "one": data["one"],
            "other": data["other"],
            "problems": data["problems"].astype(str),
            "objective: wins, ties, losses": data["objective"].map(_three),
            "time: wins, ties, losses": data["speed"].map(_three),
            "seconds, one / other [95 %]": [
                times(row["ratio"])
                + (f" [{times(row['low'])}, {times(row['high'])}]" if row["low"] == row["low"] else "")
                for row in rows
            ],
            "datasets": data["datasets"].astype(str),
            "p (Wilcoxon, Holm)": data["p_holm"].map(lambda p: "" if pd.isna(p) else f"{p:.3g}"),
        }
    ).astype(str)
    for name in ("objective", "speed"):
        for place, what in enumerate(("wins", "ties", "losses")):
            data[f"{name}_{what}"] = [row[name][place] for row in rows]
    return Table("Every algorithm against every other", data.drop(columns=["objective", "speed"]), shown, _notes(runs))


_DUEL = ["one", "other", "problems", "objective", "speed", "ratio", "low", "high", "datasets", "p"]


def _three(outcome: tuple[int, int, int]) -> str:
    return " / ".join(map(str, outcome)) if any(outcome) else ""


def _notes(runs: pd.DataFrame) -> tuple[str, ...]:
    return (
        "Each row is about the problems that both were run on. objective: who has the better tree, both scored here. "
        "time: who proves the optimum sooner (or alone), of the problems that either proves; nearer than "
        f"{CLEARLY[0]:.0%} or {1000 * CLEARLY[1]:.0f} ms is a tie. Empty where one of them proves nothing.",
        "seconds, one / other = geometric mean over the problems that both prove, with a 95 % bootstrap interval over "
        "datasets where there are two or more.",
        "p = Wilcoxon's signed ranks of the datasets' geometric mean seconds (PAR2 where a search did not end), "
        "corrected by Holm for the number of rows; empty if fewer than two datasets differ. Few datasets cannot be "
        "significant: with five, the least p is 0.0625.",
        *provenance(runs),
    )
