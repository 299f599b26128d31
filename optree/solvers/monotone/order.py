"""The order of a table's values, and of the leaves of a tree over its columns.

*Atoms* of a column are the parts of its values that no candidate split separates: intervals between thresholds,
categories, and the missing values. Each atom has a training row. A node of a tree is a *box*: a set of atoms of each
column.

M1 (leaves).
**Statement**: a tree is monotone in column c if and only if, for leaves A and B whose boxes have a common atom of every
other column, and an atom a of A and an atom b of B in column c with a < b, A predicts no more than B.
**Proof**: the two leaves have rows that differ in column c only, with atoms a and b, exactly under this condition.
**Used in** `Order.below`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from optree.columns import Columns
from optree.encoding.coded_rows import CodedRows, ValueTests
from optree.encoding.fitted_columns import Column
from optree.tree import LEAF, Tree


class Order(NamedTuple):
    """The atoms of columns, numbered by rising value; the column's missing values come last."""

    column: list[int]  # of each coded feature
    inside: list[list[int]]  # the atoms with each code of a feature, as bits
    ordered: dict[int, int]  # the atoms with an order of each monotone column, as bits
    every: dict[int, int]  # all atoms of each column, as bits

    @classmethod
    def of(cls, columns: Columns, directions: Mapping[str, int], check: Callable[[], None] = lambda: None) -> Order:
        """Return the order of the columns of a table.

        directions : 1, -1 or 0 for each column by name: the prediction rises, falls, or may do both. check : called
        before each feature, :meth:`optree.budget.Clock.check` for example.
        """
        drop, inside, ordered, every = columns.encoder.spec.drop, [], {}, {}
        for c, column in enumerate(columns.encoder.columns_):
            if tests := column.tests(drop):
                atoms, known = _atoms(column, tests, directions[column.name] < 0)
                every[c] = (1 << len(atoms)) - 1
                if directions[column.name]:
                    ordered[c] = (1 << known) - 1
                parts = column.n_categories if column.is_whole else 2
                for codes in atoms.T:
                    check()
                    inside.append([_bits(codes == code) for code in range(parts)])
        return cls(columns.sources, inside, ordered, every)

    def below(self, low: dict[int, int], high: dict[int, int]) -> int | None:
        """Return the monotone column in which alone some row of a box is below some row of another box, or None."""
        apart = [c for c in low.keys() & high.keys() if not low[c] & high[c]]
        if len(apart) != 1 or (c := apart[0]) not in self.ordered:
            return None
        # Boxes of leaves are disjoint, so that exactly one column separates them.
        return c if 0 < _lowest(self._atoms(low, c)) < self._atoms(high, c).bit_length() else None

    def leaves(self, tree: Tree) -> list[tuple[int, dict[int, int]]]:
        """Return the node and the box of each leaf of a tree."""
        found, boxes = [], {0: {}}
        for node, feature in enumerate(tree.feature.tolist()):
            if feature == LEAF:
                found.append((node, boxes[node]))
                continue
            c = self.column[feature]
            for code, child in enumerate(tree.children(node)):
                atoms = boxes[node].get(c, self.every[c]) & self.inside[feature][code]
                boxes[child] = {**boxes[node], c: atoms}
        return found

    def broken(self, tree: Tree) -> set[int]:
        """Return the monotone columns in which a tree falls somewhere."""
        answers = tree.prediction if tree.values is None else tree.values[tree.prediction]
        leaves = [(box, answers[node]) for node, box in self.leaves(tree)]
        pairs = [(low, high) for low, k in leaves for high, other in leaves if k > other]
        return {self.below(low, high) for low, high in pairs} - {None}

    def _atoms(self, box: dict[int, int], c: int) -> int:
        """Return the ordered atoms of a box in a monotone column."""
        return box.get(c, self.every[c]) & self.ordered[c]


def upper_set(gain: Sequence[int], pairs: Sequence[tuple[int, int]]) -> set[int]:
    """Return the smallest upper set of greatest total gain: if a pair's first member is in it, so is its second.

    O(n m) for each augmentation of a flow from the gains to the losses, for n members and m pairs.
    """
    left, flow = list(gain), dict.fromkeys(pairs, 0)
    above, below = ([[] for _ in gain] for _ in range(2))
    for low, high in pairs:
        above[low].append(high)
        below[high].append(low)

    def reach(source: int) -> dict[int, int | None]:
        """Return the members that a source's gain can reach, each with its predecessor; a loss ends the search."""
        found, queue = {source: None}, [source]
        for member in queue:
            if left[member] < 0:
                return found
            back = (low for low in below[member] if flow[low, member])
            for other in (*above[member], *back):
                if other not in found:
                    found[other] = member
                    queue.append(other)
        return found

    members = set()
    for source in range(len(gain)):
        while left[source] > 0:
            found = reach(source)
            last = next((member for member in found if left[member] < 0), None)
            if last is None:
                members |= found.keys()
                break
            path, at = [], last
            while (before := found[at]) is not None:
                path.append((before, at))
                at = before
            amount = min(left[source], -left[last], *(flow[j, i] for i, j in path if (i, j) not in flow))
            left[source] -= amount
            left[last] += amount
            for i, j in path:
                if (i, j) in flow:
                    flow[i, j] += amount
                else:
                    flow[j, i] -= amount
    return members


def _atoms(column: Column, tests: list[tuple[int, float]], falls: bool) -> tuple[np.ndarray, int]:
    """Return the codes of the atoms of a column for some tests, int[m, q], and the number of atoms with an order.

    Neighbouring values with equal codes are one atom. So are the missing values and values with the same codes.
    falls : whether the atom of the greatest values comes first.
    """
    values = [*column.parts, np.inf] if column.form == "thresholds" else [*range(len(column.parts))]
    values = values[:: -1 if falls else 1]
    lacks = [column.n_categories - 1 if column.is_whole else np.nan] * column.has_missing
    rows = CodedRows(np.array([*values, *lacks], float)[:, None], ValueTests.of([(0, *test) for test in tests]))
    codes = rows.array(column.n_categories)
    _, first = np.unique(codes, axis=0, return_index=True)
    return codes[np.sort(first)], int((first < len(values)).sum())


def _bits(chosen: np.ndarray) -> int:
    """Return the places of true values, as bits."""
    return int.from_bytes(np.packbits(chosen, bitorder="little").tobytes(), "little")


def _lowest(bits: int) -> int:
    """Return the place of the lowest bit, from 1 on."""
    return (bits & -bits).bit_length()
