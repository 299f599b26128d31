"""The engine: exact search over sets of rows, with bounds from counts of feature pairs.

Two paths that lead to the same rows lead to the same problem, so what is known of a set of rows (an interval around
its optimal cost) is kept in one memo, as in GOSDT (Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal
Sparse Decision Trees, ICML 2020) and DL8.5 (Aglin, Nijssen, Schaus, AAAI 2020). A set is asked for a tree below a
budget and answers with it or with a bound that is not below. From one pass over pairs of features every child has its
best stump and a bound on all other trees (as in MurTree: Demirovic et al., JMLR 2022, section 4.3); children that can
still pay are deepened in small steps, of the parts of a split always the one whose bound is least: raising a bound by
one split costs exponentially more the more splits the part can afford. The root is searched best first, all below it
depth first.

Bounds and their proofs: ``kernels/bounds.py``. Complexity: one visit costs O(words of the rows * features) for each
split that its bounds cannot refuse; the number of sets is exponential in features in the worst case.

Among trees of equal cost the first one found is returned, and a leaf rather than splits that merely pay for
themselves. The order of the search depends on the data alone, never on the clock, so every machine returns the same
tree.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optree.budget import Clock, Pace
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Outcome, Trace
from optree.solvers import engine_tables as tables
from optree.solvers.kernels import engine_search as kernel
from optree.solvers.kernels.bounds import INFINITE
from optree.solvers.kernels.frames import Rules
from optree.solvers.kernels.layout import Layout, layout
from optree.solvers.spec import Parameter, Solver, Task
from optree.tree import LEAF, Tree

_SWITCHES = {
    "gain_bound": "drop splits that gain too little, for the whole subtree (B3)",
    "class_bound": "count the classes that few leaves can name (B4; binary splits)",
    "two_split_bound": "bound trees of exactly two splits (t of B2)",
    "easier_first": "deepen the part with the least bound; else the one with the greatest",
    "deepening": "raise the budget of a part in steps that double; else ask for all at once",
    "lazy": "count the pairs of a split only if its own bound can win",
    "best_first": "best first over the splits of the root; else depth first there too",
    "peek": "on a second visit, ask the memo before pairs are counted",
    "duplicates": "drop splits that are the same partition of the rows as another",
}


def _rules(scale: Scale, objective: Objective, data: Layout, on: dict[str, bool]) -> Rules:
    return Rules(
        error=scale.error,
        penalty=scale.penalty,
        margin=scale.penalty // scale.error if on["gain_bound"] else 0,
        step=min(max(2 * scale.penalty, scale.error), int(INFINITE) // 2),
        least=objective.min_samples_leaf if data.n_totals > 1 else 0,
        most_parts=int(INFINITE) // 2 // max(1, scale.penalty),
        per_leaf=objective.penalty == "leaf",
        classes=on["class_bound"],
        two_splits=on["two_split_bound"],
        **{name: on[name] for name in ("easier_first", "deepening", "lazy", "best_first", "peek", "duplicates")},
    )


class Search:
    """A search for one problem, which may be asked for the optima of several penalties in turn.

    Parameters
    ----------
    problem : Problem
    objective : Objective
        Its regularization aside, which comes with each call of :meth:`minimise`.
    switches : dict of str to bool
    """

    def __init__(self, problem: Problem, objective: Objective, switches: dict[str, bool]):
        self.constant = 0  # the loss of every tree
        losses = problem.losses(slice(None))
        if problem.costs is not None:
            least = problem.costs.min(axis=1)
            self.constant = int(losses.min(axis=1).sum())
            problem = replace(problem, costs=problem.costs - least[:, None])
        self.leaf = int(losses.sum(axis=0).min()) - self.constant
        self.problem, self.objective, self.switches = problem, objective, switches
        self.left = -1 if objective.max_depth is None else objective.max_depth
        data = layout(problem, objective.min_samples_leaf > 1) if self.leaf and self.left else None
        self.data, self.memo, self.stack, self.scale = data, None, None, None
        if data is not None:
            self.memo, self.stack = tables.new_memo(data), tables.new_stack(data, self.left)

    @property
    def counters(self) -> dict[str, int]:
        if self.data is None:
            return {"iterations": 0, "supports": 0}
        return {"iterations": int(self.stack.state[kernel.ITERATIONS]), "supports": int(self.memo.used[0])}

    def interval(self) -> tuple[int, int]:
        """(cost of the best tree in hand, lower bound), without what every tree costs."""
        if self.memo.used[0] == 0:
            return self.known, min(self.known, self.rules.penalty)
        if self.stack.state[kernel.DEPTH] < 1:
            upper, lower = int(self.memo.entry[0]["upper"]), int(self.memo.entry[0]["lower"])
        else:
            root = self.stack.frame[1]
            candidates = self.stack.order[1, : root["n_candidates"]]
            upper = int(root["upper"])
            lower = min([int(root["floor"]), *self.stack.total[1, candidates].tolist()])
            lower = max(lower, int(self.memo.entry[0]["lower"]))
        upper = min(upper, self.known)
        return upper, min(lower, upper)

    def minimise(self, scale: Scale, clock: Clock, trace: Trace, known: int | None = None, hoped: int | None = None):
        """Search for the tree of least cost.

        Parameters
        ----------
        scale : Scale
            Units of cost. What is known of sets of rows from an earlier call with others is carried over.
        clock, trace
        known : int, optional
            The cost of a tree in hand: only cheaper ones are looked for.
        hoped : int, optional
            A bound that the optimum is thought to keep. If it does not, this is found out and the search goes on.

        Returns
        -------
        (str, int, Tree or None)
            Status, lower bound, and the tree; None if none cheaper than the known one was found.
        """
        self.offset = self.constant * scale.error + (scale.penalty if self.objective.penalty == "leaf" else 0)
        leaf = self.leaf * scale.error
        self.known = leaf if known is None else min(leaf, known - self.offset)
        if self.data is None or leaf <= scale.penalty:
            status, lower = "optimal", self.known
        else:
            self._tune(scale)
            budget = self.known if hoped is None else min(self.known, hoped - self.offset + 1)
            status = self._run(budget, clock, trace)
            if status is None:
                status = self._run(self.known, clock, trace)
            lower = self.interval()[1]
        found = self.data is not None and self.scale == scale and int(self.memo.entry[0]["upper"]) < self.known
        if not found and (known is None or leaf < known - self.offset):
            return status, lower + self.offset, Tree.grow(self.problem, lambda rows, state: (LEAF, []))
        return status, lower + self.offset, self._tree() if found else None

    def _tune(self, scale: Scale) -> None:
        """Make ready for costs in these units.

        In rows an optimum is monotone and concave in the penalty, for it is a minimum of straight lines: at a smaller
        penalty it is at least the old one times the ratio, and what a tree costs does not grow; at a greater one the
        old bound holds as it is, and of the trees nothing is known.
        """
        if self.scale not in (None, scale):
            entry, old = self.memo.entry[: self.memo.used[0]], self.scale
            ratio = min(1.0, float(scale.in_rows(scale.penalty) / old.in_rows(old.penalty))) if old.penalty else 1.0
            rows = scale.row / old.row
            entry["lower"] = np.maximum(0, entry["lower"] * (ratio * rows * (1 - 1e-12)) - 1)
            if scale.in_rows(scale.penalty) > old.in_rows(old.penalty):
                entry["upper"], entry["feature"] = INFINITE, LEAF
            else:
                held = entry["upper"] < INFINITE
                entry["upper"][held] = np.ceil(entry["upper"][held] * (rows * (1 + 1e-12)) + 1)
        self.scale, self.rules = scale, _rules(scale, self.objective, self.data, self.switches)
        self.stack.stride[:] = self.rules.step

    def _run(self, budget: int, clock: Clock, trace: Trace) -> str | None:
        """Search in slices until the root is solved or a limit is reached; the status, None if no tree costs less."""
        pace, stack = Pace(clock), self.stack
        stack.state[kernel.DEPTH] = stack.state[kernel.STARTED] = 0
        stack.frame[0]["budget"] = budget
        status, code = None, kernel.PAUSED
        try:
            while status is None:
                upper, lower = self.interval()
                trace.add(upper + self.offset, lower + self.offset)
                if lower == upper:
                    status = "optimal"
                elif code == kernel.COMPLETE:
                    return None
                elif not (status := clock.limit(self.counters["iterations"])):
                    iterations = self.counters["iterations"]
                    code = kernel.search(self.data, self.memo, stack, self.rules, pace.next(iterations))
                    if code == kernel.NO_ROOM:
                        self.memo, status = tables.grow_memo(self.memo, clock, iterations)
                    elif code == kernel.NO_DEPTH:
                        status = tables.grow_stack(stack, clock, iterations)
        except KeyboardInterrupt:
            status = "interrupted"
        kernel.close(self.data, self.memo, stack, self.rules)
        return status

    def _tree(self) -> Tree:
        """The tree of the best splits seen: those of the memo, and for rows that it does not hold the best stump."""
        data, memo, problem = self.data, self.memo, self.problem

        def choose(rows: np.ndarray, state) -> tuple[int, list]:
            key, left = state
            if key is None or left == 0:
                return LEAF, []
            at = tables.look_up(memo, data, key, left)
            at = -1 if at >= 0 and memo.entry[at]["upper"] == INFINITE else at  # known at another penalty only
            f = int(memo.entry[at]["feature"]) if at >= 0 else self._stump(rows)
            if f < 0:
                return LEAF, []
            j, below = int(data.feature[f]), left - 1 if left > 0 else left
            clauses = data.clause_of[j, : problem.n_parts[j]]
            known = [None if at < 0 or clause < 0 else key & data.rows[clause] for clause in clauses]
            return j, [(words, below) for words in known]

        return Tree.grow(problem, choose, (data.rows[-1].copy(), self.left))

    def _stump(self, rows: np.ndarray) -> int:
        """The feature of the best stump of some rows, -1 if a leaf is as good."""
        rows = rows[self.problem.weights[rows] > 0]
        if not len(rows):
            return -1
        codes, loss = self.problem.codes[rows], self.problem.losses(rows)
        best, chosen = int(loss.sum(axis=0).min()) * self.rules.error, -1
        for f, j in enumerate(self.data.feature):
            order = np.argsort(codes[:, j], kind="stable")
            first = np.flatnonzero(np.diff(codes[order, j], prepend=-1))
            if np.diff(first, append=len(rows)).min() < self.rules.least:
                continue
            price = self.rules.penalty * (len(first) - 1 if self.rules.per_leaf else 1)
            cost = price + int(np.add.reduceat(loss[order], first).min(axis=1).sum()) * self.rules.error
            if cost < best:
                best, chosen = cost, f
        return chosen


def run(task: Task, seed: int, **switches: bool) -> Outcome:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    search = Search(task.problem, task.objective, switches)
    known = None if task.incumbent is None else task.cost(task.incumbent)
    status, lower, tree = search.minimise(task.scale, task.clock, task.trace, known, task.upper_bound)
    return Outcome(task.incumbent if tree is None else tree, lower, status, search.counters)


SOLVER = Solver(
    name="optree",
    title="exact search over sets of rows with pair bounds",
    paper="optree's own engine; see the module's text for its sources",
    features=("binary", "multiway"),
    penalties=("split", "leaf"),
    constraints=("max_depth", "min_samples_leaf", "costs"),
    exact=True,
    anytime=True,
    warm_start=True,
    iteration="one visit to a set of rows: its splits bounded",
    run=run,
    parameters={name: Parameter(bool, True, doc) for name, doc in _SWITCHES.items()},
)
