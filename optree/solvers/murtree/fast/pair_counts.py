"""Counts of pairs of binary columns, in vectors whose sums stay in registers.

Columns are bits, word after word (``bits[word * width + column]``). Column 0 holds all rows, so that its pairs are the
counts of single columns. A word has as many bits as a count: 16, 32 or 64, by the weight of all rows. Population counts
are then added without a conversion. ``width`` is a multiple of the columns in a vector of 512 bits. Up to a multiple of
TILE the columns after the last one are empty. An empty column splits nothing and may be counted like the others.

Words are ordered in *runs*: by binary digit of a row's weight, highest digit first, then by class. The words of a run
are ``runs[digit * classes + k]`` up to the next entry. Doubling the sums between digits turns population counts into
weights (Horner's rule).

LLVM's own vector code for the plain loops has a tenth of this speed. Every function has a twin in numpy for uncompiled
code, which holds its documentation.
"""

from __future__ import annotations

import numpy as np
from numba import config

from optree.solvers.kernels.jit.llvm import intrinsic, ir, types
from optree.solvers.kernels.vector_code import WORD, VectorCode

TILE = 4  # columns counted at once against a vector of others
_N = types.int64


class PairCode(VectorCode):
    """A builder of counting code for ``bits``, ``width``, ``runs`` and ``digits`` of the module's text.

    ``kinds`` are numba's types of the arrays, and ``classes`` is the number of classes.
    """

    def __init__(self, context, builder, kinds, bits, width, runs, digits, classes):
        super().__init__(builder, kinds[0].dtype, 512 // kinds[0].dtype.bitwidth)
        self.bits, self.runs = self.arrays(context, kinds, (bits, runs))
        self.width, self.digits, self.classes = width, digits, classes

    def count(self, i, block, signs, tile=TILE):
        """Count the rows in both a column of a block and each of ``tile`` columns from ``i``.

        signs : pairs of a class and the instruction, add or sub, for its rows.
        """
        builder = self.builder
        totals = [self.variable() for _ in range(tile)]
        with self.range(self.digits) as (digit, _):
            for total in totals:
                builder.store(builder.add(builder.load(total), builder.load(total)), total)
            for k, combine in signs:
                at = builder.add(builder.mul(digit, self.classes), k)
                first, last = (
                    builder.load(builder.gep(self.runs, [builder.add(at, self.number(end))])) for end in (0, 1)
                )
                with self.range(last, start=first) as (w, _):
                    row = builder.mul(w, self.width)
                    others = self.load(self.bits, row, block)
                    for n, total in enumerate(totals):
                        both = builder.and_(self.load_splat(self.bits, row, i, self.number(n)), others)
                        builder.store(combine(builder.load(total), self.call("ctpop", both)), total)
        return [builder.load(total) for total in totals]

    def write(self, variables, out, block):
        """Store vectors of a block to the rows of ``out``."""
        for n, variable in enumerate(variables):
            self.store(self.builder.load(variable), out, self.builder.mul(self.number(n), self.width), block)


def _counter(tile):
    """Return the function that counts ``tile`` columns at once against a vector of others: see `pair_counts`."""

    @intrinsic
    def counter(typing_context, bits, width, columns, runs, digits, classes, k, out):
        def codegen(context, builder, signature, args):
            array, width, columns, runs_, digits, classes, k, out_ = args
            code = PairCode(context, builder, (bits, runs), array, width, runs_, digits, classes)
            (target,) = code.arrays(context, (out,), (out_,))
            with code.range(columns, tile) as (i, _), code.range(width, code.lanes) as (block, _):
                for n, count in enumerate(code.count(i, block, [(k, builder.add)], tile)):
                    code.store(count, target, builder.mul(builder.add(i, code.number(n)), width), block)
            return context.get_dummy_value()

        return types.void(bits, _N, _N, runs, _N, _N, _N, out), codegen

    return counter


@intrinsic
def _two_class(typing_context, bits, width, columns, runs, digits, single, pairs, out):
    def codegen(context, builder, signature, args):
        array, width, columns, runs_, digits, *tables = args
        code = PairCode(context, builder, (bits, runs), array, width, runs_, digits, ir.Constant(WORD, 2))
        own, node, target = code.arrays(context, (single, pairs, out), tables)
        signs = [(code.number(0), builder.add), (code.number(1), builder.sub)]
        extreme = (1 << (code.kind.width - 1)) - 1
        with code.range(width, code.lanes) as (block, _):
            best = [code.variable(extreme if n % 2 else -extreme) for n in range(8)]
            with code.range(columns, TILE) as (first, _):
                for n, z in enumerate(code.count(first, block, signs)):
                    i = builder.add(first, code.number(n))
                    rest = builder.sub(code.load(node, builder.mul(i, width), block), z)
                    of_i, node_i = code.load_splat(own, i), code.load_splat(node, i)
                    others = builder.sub(of_i, z), builder.sub(builder.sub(node_i, of_i), rest)
                    for m, value in enumerate((z, others[0], rest, others[1])):
                        code.extreme(best[2 * m], value)
                        code.extreme(best[2 * m + 1], value, "smin")
            code.write(best, target, block)
        return context.get_dummy_value()

    return types.void(bits, _N, _N, runs, _N, single, pairs, out), codegen


@intrinsic
def _many_class(typing_context, bits, width, columns, runs, digits, classes, single, pairs, stride, out):
    def codegen(context, builder, signature, args):
        array, width, columns, runs_, digits, classes, single_, pairs_, stride, out_ = args
        code = PairCode(context, builder, (bits, runs), array, width, runs_, digits, classes)
        own, node, target = code.arrays(context, (single, pairs, out), (single_, pairs_, out_))
        with code.range(width, code.lanes) as (block, _):
            best, heaviest = [code.variable() for _ in range(4)], [code.variable() for _ in range(8 * TILE)]
            with code.range(columns, TILE) as (first, _):
                for variable in heaviest:
                    builder.store(code.constant(0), variable)
                with code.range(classes) as (k, _):
                    own_k, node_k = builder.mul(k, width), builder.mul(k, stride)
                    j, every = code.load(own, own_k, block), code.load_splat(own, own_k)
                    rest_j = builder.sub(code.load(node, node_k, block), j)
                    rest = builder.sub(code.load_splat(node, node_k), every)
                    for n, ij in enumerate(code.count(first, block, [(k, builder.add)])):
                        at = builder.add(first, code.number(n))
                        i = code.load_splat(own, own_k, at)
                        rest_i = builder.sub(code.load_splat(node, node_k, at), i)
                        rest_ij = builder.sub(code.load(node, node_k, builder.mul(at, width), block), ij)
                        for m, (both, of_i, of_j, total) in enumerate(
                            ((ij, i, j, every), (rest_ij, rest_i, rest_j, rest))
                        ):
                            only_i, only_j = builder.sub(of_i, both), builder.sub(of_j, both)
                            neither = builder.sub(builder.sub(total, of_i), only_j)
                            for leaf, value in enumerate((both, only_j, only_i, neither)):
                                code.extreme(heaviest[8 * n + 4 * m + leaf], value)
                for n in range(TILE):
                    for m, variable in enumerate(best):
                        leaves = (builder.load(heaviest[8 * n + 2 * m + leaf]) for leaf in range(2))
                        code.extreme(variable, builder.add(*leaves))
            code.write(best, target, block)
        return context.get_dummy_value()

    return types.void(bits, _N, _N, runs, _N, _N, single, pairs, _N, out), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def _count(bits, width, columns, runs, digits, classes, k):
        """Count the weight of class ``k`` in every pair of columns: int64[columns, width]."""
        total = np.zeros((columns, width), np.int64)
        for digit in range(digits):
            first, last = runs[digit * classes + k], runs[digit * classes + k + 1]
            table = bits[first * width : last * width].reshape(-1, width)
            both = np.bitwise_count(table[:, :columns, None] & table[:, None, :])
            total = 2 * total + both.sum(axis=0, dtype=np.int64)
        return total

    def pair_counts(bits, width, columns, runs, digits, classes, k, out):
        """Write to ``out[i * width + j]``, for i < columns, the weight of class ``k`` in both columns i and j."""
        out[: columns * width] = _count(bits, width, columns, runs, digits, classes, k).reshape(-1)

    single_counts = pair_counts  # for columns = 1

    def two_class(bits, width, columns, runs, digits, single, pairs, out):
        """Find the extremes over i of the difference z(i, j), in both children of a split.

        z(i, j) is the weight of class 0 minus the weight of class 1, of the rows in both columns i and j. The first
        child is ``bits``; ``single[j]`` is its z(j, j). The second child is the rest of the node; ``pairs[i * width +
        j]`` is the node's z(i, j).

        Row n of ``out``, at ``out[n * width + j]``, is for the first child: 0, the maximum of z(i, j); 1, its minimum;
        2, the maximum of z(i, i) - z(i, j), of the rows outside j; 3, its minimum. Rows 4 to 7 are for the other child.
        """
        z = _count(bits, width, columns, runs, digits, 2, 0) - _count(bits, width, columns, runs, digits, 2, 1)
        own = single[:columns, None].astype(np.int64)
        node = pairs[: columns * width].reshape(columns, width).astype(np.int64)
        rest = pairs[:columns, None].astype(np.int64) - own
        values = [z, own - z, node - z, rest - (node - z)]
        table = [extreme for value in values for extreme in (value.max(axis=0), value.min(axis=0))]
        out[: 8 * width] = np.concatenate(table)

    def many_class(bits, width, columns, runs, digits, classes, single, pairs, stride, out):
        """Find the greatest weight that a split by column i classifies correctly, over i, in both children of a split.

        The arguments are as in `two_class`, for any number of classes: ``single[k * width + j]`` and
        ``pairs[k * stride + i * width + j]`` are weights of class k. Row n of ``out`` is for the first child: 0, the
        rows in column j; 1, the rows outside. Rows 2 and 3 are for the second child.
        """
        leaves = [[] for _ in range(8)]
        for k in range(classes):
            both = _count(bits, width, columns, runs, digits, classes, k)
            own = single[k * width : (k + 1) * width].astype(np.int64)
            node = pairs[k * stride : k * stride + columns * width].reshape(columns, width).astype(np.int64)
            for n, (ij, every) in enumerate(((both, own), (node - both, node[0] - own))):
                j, i = every[None, :], every[:columns, None]
                for m, leaf in enumerate((ij, j - ij, i - ij, every[0] - i - j + ij)):
                    leaves[4 * n + m].append(leaf)
        heaviest = [np.max(weights, axis=0) for weights in leaves]
        out[: 4 * width] = np.concatenate([(heaviest[m] + heaviest[m + 1]).max(axis=0) for m in (0, 2, 4, 6)])

else:
    pair_counts, single_counts = _counter(TILE), _counter(1)
    two_class, many_class = _two_class, _many_class
