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
A * (1 - 2^-18) - 2 <= G <= A * (1 + 2^-18).
**Proof.** A near gain is S^2 / W in float32, whose operations have a relative error of u = 2^-24. S and W are whole
numbers that are rounded once each. The four reciprocals of a pair follow from one division: 1 / a = bcd / abcd. A near
gain has 18 roundings, and a sum one more: the relative error is below 20 u (1 + 20 u) < 2^-19. The float64 operations
of a gain have 2^-50 at most, and each of the two gains is rounded down by less than 1. No float32 overflows or loses
digits: with ``scale``, a power of two, weights below 2^51 lie between 2^-21 and 2^30.
**Used in** `near_gains`, and in ``squares.square_costs``: of some forty columns one or two need gains.
**Worth.** The same search in .36 s for .47.
"""

from __future__ import annotations

import numpy as np
from numba import config

from optree.solvers.kernels.jit.llvm import cgutils, intrinsic, ir, types
from optree.solvers.kernels.simd import call
from optree.solvers.kernels.vector_code import VectorCode
from optree.solvers.murtree.fast.pair_counts import TILE, PairCode

_N, _F = types.int64, types.float64


class GainCode(VectorCode):
    """A builder of code for gains of ``lanes`` leaves, in float64, or near gains in float32."""

    def __init__(self, builder, kind, near):
        super().__init__(builder, kind, 512 // kind.bitwidth)
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

    def less(self, one, other):
        """Return the differences of weights and of sums, whole numbers."""
        return tuple(self.builder.sub(*pair) for pair in zip(one, other, strict=True))

    def gains(self, leaves, factor):
        """Return the gains of leaves, pairs of a weight and a sum; the near gains of four leaves, over ``factor``."""
        builder = self.builder
        leaves = [[builder.sitofp(value, self.real) for value in leaf] for leaf in leaves]
        weights = [self.greater(weight, self.reals(1.0)) for weight, _ in leaves]
        squares = [builder.fmul(total, total) for _, total in leaves]
        if self.near:
            a, b, c, d = (builder.fmul(weight, factor) for weight in weights)
            ab, cd = builder.fmul(a, b), builder.fmul(c, d)
            inverse = builder.fdiv(self.reals(1.0), builder.fmul(ab, cd))
            of_ab, of_cd = builder.fmul(inverse, cd), builder.fmul(inverse, ab)
            others = (of_ab, b), (of_ab, a), (of_cd, d), (of_cd, c)
            return [builder.fmul(x, builder.fmul(*pair)) for x, pair in zip(squares, others, strict=True)]
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
    kind = ir.FunctionType(code.single, [code.real])
    name = f"llvm.vector.reduce.fmax.v{code.lanes}f{32 if code.near else 64}"
    reduce = cgutils.get_or_insert_function(builder.module, kind, name)
    with code.range(columns) as (i, _):
        for m in range(rows):
            found = builder.call(reduce, [builder.load(root(i, m), align=code.align)], fastmath=("nnan",))
            at = code.place(target, [row(m), i])
            builder.store(code.greater(found, builder.load(at)), at)


@intrinsic
def _node_gains(typing_context, width, columns, node, stride, factor, roots, out):
    def codegen(context, builder, signature, args):
        width, columns, array, stride, factor, *tables = args
        code = GainCode(builder, node.dtype, near=False)
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
def _near_gains(
    typing_context, bits, width, columns, runs, digits, place, mask, heavy, own, node, stride, scale, counts, roots, out
):
    def codegen(context, builder, signature, args):
        array, width, columns, runs_, digits, *listed, heavy, own_, node_, stride, scale, counts_, roots_, out_ = args
        code = GainCode(builder, bits.dtype, near=True)
        counter = PairCode(context, builder, (bits, runs), array, width, runs_, digits, code.number(3))
        listed = code.arrays(context, (place, mask), listed)
        single, every, counted, *tables = code.arrays(
            context, (own, node, counts, roots, out), (own_, node_, counts_, roots_, out_)
        )
        parts = (
            ([(code.number(0), builder.add)], heavy),
            ([(code.number(1), builder.add), (code.number(2), builder.sub)], 0),
        )

        def singles(j, load):
            support = load(single, j), load(single, j, width)
            return support, code.less((load(every, j), load(every, j, stride)), support)

        def pairs(first, block):
            found = [counter.count(first, block, signs, within=listed, first=start) for signs, start in parts]
            for n, support in enumerate(zip(*found, strict=True)):
                row = builder.mul(builder.add(first, code.number(n)), width)
                code.store(support[0], counted, row, block)
                code.store(support[1], counted, stride, row, block)
                yield support, code.less((code.load(every, row, block), code.load(every, stride, row, block)), support)

        scale = code.reals(builder.fptrunc(scale, code.single))
        _build(code, width, columns, scale, singles, pairs, *tables)
        return context.get_dummy_value()

    numbers = place, mask, _N, own, node, _N, _F, counts, roots, out
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

    def near_gains(
        bits, width, columns, runs, digits, place, mask, heavy, own, node, stride, scale, counts, roots, out
    ):
        """Find the highest near gains of both children of each root column, in a child of a node and in the rest.

        place, mask, runs : the words of ``bits`` with rows of the child, and these rows (`list_child`). The first digit
        of a weight is ``heavy``. ``own[k * width + j]`` is the weight or sum of column j in the child; ``node`` is as
        in `node_gains`. The counts of the child go to ``counts`` where i is not after the block of j. Row 2 * c + m of
        ``out`` (float32) is row m of `node_gains`, for the child (c = 0) or the rest (c = 1), over ``scale`` in place
        of ``factor``. ``roots`` : float32[4 * width * lanes], scratch.
        """
        table, numbers = bits.reshape(-1, width), []
        for k in range(2):
            total = np.zeros((columns, columns), np.int64)
            for digit in range(digits):
                total *= 2
                for c, sign in [(0, 1)] if k == 0 else [(1, 1), (2, -1)]:
                    listed = slice(runs[digit * 3 + c], runs[digit * 3 + c + 1])
                    rows = table[place[listed] // width, :columns] & mask[listed, None]
                    total += sign * np.bitwise_count(rows[:, :, None] & rows[:, None, :]).sum(axis=0, dtype=np.int64)
            counts[k * stride :][: columns * width].reshape(columns, width)[:, :columns] = total
            every = node[k * stride :][: columns * width].reshape(columns, width)[:, :columns].astype(np.int64)
            numbers.append((total, every - total))
        one = np.float32(1)
        for c, (weight, total) in enumerate(zip(*numbers, strict=True)):
            weights = [np.maximum(x.astype(np.float32), one) * np.float32(scale) for x in _leaves(weight, columns)]
            sums = [x.astype(np.float32) for x in _leaves(total, columns)]
            table = out[2 * c * width :][: 2 * width].reshape(2, width)[:, :columns]
            _highest([s * s / w for w, s in zip(weights, sums, strict=True)], table)

else:
    masked_sum, node_gains, near_gains = _masked_sum, _node_gains, _near_gains
