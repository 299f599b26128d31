"""The search for a proof, and the list of the supports that the proof needs.

The search is depth first (``depth_first.py``) and raises the bound of all rows to a target. The list is made from all
rows down (``listing.py``). Both use the verifier's rules alone (``bounds.py``), so that the verifier reaches each bound
of the list. In a table of many thresholds, a support of two levels gets its least cost as its bound. Rule B5 spreads
this bound to the supports of neighbouring thresholds. The list then has all supports that the search bounded.
"""

from __future__ import annotations

import numpy as np

from optree.budget import Clock, Stopped
from optree.proofs import depth_first, listing
from optree.proofs.frame import FRAME, SUPPORT, Stack
from optree.proofs.table import Rows, leaf_cost
from optree.solvers.driver import Room, Sweep, drive, enlarge
from optree.solvers.kernels import memo as supports
from optree.solvers.kernels.codes import ASKS, NO_DEPTH, NO_LIMIT

_STEPS = 16  # to a target, of a search that a limit may end
_MOST_SPLITS = 256  # of a table that keeps the sums of all pairs of parts: the verifier counts as many splits at once
_BY_DEPTH = ("frame", "key", "sums", "low", "closed", "value", "order", "parts", "met")


def new_stack(rows: Rows, depth: int) -> Stack:
    """Return an empty stack."""
    table, limited = rows.table, rows.splits != NO_LIMIT
    words, splits, parts = table.rows.shape[1], len(table.first_part) - 1, len(table.rows) - 1
    width, counts, shares = len(table.bits) // words, table.sums.shape[1], max(1, rows.splits) if limited else 1
    kept = parts if rows.rules.near and splits <= _MOST_SPLITS else 0
    most = int(np.diff(table.first_part).max(initial=0))
    features, groups = table.by_code.shape[:2]
    stack = Stack(
        frame=np.zeros(depth, FRAME),
        key=np.empty((depth, words), np.uint64),
        sums=np.zeros((depth, counts, width), np.int64),
        low=np.empty((depth, shares, width), np.int64),
        closed=np.empty((depth, shares, width), bool),
        value=np.empty((depth, splits), np.int64),
        order=np.empty((depth, splits), np.int64),
        parts=np.empty((depth, parts), np.int64),
        met=np.zeros((depth, kept, 2, kept), np.int64),
        pairs=np.zeros((counts, width), np.int64),
        scratch=np.empty((2, width), np.int64),
        best=np.empty((most + 1, shares), np.int64),
        chosen=np.zeros(most, np.int64),
        place=np.empty(words + 1, np.int64),
        mask=np.empty(words + 1, np.uint64),
        stop=np.empty(len(table.stop), np.int64),
        key_below=np.empty(words, np.uint64),
        sorted_count=np.zeros(1, np.int64),
        sorted_bit=np.empty(groups, np.int64),
        sorted_place=np.empty(64 * words, np.int64),
        sorted_sums=np.empty((counts, groups), np.int64),
        sorted_held=np.empty((counts, groups), np.int64),
        sorted_below=np.empty((counts, groups), np.int64),
        sorted_row=np.empty((features, groups), np.int64),
        sorted_part=np.empty((features, groups), np.int64),
        state=np.array([-1, 0, 0, 0, 0]),
    )
    stack.frame["current"] = -1
    return stack


class Proof:
    """A proof of a lower bound of all rows.

    Parameters
    ----------
    rows : Rows
    clock : Clock
        With the limits of both steps together.
    """

    def __init__(self, rows: Rows, clock: Clock):
        self.rows, self.clock = rows, clock
        self.stack, self.below = new_stack(rows, 6), new_stack(rows, 1)
        self.memo = supports.new_memo(rows.table.rows.shape[1], kind=SUPPORT)
        depth_first.insert_all(rows.table, self.memo, self.stack, rows.levels, rows.splits)
        if not (rows.levels and rows.splits and len(rows.table.first_part) > 1):
            self.memo.entry[0]["lower"] = self.memo.entry[0]["upper"] = self._leaf()

    def _leaf(self) -> int:
        """Return the cost of all rows as one leaf."""
        return leaf_cost(self.rows.table.total(self.rows.table.rows[-1]), self.rows.rules)

    @property
    def visits(self) -> int:
        """Return the number of visits to supports."""
        return int(self.stack.state[1] + self.below.state[1])

    def _drive(self, step, clock: Clock) -> None:
        """Call a kernel until it is done, or raise Stopped at a limit."""
        status = drive(Sweep(lambda: self.visits, step, self._room), clock)
        if status == "interrupted":
            raise KeyboardInterrupt
        if status:
            raise Stopped(status)

    def _room(self, code: int) -> Room:
        """Return room in the node stack or in the memo."""
        if code == NO_DEPTH:
            return enlarge([getattr(self.stack, name) for name in _BY_DEPTH], len(self.stack.frame))
        return supports.grow(self.memo, 1, self._keep)

    def _keep(self, memo: supports.Memo) -> None:
        self.memo = memo

    def _search_step(self, visits: int) -> int:
        return depth_first.search(self.rows.table, self.memo, self.stack, self.rows.rules, visits)

    def search(self, target: int, entry: int = 0, clock: Clock | None = None) -> tuple[int, bool]:
        """Return a lower bound of a support, which is the least cost or at least the target; and if it is the least.

        entry : of the memo; the first has all rows. clock : of this search; by default that of both steps.

        Raises
        ------
        Stopped
            At a limit.
        """
        found = self.memo.entry[entry]
        if found["lower"] < target and found["lower"] < found["upper"]:
            depth_first.begin(self.rows.table, self.memo, self.stack, entry, target)
            self._drive(self._search_step, clock or self.clock)
        found = self.memo.entry[entry]
        return int(found["lower"]), bool(found["lower"] == found["upper"])

    def search_by_steps(self, target: int) -> tuple[int, bool]:
        """Return a lower bound of all rows that takes half of the limits, and if the search ended within them.

        The other half is for the list. The search goes to the target in :data:`_STEPS` equal steps. A limit leaves the
        bound of the last step that ended.

        Raises
        ------
        Stopped
            At a limit before the first bound.
        """
        clock, found = self.clock.halfway(self.visits), 0
        try:
            for step in range(1, _STEPS + 1):
                found, _ = self.search(target * step // _STEPS, clock=clock)
        except Stopped:
            if found <= 0:
                raise
            return found, False
        return found, True

    def list_supports(self, target: int) -> tuple[bytes, int]:
        """Return the body of a proof that all rows cost at least ``target``, and the number of its supports.

        Raises
        ------
        Stopped
            At a limit.
        """
        self.memo.entry["need"], self.memo.entry[0]["need"] = 0, target
        size = int(np.bitwise_count(self.rows.table.rows[-1]).sum())
        head = np.full(size + 1, -1)
        if target > 0 and self.stack.state[1]:  # the search has expanded a support
            self.memo.entry[0]["next"], head[size] = -1, 0
        self.below.state[2] = size

        def step(visits: int) -> int:
            code = listing.list_supports(self.rows.table, self.memo, self.below, self.rows.rules, head, visits)
            while code == ASKS:
                self.search(int(self.below.state[4]), int(self.below.state[3]))
                code = listing.list_supports(self.rows.table, self.memo, self.below, self.rows.rules, head, visits)
            return code

        self._drive(step, self.clock)
        return self._body()

    def _body(self) -> tuple[bytes, int]:
        """Return the body of the listed supports, and their number."""
        entry, limited = self.memo.entry[: self.memo.used[0]], self.rows.splits != NO_LIMIT
        listed = np.flatnonzero(entry["need"] > 0)
        shares = (entry["limits"] + 1 >> supports.LEVELS) - 1
        order = listed[np.lexsort([shares[listed], entry["part"][listed], entry["lister"][listed]])]
        children: dict[int, list[int]] = {}
        lister, parts, shares = entry["lister"].tolist(), entry["part"].tolist(), shares.tolist()
        for at in order.tolist():
            if at:
                children.setdefault(lister[at], []).append(at)
        out, queue = bytearray(), [0]
        for at in queue:
            own, before = children.get(at, []), -1
            out += number(len(own))
            for child in own:
                out += number(parts[child] - before - (not limited or before < 0))
                out += number(shares[child]) if limited else b""
                before = parts[child]
            queue += own
        return bytes(out), len(queue)


def number(value: int) -> bytes:
    """Return a whole number in LEB128."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
