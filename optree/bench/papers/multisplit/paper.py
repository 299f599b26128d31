"""Multiway SPLIT: the open questions of its slides, answered from runs, and the figures of the slides."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from optree.bench.figures import panels, styles
from optree.bench.figures.panels import NothingToDraw
from optree.bench.figures.styles import Curve
from optree.bench.papers.claims import declare
from optree.bench.papers.multisplit.sentences import DATASETS, PROBLEM, sentences
from optree.bench.papers.spec import Paper, Results
from optree.bench.papers.verdicts import reproduced
from optree.bench.tables.comparison import geometric_mean
from optree.bench.tables.formats import Table, as_text
from optree.bench.tables.summary import provenance

_MEANS = [
    *("objective", "accuracy_train", "accuracy_test", "leaves", "depth", "decisions", "path_features"),
    "search_seconds",
]
# Formats of the mean differences.
_FORMS = {
    **{"objective": "{:+.4f}", "test accuracy": "{:+.4f}", "+-": "{:.4f}", "leaves": "{:+.1f}"},
    **{"decisions": "{:+.2f}", "time ratio": "{:.2f}"},
}


def methods(results: Results) -> Table:
    """Return means over folds, by dataset, lambda, depth and algorithm."""
    runs = results.searches[results.searches["leaves"].notna()]
    by = ["dataset", "lambda", "max_depth", "algorithm"]
    numbers = runs.assign(limited=~runs["status"].isin(["optimal", "heuristic"])).astype(dict.fromkeys(_MEANS, float))
    data = numbers.groupby(by, as_index=False, dropna=False)[[*_MEANS, "limited", "candidates_gap"]].mean()
    forms = {
        **dict.fromkeys(("objective", "accuracy_train", "accuracy_test", "candidates_gap"), "{:.4f}"),
        **dict.fromkeys(("leaves", "depth", "decisions", "path_features"), "{:.1f}"),
        **{"search_seconds": "{:.3f}", "limited": "{:.0%}", "max_depth": "{:g}"},
    }
    shown = as_text(data, forms)
    shown["max_depth"] = shown["max_depth"].replace("", "none")
    notes = (
        "Means over folds. objective = accuracy - lambda * leaves on the training rows; decisions = splits on the path "
        "of a training row; path_features = distinct columns among them; limited = share of runs that a limit ended.",
        "candidates_gap = upper bound on the gap to the best tree over the same candidate splits, with the same "
        "lookahead and greedy trees below; 0 if the search ended by itself.",
        *provenance(runs),
    )
    return Table("Multiway SPLIT: all methods", data, shown, notes)


def _differences(runs: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Return the differences of two algorithms on the same problems, and the ratio of their seconds."""
    sides = [runs[runs["algorithm"].eq(name)].set_index(PROBLEM)[_MEANS].astype(float) for name in (one, other)]
    one, other = sides[0].align(sides[1], join="inner", axis=0)
    return (one - other).assign(ratio=(one["search_seconds"] / other["search_seconds"]).clip(1e-6))


def _answer(differences: pd.DataFrame) -> dict:
    """Return the summary of a comparison."""
    gain, test = differences["objective"], differences["accuracy_test"]
    return {
        "problems": len(gain),
        "better": int((gain > 1e-9).sum()),
        "worse": int((gain < -1e-9).sum()),
        "test accuracy": test.mean(),
        "+-": 1.96 * test.std(ddof=1) / np.sqrt(len(test)),
        "time ratio": geometric_mean(differences["ratio"]),
        **differences[["objective", "leaves", "decisions"]].mean(),
    }


def _saved(runs: pd.DataFrame) -> str:
    """Return a sentence on the depth that many ways save at the best training accuracy of two ways."""
    by = ["dataset", "lambda", "split"]
    several, two = (runs[runs["algorithm"].eq(name)] for name in ("multi-repeats", "multi-two-ways"))
    best = two.groupby(by)["accuracy_train"].max().rename("best").reset_index()
    needed, reached = (
        side.merge(best, on=by).query("accuracy_train >= best - 1e-9").groupby(by)["max_depth"].min()
        for side in (two, several)
    )
    saved = (needed - reached.reindex(needed.index)).astype(float)
    if saved.empty:
        return ""
    text = f"Depth: many ways reach the best training accuracy of two ways on {saved.count() or 'none'} of {len(saved)}"
    if not saved.count():
        return f"{text} problems."
    return f"{text} problems (dataset, lambda, split), at a depth that is {saved.mean():.2f} less on average."


def _losses(runs: pd.DataFrame) -> str:
    """Return a sentence on the problems on which many ways lose to SPLIT of two ways."""
    differences = _differences(runs, "multi-repeats", "split")
    lost = differences[differences["objective"] < -1e-9]
    if lost.empty:
        return "Many ways never lose to SPLIT of two ways." if len(differences) else ""
    where = lost.groupby("dataset").size().sort_values(ascending=False)
    text = ", ".join(f"{name} ({count})" for name, count in where.items())
    return (
        f"Many ways lose to SPLIT of two ways on {len(lost)} of {len(differences)} problems: {text}; mean loss of "
        f"objective {-lost['objective'].mean():.4f}, with {lost['leaves'].mean():+.1f} leaves. Candidate thresholds "
        "differ: bins for many ways, fewer thresholds for two."
    )


def _sparsity(runs: pd.DataFrame) -> str:
    """Return a sentence on sizes of trees, without a depth limit if there are such runs.

    The slides call ShapeCART's trees "aggressively deep".
    """
    texts, largest = [], runs["lambda"].max()
    for name in ("shapecart", "shapecart-3", "sgtlearn", "shapecart-pruned", "multi-repeats", "split", "cart"):
        mine = runs[runs["algorithm"].eq(name) & runs["lambda"].eq(largest)]
        unlimited = mine["max_depth"].isna()
        deepest = mine[unlimited if unlimited.any() else mine["max_depth"].eq(mine["max_depth"].max())]
        if len(deepest):
            limit = "no limit on depth" if unlimited.any() else f"depth {mine['max_depth'].max():g}"
            mean = deepest[_MEANS].astype(float).mean()
            texts.append(
                f"{name} ({limit}) {mean['leaves']:.1f} leaves, depth {mean['depth']:.1f}, {mean['decisions']:.1f} "
                f"decisions on {mean['path_features']:.1f} columns, test accuracy {mean['accuracy_test']:.3f}"
            )
    return f"Sparsity, means at lambda {largest:g}: {'; '.join(texts)}." if texts else ""


def _claims(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the claim that holds by construction if searches end: two ways' candidates are a subset of many ways'."""
    ended = runs[runs["status"].isin(["optimal", "heuristic"])]
    gain = _differences(ended, "multi-repeats", "multi-two-ways")["objective"]
    worse = int((gain < -1e-9).sum())
    claim = "more ways are never worse than two in training objective, over the same bins"
    declared = declare(claim, "never", f"in {worse} of {len(gain)} problems", "none: exact", reproduced(not worse))
    return pd.DataFrame([declared] if len(gain) else [])


def answers(results: Results) -> Table:
    """Return the answers to the slides' questions, each a comparison of two algorithms on the same problems."""
    runs, rows = results.searches[results.searches["leaves"].notna()], []
    for question in results.printed("questions.csv"):
        differences = _differences(runs, question["what"], question["than"])
        if len(differences):
            rows.append({**question, **_answer(differences)})
    data = pd.DataFrame(rows, columns=["question", "what", "than", "problems", "better", "worse", *_FORMS])
    notes = (
        "A problem is a dataset, lambda, depth and fold (split). better, worse = numbers of problems, by training "
        "objective; objective, test accuracy, leaves, decisions = mean differences; +- = half width of the 95 % "
        "interval of the mean difference in test accuracy, as if problems were independent; time ratio = geometric "
        "mean.",
        *filter(None, (_saved(runs), _losses(runs), _sparsity(runs))),
    )
    return Table("Multiway SPLIT: the open questions", data, as_text(data, _FORMS), notes, claims=_claims(runs))


@rc_context(panels.STYLE)
def _accuracy(dataset: str, results: Results) -> Figure:
    """Draw test accuracy against leaves, depth and decisions."""
    runs = results.searches
    found = runs[runs["dataset"].eq(dataset) & runs["accuracy_test"].notna() & runs["leaves"].notna()]
    if found.empty:
        raise NothingToDraw(f"no runs on {dataset}")
    found = found.astype({"leaves": float, "max_depth": float})
    lambdas = sorted(found["lambda"].unique(), reverse=True)
    head = 0.3 + 0.15 * -(-found["algorithm"].nunique() // 5)  # Five names per line of the legend.
    figure = Figure(figsize=(8.0, head + 0.15 + 2.0 * len(lambdas)))
    looks = styles.styles(runs["algorithm"], found["algorithm"])
    columns = {"leaves": "leaves", "max_depth": "depth limit", "decisions": "decisions of a row"}
    means = found.groupby(["lambda", "algorithm", "max_depth"])[["leaves", "decisions", "accuracy_test"]].mean()
    for axes, value in zip(figure.subplots(len(lambdas), 3, squeeze=False, sharey="row"), lambdas, strict=True):
        here = means.loc[value].reset_index()
        for ax, (column, text) in zip(axes, columns.items(), strict=True):
            curves = [
                Curve(looks[name], *line[[column, "accuracy_test"]].to_numpy(float).T, np.ones(len(line), bool))
                for name, line in here.groupby("algorithm")
            ]
            styles.draw(ax, curves)
            ax.set_xlabel(text)
        axes[1].set_xticks(sorted(here["max_depth"].unique()))
        axes[0].set_ylabel(f"test accuracy\nlambda {value:g}")
    height, handles = figure.get_figheight(), styles.handles(looks)
    figure.legend(handles=handles, loc="upper left", ncols=5, borderaxespad=0.3, fontsize=7)
    figure.subplots_adjust(0.1, 0.45 / height, 0.98, 1 - head / height, 0.12, 0.42)
    return figure


PAPER = Paper(
    name="multisplit",
    title="Multiway SPLIT: splits into several intervals, with lookahead",
    tables={"methods": methods, "answers": answers, "sentences": sentences},
    figures={name: partial(_accuracy, name) for name in DATASETS},
)
