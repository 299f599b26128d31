"""Pictures of a Rashomon set: histogram of objectives, cloud of model reliance, agreement of all trees on rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log10

import numpy as np

from optree.drawing.colours import PALETTE
from optree.drawing.curves import new_axes
from optree.drawing.rashomon.sets import check_filled, column_names
from optree.errors import OptreeError
from optree.extras import imported
from optree.tree import Tree
from optree.words import count, noun

_BARS = 120  # a bar for each cost, or for each of that many intervals of cost
_LISTED = 1000  # trees of a set that are all drawn; of a larger set, a sample


def short(number: int) -> str:
    """Return a count: with all digits below ten million, else rounded to two."""
    if number < 10**7:
        return f"{number:,}"
    rounded = round(number, 1 - int(log10(number)))
    return f"{str(rounded)[0]}.{str(rounded)[1]}e{len(str(rounded)) - 1}"


def _trees(r) -> str:
    """Return the number of trees of a set."""
    return f"{short(r.count_)} {noun(r.count_, 'tree')}"


def _percent(share: float) -> str:
    """Return a share; only the whole is 100 %."""
    return "> 99.9 %" if 0.999 < share < 1 else f"{100 * share:.3g} %"


def histogram(r, ax=None):
    """Draw the number of trees by objective, with logarithmic bars; return the axes."""
    check_filled(r, "plot_histogram")
    total = r.search_.problem.total_weight * r._unit
    costs, counts = list(r.histogram_), list(r.histogram_.values())
    best, width = costs[0], float((r.certified_bound_ - costs[0]) / total)
    bars = np.array([float((cost - best) / total) for cost in costs])
    step = min(np.diff(bars), default=1 / float(total))
    if len(costs) > _BARS:
        step, sums = width / _BARS, {}
        for at, number in zip(np.minimum(bars // step, _BARS - 1).tolist(), counts, strict=True):
            sums[at] = sums.get(at, 0) + number
        bars, counts = (np.array(list(sums)) + 0.5) * step, list(sums.values())
    ax, objective = new_axes(ax), 1 - float(best / total)
    heights = np.array([log10(number) for number in counts])  # of whole numbers of any size
    low = -0.15 * max(1.0, heights.max() / 4)  # a single tree has a visible bar
    ax.bar(objective - bars, heights - low, 0.9 * step, bottom=low, color=PALETTE[0])
    ax.set(xlabel="objective (smaller to the right)", ylabel="trees", ylim=(low, None))
    ax.set_title(_trees(r), loc="left", fontsize=10)
    ticks = range(0, ceil(heights.max()) + 1, max(1, ceil(heights.max() / 6)))
    ax.set_yticks(ticks, [f"$10^{{{tick}}}$" if tick > 1 else str(10**tick) for tick in ticks])
    ax.xaxis.set_inverted(True)
    ax.locator_params(axis="x", nbins=6)
    return ax


def reliance(tree: Tree, rows: np.ndarray, times: np.ndarray, columns: Sequence[int]) -> dict[int, float]:
    """Return the model reliance of a tree on each column that it splits; see ``RashomonSet.model_reliance``.

    rows : int[groups, features + 1], the codes and the class of equal rows; times : int64[groups], their numbers.
    columns : int[features].
    """
    codes, labels, n, found = rows[:, :-1], rows[:, -1], int(times.sum()), {}
    errors = int(times[tree.predict(codes) != labels].sum())
    for column in {columns[feature] for feature in tree.used_features}:
        own = [feature for feature in tree.used_features if columns[feature] == column]
        values, number = np.unique(codes[:, own], axis=0, return_inverse=True)
        changed, switched = codes.copy(), 0
        for value, rows_of_value in zip(values, np.bincount(number.ravel(), times).tolist(), strict=True):
            changed[:, own] = value
            switched += int(rows_of_value) * int(times[tree.predict(changed) != labels].sum())
        found[column] = (switched - n * errors) / n**2
    return found


def importance_cloud(r, X, y, n_trees: int = 500, random_state=None, ax=None):
    """Draw the model reliance of trees on each column; return the axes.

    A point is a tree, the line is the range over the trees, and a triangle is the mean. The trees are all trees of a
    set of up to 1,000 trees, else a sample. The colour and the numbers on the right are the share of all trees that
    split the column.
    """
    check_filled(r, "plot_importance")
    if unknown := set(np.asarray(y).tolist()).difference(r.classes_.tolist()):
        raise OptreeError(f"plot_importance: y has {unknown.pop()!r}; the classes of the training rows are accepted")
    listed = r.count_ <= _LISTED
    models = r.best(r.count_) if listed else r.sample(n_trees, random_state)
    rows = np.column_stack([r._coded(X)[:, sorted(r._numbers)], np.searchsorted(r.classes_, y)])
    rows, times = np.unique(rows, axis=0, return_counts=True)
    columns = [int(r._sources[number]) for number in sorted(r._numbers)]
    cloud = np.zeros((len(models), r.n_features_in_))
    for row, model in zip(cloud, models, strict=True):
        for column, value in reliance(model.tree_, rows, times, columns).items():
            row[column] = value
    shown = sorted(set(columns), key=lambda column: cloud[:, column].max())
    ax, names, usage = new_axes(ax, height=1.2 + 0.27 * len(shown)), column_names(r), r.feature_usage_
    random = np.random.default_rng(0)  # of the points' heights only
    colours = imported("matplotlib", "plots", "plot_importance").colormaps["viridis_r"]
    for place, column in enumerate(shown):
        colour, values = colours(0.15 + 0.85 * usage[column]), cloud[:, column]
        ax.plot([values.min(), values.max()], [place, place], color=colour, lw=1.5, solid_capstyle="round")
        points = np.unique(values)
        ax.plot(points, place + random.uniform(-0.25, 0.25, len(points)), "o", ms=2.5, color=colour, alpha=0.6, mew=0)
        ax.plot(values.mean(), place - 0.28, "^", ms=5, color="0.25")
    ax.axvline(0, color="0.6", lw=0.8, zorder=0)
    ax.set_yticks(range(len(shown)), [names[column] for column in shown])
    ax.set(xlabel="model reliance: rise of the share of misclassified rows", ylim=(-0.7, len(shown) - 0.4))
    ax.locator_params(axis="x", nbins=6)
    trees = f"all {_trees(r)}" if listed else f"a sample of {len(models):,} of {_trees(r)}"
    ax.set_title(f"points: {trees}; triangles: means", loc="left", fontsize=10)
    right = ax.secondary_yaxis("right")
    right.set_yticks(range(len(shown)), [_percent(usage[column]) for column in shown])
    ax.text(1.01, 1.0, "trees with\na split", transform=ax.transAxes, va="bottom", fontsize=8)
    right.spines["right"].set_visible(False)
    right.tick_params(length=0)
    return ax


def agreement(r, X, ax=None):
    """Draw the share of rows by the share of trees that predict their most voted class; return the axes."""
    check_filled(r, "plot_agreement")
    most = r.votes(X).max(axis=1)
    shares, n = np.sort([number / r.count_ for number in most.tolist()]), len(most)
    values, below = np.unique(shares, return_counts=True)
    ax, sure = new_axes(ax), int((most == r.count_).sum())  # exact, where a share of many digits rounds to 1
    first = min(float(values[0]), 1 / len(r.classes_))
    ax.step(
        np.concatenate([[first], values, [1]]),
        np.concatenate([[0], np.cumsum(below), [n]]) / n,
        where="post",
        color=PALETTE[0],
    )
    ax.set(xlim=(first, 1.005), ylim=(0, 1.02), ylabel="share of rows")
    ax.set_xlabel("agreement: share of trees that predict the class with the most votes, at most")
    ax.set_title(
        f"{_trees(r)}, in agreement on {sure:,} of {count(n, 'row')} ({100 * sure / n:.3g} %)",
        loc="left",
        fontsize=10,
    )
    return ax
