"""The best split of a node in one pass over each of its columns, as scikit-learn's CART chooses it.

The rating of a split is the impurity of its two children (Gini, or squared error), by scikit-learn's formula in
scikit-learn's order of operations, so that ties there are ties here. Ties: the lowest feature, then the lowest
threshold (scikit-learn draws the feature at random). Where sums are rounded (a target, fractional weights), ratings
that differ by rounding count as equal. The formula divides. A product with the same order, up to rounding, tests first
whether a split can be the best, and almost no split can.

The same pass finds the least error of a stump over all thresholds, whatever its impurity.

`best_of_entropies` rates by the entropy of the children. A table has x log x of every whole x up to its length.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.presorted_columns import fill, row_of, squares_of, weight_of

ROUNDING = 1e-12  # relative; far above the rounding error of a rating
_SLACK = 1 - ROUNDING
BLOCK = 256


@inner_function
def gini(weight, squares):
    """Return the Gini impurity of a node, from its weight and the sum of its classes' squared weights."""
    whole = weight * weight  # 0 if it underflows
    return 1.0 - squares / whole if whole > 0.0 else 0.0


@inner_function
def count_ones(column, start, width, seen, ones_left):
    """Count the rows of class 1 below each of ``width`` thresholds from ``start``; return the total."""
    for i in range(width):
        seen += np.int64(column[start + i - 1] & np.uint64(1))
        ones_left[i] = seen
    return seen


# Without a branch the loop runs on vectors. `limit` leaves room for rounding.
@inner_function(fastmath={"nnan", "nsz", "reassoc", "contract"})
def count_hits(start, width, total, ones, ones_left, limit, stump):
    """Count the places that may beat the best rating or the stump, if a threshold is there."""
    hits = 0
    for i in range(width):
        n_left, left = np.float64(start + i), np.float64(ones_left[i])
        n_right, right = total - n_left, ones - left
        left_0, right_0 = n_left - left, n_right - right
        impurities = left * left_0 * n_right + right * right_0 * n_left
        error = (left if left < left_0 else left_0) + (right if right < right_0 else right_0)
        hits += (impurities <= limit * (n_left * n_right)) | (error < stump)
    return hits


@inner_function
def best_of_two(sample, column, ones, ones_left, rules, best, stump):
    """Return the rating and the place of the best threshold for two classes and unit weights, and the best stump's
    error.

    The place is -1 if no rating is above ``best``; the error is ``stump`` if none is below (negative: not searched
    for). ones_left : int64[BLOCK], scratch. Most blocks of places have no better threshold, which `count_hits` tests on
    vectors, unless the column has few values and most places are no thresholds.
    """
    m, chosen, step = len(column), -1, np.uint64(1) << sample.rank_shift
    many_values = np.int64((column[m - 1] - column[0]) >> sample.rank_shift) > m // 2
    total, seen = float(m), 0
    limit = -best / 2 + ROUNDING * total
    for start in range(1, m, BLOCK):
        width, before = min(BLOCK, m - start), seen
        if many_values:
            seen = count_ones(column, start, width, seen, ones_left)
            if not count_hits(start, width, total, ones, ones_left, limit, stump):
                continue
        previous, left = column[start - 1], np.float64(before)
        for place in range(start, start + width):
            left += np.float64(np.int64(previous & np.uint64(1)))
            word = column[place]
            if (word ^ previous) >= step:
                n_left, n_right, right = np.float64(place), np.float64(m - place), ones - left
                left_0, right_0 = n_left - left, n_right - right
                error = (left if left < left_0 else left_0) + (right if right < right_0 else right_0)
                stump = error if error < stump else stump
                # Half the impurity of the two sides, times both weights.
                if left * left_0 * n_right + right * right_0 * n_left <= limit * (n_left * n_right):
                    squares_left, squares_right = left_0 * left_0 + left * left, right_0 * right_0 + right * right
                    rating = -n_right * gini(n_right, squares_right) - n_left * gini(n_left, squares_left)
                    rows = min(place, m - place)
                    if rating > best and rows >= rules.min_rows and rows >= rules.min_weight:
                        best, chosen, limit = rating, place, -rating / 2 + ROUNDING * total
            previous = word
        seen = np.int64(left)
    return best, chosen, stump


@inner_function
def best_of_classes(sample, column, counts, left, rules, best, stump):
    """Return the same as `best_of_two` for any number of classes, with weights. counts, left : float64[K]; left:
    scratch.

    The sums: moving weight w of class k changes a sum of squares by w (2 c_k + w); the sum of squares on
    the right follows from ``sum((t_k - l_k)^2) = sum(t_k^2) - 2 sum(t_k l_k) + sum(l_k^2)``.
    """
    m = len(column)
    class_mask, step = (np.uint64(1) << sample.row_shift) - np.uint64(1), np.uint64(1) << sample.rank_shift
    fill(left, 0.0)
    total, squares, most_right = 0.0, squares_of(counts), 0.0
    for k in range(len(counts)):
        total += counts[k]
        most_right = max(most_right, counts[k])  # an upper bound in the loop, made exact when it decides
    n_left = squares_left = cross = most_left = 0.0
    chosen, unit = -1, not sample.weighted
    previous = column[0]
    for place in range(1, m):
        k = np.int64(previous & class_mask)
        weight = 1.0 if unit else sample.weight[row_of(sample, previous)]
        squares_left += weight * (2 * left[k] + weight)
        left[k] += weight
        cross += weight * counts[k]
        n_left += weight
        most_left = max(most_left, left[k])
        word = column[place]
        if (word ^ previous) >= step:
            n_right = total - n_left
            squares_right = squares - 2 * cross + squares_left
            product = squares_left * n_right + squares_right * n_left
            if product >= (best + total) * (n_left * n_right) * _SLACK:
                rating = -n_right * gini(n_right, squares_right) - n_left * gini(n_left, squares_left)
                rows = min(place, m - place)
                if rating > best + rules.slack and rows >= rules.min_rows and min(n_left, n_right) >= rules.min_weight:
                    best, chosen = rating, place
            if total - most_left - most_right < stump:
                most_right = 0.0
                for j in range(len(counts)):
                    most_right = max(most_right, counts[j] - left[j])
                stump = min(stump, total - most_left - most_right)
        previous = word
    return best, chosen, stump


@inner_function
def best_of_few(sample, column, counts, left, rules, best, stump):
    """Return the same as `best_of_classes` for a column of few values: rows are counted, sums are made at thresholds.

    Up to eight classes are counted in the fields of one word, in a register.
    """
    m, classes, chosen = len(column), len(counts), -1
    class_mask, step = (np.uint64(1) << sample.row_shift) - np.uint64(1), np.uint64(1) << sample.rank_shift
    bits = np.uint64(64 // max(classes, 8))
    packed, most = classes <= 8 and not sample.weighted, 255
    fill(left, 0.0)
    total, place = weight_of(sample, counts), 0
    while True:
        end = min(m, place + most) if packed else m
        first = column[place]
        if packed:
            word, fields = first, np.uint64(0)
            while (word ^ first) < step:
                fields += np.uint64(1) << (word & class_mask) * bits
                place += 1
                if place == end:
                    break
                word = column[place]
            for k in range(classes):
                left[k] += np.float64(np.int64(fields >> np.uint64(k) * bits & np.uint64(255)))
        else:
            word = first
            while (word ^ first) < step:
                left[np.int64(word & class_mask)] += sample.weight[row_of(sample, word)] if sample.weighted else 1.0
                place += 1
                if place == end:
                    break
                word = column[place]
        if place == m:
            return best, chosen, stump
        if (column[place] ^ first) < step:
            continue
        n_left = squares_left = squares_right = most_left = most_right = 0.0
        for k in range(classes):
            right = counts[k] - left[k]
            n_left += left[k]
            squares_left += left[k] * left[k]
            squares_right += right * right
            most_left, most_right = max(most_left, left[k]), max(most_right, right)
        n_right = total - n_left
        stump = min(stump, total - most_left - most_right)
        rating = -n_right * gini(n_right, squares_right) - n_left * gini(n_left, squares_left)
        rows = min(place, m - place)
        if rating > best + rules.slack and rows >= rules.min_rows and min(n_left, n_right) >= rules.min_weight:
            best, chosen = rating, place


@inner_function
def x_log_x(rules, x):
    """Return x log x, from a table if there is one."""
    at = np.int64(x)
    if at < len(rules.x_log_x):
        return rules.x_log_x[at]
    return x * np.log(x) if x > 0.0 else 0.0


@inner_function
def entropy(rules, counts, weight):
    """Return the entropy of a node, in nats."""
    total = x_log_x(rules, weight)
    for k in range(len(counts)):
        total -= x_log_x(rules, counts[k])
    return total / weight if weight > 0.0 else 0.0


@inner_function
def best_of_entropies(sample, column, counts, left, rules, best):
    """Return the rating and the place of the best threshold by entropy. counts, left : float64[K]; left: scratch."""
    m = len(column)
    class_mask, step = (np.uint64(1) << sample.row_shift) - np.uint64(1), np.uint64(1) << sample.rank_shift
    fill(left, 0.0)
    total, of_left, of_right = weight_of(sample, counts), 0.0, 0.0
    for k in range(len(counts)):
        of_right += x_log_x(rules, counts[k])
    n_left, chosen, slack = 0.0, -1, ROUNDING * total
    previous = column[0]
    for place in range(1, m):
        k = np.int64(previous & class_mask)
        weight = sample.weight[row_of(sample, previous)] if sample.weighted else 1.0
        below, above = left[k], counts[k] - left[k]
        of_left += x_log_x(rules, below + weight) - x_log_x(rules, below)
        of_right += x_log_x(rules, above - weight) - x_log_x(rules, above)
        left[k] = below + weight
        n_left += weight
        word = column[place]
        if (word ^ previous) >= step:
            n_right, rows = total - n_left, min(place, m - place)
            rating = of_left + of_right - x_log_x(rules, n_left) - x_log_x(rules, n_right)
            if rating > best + slack and rows >= rules.min_rows and min(n_left, n_right) >= rules.min_weight:
                best, chosen = rating, place
        previous = word
    return best, chosen


@inner_function
def best_of_squares(sample, column, counts, rules, best):
    """Return the rating and the place of the best threshold by squared error, which is also the best stump."""
    m = len(column)
    step = np.uint64(1) << sample.rank_shift
    total, whole = counts[0], counts[1]
    n_left = left = 0.0
    chosen, unit = -1, not sample.weighted
    previous = column[0]
    for place in range(1, m):
        row = row_of(sample, previous)
        weight = 1.0 if unit else sample.weight[row]
        n_left += weight
        left += weight * sample.target[row]
        word = column[place]
        if (word ^ previous) >= step:
            n_right, right = total - n_left, whole - left
            product = left * left * n_right + right * right * n_left
            if min(n_left, n_right) > 0.0 and product >= best * (n_left * n_right) * _SLACK:
                rating = left * left / n_left + right * right / n_right
                rows = min(place, m - place)
                if rating > best + rules.slack and rows >= rules.min_rows and min(n_left, n_right) >= rules.min_weight:
                    best, chosen = rating, place
        previous = word
    return best, chosen
