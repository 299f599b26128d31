"""Measures of a tree's predictions: accuracy, its weighted forms, F-score, Jaccard index, area under the ROC curve.

Every measure is a loss between 0 (perfect) and 1. Source: J. Lin, C. Zhong, D. Hu, C. Rudin, M. Seltzer, "Generalized
and Scalable Optimal Sparse Decision Trees", ICML 2020, section 2. Of two classes the second is the positive one. P and
N are the weights of the positive and negative rows, FP and FN the weights of false positives and false negatives.

- ``accuracy``: the misclassified weight, or the loss that a problem's own costs define.
- ``balanced-accuracy``: the mean over classes of the misclassified share of the class, without empty classes.
- ``weighted-accuracy:OMEGA``: (FP + OMEGA FN) / (OMEGA P + N).
- ``f-beta:BETA``: 1 - F = (FP + BETA^2 FN) / ((1 + BETA^2) P + FP - FN); ``f1`` is ``f-beta:1``.
- ``jaccard``: (FP + FN) / (P + FP).
- ``auc``: one minus the area under the ROC curve of the leaves, ranked by their share of positive rows: equation (2).
- ``partial-auc:THETA``: THETA minus the area left of the false positive rate THETA.

A loss with a zero denominator (a class without rows) is zero. The first three measures are additive: they are sums over
rows, so they become costs of a problem (:meth:`Measure.with_costs`). The costs are exact where 2^56 units hold the loss
of all rows, else they are rounded to such a unit. The loss of any other measure is a fraction whose denominator depends
on the tree. This loss is **rounded up** to a fixed unit of about 2^-40 of all rows, or a greater unit for a ratio whose
numbers would not fit into 64 bits. Rounding up is monotone, so the minimum of the rounded losses is the rounded
minimum, and proofs compare integers here, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from math import ceil, isqrt, lcm
from typing import NamedTuple

import numpy as np

from optree.errors import OptreeError, choice
from optree.problem import Problem
from optree.tree import LEAF, Tree

ADDITIVE = ("accuracy", "balanced-accuracy", "weighted-accuracy")
LABELLED = ("f-beta", "jaccard")  # ratios that depend on the leaves' predictions
RANKED = ("auc", "partial-auc")  # areas that depend on the order of the leaves
_PARAMETERS = {"weighted-accuracy": "OMEGA", "f-beta": "BETA", "partial-auc": "THETA"}
_FORMS = [f"{name}:{_PARAMETERS[name]}" if name in _PARAMETERS else name for name in (*ADDITIVE, *LABELLED, *RANKED)]
_MOST_WEIGHT = 2**25  # of all rows: the search of an area multiplies the weights of two classes
_UNITS = 2**40  # units of a rounded loss, over all rows
_MOST_RATIO = 2**59  # the greatest product of a loss in units, the weight of all rows and the factors of a ratio
_MOST_LOSS = 2**56  # units of the loss of all rows, beyond which the costs of a class's rows are rounded


class Ratio(NamedTuple):
    """The integer coefficients of a loss (fp FP + fn FN) / (whole + fp_below FP - fn_below FN)."""

    fp: int
    fn: int
    whole: int
    fp_below: int
    fn_below: int

    def of(self, fp: int, fn: int) -> Fraction:
        """Return the loss of ``fp`` false positives and ``fn`` false negatives."""
        denominator = self.whole + self.fp_below * fp - self.fn_below * fn
        return Fraction(self.fp * fp + self.fn * fn, denominator) if denominator else Fraction(0)


class Measure(NamedTuple):
    """A measure, with its parameter if it has one."""

    name: str = "accuracy"
    parameter: Fraction | None = None  # OMEGA >= 0, BETA > 0, or THETA in [0, 1]; None for the other measures

    @classmethod
    def of(cls, text: str) -> Measure:
        """Parse a measure such as ``"auc"`` or ``"partial-auc:0.1"``; a decimal is read exactly."""
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
        """Return whether the loss is a sum over rows."""
        return self.name in ADDITIVE

    def with_costs(self, problem: Problem) -> Problem:
        """Return the problem with the costs of an additive measure; for other measures, the problem itself."""
        if self.name == "accuracy":
            return problem
        if problem.costs is not None:
            raise OptreeError(f"measure: {self.name} has costs of its own; leave out those of the problem")
        count = len(problem.classes)
        if self.name != "balanced-accuracy" and count != 2:
            raise OptreeError(f"measure: {self.name} is for two classes; the problem has {count}")
        if not self.additive:
            return problem
        class_weights = _class_weights(problem)
        if self.name == "balanced-accuracy":
            present = sum(weight > 0 for weight in class_weights)
            row_losses = [Fraction(1, present * weight) if weight else Fraction(0) for weight in class_weights]
        else:
            total = class_weights[0] + self.parameter * class_weights[1]
            row_losses = [1 / total, self.parameter / total] if total else [Fraction(0)] * 2
        costs = [loss * problem.total_weight for loss in row_losses]
        unit, losses = lcm(*(cost.denominator for cost in costs)), problem.total_weight
        if unit * losses > _MOST_LOSS:  # as with many classes: the least common multiple of their weights is too large
            unit = 2 ** max(0, (_MOST_LOSS // losses).bit_length() - 1)
        table = np.multiply.outer([round(cost * unit) for cost in costs], np.ones(count, np.int64))
        np.fill_diagonal(table, 0)
        return problem.with_costs(table, unit)

    def unit(self, problem: Problem) -> int:
        """Return the units of loss of one misclassified row; ``problem`` has the costs of :meth:`with_costs`."""
        if self.additive:
            return problem.unit
        fits = _MOST_RATIO // (self._factor * problem.total_weight) if self.name in LABELLED else _UNITS
        return max(1, min(_UNITS, fits) // problem.total_weight)

    @property
    def _factor(self) -> int:
        """Return the sum of the factors of FP and FN in the ratio of a labelled measure."""
        ratio = self.ratio(0)
        return ratio.fp + ratio.fn

    @property
    def most_weight(self) -> int:
        """Return a weight of all rows up to which the numbers of the search of a measure that is no sum fit."""
        return min(_MOST_WEIGHT, isqrt(_MOST_RATIO // self._factor)) if self.name in LABELLED else _MOST_WEIGHT

    def greatest_loss(self, problem: Problem) -> int:
        """Return an upper bound on the loss of any tree, in units."""
        return problem.greatest_loss if self.additive else problem.total_weight * self.unit(problem)

    def loss(self, tree: Tree, problem: Problem) -> int:
        """Return the loss of a tree on the rows of a problem, in units.

        The loss is computed from the rows, not from the tree's training counts.
        """
        problem = self.with_costs(problem)
        if self.additive:
            return tree.loss(problem)
        return self.rounded(self.share(tree, problem), problem)

    def share(self, tree: Tree, problem: Problem) -> Fraction:
        """Return the loss of a tree on the rows of a problem as an exact fraction between 0 and 1."""
        problem = self.with_costs(problem)
        if self.additive:
            return Fraction(tree.loss(problem), problem.total_weight * problem.unit)
        if self.name in RANKED:
            return self._misranked(tree, problem)
        predicted = tree.predict(problem.codes)
        fp, fn = (int(problem.weights[(predicted == k) & (problem.y != k)].sum()) for k in (1, 0))
        return self.ratio(_class_weights(problem)[1]).of(fp, fn)

    def ratio(self, positive: int) -> Ratio:
        """Return the loss as a ratio, where the positive rows weigh ``positive``."""
        if self.name == "jaccard":
            return Ratio(1, 1, positive, 1, 0)
        square = self.parameter**2
        u, v = square.numerator, square.denominator
        return Ratio(v, u, (u + v) * positive, v, v)

    def _misranked(self, tree: Tree, problem: Problem) -> Fraction:
        """Return the loss of a ranked measure; leaves are ordered by their training share of positive rows."""
        node = tree.apply(problem.codes)
        weights = np.zeros((tree.n_nodes, 2), np.int64)
        np.add.at(weights, (node, problem.y), problem.weights)
        train = {int(v): tuple(tree.counts[v].tolist()) for v in np.flatnonzero(weights.any(axis=1))}
        score = {v: Fraction(p, n + p) if n + p else Fraction(int(tree.prediction[v])) for v, (n, p) in train.items()}
        steps = {}
        for v, value in score.items():  # leaves of equal score are one step of the curve
            n, p = steps.get(value, (0, 0))
            steps[value] = (n + int(weights[v, 0]), p + int(weights[v, 1]))
        return self.misranked([steps[value] for value in sorted(steps, reverse=True)], _class_weights(problem))

    def misranked(self, steps: list[tuple[int, int]], class_weights: list[int]) -> Fraction:
        """Return the loss of a ROC curve, whose ``steps`` are the (negative, positive) weights of leaves in order."""
        theta = Fraction(1) if self.name == "auc" else self.parameter
        if 0 in class_weights:
            return Fraction(0)
        end, x, y, area = theta * class_weights[0], 0, 0, Fraction(0)
        for n, p in steps:
            if x >= end:
                break
            width = min(Fraction(n), end - x)
            if n:
                area += width * (y + Fraction(p) * width / n / 2)
            x, y = x + n, y + p
        return theta - area / (class_weights[0] * class_weights[1])

    def rounded(self, share: Fraction, problem: Problem) -> int:
        """Round a loss up to units."""
        return ceil(share * problem.total_weight * self.unit(problem))

    def of_leaves(self, leaves: Iterable[tuple[int, int]]) -> Fraction:
        """Return the loss of a tree with the (negative, positive) weights of its leaves, best ranked or labelled."""
        leaves = sorted(leaves, key=_positive_share, reverse=True)
        if self.name in RANKED:
            return self.misranked(leaves, [sum(weights) for weights in zip(*leaves, strict=True)])
        return min(self._losses_by_positive_leaves(leaves))

    def _losses_by_positive_leaves(self, leaves: list[tuple[int, int]]) -> list[Fraction]:
        """Return the losses when the first 0, 1, ... of the leaves (negative, positive) are labelled positive."""
        fp, fn = 0, sum(p for _, p in leaves)
        ratio = self.ratio(fn)
        losses = [ratio.of(fp, fn)]
        for n, p in leaves:
            fp, fn = fp + n, fn - p
            losses.append(ratio.of(fp, fn))
        return losses

    def label(self, tree: Tree) -> Tree:
        """Return the tree with the best predictions of its leaves for its training counts.

        Only the labelled measures change predictions. Their leaves are labelled positive in falling order of their
        share of positive rows, down to the best place in that order.

        **Statement**: this labelling has the minimum loss of all labellings. **Proof** (Dinkelbach): let t be the
        minimum loss. A best labelling minimises ``fp FP + fn FN - t (whole + fp_below FP - fn_below FN)``. This sum
        over leaves is minimised leaf by leaf. A leaf is positive if and only if its share of positive rows is at least
        a constant. **Used in**: this method and :meth:`of_leaves`.
        """
        if self.name not in LABELLED:
            return tree
        leaves = [v for v in np.flatnonzero(tree.feature == LEAF) if tree.counts[v].any()]
        leaves.sort(key=lambda v: _positive_share(tree.counts[v].tolist()), reverse=True)
        losses = self._losses_by_positive_leaves([tuple(tree.counts[v].tolist()) for v in leaves])
        prediction = tree.prediction.copy()
        prediction[leaves] = np.arange(len(leaves)) < losses.index(min(losses))
        return replace(tree, prediction=prediction)

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}:{self.parameter}"


def _positive_share(counts) -> Fraction:
    return Fraction(counts[1], counts[0] + counts[1])


def _class_weights(problem: Problem) -> list[int]:
    """Return the total weight of the rows of each class."""
    return [int(problem.weights[problem.y == k].sum()) for k in range(len(problem.classes))]


ACCURACY = Measure()
