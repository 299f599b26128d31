"""Sums of the target over pairs of columns, looked up for several rows at a time.

The packed rows of a node are divided into *groups* of five rows (four, of words with 64 bits). A group has a *slice*,
the bits of its rows in each column (``slices[group * width + column]``). It also has a table of the sum of the target
in each set of its rows (``tables[group * 2 * lanes + set]``). The rows of a group in a pair of columns are the AND of
two slices, and a table of 32 sums (16) fills two vectors, in which one instruction looks up the sums of 16 pairs (8).
Source: V. Arlazarov, E. Dinic, M. Kronrod, I. Faradzhev, "On Economical Construction of the Transitive Closure of a
Directed Graph", Soviet Mathematics Doklady 11, 1970.

A row whose weight has several digits has a bit in several runs (``pair_counts.py``). Its sum stands at one of them, and
groups without a sum are left out.

**Worth.** Beside counts of the binary digits of the sums, in the words of the node: 500 rows and 40 columns at depth 5
in .24 s for .34, 2000 rows in .42 s for .59. Targets of few digits gain nothing.
"""

from __future__ import annotations

import numpy as np
from numba import config

from optree.solvers.kernels.bitset import ONE, lowest_bit
from optree.solvers.kernels.jit import apart, inner_function
from optree.solvers.kernels.jit.llvm import intrinsic, ir, types
from optree.solvers.kernels.vector_code import VectorCode
from optree.solvers.murtree.binary_columns import VECTOR_BYTES
from optree.solvers.murtree.fast.pair_counts import TILE

_N = types.int64


class SumCode(VectorCode):
    """A builder of code that adds up ``groups`` groups; ``kinds`` are numba's types of the arrays."""

    def __init__(self, context, builder, kinds, slices, tables, width, groups):
        super().__init__(builder, kinds[0].dtype, 512 // kinds[0].dtype.bitwidth)
        self.slices, self.tables = self.arrays(context, kinds, (slices, tables))
        self.width, self.groups = width, groups
        self.context = context

    def look_up(self, halves, table, sets):
        """Return the sums of sets of rows in a table; ``halves`` are its two vectors."""
        builder, name = self.builder, f"vpermi2var.{'d' if self.lanes == 16 else 'q'}.512"
        found = self.x86(self.context, name, self.vector, halves[0], sets, halves[1])
        if found is not None:
            return found
        found = ir.Constant(self.vector, ir.Undefined)
        for lane in (ir.Constant(ir.IntType(32), n) for n in range(self.lanes)):
            at = builder.extract_element(sets, lane)
            at = builder.zext(at, table.type) if self.kind.width < 64 else at
            number = builder.load(self.place(self.tables, [table, at]))
            found = builder.insert_element(found, number, lane)
        return found

    def add_up(self, i, block):
        """Return the sums of the rows in both a column of a block and each of TILE columns from ``i``."""
        builder = self.builder
        totals = [self.variable() for _ in range(TILE)]
        with self.range(self.groups) as (group, _):
            row = builder.mul(group, self.width)
            table = builder.mul(group, self.number(2 * self.lanes))
            others = self.load(self.slices, row, block)
            halves = [self.load(self.tables, table, self.number(half * self.lanes)) for half in range(2)]
            for n, total in enumerate(totals):
                both = builder.and_(self.load_splat(self.slices, row, i, self.number(n)), others)
                builder.store(builder.add(builder.load(total), self.look_up(halves, table, both)), total)
        return [builder.load(total) for total in totals]


@intrinsic
def _pair_sums(typing_context, slices, tables, width, columns, groups, out):
    def codegen(context, builder, signature, args):
        *arrays, width, columns, groups, out_ = args
        code = SumCode(context, builder, (slices, tables), *arrays, width, groups)
        (target,) = code.arrays(context, (out,), (out_,))
        with code.range(columns, TILE) as (i, _), code.range(width, code.lanes) as (block, _):
            for n, total in enumerate(code.add_up(i, block)):
                code.store(total, target, builder.mul(builder.add(i, code.number(n)), width), block)
        return context.get_dummy_value()

    return types.void(slices, tables, _N, _N, _N, out), codegen


@intrinsic
def _make_group(typing_context, bits, source, first, width, sums, at, slices, tables, group):
    def codegen(context, builder, signature, args):
        array, source, first, width, sums_, at, slices_, tables_, group = args
        code = VectorCode(builder, bits.dtype, 512 // bits.dtype.bitwidth)
        words, numbers, *out = code.arrays(context, (bits, sums, slices, tables), (array, sums_, slices_, tables_))
        size = (2 * code.lanes).bit_length() - 1
        shift = code.splat(builder.trunc(first, code.kind) if code.kind.width < 64 else first)
        target = builder.mul(group, width)
        with code.range(width, code.lanes) as (block, _):
            bits_of_group = builder.lshr(code.load(words, source, block), shift)
            code.store(builder.and_(bits_of_group, code.constant(2 * code.lanes - 1)), out[0], target, block)
        rows = [code.load_splat(numbers, at, code.number(n)) for n in range(size)]
        for half in range(2):
            total = code.constant(0)
            for n, row in enumerate(rows):
                held = [-(half * code.lanes + lane >> n & 1) for lane in range(code.lanes)]
                total = builder.add(total, builder.and_(row, ir.Constant(code.vector, held)))
            place = builder.mul(group, code.number(2 * code.lanes))
            code.store(total, out[1], place, code.number(half * code.lanes))
        return context.get_dummy_value()

    return types.void(bits, _N, _N, _N, sums, _N, slices, tables, _N), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def pair_sums(slices, tables, width, columns, groups, out):
        """Write to ``out[i * width + j]``, for i < columns, the sum of the rows in both columns i and j."""
        total, count = np.zeros((columns, width), np.int64), 2 * VECTOR_BYTES // tables.itemsize
        for group, table in enumerate(tables[: groups * count].reshape(-1, count)):
            bits = slices[group * width :][:width]
            total += table[bits[:columns, None] & bits[None, :]]
        out[: columns * width] = total.reshape(-1)

    def make_group(bits, source, first, width, sums, at, slices, tables, group):
        """Make slice and table of a group: rows from bit ``first`` of the word at ``bits[source]``.

        The sum of the target in the first row is ``sums[at]``.
        """
        count = 2 * VECTOR_BYTES // tables.itemsize
        size = count.bit_length() - 1
        words = bits[source : source + width].astype(np.uint64)
        slices[group * width :][:width] = words >> np.uint64(first) & np.uint64(count - 1)
        sets = np.arange(count)[:, None] >> np.arange(size) & 1
        tables[group * count :][:count] = sets @ sums[at : at + size].astype(np.int64)

else:
    pair_sums, make_group = _pair_sums, _make_group


def group_rows(itemsize):
    """Return the rows of a group, for words of ``itemsize`` bytes."""
    return 5 if itemsize == 4 else 4


_group_rows = inner_function(group_rows)


@inner_function
def pack_sums(sums, runs, mask, out):
    """Pack the sums of the rows of ``mask`` (a word for each word of the rows) into ``out``, as `pack_rows` does."""
    apart()
    size, at = 8 * mask.itemsize, np.int64(0)
    for run in range(len(runs) - 1):
        for w in range(runs[run], runs[run + 1]):
            m = np.uint64(mask[w])
            while m:
                out[at] = sums[w * size + lowest_bit(m)]
                m &= m - ONE
                at += 1
        while at % size:
            out[at] = 0
            at += 1


@inner_function
def make_groups(bits, width, words, sums, slices, tables):
    """Make the groups of packed rows; return their number."""
    apart()
    rows, size, groups = _group_rows(bits.itemsize), 8 * bits.itemsize, np.int64(0)
    for w in range(words):
        every, first = np.uint64(bits[w * width]), np.int64(0)
        while first < size and every >> np.uint64(first):
            at, found = w * size + first, False
            for n in range(rows):
                found |= sums[at + n] != 0
            if found:
                make_group(bits, w * width, first, width, sums, at, slices, tables, groups)
                groups += 1
            first += rows
    return groups
