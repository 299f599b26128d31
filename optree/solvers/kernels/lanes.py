"""Vectors of numbers as values in a kernel: ``load(table, at) + fill(number, table)``.

LLVM makes vectors of plain loops too, but for many more columns than most searches have: of forty columns it counts
half one by one, and sums that should stay in registers go through memory. Here a table is padded to a whole number of
vectors, and a kernel says what it does to so many columns at once: sixteen of 16-bit numbers, eight of wider ones.
(Registers may hold more, but padding costs more than that saves.) Uncompiled, a vector is an array of numpy.
"""

from __future__ import annotations

import operator

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 8  # 64-bit numbers side by side; tables of columns are padded to a multiple
MOST_LANES = 16  # ... and of the narrowest


def _count(bits):
    """How many numbers of so many bits are in a vector."""
    return MOST_LANES if bits == 16 else LANES


class _Lanes(types.Type):
    """So many whole numbers of ``bits`` bits each."""

    def __init__(self, bits, count):
        self.bits, self.count = bits, count
        super().__init__(f"Lanes({count} x {bits})")

    @classmethod
    def of(cls, table):
        """Those of a table."""
        return cls(table.dtype.bitwidth, _count(table.dtype.bitwidth))

    @property
    def vector(self):
        """The type in LLVM."""
        return ir.VectorType(ir.IntType(self.bits), self.count)


_LANES = _Lanes(64, LANES)


@register_model(_Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, kind.vector)


def _operator(function, instruction):
    """Give an operator a meaning on two vectors of a kind."""

    @infer_global(function)
    class _Typed(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and isinstance(args[0], _Lanes) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(function, _Lanes, _Lanes)
    def _lowered(context, builder, sig, args):
        return getattr(builder, instruction)(*args)


for _function, _instruction in (
    (operator.add, "add"),
    (operator.sub, "sub"),
    (operator.mul, "mul"),
    (operator.and_, "and_"),
):
    _operator(_function, _instruction)


def _place(context, builder, table, array, at, vector):
    """The address of an element of an array, as one of vectors."""
    data = context.make_array(table)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def _call(builder, name, result, *args):
    """An LLVM intrinsic on vectors."""
    kind, vector = ir.FunctionType(result, [arg.type for arg in args]), args[0].type
    name = f"llvm.{name}.v{vector.count}i{vector.element.width}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def _spread(builder, number, kind):
    """A number in all lanes, without what does not fit."""
    vector = kind.vector
    if kind.bits < number.type.width:
        number = builder.trunc(number, vector.element)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), first)


@intrinsic
def _lanes(typing_context, table):
    count = _Lanes.of(table).count

    def codegen(context, builder, sig, args):
        return ir.Constant(ir.IntType(64), count)

    return types.int64(table), codegen


@intrinsic
def _infinite(typing_context, table):
    number = 2 ** (table.dtype.bitwidth - 2)

    def codegen(context, builder, sig, args):
        return ir.Constant(ir.IntType(64), number)

    return types.int64(table), codegen


@intrinsic
def _load(typing_context, table, at):
    kind = _Lanes.of(table)

    def codegen(context, builder, sig, args):
        place = _place(context, builder, table, *args, kind.vector)
        return builder.load(place, align=kind.bits // 8)

    return kind(table, types.int64), codegen


@intrinsic
def _store(typing_context, table, at, vector):
    def codegen(context, builder, sig, args):
        place = _place(context, builder, table, *args[:2], vector.vector)
        builder.store(args[2], place, align=vector.bits // 8)
        return context.get_dummy_value()

    return types.void(table, types.int64, vector), codegen


@intrinsic
def _splat(typing_context, number):
    def codegen(context, builder, sig, args):
        return _spread(builder, args[0], _LANES)

    return _LANES(types.uint64 if number == types.uint64 else types.int64), codegen


@intrinsic
def _fill(typing_context, number, table):
    kind = _Lanes.of(table)

    def codegen(context, builder, sig, args):
        return _spread(builder, args[0], kind)

    return kind(types.int64, table), codegen


def _loop(builder, first, last, start, step):
    """The values that ``step(i, *values)`` comes to from those at the start on, for i from ``first`` to ``last``.

    LLVM is kept from unrolling it, as most such loops end at once: by metadata that refers to itself.
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
    """Where the numbers of some arrays are."""
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


def _met(builder, table, row, column, c, wide):
    """How many bits a word of a column shares with the words beside it of the columns from ``c`` on."""
    at = builder.bitcast(builder.gep(table, [builder.add(row, c)]), wide.vector.as_pointer())
    word = _spread(builder, builder.load(builder.gep(table, [builder.add(row, column)])), wide)
    return _call(builder, "ctpop", wide.vector, builder.and_(builder.load(at, align=8), word))


@intrinsic
def _count_shared(typing_context, bits, width, column, c, first, last, like):
    kind = _Lanes.of(like)
    wide, number = _Lanes(64, kind.count), types.int64

    def codegen(context, builder, sig, args):
        array, width, column, c, first, last, _ = args
        (table,) = _data(context, builder, (bits,), (array,))

        def step(w, row, total):
            return builder.add(row, width), builder.add(total, _met(builder, table, row, column, c, wide))

        start = builder.mul(first, width), ir.Constant(wide.vector, [0] * wide.count)
        found = _loop(builder, first, last, start, step)[1]
        return builder.trunc(found, kind.vector) if kind.bits < 64 else found

    return kind(bits, number, number, number, number, number, like), codegen


@intrinsic
def _count_listed(typing_context, bits, place, column, c, first, last, like):
    kind = _Lanes.of(like)
    wide, number = _Lanes(64, kind.count), types.int64

    def codegen(context, builder, sig, args):
        table, places = _data(context, builder, (bits, place), args[:2])
        column, c, first, last, _ = args[2:]

        def step(i, total):
            row = builder.load(builder.gep(places, [i]))
            return (builder.add(total, _met(builder, table, row, column, c, wide)),)

        (found,) = _loop(builder, first, last, (ir.Constant(wide.vector, [0] * wide.count),), step)
        return builder.trunc(found, kind.vector) if kind.bits < 64 else found

    return kind(bits, place, number, number, number, number, like), codegen


@intrinsic
def _popcount(typing_context, vector):
    def codegen(context, builder, sig, args):
        return _call(builder, "ctpop", vector.vector, *args)

    return vector(vector), codegen


def _extreme(name):
    @intrinsic
    def extreme(typing_context, one, other):
        def codegen(context, builder, sig, args):
            return _call(builder, name, one.vector, *args)

        return one(one, one), codegen

    return extreme


_least, _most = _extreme("smin"), _extreme("smax")


@intrinsic
def _where_more(typing_context, one, other, chosen, rest):
    def codegen(context, builder, sig, args):
        return builder.select(builder.icmp_signed(">", *args[:2]), *args[2:])

    return one(one, one, one, one), codegen


@intrinsic
def _least_lane(typing_context, vector):
    def codegen(context, builder, sig, args):
        found = _call(builder, "vector.reduce.smin", vector.vector.element, *args)
        return builder.sext(found, ir.IntType(64)) if vector.bits < 64 else found

    return types.int64(vector), codegen


@intrinsic
def _two_greatest(typing_context, one, two):
    def codegen(context, builder, sig, args):
        first, second = args
        half = one.count // 2
        while half:
            parts = []
            for vector in (first, second):
                for start in (0, half):
                    mask = [start + lane for lane in range(half)]
                    mask = ir.Constant(ir.VectorType(ir.IntType(32), half), mask)
                    parts.append(builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask))
            kind = parts[0].type
            low = _call(builder, "smin", kind, *parts[:2])
            first = _call(builder, "smax", kind, *parts[:2])
            second = _call(builder, "smax", kind, low, _call(builder, "smax", kind, *parts[2:]))
            half //= 2
        found = [builder.extract_element(vector, ir.Constant(ir.IntType(32), 0)) for vector in (first, second)]
        found = [builder.sext(number, ir.IntType(64)) if one.bits < 64 else number for number in found]
        return context.make_tuple(builder, sig.return_type, found)

    return types.UniTuple(types.int64, 2)(one, one), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def lanes(table):
        """How many of a table's numbers (of 16, 32 or 64 bits) are in a vector."""
        return _count(8 * table.itemsize)

    def infinite(table):
        """A number of which a table holds the sum of any two, or the double of its negative."""
        return np.int64(2) ** (8 * table.itemsize - 2)

    def load(table, at):
        """The numbers of a one-dimensional table that start at an index."""
        return table[at : at + lanes(table)].copy()

    def store(table, at, vector):
        """Write them back."""
        table[at : at + len(vector)] = vector

    def splat(number):
        """A 64-bit number eight times."""
        return np.full(LANES, number)

    def fill(number, table):
        """A number as often as there are lanes in vectors of a table."""
        return np.full(lanes(table), number, table.dtype)

    def list_words(bits, width, column, first, last, at, place):
        """List from ``at`` on the words of a column, from ``first`` to ``last``, that are not zero; the list's end.

        bits : uint64[words * width], word after word. place : int64[...], where the words of all columns begin in it,
        with room for one more.
        """
        rows = np.arange(first, last) * width
        rows = rows[bits[rows + column] != 0]
        place[at : at + len(rows)] = rows
        return at + len(rows)

    def count_shared(bits, width, column, c, first, last, like):
        """How many rows of the words from ``first`` to ``last`` the columns from ``c`` on share with ``column``.

        bits : uint64[words * width], word after word. The vector is one of the table ``like``.
        """
        return count_listed(bits, np.arange(first, last) * width, column, c, 0, last - first, like)

    def count_listed(bits, place, column, c, first, last, like):
        """The same of words that begin at some places (see `list_words`), those from ``first`` to ``last``."""
        rows = place[first:last, None]
        met = np.bitwise_count(bits[rows + np.arange(c, c + lanes(like))] & bits[rows + column])
        return met.sum(axis=0, dtype=like.dtype)

    def popcount(vector):
        """How many bits are set in each."""
        return np.bitwise_count(vector).astype(np.int64)

    def least(one, other):
        """The lesser of each pair."""
        return np.minimum(one, other)

    def most(one, other):
        """The greater of each pair."""
        return np.maximum(one, other)

    def where_more(one, other, chosen, rest):
        """``chosen`` where one > other, else ``rest``."""
        return np.where(one > other, chosen, rest)

    def least_lane(vector):
        """The least of all."""
        return vector.min()

    def two_greatest(one, two):
        """The two greatest of all, given the greatest and the second of each lane."""
        second, first = np.sort(np.concatenate((one, two)))[-2:]
        return first, second

else:
    lanes, infinite, load, store, splat, fill = _lanes, _infinite, _load, _store, _splat, _fill
    list_words, count_shared, count_listed, popcount = _list_words, _count_shared, _count_listed, _popcount
    least, most, where_more, least_lane, two_greatest = _least, _most, _where_more, _least_lane, _two_greatest
