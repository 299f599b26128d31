"""BinOCT: the mixed-integer program of optimal classification trees with thresholds in binary.

Idea: a complete tree of the given depth, all of whose nodes split. Binary variables choose the column of each split
(f), and the bits of its threshold's position among the column's thresholds (t), by binary search. A bit of a range of
thresholds sends all rows between them to one side, in one constraint. Complexity: O(2^D (p + log n)) binary variables
and O(2^D T) constraints for depth D, p columns and T thresholds, with O(D 2^D n p log T) coefficients.

Source: S. Verwer, Y. Zhang, "Learning optimal classification trees using a binary linear program formulation", AAAI
2019. Rows with equal numbers are one row with weights.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.mip.complete_tree import CompleteTree, Splits
from optree.solvers.mip.program import Program
from optree.solvers.mip.search import ITERATION, search
from optree.tree import LEAF


def ranges(thresholds: int) -> Iterator[tuple[int, int, int, tuple[int, ...]]]:
    """Yield each range of two thresholds or more in a binary search: first, middle, last + 1, and the bits so far.

    A threshold of the upper half has a 1 as its next bit.
    """
    pending = [(0, thresholds, ())]
    while pending:
        first, end, bits = pending.pop()
        if end - first > 1:
            middle = (first + end) // 2
            yield first, middle, end, bits
            pending += [(first, middle, (*bits, 0)), (middle, end, (*bits, 1))]


def bits_of(threshold: int, thresholds: int) -> tuple[int, ...]:
    """Return the bits of a threshold's position."""
    bits, first, end = (), 0, thresholds
    while end - first > 1:
        middle = (first + end) // 2
        bits += (int(threshold >= middle),)
        first, end = (middle, end) if threshold >= middle else (first, middle)
    return bits


def threshold_of(bits: np.ndarray, thresholds: int) -> int:
    """Return the position of the threshold with these bits; bits beyond its own are not read."""
    first, end, read = 0, thresholds, iter(bits)
    while end - first > 1:
        middle = (first + end) // 2
        first, end = (middle, end) if next(read) else (first, middle)
    return first


class BinOCT:
    """The variables of BinOCT, with the paper's names.

    f : bool[m, p], the column of a split; t : bool[m, bits], the bits of its threshold; l : float[g, leaves], the leaf
    of a cell; p : bool[leaves, K], the class of a leaf; e : float[leaves, K], the errors of a leaf in a class.
    """

    def __init__(self, complete: CompleteTree, program: Program):
        self.complete, cells, self.program = complete, complete.cells, program
        inner, leaves, (g, columns) = complete.n_inner, complete.n_leaves, cells.ranks.shape
        classes = cells.weights.shape[1]
        self.f = program.variables(inner, columns)
        self.t = program.variables(inner, int(cells.thresholds.max() - 1).bit_length())
        self.l = program.variables(g, leaves, whole=False)
        self.p = program.variables(leaves, classes)
        self.e = program.variables(leaves, classes, upper=float(cells.weights.sum()), cost=1.0, whole=False)
        program.require(1, 1, (1, self.f))
        program.require(1, 1, (1, self.l))
        program.require(1, 1, (1, self.p))
        for k, weight in enumerate(cells.weights.T):
            of_class = np.flatnonzero(weight)
            if len(of_class):
                terms = (weight[None, of_class], self.l[of_class].T), (-weight.sum(), self.p[:, [k]])
                program.require(-np.inf, 0, *terms, (-1, self.e[:, [k]]))
        # the rows of a cell in a leaf lose the least of the cell or more (proof: `oct.OCT._lose`)
        program.require(0, np.inf, (1, self.e), (-cells.losses.min(axis=1)[None], self.l.T))
        for node in program.write(inner):
            for column in range(columns):
                self._send(node, column)

    def _send(self, node: int, column: int) -> None:
        """Require that the rows on each side of the threshold go to that side, if the node splits the column.

        Statement: threshold h sends the rows of rank at most h left, the others right. Proof: rank 0 is on the left of
        each threshold, and the greatest rank on the right. Take a row of another rank r, and follow the bits of h. Some
        range is the last one to have both a threshold below r and one at r or above; the next bit leaves thresholds on
        one side only, and its half is that of h. Say it leaves those at r and above: then r is above the range's first
        threshold and at most the middle, and the constraint of this range holds the row left. The other side is alike.
        Only the ones among the bits so far need to be looked at: another threshold with these ones has a 1 at the first
        bit that differs, so it lies in a higher half, and is at r or above, too.
        Used in: BinOCT. Worth: the paper's; one constraint for many thresholds.
        """
        rank, last = self.complete.cells.ranks[:, column], int(self.complete.cells.thresholds[column])
        left, right = (list(side) for side in self.complete.leaves_below(node))
        self._forbid(node, column, rank == 0, right, [], [])
        self._forbid(node, column, rank == last, left, [], [])
        for first, middle, end, bits in ranges(last):
            ones = [place for place, bit in enumerate(bits) if bit]
            zeros = [place for place, bit in enumerate(bits) if not bit]
            self._forbid(node, column, (rank > first) & (rank <= middle), right, [*ones, len(bits)], [])
            self._forbid(node, column, (rank >= middle) & (rank < end), left, [], [*zeros, len(bits)])

    def _forbid(self, node: int, column: int, rows: np.ndarray, leaves: list, ones: list, zeros: list) -> None:
        """Require that no rows are in some leaves, if a node splits the column and its threshold has such bits."""
        most = float(rows.sum())
        if most:
            row_terms = 1, self.l[np.ix_(rows, leaves)].reshape(1, -1)
            bit_terms = (most, self.t[None, node, ones]), (-most, self.t[None, node, zeros])
            upper = most * (1 + len(ones))
            self.program.require(-np.inf, upper, row_terms, (most, self.f[None, node, [column]]), *bit_terms)

    def solution(self, splits: Splits) -> np.ndarray:
        """Return the values of all variables for some splits; a node without one has the first threshold."""
        complete, cells, x = self.complete, self.complete.cells, np.zeros(self.program.size)
        is_split = splits.column != LEAF
        splits = Splits(np.where(is_split, splits.column, 0), np.where(is_split, splits.rank, 0))
        leaf = complete.route(splits)
        x[self.f[np.arange(complete.n_inner), splits.column]] = 1
        for node, (column, rank) in enumerate(zip(*splits, strict=True)):
            bits = bits_of(int(rank), int(cells.thresholds[column]))
            x[self.t[node, : len(bits)]] = bits
        x[self.l[np.arange(len(leaf)), leaf]] = 1
        weights = np.zeros((complete.n_leaves, cells.weights.shape[1]))
        np.add.at(weights, leaf, cells.weights)
        x[self.e] = weights
        predicted = np.arange(complete.n_leaves), weights.argmax(axis=1)
        x[self.p[predicted]], x[self.e[predicted]] = 1, 0
        return x

    def splits(self, x: np.ndarray) -> Splits:
        """Return the splits of a solution."""
        column, thresholds = x[self.f].argmax(axis=1), self.complete.cells.thresholds
        bits = x[self.t] > 0.5
        rank = [threshold_of(own, int(thresholds[j])) for own, j in zip(bits, column.tolist(), strict=True)]
        return Splits(column, np.array(rank))


def run(task: Task, seed: int) -> Outcome:
    """Search the program of BinOCT."""
    return search(task, seed, "binoct", BinOCT)


SOLVER = Solver(
    name="binoct",
    title="a mixed-integer program with thresholds in binary, by HiGHS: for small problems; no penalty",
    paper="Verwer, Zhang: Learning optimal classification trees using a binary linear program formulation, AAAI 2019",
    features=("binary", "numeric"),
    penalties=(),
    constraints=("max_depth",),
    needs=("max_depth",),
    exact=True,
    iteration=ITERATION,
    imports=("highspy", "scipy.sparse", "sklearn.tree"),
    run=run,
)
