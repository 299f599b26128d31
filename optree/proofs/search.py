"""The search for a proof: bounds of supports until all rows have the wanted bound, then the supports that it needs.

The search is depth first: it raises the bound of a support to a target by raising the bounds of the parts of each split
whose value is below the target. The targets of a part grow in doubling steps. The second pass goes from all rows down,
larger supports first. It lists a part only where the bounds of a split without the list fall short. Both passes use
the verifier's rules alone (``bounds.py``), so that the verifier reaches each bound of the second pass.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from optree.proofs.bounds import bound_pairs, bound_singles, spread, weakest
from optree.proofs.table import Rows
from optree.solvers.kernels.codes import UNLIMITED


class Key(NamedTuple):
    """A support with the limits on its trees."""

    words: bytes
    levels: int
    splits: int


class Bounds:
    """Lower bounds of supports, and whether each is the least cost."""

    def __init__(self):
        self._known: dict[bytes, dict[tuple[int, int], tuple[int, bool]]] = {}

    def note(self, key: Key, bound: int, closed: bool) -> None:
        """Note a bound."""
        own = self._known.setdefault(key.words, {})
        before, was_closed = own.get(key[1:], (0, False))
        own[key[1:]] = max(before, bound), closed or was_closed

    def exact(self, key: Key) -> tuple[int, bool]:
        """Return the bound that was noted for a key."""
        return self._known.get(key.words, {}).get(key[1:], (0, False))

    def find(self, key: Key) -> int:
        """Return the greatest bound of a support for the limits of a key, or for greater limits."""
        own = self._known.get(key.words)
        if own is None:
            return 0
        return max((b for (d, m), (b, _) in own.items() if d >= key.levels and m >= key.splits), default=0)

    def __contains__(self, key: Key) -> bool:
        return key[1:] in self._known.get(key.words, {})

    def has(self, words: bytes) -> bool:
        """Return whether a support has a bound."""
        return words in self._known


class Node:
    """A support while its bound is raised to a target: the splits below the target, and the bounds of their parts."""

    def __init__(self, rows: Rows, words: np.ndarray, key: Key, target: int, known: Bounds):
        self.rows, self.words, self.key, table = rows, words, key, rows.table
        self.groups = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        shares = 1 if key.splits == UNLIMITED else key.splits
        self.sums = np.empty((len(table.words), table.sums.shape[1]), np.int64)
        self.low = np.empty((shares, len(table.words)), np.int64)
        self.closed = np.zeros(self.low.shape, bool)
        value = np.empty(len(table.first_part) - 1, np.int64)
        bound_singles(table, rows.rules, self.groups, key.levels, self.sums, self.low, value)
        splits = np.flatnonzero(value < target)
        self.parts, self.at, self.met = np.empty(0, np.int64), {}, np.empty((0, 0, 2), np.int64)
        self.splits: list[int] = []
        if not len(splits) or key.levels == 1 or key.splits == 1:
            self.closed[:], self.splits, self.value = True, splits.tolist(), value
            return
        self._look_up(splits, known)
        self._count_pairs(splits)
        order = [(self.weakest(split)[0], split) for split in splits.tolist()]
        self.splits = [split for value, split in sorted(order) if value < target]

    def _look_up(self, splits: np.ndarray, known: Bounds) -> None:
        """Raise the bounds of the parts of some splits to known bounds."""
        self.parts = np.concatenate([self.parts_of(split) for split in splits.tolist()])
        self.at = {part: i for i, part in enumerate(self.parts.tolist())}
        self.of = (self.rows.table.words[self.parts] & self.words).view(f"V{self.words.nbytes}").ravel().tolist()
        for part, words in zip(self.parts.tolist(), self.of, strict=True):
            if known.has(words):
                for share in range(len(self.low)):
                    self.low[share, part] = max(self.low[share, part], known.find(self.child(part, share)))

    def _count_pairs(self, splits: np.ndarray) -> None:
        """Raise the bounds of the parts of some splits from counts of pairs, and by B5 where it pays."""
        rules, levels = self.rows.rules, self.key.levels
        near = rules.movable and self.rows.levels != UNLIMITED
        self.met = np.zeros((len(self.parts),) * 2 + (2,) if near else (0, 0, 2), np.int64)
        bound_pairs(self.rows.table, rules, self.groups, levels, splits, self.sums, self.low, self.met)
        if near:
            spread(rules, self.parts, self.sums, self.met, np.arange(len(self.parts)), self.low)

    def parts_of(self, split: int) -> np.ndarray:
        """Return the parts of a split."""
        return np.arange(*self.rows.table.first_part[split : split + 2])

    def child(self, part: int, share: int) -> Key:
        """Return the key of a part with a share of the splits."""
        levels, limited = self.key.levels, self.key.splits != UNLIMITED
        return Key(
            self.of[self.at[part]],
            levels if levels == UNLIMITED else levels - 1,
            share if limited else UNLIMITED,
        )

    def child_words(self, part: int) -> np.ndarray:
        """Return the groups of a part."""
        return self.rows.table.words[part] & self.words

    def weakest(self, split: int) -> tuple[int, int, list[tuple[int, int]]]:
        """Return the value of a split, its open part of least bound or -1, and each part's share in the value."""
        first, last = self.rows.table.first_part[split : split + 2]
        chosen = np.zeros(last - first, np.int64)
        value, p = weakest(self.rows.table, self.rows.rules, self.sums, self.low, self.closed, split, chosen)
        return int(value), -1 if p < 0 else int(first + p), list(zip(range(first, last), chosen.tolist(), strict=True))

    def raise_bound(self, part: int, share: int, bound: int, closed: bool) -> None:
        """Raise the bound of a part that has a share of the splits, and the bounds of its neighbours by B5."""
        served = slice(0, share + 1)
        self.low[served, part] = np.maximum(self.low[served, part], bound)
        self.closed[share, part] |= closed
        if len(self.met):
            spread(self.rows.rules, self.parts, self.sums, self.met, np.array([self.at[part]]), self.low)


class Proof:
    """A proof of a lower bound of all rows.

    Parameters
    ----------
    rows : Rows
    check : callable
        Called at each visit of a support; it may raise an exception at a limit.
    """

    def __init__(self, rows: Rows, check: Callable[[], None] = lambda: None):
        self.rows, self.check, self.found, self.visits = rows, check, Bounds(), 0
        self.step = max(2 * rows.rules.price, rows.rules.error)
        self.root = Key(rows.everything.tobytes(), rows.levels, rows.splits)

    def _leaf(self, words: np.ndarray) -> int:
        """Return the cost of a support as one leaf."""
        inside = np.unpackbits(words.view(np.uint8), bitorder="little", count=len(self.rows.table.cells)).view(bool)
        return int(self.rows.table.sums[inside, : self.rows.rules.classes].sum(axis=0).min()) * self.rows.rules.error

    def search(self, words: np.ndarray, key: Key, target: int) -> tuple[int, bool]:
        """Return a lower bound of a support, which is the least cost or at least the target; and if it is the least."""
        bound, closed = self.found.exact(key)
        bound = max(bound, self.found.find(key))
        if bound >= target or closed:
            return bound, closed
        leaf = self._leaf(words)
        goal = min(target, leaf)
        if goal > bound and key.levels and key.splits:
            self.check()
            self.visits += 1
            goal = self._raise(Node(self.rows, words, key, goal, self.found), goal)
        elif not (key.levels and key.splits):
            goal = leaf
        self.found.note(key, goal, goal < target or goal == leaf)
        return goal, goal < target or goal == leaf

    def _raise(self, node: Node, goal: int) -> int:
        """Raise the bounds of all splits of a node to a goal, or to the least cost, which is returned."""
        for split in node.splits:
            step = self.step
            while True:
                value, part, shares = node.weakest(split)
                if value >= goal:
                    break
                if part < 0:
                    goal = value
                    break
                share = dict(shares)[part]
                low = int(node.low[share, part])
                wanted = min(goal - value + low, low + step)
                node.raise_bound(part, share, *self.search(node.child_words(part), node.child(part, share), wanted))
                step *= 2
        return goal

    def list_supports(self, target: int) -> tuple[bytes, int]:
        """Return the body of a proof that all rows cost at least ``target``, which is known, and the number of supports."""
        need, children = Bounds(), {self.root: []}
        waiting = [(0, self.root)] if self.root.levels and self.root.splits else []
        need.note(self.root, target, False)
        while waiting:
            _, key = heappop(waiting)
            self.check()
            words = np.frombuffer(key.words, np.uint64)
            node = Node(self.rows, words, key, need.exact(key)[0], need)
            for split in node.splits:
                self._list_parts(node, split, need.exact(key)[0], need, children, waiting)
        return body_of(self.root, children, self.rows.splits != UNLIMITED)

    def _list_parts(self, node: Node, split: int, target: int, need: Bounds, children: dict, waiting: list) -> None:
        """List parts of a split until its value is at least the target."""
        while True:
            value, _, shares = node.weakest(split)
            if value >= target:
                return
            part, share, bound = self._choose(node, shares, target - value, need)
            key = node.child(part, share)
            if key not in need:
                children[node.key].append((part, share, key))
                children[key] = []
                heappush(waiting, (-int(np.bitwise_count(node.child_words(part)).sum()), key))
            need.note(key, bound, False)
            node.raise_bound(part, share, bound, False)

    def _choose(self, node: Node, shares: list[tuple[int, int]], gap: int, need: Bounds) -> tuple[int, int, int]:
        """Return the part to list, its share, and the bound that it must reach."""
        options = []
        for part, share in shares:
            key, low = node.child(part, share), int(node.low[share, part])
            gain = min(gap, self.found.find(key) - low)
            if gain > 0:
                options.append((-gain, key not in need, int(node.sums[part, -1]), part, share, low + gain))
        if options:
            return min(options)[3:]
        for low, part, share in sorted((int(node.low[share, part]), part, share) for part, share in shares):
            bound, _ = self.search(node.child_words(part), node.child(part, share), low + gap)
            if bound > low:
                return part, share, min(bound, low + gap)
        raise AssertionError("the bound of a proof is not true")


def number(value: int) -> bytes:
    """Return a whole number in LEB128."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def body_of(root: Key, children: dict[Key, list[tuple[int, int, Key]]], limited: bool) -> tuple[bytes, int]:
    """Return the body of a proof, and the number of its supports.

    children : for each support, the parts that are listed below it, each with its share of the splits and its key.
    """
    out, queue = bytearray(), [root]
    for key in queue:
        own, before = sorted(children[key]), -1
        out += number(len(own))
        for part, share, child in own:
            out += number(part - before - (not limited or before < 0))
            out += number(share) if limited else b""
            before = part
            queue.append(child)
    return bytes(out), len(queue)
