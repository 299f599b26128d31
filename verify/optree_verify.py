"""Check that a decision tree is optimal, from the raw table and a list of supports.

Call: ``optree-verify data.csv tree.proof``. README.md has the grammar of the file and the proofs of the rules B1 to B5.

A *support* is the set of rows that reach a node. A proof lists supports and states no lower bound. This program
computes a lower bound of each support, smaller supports first, and compares the bound of all rows with the cost of the
tree. A list of other supports can weaken the result. No list can make the result false.

Costs are integers: ``error`` for a unit of loss, ``price`` for each split, or for each leaf beyond the first, and
``charge`` for the feature of a split. Rows of equal features are a *group*. G_k is the cost of a support if class or
action k is predicted, less the costs that are inevitable. M is the sum of the greatest costs of its groups. The *parts*
of a split are the supports of its children.

For squared errors a support has three sums instead: its weight, its numbers (weighted differences from their mean), and
in place of M the errors that its groups save as leaves of their own. `Problem.leaf` has the cost of a leaf. B1 and B3
are their only rules.
"""

import csv
import hashlib
import json
import re
import sys
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import gcd, inf, lcm

import numpy as np

__version__ = "1.7"
MAGIC = b"optree-proof 1 "
MOST = 2**28  # bytes of a file; rows times parts; supports times words
MANY_CUTS = 64  # thresholds of a feature whose parts are counted by cumulative sums, in place of matrix products
MANY_PAIRS = 2**15  # pairs of splits and parts that are counted at a time
MANY_SPLITS = 256  # open splits of a support; of more, the cheapest ones of the features are counted first
LIMITS = "max_depth", "max_splits", "min_samples_leaf"
OTHERS = "features", "missing", "target", "classes", "costs", "weight", "lambda", "penalty", "tree", "claim", "supports"


class Refused(Exception):
    """The reason why a proof is not accepted, on one line."""


def need(holds, why: str) -> None:
    """Raise Refused unless a condition holds."""
    if not holds:
        raise Refused(why)


def is_list(value, kind) -> bool:
    """Return whether a value of the header is a list of values of a kind."""
    return type(value) is list and all(type(item) is kind for item in value)


def read_proof(path: str) -> tuple[dict, list[int]]:
    """Return the header of a proof and the numbers of its body, which are in LEB128."""
    with open(path, "rb") as file:
        data = file.read(MOST + 1)
    need(len(data) <= MOST, f"file: more than {MOST} bytes")
    first, _, rest = data.partition(b"\n")
    need(first == MAGIC + hashlib.sha256(rest).hexdigest().encode(), "file: no proof of version 1, or a wrong checksum")
    text, _, body = rest.partition(b"\n")
    need(len(text) <= 2**26 and text.count(b"[") < 2**22, "header: too large")
    try:
        head = json.loads(text, parse_constant=lambda name: None)
    except (ValueError, RecursionError) as error:
        raise Refused(f"header: not JSON ({str(error)[:60]})") from error
    need(type(head) is dict and {*head, "data"} == {*LIMITS, *OTHERS, "data"}, "header: fields are missing or unknown")
    numbers, value, shift = [], 0, 0
    for byte in body:
        value, shift = value | (byte & 127) << shift, shift + 7
        need(shift <= 28, "supports: a number of more than 28 bits")
        if byte < 128:
            numbers.append(value)
            value, shift = 0, 0
    need(shift == 0, "supports: the last number is truncated")
    return head, numbers


def limit(head: dict, name: str, least: int, most: int, default: float = inf) -> float:
    """Return a limit of the header, the default if it is null."""
    value = head[name]
    need(value is None or (type(value) is int and least <= value <= most), f"{name}: not from {least} to {most}")
    return default if value is None else value


def fraction(text, name: str) -> Fraction:
    """Return an exact number that is 0 or more."""
    form = r"[0-9]{1,18}(\.[0-9]{1,18})?(e[-+]?[0-9]{1,3})?|[0-9]{1,18}/[1-9][0-9]{0,17}"
    need(type(text) is str and re.fullmatch(form, text), f"{name}: {str(text)[:40]!r} is no number from 0 on")
    return Fraction(text)


def whole_numbers(texts: np.ndarray) -> tuple[np.ndarray, Fraction, Fraction]:
    """Return decimals as whole steps above the least one, the step, and the least one."""
    form, (distinct, place) = r"-?[0-9]{1,18}(\.[0-9]{1,18})?(e[-+]?[0-9]{1,3})?", np.unique(texts, return_inverse=True)
    for text in distinct:
        need(re.fullmatch(form, text), f"data: the target {text[:40]!r} is no decimal")
    exact = [Fraction(text) for text in distinct]
    unit, least = lcm(*(number.denominator for number in exact)), min(exact)
    whole = np.array([int((number - least) * unit) for number in exact], object)
    common = gcd(*whole) or 1
    return (whole // common)[place.reshape(texts.shape)], Fraction(common, unit), least


def read_table(path: str) -> dict[str, np.ndarray]:
    """Return the texts of each column of a CSV file, by its name."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    need(len(rows) > 1 and len({len(row) for row in rows}) == 1, "data: rows of unequal length, or none")
    need(len(set(rows[0])) == len(rows[0]), "data: two columns of one name")
    return dict(zip(rows[0], np.array(rows[1:], object).T, strict=True))


def column(table: dict, name) -> np.ndarray:
    """Return the texts of a column."""
    need(type(name) is str and name in table, f"data: no column {str(name)[:40]!r}")
    return table[name]


def positions(lists, texts: np.ndarray, name: str) -> np.ndarray:
    """Return for each text the position of its list; no text is in two lists."""
    need(is_list(lists, list) and lists and all(is_list(one, str) for one in lists), f"{name}: no lists of texts")
    place = {text: i for i, one in enumerate(lists) for text in one}
    need(len(place) == sum(map(len, lists)), f"{name}: a text is listed twice")
    need(place.keys() >= set(texts), f"{name}: a text of the table is not listed")
    return np.array([place[text] for text in texts])


def read_feature(feature, table: dict, missing: set[str]) -> tuple[np.ndarray, list[int]]:
    """Return the codes of a feature, and the number of parts of each of its splits.

    The code of a row is its part by the only split, or the number of splits whose first part is without the row.
    """
    need(type(feature) is list and len(feature) in (4, 5), "features: [column, kind, value, part if missing] is needed")
    name, kind, value, side = feature[:4]
    texts, where = column(table, name), f"feature {str(name)[:40]!r}"
    if kind == "values":
        need(type(value) is list and len(value) > 1 and side is None, f"{where}: not two lists of texts and null")
        return positions(value, texts, where), [len(value)]
    is_missing = np.array([text in missing for text in texts])
    try:
        numbers = np.where(is_missing, "0", texts).astype(float)
    except ValueError as error:
        raise Refused(f"{where}: {str(error)[:60]}") from error
    need(not np.isnan(numbers).any(), f"{where}: NaN is not listed as missing")
    if kind == "cuts":
        is_rising = is_list(value, float) and all(a < b for a, b in pairwise([-inf, *value, inf]))
        need(is_rising and value, f"{where}: no list of rising numbers with a decimal point")
        codes, parts = np.searchsorted(np.array(value), numbers), len(value) + 1  # the number of cuts below
        need(side in ([*range(parts + 1)] if is_missing.any() else [None]), f"{where}: no part if missing, or needless")
        return np.where(is_missing, side, codes).astype(int), [max(parts, (side or 0) + 1)]
    need(kind == "numbers" and value is None, f"{where}: a kind other than values, cuts and numbers")
    need(side in (["low", "high"] if is_missing.any() else [None]), f"{where}: no side if missing, or needless")
    codes = np.unique(np.where(is_missing, -inf if side == "low" else inf, numbers), return_inverse=True)[1].ravel()
    return codes, [2] * int(codes.max())


def losses(costs, classes: int, y: np.ndarray) -> tuple[np.ndarray, Fraction, int]:
    """Return the loss of each prediction for the class of each row in whole steps, the step, and 0.

    A problem of one class has a second prediction.
    """
    costs = (1 - np.eye(max(classes, 2), dtype=int)[:classes]).tolist() if costs is None else costs
    need(is_list(costs, list) and [len(row) for row in costs] == classes * [max(classes, 2)], "costs: no full table")
    exact = np.array([[fraction(str(cost), "costs: one") for cost in row] for row in costs], object)
    unit = lcm(*(cost.denominator for cost in exact.flat))
    return np.vectorize(int, otypes=[object])(exact * unit)[y], Fraction(1, unit), 0


class Shape:
    """The places of parts in an array: the first parts of all splits, then all second parts, and so on.

    ``size`` has the number of parts of each split, two at least. ``of`` and ``part`` are the split and the number of
    each place.
    """

    def __init__(self, size: np.ndarray):
        splits = [np.flatnonzero(size > part) for part in range(size.max(initial=2))]
        self.size, self.n, self.of = size, len(size), np.concatenate(splits)
        self.part = np.repeat(np.arange(len(splits)), [len(some) for some in splits])
        ends = np.cumsum([len(some) for some in splits])
        self.more = [(some, slice(ends[p], ends[p + 1])) for p, some in enumerate(splits[2:], 1)]

    def over(self, combine: np.ufunc, values: np.ndarray) -> np.ndarray:
        """Return the sum or the maximum of values over the parts of each split."""
        out = combine(values[..., : self.n], values[..., self.n : 2 * self.n])
        for splits, places in self.more:
            out[..., splits] = combine(out[..., splits], values[..., places])
        return out

    def fill(self, later: np.ndarray, total: np.ndarray, axis: int = -1) -> np.ndarray:
        """Return values of all parts: the first part of a split has the total less the values of the later parts."""
        n, size, rest = self.n, list(later.shape), (np.s_[:],) * (-1 - axis)
        size[axis] += n
        out = np.empty(size, later.dtype)
        out[..., n:, *rest] = later
        first = np.subtract(np.expand_dims(total, axis), later[..., :n, *rest], out=out[..., :n, *rest])
        for splits, places in self.more:
            first[..., splits, *rest] -= later[..., places.start - n : places.stop - n, *rest]
        return out


class Problem:
    """The groups of a table, their losses, and their parts by each split.

    ``sums``, int[groups, K + 2], has G_k for each class or action k, M, and the number of rows; see `leaf` for squared
    errors. ``codes`` has the code of each feature; ``words`` has the groups in each part of each split, as bits;
    ``charge`` has the price of each split beyond ``price``.
    """

    def __init__(self, head: dict, table: dict):
        costs, name = head["costs"], head["weight"]
        self.squared, actions, numbers = costs == "squared errors", costs == "actions", type(costs) is str
        need(is_list(head["classes"], str) and not (numbers and head["classes"]), "classes: no list of texts")
        targets = head["target"] if actions else [head["target"]]
        need(is_list(targets, str) and len(targets) > actions, "target: no column, or less than two for actions")
        ones = "1" * len(column(table, targets[0]))
        weights = [fraction(text, "data: weight") for text in (ones if name is None else column(table, name))]
        heavy = [i for i, weight in enumerate(weights) if weight]
        need(heavy, "data: no row has a weight")
        table = {name: values[heavy] for name, values in table.items()}
        need(is_list(head["missing"], str) and is_list(head["features"], list) and head["features"], "features: none")
        need(len(head["features"]) * len(heavy) <= MOST, "features: too many for the rows")
        missing = set(head["missing"])
        codes, sizes = zip(*(read_feature(feature, table, missing) for feature in head["features"]), strict=True)
        y = np.stack([column(table, name) for name in targets], axis=1)
        y = y if numbers else positions([[text] for text in head["classes"]], y[:, 0], "classes")
        self.unit = lcm(*(weight.denominator for weight in weights))
        weight = np.array([int(weights[i] * self.unit) for i in heavy], object)
        need(head["penalty"] in ("split", "leaf"), "penalty: neither split nor leaf")
        self.leaves, shares = head["penalty"] == "leaf", [fraction(head["lambda"], "lambda")]
        shares += [fraction(one[4], "features: cost") if len(one) > 4 else 0 for one in head["features"]]
        self.levels, self.budget = limit(head, "max_depth", 0, 2**50), limit(head, "max_splits", 0, 1000)
        self.least = limit(head, "min_samples_leaf", 1, 2**50, default=1)
        codes, self.widest = np.array(codes).T, max(max(size, default=2) for size in sizes)
        if self.squared:
            self.set_numbers(codes, *whole_numbers(y[:, 0])[:2], weight, shares)
        else:
            loss, step, low = whole_numbers(y) if actions else losses(costs, len(head["classes"]), y)
            regret = (weight @ loss).min() - weight @ loss.min(1)  # of the best single action
            prices = [Fraction(share * (regret if actions else weight.sum() / step)) for share in shares]
            self.error, self.unit = lcm(*(price.denominator for price in prices)), self.unit / step
            self.price, *self.charge = (int(price * self.error) for price in prices)
            self.set_groups(codes, loss * weight[:, None], weight.sum() * low / step)
        self.set_splits(sizes)
        data = [codes.tolist(), y.ravel().tolist(), list(map(str, weight)), head["costs"]]
        self.digest = hashlib.sha256(json.dumps(data).encode()).hexdigest()

    def set_groups(self, codes: np.ndarray, loss: np.ndarray, low: Fraction) -> None:
        """Set the groups with the sums of their losses above ``low``, and the kind of whole numbers for all costs."""
        sums, rows = self.grouped(codes, loss)
        self.inevitable, sums = int(sums.min(1).sum()) + low, sums - sums.min(1, keepdims=True)
        exact = int(sums.sum()) * self.error + (self.price + max(self.charge)) * 10**4
        need(exact < 2**58, "data: weights, costs or lambda are too large")
        self.kind, self.none = (np.int32, np.int32(2**30)) if exact < 2**28 else (np.int64, np.int64(2**60))
        self.sums = np.column_stack([self.error * sums, self.error * sums.max(1), rows]).astype(self.kind)

    def grouped(self, codes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Set the codes of the groups; return the sums of the values of their rows, and the numbers of rows."""
        self.codes, group = np.unique(codes, axis=0, return_inverse=True)
        sums = np.zeros((len(self.codes), values.shape[1]), object)
        np.add.at(sums, group.ravel(), values)
        return sums, np.bincount(group.ravel())

    def set_numbers(self, codes: np.ndarray, y: np.ndarray, step: Fraction, weight: np.ndarray, shares: list) -> None:
        """Set the groups for squared errors, which are counted in ``1 / fine`` squared steps, rounded up in a leaf."""
        total, self.kind, self.none = weight.sum(), np.int64, np.int64(2**60)
        y = y - (2 * (weight * y).sum() + total) // (2 * total)
        sums, rows = self.grouped(codes, np.column_stack([weight, weight * y, weight * y * y]))
        squares, reach = int(sums[:, 2].sum()), int(np.abs(sums[:, 1]).sum())
        bits = min(62 - (reach * reach).bit_length(), 52 - squares.bit_length())
        need(bits >= 0 and total < 2**50, "data: the target has too many digits, or weights are too large")
        self.fine = 2**bits
        saved = -(-self.fine * sums[:, 1] ** 2 // sums[:, 0])  # by the groups as leaves, rounded up
        self.sums = np.column_stack([sums[:, :2], saved, rows]).astype(np.int64)
        leaf = self.fine * squares - self.fine * int(sums[:, 1].sum()) ** 2 // int(total)
        self.price, *self.charge = (round(share * leaf) for share in shares)
        need((self.price + max(self.charge)) * self.widest < 2**58, "lambda: too large")
        self.error = self.fine / step**2
        self.inevitable = (self.fine * squares - int(saved.sum())) / self.error

    def set_splits(self, sizes: list[list[int]]) -> None:
        """Set the splits of all features, the groups in each part, and the sums that pairs of parts need."""
        n, shape = len(self.codes), Shape(np.array([parts for size in sizes for parts in size], int))
        self.charge = np.repeat(np.array(self.charge, self.kind), [len(size) for size in sizes])
        need(n * len(shape.of) <= MOST and len(shape.more) < 10**4, "features: too many splits")
        counts, packed = [len(size) for size in sizes], [np.zeros((0, -(-n // 8)), np.uint8)]
        for codes, size in zip(self.codes.T, sizes, strict=True):
            above = codes > np.arange(len(size))[:, None]
            sides = np.stack([~above, above], 1) if len(size) != 1 else codes == np.arange(size[0])[:, None]
            packed.append(np.packbits(sides.reshape(-1, n), axis=1, bitorder="little"))
        bits = np.zeros((len(shape.of), -(-n // 64) * 8), np.uint8)
        self.numbered = np.lexsort([shape.part, shape.of])  # the place of each part in the order of the proof
        bits[self.numbered, : -(-n // 8)] = np.concatenate(packed)
        self.words, self.shape, self.feature = bits.view(np.uint64), shape, np.repeat(np.arange(len(sizes)), counts)
        self.everything = np.packbits(np.arange(bits.shape[1] * 8) < n, bitorder="little").view(np.uint64)
        self.binary = not shape.more
        self.movable = (self.binary or (not self.leaves and self.least == 1)) and not self.squared  # condition C
        self.has_rows = self.least > 1 or (self.leaves and not self.binary) or self.squared  # else B4 sees to no rows
        K, is_cut = self.sums.shape[1] - 2, np.repeat(counts, counts) > MANY_CUTS  # counted by sorted rows
        self.needed = [*range(K)] + [K] * (K > 2 or self.squared) + [K + 1] * self.has_rows  # of two G_k, M is the sum
        self.cuts, self.is_cut = np.flatnonzero(is_cut), is_cut[shape.of[shape.n :]]  # splits, and for each later part
        most = np.abs(self.sums).sum(0).max()
        exact = np.float32 if most < 2**24 else np.float64 if most < 2**53 else self.kind  # sums are whole numbers
        self.addends = self.sums.astype(self.kind if self.is_cut.all() else exact)
        self.holds = self.members(shape.n + np.flatnonzero(~self.is_cut), np.arange(n)).T.astype(exact)
        features, first, which = np.unique(self.feature[self.cuts], return_index=True, return_inverse=True)
        self.ranks = self.codes[:, features].astype(np.min_scalar_type(self.codes.max()))
        self.starts, self.ends = first + np.arange(len(features)), np.arange(len(which)) + which  # of all ranks in turn

    def groups(self, words: np.ndarray) -> np.ndarray:
        """Return the groups of a support."""
        return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))

    def members(self, parts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return whether each part has each of some groups, uint8[parts, groups]."""
        return np.unpackbits(self.words[parts].view(np.uint8), axis=1, bitorder="little")[:, rows]

    def cost(self, nodes) -> int:
        """Return the cost of a tree in preorder: the number of a split, or -1 - the class of a leaf."""
        need(is_list(nodes, int), "tree: no list of whole numbers")
        waiting, loss, splits, leaves = [(self.everything, 0)], 0, 0, 0
        least = -1 if self.squared else 2 - len(self.sums[0])
        for node in nodes:
            need(waiting and least <= node < self.shape.n, "tree: a node too many, or unknown")
            words, level = waiting.pop()
            if node >= 0:
                splits, loss = splits + 1, loss + int(self.charge[node])
                need(level < self.levels and splits <= self.budget, "tree: deeper than max_depth, or too many splits")
                waiting += [(words & part, level + 1) for part in self.words[self.shape.of == node][::-1]]
            elif words.any():
                sums = self.sums[self.groups(words)].sum(0, np.int64)
                need(sums[-1] >= self.least or level == 0, "tree: a leaf with fewer rows than min_samples_leaf")
                own = self.leaf(sums[:-2], sums[-2]) if self.squared else sums[-1 - node]
                loss, leaves = loss + int(own), leaves + 1
        need(not waiting, "tree: nodes are missing")
        return loss + self.price * (leaves - 1 if self.leaves else splits)

    # Lower bounds of an array of supports. ``G``, int[K, ...], has each G_k; ``M`` and ``rows`` are int[...].

    def leaf(self, G: np.ndarray, M: np.ndarray) -> np.ndarray:
        """Return the cost of leaves: the least G_k, or from weight G[0], numbers G[1] and M the squared errors."""
        return M - self.fine * G[1] ** 2 // np.maximum(G[0], 1) if self.squared else G.min(0)

    def simple(self, G: np.ndarray, M: np.ndarray, d: float, m: float) -> np.ndarray:
        """Return the bounds B1 and B2 of supports."""
        if d <= 0 or m <= 0 or self.squared:
            leaf = self.leaf(G, M)
            return leaf if d <= 0 or m <= 0 else np.minimum(leaf, self.price)
        first, second = np.minimum(G[0], G[1]), np.maximum(G[0], G[1])  # the two least G_k
        for other in G[2:]:
            first, second = np.minimum(first, other), np.minimum(second, np.maximum(first, other))
        two = np.maximum(first + second - M, 0) if self.binary or self.leaves else 0
        bound = np.minimum(first, self.price + two)
        return bound if (d == 1 or m == 1) and (self.binary or not self.leaves) else np.minimum(bound, 2 * self.price)

    def by_splits(self, low: np.ndarray, M, rows: np.ndarray, shape: Shape, charge: np.ndarray) -> np.ndarray:
        """Return the bound B3 of each split, or more than every cost if B4 leaves it out.

        low : bounds of the parts, [shares, ..., parts], for each number of splits of a part from 0 on; or one for any.
        M : an array, or None to do without B4. charge : of each split, beyond the price.
        """
        n, best = shape.n, low[..., : shape.n]
        for splits, places in [(np.s_[:], np.s_[n : 2 * n]), *shape.more]:
            old, part, best = best[..., splits], low[..., places], best.copy()
            for b in range(len(low)):
                best[b][..., splits] = reduce(np.minimum, [old[b - i] + part[i] for i in range(b + 1)])
        out, price = False, self.price
        if self.has_rows:
            held = shape.over(np.add, (rows > 0).astype(self.kind))
            price = self.price * (held - 1) if self.leaves else self.price
            out = (held < 2) | shape.over(np.maximum, (rows > 0) & (rows < self.least))
        price = price + charge
        if self.movable and M is not None:
            gain = M - low[-1]
            out |= shape.over(np.add, gain) - shape.over(np.maximum, gain) <= price
        return np.where(out, self.none, best[-1] + price)

    def bound(self, words: np.ndarray, d: float, m: float, known: dict) -> int:
        """Return the best lower bound of T(words, d, m) by the rules; ``known`` has the bounds of smaller supports."""
        rows = self.groups(words)
        total = self.sums[rows].sum(0, self.kind)
        leaf = int(self.leaf(total[:-2], total[-2]))
        if d <= 0 or m <= 0:
            return leaf
        node = Node(self, rows, total, d, m)
        near = self.movable and (self.levels < inf or self.is_cut.any())  # B5 pays
        is_listed, done = node.look_up(words, leaf, known), np.zeros(len(node.live), bool)
        while True:
            value = self.by_splits(node.low, *node.sums[-2:], node.shape, node.charge)
            is_open = (value < min(leaf, value[done].min(initial=self.none))) & ~done
            todo = np.flatnonzero(is_listed & ~done & near & (value.min(initial=leaf) < leaf))
            if not len(todo):  # B5 has spread the bounds of listed parts
                todo = np.flatnonzero(is_open)[np.argsort(value[is_open], kind="stable")]
            if not len(todo):
                return int(value.min(initial=leaf))
            if near and len(todo) > MANY_SPLITS:  # the cheapest split of each feature
                todo = todo[np.sort(np.unique(self.feature[node.live[todo]], return_index=True)[1])]
            todo = todo[: 1 + MANY_PAIRS // len(node.parts)]
            node.count_pairs(todo, near)
            done[todo] = True


class Node:
    """A support while it is bounded: its live splits, which part its rows, and the bounds of their parts.

    ``sums``, int[K + 2, parts], has the sums of the parts. ``low``, int[shares, parts], has their bounds for each
    number of splits of a part.
    """

    def __init__(self, problem: Problem, rows: np.ndarray, total: np.ndarray, d: float, m: float):
        self.problem, self.rows, self.d, self.shape, self.is_cut = problem, rows, d, problem.shape, problem.is_cut
        self.X, self.order = problem.holds[rows], np.argsort(problem.ranks[rows], axis=0, kind="stable").T
        held = np.bincount((problem.ranks[rows] + problem.starts).ravel(), minlength=len(problem.words))
        self.at = np.cumsum(held)[problem.ends] - 1  # the last row below each cut
        self.sums = self.shape.fill(self.count(problem.addends[rows].T), total)
        is_live = self.shape.over(np.maximum, (self.sums[-1] > 0) & (self.sums[-1] < total[-1]))  # not all in one part
        is_live[problem.cuts] &= np.diff(self.at, prepend=-2) != 0  # of cuts with the same rows below, the first
        self.live, self.parts = np.flatnonzero(is_live), np.flatnonzero(is_live[self.shape.of])
        self.charge = problem.charge[self.live]
        later = is_live[self.shape.of[self.shape.n :]]
        self.X, self.at, self.is_cut = self.X[:, later[~self.is_cut]], self.at[later[self.is_cut]], self.is_cut[later]
        self.sums, self.shape = self.sums[:, self.parts], Shape(self.shape.size[self.live])
        self.shares = [inf] if m == inf else range(m)
        self.low = np.array([problem.simple(self.sums[:-2], self.sums[-2], d - 1, share) for share in self.shares])

    def count(self, weights: np.ndarray) -> np.ndarray:
        """Return the sums of weights, [..., rows], over the rows of each later part: int[..., later parts]."""
        below = np.cumsum(np.take(weights, self.order, axis=-1), axis=-1, dtype=weights.dtype)
        below = np.take(below.reshape(*weights.shape[:-1], -1), self.at, axis=-1)
        above = weights.sum(-1, keepdims=True, dtype=weights.dtype) - below
        sums = np.concatenate([weights @ self.X, above], axis=-1, dtype=self.problem.kind, casting="unsafe")
        return sums if len(self.at) in (0, len(self.is_cut)) else sums[..., np.lexsort([self.is_cut]).argsort()]

    def look_up(self, words: np.ndarray, leaf: int, known: dict) -> np.ndarray:
        """Raise the bounds of parts that are listed, and return the mask of the splits with such a part."""
        # With one level, B3 of a part is its least cost.
        value = self.problem.by_splits(self.low, *self.sums[-2:], self.shape, self.charge)
        is_wanted = (value < leaf) & (self.d > 2)
        is_listed, wanted = np.zeros(len(self.live), bool), np.flatnonzero(is_wanted[self.shape.of])
        for part, key in zip(wanted, words & self.problem.words[self.parts[wanted]], strict=True):
            for levels, most, bound in known.get(key.tobytes(), ()):
                if levels >= self.d - 1:
                    use = [i for i, share in enumerate(self.shares) if share <= most]
                    self.low[use, part] = np.maximum(self.low[use, part], bound)
                    is_listed[self.shape.of[part]] = True
        return is_listed

    def count_pairs(self, splits: np.ndarray, near: bool) -> None:
        """Raise the bounds of the parts of some splits by B3 and, if ``near``, the bounds of all parts by B5."""
        is_chosen, problem = np.bincount(splits, minlength=len(self.live)) > 0, self.problem
        at, K, needed = np.flatnonzero(is_chosen[self.shape.of]), len(self.sums) - 2, problem.needed
        chosen, later = Shape(self.shape.size[is_chosen]), at[len(splits) :]
        weights = problem.members(self.parts[later], self.rows) * problem.addends[self.rows].T[needed, None]
        pairs = self.shape.fill(self.count(weights), self.sums[np.ix_(needed, later)])
        pairs = chosen.fill(pairs, self.sums[needed], axis=-2)  # of each chosen part, and each part
        M, rows = pairs[K] if K in needed else pairs[0] + pairs[1], pairs[-1]
        for i, share in enumerate(self.shares):
            if share > 0 and self.d > 1:
                simple = problem.simple(pairs[:K], M, self.d - 2, share - 1)[None]
                below = problem.by_splits(simple, M if self.d > 2 else None, rows, self.shape, self.charge).min(-1)
                leaf = problem.leaf(self.sums[:K, at], self.sums[K, at])
                self.low[i, at] = np.maximum(self.low[i, at], np.minimum(leaf, below))
        if near:
            within = M if problem.least == 1 else np.where(rows == self.sums[-1], M, -problem.none)  # P is within Q
            for low in self.low:
                np.maximum(low, (within + (low[at] - self.sums[K, at])[:, None]).max(0), out=low)


def prove(problem: Problem, numbers: list[int], count: int) -> int:
    """Return the lower bound of all rows that the listed supports give.

    The body has, for each support in turn, the number of its children. A child is the step of its part from that of the
    child before and, with a limit on splits, the greatest number of splits for which it is bounded.
    """
    limited, at, known = problem.budget < inf, 0, {}
    need(count * len(problem.everything) <= MOST, "supports: too many for the memory")
    supports = [(problem.everything, problem.levels, problem.budget)][:count]
    for words, d, m in supports:
        need(at < len(numbers), "supports: truncated")
        part, children, at = -1, numbers[at], at + 1
        for _ in range(children):
            need(at + limited < len(numbers) and len(supports) < count, "supports: truncated, or more than said")
            part += numbers[at] + (not limited or part < 0)
            share = numbers[at + 1] if limited else 0
            need(part < len(problem.words) and d > 1 and share < m, "supports: no such part, or limits are exceeded")
            child = words & problem.words[problem.numbered[part]]
            need(child.any() and (child != words).any(), "supports: a part without rows, or with all")
            supports.append((child, d - 1, share if limited else inf))
            at += 1 + limited
    need(at == len(numbers) and len(supports) == count, "supports: fewer than said, or numbers are left over")
    for number, (words, d, m) in enumerate(sorted(supports, key=lambda one: int(np.bitwise_count(one[0]).sum()))):
        _ = sys.stderr.isatty() and print(f"{number} of {count} supports", end="\r", file=sys.stderr, flush=True)
        bounds = known.setdefault(words.tobytes(), [])
        if not any((levels, most) == (d, m) for levels, most, _ in bounds):
            bounds.append((d, m, problem.bound(words, d, m, known)))
    return known[problem.everything.tobytes()][-1][2] if count else 0


def check(head: dict, numbers: list[int], table: dict) -> str:
    """Return the statement that a proof shows, or raise Refused."""
    problem = Problem(head, table)
    need(head.get("data", problem.digest) == problem.digest, "data: the proof is about another table")
    cost = problem.cost(head["tree"])
    need(type(head["supports"]) is int and 0 <= head["supports"] <= len(numbers), "supports: no such number")
    lower = prove(problem, numbers, head["supports"])
    need(lower <= cost, "verifier: a bound exceeds the cost of a tree; please report this")
    left_out = problem.error * problem.inevitable + problem.price * problem.leaves
    rows = [Fraction(value + left_out, problem.error * problem.unit) for value in (cost, lower)]
    claim = 0 if head["claim"] == "optimal" else fraction(head["claim"], "claim")  # the greatest gap
    need((gap := rows[0] - rows[1]) <= claim, f"not proved: the tree costs {rows[0]}, the lower bound is {rows[1]}")
    said = [f"{f'within {float(gap):.6g}' if gap else 'optimal'}: cost {rows[0]}"]
    said += [f"lambda {head['lambda']} per {head['penalty']}"]
    said += [f"{name} {head[name]}" for name in LIMITS if head[name] is not None]
    said += ["costs of features"] * bool(problem.charge.any())
    said += [head["costs"] if type(head["costs"]) is str else "losses by class"] * (head["costs"] is not None)
    return ", ".join([*said, f"{head['supports']} supports", f"data {problem.digest[:16]}"])


def main(arguments: list[str] | None = None) -> int:
    """Check a proof, print one line, and return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 2:
        print("usage: optree-verify data.csv tree.proof", file=sys.stderr)
        return 2
    try:
        print(check(*read_proof(arguments[1]), read_table(arguments[0])))
    except (Refused, OSError, UnicodeDecodeError, csv.Error) as error:
        print(f"{'not read' if isinstance(error, OSError) else 'refused'}: {error}")
        return 2 if isinstance(error, OSError) else 1
    except MemoryError:
        print("undecided: not enough memory")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
