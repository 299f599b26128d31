"""The verifier's bounds B1 to B5, as kernels: ``verify/README.md`` states and proves them.

A bound here is never above the verifier's for the same list of supports. ``sums`` of many supports is int64[K + 2,
width]: the loss for each predicted class, the greatest loss M, the number of rows. For squared errors K is 2, and the
sums are the weight, the numbers, the errors that the groups save as leaves of their own, and the number of rows.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.bitset import count_bits
from optree.solvers.kernels.codes import INFINITE, UNLIMITED
from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.shared_counts import count_listed
from optree.solvers.kernels.simd import fill, lanes, load, store


@inner_function
def squared_cost(weight, total, saved, rules):
    """Return the squared errors of a leaf, from its sums."""
    return saved - rules.fine * total * total // max(weight, np.int64(1))


@inner_function
def list_words(table, key, part, place, mask, stop):
    """List the words of a support that hold groups, by block; of the support's part if ``part`` is not negative.

    place : int64[words + 1], offsets in the table's bits. mask : uint64[words + 1]. stop : int64[blocks + 1].
    """
    width, at = len(table.bits) // len(key), 0
    for b in range(len(table.sums)):
        stop[b] = at
        for w in range(table.stop[b], table.stop[b + 1]):
            word = key[w] & table.rows[part, w] if part >= 0 else key[w]
            place[at], mask[at] = w * width, word
            at += word != 0
    stop[len(table.sums)] = at


@inner_function
def count_parts(table, place, mask, stop, sums):
    """Fill ``sums`` of each part with the listed groups."""
    for c in range(0, sums.shape[1], lanes(sums)):
        for k in range(len(sums)):
            store(sums[k], c, fill(0, sums))
        for b in range(len(table.sums)):
            if stop[b] < stop[b + 1]:
                met = count_listed(table.bits, place, mask, c, stop[b], stop[b + 1], sums)
                for k in range(len(sums)):
                    if table.sums[b, k] != 0:
                        store(sums[k], c, load(sums[k], c) + met * fill(table.sums[b, k], sums))


@inner_function
def count_ranked(table, key, part, sums):
    """Fill ``sums`` of each part with the groups of a support, or of its part, if all features are ranked.

    A pass over the groups of each feature by rising code takes groups in place of parts times words.
    """
    total, below = np.zeros(len(sums), np.int64), np.zeros(len(sums), np.int64)
    held, block = np.empty(len(key), np.uint64), np.empty(len(key), np.int64)
    for b in range(len(table.sums)):
        for w in range(table.stop[b], table.stop[b + 1]):
            held[w], block[w] = key[w] & table.rows[part, w] if part >= 0 else key[w], b
            total += table.sums[b] * count_bits(held[w])
    low = np.int64(0)
    for f in range(len(table.by_code)):
        below[:] = 0
        last = np.int64(0)
        for i in range(table.by_code.shape[1]):
            bit, code = table.by_code[f, i, 0], table.by_code[f, i, 1]
            if code > last:
                for k in range(len(sums)):
                    sums[k, low], sums[k, low + 1] = below[k], total[k] - below[k]
                last = code
                low += 2
            if held[bit >> 6] >> np.uint64(bit & 63) & np.uint64(1):
                for k in range(len(sums)):
                    below[k] += table.sums[block[bit >> 6], k]


@inner_function
def sort_support(table, stack, key):
    """List the groups of a support by rising code of each feature, for :func:`sweep`."""
    n = np.int64(0)
    for b in range(len(table.sums)):
        for w in range(table.stop[b], table.stop[b + 1]):
            for i in range(64):
                if key[w] >> np.uint64(i) & np.uint64(1):
                    stack.sorted_bit[n] = 64 * w + i
                    stack.sorted_place[64 * w + i] = n
                    stack.sorted_sums[:, n] = table.sums[b]
                    n += 1
    stack.sorted_count[0], first = n, np.int64(0)
    for f in range(len(table.by_code)):
        at, last = np.int64(0), np.int64(-1)
        for i in range(table.by_code.shape[1]):
            bit, code = table.by_code[f, i, 0], table.by_code[f, i, 1]
            if key[bit >> 6] >> np.uint64(bit & 63) & np.uint64(1):
                stack.sorted_row[f, at] = stack.sorted_place[bit]
                stack.sorted_part[f, at] = first + 2 * last if at > 0 and code > last else -1
                last = code
                at += 1
        first += 2 * table.by_code[f, -1, 1]


@inner_function
def sweep(table, stack, part, rules):
    """Return the least cost of a tree of one split for a part of the sorted support.

    The sums M of the part's parts go to ``stack.pairs``; their numbers of rows, too, if leaves need several.
    """
    K, least, two = rules.classes, INFINITE, rules.classes == 2
    most, rows, below, held = stack.pairs[K], stack.pairs[K + 1], stack.sorted_below, stack.sorted_held
    if rules.fine:
        two = False
    n, total = stack.sorted_count[0], np.zeros(K + 2, np.int64)
    for i in range(n):
        bit = stack.sorted_bit[i]
        is_held = np.int64(table.rows[part, bit >> 6] >> np.uint64(bit & 63) & np.uint64(1))
        for k in range(K + 2):
            held[k, i] = is_held * stack.sorted_sums[k, i]
            total[k] += held[k, i]
    for f in range(len(stack.sorted_row)):
        for k in range(K + 2):
            if (k < K or not two) if k <= K else rules.least > 1:  # M is the sum of two losses
                add_up(held[k], stack.sorted_row[f], n, below[k])
        for i in range(1, n):
            low = stack.sorted_part[f, i]
            if low >= 0:
                most[low] = below[0, i] + below[1, i] if two else below[K, i]
                most[low + 1] = total[K] - most[low]
                if rules.least > 1:
                    rows[low], rows[low + 1] = below[K + 1, i], total[K + 1] - below[K + 1, i]
                    if min(rows[low], rows[low + 1]) < rules.least:
                        continue
                if rules.fine:
                    a = squared_cost(below[0, i], below[1, i], below[2, i], rules)
                    b = squared_cost(total[0] - below[0, i], total[1] - below[1, i], total[2] - below[2, i], rules)
                else:
                    a, b = min(below[0, i], below[1, i]), min(total[0] - below[0, i], total[1] - below[1, i])
                    for k in range(2, K):
                        a, b = min(a, below[k, i]), min(b, total[k] - below[k, i])
                least = min(least, rules.error * (a + b) + table.charge[low >> 1])
    return INFINITE if least == INFINITE else rules.price + least


@inner_function
def add_up(values, order, n, below):
    """Fill ``below`` with the sum of the values before each of ``n`` places of an order."""
    total = np.int64(0)
    for i in range(n):
        below[i] = total
        total += values[order[i]]


@inner_function
def leaf_of(table, mask, stop, rules):
    """Return the cost of the listed groups as one leaf."""
    least = INFINITE
    if rules.fine:
        weight = total = saved = np.int64(0)
        for b in range(len(table.sums)):
            for at in range(stop[b], stop[b + 1]):
                weight += table.sums[b, 0] * count_bits(mask[at])
                total += table.sums[b, 1] * count_bits(mask[at])
                saved += table.sums[b, 2] * count_bits(mask[at])
        return squared_cost(weight, total, saved, rules)
    for k in range(rules.classes):
        loss = np.int64(0)
        for b in range(len(table.sums)):
            if table.sums[b, k]:
                for at in range(stop[b], stop[b + 1]):
                    loss += table.sums[b, k] * count_bits(mask[at])
        least = min(least, loss)
    return rules.error * least


@inner_function
def bound_parts(sums, levels, splits, rules, low, second):
    """Fill ``low`` with the bounds B1 and B2 of all parts, with some levels and splits left.

    low, second : int64[width], the second for scratch.
    """
    width, error, price = len(low), rules.error, rules.price
    a, b = sums[0], sums[1]
    if rules.fine:
        most = INFINITE if levels == 0 or splits == 0 else price
        for c in range(width):
            low[c] = min(squared_cost(a[c], b[c], sums[2, c], rules), most)
        return
    for c in range(width):
        low[c] = min(a[c], b[c])
    for c in range(width):
        second[c] = max(a[c], b[c])
    for k in range(2, rules.classes):
        a = sums[k]
        for c in range(width):
            second[c] = min(second[c], max(low[c], a[c]))
        for c in range(width):
            low[c] = min(low[c], a[c])
    if levels == 0 or splits == 0:
        for c in range(width):
            low[c] *= error
        return
    most = sums[rules.classes]
    for c in range(width):
        second[c] = max(low[c] + second[c] - most[c], 0) if rules.two_leaves else 0
    last = INFINITE if (levels == 1 or splits == 1) and rules.one_price else 2 * price
    for c in range(width):
        low[c] = min(min(error * low[c], last), price + error * second[c])


@inner_function
def split_price(table, sums, low, split, rules):
    """Return the price of a split, INFINITE if it is left out: B4, one part holds all rows, or a part is too small.

    low : int64[width], for the greatest number of splits.
    """
    held, small, gain, most = np.int64(0), False, np.int64(0), np.int64(0)
    for part in range(table.first_part[split], table.first_part[split + 1]):
        rows = sums[rules.classes + 1, part]
        held += rows > 0
        small |= 0 < rows < rules.least
        saved = rules.error * sums[rules.classes, part] - low[part]
        gain += saved
        most = max(most, saved)
    price = (rules.price * (held - 1) if rules.per_leaf else np.int64(rules.price)) + table.charge[split]
    if held < 2 or small or (rules.movable and gain - most <= price):
        return INFINITE
    return price


@inner_function
def share_out(table, low, shares, split, best):
    """Fill ``best[p, b]`` with the least sum of the bounds of the first p parts of a split that share b splits.

    low : int64[shares, width]. With one share there is no limit, and b is 0.
    """
    first, size = table.first_part[split], table.first_part[split + 1] - table.first_part[split]
    best[0] = 0
    for p in range(size):
        for b in range(shares):
            least = INFINITE
            for given in range(b + 1):
                least = min(least, best[p, b - given] + low[given, first + p])
            best[p + 1, b] = least
    return best[size, shares - 1]


@inner_function
def value_of(table, sums, low, shares, split, best, rules):
    """Return B3 of a split, INFINITE if it is left out."""
    price = split_price(table, sums, low[shares - 1], split, rules)
    if price == INFINITE:
        return INFINITE
    return price + share_out(table, low, shares, split, best)


@inner_function
def best_split(table, sums, levels, splits, rules, low, second):
    """Return the least value of all splits of a support, whose parts have bounds B1 and B2."""
    least = INFINITE
    bound_parts(sums, levels, splits, rules, low, second)
    for split in range(len(table.first_part) - 1):
        total = np.int64(rules.price)
        for part in range(table.first_part[split], table.first_part[split + 1]):
            total += low[part]
        if total < least or rules.per_leaf:
            price = split_price(table, sums, low, split, rules)
            if price < INFINITE:
                least = min(least, total - rules.price + price)
    return least


@inner_function
def raise_by_pairs(table, rules, part, leaf, pairs, levels, shares, low, scratch):
    """Raise the bounds of a part by B3 over its own splits; ``pairs`` are the sums of its parts.

    levels : left for the part. low : int64[shares, width]. scratch : int64[2, width].
    """
    if levels == 0:
        return
    raised, last = np.int64(0), False
    for share in range(shares):
        splits = share if rules.limited else UNLIMITED
        if splits > 0 and low[share, part] < leaf:
            if not last:  # from 3 splits on, all bounds of this rule are the same
                raised = min(leaf, best_split(table, pairs, levels - 1, splits - 1, rules, scratch[0], scratch[1]))
                last = share >= 3
            low[share, part] = max(low[share, part], raised)


@inner_function
def spread(rules, parts, count, sums, most, rows, source, shares, low):
    """Raise the bounds of ``parts`` by B5 from one part.

    most, rows : int64[...], the greatest loss and the number of the rows that are in each part and in the source.
    """
    for share in range(shares):
        bound = low[share, source]
        for j in range(count):
            part = parts[j]
            away = rules.error * (sums[rules.classes, source] - most[part])
            if rules.least == 1 or rows[part] == sums[rules.classes + 1, part]:
                low[share, part] = max(low[share, part], bound - away)
