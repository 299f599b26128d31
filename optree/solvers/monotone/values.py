"""Monotone trees of numbers: their leaves predict the best numbers in order.

The best predictions of a tree's leaves are an isotonic regression over the partial order of M1: leaves whose means are
out of order predict one common mean.

==========  ==================================================================
symbol      meaning
==========  ==================================================================
W, S        weight of a leaf, and sum of its numbers above the grid's centre
gain        units of squared errors that a leaf saves (:meth:`Grid.gain`)
upper set   leaves with every leaf that must not predict less than one of them
==========  ==================================================================

M4 (parts).
**Statement**: let a be the sum of S over the sum of W of some leaves, and U the smallest upper set of greatest total
S - a W. If U is empty, all leaves predict a. Otherwise the best predictions of U and of the other leaves are found
apart.
**Proof**: let U have its best predictions, and suppose that the least of them is at most a. The leaves of this
prediction v have the mean v, or another common prediction would be better. Their total S - a W is (v - a) W <= 0.
Without them U is an upper set of no less total, and smaller: a contradiction. So all of U predicts more than a. Suppose
that the greatest prediction v of the others is above a. The total of its leaves is above 0, and with them U is an upper
set of greater total: a contradiction. Both parts together are therefore in order, and no predictions in order cost
less. If U is empty, the second argument shows that no leaf predicts more than a. The mean of the best predictions is a,
so all are a.
**Used in** `isotonic`. The upper set is the closure of greatest weight, a minimum cut (J.-C. Picard, "Maximal Closure
of a Graph and Applications to Combinatorial Problems", Management Science 1976). Source of the parts: J. Spouge,
H. Wan, W. Wilbur, "Least Squares Isotonic Regression in Two Dimensions", JOTA 2003.

M5 (partial trees).
**Statement**: the closed leaves, with their best predictions in order among themselves, and the open nodes, with their
trees of least cost without the order, cost no more than any monotone tree that completes a partial tree.
**Proof**: a completion has its predictions in the order of the closed leaves, and more conditions.
**Used in** `PartialTrees._decide`.

M6 (one more leaf).
**Statement**: the best predictions change only in sets of leaves that contain, with a leaf, all leaves that are tied to
it before: leaves of the same prediction that a chain of pairs connects. If the leaves outside of such a set are in
order with the leaves inside, they keep their predictions.
**Proof**: the multipliers of the order (Karush, Kuhn, Tucker) are positive for tied pairs only. Those outside of the
set stay, and the regression inside has its own. Pairs between both have none, and are in order.
**Used in** `ValueTrees._closed`.

Rounding. Costs are whole units, and a common prediction of several leaves is rounded as that
of one leaf. A tree of L leaves is therefore within 2 L units of the optimum, of 2^51 in the squares of a leaf.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from optree.solvers.monotone.order import upper_set
from optree.solvers.monotone.partial_trees import Node, PartialTrees
from optree.solvers.murtree.binary_columns import merge_rows, sums_of_groups
from optree.tree import Tree


class Leaves(NamedTuple):
    """Closed leaves, with their best predictions."""

    boxes: tuple
    sums: tuple  # of (W, S)
    pairs: tuple  # of (i, j): leaf i predicts no more than leaf j
    fit: tuple  # of (W, S), whose mean is the prediction of each leaf
    block: tuple  # of the leaf that names the block of each leaf; see `isotonic`
    cost: int


def isotonic(sums: Sequence[tuple[int, int]], pairs: Sequence[tuple[int, int]]) -> tuple[list[int], list]:
    """Return the block of each leaf, and W and S of leaves whose mean is the best prediction of each leaf; see M4.

    The leaves of a block have one prediction, the mean of the block. A leaf that predicts its own mean is a block, if
    that holds for all leaves of this prediction that a chain of pairs connects to it; otherwise the chain is a block.

    sums : (W, S) of each leaf; pairs : (i, j) if leaf i must not predict more than leaf j.
    """
    part: list[tuple[int, int]] = [(0, 0)] * len(sums)
    waiting = [list(range(len(sums)))]
    while waiting:
        members = waiting.pop()
        inside = set(members)
        own = [(i, j) for i, j in pairs if i in inside and j in inside]
        if all(sums[i][1] * sums[j][0] <= sums[j][1] * sums[i][0] for i, j in own):
            for i in members:
                part[i] = sums[i]
            continue
        weight, total = (sum(sums[i][k] for i in members) for k in range(2))
        place = {i: number for number, i in enumerate(members)}
        gain = [sums[i][1] * weight - total * sums[i][0] for i in members]
        upper = upper_set(gain, [(place[i], place[j]) for i, j in own])
        if upper:
            waiting += [[i for i in members if (place[i] in upper) == is_upper] for is_upper in (False, True)]
        else:
            for i in members:
                part[i] = weight, total
    tied = [(i, j) for i, j in pairs if part[i][0] * part[j][1] == part[j][0] * part[i][1]]
    block, before = list(range(len(sums))), []
    while block != before:
        before = list(block)
        for i, j in tied:
            block[i] = block[j] = min(block[i], block[j])
    pooled = {block[i] for i, (w, s) in enumerate(sums) if w * part[i][1] != s * part[i][0]}
    return [k if k in pooled else i for i, k in enumerate(block)], part


class ValueTrees(PartialTrees):
    """The search for the monotone tree of least squared errors; a leaf has no label but 0."""

    nothing = Leaves((), (), (), (), (), 0)

    def _read(self) -> None:
        """Make the groups of equal rows: W, S, squares and rows of each."""
        problem = self.task.problem
        self.grid, held = problem.target.grid(problem), problem.weights > 0
        codes, weight = problem.codes[held], self.grid.weights[held]
        above = self.grid.whole[held] - self.grid.centre
        sums = np.stack([weight, weight * above, weight * above**2 * self.grid.fine, np.ones_like(weight)], axis=1)
        if codes.shape[1]:
            first, group = merge_rows(codes)
            summed = [sums_of_groups(group, column, len(first)) for column in sums.T]
            self.codes, self.sums = codes[first], np.stack(summed, axis=1)
        else:
            self.codes, self.sums = codes[:1], sums.sum(axis=0, keepdims=True)

    def leaf(self, rows: np.ndarray) -> tuple[tuple[int, int, int], int]:
        """Return W, S and squares of a leaf, and its cost."""
        weight, total, squares, _ = self.sums[rows].sum(axis=0).tolist()
        return (weight, total, squares), squares - self._gain(weight, total) + self.paid[1]

    def _gain(self, weight: int, total: int) -> int:
        return int(self.grid.gain(float(weight), float(total)))

    def _closed(self, node: Node, state: Leaves, budget: int) -> Iterator[tuple[int, Leaves]]:
        """Yield the closed leaves with their best predictions in order, which are fitted again if the order asks."""
        (weight, total, squares), number = node.leaf, len(state.boxes)
        cost = state.cost + squares - self._gain(weight, total) + self.paid[1]
        if cost >= budget:
            return
        pairs, below = list(state.pairs), self.order.below
        for other, box in enumerate(state.boxes):
            pairs += [(other, number)] * (below(box, node.box) is not None)
            pairs += [(number, other)] * (below(node.box, box) is not None)
        sums, fit, block = (*state.sums, (weight, total)), [*state.fit, (weight, total)], [*state.block, number]
        again, changed = self._out_of_order(fit, pairs, {number}), {number}
        while again:
            changed |= again
            members = sorted(changed)
            place = {i: at for at, i in enumerate(members)}
            own = [(place[i], place[j]) for i, j in pairs if i in place and j in place]
            found, parts = isotonic([sums[i] for i in members], own)
            for i, k, part in zip(members, found, parts, strict=True):
                fit[i], block[i] = part, members[k]
            again = self._out_of_order(fit, pairs, changed)
        if len(changed) > 1:
            before = [i for i in changed if i < number]
            cost += self._saved(state.sums, state.block, before) + self._gain(weight, total)
            cost -= self._saved(sums, block, changed)
        if cost < budget:
            yield 0, Leaves((*state.boxes, node.box), sums, tuple(pairs), tuple(fit), tuple(block), cost)

    def _fitted(self, leaves: list[Node], pairs: list[tuple[int, int]]) -> tuple[int, list[int]]:
        """Return the least cost of leaves, and zeros."""
        sums = [leaf.leaf[:2] for leaf in leaves]
        saved = self._saved(sums, isotonic(sums, pairs)[0], range(len(sums)))
        return sum(leaf.leaf[2] + self.paid[1] for leaf in leaves) - saved, [0] * len(leaves)

    @staticmethod
    def _out_of_order(fit: Sequence, pairs: Sequence, changed: set[int]) -> set[int]:
        """Return the other leaves that are not above or below changed ones, and all leaves that are tied to them."""
        found: set[int] = set()
        for i, j in pairs:
            if (i in changed) != (j in changed) and fit[i][1] * fit[j][0] >= fit[j][1] * fit[i][0]:
                found.add(j if i in changed else i)
        if not found:
            return found
        tied = [(i, j) for i, j in pairs if fit[i][1] * fit[j][0] == fit[j][1] * fit[i][0]]
        waiting = list(found)
        for leaf in waiting:
            for i, j in tied:
                other = j if i == leaf else i
                if leaf in (i, j) and other not in found and other not in changed:
                    found.add(other)
                    waiting.append(other)
        return found

    def _saved(self, sums: Sequence[tuple[int, int]], block: Sequence[int], members: Iterable[int]) -> int:
        """Return the gain of some leaves, which fill their blocks."""
        whole: dict[int, tuple[int, int]] = {}
        for i in members:
            weight, total = whole.get(block[i], (0, 0))
            whole[block[i]] = weight + sums[i][0], total + sums[i][1]
        return sum(self._gain(weight, total) for weight, total in whole.values())

    def _labelled(self, tree: Tree, labels: np.ndarray) -> Tree:
        """Return a tree whose leaves of one block have one prediction, the mean of the block.

        Means of blocks in order may be out of order by rounding; the lower one is then raised.
        """
        problem, order, grid = self.task.problem, self.order, self.grid
        at, found = tree.apply(problem.codes), order.leaves(tree)
        weight = np.bincount(at, grid.weights, tree.n_nodes).astype(np.int64)
        total = np.bincount(at, grid.weights * (grid.whole - grid.centre), tree.n_nodes).astype(np.int64)
        leaves, boxes = [node for node, _ in found], [box for _, box in found]
        sums = list(zip(weight[leaves].tolist(), total[leaves].tolist(), strict=True))
        below = [
            (i, j) for i, low in enumerate(boxes) for j, high in enumerate(boxes) if order.below(low, high) is not None
        ]
        block, part = isotonic(sums, below)
        prediction, values = tree.prediction.copy(), tree.values.copy()
        weights, least = None if (problem.weights == 1).all() else problem.weights, -np.inf
        for mean in sorted({Fraction(s, w) for w, s in part}):
            own = [i for i, (w, s) in enumerate(part) if Fraction(s, w) == mean]
            for k in sorted({block[i] for i in own}):
                nodes = [leaves[i] for i in own if block[i] == k]
                value = problem.target.leaf(np.flatnonzero(np.isin(at, nodes)), weights)[1]
                least = max(least, value)
            values[[leaves[i] for i in own]] = least
        prediction[leaves] = [leaves[k] for k in block]
        return replace(tree, prediction=prediction, values=values)
