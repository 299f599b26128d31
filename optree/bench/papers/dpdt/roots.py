"""Figures 4 and 5 of the DPDT paper: the candidate splits of the root beside the root of an optimal tree.

The paper shows the two sides of each split in a t-SNE projection of the rows. Here a split has one number: the share of
rows that it sends to the same side as the optimum's root. Which side is called left does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import cycle
from typing import NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from optree.bench.figures.panels import STYLE, NothingToDraw
from optree.bench.papers.spec import Results
from optree.bench.papers.verdicts import Finding, agreement, reproduced
from optree.drawing.colours import PALETTE

OPTIMUM = "roots-optimal"
GENERATORS = {
    "roots-cart": "DPDT: splits of a CART",
    "roots-top": "Top-B: the best of all splits",
    "roots-top-columns": "the best split of each column",
}
_ALIKE = 0.95  # share of rows on the same side, from which a split resembles another
_PRINTED = "x0 <= 0.259"
_CANDIDATE = "a candidate split of the root"
_RESEMBLES = "a candidate split of the root that resembles the optimum's"
_ANY, _COLUMNS = "resembles the optimum's root", "columns of the candidate splits of the root"
TOLERANCES = {
    _CANDIDATE: "the printed digits",
    _COLUMNS: "none: exact",
    **dict.fromkeys((_RESEMBLES, _ANY), f"{100 * _ALIKE:.0f} % of the rows on the same side"),
}


class _Root(NamedTuple):
    """A candidate split of the root, and the share of rows on the same side as at the optimum's root."""

    test: str
    same: float

    @property
    def column(self) -> str:
        """Return the name of the split's column."""
        return self.test.split(" <= ")[0]

    @property
    def threshold(self) -> str:
        """Return the threshold of the split, as text."""
        return self.test.split(" <= ")[1]

    @property
    def short(self) -> str:
        """Return the test with four digits of the threshold."""
        return f"{self.column} <= {float(self.threshold):.4g}"

    def __str__(self) -> str:
        return f"{self.short}, {100 * self.same:.1f} % of rows"


def _sides(split: list[str], n: int) -> np.ndarray:
    """Return the rows that a recorded split sends left, bool[n]."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(split[1]), np.uint8), count=n).astype(bool)


def _roots(results: Results) -> dict[str, list[_Root]]:
    """Return the candidate splits of each generator, the most similar to the optimum's root first."""
    runs = results.models[results.models["root_splits"].map(len) > 0].set_index("model")
    if OPTIMUM not in runs.index or runs.loc[OPTIMUM, "status"] != "optimal":
        return {}
    (optimum,), n = runs.loc[OPTIMUM, "root_splits"], int(runs.loc[OPTIMUM, "rows_train"])
    left, found = _sides(optimum, n), {OPTIMUM: [_Root(optimum[0], 1.0)]}
    for model in [model for model in GENERATORS if model in runs.index]:
        splits = runs.loc[model, "root_splits"]
        shares = [float((_sides(split, n) == left).mean()) for split in splits]
        roots = [_Root(test, max(share, 1 - share)) for (test, _), share in zip(splits, shares, strict=True)]
        found[model] = sorted(roots, key=lambda root: -root.same)
    return found


def _named(printed: str, roots: list[_Root]) -> list[_Root]:
    """Return the candidate splits of the printed column whose threshold has the printed digits."""
    column, threshold = printed.split(" <= ")
    return [root for root in roots if root.column == column and agreement(threshold, Fraction(root.threshold))]


def _judge_candidate(printed: str, roots: list[_Root]) -> Finding:
    """Judge whether a printed split is a candidate."""
    named = _named(printed, roots)
    return Finding(str(named[0]) if named else "none", "", reproduced(bool(named)))


def _judge_resemblance(printed: str, roots: list[_Root]) -> Finding:
    """Judge whether a printed candidate resembles the optimum's root; show the candidate that is most similar to it."""
    alike = any(root.same >= _ALIKE for root in _named(printed, roots))
    return Finding(str(roots[0]), "", reproduced(alike))


def _judge_any(printed: str, roots: list[_Root]) -> Finding:
    """Judge whether some candidate, or none, resembles the optimum's root."""
    return Finding(str(roots[0]), "", reproduced((roots[0].same >= _ALIKE) == (printed == "yes")))


def _judge_columns(printed: str, roots: list[_Root]) -> Finding:
    """Judge the number of columns that the candidates split."""
    columns = {root.column for root in roots}
    return Finding(str(len(columns)), "", reproduced(len(columns) == int(printed)))


_CLAIMS = [
    ("roots-cart", _CANDIDATE, _PRINTED, _judge_candidate),
    ("roots-cart", _RESEMBLES, _PRINTED, _judge_resemblance),
    ("roots-cart", _ANY, "yes", _judge_any),
    ("roots-top", _COLUMNS, "1", _judge_columns),
    ("roots-top", _ANY, "no", _judge_any),
    ("roots-top-columns", _ANY, "no", _judge_any),
]


def claims(results: Results) -> Iterator[tuple]:
    """Yield claims on the candidate splits of the root, from the caption of Figure 4 and section 6.1.2."""
    found = _roots(results)
    for model, name, printed, judge in _CLAIMS:
        yield "bank", model, name, printed, found.get(model), judge


@rc_context(STYLE)
def figure(results: Results) -> Figure:
    """Draw Figures 4 and 5: for each candidate split of the root, its rows on the sides of the optimum's root."""
    found = _roots(results)
    if not set(GENERATORS) & set(found):
        raise NothingToDraw("no candidate splits beside an optimal tree's root")
    (optimum,) = found.pop(OPTIMUM)
    columns = sorted({root.column for roots in found.values() for root in roots} | {optimum.column})
    colours = dict(zip(columns, cycle(PALETTE)))
    result = Figure(figsize=(2.5 * len(found) + 0.3, 3.3))
    for ax, (model, roots) in zip(result.subplots(1, len(found), squeeze=False)[0], found.items(), strict=True):
        for place, root in enumerate(roots):
            ax.plot([50, 100 * root.same], [place, place], color="0.85", lw=0.8, zorder=1)
            ax.plot(100 * root.same, place, "o", color=colours[root.column])
        ax.set_yticks(range(len(roots)), [root.short for root in roots], fontsize=7)
        ax.axvline(100 * _ALIKE, color="0.5", ls=":", lw=0.8)
        ax.set(xlim=(50, 101), ylim=(15.5, -0.7), title=GENERATORS[model], xlabel="rows on the same side, %")
        ax.grid(axis="y", visible=False)
    handles = [Line2D([], [], marker="o", ls="", color=colours[column], label=column) for column in columns]
    result.legend(
        handles=handles,
        title=f"the optimum's root: {optimum.short}",
        loc="upper left",
        ncols=len(columns),
        alignment="left",
    )
    result.subplots_adjust(left=0.12, right=0.98, bottom=0.14, top=0.78, wspace=0.55)
    return result
