"""Atomic operations on numbers in memory that threads share: int64 arrays that kernels read and write.

`swap` and `add` are sequentially consistent. A plain read of an aligned int64 is atomic on all processors that numba
knows.
"""

from __future__ import annotations

from threading import Lock

from numba import config

from optree.solvers.kernels.jit import inner_function
from optree.solvers.kernels.jit.llvm import intrinsic, types


def _place(context, builder, kind, array, at):
    """Return the address of an array element."""
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


@intrinsic
def _swap(typing_context, numbers, at, before, after):
    def codegen(context, builder, signature, args):
        array, at, before, after = args
        place = _place(context, builder, numbers, array, at)
        return builder.extract_value(builder.cmpxchg(place, before, after, "seq_cst", "seq_cst"), 1)

    return types.boolean(numbers, types.int64, types.int64, types.int64), codegen


@intrinsic
def _add(typing_context, numbers, at, more):
    def codegen(context, builder, signature, args):
        array, at, more = args
        return builder.atomic_rmw("add", _place(context, builder, numbers, array, at), more, "seq_cst")

    return types.int64(numbers, types.int64, types.int64), codegen


@intrinsic
def _read(typing_context, numbers, at):
    def codegen(context, builder, signature, args):
        builder.fence("acquire")
        return builder.load_atomic(_place(context, builder, numbers, *args), "acquire", 8)

    return types.int64(numbers, types.int64), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only
    _ONE_AT_A_TIME = Lock()

    def swap(numbers, at, before, after):
        """Write ``after`` to an element that holds ``before``; return whether it did."""
        with _ONE_AT_A_TIME:
            held = numbers[at] == before
            if held:
                numbers[at] = after
        return held

    def add(numbers, at, more):
        """Add to an element; return its value before."""
        with _ONE_AT_A_TIME:
            before = int(numbers[at])
            numbers[at] += more
        return before

    def read(numbers, at):
        """Return an element: no load before is moved behind it, and no load behind is moved before it."""
        return int(numbers[at])

else:
    swap, add, read = _swap, _add, _read


@inner_function
def acquire(numbers, at):
    """Wait until the element is 0, and make it 1: a lock for a few instructions."""
    while not swap(numbers, at, 0, 1):
        pass


@inner_function
def release(numbers, at):
    """Give the lock of `acquire` back."""
    add(numbers, at, -1)
