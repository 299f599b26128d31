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


def _own(builder, table, row, column, wide):
    """Load a word of a column into all lanes."""
    return spread(builder, builder.load(builder.gep(table, [builder.add(row, column)])), wide)


def _met(builder, table, row, word, c, wide):
    """Count the bits that a word shares with the words of the columns from ``c`` on."""
    at = builder.bitcast(builder.gep(table, [builder.add(row, c)]), wide.vector.as_pointer())
    return call(builder, "ctpop", wide.vector, builder.and_(builder.load(at, align=8), word))


@intrinsic
def _count_shared(typing_context, bits, width, column, c, first, last, like):
    kind = Lanes.of(like)
    wide, number = Lanes(64, kind.count), types.int64

    def codegen(context, builder, sig, args):
        array, width, column, c, first, last, _ = args
        (table,) = _data(context, builder, (bits,), (array,))

        def step(w, row, total):
            word = _own(builder, table, row, column, wide)
            return builder.add(row, width), builder.add(total, _met(builder, table, row, word, c, wide))

        start = builder.mul(first, width), ir.Constant(wide.vector, [0] * wide.count)
        found = _loop(builder, first, last, start, step)[1]
        return builder.trunc(found, kind.vector) if kind.bits < 64 else found

    return kind(bits, number, number, number, number, number, like), codegen


@intrinsic
def _count_listed(typing_context, bits, place, column, c, first, last, like):
    kind = Lanes.of(like)
    wide, number = Lanes(64, kind.count), types.int64

    def codegen(context, builder, sig, args):
        table, places = _data(context, builder, (bits, place), args[:2])
        column, c, first, last, _ = args[2:]

        def step(i, total):
            row = builder.load(builder.gep(places, [i]))
            word = _own(builder, table, row, column, wide)
            return (builder.add(total, _met(builder, table, row, word, c, wide)),)

        (found,) = _loop(builder, first, last, (ir.Constant(wide.vector, [0] * wide.count),), step)
        return builder.trunc(found, kind.vector) if kind.bits < 64 else found

    return kind(bits, place, number, number, number, number, like), codegen


@intrinsic
def _count_masked(typing_context, bits, place, mask, c, first, last, like):
    kind = Lanes.of(like)
    wide, number = Lanes(64, kind.count), types.int64

    def codegen(context, builder, sig, args):
        table, places, masks = _data(context, builder, (bits, place, mask), args[:3])
        c, first, last, _ = args[3:]

        def step(i, total):
            row = builder.load(builder.gep(places, [i]))
            word = spread(builder, builder.load(builder.gep(masks, [i])), wide)
            return (builder.add(total, _met(builder, table, row, word, c, wide)),)

        (found,) = _loop(builder, first, last, (ir.Constant(wide.vector, [0] * wide.count),), step)
        return builder.trunc(found, kind.vector) if kind.bits < 64 else found

    return kind(bits, place, mask, number, number, number, like), codegen


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
        """Count shared rows in the words listed in ``place`` (see `list_words`), from ``first`` to ``last``."""
        rows = place[first:last, None]
        met = np.bitwise_count(bits[rows + np.arange(c, c + lanes(like))] & bits[rows + column])
        return met.sum(axis=0, dtype=like.dtype)

    def count_masked(bits, place, mask, c, first, last, like):
        """Count the rows shared with a mask, uint64[...], one word per listed place, in place of a column."""
        met = np.bitwise_count(bits[place[first:last, None] + np.arange(c, c + lanes(like))] & mask[first:last, None])
        return met.sum(axis=0, dtype=like.dtype)

else:
    list_words, count_shared, count_listed = _list_words, _count_shared, _count_listed
    count_masked = _count_masked
