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

from optree.budget import Budget, Clock, Pace
from optree.errors import OptreeError
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Result, Trace
from optree.solvers.kernels import engine_search as kernel
from optree.solvers.kernels.bits import hash_words
from optree.solvers.kernels.bounds import INFINITE, TOP_ROWS
from optree.solvers.kernels.frames import FRAME, Rules, Stack
from optree.solvers.kernels.layout import Layout, layout
from optree.solvers.kernels.memo import ENTRY, LOW, Memo, rebuild
from optree.solvers.spec import Parameter, Solver
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


def _new_memo(data: Layout) -> Memo:
    return Memo(
        entry=np.empty(1 << 10, ENTRY),
        slot=np.full(1 << 11, -1, np.int64),
        used=np.zeros(1, np.int64),
        chain=np.empty(data.rows.shape[1], np.uint64),
    )


def _new_stack(data: Layout, left: int, step: int, depth: int = 8) -> Stack:
    """A stack with the problem in frame 0."""
    clauses, words = len(data.rows) - 1, data.rows.shape[1]
    q, width, classes = len(data.feature), len(data.bits) // words, data.n_classes
    stack = Stack(
        frame=np.zeros(depth, FRAME),
        feature=np.empty((depth, q), np.int64),
        column=np.empty((depth, q), np.int64),
        bound=np.empty((depth, q), np.int64),
        order=np.empty((depth, q), np.int64),
        total=np.empty((depth, q), np.int64),
        counts=np.empty((depth, classes + 1, width), np.int64),
        classes=np.empty((depth, classes + 1), np.int64),
        bits=np.empty((depth, words * width), np.uint64),
        runs=np.empty((depth, *data.runs.shape), np.int64),
        key=np.empty((depth, words), np.uint64),
        lower=np.empty((depth, clauses), np.int64),
        upper=np.empty((depth, clauses), np.int64),
        entry=np.empty((depth, clauses), np.int64),
        row=np.empty((2, classes + 1, width), np.int64),
        tops=np.empty((TOP_ROWS, width), np.int64),
        stump=np.empty(max(q, width), np.int64),
        source=np.empty(width, np.int64),
        stride=np.full(q, step, np.int64),
        parts=np.empty((int(np.diff(data.first_clause).max()), 3), np.int64),
        weights=np.empty(classes, np.int64),
        key_below=np.empty(words, np.uint64),
        state=np.zeros(2, np.int64),
    )
    root = stack.frame[0]
    root["left"], root["n_features"], root["n_binary"] = left, q, data.n_binary
    root["n_columns"] = 1 + clauses - q
    root["width"], root["n_runs"], root["n_classes"] = width, len(data.runs), classes
    stack.feature[0] = np.arange(q)
    stack.column[0] = 1 + data.first_clause[:-1] - np.arange(q)
    stack.bound[0] = 0
    stack.classes[0] = np.arange(classes + 1)
    stack.key[0] = data.rows[-1]
    stack.bits[0], stack.runs[0] = data.bits, data.runs
    return stack


def look_up(memo: Memo, data: Layout, key: np.ndarray, left: int) -> int:
    """The entry of a set of rows, -1 if there is none; as ``memo.find``, but in Python, which spares compiling it."""
    hashed = hash_words(key, data.salt)
    slot = hashed & (len(memo.slot) - 1)
    while memo.slot[slot] >= 0:
        at = int(memo.slot[slot] & LOW)
        entry = memo.entry[at]
        if entry["hash"] == hashed and entry["left"] == left:
            rows = data.rows[-1].copy()
            while entry["clause"] >= 0:
                rows &= data.rows[entry["clause"]]
                entry = memo.entry[entry["parent"]]
            if (rows == key).all():
                return at
        slot = (slot + 1) & (len(memo.slot) - 1)
    return -1


def _grow_memo(memo: Memo, clock: Clock, iterations: int) -> tuple[Memo, str | None]:
    """Make room for more entries, unless that would break a limit; the memo, and that limit or None."""
    slots = np.empty(2 * len(memo.slot) if 2 * (memo.used[0] + 1) > len(memo.slot) else 0, np.int64)
    full = memo.used[0] == len(memo.entry)
    if limit := clock.limit(iterations, (slots.nbytes + full * memo.entry.nbytes // 2) / 2**20):
        return memo, limit
    if full:  # in place: the system moves pages of large tables without copying them
        memo.entry.resize(len(memo.entry) + len(memo.entry) // 2, refcheck=False)
    if len(slots):
        slots[:] = -1
        memo = memo._replace(slot=slots)
        rebuild(memo)
    return memo, None


_BY_DEPTH = Stack._fields[: Stack._fields.index("row")]


def _grow_stack(stack: Stack, clock: Clock, iterations: int) -> str | None:
    """Make room for as many frames again, unless that would break a limit; that limit or None."""
    tables = [getattr(stack, name) for name in _BY_DEPTH]
    if limit := clock.limit(iterations, sum(table.nbytes for table in tables) / 2**20):
        return limit
    for table in tables:
        table.resize((2 * len(table), *table.shape[1:]), refcheck=False)
    return None


class _Search:
    """A search under way."""

    def __init__(self, problem: Problem, data: Layout, rules: Rules, left: int, leaf: int):
        self.problem, self.data, self.rules, self.left = problem, data, rules, left
        self.memo, self.stack = _new_memo(data), _new_stack(data, left, rules.step)
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
                    self.memo, status = _grow_memo(self.memo, clock, self.iterations)
                elif code == kernel.NO_DEPTH:
                    status = _grow_stack(self.stack, clock, self.iterations)
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
            at = look_up(memo, data, key, left)
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


def run(problem: Problem, objective: Objective, budget: Budget, seed: int, **switches: bool) -> Result:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    if problem.codes.min() < 0:
        raise OptreeError("solver optree: codes of -1 (unseen categories) are not accepted in training rows")
    clock = budget.start()
    scale = objective.scale(problem.total_weight)
    trace = Trace(clock)
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
        status = search.run(clock, trace, offset)
        tree, lower = search.tree(), search.interval()[1] + offset
        counters = {"iterations": search.iterations, "supports": int(search.memo.used[0])}
    cost = objective.cost(tree, scale, tree.errors(problem))
    trace.add(cost, lower)
    return Result(tree, cost, lower, scale, status, counters, clock.seconds(), trace.points())


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
