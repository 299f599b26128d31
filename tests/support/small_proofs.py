"""Random tables, plain recursion over their trees, and proofs that list supports at random."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil, floor, inf
from pathlib import Path

import numpy as np
import optree_verify


@dataclass
class Case:
    """A table with the header of a proof."""

    rows: list[dict[str, str]]
    head: dict

    def write(self, path: Path) -> None:
        """Write the table as a CSV file."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(self.rows[0]))
            writer.writeheader()
            writer.writerows(self.rows)

    @property
    def table(self) -> dict[str, np.ndarray]:
        """Return the texts of each column."""
        return {name: np.array([row[name] for row in self.rows], object) for name in self.rows[0]}


KINDS = ["values", "numbers", "numbers", "binary", "binary"]


def texts_of(random: np.random.Generator, kind: str, n: int) -> list[str]:
    """Return the texts of a random column: names of categories, or numbers, some of which may be missing."""
    if kind != "numbers":
        return [f"t{code}" for code in random.integers(0, 2 if kind == "binary" else int(random.integers(3, 6)), n)]
    texts = [f"{value / 2}" for value in random.integers(-2, int(random.integers(0, 5)), n)]
    if random.random() < 0.4:
        texts[int(random.integers(n))] = str(random.choice(["", "?"]))
    return texts


def feature_of(random: np.random.Generator, name: str, texts: list[str]) -> list:
    """Return a feature of a header for the texts of a column in the rows that have a weight."""
    if texts[0].startswith("t"):
        lists = [[text] for text in sorted({*texts, "t0", "t1"})]
        grouped = [["t0", "t9", *(text for text in sorted(set(texts)) if text > "t1")], ["t1"]]
        return [name, "values", grouped if random.random() < 0.3 else lists, None]
    has_missing = bool({"", "?"} & set(texts))
    if random.random() < 0.6:
        return [name, "numbers", None, str(random.choice(["low", "high"])) if has_missing else None]
    cuts = sorted({float(cut) for cut in random.choice([-0.75, -0.25, 0.0, 0.25, 0.75], int(random.integers(1, 4)))})
    return [name, "cuts", cuts, int(random.integers(0, len(cuts) + 2)) if has_missing else None]


def random_case(random: np.random.Generator) -> Case:
    """Return a random table with a random objective and limits; one in two is made for a rule that few tables need."""
    special = str(random.choice(["", "", "", "multiway", "depth", "splits"]))
    n, q = (
        (int(random.integers(8, 16)), int(random.integers(3, 6)))
        if special
        else (int(random.integers(2, 15)), int(random.integers(1, 5)))
    )
    k = int(random.integers(3, 6)) if special == "multiway" else int(random.integers(2, 5))
    kinds = {"": KINDS, "multiway": ["values"], "depth": ["binary"], "splits": ["binary", "binary", "values"]}[special]
    columns = {f"f{f}": texts_of(random, str(random.choice(kinds)), n) for f in range(q)}
    if special == "depth":  # a conjunction of two columns: some supports are reached at several depths
        columns["f2"] = [max(pair) for pair in zip(columns["f0"], columns["f1"], strict=True)]
    columns["y"] = [f"c{c}" for c in random.integers(0, k, n)]
    weight = "w" if random.random() < 0.5 else None
    columns |= {"w": [str(w) for w in random.choice(["0", "1", "2", "0.5", "3", "1e-1"], n)]} if weight else {}
    if weight:
        columns["w"][0] = "1"
    heavy = [not weight or columns["w"][i] != "0" for i in range(n)]
    features = [
        feature_of(random, f"f{f}", [t for t, keep in zip(columns[f"f{f}"], heavy, strict=True) if keep])
        for f in range(q)
    ]
    head = {
        "features": features,
        "missing": ["", "?"],
        "target": "y",
        "classes": [f"c{c}" for c in range(k)],
        "costs": random.integers(0, 4, (k, k)).tolist() if random.random() < 0.3 else None,
        "weight": weight,
        "lambda": f"{int(random.integers(0, 8))}/{int(random.integers(30, 200))}",
        "penalty": str(random.choice(["split", "leaf"])),
        "max_depth": int(random.integers(0, 5)) if special == "depth" or random.random() < 0.4 else None,
        "max_splits": int(random.integers(0, 8)) if special == "splits" or random.random() < 0.3 else None,
        "min_samples_leaf": int(random.integers(1, 5)) if random.random() < 0.3 else None,
        "tree": [-1],
        "claim": "optimal",
        "supports": 0,
    }
    return Case([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)], head)


def varied(case: Case, random: np.random.Generator) -> Case:
    """Return the case with a target of numbers, with costs of features, or with both."""
    head, kind = dict(case.head), int(random.integers(3))
    rows = [dict(row) for row in case.rows]
    if kind < 2:
        few = ["0", "1", "-1.5", "2.25", "1e1", "0.1", "-3"][: int(random.integers(2, 8))]
        for row in rows:
            row["y"] = str(random.choice(few))
        head |= {"classes": [], "costs": "squared errors"}
    if kind > 0:
        shares = ["0", "1/50", "0.1", "1/7", "3"]
        head["features"] = [[*feature, str(random.choice(shares))] for feature in head["features"]]
    return Case(rows, head)


def priced(case: Case, random: np.random.Generator) -> Case:
    """Return the case with costs of two to four actions in place of classes, and with costs of features or without."""
    head, shares = dict(case.head), ["0", "1/50", "0.1", "1/7", "3"]
    names = [f"action {k}" for k in range(int(random.integers(2, 5)))]
    few = ["0", "1", "-1.5", "2.25", "1e1", "0.1", "-3"][: int(random.integers(2, 8))]
    rows = [row | {name: str(random.choice(few)) for name in names} for row in case.rows]
    if random.random() < 0.3:
        head["features"] = [[*feature, str(random.choice(shares))] for feature in head["features"]]
    return Case(rows, head | {"target": names, "classes": [], "costs": "actions"})


def decimal(case: Case, random: np.random.Generator) -> Case:
    """Return the case with costs of several decimals."""
    classes = len(case.head["classes"])
    return Case(case.rows, case.head | {"costs": random.choice(["0", "0.5", "1.4", "2"], (classes, classes)).tolist()})


def case_of(seed: int) -> Case:
    """Return a random case of classes, of numbers or costs of features, of actions, or of decimal costs."""
    case = random_case(np.random.default_rng(seed))
    change = [None, varied, priced, None, varied, priced, decimal][seed % 7]
    return change(case, np.random.default_rng(seed)) if change else case


class Recursion:
    """The least cost of a tree for a set of rows, by plain recursion over the raw table and without a bound."""

    def __init__(self, case: Case):
        head = case.head
        weights = [Fraction(row[head["weight"]]) if head["weight"] else Fraction(1) for row in case.rows]
        self.rows = [row for row, weight in zip(case.rows, weights, strict=True) if weight]
        self.weights = [weight for weight in weights if weight]
        self.everything, self.squared = frozenset(range(len(self.rows))), head["costs"] == "squared errors"
        self.per_leaf, self.least = head["penalty"] == "leaf", head["min_samples_leaf"] or 1
        self.actions = head["target"] if head["costs"] == "actions" else []
        self.classes = ["a number"] if self.squared else self.actions or head["classes"]
        self.costs = [[int(i != j) for j in range(len(self.classes))] for i in range(len(self.classes))]
        if isinstance(head["costs"], list):
            self.costs = [[Fraction(cost) for cost in row] for row in head["costs"]]
        if self.squared:  # the units are the program's: any would do
            problem = optree_verify.Problem(head, case.table)
            self.unit = problem.error * problem.unit
        self.price = self.price_of(head["lambda"])
        self.first_leaf = self.price if self.per_leaf else 0  # the recursion leaves it out
        self.splits, self.charges = [], []
        for feature in head["features"]:
            found = self.splits_of(feature[:4], head["missing"])
            self.splits += found
            self.charges += [self.price_of(feature[4]) if len(feature) > 4 else Fraction(0)] * len(found)
        self.depth = inf if head["max_depth"] is None else head["max_depth"]
        most = head["max_splits"]
        self.budget = inf if most is None or most >= len(self.rows) else most  # each split parts some two rows
        self.least_cost = cache(self._least_cost)

    def price_of(self, share: str) -> Fraction:
        """Return the price of a split, a share of all rows, of a leaf's squared errors, or of its regret."""
        if self.squared:
            return round(Fraction(share) * self.leaf(self.everything) * self.unit) / self.unit
        if self.actions:
            cheapest = sum(self.leaf(frozenset([row])) for row in self.everything)
            return Fraction(share) * (self.leaf(self.everything) - cheapest)
        return Fraction(share) * sum(self.weights)

    def squares(self, rows: frozenset) -> Fraction:
        """Return the squared errors of a leaf, exactly."""
        numbers = {i: Fraction(self.rows[i]["y"]) for i in rows}
        weight = sum(self.weights[i] for i in rows)
        mean = sum(self.weights[i] * numbers[i] for i in rows) / weight
        return sum(self.weights[i] * (numbers[i] - mean) ** 2 for i in rows)

    def inevitable(self, group: frozenset) -> Fraction:
        """Return the loss of equal rows that every tree has; of squared errors, rounded down to a unit."""
        return floor(self.squares(group) * self.unit) / self.unit if self.squared else self.leaf(group)

    def splits_of(self, feature: list, missing: list[str]) -> list[list[frozenset]]:
        """Return the splits of a feature in the order of the format, each as the rows of its parts."""
        name, kind, value, side = feature
        texts = [row[name] for row in self.rows]

        def parts(code, count: int) -> list[frozenset]:
            return [frozenset(i for i, text in enumerate(texts) if code(text) == p) for p in range(count)]

        if kind == "values":
            return [parts(lambda text: next(i for i, one in enumerate(value) if text in one), len(value))]
        if kind == "cuts":
            count = max(len(value) + 1, (side or 0) + 1)
            return [parts(lambda text: side if text in missing else sum(cut < float(text) for cut in value), count)]
        end = -inf if side == "low" else inf
        number = {text: end if text in missing else float(text) for text in texts}
        cuts = sorted(set(number.values()))[:-1]
        return [parts(lambda text, cut=cut: int(number[text] > cut), 2) for cut in cuts]

    def groups(self, problem: optree_verify.Problem) -> list[frozenset]:
        """Return the rows of each group of a problem, which are found by the parts of all splits."""
        parts = [part for split in self.splits for part in split]
        if not parts:
            return [self.everything]
        found: dict[tuple, set[int]] = {}
        for row in self.everything:
            found.setdefault(tuple(row in part for part in parts), set()).add(row)
        bits = [
            np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
            for words in problem.words[problem.numbered]
        ]
        members = [tuple(group in some for some in map(set, bits)) for group in range(len(problem.codes))]
        return [frozenset(found[member]) for member in members]

    def leaf(self, rows: frozenset) -> Fraction:
        """Return the loss of a leaf."""
        return min(self.loss(rows, k) for k in range(len(self.classes)))

    def loss(self, rows: frozenset, k: int) -> Fraction:
        """Return the loss if class ``k`` is predicted; squared errors are rounded up to a unit."""
        if self.squared:
            return ceil(self.squares(rows) * self.unit) / self.unit
        if self.actions:
            return sum((self.weights[i] * Fraction(self.rows[i][self.actions[k]]) for i in rows), Fraction(0))
        y = {i: self.classes.index(self.rows[i]["y"]) for i in rows}
        return sum((self.weights[i] * self.costs[y[i]][k] for i in rows), Fraction(0))

    def tree(self, rows: frozenset, depth: float, budget: float) -> list[int]:
        """Return a best tree in preorder: numbers of splits, and -1 - the class of each leaf."""
        target = self.least_cost(rows, depth, budget)
        if target == self.leaf(rows) and (len(rows) >= self.least or rows == self.everything):
            return [-1 - next(k for k in range(len(self.classes)) if self.loss(rows, k) == target)]
        for number in range(len(self.splits)):
            for cost, parts, share in self.ways(rows, number, depth, budget):
                if cost == target:
                    subtrees = (self.tree(p, depth - 1, next(share)) if p else [-1] for p in parts)
                    return [number, *(node for subtree in subtrees for node in subtree)]
        raise AssertionError("no tree has the least cost")

    def _least_cost(self, rows: frozenset, depth: float, budget: float) -> Fraction:
        """Return the least cost in units of weight; infinite if some leaf is too small."""
        best = self.leaf(rows) if len(rows) >= self.least or rows == self.everything else inf
        ways = (cost for number in range(len(self.splits)) for cost, *_ in self.ways(rows, number, depth, budget))
        return min(best, min(ways, default=inf)) if depth and budget else best

    def ways(self, rows: frozenset, number: int, depth: float, budget: float) -> Iterator[tuple]:
        """Yield cost, parts and an iterator over shares of splits, for each way to share them among the parts."""
        parts = [rows & part for part in self.splits[number]]
        held = [part for part in parts if part]
        if len(held) < 2:
            return
        price = self.price * (len(held) - 1 if self.per_leaf else 1) + self.charges[number]
        shares = [[inf] * len(held)]
        if budget < inf:
            shares = (s for s in product(range(int(budget)), repeat=len(held)) if sum(s) == budget - 1)
        for share in shares:
            cost = sum(self.least_cost(part, depth - 1, s) for part, s in zip(held, share, strict=True))
            yield price + cost, parts, iter(share)


def number(value: int) -> bytes:
    """Return a whole number in LEB128."""
    out = bytearray()
    while True:
        out.append((value & 127) | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


def random_supports(
    problem: optree_verify.Problem, random: np.random.Generator, share: float, most: int = 300
) -> tuple[bytes, int]:
    """Return the body of a proof, which lists a share of all supports, and their number."""
    limited, body = problem.budget < inf, bytearray()
    queue = [(problem.everything, problem.levels, problem.budget)]
    seen = {(problem.everything.tobytes(), problem.levels, problem.budget)}
    for words, levels, budget in queue:
        children = []
        for part, members in enumerate(problem.words[problem.numbered] if levels > 1 and len(queue) < most else ()):
            child = words & members
            if child.any() and (child != words).any():
                for splits in range(1, int(budget)) if limited else [inf]:
                    key = (child.tobytes(), levels - 1, splits)
                    if key not in seen and random.random() <= share:
                        seen.add(key)
                        children.append((part, splits))
                        queue.append((child, levels - 1, splits))
        body += number(len(children))
        before = -1
        for part, splits in children:
            body += number(part - before - (not limited or before < 0)) + (number(splits) if limited else b"")
            before = part
    return bytes(body), len(queue)


def seal(head: dict, body: bytes) -> bytes:
    """Return the content of a proof file."""
    rest = json.dumps(head).encode() + b"\n" + body
    return optree_verify.MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest


def decoded(body: bytes) -> list[int]:
    """Return the numbers of a body."""
    numbers, value, shift = [], 0, 0
    for byte in body:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    return numbers
