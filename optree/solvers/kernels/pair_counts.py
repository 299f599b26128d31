"""Counting pairs of binary columns, in vectors whose sums stay in registers.

Columns are bits, word after word (``bits[word * width + column]``); column 0 holds all rows, so that a pair with it is
a single count. A word has as many bits as a count, 16, 32 or 64 by the weight of all rows, so that nothing is
converted: population counts are added where they are. ``width`` is a multiple of the columns in a vector of 512 bits,
and columns up to a multiple of TILE beyond the last are empty: an empty column splits nothing, so that it may be
counted among the rest.

Words are ordered in *runs*: of the digits of a row's weight the highest first, and within a digit by class;
``runs[digit * classes + k]`` is the first word of a run and the next entry its end. Doubling the sum between digits
makes weights of population counts (Horner's rule).

Written as LLVM instructions because LLVM does not make them of the plain loops, which reach a tenth of their speed.
Every function has a twin in numpy for uncompiled code, which says what it does.
"""

from __future__ import annotations

import numpy as np
from numba import config

from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.jit.llvm import cgutils, intrinsic, ir, types

TILE = 4  # columns counted at once against a vector of others
_WORD = ir.IntType(64)


class Code:
    """A builder of vector code: what the functions below have in common.

    ``bits``, ``width``, ``runs``, ``digits`` and ``step`` (classes) are as in the module's text; ``kind`` is the type
    of counts.
    """

    def __init__(self, builder, kind, bits, width, runs=None, digits=None, step=None):
        self.builder, self.width, self.digits, self.step = builder, width, digits, step
        self.kind, self.lanes = ir.IntType(kind.bitwidth), 512 // kind.bitwidth
        self.vector = ir.VectorType(self.kind, self.lanes)
        self.bits, self.runs = self.pointer(bits), None if runs is None else self.pointer(runs, _WORD)

    def pointer(self, address, kind=None):
        return self.builder.inttoptr(address, (kind or self.kind).as_pointer())

    def number(self, value):
        return ir.Constant(_WORD, value)

    def constant(self, value):
        return ir.Constant(self.vector, [value] * self.lanes)

    def variable(self, value=0):
        """A vector that changes, kept in a register."""
        return cgutils.alloca_once_value(self.builder, self.constant(value))

    def splat(self, value):
        one = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, ir.Constant(self.vector, ir.Undefined), first)

    def place(self, pointer, indices):
        total = indices[0]
        for index in indices[1:]:
            total = self.builder.add(total, index)
        return self.builder.gep(pointer, [total])

    def load(self, pointer, *indices):
        """The vector that starts at an index (the sum of ``indices``)."""
        at = self.builder.bitcast(self.place(pointer, indices), self.vector.as_pointer())
        return self.builder.load(at, align=2)

    def load_splat(self, pointer, *indices):
        return self.splat(self.builder.load(self.place(pointer, indices)))

    def store(self, value, pointer, *indices):
        at = self.builder.bitcast(self.place(pointer, indices), self.vector.as_pointer())
        self.builder.store(value, at, align=2)

    def call(self, name, *vectors):
        """An LLVM intrinsic, lane by lane."""
        kind = ir.FunctionType(self.vector, [self.vector] * len(vectors))
        name = f"llvm.{name}.v{self.lanes}i{self.kind.width}"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), vectors)

    def most(self, variable, value, name="smax"):
        """Raise a variable to a value (or lower it, with "smin")."""
        self.builder.store(self.call(name, self.builder.load(variable), value), variable)

    def range(self, stop, step=1, start=0):
        """A loop, as a context that gives the index."""
        start, step = (value if isinstance(value, ir.Value) else self.number(value) for value in (start, step))
        return cgutils.for_range_slice(self.builder, start, stop, step, _WORD)

    def count(self, i, block, signs, tile=TILE):
        """Rows in both a column of the block and each of ``tile`` columns from ``i``; signs: (class, add | sub)."""
        builder = self.builder
        totals = [self.variable() for _ in range(tile)]
        with self.range(self.digits) as (digit, _):
            for total in totals:
                builder.store(builder.add(builder.load(total), builder.load(total)), total)
            for k, combine in signs:
                at = builder.add(builder.mul(digit, self.step), k)
                first, last = (
                    builder.load(builder.gep(self.runs, [builder.add(at, self.number(end))])) for end in (0, 1)
                )
                with self.range(last, start=first) as (w, _):
                    row = builder.mul(w, self.width)
                    others = self.load(self.bits, row, block)
                    for n, total in enumerate(totals):
                        met = builder.and_(self.load_splat(self.bits, row, i, self.number(n)), others)
                        builder.store(combine(builder.load(total), self.call("ctpop", met)), total)
        return [builder.load(total) for total in totals]


_N, _A = types.int64, types.uintp


def _counter(tile):
    """An intrinsic that counts pairs with each of so many columns at once."""

    @intrinsic
    def counts(typing_context, kind, bits, width, columns, runs, digits, step, k, out):
        def codegen(context, builder, signature, args):
            _, bits, width, columns, runs, digits, step, k, out = args
            code = Code(builder, kind, bits, width, runs, digits, step)
            out = code.pointer(out)
            with code.range(columns, tile) as (i, _), code.range(width, code.lanes) as (block, _):
                for n, count in enumerate(code.count(i, block, [(k, builder.add)], tile)):
                    code.store(count, out, builder.mul(builder.add(i, code.number(n)), width), block)
            return context.get_dummy_value()

        return types.void(kind, _A, _N, _N, _A, _N, _N, _N, _A), codegen

    return counts


_pair_counts, _single_counts = _counter(TILE), _counter(1)


@intrinsic
def _two_class(typing_context, kind, bits, width, columns, runs, digits, single, above, out):
    def codegen(context, builder, signature, args):
        _, bits, width, columns, runs, digits, single, above, out = args
        code = Code(builder, kind, bits, width, runs, digits, ir.Constant(_WORD, 2))
        single, above, out = (code.pointer(address) for address in (single, above, out))
        signs = [(code.number(0), builder.add), (code.number(1), builder.sub)]
        extreme = (1 << (code.kind.width - 1)) - 1
        with code.range(width, code.lanes) as (block, _):
            best = [code.variable(extreme if n % 2 else -extreme) for n in range(8)]
            with code.range(columns, TILE) as (first, _):
                for n, z in enumerate(code.count(first, block, signs)):
                    i = builder.add(first, code.number(n))
                    rest = builder.sub(code.load(above, builder.mul(i, width), block), z)
                    own, whole = code.load_splat(single, i), code.load_splat(above, i)
                    others = builder.sub(own, z), builder.sub(builder.sub(whole, own), rest)
                    for m, value in enumerate((z, others[0], rest, others[1])):
                        code.most(best[2 * m], value)
                        code.most(best[2 * m + 1], value, "smin")
            for n, variable in enumerate(best):
                code.store(builder.load(variable), out, builder.mul(code.number(n), width), block)
        return context.get_dummy_value()

    return types.void(kind, _A, _N, _N, _A, _N, _A, _A, _A), codegen


@intrinsic
def _many_class(typing_context, kind, bits, width, columns, runs, digits, classes, single, above, stride, out):
    def codegen(context, builder, signature, args):
        _, bits, width, columns, runs, digits, classes, single, above, stride, out = args
        code = Code(builder, kind, bits, width, runs, digits, classes)
        single, above, out = (code.pointer(address) for address in (single, above, out))
        with code.range(width, code.lanes) as (block, _):
            best, most = [code.variable() for _ in range(4)], [code.variable() for _ in range(8 * TILE)]
            with code.range(columns, TILE) as (first, _):
                for variable in most:
                    builder.store(code.constant(0), variable)
                with code.range(classes) as (k, _):
                    own, node = builder.mul(k, width), builder.mul(k, stride)
                    j, every = code.load(single, own, block), code.load_splat(single, own)
                    rest_j = builder.sub(code.load(above, node, block), j)
                    rest = builder.sub(code.load_splat(above, node), every)
                    for n, ij in enumerate(code.count(first, block, [(k, builder.add)])):
                        at = builder.add(first, code.number(n))
                        i = code.load_splat(single, own, at)
                        rest_i = builder.sub(code.load_splat(above, node, at), i)
                        rest_ij = builder.sub(code.load(above, node, builder.mul(at, width), block), ij)
                        for m, part in enumerate(((ij, i, j, every), (rest_ij, rest_i, rest_j, rest))):
                            both, only_i, only_j = part[0], builder.sub(part[1], part[0]), builder.sub(part[2], part[0])
                            neither = builder.sub(builder.sub(part[3], part[1]), only_j)
                            for cell, value in enumerate((both, only_j, only_i, neither)):
                                code.most(most[8 * n + 4 * m + cell], value)
                for n in range(TILE):
                    for m, variable in enumerate(best):
                        cells = (builder.load(most[8 * n + 2 * m + cell]) for cell in range(2))
                        code.most(variable, builder.add(*cells))
            for n, variable in enumerate(best):
                code.store(builder.load(variable), out, builder.mul(code.number(n), width), block)
        return context.get_dummy_value()

    return types.void(kind, _A, _N, _N, _A, _N, _N, _A, _A, _N, _A), codegen


@intrinsic
def _move(typing_context, kind, source, width, moves, target, up, down, first, spill):
    """See `move_word`: ``up`` is the bit to begin at, ``down`` what does not fit; ``first``: overwrite."""

    def codegen(context, builder, signature, args):
        _, source, width, moves, target, up, down, first, spill = args
        code = Code(builder, kind, source, width)
        target, moves = code.pointer(target), code.pointer(moves, _WORD)
        steps = code.kind.width.bit_length() - 1
        masks = [
            code.splat(builder.trunc(word, code.kind) if steps < 6 else word)
            for word in (builder.load(builder.gep(moves, [code.number(n)])) for n in range(steps + 1))
        ]
        up, down = (code.splat(builder.trunc(value, code.kind) if steps < 6 else value) for value in (up, down))
        with code.range(width, code.lanes) as (block, _):
            x = builder.and_(code.load(code.bits, block), masks[0])
            for n in range(steps):
                moved = builder.and_(x, masks[n + 1])
                x = builder.or_(builder.xor(x, moved), builder.lshr(moved, code.constant(1 << n)))
            high = builder.shl(x, up)
            with builder.if_else(first) as (then, otherwise):
                with then:
                    code.store(high, target, block)
                with otherwise:
                    code.store(builder.or_(code.load(target, block), high), target, block)
            with builder.if_then(spill):
                code.store(builder.lshr(x, down), target, width, block)
        return context.get_dummy_value()

    flag = types.boolean
    return types.void(kind, _A, _N, _A, _A, _N, _N, flag, flag), codegen


@intrinsic
def _ctpop(typing_context, word):
    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def count_bits(word):
        """The number of bits set in a uint64."""
        return int(word).bit_count()

    def _count(bits, width, columns, runs, digits, step, k):
        """The rows of class ``k`` in both of two columns, int64[columns, width]."""
        total = np.zeros((columns, width), np.int64)
        for digit in range(digits):
            first, last = runs[digit * step + k], runs[digit * step + k + 1]
            table = bits[first * width : last * width].reshape(-1, width)
            met = np.bitwise_count(table[:, :columns, None] & table[:, None, :])
            total = 2 * total + met.sum(axis=0, dtype=np.int64)
        return total

    def pair_counts(bits, width, columns, runs, digits, step, k, out):
        """Write to ``out[i * width + j]``, for i < columns, the weight of class ``k`` in both columns i and j."""
        out[: columns * width] = _count(bits, width, columns, runs, digits, step, k).reshape(-1)

    def single_counts(bits, width, runs, digits, step, k, out):
        """Write to ``out[j]`` the weight of class ``k`` in column j."""
        out[:width] = _count(bits, width, 1, runs, digits, step, k)[0]

    def move_word(bits, source, width, moves, out, target, filled, spill):
        """Compress a word of all columns by the rows ``moves[0]`` and add it to ``out`` at bit ``filled``.

        moves[1:] : what is moved by 1, 2, 4, ... bits. ``target`` is the place of the word; if ``spill``, its end goes
        to the next one. Words that no bits were added to before are overwritten.
        """
        x, size = bits[source : source + width].astype(np.uint64) & moves[0], 8 * bits.itemsize
        for n in range(size.bit_length() - 1):
            moved = x & moves[n + 1]
            x = (x ^ moved) | (moved >> np.uint64(1 << n))
        before = out[target : target + width] if filled else 0
        out[target : target + width] = (before | (x << np.uint64(filled))) & np.uint64(2**size - 1)
        if spill:
            out[target + width : target + 2 * width] = x >> np.uint64(size - filled)

    def two_class(bits, width, columns, runs, digits, single, above, out):
        """Extremes over i of the signed difference z (class 0 less class 1) in the parts of j, for two sets of rows.

        The first set is ``bits``, whose differences in each column are ``single``; the second is what it leaves of a
        larger set, whose differences in pairs of columns are ``above[i * width + j]``. Written to
        ``out[n * width + j]`` for n = 0..7: max and min of z(i and j) and of z(i and not j) in the first set, and the
        same in the second.
        """
        z = _count(bits, width, columns, runs, digits, 2, 0) - _count(bits, width, columns, runs, digits, 2, 1)
        own = single[:columns, None].astype(np.int64)
        node = above[: columns * width].reshape(columns, width).astype(np.int64)
        rest = above[:columns, None].astype(np.int64) - own
        values = [z, own - z, node - z, rest - (node - z)]
        table = [extreme for value in values for extreme in (value.max(axis=0), value.min(axis=0))]
        out[: 8 * width] = np.concatenate(table)

    def many_class(bits, width, columns, runs, digits, classes, single, above, stride, out):
        """The greatest weight that one more split classifies correctly in the parts of j, for two sets of rows.

        As `two_class` for any number of classes: ``single[k * width + j]`` and ``above[k * stride + i * width + j]``
        are the weights of class k. Written to ``out[n * width + j]``: j = 1 and j = 0 in the first set, then in the
        second.
        """
        best = [[] for _ in range(8)]
        for k in range(classes):
            both = _count(bits, width, columns, runs, digits, classes, k)
            own = single[k * width : (k + 1) * width].astype(np.int64)
            node = above[k * stride : k * stride + columns * width].reshape(columns, width).astype(np.int64)
            for n, (ij, all_of) in enumerate(((both, own), (node - both, node[0] - own))):
                j, i = all_of[None, :], all_of[:columns, None]
                for m, part in enumerate((ij, j - ij, i - ij, all_of[0] - i - j + ij)):
                    best[4 * n + m].append(part)
        most = [np.max(parts, axis=0) for parts in best]
        out[: 4 * width] = np.concatenate([(most[m] + most[m + 1]).max(axis=0) for m in (0, 2, 4, 6)])

else:

    @inner_function
    def count_bits(word):
        """The number of bits set in a uint64."""
        return _ctpop(word)

    @inner_function
    def pair_counts(bits, width, columns, runs, digits, step, k, out):
        """See the twin above."""
        _pair_counts(out[0], bits.ctypes.data, width, columns, runs.ctypes.data, digits, step, k, out.ctypes.data)

    @inner_function
    def single_counts(bits, width, runs, digits, step, k, out):
        """See the twin above."""
        _single_counts(out[0], bits.ctypes.data, width, 1, runs.ctypes.data, digits, step, k, out.ctypes.data)

    @inner_function
    def move_word(bits, source, width, moves, out, target, filled, spill):
        """See the twin above."""
        size = 8 * bits.itemsize
        here = np.intp(bits.ctypes.data) + source * bits.itemsize
        there = np.intp(out.ctypes.data) + target * bits.itemsize
        down = (size - filled) & (size - 1)
        _move(out[0], np.uintp(here), width, moves.ctypes.data, np.uintp(there), filled, down, filled == 0, spill)

    @inner_function
    def two_class(bits, width, columns, runs, digits, single, above, out):
        """See the twin above."""
        _two_class(
            out[0],
            bits.ctypes.data,
            width,
            columns,
            runs.ctypes.data,
            digits,
            single.ctypes.data,
            above.ctypes.data,
            out.ctypes.data,
        )

    @inner_function
    def many_class(bits, width, columns, runs, digits, classes, single, above, stride, out):
        """See the twin above."""
        _many_class(
            out[0],
            bits.ctypes.data,
            width,
            columns,
            runs.ctypes.data,
            digits,
            classes,
            single.ctypes.data,
            above.ctypes.data,
            stride,
            out.ctypes.data,
        )
