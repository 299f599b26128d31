"""The engine's search for one problem: its tables, its interval at any time, and its tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from optree.budget import Clock
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import Trace
from optree.solvers.driver import Room, time_alone
from optree.solvers.engine import depth_first
from optree.solvers.engine import memory as tables
from optree.solvers.engine.first_tree import ENTRY, HURRY, THREADS, new_shared
from optree.solvers.engine.read_tree import Reader
from optree.solvers.engine.stack import DEPTH, EARLIEST, ITERATIONS, STARTED, STOPPED, WANTED, Rules, Stack
from optree.solvers.kernels import memo as supports
from optree.solvers.kernels.bit_layout import Layout, layout
from optree.solvers.kernels.codes import COMPLETE, INFINITE, NO_DEPTH, NO_LIMIT
from optree.solvers.stages import Starts
from optree.solvers.team import Team, mib_of
from optree.tree import LEAF, Tree

_MANY, _LONG = 28, 8  # features, words of rows: with fewer, B6 takes more time than it saves
_SPARSE = 64  # words of rows: with fewer, a list of the words that hold rows takes longer than to count all
_EAGER = 512  # iterations: an eager search ends with the best tree of these, or with the first tree after them
_FEW = 8  # splits: a search under a larger limit begins without the limit, ...
_TRIED = 50_000  # ... for this number of iterations
_BY_NAME = ("two_split_bound", "cover_bound", "easier_first", "by_halves", "lazy", "best_first")


def _rules(scale: Scale, objective: Objective, data: Layout, on: dict[str, bool], first: bool) -> Rules:
    """Return the units of cost and the techniques that are on."""
    binary = data.n_binary == len(data.feature)
    per_leaf = objective.penalty == "leaf" and scale.penalty > 0  # a penalty of 0 is per split: then B3 holds
    min_rows = objective.min_samples_leaf if data.n_totals > 1 else 0
    gains = [min(leaves * scale.penalty // scale.error, data.most) if on["gain_bound"] else 0 for leaves in (1, 2, 3)]
    return Rules(
        error=scale.error,
        penalty=scale.penalty,
        step=min(max(4 * scale.penalty, scale.error), int(INFINITE) // 2),
        margin=gains[0],
        second=gains[1] - gains[0],
        third=gains[2] - gains[0],
        min_rows=min_rows,
        max_children=int(INFINITE) // 2 // max(1, scale.penalty),
        per_leaf=per_leaf,
        count_classes=int(on["class_bound"] and (per_leaf or binary)),
        least_gain=gains[0] if binary or not (per_leaf or min_rows > 1) else -1,
        contained_words=_LONG if on["contained"] else int(INFINITE),
        contained_features=_MANY,
        sparse_words=_SPARSE,
        first=first,
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
        self.data, self.memo, self.shares, self.scale = data, None, None, None
        self.other_iterations, self.starts, self.shared = 0, None, new_shared()
        self.first, self.ties = False, 0  # of the last search: see `minimise`
        self.machines, self._begun = [], None  # the memory of each thread; the seconds of the clock at the first search
        self._team = Team(partial(self.shared.state.__setitem__, HURRY))
        self.root: dict[int, int] = {}  # entry of all rows, by limit on splits
        if data is not None:
            self.memo = supports.new_memo(data.rows.shape[1], kind=ENTRY)
            self.machines = [(tables.new_stack(data, self.levels_left), (self.memo.chain,))]

    @property
    def stack(self) -> Stack:
        """Return the node stack of the first thread."""
        return self.machines[0][0]

    def count(self, iterations: int) -> None:
        """Count the iterations of other searches, too: a limit is for their sum."""
        self.other_iterations += iterations

    @property
    def iterations(self) -> int:
        """Return the iterations so far, with the iterations of other searches."""
        return self.other_iterations + sum(int(stack.state[ITERATIONS]) for stack, _ in self.machines)

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
        for stack, _ in self.machines:
            if stack.state[DEPTH] > 0:
                root = stack.frame[1]
                candidates = stack.order[1, : root["n_candidates"]]
                upper = min(upper, int(root["upper"]))
                lower = max(lower, min([int(root["floor"]), *stack.total[1, candidates].tolist()]))
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
        first: bool = False,
        ties: bool = False,
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
        first : bool
            Whether to find the first tree of ``first_tree.py``, on all threads of the clock's budget. Else one thread
            finds any tree of least cost, as it does without a penalty (where the first tree may have splits of no use)
            and under a limit on splits.
        ties : bool
            Whether the first tree may cost as much as the incumbent.

        Returns
        -------
        (str or None, int, Tree or None)
            Status, None if the search ended by ``eager`` or ``iterations``; lower bound; a tree cheaper than the
            incumbent (or as cheap, with ``ties``), or None.
        """
        self.offset = self.constant * scale.error + (scale.penalty if self.objective.penalty == "leaf" else 0)
        leaf = self.leaf * scale.error
        self.incumbent = leaf if incumbent is None else min(leaf, incumbent - self.offset)
        self.first = first and scale.penalty > 0 and self.objective.max_splits is None
        self.ties = int(ties and self.first)
        if self.data is None or leaf <= scale.penalty:
            status, lower = "optimal", self.incumbent
            clock.searched()
        else:
            self.tune(scale)
            self.starts = starts
            self.stack.state[WANTED] = self.incumbent if eager else 0
            self.stack.state[EARLIEST] = self.stack.state[ITERATIONS] + _EAGER
            budget = self.incumbent + self.ties
            budget = budget if expected is None else min(budget, expected - self.offset + 1)
            status = self._try_without_limit(clock) or self._run(budget, clock, trace, iterations)
            if status is None and budget < self.incumbent + self.ties:
                status = self._run(self.incumbent + self.ties, clock, trace)
            self.starts = None
            clock.searched()
            lower = self.interval()[1]
        found = self._found(scale)
        if not found and leaf == self.incumbent and (incumbent is None or leaf < incumbent - self.offset + self.ties):
            return status, lower + self.offset, Tree.leaf(self.problem)
        return status, lower + self.offset, self._best() if found else None

    def _found(self, scale: Scale) -> bool:
        """Return whether the search found a tree cheaper than the incumbent, or as cheap if ties are of use."""
        if self.data is None or self.scale != scale:
            return False
        at = self._root_entry()
        return at >= 0 and int(self.memo.entry[at]["upper"]) < self.incumbent + self.ties

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
        self.scale, self.rules = scale, _rules(scale, self.objective, self.data, self.switches, self.first)
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
        for stack, _ in self.machines:
            if self.splits_left not in self.root and stack.state[STARTED]:
                self.root[self.splits_left] = int(stack.frame[0]["entry"])
        return self.root.get(self.splits_left, -1)

    def _run(self, budget: int, clock: Clock, trace: Trace, iterations: int | None = None) -> str | None:
        """Search until the root is solved or a limit is reached; return the status.

        None if no tree costs less than the budget, after ``iterations``, or when an eager search has its tree.
        """
        end = INFINITE if iterations is None else self.iterations + iterations
        self._budget, self.shared.state[HURRY] = budget, 0
        for stack, _ in self.machines:
            self._begin(stack)
        self._begun = clock.seconds() if self._begun is None else self._begun

        def note() -> bool:
            upper, lower = self.interval()
            trace.add(upper + self.offset, lower + self.offset)
            return upper == lower and not self.first  # of the trees of equal cost any one is of use

        first, most = self._slice(), clock.budget.threads if self.first else 1
        stop, alone = self._stop if first < 4 else None, lambda: time_alone(clock, self._begun) > 0
        try:
            while True:
                due = self.starts.due if self.starts else INFINITE
                limit = self._team.run(
                    self, clock, min(end, due), first=first, most=most, alone=alone, note=note, stop=stop
                )
                if limit or self.iterations < due or self.is_complete():
                    break
                self._start_from(self.starts.improve() - self.offset)
        except KeyboardInterrupt:  # among the heuristics: a search ends without an exception
            limit = "interrupted"
        note()
        upper, lower = self.interval()
        for number, (stack, _) in enumerate(self.machines):
            if stack.state[DEPTH] > 0:
                self.step(-1, number)
        self.share(1)
        return "optimal" if upper == lower else limit

    def _begin(self, stack: Stack) -> None:
        """Prepare the stack of a thread for the search."""
        stack.state[DEPTH] = stack.state[STARTED] = stack.state[STOPPED] = 0
        stack.frame[0]["splits_left"], stack.frame[0]["budget"] = self.splits_left, self._budget

    def is_complete(self) -> bool:
        """Return whether a thread has come to the end of the search."""
        return any(stack.state[DEPTH] < 0 for stack, _ in self.machines)

    def new_machine(self, number: int) -> tuple[Stack, tuple[np.ndarray]]:
        """Return the memory of one more thread, at the root."""
        stack = tables.new_stack(self.data, self.levels_left, len(self.stack.frame), number + 1)
        stack.stride[:] = self.stack.stride
        self._begin(stack)
        return stack, (np.empty_like(self.memo.chain),)

    def mib(self) -> float:
        """Return the size of a machine in MiB."""
        return mib_of(self.machines[0])

    def share(self, threads: int) -> None:
        """Have kernels exchange their intervals, and leave room for all threads."""
        self.shared.state[THREADS] = threads

    def _start_from(self, cost: int) -> None:
        """Lower the incumbent's cost, and with it the budgets on the node stacks."""
        self.incumbent = min(self.incumbent, cost)
        self._budget = min(self._budget, self.incumbent + self.ties)
        for stack, _ in self.machines:
            self._lower_budgets(stack)

    def _lower_budgets(self, stack: Stack) -> None:
        """Lower the budgets on a node stack to the budget of the search."""
        budget, depth, limited = self._budget, int(stack.state[DEPTH]), self.splits_left != NO_LIMIT
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
            budget = min(budget, int(frame["upper"]) + 1) - int(stack.total[d, t] - stack.lower[d, own[0]])

    def _stop(self) -> None:
        """End the current visits: their other splits keep their bounds."""
        for stack, _ in self.machines:
            stack.state[STOPPED] = 1

    def _slice(self) -> int:
        """Return a number of visits that takes a few milliseconds at most."""
        words, width = self.data.rows.shape[1], len(self.data.bits) // self.data.rows.shape[1]
        return int(min(256, max(1, 2e7 // (width * width * words + 1e5))))

    def step(self, iterations: int, number: int = 0) -> int:
        """Call the kernel in a thread; without a limit on splits it is compiled without the code for one."""
        shares = None if self.splits_left == NO_LIMIT else self.shares
        stack, (chain,) = self.machines[number]
        memo, rules = self.memo._replace(chain=chain), self.rules
        code = depth_first.search(self.data, memo, stack, self.shared, shares, rules, iterations)
        if code == COMPLETE and self.shared.state[THREADS] > 1:
            self.shared.state[HURRY] = 1
        return code

    def room(self, code: int, number: int = 0) -> Room:
        """Return room in the node stack of a thread or in the memo."""

        def grow() -> Room:
            if code == NO_DEPTH:
                return tables.grow_stack(self.machines[number][0], self.shares)
            return supports.grow(self.memo, int(self.shared.state[THREADS]), self._keep)

        return self._team.shared_room(grow)  # the first thread reads all stacks

    def _keep(self, memo: supports.Memo) -> None:
        self.memo = memo

    def _best(self) -> Tree:
        """Return the best tree of the memo."""
        root = self.stack.key[0].copy(), self.levels_left, self.splits_left
        return Reader(self.data, self.memo, self.rules).tree(self.problem, root)
