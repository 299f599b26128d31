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

import numpy as np

from optree.budget import Clock, Pace
from optree.objective import Scale
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


def _rules(scale: Scale, per_leaf: bool, on: dict[str, bool]) -> Rules:
    return Rules(
        error=scale.error,
        penalty=scale.penalty,
        margin=scale.penalty // scale.error if on["gain_bound"] else 0,
        step=min(max(2 * scale.penalty, scale.error), int(INFINITE) // 2),
        most_parts=int(INFINITE) // 2 // max(1, scale.penalty),
        per_leaf=per_leaf,
        classes=on["class_bound"],
        two_splits=on["two_split_bound"],
        **{name: on[name] for name in ("easier_first", "deepening", "lazy", "best_first", "peek", "duplicates")},
    )


class _Search:
    """A search under way."""

    def __init__(self, problem: Problem, data: Layout, rules: Rules, left: int, leaf: int):
        self.problem, self.data, self.rules, self.left = problem, data, rules, left
        self.memo, self.stack = tables.new_memo(data), tables.new_stack(data, left, rules.step)
        self.leaf = leaf

    @property
    def iterations(self) -> int:
        return int(self.stack.state[kernel.ITERATIONS])

    def interval(self) -> tuple[int, int]:
        """(cost of the best tree in hand, lower bound)."""
        if not self.memo.used[0]:
            return self.leaf, min(self.leaf, self.rules.penalty)
        if self.stack.state[kernel.DEPTH] < 1:
            return int(self.memo.entry[0]["upper"]), int(self.memo.entry[0]["lower"])
        root = self.stack.frame[1]
        candidates = self.stack.order[1, : root["n_candidates"]]
        lower = min([int(root["floor"]), int(root["upper"]), *self.stack.total[1, candidates].tolist()])
        return int(root["upper"]), lower

    def run(self, clock: Clock, trace: Trace, offset: int) -> str:
        """Search in slices until the root is solved or a limit is reached; the status."""
        pace = Pace(clock)
        status = None
        try:
            while status is None:
                upper, lower = self.interval()
                trace.add(upper + offset, lower + offset)
                if lower == upper:
                    status = "optimal"
                    break
                if status := clock.limit(self.iterations):
                    break
                code = kernel.search(self.data, self.memo, self.stack, self.rules, pace.next(self.iterations))
                if code == kernel.NO_ROOM:
                    self.memo, status = tables.grow_memo(self.memo, clock, self.iterations)
                elif code == kernel.NO_DEPTH:
                    status = tables.grow_stack(self.stack, clock, self.iterations)
        except KeyboardInterrupt:
            status = "interrupted"
        kernel.close(self.data, self.memo, self.stack, self.rules)
        return status

    def tree(self) -> Tree:
        """The tree of the best splits seen: those of the memo, and for rows that it does not hold the best stump."""
        data, memo, problem = self.data, self.memo, self.problem

        def choose(rows: np.ndarray, state) -> tuple[int, list]:
            key, left = state
            if key is None or left == 0:
                return LEAF, []
            at = tables.look_up(memo, data, key, left)
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
        codes, y, weights = self.problem.codes[rows], self.problem.y[rows], self.problem.weights[rows]
        classes, sizes = len(self.problem.classes), self.problem.n_parts
        best, chosen = weights.sum() - np.bincount(y, weights, classes).max(), -1
        best = int(best) * self.rules.error
        for f, j in enumerate(self.data.feature):
            cell = codes[:, j] * classes + y
            counts = np.bincount(cell, weights, sizes[j] * classes).astype(np.int64).reshape(-1, classes)
            held = int(counts.any(axis=1).sum())
            price = self.rules.penalty * (held - 1 if self.rules.per_leaf else 1)
            cost = price + int((counts.sum(axis=1) - counts.max(axis=1)).sum()) * self.rules.error
            if cost < best:
                best, chosen = cost, f
        return chosen


def run(task: Task, seed: int, **switches: bool) -> Outcome:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    problem, objective, scale = task.problem, task.objective, task.scale
    per_leaf = objective.penalty == "leaf"
    offset = scale.penalty if per_leaf else 0  # a leaf costs that, a split of p parts p - 1 times that
    heaviest = max(int(problem.weights[problem.y == k].sum()) for k in range(len(problem.classes)))
    leaf = scale.error * (problem.total_weight - heaviest)
    data = layout(problem) if leaf > scale.penalty and objective.max_depth != 0 else None
    counters = {"iterations": 0, "supports": 0}
    if data is None:
        tree = Tree.grow(problem, lambda rows, state: (LEAF, []))
        lower, status = leaf + offset, "optimal"
    else:
        left = -1 if objective.max_depth is None else objective.max_depth
        search = _Search(problem, data, _rules(scale, per_leaf, switches), left, leaf)
        status = search.run(task.clock, task.trace, offset)
        tree, lower = search.tree(), search.interval()[1] + offset
        counters = {"iterations": search.iterations, "supports": int(search.memo.used[0])}
    return Outcome(tree, lower, status, counters)


SOLVER = Solver(
    name="optree",
    title="exact search over sets of rows with pair bounds",
    paper="optree's own engine; see the module's text for its sources",
    features=("binary", "multiway"),
    penalties=("split", "leaf"),
    constraints=("max_depth",),
    exact=True,
    anytime=True,
    iteration="one visit to a set of rows: its splits bounded",
    run=run,
    parameters={name: Parameter(bool, True, doc) for name, doc in _SWITCHES.items()},
)
