"""The engine's search for one problem: its tables, its interval at any time, and its tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optree.budget import Clock
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Trace
from optree.solvers.driver import Room, drive
from optree.solvers.engine import depth_first
from optree.solvers.engine import memory as tables
from optree.solvers.engine.read_tree import Reader
from optree.solvers.engine.stack import DEPTH, EARLIEST, ITERATIONS, STARTED, STOPPED, WANTED, Rules
from optree.solvers.kernels import memo as supports
from optree.solvers.kernels.bit_layout import Layout, layout
from optree.solvers.kernels.codes import INFINITE, NO_DEPTH, NO_LIMIT
from optree.solvers.stages import Starts
from optree.tree import LEAF, Tree

_MANY, _LONG = 28, 8  # features, words of rows: with fewer, B6 takes more time than it saves
_SPARSE = 64  # words of rows: with fewer, a list of the words that hold rows takes longer than to count all
_EAGER = 512  # iterations: an eager search ends with the best tree of these, or with the first tree after them
_FEW = 8  # splits: a search under a larger limit begins without the limit, ...
_TRIED = 50_000  # ... for this number of iterations
_BY_NAME = ("class_bound", "two_split_bound", "cover_bound", "easier_first", "by_halves", "lazy", "best_first")


def _rules(scale: Scale, objective: Objective, data: Layout, on: dict[str, bool]) -> Rules:
    """Return the units of cost and the techniques that are on."""
    gains = [min(leaves * scale.penalty // scale.error, data.most) if on["gain_bound"] else 0 for leaves in (1, 2, 3)]
    return Rules(
        error=scale.error,
        penalty=scale.penalty,
        step=min(max(4 * scale.penalty, scale.error), int(INFINITE) // 2),
        margin=gains[0],
        second=gains[1] - gains[0],
        third=gains[2] - gains[0],
        min_rows=objective.min_samples_leaf if data.n_totals > 1 else 0,
        max_children=int(INFINITE) // 2 // max(1, scale.penalty),
        per_leaf=objective.penalty == "leaf" and scale.penalty > 0,  # a penalty of 0 is per split: then B3 holds
        contained_words=_LONG if on["contained"] else int(INFINITE),
        contained_features=_MANY,
        sparse_words=_SPARSE,
        **{name: on[name] for name in _BY_NAME},
    )


class Search:
    """A search for one problem, for the optima of several penalties in turn.

    Parameters
    ----------
    problem : Problem
    objective : Objective
        The search ignores its regularization: :meth:`minimise` takes a scale.
    switches : dict of str to bool
        By the names of the solver's parameters.
    """

    def __init__(
        self,
        problem: Problem,
        objective: Objective,
        switches: dict[str, bool],
        check: Callable[[], None] = lambda: None,
    ):
        problem, self.constant, self.leaf = problem.without_least_costs()
        self.problem, self.objective, self.switches = problem, objective, switches
        self.levels_left = NO_LIMIT if objective.max_depth is None else objective.max_depth
        may_split = self.leaf and self.levels_left and objective.max_splits != 0
        data = layout(problem, objective.min_samples_leaf > 1, check=check) if may_split else None
        self.data, self.memo, self.stack, self.shares, self.scale = data, None, None, None, None
        self.other_iterations, self.starts = 0, None
        self.root: dict[int, int] = {}  # entry of all rows, by limit on splits
        if data is not None:
            self.memo, self.stack = supports.new_memo(data.rows.shape[1]), tables.new_stack(data, self.levels_left)

    def count(self, iterations: int) -> None:
        """Count the iterations of other searches, too: a limit is for their sum."""
        self.other_iterations += iterations
        if self.data is not None:
            self.stack.state[ITERATIONS] += iterations

    @property
    def iterations(self) -> int:
        """Return the iterations so far, with the iterations of other searches."""
        return self.other_iterations if self.data is None else int(self.stack.state[ITERATIONS])

    @property
    def counters(self) -> dict[str, int]:
        """Return the counters of a record."""
        return {"iterations": self.iterations, "supports": 0 if self.data is None else int(self.memo.used[0])}

    def interval(self) -> tuple[int, int]:
        """Return (cost of the incumbent, lower bound), both less the cost of every tree."""
        at = self._root_entry()
        if at < 0:
            return self.incumbent, min(self.incumbent, self.rules.penalty)
        upper, lower = int(self.memo.entry[at]["upper"]), int(self.memo.entry[at]["lower"])
        if self.stack.state[DEPTH] > 0:
            root = self.stack.frame[1]
            candidates = self.stack.order[1, : root["n_candidates"]]
            upper = int(root["upper"])
            lower = max(lower, min([int(root["floor"]), *self.stack.total[1, candidates].tolist()]))
        upper = min(upper, self.incumbent)
        return upper, min(lower, upper)

    def minimise(
        self,
        scale: Scale,
        clock: Clock,
        trace: Trace,
        incumbent: int | None = None,
        expected: int | None = None,
        eager: bool = False,
        iterations: int | None = None,
        starts: Starts | None = None,
    ) -> tuple[str | None, int, Tree | None]:
        """Search for a tree of least cost.

        Parameters
        ----------
        scale : Scale
            Units of cost. The search converts the intervals of its memo from the scale of an earlier call.
        clock : Clock
        trace : Trace
        incumbent : int, optional
            The cost of a known tree: the search looks for cheaper ones only.
        expected : int, optional
            A likely upper bound of the optimum. If it is wrong, the search finds that out and continues.
        eager : bool
            Whether to end with a tree cheaper than the incumbent: the best of the first iterations, or else the first.
        iterations : int, optional
            The number of iterations after which to end.
        starts : Starts, optional
            Heuristic trees, whose best tree becomes the incumbent during the search.

        Returns
        -------
        (str or None, int, Tree or None)
            Status, None if the search ended by ``eager`` or ``iterations``; lower bound; a tree cheaper than the
            incumbent, or None.
        """
        self.offset = self.constant * scale.error + (scale.penalty if self.objective.penalty == "leaf" else 0)
        leaf = self.leaf * scale.error
        self.incumbent = leaf if incumbent is None else min(leaf, incumbent - self.offset)
        if self.data is None or leaf <= scale.penalty:
            status, lower = "optimal", self.incumbent
            clock.searched()
        else:
            self.tune(scale)
            self.starts = starts
            self.stack.state[WANTED] = self.incumbent if eager else 0
            self.stack.state[EARLIEST] = self.iterations + _EAGER
            budget = self.incumbent if expected is None else min(self.incumbent, expected - self.offset + 1)
            status = self._try_without_limit(clock) or self._run(budget, clock, trace, iterations)
            if status is None and budget < self.incumbent:
                status = self._run(self.incumbent, clock, trace)
            self.starts = None
            clock.searched()
            lower = self.interval()[1]
        found = self._found(scale)
        if not found and leaf == self.incumbent and (incumbent is None or leaf < incumbent - self.offset):
            return status, lower + self.offset, Tree.leaf(self.problem)
        return status, lower + self.offset, self._best() if found else None

    def _found(self, scale: Scale) -> bool:
        """Return whether the search found a tree cheaper than the incumbent."""
        if self.data is None or self.scale != scale:
            return False
        at = self._root_entry()
        return at >= 0 and int(self.memo.entry[at]["upper"]) < self.incumbent

    def tune(self, scale: Scale) -> None:
        """Convert the intervals of the memo to another scale.

        **Statement**: let opt(p) be the optimum of a support in rows at penalty p. If p < q, opt(p) >= opt(q) * p / q
        and opt(p) <= opt(q) <= cost at q of any tree; opt(q) >= opt(p).
        **Proof**: the cost of a tree is a straight line in p, with a slope and a value at 0 that are not negative. So
        opt, their minimum, does not fall, and it is concave with opt(0) >= 0.
        **Used in** `lambda_path`, whose searches share a memo.
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
        self.stack.stride[:] = min(max(11 * scale.penalty // 4, scale.error), int(INFINITE) // 2)

    def _try_without_limit(self, clock: Clock) -> str | None:
        """Prepare for a limit on splits; return "optimal" if a search without it finds an optimum within the limit.

        Under a limit of many splits the search is slower than without it, and the intervals without it are bounds.
        """
        self.splits_left = NO_LIMIT
        limit = self.objective.max_splits
        useful = self.leaf * self.scale.error // self.scale.penalty if self.scale.penalty else INFINITE
        if limit is None or min(useful, len(self.problem.groups.rows) - 1) <= limit:
            return None
        status = None
        if limit > _FEW:
            status = self._run(self.incumbent, clock, Trace(clock), _TRIED)
            if status == "optimal" and (not self._found(self.scale) or self._best().n_splits <= limit):
                return status
        self.splits_left, self.stack.state[STARTED] = limit, 0
        if self.shares is None:
            self.shares = tables.new_shares(self.data, limit, len(self.stack.frame))
        return status if status == "interrupted" else None

    def _root_entry(self) -> int:
        """Return the entry of all rows in the memo, -1 if there is none yet."""
        if self.splits_left not in self.root and self.stack.state[STARTED]:
            self.root[self.splits_left] = int(self.stack.frame[0]["entry"])
        return self.root.get(self.splits_left, -1)

    def _run(self, budget: int, clock: Clock, trace: Trace, iterations: int | None = None) -> str | None:
        """Search until the root is solved or a limit is reached; return the status.

        None if no tree costs less than the budget, after ``iterations``, or when an eager search has its tree.
        """
        state, first = self.stack.state, self._slice()
        state[DEPTH] = state[STARTED] = state[STOPPED] = 0
        self.stack.frame[0]["splits_left"], self.stack.frame[0]["budget"] = self.splits_left, budget
        end, stop = INFINITE if iterations is None else self.iterations + iterations, self._stop if first < 4 else None

        def note(upper: int, lower: int) -> None:
            trace.add(upper + self.offset, lower + self.offset)

        try:
            while True:
                due = self.starts.due if self.starts else INFINITE
                status = drive(self, clock, note, first=first, end=min(end, due), stop=stop)
                if status or self.iterations < due or state[DEPTH] < 0:
                    break
                self._start_from(self.starts.improve() - self.offset)
        except KeyboardInterrupt:  # among the heuristics: a search ends without an exception
            status = "interrupted"
        if state[DEPTH] > 0:
            self.step(-1)
        return status

    def _start_from(self, cost: int) -> None:
        """Lower the incumbent's cost, and with it the budgets on the node stack."""
        stack, limited = self.stack, self.splits_left != NO_LIMIT
        self.incumbent = min(self.incumbent, cost)
        budget, depth = self.incumbent, int(stack.state[DEPTH])
        stack.frame[0]["budget"] = min(int(stack.frame[0]["budget"]), budget)
        for d in range(1, depth + 1):
            frame = stack.frame[d]
            frame["budget"] = budget = min(int(frame["budget"]), budget)
            if (t := int(frame["current"])) < 0 or d == depth or limited:
                break
            feature, entry = int(stack.feature[d, t]), stack.frame[d + 1]["entry"]
            clauses = np.arange(self.data.first_clause[feature], self.data.first_clause[feature + 1])
            own = clauses[stack.entry[d, clauses] == entry]
            if not len(own):
                break
            budget = min(budget, int(frame["upper"])) - int(stack.total[d, t] - stack.lower[d, own[0]])

    def _stop(self) -> None:
        """End the current visit: its other splits keep their bounds."""
        self.stack.state[STOPPED] = 1

    def _slice(self) -> int:
        """Return a number of visits that takes a few milliseconds at most."""
        words, width = self.data.rows.shape[1], len(self.data.bits) // self.data.rows.shape[1]
        return int(min(256, max(1, 2e7 // (width * width * words + 1e5))))

    def step(self, iterations: int) -> int:
        """Call the kernel; without a limit on splits it is compiled without the code for one."""
        shares = None if self.splits_left == NO_LIMIT else self.shares
        return depth_first.search(self.data, self.memo, self.stack, shares, self.rules, iterations)

    def room(self, code: int) -> Room:
        """Return room in the node stack or in the memo."""
        if code == NO_DEPTH:
            return tables.grow_stack(self.stack, self.shares)
        return supports.grow(self.memo, 1, self._keep)

    def _keep(self, memo: supports.Memo) -> None:
        self.memo = memo

    def _best(self) -> Tree:
        """Return the best tree of the memo."""
        root = self.stack.key[0].copy(), self.levels_left, self.splits_left
        return Reader(self.data, self.memo, self.rules).tree(self.problem, root)
