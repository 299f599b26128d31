"""Figures of the GOSDT paper (ICML 2020), drawn from runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from optree.bench.figures import panels, styles
from optree.bench.figures.panels import NothingToDraw
from optree.bench.figures.styles import Curve
from optree.bench.papers.spec import Results
from optree.bench.runs.folds import FULL
from optree.datasets.builtin import points_of_bucketization
from optree.drawing import views
from optree.drawing.colours import PALETTE
from optree.drawing.layout import inches
from optree.tree import LEAF, Tree
from optree.words import count


def four_class(runs: pd.DataFrame) -> list[pd.Series]:
    """Return a run for each measure on the four-class data at lambda = 0.01, in the order of the records."""
    same = runs["dataset"].eq("fourclass") & runs["lambda"].eq(0.01) & runs["penalty"].eq("leaf")
    found = runs[same & runs["split"].eq(FULL) & runs["algorithm"].isin(("gosdt", "roc")) & runs["tree"].notna()]
    found = found[found["encoded_features"].eq(found["encoded_features"].max())]  # The encoding with all six columns.
    return [run for _, run in found.drop_duplicates("measure").iterrows()]


def _page(number: int, width: float = 2.6, height: float = 2.4, columns: int = 3) -> tuple[Figure, list[Axes]]:
    """Return a figure with empty panels."""
    columns = min(columns, 2 if number == 4 else number)
    rows = -(-number // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, place + 1) for place in range(number)]


def _curve(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the false and true positive rates of a tree's leaves in their order."""
    counts = tree.counts[(tree.feature == LEAF) & tree.counts.any(axis=1)].astype(float)
    steps = counts[np.argsort(-counts[:, 1] / counts.sum(axis=1), kind="stable")]
    points = np.vstack([[0, 0], steps.cumsum(axis=0)]) / counts.sum(axis=0)
    return points[:, 0], points[:, 1]


def rates(tree: Tree) -> np.ndarray:
    """Return the false and the true positive rate of a tree's predictions."""
    leaf = tree.feature == LEAF
    return tree.counts[leaf & (tree.prediction == 1)].sum(axis=0) / tree.counts[leaf].sum(axis=0)


@rc_context(panels.STYLE)
def roc(results: Results) -> Figure:
    """Draw Figure 2: ROC curves of the training rows, with the points of the trees' predictions."""
    found = four_class(results.searches)
    if not found:
        raise NothingToDraw("no runs on four-class data")
    figure, axes = _page(2, 3.6, 3.4, 2)
    for number, run in enumerate(found):
        tree, colour = Tree.from_dict(run["tree"]), PALETTE[number % len(PALETTE)]
        x, y = _curve(tree)
        area = float(np.trapezoid(y, x))
        for ax in axes:
            proven = "" if run["status"] == "optimal" else " (not proven)"
            style = ("-", "--", ":")[number % 3]
            ax.plot(x, y, style, color=colour, lw=1.2, label=f"{run['measure']}, area {area:.4f}{proven}")
            ax.plot(*rates(tree), "o", color=colour, ms=5, mec="white", mew=0.6, zorder=3)
    axes[1].set(xlim=(-0.01, 0.3), ylim=(0.7, 1.01), title="the upper left corner")
    for ax in axes:
        ax.set(xlabel="false positive rate", ylabel="true positive rate")
    axes[0].legend(loc="lower right", fontsize=7)
    axes[0].set_title("the points are the trees' predictions")
    return figure


@rc_context(panels.STYLE)
def trees(results: Results) -> Figure:
    """Draw Figure 3: the trees of the objectives."""
    found = four_class(results.searches)
    if not found:
        raise NothingToDraw("no runs on four-class data")
    grown = [Tree.from_dict(run["tree"]) for run in found]
    sizes = np.array([inches(tree) for tree in grown])
    sizes = np.vstack([sizes, np.zeros((len(sizes) % 2, 2))]).reshape(-1, 2, 2)  # Two per row.
    widths, heights = sizes[:, :, 0].max(axis=0), sizes[:, :, 1].max(axis=1) + 0.4
    figure = Figure(figsize=(widths.sum() + 0.5, heights.sum()))
    spec = figure.add_gridspec(len(heights), 2, width_ratios=widths, height_ratios=heights, wspace=0.05, hspace=0.15)
    figure.subplots_adjust(0.02, 0.01, 0.98, 0.97)
    for number, (run, tree) in enumerate(zip(found, grown, strict=True)):
        ax = figure.add_subplot(spec[number // 2, number % 2])
        views.plot(tree, ax)
        _in_inches(ax, widths[number % 2], heights[number // 2] - 0.4)
        leaves = count(run["leaves"], "leaf", "leaves")
        ax.set_title(f"{run['measure']}: {leaves}, loss {run['loss_train']:.4f}", loc="left")
    return figure


def _in_inches(ax: Axes, width: float, height: float) -> None:
    """Set the limits of a tree's axes to the scale of its larger neighbours, centred at the top."""
    middle, top = sum(ax.get_xlim()) / 2, ax.get_ylim()[1]
    ax.set(xlim=(middle - width / 2, middle + width / 2), ylim=(top - height, top))


@rc_context(panels.STYLE)
def bucketization(results: Results) -> Figure:
    """Draw Figure 1: the points of Theorem 3.1, and the optimal trees over all thresholds and over bucketized ones."""
    if not results.searches["dataset"].str.startswith("bucketization").any():
        raise NothingToDraw("no runs on the points of Theorem 3.1")
    figure, axes = _page(2, 3.4, 3.4, 2)
    points, label, buckets = points_of_bucketization()
    for ax, name in zip(axes, ("bucketization", "bucketization-bucketized"), strict=True):
        same = results.searches["dataset"].eq(name) & results.searches["status"].eq("optimal")
        for kind, marker in ((0, "o"), (1, "^")):
            ax.plot(*points[label == kind].T, marker, color=PALETTE[kind], ms=4, label=f"class {kind}")
        ax.set(xlabel="x", ylabel="y", xlim=(-1, 77), ylim=(-1, 77))
        if not same.any():
            ax.set_title(f"{name}: not run")
            continue
        run = results.searches[same].iloc[0]
        values = points if name == "bucketization" else buckets
        _cells(ax, Tree.from_dict(run["tree"]), points, values)
        right = int(run["rows_train"] - run["errors_train"])
        ax.set_title(
            f"{'all thresholds' if values is points else 'bucketized'}: {right} of 77 right, proven", loc="left"
        )
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


def _cells(ax: Axes, tree: Tree, points: np.ndarray, values: np.ndarray) -> None:
    """Draw the thresholds of a tree over ``values`` (of each point, per axis) in the coordinates of ``points``."""

    def draw(node: int, low: np.ndarray, high: np.ndarray) -> None:
        if tree.feature[node] == LEAF:
            return
        name, _, threshold = tree.features[tree.feature[node]].name.partition(" <= ")
        axis = "xy".index(name)
        inside = values[:, axis] <= float(threshold)
        at = (points[inside, axis].max() + points[~inside, axis].min()) / 2
        other = [low[1 - axis], high[1 - axis]]
        ax.plot(*([[at, at], other] if axis == 0 else [other, [at, at]]), color="0.2", lw=1.4)
        for right, child in enumerate(tree.children(node)):
            bounds = (low.copy(), high.copy())
            bounds[1 if right else 0][axis] = at
            draw(child, *bounds)

    draw(0, np.array([-1.0, -1.0]), np.array([77.0, 77.0]))


def _against_leaves(runs: pd.DataFrame, fact: str, label: str) -> Figure:
    """Draw accuracy against leaves, means over folds: a panel per dataset, a line per algorithm."""
    same = runs[runs[fact].notna() & runs["measure"].eq("accuracy") & runs["leaves"].notna() & runs["split"].ne(FULL)]
    same = same[~same["dataset"].str.startswith("bucketization")]
    setting = ["dataset", "algorithm", "regularization", "max_depth"]
    means = same.groupby(setting, dropna=False)[[fact, "leaves"]].mean().astype(float).reset_index()
    names, looks = sorted(means["dataset"].unique()), styles.styles(runs["algorithm"], means["algorithm"])
    if not names:
        raise NothingToDraw("no runs on seeds")
    figure, axes = _page(len(names))
    for ax, name in zip(axes, names, strict=True):
        lines = means[means["dataset"].eq(name)].sort_values("leaves").groupby("algorithm")
        styles.draw(
            ax,
            [
                Curve(looks[algorithm], *line[["leaves", fact]].to_numpy(float).T, np.ones(len(line), bool))
                for algorithm, line in lines
            ],
        )
        ax.set_title(name, loc="left")
        ax.set(xlabel="leaves", ylabel=label)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    figure.legend(handles=styles.handles(looks), loc="outside upper left", ncols=min(len(looks), 3))
    return figure


@rc_context(panels.STYLE)
def train_accuracy(results: Results) -> Figure:
    """Draw Figure 4: training accuracy against leaves."""
    return _against_leaves(results.searches, "accuracy_train", "training accuracy")


@rc_context(panels.STYLE)
def test_accuracy(results: Results) -> Figure:
    """Draw Figure 5: test accuracy against leaves."""
    return _against_leaves(results.searches, "accuracy_test", "test accuracy")


def lines(
    results: Results, rows: pd.DataFrame, by: str, x: tuple[str, str], y: tuple[str, str], *size: float
) -> Figure:
    """Draw a panel per value of a column, a line per algorithm, and open markers where a limit ended the search.

    ``rows`` are the runs of the figure; ``x`` and ``y`` are a column and its label.
    """
    names, looks = sorted(rows[by].unique()), styles.styles(results.searches["algorithm"], rows["algorithm"])
    figure, axes = _page(len(names), *size)
    for ax, name in zip(axes, names, strict=True):
        here = rows[rows[by].eq(name)]
        curves = [
            Curve(looks[name], *line[[x[0], y[0]]].to_numpy(float).T, line["ended"].to_numpy(bool))
            for name, line in here.sort_values(x[0]).groupby("algorithm")
        ]
        styles.draw(ax, curves)
        for axis, column in ((ax.xaxis, x[0]), (ax.yaxis, y[0])):
            panels.log_axis(axis, here.loc[here[column] > 0, column].tolist() or [1.0])
        ax.set(xlabel=x[1], ylabel=y[1])
        ax.set_title(name, loc="left")
    columns = max(1, min(4, int(figure.get_figwidth() / 1.4)))
    figure.legend(handles=styles.legend(looks, rows["ended"]), loc="outside upper left", ncols=columns)
    return figure


def of_cuts(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of Figure 6, with ``times``, seconds as multiples of the algorithm's minimum, and ``ended``."""
    same = runs["encoding"].str.startswith("cuts-") & runs["lambda"].isin((0.03125, 0.0)) & runs["split"].eq(FULL)
    same &= ~runs["dataset"].str.startswith("bucketization")  # Theorem 3.1
    rows = runs[same & runs["measure"].eq("accuracy") & runs["search_seconds"].notna()].copy()
    minimum = rows.groupby(["dataset", "algorithm"])["search_seconds"].transform("min")
    return rows.assign(times=rows["search_seconds"] / minimum, ended=rows["status"].isin(("optimal", "heuristic")))


@rc_context(panels.STYLE)
def slowdown(results: Results) -> Figure:
    """Draw Figure 6: seconds, as multiples of the algorithm's minimum, against the number of binary columns."""
    rows = of_cuts(results.searches)
    if rows.empty:
        raise NothingToDraw("no runs on encodings with several numbers of thresholds")
    x, y = ("encoded_features", "binary columns"), ("times", "seconds / minimum seconds")
    return lines(results, rows, "dataset", x, y, 3.2, 2.8)


@rc_context(panels.STYLE)
def times(results: Results) -> Figure:
    """Draw seconds to the proof against lambda (Appendix I)."""
    runs = results.searches
    same = runs["algorithm"].isin(("gosdt", "gosdt-cpp", "osdt", "optree", "roc", "pygosdt")) & runs["split"].eq(FULL)
    rows = runs[same & runs["search_seconds"].notna() & ~runs["dataset"].str.startswith("bucketization")]
    panel = rows["dataset"] + ", " + rows["encoding"] + "\n" + rows["measure"]
    rows = rows.assign(ended=rows["status"].eq("optimal"), panel=panel)
    rows = rows[rows.groupby("panel")["lambda"].transform("nunique") > 1]
    if rows.empty:
        raise NothingToDraw("no runs at several lambdas")
    return lines(results, rows, "panel", ("lambda", "lambda"), ("search_seconds", "seconds"))
