"""Plain and slow CART and DPDT, the oracle of the fast routines; and random rows."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np


def random_rows(seed: int):
    """Return (X, y, weights or None, number of classes): few rows with ties, copies, constants or huge values."""
    random = np.random.RandomState(seed)
    n, p, classes = random.randint(2, 40), random.randint(1, 5), random.randint(2, 5)
    kind = random.randint(4)
    if kind == 0:
        X = random.randint(0, 4, (n, p)).astype(float)
    elif kind == 1:
        X = random.random_sample((n, p)).astype(np.float32).astype(float)
    elif kind == 2:  # copies of few rows
        X = random.randint(0, 9, (n, p))[random.randint(max(1, n // 3), size=n)].astype(float)
    else:
        X = 1e8 + random.randint(0, 30, (n, p))
    if random.randint(3) == 0:
        X[:, 0] = 7.0
    y = random.randint(classes, size=n)
    if random.randint(2):
        y = (X[:, 0] + X[:, -1] > 2 * np.median(X[:, -1])).astype(int) ^ (random.random_sample(n) < 0.2)
    weights = [None, None, random.randint(1, 4, n).astype(float), random.randint(0, 3, n) + 0.5][random.randint(4)]
    return X, y, weights, classes


def sums(y, weights, classes):
    """Return the weight of each class; or the weight, the sum and the sum of squares of a target."""
    if classes:
        return np.bincount(y, weights, classes).astype(float)
    return np.array([weights.sum(), (weights * y).sum(), (weights * y * y).sum()])


def impurity(y, weights, classes):
    """Return the Gini impurity, or the variance of a target."""
    total = sums(y, weights, classes)
    if classes:
        return 1.0 - (total * total).sum() / (weights.sum() * weights.sum())
    return total[2] / total[0] - (total[1] / total[0]) ** 2


def loss(y, weights, classes):
    """Return the misclassified weight of a leaf, or its squared error."""
    total = sums(y, weights, classes)
    return total.sum() - total.max() if classes else max(0.0, total[2] - total[1] ** 2 / total[0])


def rated_splits(X, y, weights, classes, least=1):
    """Yield (rating, feature, threshold) of all splits, with scikit-learn's rating."""
    for feature in range(X.shape[1]):
        values = np.unique(X[:, feature])
        for low, high in pairwise(values):
            threshold = low / 2 + high / 2 if low / 2 + high / 2 < high else low
            left = X[:, feature] <= threshold
            if min(left.sum(), (~left).sum()) < least:
                continue
            w_left, w_right = weights[left].sum(), weights[~left].sum()
            if classes:
                after = [impurity(y[side], weights[side], classes) for side in (left, ~left)]
                yield -w_right * after[1] - w_left * after[0], feature, threshold
            else:
                s_left, s_right = (weights[side] @ y[side] for side in (left, ~left))
                yield s_left * s_left / w_left + s_right * s_right / w_right, feature, threshold


def cart_splits(X, y, weights, classes, leaves, least=1, slack=0.0, whole=1.0):
    """Return the splits (feature, threshold) of best-first CART up to a number of leaves, in its order.

    Ratings within ``slack``, and decreases of impurity within ``slack / whole``, are equal.
    """

    def best(rows):
        part, w = y[rows], weights[rows]
        if impurity(part, w, classes) <= 2**-52:
            return None
        chosen = None
        for cut in rated_splits(X[rows], part, w, classes, least):
            if chosen is None or cut[0] > chosen[0] + slack:
                chosen = cut
        if chosen is None:
            return None
        left = X[rows, chosen[1]] <= chosen[2]
        (w_left, after_left), (w_right, after_right) = (
            (w[side].sum(), impurity(part[side], w[side], classes)) for side in (left, ~left)
        )
        before = impurity(part, w, classes)
        gain = w.sum() / weights.sum() * (before - w_right / w.sum() * after_right - w_left / w.sum() * after_left)
        return gain, chosen[1], chosen[2], rows[left], rows[~left]

    waiting, made = [best(np.arange(len(y)))], []
    while len(made) < leaves - 1:
        chosen = None
        for number, node in enumerate(waiting):
            if node and (chosen is None or node[0] > waiting[chosen][0] + slack / whole):
                chosen = number
        if chosen is None:
            break
        made.append(waiting[chosen][1:3])
        left, right = waiting[chosen][3:]
        waiting[chosen] = None
        waiting += [best(left), best(right)]
    return made


def impurity_and_loss(y, weights, classes, children):
    """Return the impurity times weight, summed over children as `rated_splits` does it; and the loss."""
    after = 0.0
    for rows in reversed(children):  # from the right, as rounded there
        after += weights[rows].sum() * impurity(y[rows], weights[rows], classes)
    return after, sum(loss(y[rows], weights[rows], classes) for rows in children)


def candidate_splits(generator, X, y, weights, classes, most, last, least=1):
    """Return the candidate splits of a node from another generator than CART."""
    if impurity(y, weights, classes) <= 2**-52:
        return []
    found = []
    for _, feature, threshold in rated_splits(X, y, weights, classes, least):
        left = X[:, feature] <= threshold
        key = impurity_and_loss(y, weights, classes, [left, ~left])[0]
        if generator == "lookahead" and not last:
            key = 0.0
            for side in (left, ~left):
                part, w = y[side], weights[side]
                below = [
                    impurity_and_loss(part, w, classes, [a := X[side][:, f] <= t, ~a])[0]
                    for _, f, t in rated_splits(X[side], part, w, classes, least)
                ]
                pure = impurity(part, w, classes) <= 2**-52
                key += w.sum() * impurity(part, w, classes) if pure or not below else min(below)
        found.append((round(key, 9), feature, threshold))
    if generator == "exhaustive":
        return [cut[1:] for cut in found]
    if generator == "top_features":
        found = [
            min((c for c in found if c[1] == f), key=lambda c: (c[0], c[2])) for f in sorted({c[1] for c in found})
        ]
    return [cut[1:] for cut in sorted(found)[:most]]


def optimum(
    X, y, weights, classes, nodes, depth, alpha, per_split=False, least=1, slack=0.0, whole=1.0, generator="cart"
):
    """Return the minimum of loss + alpha * complexity over all trees of candidate splits, by enumeration."""
    best = Fraction(loss(y, weights, classes))
    if depth == 0 or best <= slack:
        return best
    price = alpha * (1 if per_split else Fraction(weights.sum()))
    rest = nodes[1:], depth - 1, alpha, per_split, least, slack, whole, generator
    if generator == "cart":
        splits = cart_splits(X, y, weights, classes, max([2, *nodes[:1]]), least, slack, whole)
    else:
        splits = candidate_splits(generator, X, y, weights, classes, max([1, *nodes[:1]]), depth == 1, least)
    for feature, threshold in splits:
        left = X[:, feature] <= threshold
        below = sum(optimum(X[side], y[side], weights[side], classes, *rest) for side in (left, ~left))
        best = min(best, price + below)
    return best
