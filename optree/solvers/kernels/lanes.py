"""Vectors of eight 64-bit numbers as values in a kernel: ``load(table, at) + splat(number)``.

LLVM makes vectors of plain loops too, but for many more columns than most searches have: of forty columns it counts
half one by one, and sums that should stay in registers go through memory. Here a table is padded to a multiple of
LANES columns and a kernel says what it does to eight of them at once. Uncompiled, a vector is an array of numpy.
"""

from __future__ import annotations

import operator

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

LANES = 8  # columns side by side; tables of columns are padded to a multiple

_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, LANES)


class _Lanes(types.Type):
    def __init__(self):
        super().__init__("Lanes")


_LANES = _Lanes()


@register_model(_Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _VECTOR)


def _operator(function, instruction):
    """Give an operator a meaning on two vectors."""

    @infer_global(function)
    class _Typed(ConcreteTemplate):
        cases = (signature(_LANES, _LANES, _LANES),)

    @lower_builtin(function, _LANES, _LANES)
    def _lowered(context, builder, sig, args):
        return getattr(builder, instruction)(*args)


for _function, _instruction in (
    (operator.add, "add"),
    (operator.sub, "sub"),
    (operator.mul, "mul"),
    (operator.and_, "and_"),
):
    _operator(_function, _instruction)


def _place(context, builder, kind, array, at):
    """The address of an element of an array, as one of vectors."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer())


def _call(builder, name, result, *args):
    """An LLVM intrinsic on vectors."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}i64")
    return builder.call(function, args)


@intrinsic
def _load(typing_context, table, at):
    def codegen(context, builder, sig, args):
        return builder.load(_place(context, builder, sig.args[0], *args), align=8)

    return _LANES(table, types.int64), codegen


@intrinsic
def _store(typing_context, table, at, vector):
    def codegen(context, builder, sig, args):
        builder.store(args[2], _place(context, builder, sig.args[0], *args[:2]), align=8)
        return context.get_dummy_value()

    return types.void(table, types.int64, _LANES), codegen


@intrinsic
def _splat(typing_context, number):
    def codegen(context, builder, sig, args):
        one = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), args[0], ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, ir.Constant(_VECTOR, ir.Undefined), first)

    return _LANES(types.uint64 if number == types.uint64 else types.int64), codegen


@intrinsic
def _popcount(typing_context, vector):
    def codegen(context, builder, sig, args):
        return _call(builder, "ctpop", _VECTOR, *args)

    return _LANES(_LANES), codegen


def _extreme(name):
    @intrinsic
    def extreme(typing_context, one, other):
        def codegen(context, builder, sig, args):
            return _call(builder, name, _VECTOR, *args)

        return _LANES(_LANES, _LANES), codegen

    return extreme


_least, _most = _extreme("smin"), _extreme("smax")


@intrinsic
def _where_more(typing_context, one, other, chosen, rest):
    def codegen(context, builder, sig, args):
        return builder.select(builder.icmp_signed(">", *args[:2]), *args[2:])

    return _LANES(_LANES, _LANES, _LANES, _LANES), codegen


@intrinsic
def _least_lane(typing_context, vector):
    def codegen(context, builder, sig, args):
        return _call(builder, "vector.reduce.smin", _WORD, *args)

    return types.int64(_LANES), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def load(table, at):
        """The eight numbers of a table (one-dimensional, of 64-bit numbers) that start at an index."""
        return table[at : at + LANES].copy()

    def store(table, at, vector):
        """Write them back."""
        table[at : at + LANES] = vector

    def splat(number):
        """A number eight times."""
        return np.full(LANES, number)

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
        """The least of eight numbers."""
        return vector.min()

else:
    load, store, splat, popcount = _load, _store, _splat, _popcount
    least, most, where_more, least_lane = _least, _most, _where_more, _least_lane
