"""Exact upper bounds on the work of BRANCHES and OSDT, and the branches that a one-hot encoding adds.

Sources: A. Chaouki, J. Read, A. Bifet, "Branches", arXiv 2406.02175, 2024, Theorems 4.4, B.1 and C.3, Corollaries 4.5
and C.4, Remark C.5; X. Hu, C. Rudin, M. Seltzer, "Optimal Sparse Decision Trees", NeurIPS 2019, Theorem E.2.

| symbol | meaning |
|---|---|
| q, C, K | features, categories of every feature, classes |
| kappa | the most clauses of a branch that BRANCHES expands |
| S, H | splits and accuracy of the optimal tree; its objective is H - lambda S |

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


def deepest_branch(regularization, objective) -> int:
    """Return kappa of Theorem 4.4, ``floor((1 - objective) / lambda) - 1``.

    The paper's ``S - 1 + floor((1 - H) / lambda)`` is the same number, as S is an integer. Its second limit, the splits
    of a whole tree, never counts: it is at least q, and a branch has at most q clauses.
    """
    return int((1 - Fraction(objective)) / _positive(regularization)) - 1


def expansions(features: int, deepest: int, categories: int = 2) -> int:
    """Return the number of branches of at most ``deepest`` clauses: the most that BRANCHES expands (Theorem 4.4)."""
    return sum(categories**h * comb(features, h) for h in range(min(deepest, features) + 1))


def evaluations(features: int, deepest: int, categories: int = 2) -> int:
    """Return the upper bound on the branch evaluations of BRANCHES for a kappa (Theorem 4.4).

    ``sum over h = 0 .. kappa of (q - h) * C**(h + 1) * binomial(q, h)``: a branch of h clauses chooses h features and
    a category for each; its expansion evaluates C children for each of the other q - h features.
    """
    depths = range(min(deepest, features) + 1)  # Terms beyond q are zero.
    return sum((features - h) * categories ** (h + 1) * comb(features, h) for h in depths)


def tighter_evaluations(features: int, deepest: int, categories: int = 2) -> int:
    """Return the upper bound on the branch evaluations of BRANCHES for a kappa (Theorem C.3).

    Up to ``kappa_- = kappa - C + 1`` clauses the terms are Theorem 4.4's. Beyond it, siblings exclude each
    other, and ``h - kappa_-`` replaces a factor C**2, as printed. The proof argues for the factor ``kappa - h + 1``.
    Both are 1 for C = 2, the only case of the paper's tables.
    """
    fewer = deepest - categories + 1
    beyond = range(max(fewer, -1) + 1, min(deepest, features) + 1)
    rest = sum((features - h) * (h - fewer) * categories**h * comb(features, h) for h in beyond)
    return evaluations(features, fewer, categories) + rest


def branches_bound(features: int, regularization, categories: int = 2, classes: int = 2) -> int:
    """Return the upper bound on BRANCHES' branch evaluations (Corollary 4.5): Theorem 4.4 with the worst objective.

    The worst objective of an optimal tree is 1/K, the accuracy of a leaf if all classes have equal weight.
    q = ``features``, C = ``categories`` of every feature, K = ``classes``, lambda = ``regularization``, a decimal.
    """
    return evaluations(features, deepest_branch(regularization, Fraction(1, classes)), categories)


def tighter_branches_bound(features: int, regularization, categories: int = 2, classes: int = 2) -> int:
    """Return the upper bound on BRANCHES' branch evaluations (Corollary C.4): Theorem C.3 with the worst objective."""
    return tighter_evaluations(features, deepest_branch(regularization, Fraction(1, classes)), categories)


def unnecessary_branches(features: int, categories: int) -> int:
    """Return Theorem B.1's number of branches without rows: ``3**((C - 1) q) - (2 (C - 1) + 1)**q``.

    These are the branches over the one-hot encoding without the last categories that have two clauses of one feature.
    """
    return 3 ** ((categories - 1) * features) - (2 * (categories - 1) + 1) ** features


def empty_branches(features: int, categories: int) -> int:
    """Return the number of branches over the one-hot encoding without the last categories that no input meets.

    **Statement**: the number is ``3**((C - 1) q) - ((C + 1) * 2**(C - 2))**q``.

    **Proof**: each of a feature's C - 1 binary columns is absent, 0 or 1 in a branch. An input meets the clauses of
    this feature unless two of them ask for 1. No clause asks for 1 in 2**(C - 1) ways, and exactly one does in
    (C - 1) * 2**(C - 2) ways. The sum is (C + 1) * 2**(C - 2), and the features are independent.

    **Used in**: the table of bounds. Theorem B.1 counts more branches from C = 3 on. Two clauses of a feature may both
    ask for 0: an input of category 3 has neither category 1 nor category 2.

    **Worth**: none in a search; the number is a correction of the paper's.
    """
    met = (categories + 1) * 2 ** (categories - 2) if categories > 1 else 1
    return 3 ** ((categories - 1) * features) - met**features


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
