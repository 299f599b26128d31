"""Test accuracy and splits over ten folds, as Figures 13 to 16 of the published paper report them.

Source: A. Chaouki, J. Read, A. Bifet, "Branches: Efficiently Seeking Optimal Sparse Decision Trees via AO*", ICML 2025,
PMLR 267. The published figures are not among the printed numbers, so there are no claims.
"""

from __future__ import annotations

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from optree.bench.figures import panels, styles
from optree.bench.figures.panels import NothingToDraw
from optree.bench.papers.spec import Results

FOLDS = 10
PROBLEM = ["dataset", "encoding", "lambda"]
MEASURES = {"accuracy_test": "test accuracy", "splits": "splits"}
_ROOM = 0.7  # of the distance of two problems, for the lines of all algorithms


def quartiles(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the quartiles of each measure over the folds, by problem and algorithm, where all folds were run."""
    same = runs["split"].str.endswith(f"of{FOLDS}") & runs["penalty"].eq("split") & runs["max_depth"].isna()
    folds = runs[same & runs["accuracy_test"].notna()]
    by_problem = folds.groupby([*PROBLEM, "algorithm"])
    whole = folds[by_problem["split"].transform("nunique").eq(FOLDS)]
    return whole.groupby([*PROBLEM, "algorithm"])[list(MEASURES)].quantile([0.25, 0.5, 0.75]).unstack()


@rc_context(panels.STYLE)
def figure(results: Results) -> Figure:
    """Draw the median and the quartiles of test accuracy and splits over ten folds, a row for each problem."""
    found = quartiles(results.searches)
    if found.empty:
        raise NothingToDraw("no runs of ten folds; the level full has them")
    names = list(dict.fromkeys(found.index.get_level_values("algorithm")))
    looks = styles.styles(results.searches["algorithm"].unique(), names)
    problems = found.groupby(PROBLEM, sort=False).ngroup()
    page = Figure(figsize=(7.2, 1.1 + 0.34 * (problems.max() + 1)), layout="constrained")
    axes = page.subplots(1, len(MEASURES), sharey=True)
    for ax, (measure, label) in zip(axes, MEASURES.items(), strict=True):
        for place, name in enumerate(names):
            own = found.xs(name, level="algorithm")[measure]
            at = problems.xs(name, level="algorithm") + _ROOM * ((place + 0.5) / len(names) - 0.5)
            ax.hlines(at, own[0.25], own[0.75], color=looks[name].colour)
            ax.plot(own[0.5], at, looks[name].marker, color=looks[name].colour, label=name)
        ax.set(xlabel=label)
        ax.grid(visible=False, axis="y")
    titles = [f"{dataset}, {encoding}" for dataset, encoding, _ in problems.groupby(PROBLEM, sort=False).first().index]
    axes[0].set_yticks(range(len(titles)), titles)
    axes[0].invert_yaxis()
    page.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(names))
    return page
