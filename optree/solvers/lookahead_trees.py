"""The trees of SPLIT and LicketySPLIT, put together from searches.

*SPLIT* searches the root with some lookahead, which fixes so many levels; the subtrees below are the greedy ones that
the search valued them by, or with ``polish`` the best of their depth.

*LicketySPLIT* searches for the root's best split with some lookahead, takes the split alone, and searches both parts
again in the same way, which makes a leaf of them where no split pays; in the end a leaf is taken wherever it costs no
more. Source: V. Babbar, H. McTavish, C. Rudin, M. Seltzer, "Near-Optimal Decision Trees in a SPLIT Second", ICML 2025,
Algorithm 2. Three things matter: parts are searched for their best split even if, with greedy trees below it, a leaf
costs less; the greedy trees that value a split are greedy to the last level but one, since a better estimate of some
splits can lead away from the better tree; and of splits of equal value the first few are gone on with, not just one.

So the tree costs no more than LicketySPLIT's, with the same greedy trees and the first of equal splits. Proof, by
induction on the depth: the split that it takes is one of those gone on with, the trees of its parts cost no more than
its own by induction, and it takes the least of the same leaf and a split's. Nor does the tree cost more than the least
value v of a split, so no more than the greedy tree, whose split is one of the candidates. For the trees of the parts
cost no more than the greedy ones, by induction, which add up to v where lookahead is one level. Where only leaves and
stumps are below the lookahead, the search is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from optree.solvers.kernels.stumps import INFINITE
from optree.solvers.plans import Plan

if TYPE_CHECKING:
    from optree.solvers.lookahead import Search
    from optree.solvers.lookahead_options import Options

_MOST = int(INFINITE)
_TIES = 4  # splits of equal value that are gone on with: two or three, as a rule, but there may be hundreds


class Trees:
    """Reads trees from a search: what is left of the lookahead says what is asked of each subtree."""

    def __init__(self, search: Search, options: Options, cut: np.ndarray):
        self.search, self.options, self.cut = search, options, cut

    def looks(self, look: int, depth: int) -> list[int]:
        """What to search a subtree with, which begins with ``look`` left; the best tree found is taken."""
        return [0, depth] if look == 0 and self.options.polish else [look]

    def read(self, rows: np.ndarray, used: np.ndarray, depth: int, look: int) -> Plan:
        """The tree of some rows."""
        if depth == 0:
            return Plan()
        tried = [(asked, self.search.ask(rows, used, depth, asked)) for asked in self.looks(look, depth)]
        return self.best_of(tried, rows, used, depth)

    def best_of(self, tried: list[tuple[int, int | None]], rows: np.ndarray, used: np.ndarray, depth: int) -> Plan:
        """The best tree of some rows of those that they were searched for with some lookahead."""
        search = self.search
        if search.status:  # what the greedy tree of these rows is may be known all the same
            tried = [*tried, (0, search.ask(rows, used, depth, 0))]
        look, at = min(tried, key=lambda pair: (search.value(pair[1]), -pair[0]))
        return self.join(rows, used, depth, search.split(at), lambda *part: self.read(*part, max(0, look - 1)))

    def join(self, rows: np.ndarray, used: np.ndarray, depth: int, split: tuple[int, ...], make: Callable) -> Plan:
        """The tree of a split; ``make`` gives that of a part, from its rows, features used and depth."""
        if not split:
            return Plan()
        search, below = self.search, self.after(used, split)
        starts = tuple(int(self.cut[column - 1]) + 1 for column in split)
        parts = tuple(make(part, below, depth - 1) for part in search.parts(rows, split))
        return Plan(int(search.data.feature[split[0]]), starts, parts)

    def after(self, used: np.ndarray, split: tuple[int, ...]) -> np.ndarray:
        """The features that may not be split below a split."""
        if self.search.rules.repeat:
            return used
        used = used.copy()
        used[self.search.data.feature[split[0]]] = 1
        return used


class Once(Trees):
    """SPLIT.

    Attributes
    ----------
    lower : int
        What the search proved of the least cost.
    """

    def plan(self, rows: np.ndarray, used: np.ndarray, depth: int, look: int) -> Plan:
        """The tree of all rows."""
        search, tried, best = self.search, [], _MOST
        for asked in range(look + 1) if self.options.deepening else self.looks(look, depth):
            budget = min(best + 1, _MOST) if self.options.deepening else _MOST
            tried.append((asked, search.ask(rows, used, depth, asked, budget)))
            best = min(best, search.value(tried[-1][1]))
            self.lower = min(search.floor, best)
        return self.best_of(tried, rows, used, depth)


class _Kept(NamedTuple):
    """The best tree of some rows: its cost, its split, and whether the parts were searched again."""

    cost: int
    split: tuple[int, ...] = ()
    again: bool = False


class Again(Trees):
    """LicketySPLIT."""

    def __init__(self, search: Search, options: Options, cut: np.ndarray):
        super().__init__(search, options, cut)
        self.known: dict[tuple[bytes, bytes, int], _Kept] = {}

    def plan(self, rows: np.ndarray, used: np.ndarray, depth: int, look: int) -> Plan:
        """The tree of some rows."""
        kept = self.best(rows, used, depth, look)
        if kept.again:
            return self.join(rows, used, depth, kept.split, lambda *part: self.plan(*part, look))
        return self.join(rows, used, depth, kept.split, lambda *part: self.read(*part, min(look, depth) - 1))

    def best(self, rows: np.ndarray, used: np.ndarray, depth: int, look: int) -> _Kept:
        """The best tree of some rows."""
        key = rows.tobytes(), used.tobytes(), depth
        if key not in self.known:
            find = self._solve if look >= depth - 1 else self._choose
            self.known[key] = find(rows, used, depth, look)
        return self.known[key]

    def _solve(self, rows: np.ndarray, used: np.ndarray, depth: int, look: int) -> _Kept:
        """The best tree of all: there are but leaves and stumps below the lookahead."""
        at = self.search.ask(rows, used, depth, look)
        return _Kept(self.search.value(at), self.search.split(at))

    def _choose(self, rows: np.ndarray, used: np.ndarray, depth: int, look: int) -> _Kept:
        """A leaf, or the best tree below one of the splits of least value."""
        search = self.search
        at = search.ask(rows, used, depth, look, split=True)
        found = _Kept(search.value(at), search.split(at))
        if search.status:
            greedy = search.ask(rows, used, depth, 0)
            return min(found, _Kept(search.value(greedy), search.split(greedy)), key=lambda kept: kept.cost)
        best = _Kept(search.leaf)
        for split in search.ties(at)[:_TIES] if found.split else []:
            below = self.after(used, split)
            cost = sum(self.best(part, below, depth - 1, look).cost for part in search.parts(rows, split))
            if cost < best.cost:
                best = _Kept(cost, split, True)
        return min(best, found, key=lambda kept: kept.cost)  # the latter if a limit ended the search of a part
