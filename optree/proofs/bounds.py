"""The verifier's bounds B1 to B5, as kernels: ``verify/optree_verify.py`` states and proves them.

A bound here is never above the verifier's for the same list of supports. ``sums`` of a support is int64[K + 2]: the
loss of each predicted class, the greatest loss M, the number of rows.
"""

from __future__ import annotations

import numpy as np

from optree.solvers.kernels.codes import INFINITE, UNLIMITED
from optree.solvers.kernels.jit import inner_function, kernel


@inner_function
def leaf_cost(sums, rules):
    """Return the cost of a support as one leaf."""
    least = sums[0]
    for k in range(1, rules.classes):
        least = min(least, sums[k])
    return rules.error * least


@inner_function
def simple(sums, levels, splits, rules):
    """Return B1 and B2 for a support with some levels and splits left."""
    first, second = min(sums[0], sums[1]), max(sums[0], sums[1])
    for k in range(2, rules.classes):
        second = min(second, max(first, sums[k]))
        first = min(first, sums[k])
    leaf = rules.error * first
    if levels <= 0 or splits <= 0:
        return leaf
    two = max(first + second - sums[rules.classes], 0) if rules.two_leaves else np.int64(0)
    bound = min(leaf, rules.price + rules.error * two)
    if (levels == 1 or splits == 1) and rules.one_price:
        return bound
    return min(bound, 2 * rules.price)


@inner_function
def count_cells(table, rows, cells):
    """Fill ``cells``, int64[cells, K + 2], with the sums of some rows in each cell."""
    cells[:] = 0
    for r in range(len(rows)):
        sums, own = table.sums[rows[r]], table.cells[rows[r]]
        for f in range(len(own)):
            cell = cells[own[f]]
            for c in range(len(sums)):
                cell[c] += sums[c]


@inner_function
def fill_parts(table, cells, parts):
    """Fill ``parts``, int64[parts, K + 2], with the sums of each part, from the sums of each cell."""
    for f in range(len(table.is_ranked)):
        first, last = table.first_cell[f], table.first_cell[f + 1]
        part = table.first_part[table.first_split[f]]
        if not table.is_ranked[f]:
            parts[part : part + last - first] = cells[first:last]
            continue
        for c in range(cells.shape[1]):
            total, below = np.int64(0), np.int64(0)
            for cell in range(first, last):
                total += cells[cell, c]
            for i in range(last - first - 1):
                below += cells[first + i, c]
                parts[part + 2 * i, c], parts[part + 2 * i + 1, c] = below, total - below


@inner_function
def split_price(table, sums, low, split, rules):
    """Return the price of a split, INFINITE if it is left out: B4, one part holds all rows, or a part is too small.

    low : int64[parts], for the greatest number of splits.
    """
    held, small, gain, most = 0, False, np.int64(0), np.int64(0)
    for part in range(table.first_part[split], table.first_part[split + 1]):
        rows = sums[part, rules.classes + 1]
        held += rows > 0
        small |= 0 < rows < rules.least
        saved = rules.error * sums[part, rules.classes] - low[part]
        gain += saved
        most = max(most, saved)
    price = rules.price * (held - 1) if rules.per_leaf else np.int64(rules.price)
    if held < 2 or small or (rules.movable and gain - most <= price):
        return INFINITE
    return price


@inner_function
def share_out(table, low, split, best):
    """Fill ``best[p, b]`` with the least sum of the bounds of the first p parts of a split that share b splits.

    low : int64[shares, parts]. With one share there is no limit, and b is 0.
    """
    first, size = table.first_part[split], table.first_part[split + 1] - table.first_part[split]
    best[0] = 0
    for p in range(size):
        for b in range(len(low)):
            least = INFINITE
            for given in range(b + 1):
                least = min(least, best[p, b - given] + low[given, first + p])
            best[p + 1, b] = least
    return best[size, len(low) - 1]


@inner_function
def value_of(table, sums, low, split, best, rules):
    """Return B3 of a split, INFINITE if it is left out."""
    price = split_price(table, sums, low[len(low) - 1], split, rules)
    if price == INFINITE:
        return INFINITE
    return price + share_out(table, low, split, best)


@inner_function
def new_best(table, shares):
    """Return a table for `share_out`."""
    most = 0
    for split in range(len(table.first_part) - 1):
        most = max(most, table.first_part[split + 1] - table.first_part[split])
    return np.empty((most + 1, shares), np.int64)


@kernel
def bound_singles(table, rules, rows, levels, sums, low, value):
    """Fill the sums of all parts of a support, their bounds B1 and B2, and the value of each split.

    rows : int64[...], the groups of the support. low : int64[shares, parts], for each number of splits of a part, or
    one row without a limit. value : int64[splits].
    """
    cells = np.empty((table.first_cell[-1], table.sums.shape[1]), np.int64)
    count_cells(table, rows, cells)
    fill_parts(table, cells, sums)
    for share in range(len(low)):
        splits = share if rules.limited else UNLIMITED
        for part in range(len(sums)):
            low[share, part] = simple(sums[part], levels - 1, splits, rules)
    best = new_best(table, len(low))
    for split in range(len(value)):
        value[split] = value_of(table, sums, low, split, best, rules)


@inner_function
def best_split(table, sums, levels, splits, rules, low):
    """Return the least value of all splits of a support, whose parts have bounds B1 and B2 and sums ``sums``.

    low : int64[1, parts], scratch.
    """
    least = INFINITE
    for part in range(len(sums)):
        low[0, part] = simple(sums[part], levels - 1, splits, rules)
    for split in range(len(table.first_part) - 1):
        price = split_price(table, sums, low[0], split, rules)
        if price < least:
            for part in range(table.first_part[split], table.first_part[split + 1]):
                price += low[0, part]
            least = min(least, price)
    return least


@inner_function
def raise_by_pairs(table, rules, part, sums, pairs, levels, low, scratch):
    """Raise the bounds of a part by B3 over its own splits; ``pairs`` are the sums of its parts."""
    leaf, raised = leaf_cost(sums[part], rules), np.int64(0)
    for share in range(len(low)):
        splits = share if rules.limited else UNLIMITED
        if levels > 1 and splits > 0 and low[share, part] < leaf:
            if share <= 3 or raised == 0:  # from 3 splits on, all bounds of this rule are the same
                raised = min(leaf, best_split(table, pairs, levels - 1, splits - 1, rules, scratch))
            low[share, part] = max(low[share, part], raised)


@kernel
def bound_pairs(table, rules, rows, levels, splits, sums, low, met):
    """Raise the bounds of the parts of some splits by B3 over their own splits.

    splits : int64[...]. met : int64[m, m, 2], filled with the greatest loss and the number of the rows in two parts of
    these splits, by position; int64[0, 0, 2] if not needed.
    """
    n_cells, width = table.first_cell[-1], table.sums.shape[1]
    everything, others = np.empty((n_cells, width), np.int64), np.empty((n_cells, width), np.int64)
    cells, pairs = np.empty((n_cells, width), np.int64), np.empty((len(sums), width), np.int64)
    scratch, members = np.empty((1, len(sums)), np.int64), np.empty(len(rows), np.int64)
    count_cells(table, rows, everything)
    feature, position = 0, 0
    for split in splits:
        while table.first_split[feature + 1] <= split:
            feature += 1
        first, last = table.first_part[split], table.first_part[split + 1]
        others[:] = everything
        for part in range(first, last):
            if part < last - 1:
                count = 0
                for r in range(len(rows)):
                    code = table.cells[rows[r], feature] - table.first_cell[feature]
                    if table.is_ranked[feature]:
                        inside = code <= split - table.first_split[feature]
                    else:
                        inside = code == part - first
                    members[count] = rows[r]
                    count += inside
                count_cells(table, members[:count], cells)
                others -= cells
            else:
                cells[:] = others
            if sums[part, rules.classes + 1] > 0:
                fill_parts(table, cells, pairs)
                raise_by_pairs(table, rules, part, sums, pairs, levels, low, scratch)
                if len(met):
                    note_met(table, rules, splits, pairs, met[position])
            elif len(met):
                met[position] = 0
            position += 1


@inner_function
def note_met(table, rules, splits, pairs, met):
    """Note the greatest loss and the number of the rows of a part that are in each part of some splits."""
    position = 0
    for split in splits:
        for part in range(table.first_part[split], table.first_part[split + 1]):
            met[position, 0], met[position, 1] = pairs[part, rules.classes], pairs[part, rules.classes + 1]
            position += 1


@kernel
def spread(rules, parts, sums, met, sources, low):
    """Raise the bounds of ``parts`` by B5 from the parts at the positions ``sources``."""
    for share in range(len(low)):
        for i in sources:
            bound = low[share, parts[i]]
            for j in range(len(parts)):
                away = rules.error * (sums[parts[i], rules.classes] - met[i, j, 0])
                if rules.least == 1 or met[i, j, 1] == sums[parts[j], rules.classes + 1]:
                    low[share, parts[j]] = max(low[share, parts[j]], bound - away)


@kernel
def weakest(table, rules, sums, low, closed, split, chosen):
    """Return the value of a split and the position of its open part of least bound, -1 if none is open.

    closed : bool[shares, parts], whether a bound is the least cost. chosen : int64[parts of a split], filled with the
    share of each part in the least sum.
    """
    best = new_best(table, len(low))
    value = value_of(table, sums, low, split, best, rules)
    if value == INFINITE:
        return value, np.int64(-1)
    first, size = table.first_part[split], table.first_part[split + 1] - table.first_part[split]
    left, open_part, least = len(low) - 1, np.int64(-1), INFINITE
    for p in range(size - 1, -1, -1):
        for given in range(left + 1):
            if best[p, left - given] + low[given, first + p] == best[p + 1, left]:
                chosen[p] = given
                break
        left -= chosen[p]
        if not closed[chosen[p], first + p] and low[chosen[p], first + p] < least:
            open_part, least = np.int64(p), low[chosen[p], first + p]
    return value, open_part
