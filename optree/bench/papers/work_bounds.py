"""Bounds on how much work BRANCHES and OSDT can need, exactly: the two columns of BRANCHES' Table 1.

Sources: A. Chaouki, J. Read, A. Bifet, "Branches", arXiv 2406.02175, 2024, Corollary 4.5 and Remark C.5;
X. Hu, C. Rudin, M. Seltzer, "Optimal Sparse Decision Trees", NeurIPS 2019, Theorem E.2.

Everything is a whole number. Some have more than 400 000 digits, beyond floats and beyond what Python prints.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, log10

from optree.errors import OptreeError


def _positive(regularization) -> Fraction:
    value = Fraction(str(regularization))
    if not 0 < value <= 1:
        raise OptreeError(f"regularization: {regularization!r} gives no bound; give a number above 0, up to 1")
    return value


def branches_bound(features: int, regularization, categories: int = 2, classes: int = 2) -> int:
    """Corollary 4.5: the number of branch evaluations that BRANCHES cannot exceed.

    ``sum over h = 0 .. kappa of (q - h) * C**(h + 1) * binomial(q, h)``: a branch of h clauses chooses h features and
    a category for each; its expansion evaluates C children for each of the other q - h features.

    Parameters
    ----------
    features : int
        q, the number of features.
    regularization : str or Fraction
        lambda, a decimal in (0, 1].
    categories, classes : int
        C, the same for every feature, and K.

    Returns
    -------
    int
    """
    worst_gain = 1 - Fraction(1, classes)  # the majority leaf is right at least once in K
    splits = int(worst_gain / _positive(regularization)) - 1
    most = (categories**features - 1) // (categories - 1)
    deepest = min(splits, most, features)  # the terms beyond q are zero
    return sum((features - h) * categories ** (h + 1) * comb(features, h) for h in range(deepest + 1))


def osdt_depth(features: int, regularization) -> int:
    """Remark C.5's K: with 1 / (2 lambda) leaves at most, a binary tree is at most one less deep, and never above q."""
    return min(int(1 / (2 * _positive(regularization))) - 1, features)


def count_trees(features: int, depth: int) -> int:
    """The number of binary trees with at most ``depth`` splits on a path, no feature twice on one.

    A tree is a leaf, or one of q features at the root with a tree over the other q - 1 on either side:
    ``N(q, d) = 1 + q * N(q - 1, d - 1)**2``. That is the sum of Theorem E.2's N_k over the depths k = 0 .. d.
    """
    if depth <= 0 or features == 0:
        return 1
    return 1 + features * count_trees(features - 1, depth - 1) ** 2


def osdt_bound(features: int, regularization) -> int:
    """Theorem E.2 with Remark C.5's depth: the number of trees that OSDT may have to evaluate."""
    return count_trees(features, osdt_depth(features, regularization))


def exponent(number: int) -> int:
    """The e with ``10**e <= number < 10**(e + 1)``, for a positive whole number of any size."""
    guess = int(log10(number))
    return guess + (number >= 10 ** (guess + 1)) - (number < 10**guess)


def scientific(number: int, decimals: int = 2) -> str:
    """A positive whole number as ``1.49e402731``, the last decimal rounded half up."""
    shift = exponent(number) - decimals
    digits = (2 * number + 10**shift) // (2 * 10**shift) if shift > 0 else number * 10**-shift
    if digits == 10 ** (decimals + 1):
        return scientific(10 ** (shift + decimals + 1), decimals)
    text = str(digits)
    return f"{text[0]}.{text[1:]}e{shift + decimals}" if decimals else f"{text}e{shift}"
