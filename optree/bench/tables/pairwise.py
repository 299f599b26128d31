"""Every algorithm against every other, from run records alone.

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
    geometric_mean,
    interval,
    pairs,
    spent,
    times,
)
from optree.bench.tables.formats import Table
from optree.bench.tables.statistics import scored
from optree.bench.tables.summary import number, provenance

CLEARLY = (0.1, 0.01)  # a difference in seconds that is not noise: share of the slower one, and seconds


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
        **spent(both),
        "datasets": len(scores),
        "p": wilcoxon(np.log(scores[one]), np.log(scores[other])),
    }


def duels(runs: pd.DataFrame) -> Table:
    """A row per pair of algorithms: who is better, what each takes, and a test.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
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
            "median iterations, one / other": [_iterations(row) for row in rows],
            "MiB, one / other": data["memory_ratio"].map(times),
            "datasets": data["datasets"].astype(str),
            "p (Wilcoxon, Holm)": data["p_holm"].map(lambda p: "" if pd.isna(p) else f"{p:.3g}"),
        }
    ).astype(str)
    for name in ("objective", "speed"):
        for place, what in enumerate(("wins", "ties", "losses")):
            data[f"{name}_{what}"] = [row[name][place] for row in rows]
    data = data.drop(columns=["objective", "speed"]).rename(columns={"iterations_reference": "iterations_other"})
    return Table("Every algorithm against every other", data, shown, _notes(runs))


_DUEL = [
    *("one", "other", "problems", "objective", "speed", "ratio", "low", "high"),
    *("memory_ratio", "iterations", "iterations_reference", "datasets", "p"),
]


def _iterations(row: dict) -> str:
    """Both medians, if there are problems that both prove."""
    counts = [number(0)(row[name]) for name in ("iterations", "iterations_reference")]
    return " / ".join(counts) if any(counts) else ""


def _three(outcome: tuple[int, int, int]) -> str:
    return " / ".join(map(str, outcome)) if any(outcome) else ""


def _notes(runs: pd.DataFrame) -> tuple[str, ...]:
    return (
        "Each row is about the problems that both were run on. objective: who has the better tree, both scored here. "
        "time: who proves the optimum sooner (or alone), of the problems that either proves; nearer than "
        f"{CLEARLY[0]:.0%} or {1000 * CLEARLY[1]:.0f} ms is a tie. Empty where one of them proves nothing.",
        "seconds, one / other = geometric mean over the problems that both prove, with a 95 % bootstrap interval over "
        "datasets where there are two or more. MiB, one / other = the same mean for peak memory of the whole process. "
        "Iterations are medians over these problems, each in its algorithm's own units: what one is stands below, and "
        "their ratio means nothing where the units differ.",
        "p = Wilcoxon's signed ranks of the datasets' geometric mean seconds (PAR2 where a search did not end), "
        "corrected by Holm for the number of rows; empty if fewer than two datasets differ. Few datasets cannot be "
        "significant: with five, the least p is 0.0625.",
        *provenance(runs),
    )
