"""One algorithm, the reference, against all others, summed up over the problems that both were run on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from optree.bench.runs.folds import fold_name
from optree.bench.tables.formats import Table
from optree.bench.tables.frame import CONSTRAINTS
from optree.bench.tables.summary import number, provenance

# What the runs that are compared have in common.
PROBLEM = ["dataset", "encoding", "regularization", "lambda", "penalty", *CONSTRAINTS, "measure", "split"]
CERTIFIED = "optimal"
SLOWER_SECONDS = 0.01  # a difference that is not noise
FACTS = {
    "status": "status",
    "objective": "objective",
    "search_seconds": "seconds",
    "call_seconds": "call_seconds",
    "iterations": "iterations",
    "peak_rss_mib": "peak_mib",
}
_RESAMPLES = 9999


def algorithms(runs: pd.DataFrame, reference: str) -> list[str]:
    """The names of all algorithms, the reference first."""
    return [reference, *sorted(set(runs["algorithm"]) - {reference})]


def name_of(problem: pd.Series) -> str:
    """A problem in a word, e.g. ``car/onehot/0.01``; with what is not the default of constraints and split."""
    parts = [problem["dataset"], problem["encoding"], problem["regularization"]]
    if problem["measure"] != "accuracy":
        parts.append(problem["measure"])
    if problem["penalty"] != "split":
        parts.append(f"per {problem['penalty']}")
    defaults = dict(zip(CONSTRAINTS, (None, None, 1), strict=True))
    for key, default in defaults.items():
        if not pd.isna(problem[key]) and problem[key] != default:
            parts.append(f"{key} {problem[key]}")
    return "/".join([*parts, *([split] if (split := fold_name(problem["split"])) else [])])


def pairs(runs: pd.DataFrame, reference: str, other: str) -> pd.DataFrame:
    """The problems that both were run on, a row each: columns of the other, and of the reference with ``_reference``.

    Runs that were skipped do not count.
    """
    ran = runs[runs["status"].ne("skipped")]
    left, right = ran[ran["algorithm"].eq(other)], ran[ran["algorithm"].eq(reference)]
    facts = [*PROBLEM, *FACTS]
    return left[facts].merge(right[facts], on=PROBLEM, suffixes=("", "_reference"))


def both_certify(pairs: pd.DataFrame) -> pd.DataFrame:
    """Of :func:`pairs` those that both prove."""
    return pairs[pairs["status"].eq(CERTIFIED) & pairs["status_reference"].eq(CERTIFIED)]


def geometric_mean(ratios: pd.Series) -> float:
    """The geometric mean, NaN of nothing."""
    return float(np.exp(np.log(ratios.astype(float)).mean())) if len(ratios) else float("nan")


def spent(both: pd.DataFrame) -> dict:
    """What else than seconds the problems of :func:`both_certify` took.

    ``memory_ratio`` is a geometric mean; of the iterations, which each algorithm counts in its own units, the medians.
    """
    return {
        "memory_ratio": geometric_mean((both["peak_rss_mib"] / both["peak_rss_mib_reference"]).dropna()),
        "iterations": both["iterations"].astype(float).median(),
        "iterations_reference": both["iterations_reference"].astype(float).median(),
    }


def interval(ratios: pd.Series, clusters: pd.Series) -> tuple[float, float]:
    """A 95 % bootstrap interval of the geometric mean, over clusters: problems of one dataset are not independent.

    Parameters
    ----------
    ratios : pandas.Series of float
    clusters : pandas.Series
        What each ratio belongs to, e.g. its dataset. Whole clusters are drawn.

    Returns
    -------
    tuple of float
        NaN with fewer than two clusters.
    """
    from scipy.stats import bootstrap

    logs = np.log(ratios.astype(float)).groupby(clusters.to_numpy())
    sums, counts = logs.sum().to_numpy(), logs.count().to_numpy()
    if len(sums) < 2:
        return float("nan"), float("nan")

    def mean(drawn, axis):
        return sums[drawn].sum(axis=axis) / counts[drawn].sum(axis=axis)

    drawn = (np.arange(len(sums)),)
    found = bootstrap(
        drawn, mean, vectorized=True, method="percentile", n_resamples=_RESAMPLES, rng=np.random.default_rng(0)
    ).confidence_interval
    return float(np.exp(found.low)), float(np.exp(found.high))


def _versus(runs: pd.DataFrame, reference: str, other: str) -> dict:
    """All that is summed up of one algorithm against the reference."""
    own, shared = runs[runs["algorithm"].eq(other)], pairs(runs, reference, other)
    both = both_certify(shared)
    ratio = both["search_seconds"] / both["search_seconds_reference"]
    low, high = interval(ratio, both["dataset"]) if len(both) else (float("nan"),) * 2
    worst = ratio.idxmin() if len(both) else None
    return {
        "algorithm": other,
        "problems": len(shared),
        "certified": int(shared["status"].eq(CERTIFIED).sum()),
        "certified_reference": int(shared["status_reference"].eq(CERTIFIED).sum()),
        "certified_both": len(both),
        "seconds_ratio": geometric_mean(ratio),
        "seconds_ratio_low": low,
        "seconds_ratio_high": high,
        "worst_ratio": float("nan") if worst is None else float(ratio[worst]),
        "worst_problem": "" if worst is None else name_of(both.loc[worst]),
        "calls_ratio": geometric_mean((both["call_seconds"] / both["call_seconds_reference"]).dropna()),
        "slower": int((both["search_seconds_reference"] - both["search_seconds"] > SLOWER_SECONDS).sum()),
        **spent(both),
        "wrong_certificates": int(own["status"].eq("wrong_certificate").sum()),
        "memory_limit": int(own["status"].eq("memory_limit").sum()),
        "failed": int(own["status"].isin(("error", "killed")).sum()),
        "skipped": int(own["status"].eq("skipped").sum()),
    }


def times(value: float) -> str:
    """A ratio with three digits."""
    return "" if pd.isna(value) else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _shown(data: pd.DataFrame, reference: str) -> pd.DataFrame:
    def interval_text(row: pd.Series) -> str:
        if pd.isna(row["seconds_ratio"]):
            return ""
        ends = "" if pd.isna(row["seconds_ratio_low"]) else f" [{times(row['seconds_ratio_low'])}, "
        return times(row["seconds_ratio"]) + (f"{ends}{times(row['seconds_ratio_high'])}]" if ends else "")

    whole = {
        "problems": "problems",
        "certified": "certified",
        "certified_reference": f"certified by {reference}",
        "certified_both": "by both",
    }
    rest = {
        "slower": f"{reference} slower by > {1000 * SLOWER_SECONDS:.0f} ms",
        "wrong_certificates": "wrong certificates",
        "memory_limit": "out of memory",
        "failed": "failed",
        "skipped": "skipped",
    }
    return pd.DataFrame(
        {
            "algorithm": data["algorithm"],
            **{title: data[name].astype(str) for name, title in whole.items()},
            "seconds, ratio [95 %]": data.apply(interval_text, axis=1),
            "worst ratio": data["worst_ratio"].map(times),
            "worst problem": data["worst_problem"],
            "calls, ratio": data["calls_ratio"].map(times),
            "median iterations": data["iterations"].map(number(0)),
            f"of {reference}": data["iterations_reference"].map(number(0)),
            "MiB, ratio": data["memory_ratio"].map(times),
            **{title: data[name].astype(str) for name, title in rest.items()},
        }
    ).astype(str)


def reasons(runs: pd.DataFrame) -> tuple[str, ...]:
    """Why runs were skipped or failed, a sentence per algorithm and reason."""
    odd = runs[runs["status"].isin(("skipped", "error", "killed"))]
    counts = odd.groupby(["algorithm", "status", "reason"], sort=True).size()
    return tuple(f"{name}, {status} {count} times: {reason}." for (name, status, reason), count in counts.items())


def versus(runs: pd.DataFrame, reference: str) -> Table:
    """A row per algorithm: what it certifies, and its time and memory as multiples of the reference's.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    reference : str
        The algorithm that all are compared with; its own row has ratios of one.
    """
    data = pd.DataFrame([_versus(runs, reference, other) for other in algorithms(runs, reference)])
    notes = (
        f"Each row is about the problems that the algorithm and {reference} were both run on (a problem = dataset, "
        "encoding, lambda, penalty, constraints, split); certified = proven optimal within the limits.",
        f"seconds, ratio = geometric mean of the algorithm's seconds / those of {reference} over the problems that "
        f"both certify: above 1, {reference} is faster. In brackets its 95 % bootstrap interval over datasets "
        f"({_RESAMPLES:,} draws): lambdas and encodings of one dataset are not independent.",
        f"worst ratio = the smallest of these ratios, where {reference} does worst, and on which problem; ratios of "
        f"fractions of a millisecond are noise, hence also the number of problems on which {reference} is slower by "
        f"more than {1000 * SLOWER_SECONDS:.0f} ms.",
        "calls, ratio = the same mean for whole calls, with the preparation of the data, which a solver's own clock "
        "leaves out (pystreed has none: its seconds are those of the call).",
        "median iterations = over the same problems, of the algorithm and of the reference, each in its own units; "
        "MiB, ratio = as seconds, ratio, for peak memory of the whole process, interpreter and libraries included.",
        *reasons(runs),
        *provenance(runs),
    )
    return Table(f"All algorithms against {reference}", data, _shown(data, reference), notes)
