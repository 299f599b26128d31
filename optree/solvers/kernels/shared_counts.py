"""Counts of the rows that a column shares with a vector of other columns, word by word.

A table of bits is uint64[words * width], word after word, ``width`` columns each. A search of small supports counts one
to three words at a time, millions of times, so these loops are written in LLVM's instructions.
"""

from __future__ import annotations

import numpy as np
from numba import config

from optree.solvers.kernels.jit.llvm import intrinsic, ir, types
from optree.solvers.kernels.simd import Lanes, call, lanes, spread


def _loop(builder, first, last, start, step):
    """Build a loop ``values = step(i, *values)`` for i from ``first`` to ``last``; return the last values.

    Metadata keeps LLVM from unrolling the loop, since most of these loops end at once.
    """
    before, loop, after = builder.block, builder.append_basic_block("loop"), builder.append_basic_block("after")
    builder.cbranch(builder.icmp_signed("<", first, last), loop, after)
    builder.position_at_end(loop)
    i, *values = (builder.phi(value.type) for value in (first, *start))
    stepped = builder.add(i, ir.Constant(i.type, 1)), *step(i, *values)
    for phi, value, other in zip((i, *values), (first, *start), stepped, strict=True):
        phi.add_incoming(value, before)
        phi.add_incoming(other, loop)
    back, module = builder.cbranch(builder.icmp_signed("<", stepped[0], last), loop, after), builder.module
    once = module.add_metadata([module.add_metadata(["llvm.loop.unroll.disable"])])
    once.operands = (once, once.operands[-1])
    back.set_metadata("llvm.loop", once)
    builder.position_at_end(after)
    found = [builder.phi(value.type) for value in start]
    for phi, value, other in zip(found, start, stepped[1:], strict=True):
        phi.add_incoming(value, before)
        phi.add_incoming(other, loop)
    return found


def _data(context, builder, kinds, arrays):
    """Return the data pointers of some arrays."""
    return [context.make_array(kind)(context, builder, array).data for kind, array in zip(kinds, arrays, strict=True)]


@intrinsic
def _list_words(typing_context, bits, width, column, first, last, at, place):
    number = types.int64

    def codegen(context, builder, sig, args):
        array, width, column, first, last, at, listed = args
        table, places = _data(context, builder, (bits, place), (array, listed))

        def step(w, row, at):
            word = builder.load(builder.gep(table, [builder.add(row, column)]))
            builder.store(row, builder.gep(places, [at]))
            filled = builder.icmp_unsigned("!=", word, ir.Constant(word.type, 0))
            return builder.add(row, width), builder.add(at, builder.zext(filled, at.type))

        return _loop(builder, first, last, (builder.mul(first, width), at), step)[1]

    return number(bits, number, number, number, number, number, place), codegen


def _count(builder, like, table, c, first, last, start, step):
    """Build the sum of the bits that words share with the columns from ``c`` on; ``step(i, *values)`` as in `_loop`.

    ``step`` returns the offset of a row of the table and the word that meets it, before the values.
    """
    kind = Lanes.of(like)
    wide = Lanes(64, kind.count)

    def add(i, total, *values):
        row, word, *after = step(i, *values)
        at = builder.bitcast(builder.gep(table, [builder.add(row, c)]), wide.vector.as_pointer())
        met = builder.and_(builder.load(at, align=8), spread(builder, word, wide.vector))
        return builder.add(total, call(builder, "ctpop", wide.vector, met)), *after

    total, *_ = _loop(builder, first, last, (ir.Constant(wide.vector, [0] * wide.count), *start), add)
    return builder.trunc(total, kind.vector) if kind.bits < 64 else total


@intrinsic
def _count_shared(typing_context, bits, width, column, c, first, last, like):
    def codegen(context, builder, sig, args):
        array, width, column, c, first, last, _ = args
        (table,) = _data(context, builder, (bits,), (array,))

        def step(w, row):
            return row, builder.load(builder.gep(table, [builder.add(row, column)])), builder.add(row, width)

        return _count(builder, like, table, c, first, last, (builder.mul(first, width),), step)

    return Lanes.of(like)(bits, *[types.int64] * 5, like), codegen


@intrinsic
def _count_listed(typing_context, bits, place, column, c, first, last, like):
    kind = column if isinstance(column, types.Array) else types.int64

    def codegen(context, builder, sig, args):
        table, places = _data(context, builder, (bits, place), args[:2])
        column, c, first, last, _ = args[2:]
        if kind != types.int64:
            (masks,) = _data(context, builder, (kind,), (column,))

        def step(i):
            row = builder.load(builder.gep(places, [i]))
            at = builder.gep(table, [builder.add(row, column)]) if kind == types.int64 else builder.gep(masks, [i])
            return row, builder.load(at)

        return _count(builder, like, table, c, first, last, (), step)

    return Lanes.of(like)(bits, place, kind, *[types.int64] * 3, like), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def list_words(bits, width, column, first, last, at, place):
        """List the nonzero words of a column from ``first`` to ``last`` in ``place``, from ``at`` on; return the end.

        bits : uint64[words * width], word after word. place : int64[...], offsets in ``bits``, with room for one more.
        """
        rows = np.arange(first, last) * width
        rows = rows[bits[rows + column] != 0]
        place[at : at + len(rows)] = rows
        return at + len(rows)

    def count_shared(bits, width, column, c, first, last, like):
        """Count the rows that the columns from ``c`` on share with ``column``, in the words ``first`` to ``last``.

        bits : uint64[words * width], word after word. The result is a vector of the table ``like``.
        """
        return count_listed(bits, np.arange(first, last) * width, column, c, 0, last - first, like)

    def count_listed(bits, place, column, c, first, last, like):
        """Count shared rows in the words listed in ``place`` (see `list_words`), from ``first`` to ``last``.

        column : int, or a mask in its place, uint64[...], with one word for each listed place.
        """
        rows = place[first:last, None]
        words = bits[rows + column] if np.ndim(column) == 0 else column[first:last, None]
        met = np.bitwise_count(bits[rows + np.arange(c, c + lanes(like))] & words)
        return met.sum(axis=0, dtype=like.dtype)

else:
    list_words, count_shared, count_listed = _list_words, _count_shared, _count_listed
