"""Gains of all trees of two levels, in vectors of columns.

Symbols: ``squares.py``; words, runs and ``width``: ``pair_counts.py``.

**P1, pairs. Statement.** The four leaves of an unordered pair of columns i and j serve four trees: root j with a split
on i in child 1 or in child 0, and root i with a split on j in either child.
**Proof.** Root j has the leaves (i = 1, j = 1) and (i = 0, j = 1) in child 1. Root i has (i = 1, j = 1) and (i = 1,
j = 0) there. Child 0 has the other two leaves each time.
**Used in** `_build`: each pair is counted once and has four gains.
**Worth.** Of 500 rows and 40 columns at depth 5 the search took 1.29 s without P1, with compiled plain loops, and .56 s
with P1 in vectors.

**P2, near gains. Statement.** Let A be a sum of two near gains, in units of cost, and G the sum of the two gains. Then
A * (1 - 2^-12) - 2 <= G <= A * (1 + 2^-12).
**Proof.** A near gain is S^2 * R in float32, whose operations have a relative error of 2^-24. R is the processor's
estimate of 1 / W, with a relative error of at most 2^-14, or a quotient. S and W are whole numbers that are rounded
once each. With six roundings, one of them in the sum, and R the relative error is below 2^-13. The float64 operations
of a gain have 2^-50 at most, and each of the two gains is rounded down by less than 1. No float32 overflows or loses
digits: W lies between 1 and 2^63, and S is 0 or has an absolute value between 1 and 2^63.
**Used in** `near_gains`, and in ``squares.square_costs``: of some forty columns one or two need gains.
**Worth.** The same search in .24 s for .78.
"""

from __future__ import annotations

import numpy as np
from numba import config

from optree.solvers.kernels.jit.llvm import cgutils, intrinsic, ir, types
from optree.solvers.kernels.simd import call
from optree.solvers.kernels.vector_code import VectorCode
from optree.solvers.murtree.fast.pair_counts import TILE, PairCode, pair_counts
from optree.solvers.murtree.fast.pair_sums import SumCode, pair_sums

_N, _F = types.int64, types.float64


class GainCode(VectorCode):
    """A builder of code for gains of ``lanes`` leaves, in float64, or near gains in float32."""

    def __init__(self, context, builder, kind, near):
        super().__init__(builder, kind, 512 // kind.bitwidth)
        self.context = context
        self.near, self.single = near, ir.FloatType() if near else ir.DoubleType()
        self.real, self.align = ir.VectorType(self.single, self.lanes), 4 if near else 8

    def reals(self, value):
        """Return a number in all lanes: a constant, or a value of the code."""
        if not isinstance(value, ir.Value):
            return ir.Constant(self.real, [value] * self.lanes)
        one = self.builder.insert_element(ir.Constant(self.real, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, ir.Constant(self.real, ir.Undefined), first)

    def at(self, pointer, *indices):
        """Return the address of a vector of real numbers."""
        return self.builder.bitcast(self.place(pointer, indices), self.real.as_pointer())

    def put(self, value, pointer, *indices):
        """Store a vector of real numbers."""
        self.builder.store(value, self.at(pointer, *indices), align=self.align)

    def greater(self, one, other):
        """Return the maximum, lane by lane."""
        return self.builder.select(self.builder.fcmp_ordered(">", one, other), one, other)

    def raise_to(self, pointer, value):
        """Replace a vector by the maximum of itself and another."""
        self.builder.store(self.greater(self.builder.load(pointer, align=self.align), value), pointer, align=self.align)

    def inverse(self, value):
        """Return the reciprocal of float32 numbers, with a relative error of at most 2^-14."""
        mask = ir.Constant(ir.IntType(self.lanes), -1)
        found = self.x86(self.context, f"rcp14.ps.{32 * self.lanes}", self.real, value, self.reals(0.0), mask)
        return self.builder.fdiv(self.reals(1.0), value) if found is None else found

    def highest(self, value):
        """Return the maximum over the lanes."""
        kind = ir.FunctionType(self.single, [self.real])
        name = f"llvm.vector.reduce.fmax.v{self.lanes}f{8 * self.align}"
        reduce = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(reduce, [value], fastmath=("nnan",))

    def less(self, one, other):
        """Return the differences of weights and of sums, whole numbers."""
        return tuple(self.builder.sub(*pair) for pair in zip(one, other, strict=True))

    def gains(self, leaves, factor):
        """Return the gains of leaves, pairs of a weight and a sum, or their near gains, without ``factor``."""
        builder = self.builder
        leaves = [[builder.sitofp(value, self.real) for value in leaf] for leaf in leaves]
        weights = [self.greater(weight, self.reals(1.0)) for weight, _ in leaves]
        squares = [builder.fmul(total, total) for _, total in leaves]
        if self.near:
            return [builder.fmul(x, self.inverse(weight)) for x, weight in zip(squares, weights, strict=True)]
        name, kind = f"llvm.floor.v{self.lanes}f64", ir.FunctionType(self.real, [self.real])
        floor = cgutils.get_or_insert_function(builder.module, kind, name)
        ratios = [builder.fdiv(x, weight) for x, weight in zip(squares, weights, strict=True)]
        return [builder.call(floor, [builder.fmul(ratio, factor)]) for ratio in ratios]


def _build(code, width, columns, factor, singles, pairs, roots, target):
    """Build the loops over the pairs of columns, for one support or for two.

    ``singles(j, load)`` returns weights and sums of single columns for each support, with ``code.load`` of a vector of
    columns, and with ``code.load_splat`` of one. ``pairs(first, block)`` returns the pairs of a tile and a block.
    """
    builder, number, lanes = code.builder, code.number, code.number(code.lanes)
    whole = singles(number(0), code.load_splat)
    rows = 2 * len(whole)

    def row(m):
        return builder.mul(width, number(m))

    def root(i, m):
        return code.at(roots, builder.mul(builder.add(builder.mul(i, number(rows)), number(m)), lanes))

    with code.range(columns) as (i, _):
        for m in range(rows):
            builder.store(code.reals(-1.0), root(i, m), align=code.align)
    with code.range(columns, lanes) as (block, _):
        of_j = singles(block, code.load)
        if not code.near:
            for m, leaf in enumerate((code.less(whole[0], of_j[0]), of_j[0])):
                code.put(*code.gains([leaf], factor), target, block, row(rows + m))
        highest = [cgutils.alloca_once(builder, code.real) for _ in range(rows)]
        for variable in highest:
            builder.store(code.reals(-1.0), variable)
        end = builder.add(block, lanes)
        end = builder.select(builder.icmp_signed("<", end, columns), end, columns)
        with code.range(end, TILE) as (first, _):
            for n, supports in enumerate(pairs(first, block)):
                i = builder.add(first, number(n))
                for c, (ij, of_i) in enumerate(zip(supports, singles(i, code.load_splat), strict=True)):
                    only_i, only_j = code.less(of_i, ij), code.less(of_j[c], ij)
                    neither = code.less(code.less(whole[c], of_i), only_j)
                    g11, g10, g01, g00 = code.gains([ij, only_i, only_j, neither], factor)
                    code.raise_to(highest[2 * c], builder.fadd(g10, g00))
                    code.raise_to(highest[2 * c + 1], builder.fadd(g11, g01))
                    code.raise_to(root(i, 2 * c), builder.fadd(g01, g00))
                    code.raise_to(root(i, 2 * c + 1), builder.fadd(g11, g10))
        for m, variable in enumerate(highest):
            code.put(builder.load(variable), target, block, row(m))
    with code.range(columns) as (i, _):
        for m in range(rows):
            found = code.highest(builder.load(root(i, m), align=code.align))
            at = code.place(target, [row(m), i])
            builder.store(code.greater(found, builder.load(at)), at)


@intrinsic
def _node_gains(typing_context, width, columns, node, stride, factor, roots, out):
    def codegen(context, builder, signature, args):
        width, columns, array, stride, factor, *tables = args
        code = GainCode(context, builder, node.dtype, near=False)
        counts, *tables = code.arrays(context, (node, roots, out), (array, *tables))

        def singles(j, load):
            return [(load(counts, j), load(counts, stride, j))]

        def pairs(first, block):
            rows = (builder.mul(builder.add(first, code.number(n)), width) for n in range(TILE))
            return [[(code.load(counts, row, block), code.load(counts, stride, row, block))] for row in rows]

        _build(code, width, columns, code.reals(factor), singles, pairs, *tables)
        return context.get_dummy_value()

    return types.void(_N, _N, node, _N, _F, roots, out), codegen


@intrinsic
def _leaf_gains(typing_context, weights, sums, count, factor, out):
    def codegen(context, builder, signature, args):
        *arrays, count, factor, out_ = args
        code = GainCode(context, builder, weights.dtype, near=False)
        *counts, target = code.arrays(context, (weights, sums, out), (*arrays, out_))
        factor = code.reals(factor)
        with code.range(count, code.lanes) as (at, _):
            code.put(*code.gains([[code.load(numbers, at) for numbers in counts]], factor), target, at)
        return context.get_dummy_value()

    return types.void(weights, sums, _N, _F, out), codegen


@intrinsic
def _split_gains(typing_context, pairs, own, width, columns, j, factor):
    def codegen(context, builder, signature, args):
        *arrays, width, columns, j, factor = args
        code = GainCode(context, builder, own.dtype, near=False)
        pairs_, own_ = code.arrays(context, (pairs, own), arrays)
        whole, of_j = ([code.load_splat(own_, at), code.load_splat(own_, width, at)] for at in (code.number(0), j))
        factor, highest = code.reals(factor), [cgutils.alloca_once(builder, code.real) for _ in range(2)]
        for variable in highest:
            builder.store(code.reals(0.0), variable)
        with code.range(columns, code.lanes) as (block, _):
            ij, of_i = ((code.load(table, block), code.load(table, width, block)) for table in (pairs_, own_))
            only_i, only_j = code.less(of_i, ij), code.less(of_j, ij)
            neither = code.less(code.less(whole, of_i), only_j)
            g11, g10, g01, g00 = code.gains([ij, only_i, only_j, neither], factor)
            code.raise_to(highest[0], builder.fadd(g10, g00))
            code.raise_to(highest[1], builder.fadd(g11, g01))
        found = [code.highest(builder.load(variable)) for variable in highest]
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(_F, 2)(pairs, own, _N, _N, _N, _F), codegen


@intrinsic
def _near_gains(
    typing_context,
    bits,
    width,
    columns,
    runs,
    digits,
    slices,
    tables,
    groups,
    own,
    node,
    stride,
    counts,
    roots,
    out,
):
    def codegen(context, builder, signature, args):
        array, width, columns, runs_, digits, *grouped, groups, own_, node_, stride, counts_, roots_, out_ = args
        code = GainCode(context, builder, bits.dtype, near=True)
        counter = PairCode(context, builder, (bits, runs), array, width, runs_, digits, code.number(1))
        adder = SumCode(context, builder, (slices, tables), *grouped, width, groups)
        single, every, counted, *scratch = code.arrays(
            context, (own, node, counts, roots, out), (own_, node_, counts_, roots_, out_)
        )
        signs = [(code.number(0), builder.add)]

        def singles(j, load):
            support = load(single, j), load(single, j, width)
            return support, code.less((load(every, j), load(every, j, stride)), support)

        def pairs(first, block):
            found = counter.count(first, block, signs), adder.add_up(first, block)
            for n, support in enumerate(zip(*found, strict=True)):
                row = builder.mul(builder.add(first, code.number(n)), width)
                code.store(support[0], counted, row, block)
                code.store(support[1], counted, stride, row, block)
                yield support, code.less((code.load(every, row, block), code.load(every, stride, row, block)), support)

        _build(code, width, columns, None, singles, pairs, *scratch)
        return context.get_dummy_value()

    numbers = slices, tables, _N, own, node, _N, counts, roots, out
    return types.void(bits, _N, _N, runs, _N, *numbers), codegen


@intrinsic
def _masked_sum(typing_context, numbers, w, word):
    def codegen(context, builder, signature, args):
        array, w, word = args
        code = VectorCode(builder, numbers.dtype, 64)
        (table,) = code.arrays(context, (numbers,), (array,))
        mask = builder.bitcast(word, ir.VectorType(ir.IntType(1), 64))
        chosen = builder.select(mask, code.load(table, builder.mul(w, code.number(64))), code.constant(0))
        return call(builder, "vector.reduce.add", ir.IntType(64), chosen)

    return types.int64(numbers, _N, types.uint64), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def masked_sum(numbers, w, word):
        """Return the sum of the numbers (int64) of a word's rows; ``w`` is the word's place."""
        return sum(int(numbers[64 * w + b]) for b in range(64) if int(word) >> b & 1)

    def _leaves(pairs, columns):
        """Return the four tables of the leaves of pairs, by (i, j), given the table of (1, 1); i is the first index."""
        j, i = pairs[0][None, :], pairs[0][:, None]
        return pairs, i - pairs, j - pairs, pairs[0, 0] - i - j + pairs

    def _highest(gains, rows):
        """Write the highest sums of two gains of each root: child 0, child 1."""
        g11, g10, g01, g00 = gains
        rows[0], rows[1] = (g10 + g00).max(axis=0), (g11 + g01).max(axis=0)

    def node_gains(width, columns, node, stride, factor, roots, out):
        """Find the highest gains of both children of each root column in a node.

        ``node[k * stride + i * width + j]`` is the weight (k = 0) or the sum (k = 1) of columns i and j; ``columns`` is
        a multiple of TILE. Row m of ``out``, at ``out[m * width + j]``, is for root j: 0 and 1, the highest gains of
        child 0 and child 1 with one more split; 2 and 3, the gains of these children as leaves. ``roots`` : float64[2 *
        width * lanes], scratch.
        """
        tables = (node[k * stride :][: columns * width].reshape(columns, width)[:, :columns] for k in range(2))
        weights, sums = (_leaves(table.astype(np.int64), columns) for table in tables)
        gains = []
        for weight, total in zip(weights, sums, strict=True):
            total = total.astype(np.float64)
            gains.append(np.floor(total * total / np.maximum(weight, 1.0) * factor))
        table = out[: 4 * width].reshape(4, width)[:, :columns]
        _highest(gains, table)
        table[2], table[3] = gains[1][0], gains[0][0]  # column 0 has all rows

    def leaf_gains(weights, sums, count, factor, out):
        """Write the gains of leaves to ``out``, float64; ``count`` is a multiple of the columns in a vector."""
        total = sums[:count].astype(np.float64)
        out[:count] = np.floor(total * total / np.maximum(weights[:count], 1.0) * factor)

    def split_gains(pairs, own, width, columns, j, factor):
        """Return the highest gains of child 0 and child 1 of column j, each with one more split.

        ``own[k * width + i]`` is the weight (k = 0) or sum (k = 1) of column i, and ``pairs[k * width + i]`` that of
        columns i and j. Columns after the last one are empty.
        """
        (w, s), (w_i, s_i) = (table[: 2 * width].reshape(2, -1)[:, :columns].astype(np.int64) for table in (pairs, own))
        (weight, w_j), (total, s_j) = ((of_i[0], of_i[j]) for of_i in (w_i, s_i))
        numbers = [(w_i - w, s_i - s), (weight - w_j - w_i + w, total - s_j - s_i + s), (w, s), (w_j - w, s_j - s)]
        gains = np.empty((4, columns))
        for one, row in zip(numbers, gains, strict=True):
            leaf_gains(*one, columns, factor, row)
        return (gains[0] + gains[1]).max(), (gains[2] + gains[3]).max()

    def near_gains(bits, width, columns, runs, digits, slices, tables, groups, own, node, stride, counts, roots, out):
        """Find the highest near gains of both children of each root column, in a child of a node and in the rest.

        bits, runs, slices, tables : the rows of the child, packed and in groups (``pair_sums.py``). ``own[k * width +
        j]`` is the weight or sum of column j in the child; ``node`` is as in `node_gains`. The counts of the child go
        to ``counts`` where i is not after the block of j. Row 2 * c + m of ``out`` (float32) is row m of `node_gains`,
        for the child (c = 0) or the rest (c = 1), without ``factor``. ``roots`` : float32[4 * width * lanes], scratch.
        """
        pair_counts(bits, width, columns, runs, digits, 1, 0, counts[:stride])
        pair_sums(slices, tables, width, columns, groups, counts[stride:])
        numbers = []
        for k in range(2):
            total = counts[k * stride :][: columns * width].reshape(columns, width)[:, :columns].astype(np.int64)
            every = node[k * stride :][: columns * width].reshape(columns, width)[:, :columns].astype(np.int64)
            numbers.append((total, every - total))
        one = np.float32(1)
        for c, (weight, total) in enumerate(zip(*numbers, strict=True)):
            weights = [np.maximum(x.astype(np.float32), one) for x in _leaves(weight, columns)]
            sums = [x.astype(np.float32) for x in _leaves(total, columns)]
            table = out[2 * c * width :][: 2 * width].reshape(2, width)[:, :columns]
            _highest([s * s / w for w, s in zip(weights, sums, strict=True)], table)

else:
    masked_sum, node_gains, near_gains = _masked_sum, _node_gains, _near_gains
    leaf_gains, split_gains = _leaf_gains, _split_gains
