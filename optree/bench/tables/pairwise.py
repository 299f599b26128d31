"""Pairwise comparisons of all algorithms, from run records alone.

Wilcoxon's test over datasets with Holm's correction follows J. Demsar, "Statistical Comparisons of Classifiers over
Multiple Data Sets", JMLR 7, 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from optree.bench.tables.comparison import (
    CERTIFIED,
    PROBLEM,
    both_certify,
    by_algorithm,
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
_SIGNS = {"wins": 1, "ties": 0, "losses": -1}
_OBJECTIVE, _SPEED = ([f"{name}_{kind}" for kind in _SIGNS] for name in ("objective", "speed"))
_COLUMNS = [
    *("one", "other", "problems", "ratio", "low", "high", "memory_ratio", "iterations", "iterations_reference"),
    *("certified_both", "ratio_datasets", "datasets", "p", "p_holm", *_OBJECTIVE, *_SPEED),
]


def earlier(seconds: pd.Series, others: pd.Series) -> pd.Series:
    """Return by row 1 if the seconds are clearly less than the others, -1 if they are clearly more, and 0 for a tie."""
    gain = others - seconds
    return np.sign(gain).where(gain.abs().gt(np.maximum(CLEARLY[0] * np.maximum(seconds, others), CLEARLY[1])), 0)


def _outcomes(shared: pd.DataFrame, exact: bool) -> dict[str, int]:
    """Count wins, ties and losses of the first algorithm: by objective, and by seconds if both are exact."""
    both = shared[shared["objective"].notna() & shared["objective_reference"].notna()]
    better = np.sign((both["objective"] - both["objective_reference"]).round(9))
    proven, other = (shared[name].eq(CERTIFIED) for name in ("status", "status_reference"))
    faster = earlier(shared["search_seconds"], shared["search_seconds_reference"]).where(
        proven & other, proven.astype(int) - other.astype(int)
    )
    faster = faster[(proven | other) & exact]
    counts = [(signs == sign).sum() for signs in (better, faster) for sign in _SIGNS.values()]
    return dict(zip([*_OBJECTIVE, *_SPEED], counts, strict=True))


def by_dataset(ran: pd.DataFrame, quantity: str, names: list[str]) -> pd.DataFrame:
    """Return means over the problems that all these algorithms were run on: a row per dataset, a column per algorithm.

    The mean of ``score`` is geometric. The table is empty if the algorithms share no problem.
    """
    own = ran.loc[ran["algorithm"].isin(names), [*PROBLEM, "algorithm", quantity]]
    wide = by_algorithm(own, quantity).reindex(columns=names).dropna()
    if quantity == "score":
        return np.exp(np.log(wide.clip(lower=1e-6)).groupby(level="dataset").mean())
    return wide.groupby(level="dataset").mean()


def holm(values: Sequence[float]) -> list[float]:
    """Return Holm's corrected p-values in the given order; NaN stays NaN and does not count as a test."""
    p = pd.Series(values, dtype=float).dropna().sort_values(kind="stable")
    corrected = (p * np.arange(len(p), 0, -1)).clip(upper=1).cummax()
    return corrected.reindex(range(len(values))).tolist()


def wilcoxon(one: pd.Series, other: pd.Series) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test, NaN if fewer than two pairs differ."""
    from scipy.stats import wilcoxon as test

    differences = (one - other).to_numpy(float)
    return float(test(differences).pvalue) if np.count_nonzero(differences) > 1 else float("nan")


def probability(p: float) -> str:
    """Return a p-value as the end of a sentence, nothing for NaN."""
    return "" if pd.isna(p) else f", p = {p:.2g}"


def _compare(runs: pd.DataFrame, ran: pd.DataFrame, exact: bool, one: str, other: str) -> dict:
    """Return the comparison of two algorithms; ``exact``: whether both are exact."""
    shared = pairs(runs, other, one)
    both = both_certify(shared)
    scores = by_dataset(ran, "score", [one, other]) if exact else pd.DataFrame(columns=[one, other], dtype=float)
    return {
        "one": one,
        "other": other,
        "problems": len(shared),
        **dict(zip(("ratio", "low", "high"), ratio_of_seconds(both), strict=True)),
        **memory_and_iterations(both),
        "certified_both": len(both),
        "ratio_datasets": both["dataset"].nunique(),
        "datasets": len(scores),
        "p": wilcoxon(np.log(scores[one]), np.log(scores[other])),
        **_outcomes(shared, exact),
    }


def pairwise_comparisons(runs: pd.DataFrame) -> Table:
    """Return a row per pair of algorithms: wins, ratios of seconds and memory, and Wilcoxon's test."""
    ran = scored(runs)
    exact = ran["exact"].astype(bool).groupby(ran["algorithm"]).all()  # sorted by algorithm
    rows = [_compare(runs, ran, exact[list(pair)].all(), *pair) for pair in combinations(exact.index, 2)]
    data = pd.DataFrame([row for row in rows if row["problems"]], columns=_COLUMNS)
    data["p_holm"] = holm(data["p"])
    shown = pd.DataFrame(
        {
            **data[["one", "other", "problems"]],
            "objective: wins, ties, losses": _joined(data[_OBJECTIVE]),
            "time: wins, ties, losses": _joined(data[_SPEED]),
            "seconds, one / other [95 %]": [with_interval(*row) for row in data[["ratio", "low", "high"]].to_numpy()],
            "median iterations, one / other": _joined(data[["iterations", "iterations_reference"]]),
            "MiB, one / other": data["memory_ratio"].map(times),
            "datasets": data["datasets"],
            "p (Wilcoxon, Holm)": data["p_holm"].map(lambda p: "" if pd.isna(p) else f"{p:.3g}"),
        }
    ).astype(str)
    data = data.rename(columns={"iterations_reference": "iterations_other"})
    return Table("Every algorithm against every other", data, shown, _notes(runs))


def _joined(counts: pd.DataFrame) -> list[str]:
    """Return the counts of each row as one text, empty without outcomes or medians."""
    texts = [" / ".join(map(number(0), row)) for row in counts.to_numpy()]
    return ["" if text in ("0 / 0 / 0", " / ") else text for text in texts]


def _notes(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return the notes below the table."""
    return (
        "Each row covers the problems that both algorithms were run on. objective: wins by the better tree; the "
        "workflow scores both trees. time: wins by the earlier proof, or the only one, over the problems that either "
        f"algorithm proves. Differences below {CLEARLY[0]:.0%} or {1000 * CLEARLY[1]:.0f} ms are ties. The column is "
        "empty if an algorithm of the pair is a heuristic.",
        "seconds, one / other = geometric mean of the ratio over the problems that both prove. Brackets: 95 % "
        "bootstrap interval over datasets, from two datasets on. MiB, one / other = the same mean for peak memory of "
        "the whole process. Iterations are medians over the same problems, in each algorithm's own units, which the "
        "notes below define. Different units cannot be compared.",
        "p = Wilcoxon's signed-rank test on the datasets' geometric mean seconds (PAR2 where a search did not end), "
        "with Holm's correction for the number of rows. It is empty if fewer than two datasets differ. Few datasets "
        "cannot be significant: the smallest p for five datasets is 0.0625.",
        *provenance(runs),
    )
