"""Shortcuts in numba's front end, which takes two thirds of the time of a compilation.

numba looks up the signature of every call and operator from scratch, reads all registries anew for each function, lays
out each LLVM type in a module of its own, and computes the lives of all variables after each pass. Here answers are
remembered, and results that nobody reads are not computed.

numba copies an array's struct to the stack before each access. An access to an element took fifty instructions, which
LLVM folds to three. Here fields are taken from the struct's value, and known values are not read back. numba copies a
record as an array of bytes, one by one. Here it is one copy of memory.

The shortcuts hold while a function of this project is compiled, under numba's lock. Other users of numba see none.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from llvmlite import ir
from numba.core import cgutils, postproc, transforms, types
from numba.core.cpu import CPUContext
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction
from numba.core.typing.context import Context as TypingContext
from numba.np import arrayobj

_signatures: dict[tuple, object] = {}
_sizes: dict[tuple, int] = {}
_owned: dict[types.Type, bool] = {}  # whether the values of a type have a reference count
_active = False


def _remember_signatures(resolve: Callable) -> Callable:
    """Return the method that resolves calls, with a memory for each set of options.

    Only this project's options are kept. numba makes its own anew for each function.
    """

    def get_call_type(function, context, args, kws):
        options = ConfigStack.top_or_none()
        if type(options).__hash__ is not object.__hash__:
            return resolve(function, context, args, kws)
        key = function, tuple(args), tuple(kws.items()), options
        found = _signatures.get(key)
        if found is None:
            found = _signatures[key] = resolve(function, context, args, kws)
        return found

    return get_call_type


def _remember_sizes(measure: Callable) -> Callable:
    """Return the method that measures an LLVM type, with a memory; a struct's text may be only its name."""

    def get_abi_size(kind, target_data, context=None):
        if isinstance(kind, ir.IdentifiedStructType):
            return measure(kind, target_data, context)
        key = str(kind), target_data
        if key not in _sizes:
            _sizes[key] = measure(kind, target_data, context)
        return _sizes[key]

    return get_abi_size


def _is_unowned(context, kind: types.Type) -> bool:
    """Return whether values of a type have no reference count."""
    if kind not in _owned:
        _owned[kind] = context.data_model_manager[kind].contains_nrt_meminfo()
    return not _owned[kind]


def _skip_unowned(count: Callable) -> Callable:
    """Return the method that counts references, for types that have any."""

    def counted(runtime, builder, kind, value):
        if not _is_unowned(runtime._context, kind):
            count(runtime, builder, kind, value)

    return counted


def _keep_unowned(delete: Callable) -> Callable:
    """Return the method that ends a variable, which need not be overwritten if it has no reference count."""

    def delvar(lower, name):
        if not _is_unowned(lower.context, lower.typeof(name)):
            delete(lower, name)
        elif name not in lower._blk_local_varmap:
            lower._singly_assigned_vars.discard(name)  # the variable is read in several blocks

    return delvar


def _without_entry_variables(run: Callable) -> Callable:
    """Return the post-processor of a pass without the variables at the start of a block, which object mode reads."""

    def process(processor, emit_dels=False, extend_lifetimes=False):
        function = processor.func_ir
        if function.is_generator or emit_dels:
            run(processor, emit_dels, extend_lifetimes)
        else:
            function.blocks = transforms.canonicalize_cfg(function.blocks)
            function.variable_lifetime = postproc.VariableLifetime(function.blocks)
            function.generator_info = None

    return process


def _fold_extraction(extract: Callable) -> Callable:
    """Return the method that takes a member of a struct, which finds a member that was put in before."""

    def extract_value(builder, struct, index, name=""):
        wanted = list(index) if isinstance(index, list | tuple) else [index]
        held = struct
        while isinstance(held, ir.instructions.InsertValue):
            inserted = list(held.indices)
            if inserted == wanted:
                return held.value
            if inserted == wanted[: len(inserted)]:
                return extract_value(builder, held.value, wanted[len(inserted) :], name)
            if wanted == inserted[: len(wanted)]:
                break
            held = held.aggregate
        return extract(builder, struct, index, name)

    return extract_value


def _owned_only(find: Callable) -> Callable:
    """Return the method that finds the owners of the memory of a value, without those known to be null."""

    def get_meminfos(runtime, builder, kind, value):
        found = find(runtime, builder, kind, value)
        return [owner for owner in found if getattr(owner[1], "constant", owner) is not None]

    return get_meminfos


def _arrays_as_values(make_array: Callable) -> Callable:
    """Return the function that makes the class of an array's struct; the class keeps a value off the stack."""
    made = {}

    def make(kind):
        if kind not in made:
            made[kind] = _value_class(make_array(kind)) if kind is kind.as_array and kind.ndim else make_array(kind)
        return made[kind]

    return make


def _value_class(struct: type) -> type:
    """Return the class of an array's struct that puts a given value on the stack only if its address is asked for."""

    class Value(struct):
        def __init__(self, context, builder, value=None, ref=None):
            self._held = None
            if value is None or ref is not None:
                super().__init__(context, builder, value, ref)
                return
            self._context, self._builder, self._held = context, builder, value
            self._datamodel = context.data_model_manager[self._fe_type]
            self._be_type = self._get_be_type(self._datamodel)
            self._place = builder.block, builder.block.instructions[-1] if builder.block.instructions else None

        def __getitem__(self, index):
            return super().__getitem__(index) if self._held is None else self._builder.extract_value(self._held, index)

        def __getattr__(self, field):
            if field not in ("_value", "_outer_ref") or self._held is None:
                return super().__getattr__(field)
            builder, (block, before), value = self._builder, self._place, self._held
            stack = cgutils.alloca_once(builder, self._be_type)
            with builder.goto_block(builder.block):  # which restores the place
                if before is None:
                    builder.position_at_start(block)
                else:
                    builder.position_after(before)
                builder.store(value, stack)
            self._held, self._value, self._outer_ref = None, stack, stack
            return stack

        @property
        def shape(self):
            return super().shape if self._held is None else self[self._datamodel.get_field_position("shape")]

        def _getvalue(self):
            return super()._getvalue() if self._held is None else self._held

    return Value


def _copy_records(pack: Callable) -> Callable:
    """Return the method that writes a value to an array, which copies a record as a whole."""

    def pack_value(context, builder, kind, value, place, align=None):
        if isinstance(kind, types.Record):
            cgutils.raw_memcpy(builder, place, value, context.get_constant(types.intp, kind.size), 1)
        else:
            pack(context, builder, kind, value, place, align)

    return pack_value


def _known_registries_only(_: Callable) -> Callable:
    """Return the method that reads the registries again, without imports: they are loaded before the first function."""

    def load_additional_registries(context):
        for registry in list(context._registries):
            context.install_registry(registry)

    return load_additional_registries


_METHODS = (
    (BaseFunction, "get_call_type", _remember_signatures),
    (ir.Type, "get_abi_size", _remember_sizes),
    (NRTContext, "incref", _skip_unowned),
    (NRTContext, "decref", _skip_unowned),
    (NRTContext, "get_meminfos", _owned_only),
    (Lower, "delvar", _keep_unowned),
    (postproc.PostProcessor, "run", _without_entry_variables),
    (CPUContext, "pack_value", _copy_records),
    (CPUContext, "load_additional_registries", _known_registries_only),
    (TypingContext, "load_additional_registries", _known_registries_only),
    (ir.IRBuilder, "extract_value", _fold_extraction),
    (arrayobj, "make_array", _arrays_as_values),
)
_SHORTCUTS = [(owner, name, shortcut(getattr(owner, name))) for owner, name, shortcut in _METHODS]


@contextmanager
def shortcuts(target_context) -> Iterator[None]:
    """Take the shortcuts within the outermost compilation, and pause the garbage collector.

    The compiler makes many objects that live, and each collection would walk all of them.
    """
    global _active
    if _active:
        yield
        return
    target_context.refresh()
    collects = gc.isenabled()
    with ExitStack() as stack:
        for shortcut in _SHORTCUTS:
            stack.enter_context(patch.object(*shortcut))
        _active = True
        gc.disable()
        try:
            yield
        finally:
            _active = False
            if collects:
                gc.enable()
