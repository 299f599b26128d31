"""A search of the engine for one problem: its tables, its slices, and what it has at any time."""

from __future__ import annotations

from dataclasses import replace

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
from optree.tree import LEAF, Tree

_MANY, _LONG = 28, 8  # features, words of rows: with fewer, what B6 spares is not worth the time it takes
_SPARSE = 64  # words of rows: with fewer, to tell which of a column are zero takes longer than to count them


def _rules(scale: Scale, objective: Objective, data: Layout, on: dict[str, bool]) -> Rules:
    gains = [min(leaves * scale.penalty // scale.error, data.most) if on["gain_bound"] else 0 for leaves in (1, 2, 3)]
    return Rules(
        error=scale.error,
        penalty=scale.penalty,
        margin=gains[0],
        second=gains[1] - gains[0],
        third=gains[2] - gains[0],
        step=min(max(11 * scale.penalty // 4, scale.error), int(INFINITE) // 2),
        least=objective.min_samples_leaf if data.n_totals > 1 else 0,
        most_parts=int(INFINITE) // 2 // max(1, scale.penalty),
        per_leaf=objective.penalty == "leaf" and scale.penalty > 0,  # for nothing, both are the same, and B3 holds
        classes=on["class_bound"],
        two_splits=on["two_split_bound"],
        covers=on["cover_bound"],
        contained=_LONG if on["contained"] else int(INFINITE),
        listed=_SPARSE,
        many=_MANY,
        **{name: on[name] for name in ("easier_first", "deepening", "lazy", "best_first")},
    )


_EAGER = 512  # iterations: an eager search ends with the best tree of so many, or with the first one later
_FEW, _TRIED = 8, 50_000  # a limit of more splits: so many iterations without it come first


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
        self.left = NO_LIMIT if objective.max_depth is None else objective.max_depth
        may_split = self.leaf and self.left and objective.max_splits != 0
        data = layout(problem, objective.min_samples_leaf > 1) if may_split else None
        self.data, self.memo, self.stack, self.shares, self.scale = data, None, None, None, None
        self.before = 0
        self.root: dict[int, int] = {}  # entry of the root's rows, by limit on splits
        if data is not None:
            self.memo, self.stack = supports.new_memo(data.rows.shape[1]), tables.new_stack(data, self.left)

    def count(self, iterations: int) -> None:
        """Count those of other searches, too; limits do."""
        self.before += iterations
        if self.data is not None:
            self.stack.state[ITERATIONS] += iterations

    @property
    def iterations(self) -> int:
        return self.before if self.data is None else int(self.stack.state[ITERATIONS])

    @property
    def counters(self) -> dict[str, int]:
        return {"iterations": self.iterations, "supports": 0 if self.data is None else int(self.memo.used[0])}

    def interval(self) -> tuple[int, int]:
        """(cost of the best tree in hand, lower bound), without what every tree costs."""
        at = self._root_entry()
        if at < 0:
            return self.known, min(self.known, self.rules.penalty)
        upper, lower = int(self.memo.entry[at]["upper"]), int(self.memo.entry[at]["lower"])
        if self.stack.state[DEPTH] > 0:
            root = self.stack.frame[1]
            candidates = self.stack.order[1, : root["n_candidates"]]
            upper = int(root["upper"])
            lower = max(lower, min([int(root["floor"]), *self.stack.total[1, candidates].tolist()]))
        upper = min(upper, self.known)
        return upper, min(lower, upper)

    def minimise(
        self,
        scale: Scale,
        clock: Clock,
        trace: Trace,
        known: int | None = None,
        hoped: int | None = None,
        eager: bool = False,
        most: int | None = None,
    ) -> tuple[str | None, int, Tree | None]:
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
        eager : bool
            End with a tree that costs less than the known one, the best of the first iterations or else the first.
        most : int, optional
            End after so many iterations.

        Returns
        -------
        (str or None, int, Tree or None)
            Status, None if the search ended early in one of these ways; lower bound; and the tree, None if none cheaper
            than the known one was found.
        """
        self.offset = self.constant * scale.error + (scale.penalty if self.objective.penalty == "leaf" else 0)
        leaf = self.leaf * scale.error
        self.known = leaf if known is None else min(leaf, known - self.offset)
        if self.data is None or leaf <= scale.penalty:
            status, lower = "optimal", self.known
            clock.searched()
        else:
            self._tune(scale)
            self.stack.state[WANTED] = self.known if eager else 0
            self.stack.state[EARLIEST] = self.iterations + _EAGER
            budget = self.known if hoped is None else min(self.known, hoped - self.offset + 1)
            status = self._try_without_limit(clock) or self._run(budget, clock, trace, most)
            if status is None and budget < self.known:
                status = self._run(self.known, clock, trace)
            clock.searched()
            lower = self.interval()[1]
        found = self._found(scale)
        if not found and (known is None or leaf < known - self.offset):
            return status, lower + self.offset, Tree.grow(self.problem, lambda rows, state: (LEAF, []))
        return status, lower + self.offset, self._best() if found else None

    def _found(self, scale: Scale) -> bool:
        """Whether a tree cheaper than the known one was found."""
        if self.data is None or self.scale != scale:
            return False
        at = self._root_entry()
        return at >= 0 and int(self.memo.entry[at]["upper"]) < self.known

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

    def _try_without_limit(self, clock: Clock) -> str | None:
        """Prepare for a limit on splits. "optimal" if a search without it, of some iterations, ends with fewer splits.

        With many splits to share out the search under a limit is the slower one, and what was found bounds it.
        """
        self.spare = NO_LIMIT
        limit = self.objective.max_splits
        useful = self.leaf * self.scale.error // self.scale.penalty if self.scale.penalty else INFINITE
        if limit is None or min(useful, len(self.problem.groups.rows) - 1) <= limit:
            return None
        status = None
        if limit > _FEW:
            status = self._run(self.known, clock, Trace(clock), most=_TRIED)
            if status == "optimal" and self._found(self.scale) and self._best().n_splits <= limit:
                return status
        self.spare, self.stack.state[STARTED] = limit, 0
        if self.shares is None:
            self.shares = tables.new_shares(self.data, limit, len(self.stack.frame))
        return status if status == "interrupted" else None

    def _root_entry(self) -> int:
        """The entry of the root's rows in the memo, -1 if there is none yet."""
        if self.spare not in self.root and self.stack.state[STARTED]:
            self.root[self.spare] = int(self.stack.frame[0]["entry"])
        return self.root.get(self.spare, -1)

    def _root(self) -> tuple[np.ndarray, int, int]:
        """The words of its rows, levels and splits left."""
        return self.stack.key[0].copy(), self.left, self.spare

    def _run(self, budget: int, clock: Clock, trace: Trace, most: int | None = None) -> str | None:
        """Search in slices until the root is solved or a limit is reached; the status.

        None if no tree costs less than the budget, after ``most`` iterations, or when a tree costs less than is wanted.
        """
        state, first = self.stack.state, self._slice()
        state[DEPTH] = state[STARTED] = state[STOPPED] = 0
        self.stack.frame[0]["splits_left"], self.stack.frame[0]["budget"] = self.spare, budget
        status = drive(
            self,
            clock,
            lambda upper, lower: trace.add(upper + self.offset, lower + self.offset),
            first=first,
            end=INFINITE if most is None else self.iterations + most,
            stop=self._stop if first < 4 else None,
        )
        if state[DEPTH] > 0:
            self.step(-1)
        return status

    def _stop(self) -> None:
        """End the visit that is under way: its other splits keep the bounds they have."""
        self.stack.state[STOPPED] = 1

    def _slice(self) -> int:
        """How many visits take a few milliseconds at most."""
        words, width = self.data.rows.shape[1], len(self.data.bits) // self.data.rows.shape[1]
        return int(min(256, max(1, 2e7 // (width * width * words + 1e5))))

    def step(self, iterations: int) -> int:
        shares = None if self.spare == NO_LIMIT else self.shares
        return depth_first.search(self.data, self.memo, self.stack, shares, self.rules, iterations)

    def room(self, code: int) -> Room:
        if code == NO_DEPTH:
            return tables.grow_stack(self.stack, self.shares)
        return supports.grow(self.memo, 1, self._keep)

    def _keep(self, memo: supports.Memo) -> None:
        self.memo = memo

    def _best(self) -> Tree:
        return Reader(self.data, self.memo, self.rules).tree(self.problem, self._root())
