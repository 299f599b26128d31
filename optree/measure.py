"""What a tree is judged by, beside its size: accuracy, its weighted forms, F-score, Jaccard index, area under the ROC.

Every measure is a loss, a share between 0 (perfect) and 1. Source: J. Lin, C. Zhong, D. Hu, C. Rudin, M. Seltzer,
"Generalized and Scalable Optimal Sparse Decision Trees", ICML 2020, section 2. Of two classes the second is the
positive one; P and N are the weights of both, FP and FN those of the wrong predictions.

- ``accuracy``: misclassified weight, or what a problem's own costs say.
- ``balanced-accuracy``: the mean over classes of the misclassified share of the class; those without rows do not count.
- ``weighted-accuracy:OMEGA``: (FP + OMEGA FN) / (OMEGA P + N).
- ``f-beta:BETA``: 1 - F = (FP + BETA^2 FN) / ((1 + BETA^2) P + FP - FN); ``f1`` is ``f-beta:1``.
- ``jaccard``: (FP + FN) / (P + FP).
- ``auc``: one minus the area under the convex hull of the ROC points, which is that of leaves ranked by their share of
  positive rows: equation (2).
- ``partial-auc:THETA``: THETA minus that area left of the false positive rate THETA.

A loss whose denominator is zero (a class is not there) is zero: there is nothing to get wrong. The first three add up
over rows, so they are costs of a problem (:meth:`Measure.price`). Of the others the loss is a fraction whose
denominator depends on the tree; it is **rounded up** to a fixed unit of about 2^-40 of all rows. Rounding up is
monotone, so proofs compare whole numbers here, too: the least rounded loss is the rounded least loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import ceil, lcm
from typing import NamedTuple

import numpy as np

from optree.errors import OptreeError, choice
from optree.problem import Problem
from optree.tree import LEAF, Tree

ADDITIVE = ("accuracy", "balanced-accuracy", "weighted-accuracy")
LABELLED = ("f-beta", "jaccard")  # of the predictions, as a ratio
RANKED = ("auc", "partial-auc")  # of the order of the leaves
_PARAMETERS = {"weighted-accuracy": "OMEGA", "f-beta": "BETA", "partial-auc": "THETA"}
_FORMS = [f"{name}:{_PARAMETERS[name]}" if name in _PARAMETERS else name for name in (*ADDITIVE, *LABELLED, *RANKED)]
_UNITS = 2**40  # of a loss that is rounded


class Ratio(NamedTuple):
    """A loss (fp FP + fn FN) / (whole + fp_below FP - fn_below FN), in whole numbers."""

    fp: int
    fn: int
    whole: int
    fp_below: int
    fn_below: int

    def of(self, fp: int, fn: int) -> Fraction:
        below = self.whole + self.fp_below * fp - self.fn_below * fn
        return Fraction(self.fp * fp + self.fn * fn, below) if below else Fraction(0)


class Measure(NamedTuple):
    """One of the measures of this module.

    Attributes
    ----------
    name : str
    parameter : Fraction or None
        OMEGA >= 0, BETA > 0, or THETA in [0, 1].
    """

    name: str = "accuracy"
    parameter: Fraction | None = None

    @classmethod
    def of(cls, text: str) -> Measure:
        """The measure of a text such as ``"auc"`` or ``"partial-auc:0.1"``; a decimal is read exactly.

        Raises
        ------
        OptreeError
            If there is no such measure, or its parameter is missing or out of range.
        """
        name, colon, written = str(text).partition(":")
        if str(text) == "f1":
            name, colon, written = "f-beta", ":", "1"
        if name not in (*ADDITIVE, *LABELLED, *RANKED) or bool(colon) != (name in _PARAMETERS):
            raise choice("measure", text, ["f1", *_FORMS])
        if name not in _PARAMETERS:
            return cls(name)
        try:
            value = Fraction(written)
        except (ValueError, ZeroDivisionError):
            value = Fraction(-1)
        if value < 0 or (value == 0 and name == "f-beta") or (value > 1 and name == "partial-auc"):
            wanted = {"f-beta": "above 0", "partial-auc": "from 0 to 1"}.get(name, ">= 0")
            raise OptreeError(f"measure: {text!r} is not accepted; {_PARAMETERS[name]} is a number {wanted}")
        return cls(name, value)

    @property
    def additive(self) -> bool:
        """Whether the loss is a sum over rows."""
        return self.name in ADDITIVE

    def price(self, problem: Problem) -> Problem:
        """The problem with the costs that an additive measure puts on mistakes; the problem itself for others."""
        if self.name == "accuracy":
            return problem
        if problem.costs is not None:
            raise OptreeError(f"measure: {self.name} has costs of its own; leave out those of the problem")
        count = len(problem.classes)
        if self.name != "balanced-accuracy" and count != 2:
            raise OptreeError(f"measure: {self.name} is for two classes; the problem has {count}")
        if not self.additive:
            return problem
        held = _weights(problem)
        if self.name == "balanced-accuracy":
            present = sum(weight > 0 for weight in held)
            shares = [Fraction(1, present * weight) if weight else Fraction(0) for weight in held]
        else:
            total = held[0] + self.parameter * held[1]
            shares = [1 / total, self.parameter / total] if total else [Fraction(0)] * 2
        costs = [share * problem.total_weight for share in shares]
        unit = lcm(*(cost.denominator for cost in costs))
        table = np.outer([int(cost * unit) for cost in costs], np.ones(count, np.int64)) * (1 - np.eye(count))
        return replace(problem, costs=table.astype(np.int64), unit=unit)

    def unit(self, problem: Problem) -> int:
        """How many units of loss stand for one row, of a problem that was priced."""
        return problem.unit if self.additive else max(1, _UNITS // problem.total_weight)

    def greatest_loss(self, problem: Problem) -> int:
        """No tree has more, in units."""
        return problem.greatest_loss if self.additive else problem.total_weight * self.unit(problem)

    def loss(self, tree: Tree, problem: Problem) -> int:
        """The loss of a tree on rows, from its predictions or the order of its leaves, in units.

        It is computed from the rows, not from what the tree says about itself.
        """
        problem = self.price(problem)
        if self.additive:
            return tree.loss(problem)
        return self.rounded(self.share(tree, problem), problem)

    def share(self, tree: Tree, problem: Problem) -> Fraction:
        """The loss of a tree on rows as a share, exactly."""
        problem = self.price(problem)
        if self.additive:
            return Fraction(tree.loss(problem), problem.total_weight * problem.unit)
        if self.name in RANKED:
            return self._misranked(tree, problem)
        guess = tree.predict(problem.codes)
        fp, fn = (int(problem.weights[(guess == k) & (problem.y != k)].sum()) for k in (1, 0))
        return self.ratio(_weights(problem)[1]).of(fp, fn)

    def ratio(self, positive: int) -> Ratio:
        """The loss of predictions where ``positive`` rows are of the second class."""
        if self.name == "jaccard":
            return Ratio(1, 1, positive, 1, 0)
        square = self.parameter**2
        u, v = square.numerator, square.denominator
        return Ratio(v, u, (u + v) * positive, v, v)

    def _misranked(self, tree: Tree, problem: Problem) -> Fraction:
        """The leaves of the tree in its own order: by the share of positive rows that it knows, not that of these."""
        node = tree.apply(problem.codes)
        table = np.zeros((tree.n_nodes, 2), np.int64)
        np.add.at(table, (node, problem.y), problem.weights)
        own = {int(v): tuple(tree.counts[v].tolist()) for v in np.flatnonzero(table.any(axis=1))}
        score = {v: Fraction(p, n + p) if n + p else Fraction(int(tree.prediction[v])) for v, (n, p) in own.items()}
        steps = {}
        for v, value in score.items():  # equal scores are one step
            n, p = steps.get(value, (0, 0))
            steps[value] = (n + int(table[v, 0]), p + int(table[v, 1]))
        return self.misranked([steps[value] for value in sorted(steps, reverse=True)], _weights(problem))

    def misranked(self, steps: list[tuple[int, int]], held: list[int]) -> Fraction:
        """The loss of steps (negative, positive) of a ROC curve, in their order, of ``held`` such rows in all."""
        theta = Fraction(1) if self.name == "auc" else self.parameter
        if 0 in held:
            return Fraction(0)
        end, x, y, area = theta * held[0], 0, 0, Fraction(0)
        for n, p in steps:
            if x >= end:
                break
            width = min(Fraction(n), end - x)
            if n:
                area += width * (y + Fraction(p) * width / n / 2)
            x, y = x + n, y + p
        return theta - area / (held[0] * held[1])

    def rounded(self, share: Fraction, problem: Problem) -> int:
        """A share as a loss in units."""
        return ceil(share * problem.total_weight * self.unit(problem))

    def of_leaves(self, leaves: Iterable[tuple[int, int]]) -> Fraction:
        """The share of a tree whose leaves hold such (negative, positive) rows, ranked or labelled as is best."""
        leaves = sorted(leaves, key=_positive_share, reverse=True)
        held = [sum(count) for count in zip(*leaves, strict=True)]
        if self.name in RANKED:
            return self.misranked(leaves, held)
        return min(self._cuts(leaves))

    def _cuts(self, leaves: list[tuple[int, int]]) -> list[Fraction]:
        """The shares if the first 0, 1, ... of some leaves (negative, positive) are labelled positive."""
        fp, fn = 0, sum(p for _, p in leaves)
        ratio = self.ratio(fn)
        shares = [ratio.of(fp, fn)]
        for n, p in leaves:
            fp, fn = fp + n, fn - p
            shares.append(ratio.of(fp, fn))
        return shares

    def label(self, tree: Tree) -> Tree:
        """The tree with the predictions of its leaves that are best for its own counts; the tree itself for most.

        For a ratio the leaves are labelled positive from the highest share of positive rows down to the best cut. That
        is the best of all labellings: with t the least loss, the best one minimises ``fp FP + fn FN - t (whole ...)``,
        where a leaf is positive if and only if its share of positive rows is at least a constant (Dinkelbach).
        """
        if self.name not in LABELLED:
            return tree
        leaves = [v for v in np.flatnonzero(tree.feature == LEAF) if tree.counts[v].any()]
        leaves.sort(key=lambda v: _positive_share(tree.counts[v].tolist()), reverse=True)
        shares = self._cuts([tuple(tree.counts[v].tolist()) for v in leaves])
        prediction = tree.prediction.copy()
        prediction[leaves] = np.arange(len(leaves)) < shares.index(min(shares))
        return replace(tree, prediction=prediction)

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}:{self.parameter}"


def _positive_share(counts) -> Fraction:
    return Fraction(counts[1], counts[0] + counts[1])


def _weights(problem: Problem) -> list[int]:
    """The weight of each class."""
    return [int(problem.weights[problem.y == k].sum()) for k in range(len(problem.classes))]


ACCURACY = Measure()
