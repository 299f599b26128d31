"""A view of a NamedTuple of arrays that is passed to inner functions as one pointer, without reference counts.

numba passes seven words or more for each array of a NamedTuple at every call, and counts references to each array with
an atomic operation. With the forty arrays of a search these took three quarters of its time, and most of the time of
compilation. In a kernel that receives a NamedTuple, ``stack = borrow(stack)`` gives a view with the same attributes.
The view lives as long as the kernel runs; the kernel's caller keeps the arrays alive.
"""

from __future__ import annotations

from zlib import crc32

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model


class Borrowed(types.Type):
    """The type of a view of a NamedTuple of type ``kind``."""

    def __init__(self, kind):
        # numba hashes a key a thousand times. A text remembers its hash; the type of a NamedTuple does not.
        self.kind, self._key = kind, (kind.instance_class, str(kind))
        # The name is part of every symbol: short, and another one for other types of fields. Otherwise kernels of
        # different types, compiled by different processes, would call each other's functions once loaded together.
        digest = crc32(self._key[1].encode())
        super().__init__(name=f"Borrowed({kind.instance_class.__name__}.{digest:08x})")

    @property
    def key(self):
        """Return the class of the NamedTuple and the text of its type."""
        return self._key


register_model(Borrowed)(models.OpaqueModel)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Borrowed

    def generic_resolve(self, borrowed, name):
        """Return the type of an attribute, or None if there is no such field."""
        if name in borrowed.kind.fields:
            return borrowed.kind.types[borrowed.kind.fields.index(name)]
        return None


def _load(builder, place):
    """Load a value that does not change while the kernel runs: LLVM need not load it again after each store."""
    loaded = builder.load(place)
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


@lower_getattr_generic(Borrowed)
def _attribute(context, builder, borrowed, pointer, name):
    """Load a field of the NamedTuple: an array without an owner, or a scalar."""
    position = borrowed.kind.fields.index(name)
    tuples = builder.bitcast(pointer, context.get_value_type(borrowed.kind).as_pointer())
    field_type = borrowed.kind.types[position]
    place = cgutils.gep_inbounds(builder, tuples, 0, position)
    if not isinstance(field_type, types.Array):
        return _load(builder, place)
    members = {member: number for number, member in enumerate(context.data_model_manager[field_type]._fields)}

    def member(name: str, *axis: int):
        return _load(builder, cgutils.gep_inbounds(builder, place, 0, members[name], *axis))

    size = context.get_abi_sizeof(context.get_data_type(field_type.dtype))
    itemsize, last = context.get_constant(types.intp, size), field_type.ndim - 1
    lengths = [member("shape", axis) for axis in range(field_type.ndim)]
    steps = [member("strides", axis) for axis in range(last)]
    steps.append(itemsize if field_type.layout == "C" else member("strides", last))
    fields = {
        "data": member("data"),
        "itemsize": itemsize,
        "nitems": member("nitems") if last else lengths[0],
        "shape": cgutils.pack_array(builder, lengths),
        "strides": cgutils.pack_array(builder, steps),
    }
    array = ir.Constant(place.type.pointee, None)  # without an owner there is no reference to count
    for name, value in fields.items():
        array = builder.insert_value(array, value, members[name])
    return array


@intrinsic
def borrow(typing_context, arrays):
    """Return a view of a NamedTuple, none of whose fields is a tuple."""
    for name, kind in zip(arrays.fields, arrays.types, strict=True):
        if isinstance(kind, types.BaseTuple):
            raise TypingError(f"borrow: field {name!r} is a tuple, whose arrays have owners; borrow it by itself")

    def codegen(context, builder, signature, args):
        held = builder.bitcast(cgutils.alloca_once_value(builder, args[0]), cgutils.voidptr_t)
        # The empty instruction keeps LLVM from moving the loads, which it takes for invariant, before this store.
        kind = ir.FunctionType(cgutils.voidptr_t, [cgutils.voidptr_t])
        return builder.asm(kind, "", "=r,0,~{memory}", [held], side_effect=True)

    return Borrowed(arrays)(arrays), codegen


@intrinsic
def apart(typing_context):
    """Keep the function that calls this out of its callers: for large functions that are called at several places."""

    def codegen(context, builder, signature, args):
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen
