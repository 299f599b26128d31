"""Thirty-two splits of a node at once, each with the best stump of both children.

A *lane* is a division of the rows of a node into two; bit j of ``bits[row]`` says that the row is inside lane j. One
pass over a sorted column finds, for every lane, the best threshold of that column for the rows inside and for the rows
outside. One instruction does the work of a row for 32 lanes, so a pass takes about the time of a single division.

**Two classes.** Let n0 and n1 be the weights of the classes in the rows of a lane. Weights of class 1 count up, weights
of class 0 down. A threshold above a prefix of sum s leaves ``n0 + s`` errors if class 1 is predicted to the right and
``n1 - s`` if it is predicted to the left. So the least and the greatest sum, over all columns, give the best stump.

**More classes.** A threshold classifies correctly the heaviest class on each side. A forward pass notes the weight of
the heaviest class below each threshold; a backward pass adds the heaviest class above.

``words`` is a column of a node: ``row << 1 | ends`` in the order of the values; ``ends`` says that the next row has a
greater value. The code is written as LLVM instructions, like ``murtree/fast/pair_counts.py`` and for the same reason.
Every function has a twin in numpy for uncompiled code that says what the function computes.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numba import config

from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.jit.llvm import cgutils, intrinsic, ir, types
from optree.solvers.kernels.vector_code import VectorCode

LANES = 32
_WORD, _INT = ir.IntType(64), ir.IntType(32)
_BITS = ir.VectorType(ir.IntType(1), LANES)
_N, _A = types.int64, types.uintp


class _Lanes(VectorCode):
    """A builder of code with a number per lane, of the type of the weights."""

    def __init__(self, builder, kind, words, bits, mark):
        super().__init__(builder, kind, LANES)
        self.words, self.rows, self.mark = self.pointer(words, _INT), self.pointer(bits, _INT), self.pointer(mark)
        self.lowest = ir.Constant(self.kind, -(1 << (kind.bitwidth - 1)))

    def entry(self, at):
        """Return the row at a place of the column, its lanes inside and outside, its weight and its mark."""
        builder = self.builder
        word = builder.load(builder.gep(self.words, [at]))
        row = builder.zext(builder.lshr(word, ir.Constant(_INT, 1)), _WORD)
        inside = builder.bitcast(builder.load(builder.gep(self.rows, [row])), _BITS)
        ends = builder.trunc(word, ir.IntType(1))
        return row, (inside, builder.not_(inside)), self.load_splat(self.mark, row), ends

    def only(self, lanes, value):
        """Return the value in some lanes, zero in the others."""
        return self.builder.select(lanes, value, self.constant(0))

    def add(self, variable, value):
        """Add a value to a variable."""
        self.builder.store(self.builder.add(self.builder.load(variable), value), variable)

    def loaded(self, pointer, count):
        """Return variables whose first values are vectors in memory."""
        variables = [self.variable() for _ in range(count)]
        for n, variable in enumerate(variables):
            self.builder.store(self.load(pointer, self.number(n * LANES)), variable)
        return variables

    def stored(self, variables, pointer):
        """Write variables to memory."""
        for n, variable in enumerate(variables):
            self.store(self.builder.load(variable), pointer, self.number(n * LANES))

    def extremes(self, variables, value):
        """Update a least and a greatest value."""
        for variable, name in zip(variables, ("smin", "smax"), strict=True):
            self.extreme(variable, value, name)

    def tally(self, label, counts, entry, heaviest):
        """Add a row to ``counts``, two vectors per class, and update the weight of the heaviest class."""
        row, parts, value, _ = entry
        k = self.builder.zext(self.builder.load(self.builder.gep(label, [row])), _WORD)
        base = self.builder.mul(k, self.number(2 * LANES))
        for side, lanes in enumerate(parts):
            at = base, self.number(side * LANES)
            total = self.builder.add(self.load(counts, *at), self.only(lanes, value))
            self.store(total, counts, *at)
            self.extreme(heaviest[side], total)


class _Limit:
    """The limit on the rows of both children of a stump."""

    def __init__(self, code, rows, least):
        rows, narrow = code.pointer(rows), code.kind.width < 64
        self.code, self.left = code, [code.variable() for _ in range(2)]
        self.rows = [code.load(rows, code.number(side * LANES)) for side in range(2)]
        self.least = code.splat(code.builder.trunc(least, code.kind) if narrow else least)

    def count(self, parts):
        """Count a row as left of the next threshold."""
        for left, lanes in zip(self.left, parts, strict=True):
            self.code.add(left, self.code.only(lanes, self.code.constant(1)))

    def kept(self, side):
        """Return the lanes in which a threshold here leaves enough rows on both sides."""
        builder, left = self.code.builder, self.code.builder.load(self.left[side])
        right = builder.sub(self.rows[side], left)
        return builder.and_(*(builder.icmp_signed(">=", part, self.least) for part in (left, right)))


def _two_classes(limited):
    """Make the intrinsic for two classes; ``limited`` by a least number of rows per leaf."""

    @intrinsic
    def two(typing_context, kind, words, size, bits, mark, rows, least, best):
        def codegen(context, builder, signature, args):
            _, words, size, bits, mark, rows, least, best = args
            code = _Lanes(builder, kind, words, bits, mark)
            limit = _Limit(code, rows, least) if limited else None
            best = code.pointer(best)
            sums, found = [code.variable() for _ in range(2)], code.loaded(best, 8 if limited else 4)
            with code.range(size) as (at, _):
                _, parts, value, ends = code.entry(at)
                for total, lanes in zip(sums, parts, strict=True):
                    code.add(total, code.only(lanes, value))
                if limited:
                    limit.count(parts)
                with builder.if_then(ends):
                    for side, total in enumerate(map(builder.load, sums)):
                        code.extremes(found[2 * side : 2 * side + 2], total)
                        if limited:
                            total = code.only(limit.kept(side), total)
                            code.extremes(found[4 + 2 * side : 6 + 2 * side], total)
            code.stored(found, best)
            return context.get_dummy_value()

        return types.void(kind, _A, _N, _A, _A, _A, _N, _A), codegen

    return two


def _many_classes(limited):
    """Make the intrinsic for any number of classes."""
    width = (4 if limited else 2) * LANES

    def forwards(code, size, count, limit, sums):
        """Store the weight of the heaviest class below each threshold; return the number of thresholds."""
        builder, heaviest = code.builder, [code.variable() for _ in range(2)]
        reached = cgutils.alloca_once_value(builder, code.number(0))
        with code.range(size) as (at, _):
            entry = code.entry(at)
            count(entry, heaviest)
            if limit:
                limit.count(entry[1])
            with builder.if_then(entry[3]):
                place = builder.mul(builder.load(reached), code.number(width))
                for side, total in enumerate(map(builder.load, heaviest)):
                    code.store(total, sums, place, code.number(side * LANES))
                    if limit:  # the least number there is, plus the weight of any side, is less than zero
                        total = builder.select(limit.kept(side), total, code.splat(code.lowest))
                        code.store(total, sums, place, code.number((2 + side) * LANES))
                builder.store(builder.add(builder.load(reached), code.number(1)), reached)
        return reached

    def backwards(code, size, count, reached, sums, found):
        """Add the weight of the heaviest class above each threshold."""
        builder, heaviest = code.builder, [code.variable() for _ in range(2)]
        last = builder.sub(size, code.number(1))
        with code.range(size) as (at, _):
            entry = code.entry(builder.sub(last, at))
            with builder.if_then(entry[3]):
                builder.store(builder.sub(builder.load(reached), code.number(1)), reached)
                place = builder.mul(builder.load(reached), code.number(width))
                for n, variable in enumerate(found):
                    total = code.load(sums, place, code.number(n * LANES))
                    code.extreme(variable, builder.add(total, builder.load(heaviest[n % 2])))
            count(entry, heaviest)

    @intrinsic
    def many(typing_context, kind, words, size, bits, mark, rows, least, label, counts, rest, sums, best):
        def codegen(context, builder, signature, args):
            _, words, size, bits, mark, rows, least, label, counts, rest, sums, best = args
            code = _Lanes(builder, kind, words, bits, mark)
            limit = _Limit(code, rows, least) if limited else None
            counts, rest, sums, best = map(code.pointer, (counts, rest, sums, best))
            label, found = code.pointer(label, _INT), code.loaded(best, width // LANES)
            reached = forwards(code, size, partial(code.tally, label, counts), limit, sums)
            backwards(code, size, partial(code.tally, label, rest), reached, sums, found)
            code.stored(found, best)
            return context.get_dummy_value()

        return types.void(kind, _A, _N, _A, _A, _A, _N, _A, _A, _A, _A, _A), codegen

    return many


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def _inside(words, bits):
        """Return the rows of a column; bool[2, m, LANES], inside and outside; bool[m], marks of thresholds."""
        rows = (words >> 1).astype(np.int64)
        inside = (bits[rows, None] >> np.arange(LANES, dtype=np.uint32) & 1).astype(bool)
        return rows, np.stack([inside, ~inside]), (words & 1).astype(bool)

    def _kept(parts, ends, rows, least):
        """Return bool[2, thresholds, LANES]: whether both sides of a threshold have enough rows."""
        left = parts.cumsum(axis=1)[:, ends]
        return (left >= least) & (rows.reshape(2, 1, LANES) - left >= least)

    def stumps_of_two(words, bits, mark, rows, least, best):
        """Update ``best`` with the thresholds of a column, for two classes.

        words : uint32[m]; bits : uint32[rows]; mark : kind[rows], the weight of each row, negative for class 0; rows :
        kind[2 * LANES], the number of rows inside and outside of each lane. best : kind[4 * LANES], the least and the
        greatest sum of ``mark`` left of a threshold, inside and outside; with ``least`` > 1 kind[8 * LANES], the same
        again over thresholds with at least ``least`` rows on both sides.
        """
        numbers, parts, ends = _inside(words, bits)
        if not ends.any():
            return
        sums, found = np.where(parts, mark[numbers, None], 0).cumsum(axis=1)[:, ends], best.reshape(-1, LANES)
        if least > 1:
            sums = np.concatenate([sums, np.where(_kept(parts, ends, rows, least), sums, 0)])
        for side, total in enumerate(sums):
            found[2 * side] = np.minimum(found[2 * side], total.min(axis=0))
            found[2 * side + 1] = np.maximum(found[2 * side + 1], total.max(axis=0))

    def stumps_of_many(words, bits, mark, rows, least, label, counts, sums, best):
        """Update ``best``, kind[2 * LANES], the greatest weight that a stump classifies correctly inside and outside.

        With ``least`` > 1 kind[4 * LANES], as in `stumps_of_two`. label : int32[rows]; counts : kind[4 * LANES * K] and
        sums : kind[len(best) * thresholds] are scratch memory.
        """
        numbers, parts, ends = _inside(words, bits)
        if not ends.any():
            return
        classes = np.arange(len(counts) // (4 * LANES))
        own = np.where(label[numbers, None] == classes, mark[numbers, None], 0)
        weight = np.where(parts[..., None], own[None, :, None, :], 0)  # side, place, lane, class
        left = weight.cumsum(axis=1)[:, ends]
        right = weight.sum(axis=1)[:, None] - left
        kept, found = left.max(axis=-1) + right.max(axis=-1), best.reshape(-1, LANES)
        if least > 1:
            kept = np.concatenate([kept, np.where(_kept(parts, ends, rows, least), kept, 0)])
        found[: len(kept)] = np.maximum(found[: len(kept)], kept.max(axis=1))

else:
    _two, _two_limited = _two_classes(False), _two_classes(True)
    _many, _many_limited = _many_classes(False), _many_classes(True)

    @inner_function
    def stumps_of_two(words, bits, mark, rows, least, best):
        """Call the intrinsic for two classes; see the twin above."""
        at = words.ctypes.data, len(words), bits.ctypes.data, mark.ctypes.data, rows.ctypes.data, least
        if least > 1:
            _two_limited(mark[0], *at, best.ctypes.data)
        else:
            _two(mark[0], *at, best.ctypes.data)

    @inner_function
    def stumps_of_many(words, bits, mark, rows, least, label, counts, sums, best):
        """Call the intrinsic for many classes; see the twin above."""
        for n in range(len(counts)):
            counts[n] = 0
        rest = counts[len(counts) // 2 :]
        at = words.ctypes.data, len(words), bits.ctypes.data, mark.ctypes.data, rows.ctypes.data, least
        scratch = label.ctypes.data, counts.ctypes.data, rest.ctypes.data, sums.ctypes.data
        if least > 1:
            _many_limited(mark[0], *at, *scratch, best.ctypes.data)
        else:
            _many(mark[0], *at, *scratch, best.ctypes.data)
