"""Exact upper bounds on the work of BRANCHES and OSDT: the two columns of BRANCHES' Table 1.

Sources: A. Chaouki, J. Read, A. Bifet, "Branches", arXiv 2406.02175, 2024, Corollary 4.5 and Remark C.5;
X. Hu, C. Rudin, M. Seltzer, "Optimal Sparse Decision Trees", NeurIPS 2019, Theorem E.2.

All bounds are integers. Some have more than 400 000 digits, too many for floats and for Python's printing.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, log10

from optree.errors import OptreeError


def _positive(regularization) -> Fraction:
    """Return lambda as a fraction; raise if it is not in (0, 1]."""
    value = Fraction(str(regularization))
    if not 0 < value <= 1:
        raise OptreeError(f"regularization: {regularization!r} gives no bound; accepted: a number in (0, 1]")
    return value


def branches_bound(features: int, regularization, categories: int = 2, classes: int = 2) -> int:
    """Return the upper bound on BRANCHES' branch evaluations (Corollary 4.5).

    ``sum over h = 0 .. kappa of (q - h) * C**(h + 1) * binomial(q, h)``: a branch of h clauses chooses h features and
    a category for each; its expansion evaluates C children for each of the other q - h features.
    q = ``features``, C = ``categories`` of every feature, K = ``classes``, lambda = ``regularization``, a decimal.
    """
    worst_gain = 1 - Fraction(1, classes)  # A majority leaf is right on at least 1/K of its rows.
    splits = int(worst_gain / _positive(regularization)) - 1
    inner_nodes = (categories**features - 1) // (categories - 1)
    deepest = min(splits, inner_nodes, features)  # Terms beyond q are zero.
    return sum((features - h) * categories ** (h + 1) * comb(features, h) for h in range(deepest + 1))


def osdt_depth(features: int, regularization) -> int:
    """Return the depth limit K of Remark C.5: at most 1 / (2 lambda) leaves, hence one level less, and at most q."""
    return min(int(1 / (2 * _positive(regularization))) - 1, features)


def count_trees(features: int, depth: int) -> int:
    """Count the binary trees with at most ``depth`` splits on a path and no feature twice on a path.

    A tree is a leaf, or one of q features at the root with two trees over the other q - 1 features:
    ``N(q, d) = 1 + q * N(q - 1, d - 1)**2``. This is the sum of Theorem E.2's N_k over the depths k = 0 .. d.
    """
    if depth <= 0 or features == 0:
        return 1
    return 1 + features * count_trees(features - 1, depth - 1) ** 2


def osdt_bound(features: int, regularization) -> int:
    """Return the upper bound on the trees that OSDT evaluates (Theorem E.2, with Remark C.5's depth)."""
    return count_trees(features, osdt_depth(features, regularization))


def exponent(number: int) -> int:
    """Return the e with ``10**e <= number < 10**(e + 1)``, for a positive integer of any size."""
    guess = int(log10(number))
    return guess + (number >= 10 ** (guess + 1)) - (number < 10**guess)


def scientific(number: int, decimals: int = 2) -> str:
    """Return a positive integer as ``1.49e402731``, with the last decimal rounded half up."""
    shift = exponent(number) - decimals
    digits = (2 * number + 10**shift) // (2 * 10**shift) if shift > 0 else number * 10**-shift
    if digits == 10 ** (decimals + 1):
        return scientific(10 ** (shift + decimals + 1), decimals)
    text = str(digits)
    return f"{text[0]}.{text[1:]}e{shift + decimals}" if decimals else f"{text}e{shift}"
