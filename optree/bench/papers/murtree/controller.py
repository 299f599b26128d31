"""A controller as a perfect tree, which MurTree's section 6 names as a use of deeper trees.

The controller is the cruise control of :func:`optree.datasets.builtin.safe_accelerations`. The paper points at
dtcontrol (Ashok et al., HSCC 2020), whose controllers are decision tables, and whose trees misclassify no row.
"""

from __future__ import annotations

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from optree.bench.figures import panels
from optree.bench.figures.panels import NothingToDraw
from optree.bench.papers.murtree.other_methods import CART, PERFECT, SMALLEST, perfect_tree, runs_of
from optree.bench.papers.spec import Results
from optree.bench.tables.comparison import CERTIFIED
from optree.datasets.builtin import safe_accelerations
from optree.drawing.colours import PALETTE
from optree.tree import LEAF, Tree

DATASET = "cruise-control"
_ACTIONS = {-2: "brake", 0: "hold", 2: "accelerate"}


@rc_context(panels.STYLE)
def figure(results: Results) -> Figure:
    """Draw the greatest safe acceleration, and the leaves of the smallest perfect tree and of CART's."""
    own = runs_of(results, (SMALLEST, CART), PERFECT)
    own = own[own["dataset"].eq(DATASET)]
    found = [run for name in (SMALLEST, CART) if (run := perfect_tree(own, name)) is not None]
    if not found:
        raise NothingToDraw("no perfect trees of the controller")
    states = safe_accelerations()
    speeds, fronts, distances = (sorted({state[axis] for state in states}) for axis in range(3))
    figure = Figure(figsize=(1.5 * len(fronts) + 0.6, 1.6 * len(found) + 0.9))
    axes = figure.subplots(len(found), len(fronts), sharex=True, sharey=True, squeeze=False)
    for row, run in zip(axes, found, strict=True):
        tree = Tree.from_dict(run["tree"])
        text = f"{run['algorithm']}: {tree.n_splits} splits" + ", the fewest" * (run["status"] == CERTIFIED)
        row[0].set_ylabel(f"{text}\nspeed, m/s")
        for ax, front in zip(row, fronts, strict=True):
            chosen = [[max(states.get((speed, front, d), [np.nan])) for d in distances] for speed in speeds]
            ax.pcolormesh(distances, speeds, chosen, cmap=ListedColormap(PALETTE[: len(_ACTIONS)]), vmin=-2, vmax=2,
                          alpha=0.55, lw=0)  # fmt: skip
            _leaves(ax, tree, front, (distances[0] - 0.5, distances[-1] + 0.5), (speeds[0] - 1, speeds[-1] + 1))
            ax.grid(visible=False)
            ax.set(yticks=speeds)
    for ax, front in zip(axes[0], fronts, strict=True):
        panels.title(ax, (f"front car: {front} m/s",))
    handles = [
        Patch(color=colour, alpha=0.55, label=name) for colour, name in zip(PALETTE, _ACTIONS.values(), strict=False)
    ]
    figure.legend(handles=[*handles, Patch(fc="white", ec="0.6", label="unsafe")], loc="upper left", ncols=4)
    width, height = figure.get_size_inches()
    figure.subplots_adjust(0.65 / width, 0.5 / height, 1 - 0.1 / width, 1 - 0.62 / height, 0.08, 0.12)
    figure.supxlabel("distance, m", y=0.08 / height, va="bottom", fontsize=9)
    return figure


def _leaves(ax: Axes, tree: Tree, front: float, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Draw the borders of a tree's leaves at one speed of the car in front; the axes are ``x`` and ``y``."""
    pending = [(0, x, y)]
    while pending:
        node, x, y = pending.pop()
        if tree.feature[node] == LEAF:
            continue
        above, below = tree.children(node)
        name, _, number = tree.features[tree.feature[node]].name.partition(" <= ")
        at = float(number)
        if name == "front speed":
            pending.append((below if front <= at else above, x, y))
        elif name == "distance":
            ax.plot([at, at], y, color="0.15", lw=0.8)
            pending += [(below, (x[0], at), y), (above, (at, x[1]), y)]
        else:
            ax.plot(x, [at, at], color="0.15", lw=0.8)
            pending += [(below, x, (y[0], at)), (above, x, (at, y[1]))]
