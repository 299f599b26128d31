"""Gains of all trees of two levels, in vectors of columns: the pairs of a support are counted, and not stored.

The support is a child of a node. Its pairs are counted within the node's own words, and the pairs of the other child
are the node's minus these. Symbols: ``squares.py``; words and runs: ``pair_counts.py``.

**Statement.** The four leaves of an unordered pair of columns i and j serve four trees: root j with a split on i in
child 1 or in child 0, and root i with a split on j in either child.
**Proof.** Root j has the leaves (i = 1, j = 1) and (i = 0, j = 1) in child 1. Root i has (i = 1, j = 1) and (i = 1,
j = 0) there. Child 0 has the other two leaves each time.
**Used in** `pair_gains`: each pair is counted once, and takes four divisions for each of the two supports.
"""

from __future__ import annotations

import numpy as np
from numba import config

from optree.solvers.kernels.jit.llvm import cgutils, intrinsic, ir, types
from optree.solvers.murtree.fast.pair_counts import TILE, PairCode

DOUBLE = ir.DoubleType()
_N, _F = types.int64, types.float64


class GainCode(PairCode):
    """A builder of code for gains in float64: ``lanes`` numbers side by side, as many as a vector of counts has."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.real = ir.VectorType(DOUBLE, self.lanes)

    def reals(self, value):
        """Return a number in all lanes: a constant, or a value of the code."""
        if not isinstance(value, ir.Value):
            return ir.Constant(self.real, [value] * self.lanes)
        one = self.builder.insert_element(ir.Constant(self.real, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, ir.Constant(self.real, ir.Undefined), first)

    def at(self, pointer, *indices):
        """Return the address of a vector in an array of float64."""
        return self.builder.bitcast(self.place(pointer, indices), self.real.as_pointer())

    def put(self, value, pointer, *indices):
        """Store a vector in an array of float64."""
        self.builder.store(value, self.at(pointer, *indices), align=8)

    def greater(self, one, other):
        """Return the maximum lane by lane."""
        return self.builder.select(self.builder.fcmp_ordered(">", one, other), one, other)

    def raise_to(self, pointer, value):
        """Replace a vector by the maximum of itself and another."""
        self.builder.store(self.greater(self.builder.load(pointer, align=8), value), pointer, align=8)

    def floats(self, *values):
        """Return whole numbers as float64, vectors or single numbers."""
        kind = self.real if isinstance(values[0].type, ir.VectorType) else DOUBLE
        return [self.builder.sitofp(value, kind) for value in values]

    def gain(self, weight, total, factor):
        """Return the gain of a leaf: see `squares.gain`."""
        ratio = self.builder.fdiv(self.builder.fmul(total, total), self.greater(weight, self.reals(1.0)))
        name = f"llvm.floor.v{self.lanes}f64"
        floor = cgutils.get_or_insert_function(self.builder.module, ir.FunctionType(self.real, [self.real]), name)
        return self.builder.call(floor, [self.builder.fmul(ratio, factor)])


def _subtract(builder, one, other):
    """Return the differences of weights and sums."""
    return tuple(builder.fsub(*pair) for pair in zip(one, other, strict=True))


@intrinsic
def _pair_gains(
    typing_context, bits, width, columns, runs, digits, place, mask, heavy, own, node, stride, factor, best, out
):
    def codegen(context, builder, signature, args):
        array, width, columns, runs_, digits, *listed, heavy, own_, node_, stride, factor, best_, out_ = args
        code = GainCode(context, builder, (bits, runs), array, width, runs_, digits, ir.Constant(ir.IntType(64), 3))
        within = code.arrays(context, (place, mask), listed)
        single, pairs, roots, target = code.arrays(context, (own, node, best, out), (own_, node_, best_, out_))
        factors = code.reals(factor)
        parts = [(0, builder.add)], [(1, builder.add), (2, builder.sub)]  # classes of weights and of sums
        parts = [[(code.number(k), combine) for k, combine in part] for part in parts]

        def both(support, every):
            """Return the sums of the support and of the rest of the node."""
            rest = [builder.sub(*pair) for pair in zip(every, support, strict=True)]
            return [code.floats(*support), code.floats(*rest)]

        def singles(*indices):
            """Return weight and sum of single columns: scalars of the support and of the node."""
            tables = (single, width), (pairs, stride)
            return [
                [builder.load(code.place(table, [*indices, *second])) for second in ((), (step,))]
                for table, step in tables
            ]

        zero = code.number(0)
        whole = [[code.reals(value) for value in sums] for sums in both(*singles(zero))]
        with code.range(columns, code.lanes) as (block, _):
            support = [code.load(single, block), code.load(single, width, block)]
            of_j = both(support, [code.load(pairs, block), code.load(pairs, stride, block)])
            for c in range(2):
                for m, leaf in enumerate((_subtract(builder, whole[c], of_j[c]), of_j[c])):
                    code.put(code.gain(*leaf, factors), target, block, builder.mul(width, code.number(4 + 2 * c + m)))
            highest = [cgutils.alloca_once(builder, code.real) for _ in range(4)]
            for variable in highest:
                builder.store(code.reals(-1.0), variable)
            end = builder.add(block, code.number(code.lanes))
            end = builder.select(builder.icmp_signed("<", end, columns), end, columns)
            with code.range(end, TILE) as (first, _):
                counts = [
                    code.count(first, block, part, within=within, first=start)
                    for part, start in zip(parts, (heavy, zero), strict=True)
                ]
                for n, pair in enumerate(zip(*counts, strict=True)):
                    i = builder.add(first, code.number(n))
                    row = builder.mul(i, width)
                    every = [code.load(pairs, row, block), code.load(pairs, stride, row, block)]
                    of_i = both(*singles(i))
                    for c, ij in enumerate(both(pair, every)):
                        i_all = [code.reals(value) for value in of_i[c]]
                        only_i, only_j = _subtract(builder, i_all, ij), _subtract(builder, of_j[c], ij)
                        neither = _subtract(builder, _subtract(builder, whole[c], i_all), only_j)
                        g11, g10, g01, g00 = (code.gain(*leaf, factors) for leaf in (ij, only_i, only_j, neither))
                        code.raise_to(highest[2 * c], builder.fadd(g10, g00))
                        code.raise_to(highest[2 * c + 1], builder.fadd(g11, g01))
                        at = builder.mul(builder.add(builder.mul(i, code.number(4)), code.number(2 * c)), code.number(code.lanes))
                        code.raise_to(code.at(roots, at), builder.fadd(g01, g00))
                        code.raise_to(code.at(roots, at, code.number(code.lanes)), builder.fadd(g11, g10))
            for m, variable in enumerate(highest):
                code.put(builder.load(variable), target, block, builder.mul(width, code.number(m)))
        kind = ir.FunctionType(DOUBLE, [code.real])
        reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fmax.v{code.lanes}f64")
        with code.range(columns) as (i, _):
            for m in range(4):
                at = builder.mul(builder.add(builder.mul(i, code.number(4)), code.number(m)), code.number(code.lanes))
                found = builder.call(reduce, [builder.load(code.at(roots, at), align=8)], fastmath=("nnan",))
                place_ = code.place(target, [builder.mul(width, code.number(m)), i])
                known = builder.load(place_)
                builder.store(builder.select(builder.fcmp_ordered(">", found, known), found, known), place_)
        return context.get_dummy_value()

    return types.void(bits, _N, _N, runs, _N, place, mask, _N, own, node, _N, _F, best, out), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def pair_gains(bits, width, columns, runs, digits, place, mask, heavy, own, node, stride, factor, best, out):
        """Find the highest gains of both children of each root column, in a support and in the rest of a node.

        place, mask, runs : the words of ``bits`` with rows of the support, and these rows (`list_child`). The first
        digit of a weight is ``heavy``.
        ``own[k * width + j]`` is the weight (k = 0) or the sum (k = 1) of column j in the support, and
        ``node[k * stride + i * width + j]`` of columns i and j in the node. ``columns`` is a multiple of TILE.

        Row m of ``out``, at ``out[m * width + j]``, is for root j: 2 * c + child, the highest gain of the child with one
        more split, in the support (c = 0) or in the rest (c = 1); 4 + 2 * c + child, the gain of the child as a leaf.
        ``best`` : float64[4 * columns * lanes], scratch, filled with -1.
        """
        table = bits.reshape(-1, width)
        numbers = []
        for k in range(2):
            total = np.zeros((columns, columns), np.int64)
            for digit in range(digits):
                total *= 2
                for c, sign in [(0, 1)] if k == 0 else [(1, 1), (2, -1)]:
                    listed = slice(runs[digit * 3 + c], runs[digit * 3 + c + 1])
                    rows = table[place[listed] // width, :columns] & mask[listed, None]
                    total += sign * np.bitwise_count(rows[:, :, None] & rows[:, None, :]).sum(axis=0, dtype=np.int64)
            every = node[k * stride : k * stride + columns * width].reshape(columns, width)[:, :columns].astype(np.int64)
            single = own[k * width : k * width + columns].astype(np.int64)
            numbers.append([(total, single), (every - total, every[0] - single)])
        for c, ((w, w_j), (s, s_j)) in enumerate(zip(*numbers, strict=True)):
            leaves = []
            for of_i, of_j in ((0, 0), (0, 1), (1, 0), (1, 1)):
                weight, total = (
                    m if of_i and of_j else j - m if of_j else j[:, None] - m if of_i else j[0] - j[:, None] - j + m
                    for m, j in ((w, w_j), (s, s_j))
                )
                total = total.astype(np.float64)
                leaves.append(np.floor(total * total / np.maximum(weight, 1.0) * factor))
            for child in range(2):
                table_of_child = leaves[child] + leaves[2 + child]
                out[(2 * c + child) * width :][:columns] = table_of_child.max(axis=0)
                out[(4 + 2 * c + child) * width :][:columns] = table_of_child[0]

else:
    pair_gains = _pair_gains
