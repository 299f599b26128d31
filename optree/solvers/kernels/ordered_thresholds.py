"""A problem as rows above cuts: what a search over threshold and interval splits counts.

The parts of a feature are taken in order. A column holds the rows whose part lies above a cut; the rows between two
cuts of a feature are those of one column without those of the next. A binary feature has one cut, so a split into two
and one into k intervals are the same thing: increasing cuts of one feature.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from optree.problem import Problem
from optree.solvers.kernels.bitset import hash_words, pack
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.pair_counts import count_bits
from optree.solvers.kernels.simd import LANES, load, popcount, splat, store

_TABLE = 1 << 22


class Cuts(NamedTuple):
    """Columns of bits, in words by digit of the weight and by class (`vectors`).

    Column 0 holds all rows, the last one none.
    """

    rows: np.ndarray  # uint64[cuts + 2, words]
    blocks: np.ndarray  # uint64[...], the same: LANES columns side by side, word after word
    runs: np.ndarray  # int64[digits * classes + 1]
    salt: np.ndarray  # uint64[2, words], odd random numbers
    mark: np.ndarray  # int64[2, features], random numbers
    first: np.ndarray  # int64[features + 1], the columns of each feature, by increasing cut
    feature: np.ndarray  # int64[cuts + 2], -1 for the columns of all and of none
    bins: np.ndarray  # uint16[64 * words, features], the part of each row; empty if all features are binary
    label: np.ndarray  # int64[words], class
    weight: np.ndarray  # int64[words]
    logs: np.ndarray  # int64[...], m * log2(m) / 2 in units of impurity, if the weight of all rows is not too great
    wrong: np.ndarray  # uint64[words], rows that trees misclassify, see `count_wrong`; empty if nothing is said of any
    digits: int
    classes: int


def unit_of(problem: Problem) -> float:
    """How many units of impurity a row has: a power of two for which sums stay below 2^62."""
    return float(1 << max(0, 20 - max(0, problem.total_weight.bit_length() - 36)))


def _positions(codes: np.ndarray, cut: np.ndarray, first: np.ndarray) -> np.ndarray:
    """How many of the cuts each row lies above, feature by feature, padded to whole words: uint16[64 * words, q]."""
    q, rows = codes.shape
    above = np.zeros((-(-rows // 64) * 64, q), np.uint16)
    for f in range(q):
        above[:rows, f] = np.searchsorted(cut[first[f] : first[f + 1]], codes[f])
    return above


def cuts_of(problem: Problem, feature: np.ndarray, cut: np.ndarray) -> Cuts | None:
    """Lay out a problem with a column for each of some cuts: of a feature, above its part ``cut``.

    None if the rows are of one class, so that a leaf errs on none.
    """
    present = np.flatnonzero(np.bincount(problem.y, problem.weights, len(problem.classes)))
    if len(present) < 2:
        return None
    digits, count = int(problem.weights.max()).bit_length(), len(problem.features)
    groups, bins = [], [np.zeros((0, count), np.uint16)]
    first = np.searchsorted(feature, np.arange(count + 1))
    simple = np.array_equal(feature, np.arange(count))
    above = problem.codes > 0 if simple else problem.codes[:, feature] > cut
    for digit in range(digits - 1, -1, -1):
        weighs = problem.weights >> digit & 1 > 0 if digits > 1 else problem.weights > 0
        for k in present:
            groups.append(np.flatnonzero((problem.y == k) & weighs))
            if not simple:
                bins.append(_positions(problem.codes.take(groups[-1], axis=0).T, cut, first))
    words = np.array([-(-len(held) // 64) for held in groups])
    run = np.repeat(np.arange(len(words)), words)
    bits = np.zeros((len(feature) + 2, 64 * len(run)), bool)
    for held, start in zip(groups, (64 * (words.cumsum() - words)).tolist(), strict=True):
        bits[0, start : start + len(held)] = True
        bits[1:-1, start : start + len(held)] = above.take(held, axis=0).T
    rows = pack(bits)
    random = _random((len(run) + count).bit_length())
    return Cuts(
        rows=rows,
        blocks=_side_by_side(rows),
        runs=np.append(0, words.cumsum()),
        salt=random[:, : len(run)].astype(np.uint64) * np.uint64(2) + np.uint64(1),
        mark=np.ascontiguousarray(random[:, len(run) : len(run) + count]),
        first=1 + first,
        feature=np.concatenate([[-1], feature, [-1]]),
        bins=np.concatenate(bins),
        label=run % len(present),
        weight=np.left_shift(1, digits - 1 - run // len(present)),
        logs=logs_of(problem),
        wrong=np.zeros(0, np.uint64),
        digits=digits,
        classes=len(present),
    )


@lru_cache(4)
def _random(digits: int) -> np.ndarray:
    """Random numbers, int64[2, 2^digits], always the same: making them takes longer than a small search."""
    return np.random.RandomState(1).randint(0, 2**63 - 1, (2, 1 << digits), np.int64)


def _side_by_side(rows: np.ndarray) -> np.ndarray:
    """Columns in blocks of LANES, word after word."""
    columns, words = rows.shape
    padded = np.zeros((-(-columns // LANES) * LANES, words), np.uint64)
    padded[:columns] = rows
    return padded.reshape(-1, LANES, words).transpose(0, 2, 1).ravel()


def unavoidable(data: Cuts) -> np.ndarray:
    """The rows that every tree misclassifies, as lighter classes of rows that no cut parts: uint64[words]."""
    held = np.flatnonzero(np.unpackbits(data.rows[0].view(np.uint8), bitorder="little"))
    group = np.zeros(len(held), np.int64)
    for first in range(1, len(data.rows) - 1, 32):
        sides = data.rows[first : min(first + 32, len(data.rows) - 1)].view(np.uint8)
        above = np.unpackbits(sides, axis=1, bitorder="little")[:, held]
        group = np.unique(group << 32 | np.left_shift(1, np.arange(len(above))) @ above, return_inverse=True)[1]
    label, weight = data.label[held // 64], data.weight[held // 64]
    weights = np.zeros((group.max() + 1, data.classes), np.int64)
    np.add.at(weights, (group, label), weight)
    lost = np.zeros((1, 64 * data.rows.shape[1]), bool)
    lost[0, held] = weights.argmax(axis=1)[group] != label
    return pack(lost)[0]


def logs_of(problem: Problem) -> np.ndarray:
    """m * log2(m) / 2 in units of impurity, up to the weight of all rows; one number if that is too great."""
    total = problem.total_weight
    numbers = np.arange(1, total + 1 if total < _TABLE else 1, dtype=float)
    return np.append(0, np.rint(numbers * np.log2(numbers) / 2 * unit_of(problem))).astype(np.int64)


@inner_function
def count_wrong(data, rows):
    """The weight, among some rows, of those that every tree misclassifies, or that a reference does."""
    total = np.int64(0)
    for digit in range(data.digits if len(data.wrong) else 0):
        total *= 2
        for w in range(data.runs[digit * data.classes], data.runs[(digit + 1) * data.classes]):
            total += count_bits(rows[w] & data.wrong[w])
    return total


@inner_function
def count_lines(data, rows, lines):
    """Write to ``lines[k * stride + c]`` the weight of class k in column c, among some rows.

    lines : int64[K * stride]; the stride is that of the columns in whole LANES.
    """
    apart()
    words, stride = len(rows), len(lines) // data.classes
    for k in range(data.classes):
        block = 0
        while block < stride:  # three vectors at a time: the words of a class are few, and beginning takes its time
            wide = stride - block >= 3 * LANES
            one = two = three = splat(np.int64(0))
            for digit in range(data.digits):
                one, two, three = one + one, two + two, three + three
                first, last = data.runs[digit * data.classes + k], data.runs[digit * data.classes + k + 1]
                at = block * words
                if wide:
                    for w in range(first, last):
                        held, place = splat(rows[np.uint64(w)]), at + LANES * w
                        one = one + popcount(load(data.blocks, place) & held)
                        two = two + popcount(load(data.blocks, place + LANES * words) & held)
                        three = three + popcount(load(data.blocks, place + 2 * LANES * words) & held)
                else:
                    for w in range(first, last):
                        one = one + popcount(load(data.blocks, at + LANES * w) & splat(rows[np.uint64(w)]))
            store(lines, k * stride + block, one)
            if wide:
                store(lines, k * stride + block + LANES, two)
                store(lines, k * stride + block + 2 * LANES, three)
            block += 3 * LANES if wide else LANES


@inner_function
def rest_of(lines, out):
    """Replace the counts in ``out`` of one of two parts of some rows by those of the other; ``lines`` are of all."""
    for at in range(0, len(lines), LANES):
        store(out, at, load(lines, at) - load(out, at))


@inner_function
def spread(data, lines, out):
    """Write to ``out[c, k]`` what `count_lines` counted."""
    apart()
    stride = len(lines) // data.classes
    for c in range(len(out)):
        for k in range(data.classes):
            out[c, k] = lines[k * stride + c]


@inner_function
def take_part(data, rows, low, high, out):
    """Write to ``out`` the rows above the cut ``low`` and not above ``high``."""
    above, beyond = data.rows[low], data.rows[high]
    for w in range(len(out)):
        out[w] = rows[w] & above[w] & ~beyond[w]


@inner_function
def digest(data, rules, rows, used, frame):
    """Give a frame the two hashes of a set of rows, and of the features that may not be split again."""
    apart()
    frame["hash0"], frame["hash1"] = hash_words(rows, data.salt[0]), hash_words(rows, data.salt[1])
    for f in range(0 if rules.repeat else len(used)):
        if used[f]:
            frame["hash0"] ^= data.mark[0, f]
            frame["hash1"] ^= data.mark[1, f]
