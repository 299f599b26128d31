"""The summary of all runs, and the notes that every table of results repeats."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd
from pandas.api.typing import DataFrameGroupBy

from optree.bench.runs.folds import FULL, fold_kind
from optree.bench.tables.formats import Table
from optree.objective import CONSTRAINTS

STATUS = {
    "optimal": "proven: no tree has a better objective",
    "heuristic": "ended by itself, without a proof",
    "rounded": "ended with a gap, which the rounding of the target leaves",
    "time_limit": "stopped by the time limit",
    "iteration_limit": "stopped by the iteration limit",
    "memory_limit": "stopped by the memory limit",
    "interrupted": "stopped by the user",
    "wrong_certificate": "claimed a proof or a bound that its own or another algorithm's tree refutes",
    "killed": "ended by a signal from outside the benchmark",
    "error": "crashed, or returned no valid answer",
    "skipped": "not run: its environment or an input is missing",
}
_TITLES = {name: constraint.title for name, constraint in CONSTRAINTS.items()}
_MEASURED = ["host", "cpu", "cores", "system", "date", "versions", "solver", "code", "commit"]
_UNITS = {
    "limit_seconds": "s",
    "limit_iterations": "iterations",
    "limit_memory_mib": "MiB",
    "limit_threads": "threads",
}
# Each row of the summary is one combination of these; "rows" is "full", "seeds" or "folds".
_GROUP = [
    "dataset",
    "encoding",
    "algorithm",
    "regularization",
    "lambda",
    "penalty",
    *CONSTRAINTS,
    "measure",
    "feature_costs",
    "rows",
]


def count_statuses(statuses: pd.Series) -> str:
    """Return ``optimal`` if all runs ended so, otherwise counts such as ``3/5 optimal, 2/5 time_limit``."""
    counts = statuses.value_counts()
    if len(counts) == 1:
        return counts.index[0]
    return ", ".join(f"{counts[name]}/{len(statuses)} {name}" for name in STATUS if name in counts)


def _grouped(runs: pd.DataFrame) -> DataFrameGroupBy:
    """Group the runs by the rows of the summary."""
    return runs.assign(rows=runs["split"].map(fold_kind)).groupby(_GROUP, sort=False, dropna=False)


def summarise(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per dataset, encoding, algorithm, lambda, penalty, constraints, and "full", seeds or folds.

    Over the seeds or folds: means of objective, accuracies and sizes; standard deviations (n - 1) of the accuracies;
    medians of seconds and iterations; maxima of gap and memory.
    """
    table = (
        _grouped(runs)
        .agg(
            runs=("split", "size"),
            status=("status", count_statuses),
            objective=("objective", "mean"),
            gap=("gap", "max"),
            accuracy_train=("accuracy_train", "mean"),
            accuracy_train_std=("accuracy_train", "std"),
            accuracy_test=("accuracy_test", "mean"),
            accuracy_test_std=("accuracy_test", "std"),
            **{size: (size, "mean") for size in ("splits", "leaves", "depth")},
            iterations=("iterations", "median"),
            search_seconds=("search_seconds", "median"),
            peak_rss_mib=("peak_rss_mib", "max"),
        )
        .reset_index()
    )
    return counted_rows(table)


def counted_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the number of runs before the kind of fold, such as "5 seeds"."""
    counts = [f"{runs} {of[:-1] if runs == 1 else of}" for runs, of in zip(table["runs"], table["rows"], strict=True)]
    return table.assign(rows=table["rows"].where(table["rows"] == FULL, counts)).drop(columns="runs")


def number(decimals: int) -> Callable[[float], str]:
    """Return a formatter of numbers with this many decimals; NaN becomes an empty string."""
    return lambda value: "" if pd.isna(value) else f"{value:,.{decimals}f}"


def limit(value: int | None) -> str:
    """Return a limit as text."""
    return "none" if pd.isna(value) else str(value)


def drop_constant(shown: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
    """Drop the named columns with one value in all rows."""
    return shown.drop(columns=[name for name in names if shown[name].nunique() == 1])


def size_text(value: float) -> str:
    """Return a mean size, as an integer if it is one."""
    if pd.isna(value):
        return ""
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def seconds(value: float) -> str:
    """Return seconds with two or three significant digits: 0.00014, 0.0014, 0.776, 4.38, 22.1, 300; empty for NaN.

    Fewer than ten microseconds are ``< 0.00001``.
    """
    if pd.isna(value):
        return ""
    if 0 < value < 1e-5:
        return "< 0.00001"
    digits = ((0.001, 5), (0.1, 4), (1, 3), (10, 2), (100, 1))
    decimals = next((decimals for limit, decimals in digits if value < limit), 0)
    return f"{value:.{decimals}f}"


def with_deviation(table: pd.DataFrame, name: str) -> pd.Series:
    """Return mean and standard deviation as text, the mean alone if there is one run."""
    mean, deviation = table[name].map(number(4)), table[f"{name}_std"].map(number(4))
    return mean + deviation.map(lambda text: f" ± {text}" if text else "")


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return the summary as text, without penalty and constraints that agree in all rows (a note has them)."""
    shown = pd.DataFrame(
        {
            **table[["dataset", "encoding", "algorithm"]],
            "lambda": table["regularization"],
            "penalty per": table["penalty"],
            **{title: table[name].map(limit) for name, title in _TITLES.items()},
            "measure": table["measure"],
            "feature costs": table["feature_costs"],
            **table[["rows", "status"]],
            "objective": table["objective"].map(number(5)),
            "gap": table["gap"].map(lambda gap: "0" if gap == 0 else number(5)(gap)),
            "accuracy": with_deviation(table, "accuracy_train"),
            "test accuracy": with_deviation(table, "accuracy_test"),
            **{size: table[size].map(size_text) for size in ("splits", "leaves", "depth")},
            "iterations": table["iterations"].map(number(0)),
            "seconds": table["search_seconds"].map(seconds),
            "MiB": table["peak_rss_mib"].map(number(0)),
        }
    )
    empty = [name for name in ("gap", "test accuracy") if not shown[name].any()]
    return drop_constant(shown.drop(columns=empty), ["penalty per", *_TITLES.values(), "measure", "feature costs"])


def _pictures(runs: pd.DataFrame, numbers: pd.Series) -> pd.Series:
    """Return the sorted picture numbers of the runs of each row of the summary."""
    own = runs.assign(number=numbers)
    listed = _grouped(own)["number"].agg(lambda some: " ".join(map(str, sorted(set(some.dropna())))))
    return listed.reset_index(drop=True)


def summary(runs: pd.DataFrame, pictures: pd.Series | None = None) -> Table:
    """Return the table of all results.

    The pictures' numbers come from :func:`optree.bench.figures.tree_pages.picture_numbers`.
    """
    table, linked = summarise(runs), {}
    shown = _shown(table)
    if pictures is not None:
        table["picture"] = _pictures(runs, pictures)
        shown.insert(1, "tree", table["picture"])
        linked = {"tree": "../plots/trees/" + table["dataset"] + ".html#{}"}
    notes = (
        "objective = accuracy (or one minus the loss of another measure) - lambda * splits (or leaves) on the training "
        "rows; gap = proven upper bound of the objective - objective, empty for heuristics; "
        "leaves = leaves that hold training rows.",
        "rows: full = trained on every row; seeds = stratified random train/test partitions; folds = folds of a "
        "cross-validation. Over seeds and folds: mean ± standard deviation of the accuracies, mean objective and "
        "sizes, median iterations and seconds, maximum gap and memory.",
        *([f"In every row: {', '.join(constant)}."] if (constant := _constant(table)) else []),
        *(["tree = number of the tree's picture on the page of the dataset's trees. Each proven run has a picture. "
           "For an algorithm without a proof, one run has a picture."] if linked else []),
        *encodings(runs),
        *provenance(runs),
    )  # fmt: skip
    return Table("Results", table, shown, notes, linked=linked)


def _constant(table: pd.DataFrame) -> list[str]:
    """Return the settings that agree in all rows of the summary, each as text."""
    if table.empty:
        return []
    one = table.iloc[0]
    texts = {"penalty": f"lambda is paid per {one['penalty']}"}
    texts |= {name: f"no {title}" if pd.isna(one[name]) else f"{title} {one[name]}" for name, title in _TITLES.items()}
    if one["measure"] != "accuracy":
        texts["measure"] = f"the measure is {one['measure']}"
    if one["feature_costs"]:
        texts["feature_costs"] = f"splits of columns cost more by {one['feature_costs']}"
    return [text for name, text in texts.items() if table[name].nunique(dropna=False) == 1]


def encodings(runs: pd.DataFrame) -> list[str]:
    """Return a sentence on each encoding: its parameters, and the thresholds of the numeric columns that it keeps."""
    parts = runs.drop_duplicates(["encoding", "encoding_parameters", "dataset"])
    totals = parts.groupby(["encoding", "encoding_parameters"], sort=False)[["thresholds", "thresholds_possible"]].sum()
    return [
        f"Encoding {name} ({parameters}) {_kept(kept, possible)}"
        for (name, parameters), (kept, possible) in zip(totals.index, totals.to_numpy(), strict=True)
    ]


def _kept(kept: int, possible: int) -> str:
    """Return the number of thresholds of numeric columns that an encoding keeps, as the end of a sentence."""
    if kept < possible:
        return f"keeps {kept:,} of {possible:,} thresholds of numeric columns: an optimal tree is optimal over these."
    return f"keeps all {possible:,} thresholds of numeric columns." if possible else "has read no numeric columns."


def _limits(runs: pd.DataFrame) -> str:
    """Return the distinct limits of the runs in one text."""
    return "; or ".join(sorted(set(limits_of(runs[list(_UNITS)].drop_duplicates()))))


def limits_of(runs: pd.DataFrame) -> list[str]:
    """Return the limits of each run, e.g. ``10 s, 4096 MiB``."""
    rows = runs[list(_UNITS)].itertuples(index=False)
    given = (
        [(value, unit) for value, unit in zip(row, _UNITS.values(), strict=True) if not pd.isna(value)] for row in rows
    )
    return [", ".join(f"{value:g} {unit}" for value, unit in limits) or "none" for limits in given]


def one_iteration(runs: pd.DataFrame) -> str:
    """Return a sentence that defines one iteration of each algorithm."""
    counted = runs[["algorithm", "iteration"]].drop_duplicates().sort_values("algorithm")
    counted = counted.groupby("iteration", sort=False)["algorithm"].agg(", ".join)
    return f"One iteration: {'; '.join(f'{names} = {text}' for text, names in counted.items())}."


def provenance(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return notes on statuses, iterations, seconds, limits, machine, versions and code; none without runs."""
    if runs.empty:
        return ()
    statuses = [f"{name} = {text}" for name, text in STATUS.items() if name in set(runs["status"])]
    return (
        f"status: {'; '.join(statuses)}.",
        one_iteration(runs),
        "seconds = wall-clock seconds of the search alone, after a warm-up; the median if the search was repeated. "
        "MiB = peak memory of the whole process, interpreter and libraries included. "
        f"Limits of a search: {_limits(runs)}.",
        *measured_on(runs),
    )


def measured_on(*frames: pd.DataFrame) -> tuple[str, ...]:
    """Return sentences on machines and days, and on each solver's code, of searches and models; none without any.

    The sentences have the first digits of digests and commits. The tables ``runs`` and ``models`` have all digits.
    """
    runs = pd.concat([pd.DataFrame(frame, columns=_MEASURED, dtype=object) for frame in frames])
    if runs.empty:
        return ()
    machines = [
        f"{_few(own['host'], 'hosts')} ({cpu}, {cores} cores, {system})"
        for (cpu, cores, system), own in runs.groupby(["cpu", "cores", "system"])
    ]
    days = sorted(set(runs["date"].str[:10]))
    period = " to ".join(dict.fromkeys((days[0], days[-1])))
    versions = sorted({version for text in set(runs["versions"]) for version in text.split(", ")})
    codes = [f"{solver} {_few(own.str[:8], 'versions')}" for solver, own in runs.groupby("solver")["code"]]
    commits = runs["commit"].dropna()
    at = f"; commit {_few(commits.str[:8] + commits.str[40:], 'commits')}" if len(commits) else ""
    return (
        f"Measured on {'; '.join(machines)}, {period}, with {', '.join(versions)}.",
        f"Code of each solver, as digests: {', '.join(codes)}{at}.",
    )


def _few(names: pd.Series, noun: str) -> str:
    """Return up to four distinct names, or their number with a noun."""
    distinct = sorted(set(names))
    return ", ".join(distinct) if len(distinct) <= 4 else f"{len(distinct)} {noun}"
