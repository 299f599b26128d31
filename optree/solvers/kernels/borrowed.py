"""A NamedTuple of arrays that is passed to a kernel as one pointer, without counting references.

numba passes seven words or more for each array of a NamedTuple and counts references to each, an atomic operation, at
every call; with the forty arrays of a search that took three quarters of its time, and most of the compilation's. In
a kernel that receives real NamedTuples, ``stack = borrow(stack)`` gives a view with the same attributes that costs one
pointer to pass on. It lives as long as that kernel runs; whoever called the kernel keeps the arrays alive.
"""

from __future__ import annotations

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

# Options of kernels that only other kernels call: nothing is compiled, or kept on disk, for calls from Python.
INNER = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

# Options of those that become a part of the kernel that calls them: what a kernel calls is optimised for itself and
# again in every kernel above it, so that deep nests of calls compile for long.
FLAT = {"nogil": True, "inline": "always"}


class Borrowed(types.Type):
    """The type of a borrowed NamedTuple of type ``kind``."""

    def __init__(self, kind):
        self.kind = kind
        super().__init__(name=f"Borrowed({kind.instance_class.__name__})")  # short: it is part of every symbol

    @property
    def key(self):
        return self.kind


register_model(Borrowed)(models.OpaqueModel)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Borrowed

    def generic_resolve(self, borrowed, name):
        if name in borrowed.kind.fields:
            return borrowed.kind.types[borrowed.kind.fields.index(name)]
        return None


@lower_getattr_generic(Borrowed)
def _attribute(context, builder, borrowed, pointer, name):
    position = borrowed.kind.fields.index(name)
    tuples = builder.bitcast(pointer, context.get_value_type(borrowed.kind).as_pointer())
    value = builder.load(cgutils.gep_inbounds(builder, tuples, 0, position))
    member = borrowed.kind.types[position]
    if not isinstance(member, types.Array):
        return value
    array = context.make_array(member)(context, builder, value)
    array.meminfo = ir.Constant(array.meminfo.type, None)  # nobody owns it: there is nothing to count
    array.parent = ir.Constant(array.parent.type, None)
    return array._getvalue()


@intrinsic
def _borrow(typing_context, arrays):
    def codegen(context, builder, signature, args):
        held = cgutils.alloca_once_value(builder, args[0])
        return builder.bitcast(held, cgutils.voidptr_t)

    return Borrowed(arrays)(arrays), codegen


@intrinsic
def _apart(typing_context):
    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


if config.DISABLE_JIT:

    def apart():
        """Keep the function that calls this out of its callers: large ones, called at several places."""

    def borrow(arrays):
        """The NamedTuple itself: in Python it is a reference anyway."""
        return arrays

else:
    borrow, apart = _borrow, _apart
