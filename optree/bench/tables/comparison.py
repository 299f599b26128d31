"""Comparison of every algorithm with one of them, the reference, over the problems that both were run on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from optree.bench.runs.folds import fold_name
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import number, provenance
from optree.objective import CONSTRAINTS
from optree.words import count

# Runs that agree in these columns are runs on the same problem.
PROBLEM = [
    "dataset",
    "encoding",
    "regularization",
    "lambda",
    "penalty",
    *CONSTRAINTS,
    "measure",
    "feature_costs",
    "split",
]
CERTIFIED = "optimal"
LEAST_SECONDS = 1e-6  # the resolution of the clock, in place of zero seconds
SLOWER_SECONDS = 0.01  # Smaller differences count as noise.
FACTS = ["status", "objective", "search_seconds", "call_seconds", "iterations", "peak_rss_mib"]
_RESAMPLES = 9999


def algorithms(runs: pd.DataFrame, reference: str) -> list[str]:
    """Return the names of all algorithms, the reference first."""
    return [reference, *sorted(set(runs["algorithm"]) - {reference})]


def name_of(problem: pd.Series) -> str:
    """Return a short name of a problem, e.g. ``car/onehot/0.01``, followed by the settings that are not the default."""
    parts = [problem["dataset"], problem["encoding"], problem["regularization"]]
    if problem["measure"] != "accuracy":
        parts.append(problem["measure"])
    if problem["feature_costs"]:
        parts.append(f"feature costs {problem['feature_costs']}")
    if problem["penalty"] != "split":
        parts.append(f"per {problem['penalty']}")
    for key, constraint in CONSTRAINTS.items():
        if not pd.isna(problem[key]) and problem[key] != constraint.unset:
            parts.append(f"{key} {problem[key]}")
    return "/".join([*parts, *([split] if (split := fold_name(problem["split"])) else [])])


def pairs(runs: pd.DataFrame, reference: str, other: str) -> pd.DataFrame:
    """Return a row per problem that both algorithms were run on, without skipped runs.

    Columns of the reference end in ``_reference``; columns of the other algorithm have their plain names.
    """
    ran, facts = runs["status"].ne("skipped"), [*PROBLEM, *FACTS]
    left, right = (runs.loc[ran & runs["algorithm"].eq(name), facts] for name in (other, reference))
    return left.merge(right, on=PROBLEM, suffixes=("", "_reference"))


def by_algorithm(runs: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return a row per problem of the runs, with its values of a quantity; NaN without a run."""
    return runs.groupby([*PROBLEM, "algorithm"], dropna=False, observed=True)[quantity].first().unstack("algorithm")


def both_certify(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of :func:`pairs` whose problem both algorithms prove."""
    return pairs[pairs["status"].eq(CERTIFIED) & pairs["status_reference"].eq(CERTIFIED)]


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean, NaN without ratios."""
    return float(np.exp(np.log(pd.Series(ratios, dtype=float)).mean()))


def mean_ratio(both: pd.DataFrame, quantity: str) -> float:
    """Return the geometric mean ratio of a column over the rows of :func:`both_certify`."""
    return geometric_mean(both[quantity] / both[f"{quantity}_reference"])


def ratio_of_seconds(both: pd.DataFrame) -> tuple[float, float, float]:
    """Return the geometric mean ratio of seconds over the rows of :func:`both_certify`, and the ends of its interval.

    The bootstrap draws whole datasets, because problems of one dataset are not independent.
    """
    logs = np.log((both["search_seconds"] / both["search_seconds_reference"]).astype(float))
    clusters = logs.groupby(both["dataset"])
    sums, counts = clusters.sum().to_numpy(), clusters.count().to_numpy()

    def mean(drawn, axis):
        return sums[drawn].sum(axis=axis) / counts[drawn].sum(axis=axis)

    ends = bootstrap_interval(len(sums), mean, _RESAMPLES, vectorized=True)
    return mean_ratio(both, "search_seconds"), *np.exp(ends)


def memory_and_iterations(both: pd.DataFrame) -> dict[str, float]:
    """Return the mean ratio of memory and the median iterations, whose units differ between algorithms."""
    return {
        "memory_ratio": mean_ratio(both, "peak_rss_mib"),
        "iterations": both["iterations"].astype(float).median(),
        "iterations_reference": both["iterations_reference"].astype(float).median(),
    }


def bootstrap_interval(clusters: int, statistic: Callable, resamples: int, vectorized: bool) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of a statistic of cluster numbers, NaN with fewer than two clusters.

    The random numbers are the same in every call.
    """
    from scipy.stats import bootstrap

    if clusters < 2:
        return float("nan"), float("nan")
    options = {"method": "percentile", "n_resamples": resamples, "rng": np.random.default_rng(0)}
    return tuple(bootstrap((np.arange(clusters),), statistic, vectorized=vectorized, **options).confidence_interval)


def _compare(runs: pd.DataFrame, reference: str, other: str) -> dict:
    """Return the comparison of one algorithm with the reference."""
    own, shared = runs.loc[runs["algorithm"].eq(other), "status"], pairs(runs, reference, other)
    both = both_certify(shared)
    ratio = both["search_seconds"] / both["search_seconds_reference"]
    mean, low, high = ratio_of_seconds(both)
    return {
        "algorithm": other,
        "problems": len(shared),
        "certified": shared["status"].eq(CERTIFIED).sum(),
        "certified_reference": shared["status_reference"].eq(CERTIFIED).sum(),
        "certified_both": len(both),
        "seconds_ratio": mean,
        "seconds_ratio_low": low,
        "seconds_ratio_high": high,
        "worst_ratio": ratio.min(),
        "worst_problem": name_of(both.loc[ratio.idxmin()]) if len(both) else "",
        "calls_ratio": mean_ratio(both, "call_seconds"),
        "slower": (both["search_seconds_reference"] - both["search_seconds"] > SLOWER_SECONDS).sum(),
        **memory_and_iterations(both),
        "wrong_certificates": own.eq("wrong_certificate").sum(),
        "memory_limit": own.eq("memory_limit").sum(),
        "failed": own.isin(("error", "killed")).sum(),
        "skipped": own.eq("skipped").sum(),
    }


def times(value: float) -> str:
    """Return a ratio with three digits."""
    return "" if pd.isna(value) else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def with_interval(value: float, low: float, high: float, form: Callable[[float], str] = times) -> str:
    """Return a value and its interval as text, without an interval that is NaN."""
    return form(value) + ("" if pd.isna(low) else f" [{form(low)}, {form(high)}]")


def _shown(data: pd.DataFrame, reference: str) -> pd.DataFrame:
    """Return the comparison as text."""
    intervals = data[["seconds_ratio", "seconds_ratio_low", "seconds_ratio_high"]].to_numpy()
    return pd.DataFrame(
        {
            **data[["algorithm", "problems", "certified"]],
            f"certified by {reference}": data["certified_reference"],
            "by both": data["certified_both"],
            "seconds, ratio [95 %]": [with_interval(*row) for row in intervals],
            "worst ratio": data["worst_ratio"].map(times),
            "worst problem": data["worst_problem"],
            "calls, ratio": data["calls_ratio"].map(times),
            "median iterations": data["iterations"].map(number(0)),
            f"of {reference}": data["iterations_reference"].map(number(0)),
            "MiB, ratio": data["memory_ratio"].map(times),
            f"{reference} slower by > {1000 * SLOWER_SECONDS:.0f} ms": data["slower"],
            "wrong certificates": data["wrong_certificates"],
            "out of memory": data["memory_limit"],
            **data[["failed", "skipped"]],
        }
    ).astype(str)


def reasons(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return a sentence per algorithm and reason for runs that were skipped or failed."""
    unusable = runs[runs["status"].isin(("skipped", "error", "killed"))]
    counts = unusable.groupby(["algorithm", "status", "reason"], sort=True).size()
    return tuple(f"{name}, {status}, {count(n, 'run')}: {reason}." for (name, status, reason), n in counts.items())


def against_reference(runs: pd.DataFrame, reference: str) -> Table:
    """Return a row per algorithm: problems certified, and ratios of its time and memory to the reference's.

    The reference's own row has ratios of one.
    """
    data = pd.DataFrame([_compare(runs, reference, other) for other in algorithms(runs, reference)])
    notes = (
        f"Each row covers the problems that both its algorithm and {reference} were run on. A problem is a dataset, "
        "encoding, lambda, penalty, constraints, measure and fold (split). certified = proven optimal within the "
        "limits.",
        f"seconds, ratio = geometric mean of seconds of the algorithm / seconds of {reference}, over the problems that "
        f"both certify: above 1, {reference} is faster. Brackets: 95 % bootstrap interval over datasets "
        f"({_RESAMPLES:,} draws), because lambdas and encodings of one dataset are not independent.",
        f"worst ratio = the smallest such ratio, with its problem. Ratios of fractions of a millisecond are noise. "
        f"Another column counts the problems on which {reference} is slower by > {1000 * SLOWER_SECONDS:.0f} ms.",
        "calls, ratio = the same mean over seconds of whole calls, with the preparation of the data. Seconds of search "
        "exclude it, except for pystreed, which has no clock of its own.",
        "median iterations = over the same problems, of the algorithm and of the reference, each in its own units. "
        "MiB, ratio = geometric mean of the ratio of peak memory, interpreter and libraries included.",
        *reasons(runs),
        *provenance(runs),
    )
    return Table(f"All algorithms against {reference}", data, _shown(data, reference), notes)
