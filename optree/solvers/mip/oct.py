"""OCT: the mixed-integer program of optimal classification trees, with axis-parallel splits.

Idea: a complete tree of the given depth. Binary variables choose the column of each split (a), whether a node splits
(d), the leaf of each row (z) and the class of each leaf (c); a real variable is the threshold (b). Complexity:
O(2^D (p + n)) variables and O(2^D n) constraints for depth D, p columns and n rows; the search is exponential in them.

Source: D. Bertsimas, J. Dunn, "Optimal classification trees", Machine Learning 106, 2017, section 3.1. The objective
is loss + lambda * splits; the paper divides the errors by the errors of one leaf. Numbers are replaced by their ranks,
divided by the number of thresholds, so that the paper's epsilon of a column is one rank. Rows with equal numbers are
one row with weights. The paper's constraints of each row, leaf and ancestor are summed over the leaves on one side of
an ancestor: `OCT._send` has the proof. Constraints that no optimal solution needs are left out: the upper bounds on the
loss of a leaf, and without a limit on rows per leaf the variables of non-empty leaves (l).
"""

from __future__ import annotations

import numpy as np

from optree.measure import ADDITIVE
from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.mip.complete_tree import CompleteTree, Splits
from optree.solvers.mip.program import Program
from optree.solvers.mip.search import ITERATION, search
from optree.tree import LEAF


class OCT:
    """The variables of OCT, with the paper's names.

    a : bool[m, p], the column of a split; b : float[m], its threshold; d : bool[m], whether a node splits; z : bool[g,
    leaves], the leaf of a cell; c : bool[leaves, K], the class of a leaf; L : float[leaves], its loss; l :
    bool[leaves], whether it has rows.
    """

    def __init__(self, complete: CompleteTree, program: Program):
        self.complete, cells, scale, objective = complete, complete.cells, complete.task.scale, complete.task.objective
        inner, leaves, (g, p), classes = complete.n_inner, complete.n_leaves, cells.ranks.shape, cells.losses.shape[1]
        self.x = cells.ranks / cells.thresholds
        self.a = program.variables(inner, p)
        self.b = program.variables(inner, whole=False)
        self.d = program.variables(inner, cost=scale.penalty / scale.error)
        self.z = program.variables(g, leaves)
        self.c = program.variables(leaves, classes)
        self.L = program.variables(leaves, upper=float(cells.losses.sum()), cost=1.0, whole=False)
        self.size = program
        program.require(0, 0, (1, self.a), (-1, self.d[:, None]))
        program.require(-np.inf, 0, (1, self.b[:, None]), (-1, self.d[:, None]))
        for node in program.write(inner):
            if node:
                program.require(-np.inf, 0, (1, self.d[None, [node]]), (-1, self.d[None, [(node - 1) // 2]]))
            self._send(program, node)
        program.require(1, 1, (1, self.z))
        program.require(1, 1, (1, self.c))
        self._lose(program)
        if objective.max_splits is not None:
            program.require(-np.inf, objective.max_splits, (1, self.d[None]))
        self.least = min(objective.min_samples_leaf, int(cells.counts.sum()))
        if self.least > 1:
            self.l = program.variables(leaves)
            for leaf in range(leaves):
                program.require(-np.inf, 0, (1, self.z[:, [leaf]]), (-1, self.l[None, [leaf]]))
            program.require(0, np.inf, (cells.counts[None], self.z.T), (-self.least, self.l[:, None]))

    def _send(self, program: Program, node: int) -> None:
        """Require that the rows of leaves on the left of a node are below its threshold, and others not.

        Statement: the paper's constraints a x >= b - (1 - z_t) for each leaf t on the right may be replaced by one with
        the sum of these z_t, and those on the left alike. Proof: a row has one leaf, so the sum is 0 or 1 in each
        solution; the sum is 1 exactly if one z_t is 1. The paper's constraints follow, as z_t is at most the sum. Used
        in: OCT. Worth: D times fewer constraints, and a greater bound of the relaxation.
        """
        left, right = (list(side) for side in self.complete.leaves_below(node))
        a, b, epsilon = self.a[None, node], self.b[None, [node]], 1 / self.complete.cells.thresholds
        program.require(-1, np.inf, (self.x, a), (-1, b), (-1, self.z[:, right]))
        least = epsilon.min()  # without a split, least <= 0 is false: no row goes left
        most = (self.x + epsilon).max(axis=1, keepdims=True)
        program.require(-np.inf, most.ravel() - least, (self.x + epsilon - least, a), (-1, b), (most, self.z[:, left]))

    def _lose(self, program: Program) -> None:
        """Require that the loss of a leaf is at least the loss of its rows for its class, and the least of each cell.

        Statement: the second constraint holds in each solution. Proof: the rows of a cell in a leaf are all predicted
        as one class, which loses the least of the cell or more. Used in: OCT. Worth: 12.8 to 5.1 s on a problem of
        depth three.
        """
        losses = self.complete.cells.losses
        program.require(0, np.inf, (1, self.L[:, None]), (-losses.min(axis=1)[None], self.z.T))
        for k, loss in enumerate(losses.T):
            most = float(loss.sum())
            program.require(-most, np.inf, (1, self.L[:, None]), (-loss[None], self.z.T), (-most, self.c[:, [k]]))

    def solution(self, splits: Splits) -> np.ndarray:
        """Return the values of all variables for some splits."""
        complete, cells = self.complete, self.complete.cells
        leaf, x = complete.route(splits), np.zeros(self.size.size)
        nodes = np.flatnonzero(splits.column != LEAF)
        columns = splits.column[nodes]
        x[self.a[nodes, columns]] = x[self.d[nodes]] = 1
        x[self.b[nodes]] = (splits.rank[nodes] + 1) / cells.thresholds[columns]
        x[self.z[np.arange(len(leaf)), leaf]] = 1
        losses = np.zeros((complete.n_leaves, cells.losses.shape[1]))
        np.add.at(losses, leaf, cells.losses)
        x[self.c[np.arange(complete.n_leaves), losses.argmin(axis=1)]] = 1
        x[self.L] = losses.min(axis=1)
        if self.least > 1:
            x[self.l[leaf]] = 1
        return x

    def splits(self, x: np.ndarray) -> Splits:
        """Return the splits of a solution; a threshold is between two ranks, or at the greater one."""
        column = x[self.a].argmax(axis=1)
        rank = np.floor(x[self.b] * self.complete.cells.thresholds[column] + 1e-4).astype(np.int64) - 1
        return Splits(np.where(x[self.d] > 0.5, column, LEAF), rank)


def run(task: Task, seed: int) -> Outcome:
    """Search the program of OCT."""
    return search(task, seed, "oct", OCT)


SOLVER = Solver(
    name="oct",
    title="a mixed-integer program with a variable for each row and leaf, by HiGHS: for small problems",
    paper="Bertsimas, Dunn: Optimal classification trees, Machine Learning 106, 2017",
    features=("binary", "numeric"),
    constraints=("max_depth", "max_splits", "min_samples_leaf", "costs"),
    needs=("max_depth",),
    measures=ADDITIVE,
    exact=True,
    iteration=ITERATION,
    imports=("highspy", "scipy.sparse", "sklearn.tree"),
    run=run,
)
