"""A NamedTuple of arrays that is passed to a kernel as one pointer, without counting references.

numba passes seven words or more for each array of a NamedTuple and counts references to each, an atomic operation, at
every call; with the forty arrays of a search that took three quarters of its time, and most of the compilation's. In
a kernel that receives real NamedTuples, ``stack = borrow(stack)`` gives a view with the same attributes that costs one
pointer to pass on. It lives as long as that kernel runs; whoever called the kernel keeps the arrays alive.
"""

from __future__ import annotations

from zlib import crc32

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

from optree.solvers.kernels.jit.inner_functions import PartCompiler

# Options of kernels that only other kernels call: nothing is compiled, or kept on disk, for calls from Python.
INNER = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": PartCompiler}


class Borrowed(types.Type):
    """The type of a borrowed NamedTuple of type ``kind``."""

    def __init__(self, kind):
        self.kind = kind
        # The name is part of every symbol: short, but not the same for other types of members. Kernels for several that
        # different processes compiled and kept on disk would call each other's functions once loaded together.
        digest = crc32(str(kind).encode())
        super().__init__(name=f"Borrowed({kind.instance_class.__name__}.{digest:08x})")

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


def _load(builder, place):
    """Load what does not change while the kernel runs: LLVM need not load it again after each store."""
    loaded = builder.load(place)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@lower_getattr_generic(Borrowed)
def _attribute(context, builder, borrowed, pointer, name):
    position = borrowed.kind.fields.index(name)
    tuples = builder.bitcast(pointer, context.get_value_type(borrowed.kind).as_pointer())
    member = borrowed.kind.types[position]
    place = cgutils.gep_inbounds(builder, tuples, 0, position)
    if not isinstance(member, types.Array):
        return _load(builder, place)
    array = context.make_array(member)(context, builder)
    for number, field in enumerate(array._datamodel._fields):
        part = cgutils.gep_inbounds(builder, place, 0, number)
        if field in ("meminfo", "parent"):  # nobody owns it: there is nothing to count
            value = ir.Constant(part.type.pointee, None)
        elif field in ("shape", "strides"):
            parts = [_load(builder, cgutils.gep_inbounds(builder, part, 0, axis)) for axis in range(member.ndim)]
            value = cgutils.pack_array(builder, parts)
        else:
            value = _load(builder, part)
        setattr(array, field, value)
    return array._getvalue()


@intrinsic
def _borrow(typing_context, arrays):
    def codegen(context, builder, signature, args):
        held = builder.bitcast(cgutils.alloca_once_value(builder, args[0]), cgutils.voidptr_t)
        # an empty instruction between what is stored and what is loaded, which LLVM takes for invariable
        kind = ir.FunctionType(cgutils.voidptr_t, [cgutils.voidptr_t])
        return builder.asm(kind, "", "=r,0,~{memory}", [held], side_effect=True)

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
