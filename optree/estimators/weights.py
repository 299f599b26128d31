"""Conversion of decimal weights and costs to the integers that proofs need."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from optree.arrays import MOST_EXACT, as_decimals, as_whole
from optree.errors import OptreeError, choice, warn

MOST_WEIGHT = 2**44  # the greatest sum of integer weights; larger sums leave too few bits for the digits of lambda

_MOST_UNIT = 10**9  # of costs: the integer cost of one misclassified row
_SHOWN_CHANGE = 1e-3  # of a weight, on average, above which rounding warns


def whole_weights(
    sample_weight, class_weight, y: np.ndarray, classes: np.ndarray, most: int = MOST_WEIGHT
) -> tuple[np.ndarray, Fraction]:
    """Return weights of rows as integers int64[n], and the user's weight for an integer weight of 1.

    A float is read as its shortest decimal. Weights are rounded if their sum in their common unit exceeds ``most``, or
    if more than ``MOST_EXACT`` are different, and some have more than nine decimals: to 2^-40 of their sum if few are
    different, else to 2^-20 of the greatest or an eighth of the least, but to no less than the part 1 / ``most`` of
    their sum. No positive weight becomes 0. Rounding warns if it changes a weight by more than a thousandth on average.
    ``y`` : int64[n], indices into ``classes``.
    """
    if sample_weight is None and class_weight is None:
        return np.ones(len(y), np.int64), Fraction(1)
    weights = checked_weights(sample_weight, y)
    values, which = np.unique(weights, return_inverse=True)
    factors = _class_factors(class_weight, y, weights, classes)
    pair, row = np.unique(which * len(classes) + y, return_inverse=True)
    if len(pair) <= MOST_EXACT:
        whole, unit = as_whole([Fraction(str(values[p // len(classes)])) * factors[p % len(classes)] for p in pair])
        if sum(number * int(count) for number, count in zip(whole, np.bincount(row), strict=True)) <= most:
            return np.array(whole, np.int64)[row], Fraction(1, unit)
    real = weights * np.array([float(factor) for factor in factors])[y]
    if len(pair) > MOST_EXACT and (decimals := as_decimals(values)):
        (numbers, unit), (scales, more) = decimals, as_whole(factors)
        if real.sum() * unit * more <= most:
            whole = numbers[which] * np.array([min(scale, most) for scale in scales])[y]
            common = int(np.gcd.reduce(whole, initial=unit * more))
            return whole // common, Fraction(common, unit * more)
    usual = real.sum() / 2**40 if len(pair) <= 64 else real.max() / 2**20
    step = max(real.sum() / most, min(usual, real[real > 0].min() / 8))
    whole = np.maximum(np.round(real / step), real > 0)
    positive = real > 0
    if (change := (abs(whole * step - real)[positive] / real[positive]).mean()) > _SHOWN_CHANGE:
        text = f"on average by {change:.1g} of a weight" if change < 1 else "to which smaller weights are raised"
        warn(f"sample_weight: rounded to multiples of {step:.2g}, {text}; costs are those of the rounded weights")
    return whole.astype(np.int64), Fraction(step)


def real_weights(sample_weight, class_weight, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return weights of rows, float64[n]; ``y`` : int64[n], indices into ``classes``."""
    weights = checked_weights(sample_weight, y)
    if class_weight is None:
        return weights
    return weights * np.array([float(factor) for factor in _class_factors(class_weight, y, weights, classes)])[y]


def checked_weights(sample_weight, y: np.ndarray) -> np.ndarray:
    """Return the weights of rows, float64[n]; raise OptreeError if they are not accepted."""
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
    if weights.shape != y.shape:
        raise OptreeError(f"sample_weight has shape {weights.shape}; one number per row, {y.shape}, is needed")
    if (refused := ~(np.isfinite(weights) & (weights >= 0))).any():
        row = int(refused.argmax())
        raise OptreeError(f"sample_weight: {weights[row]:g} in row {row} is not accepted; give finite numbers >= 0")
    if not weights.any():
        raise OptreeError("sample_weight: all weights are zero; a row with a positive weight is needed")
    return weights


def _class_factors(class_weight, y, weights, classes) -> list[Fraction]:
    if class_weight is None:
        return [Fraction(1)] * len(classes)
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = [Fraction(str(weight)) for weight in np.bincount(y, weights, len(classes))]
        return [sum(totals) / (len(classes) * weight) if weight else Fraction(1) for weight in totals]
    if not hasattr(class_weight, "items"):
        raise choice("class_weight", class_weight, ["a dict of classes and weights", "balanced", "None"])
    factors = dict.fromkeys(classes.tolist(), Fraction(1))
    for label, value in class_weight.items():
        if label not in factors:
            raise choice("class_weight", label, map(str, factors))
        factors[label] = _decimal(f"class_weight: the weight of class {label!r}", value)
    if not any(factors.values()):
        raise OptreeError(f"class_weight: {class_weight!r} is not accepted; give a class a weight above 0")
    return list(factors.values())


def whole_costs(costs, classes: np.ndarray) -> tuple[np.ndarray | None, int]:
    """Return costs as integers int64[K, K], and the integer cost of one misclassified row.

    Costs of more digits are rounded to nine decimals; a positive cost that would become 0 is refused.
    """
    if costs is None:
        return None, 1
    if isinstance(costs, Mapping):
        raise OptreeError("costs: a dict is not accepted; give a table, or a data frame with the classes as labels")
    if hasattr(costs, "iloc") and len(getattr(costs, "shape", ())) == 2:
        costs = _of_labels(costs, classes)
    table = np.asarray(costs, object)
    if table.shape != (len(classes),) * 2:
        shape = (len(classes),) * 2
        raise OptreeError(f"costs have shape {table.shape}; {shape}, true class by predicted class, is needed")
    exact = [_decimal("costs: one", value) for value in table.flat]
    whole, unit = as_whole(exact)
    if unit > _MOST_UNIT:
        rounded = [Fraction(round(value * _MOST_UNIT), _MOST_UNIT) for value in exact]
        if all(rounded[place] for place, value in enumerate(exact) if value):
            whole, unit = as_whole(rounded)
    if unit > _MOST_UNIT or max(whole) >= 2**53:
        value = table.flat[max(range(len(exact)), key=lambda place: len(str(exact[place])))]
        accepted = "give numbers of at most nine decimals, below 2^53 in units of the last one"
        raise OptreeError(f"costs: one is {value!r}, of too many digits; {accepted}")
    return np.array(whole, np.int64).reshape(table.shape), unit


def _of_labels(costs, classes: np.ndarray) -> np.ndarray:
    """Return the costs of a frame of pandas in the order of the classes; a side has their labels, or none."""
    wanted, table = list(map(str, classes)), costs.to_numpy(object)
    for axis, (side, given) in enumerate({"rows": costs.index, "columns": costs.columns}.items()):
        labels = list(map(str, given))
        if sorted(labels) == sorted(wanted):
            table = table.take([labels.index(name) for name in wanted], axis)
        elif labels != [*map(str, range(len(labels)))]:
            raise OptreeError(
                f"costs: {side} with the labels {', '.join(labels)} are not accepted; give those of the classes, "
                f"{', '.join(wanted)}"
            )
    return table


def _decimal(what: str, value) -> Fraction:
    try:
        exact = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        exact = None
    if exact is None or exact < 0:
        raise OptreeError(f"{what} is {value!r}; a number >= 0 is needed")
    return exact
