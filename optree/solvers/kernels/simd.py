"""Vectors of numbers as values in a kernel: ``load(table, at) + fill(number, table)``.

LLVM vectorises plain loops too, but for many more columns than most searches have. Of forty columns it counts half one
by one, and sums go through memory. Here a table is padded to a whole number of vectors, and a kernel works on a vector
of columns at once: sixteen 16-bit numbers, or eight wider ones. (Wider vectors lose more by padding than they save.)
Without compilation a vector is an array of numpy.
"""

from __future__ import annotations

import operator

import numpy as np
from numba import config

from optree.solvers.kernels.jit.llvm import (
    AbstractTemplate,
    cgutils,
    infer_global,
    intrinsic,
    ir,
    lower_builtin,
    models,
    register_model,
    signature,
    types,
)

WIDTH = 8  # numbers of 32 or 64 bits side by side; tables of columns are padded to a multiple
WIDTH_OF_16_BITS = 16  # 16-bit numbers side by side


def _count(bits):
    """Return the lanes of a vector of numbers with ``bits`` bits."""
    return WIDTH_OF_16_BITS if bits == 16 else WIDTH


class Lanes(types.Type):
    """The numba type of a vector: ``count`` integers of ``bits`` bits."""

    def __init__(self, bits, count):
        self.bits, self.count = bits, count
        super().__init__(f"Lanes({count} x {bits})")

    @classmethod
    def of(cls, table):
        """Return the type of a table's vectors."""
        return cls(table.dtype.bitwidth, _count(table.dtype.bitwidth))

    @property
    def vector(self):
        """Return the type in LLVM."""
        return ir.VectorType(ir.IntType(self.bits), self.count)


_LANES = Lanes(64, WIDTH)


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, kind.vector)


def _operator(function, instruction):
    """Define an operator on two vectors of one type."""

    @infer_global(function)
    class _Typed(AbstractTemplate):
        def generic(self, args, kws):
            if len(args) == 2 and isinstance(args[0], Lanes) and args[0] == args[1]:
                return signature(args[0], *args)
            return None

    @lower_builtin(function, Lanes, Lanes)
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
    """Return the address of an array element as a pointer to vectors."""
    data = context.make_array(table)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def call(builder, name, result, *args):
    """Call an LLVM intrinsic on vectors."""
    kind, vector = ir.FunctionType(result, [arg.type for arg in args]), args[0].type
    name = f"llvm.{name}.v{vector.count}i{vector.element.width}"
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


def spread(builder, number, vector):
    """Put a number into all lanes of a vector type, truncated to their width."""
    if vector.element.width < number.type.width:
        number = builder.trunc(number, vector.element)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), first)


def _number_of(of_bits):
    """Make the intrinsic of a number that follows from the bits of a table's numbers."""

    @intrinsic
    def number(typing_context, table):
        def codegen(context, builder, sig, args):
            return ir.Constant(ir.IntType(64), of_bits(table.dtype.bitwidth))

        return types.int64(table), codegen

    return number


def _quarter(bits):
    """Return a quarter of the range of whole numbers with a sign."""
    return 2 ** (bits - 2)


@intrinsic
def _load(typing_context, table, at):
    kind = Lanes.of(table)

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
        return spread(builder, args[0], _LANES.vector)

    return _LANES(types.uint64 if number == types.uint64 else types.int64), codegen


@intrinsic
def _fill(typing_context, number, table):
    kind = Lanes.of(table)

    def codegen(context, builder, sig, args):
        return spread(builder, args[0], kind.vector)

    return kind(types.int64, table), codegen


@intrinsic
def _popcount(typing_context, vector):
    def codegen(context, builder, sig, args):
        return call(builder, "ctpop", vector.vector, *args)

    return vector(vector), codegen


def _extreme(name):
    """Make the intrinsic of a minimum or maximum, lane by lane."""

    @intrinsic
    def extreme(typing_context, one, other):
        def codegen(context, builder, sig, args):
            return call(builder, name, one.vector, *args)

        return one(one, one), codegen

    return extreme


@intrinsic
def _where_more(typing_context, one, other, chosen, rest):
    def codegen(context, builder, sig, args):
        return builder.select(builder.icmp_signed(">", *args[:2]), *args[2:])

    return one(one, one, one, one), codegen


def _widened(builder, number):
    """Return a number with 64 bits."""
    return builder.sext(number, ir.IntType(64)) if number.type.width < 64 else number


@intrinsic
def _least_lane(typing_context, vector):
    def codegen(context, builder, sig, args):
        return _widened(builder, call(builder, "vector.reduce.smin", vector.vector.element, *args))

    return types.int64(vector), codegen


@intrinsic
def _two_greatest(typing_context, one, two):
    def codegen(context, builder, sig, args):
        first, second = args
        half = one.count // 2
        while half:
            halves = []
            for vector in (first, second):
                for start in (0, half):
                    mask = ir.Constant(ir.VectorType(ir.IntType(32), half), [*range(start, start + half)])
                    halves.append(builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask))
            kind = halves[0].type
            low = call(builder, "smin", kind, *halves[:2])
            first = call(builder, "smax", kind, *halves[:2])
            second = call(builder, "smax", kind, low, call(builder, "smax", kind, *halves[2:]))
            half //= 2
        found = [builder.extract_element(vector, ir.Constant(ir.IntType(32), 0)) for vector in (first, second)]
        return context.make_tuple(builder, sig.return_type, [_widened(builder, number) for number in found])

    return types.UniTuple(types.int64, 2)(one, one), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def lanes(table):
        """Return the number of lanes in a vector of a table (of 16, 32 or 64 bits)."""
        return _count(8 * table.itemsize)

    def infinite(table):
        """Return a quarter of the range of a table's numbers: above every weight (`Layout.kind`), and twice it fits."""
        return np.int64(2) ** (8 * table.itemsize - 2)

    def load(table, at):
        """Load the vector of a one-dimensional table that starts at an index."""
        return table[at : at + lanes(table)].copy()

    def store(table, at, vector):
        """Store a vector."""
        table[at : at + len(vector)] = vector

    def splat(number):
        """Put a 64-bit number into eight lanes."""
        return np.full(WIDTH, number)

    def fill(number, table):
        """Put a number into all lanes of a vector of a table."""
        return np.full(lanes(table), number, table.dtype)

    def popcount(vector):
        """Count the set bits of each lane."""
        return np.bitwise_count(vector).astype(np.int64)

    def least(one, other):
        """Return the minimum lane by lane."""
        return np.minimum(one, other)

    def most(one, other):
        """Return the maximum lane by lane."""
        return np.maximum(one, other)

    def where_more(one, other, chosen, rest):
        """Return ``chosen`` in lanes with one > other, else ``rest``."""
        return np.where(one > other, chosen, rest)

    def least_lane(vector):
        """Return the minimum over the lanes."""
        return vector.min()

    def two_greatest(one, two):
        """Return the two greatest numbers of all, given the greatest and the second of each lane."""
        second, first = np.sort(np.concatenate((one, two)))[-2:]
        return first, second

else:
    lanes, infinite = _number_of(_count), _number_of(_quarter)
    load, store, splat, fill = _load, _store, _splat, _fill
    popcount, least, most = _popcount, _extreme("smin"), _extreme("smax")
    where_more, least_lane, two_greatest = _where_more, _least_lane, _two_greatest
