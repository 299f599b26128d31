"""Counting pairs of binary columns, in vectors of LANES columns whose sums stay in registers.

Columns are bits, word after word (``bits[word * width + column]``), ``width`` a multiple of LANES; column 0 holds all
rows, so that a pair with it is a single count. Words are ordered in *runs*: of the digits of a row's weight the highest
first, and within a digit by class; ``runs[digit * classes + k]`` is the first word of a run and the next entry its end.
Doubling the sum between digits makes weights of population counts (Horner's rule).

Written as LLVM instructions because LLVM does not make them of the plain loops, which reach a tenth of their speed.
Every function has a twin in numpy for uncompiled code, which says what it does.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from optree.solvers.kernels.borrowed import INNER

LANES = 16  # columns side by side
_WORD = ir.IntType(64)


class _Code:
    """A builder of vector code: what the functions below have in common.

    ``bits``, ``width``, ``runs``, ``digits`` and ``step`` (classes) are as in the module's text; numbers that are
    stored have the type ``kind``.
    """

    def __init__(self, builder, kind, bits, width, runs, digits, step):
        self.builder, self.width, self.digits, self.step = builder, width, digits, step
        self.kind = ir.IntType(kind.bitwidth)
        self.vector = ir.VectorType(self.kind, LANES)
        self.words = ir.VectorType(_WORD, LANES)
        self.bits, self.runs = self.pointer(bits, _WORD), self.pointer(runs, _WORD)

    def pointer(self, address, kind=None):
        return self.builder.inttoptr(address, (kind or self.kind).as_pointer())

    def number(self, value):
        return ir.Constant(_WORD, value)

    def variable(self, value=0):
        """A vector that changes, kept in a register."""
        return cgutils.alloca_once_value(self.builder, ir.Constant(self.vector, [value] * LANES))

    def splat(self, value):
        vector = ir.VectorType(value.type, LANES)
        one = self.builder.insert_element(
            ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
        )
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), lanes)

    def load(self, pointer, *indices):
        """The vector that starts at an index (the sum of ``indices``)."""
        at = self.builder.gep(pointer, [self.total(indices)])
        vector = ir.VectorType(pointer.type.pointee, LANES)
        return self.builder.load(self.builder.bitcast(at, vector.as_pointer()), align=2)

    def load_splat(self, pointer, *indices):
        return self.splat(self.builder.load(self.builder.gep(pointer, [self.total(indices)])))

    def store(self, value, pointer, *indices):
        at = self.builder.gep(pointer, [self.total(indices)])
        self.builder.store(value, self.builder.bitcast(at, self.vector.as_pointer()), align=2)

    def total(self, indices):
        total = indices[0]
        for index in indices[1:]:
            total = self.builder.add(total, index)
        return total

    def most(self, variable, value, name="smax"):
        """Raise a variable to a value (or lower it, with "smin"), lane by lane."""
        kind = ir.FunctionType(self.vector, [self.vector] * 2)
        function = cgutils.get_or_insert_function(
            self.builder.module, kind, f"llvm.{name}.v{LANES}i{self.kind.width}"
        )
        self.builder.store(self.builder.call(function, [self.builder.load(variable), value]), variable)

    def range(self, stop, step=1, start=0):
        """A loop, as a context that gives the index."""
        start, step = (value if isinstance(value, ir.Value) else self.number(value) for value in (start, step))
        return cgutils.for_range_slice(self.builder, start, stop, step, _WORD)

    def count(self, column, block, signs):
        """The rows in ``column`` and each column of the block; class ``k`` counts ``signs[k]`` (class: index value)."""
        builder = self.builder
        ctpop = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(self.words, [self.words]), f"llvm.ctpop.v{LANES}i64"
        )
        total = cgutils.alloca_once_value(builder, ir.Constant(self.words, [0] * LANES))
        with self.range(self.digits) as (digit, _):
            builder.store(builder.add(builder.load(total), builder.load(total)), total)
            for k, combine in signs:
                at = builder.add(builder.mul(digit, self.step), k)
                first = builder.load(builder.gep(self.runs, [at]))
                last = builder.load(builder.gep(self.runs, [builder.add(at, self.number(1))]))
                with self.range(last, start=first) as (w, _):
                    row = builder.mul(w, self.width)
                    met = builder.and_(
                        self.load_splat(self.bits, row, column), self.load(self.bits, row, block)
                    )
                    builder.store(combine(builder.load(total), builder.call(ctpop, [met])), total)
        counted = builder.load(total)
        return counted if self.kind.width == 64 else builder.trunc(counted, self.vector)


_N, _A = types.int64, types.uintp


@intrinsic
def _pair_counts(typing_context, kind, bits, width, columns, runs, digits, step, k, out):
    def codegen(context, builder, signature, args):
        _, bits, width, columns, runs, digits, step, k, out = args
        code = _Code(builder, kind, bits, width, runs, digits, step)
        out = code.pointer(out)
        with code.range(columns) as (i, _), code.range(width, LANES) as (block, _):
            code.store(code.count(i, block, [(k, builder.add)]), out, builder.mul(i, width), block)
        return context.get_dummy_value()

    return types.void(kind, _A, _N, _N, _A, _N, _N, _N, _A), codegen


@intrinsic
def _two_class(typing_context, kind, bits, width, columns, runs, digits, single, above, out):
    def codegen(context, builder, signature, args):
        _, bits, width, columns, runs, digits, single, above, out = args
        code = _Code(builder, kind, bits, width, runs, digits, ir.Constant(_WORD, 2))
        single, above, out = (code.pointer(address) for address in (single, above, out))
        signs = [(code.number(0), builder.add), (code.number(1), builder.sub)]
        with code.range(width, LANES) as (block, _):
            best = [code.variable() for _ in range(8)]
            for n, variable in enumerate(best):
                extreme = (1 << (code.kind.width - 1)) - 1
                start = extreme if n % 2 else -extreme
                builder.store(ir.Constant(code.vector, [start] * LANES), variable)
            with code.range(columns) as (i, _):
                z = code.count(i, block, signs)
                rest = builder.sub(code.load(above, builder.mul(i, width), block), z)
                own = code.load_splat(single, i)
                whole = code.load_splat(above, i)
                values = [z, builder.sub(own, z), rest, builder.sub(builder.sub(whole, own), rest)]
                for n, value in enumerate(values):
                    code.most(best[2 * n], value)
                    code.most(best[2 * n + 1], value, "smin")
            for n, variable in enumerate(best):
                code.store(builder.load(variable), out, builder.mul(code.number(n), width), block)
        return context.get_dummy_value()

    return types.void(kind, _A, _N, _N, _A, _N, _A, _A, _A), codegen


@intrinsic
def _many_class(typing_context, kind, bits, width, columns, runs, digits, classes, single, above, stride, out):
    def codegen(context, builder, signature, args):
        _, bits, width, columns, runs, digits, classes, single, above, stride, out = args
        code = _Code(builder, kind, bits, width, runs, digits, classes)
        single, above, out = (code.pointer(address) for address in (single, above, out))
        zero = ir.Constant(code.vector, [0] * LANES)
        with code.range(width, LANES) as (block, _):
            best, most = [code.variable() for _ in range(4)], [code.variable() for _ in range(8)]
            for variable in best:
                builder.store(zero, variable)
            with code.range(columns) as (i, _):
                for variable in most:
                    builder.store(zero, variable)
                with code.range(classes) as (k, _):
                    first, own = builder.mul(k, stride), builder.mul(k, width)
                    both = code.count(i, block, [(k, builder.add)])
                    parts = [(both, *(f(single, own, at) for f, at in
                                      ((code.load, block), (code.load_splat, i), (code.load_splat, code.number(0)))))]
                    node = [code.load(above, first, builder.mul(i, width), block), code.load(above, first, block),
                            code.load_splat(above, first, i), code.load_splat(above, first)]
                    parts.append(tuple(builder.sub(a, b) for a, b in zip(node, parts[0], strict=True)))
                    for n, (ij, j, only_i, every) in enumerate(parts):
                        not_i = builder.sub(j, ij)
                        for m, value in enumerate(
                            (ij, not_i, builder.sub(only_i, ij), builder.sub(builder.sub(every, only_i), not_i))
                        ):
                            code.most(most[4 * n + m], value)
                for n, variable in enumerate(best):
                    code.most(variable, builder.add(*(builder.load(most[2 * n + m]) for m in (0, 1))))
            for n, variable in enumerate(best):
                code.store(builder.load(variable), out, builder.mul(code.number(n), width), block)
        return context.get_dummy_value()

    return types.void(kind, _A, _N, _N, _A, _N, _N, _A, _A, _N, _A), codegen


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

    def two_class(bits, width, columns, runs, digits, single, above, out):
        """Extremes over i of the signed difference z (class 0 less class 1) in the parts of j, for two sets of rows.

        The first set is ``bits``, whose differences in each column are ``single``; the second is what it leaves of a
        larger set, whose differences in pairs of columns are ``above[i * width + j]``. Written to ``out[n * width + j]``
        for n = 0..7: max and min of z(i and j) and of z(i and not j) in the first set, and the same in the second.
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

    @njit(**INNER)
    def count_bits(word):
        """The number of bits set in a uint64."""
        return _ctpop(word)

    @njit(**INNER)
    def pair_counts(bits, width, columns, runs, digits, step, k, out):
        """See the twin above."""
        _pair_counts(out[0], bits.ctypes.data, width, columns, runs.ctypes.data, digits, step, k, out.ctypes.data)

    @njit(**INNER)
    def two_class(bits, width, columns, runs, digits, single, above, out):
        """See the twin above."""
        where = single.ctypes.data, above.ctypes.data, out.ctypes.data
        _two_class(out[0], bits.ctypes.data, width, columns, runs.ctypes.data, digits, *where)

    @njit(**INNER)
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
