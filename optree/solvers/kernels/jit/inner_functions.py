"""The compiler of inner functions, which are optimised only within the kernels that call them.

numba makes every function a library of its own. It optimises the library together with all functions that it calls,
makes machine code of it, and repeats both in each library that calls it, so that nests of calls compile for long. Here
an inner function is only lowered to LLVM's language. LLVM runs once, for the kernel that Python calls, where it sees
all the code. That takes a third off the first call of a search. (``inline="always"`` saves the same repetition, but
makes type inference slow.) The rest of the time is spent in numba's own Python. A third of it is saved by options that
are quick to compare, and by a pause of the garbage collector.

numba compiles a function once more for each number that stands in a call, and for each of True and False. An inner
function is compiled for their types only. LLVM sees the numbers where it puts the function into its callers.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes


class _Options(Flags):
    """Compilation options, one object for each set of values.

    numba looks up every operator and function by its options, among other keys. Its own options are taken apart for
    each comparison, and all have the same hash.
    """

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @classmethod
    def like(cls, flags: Flags) -> _Options:
        """Return the one object with the values of ``flags``, for code that is not compiled by itself."""
        options = cls(flags)
        options.no_compile = True
        for known in _KNOWN:
            if known.values() == options.values():
                return known
        _KNOWN.append(options)
        return options

    def copy(self) -> _Options:
        """Return the object itself: nobody changes it."""
        return self


_KNOWN: list[_Options] = []


def for_types(function: Dispatcher) -> Dispatcher:
    """Let calls from compiled code take a function that is compiled for the types of their numbers."""
    template = function.get_call_template

    def call_template(args, kws):
        return template([_type_of(arg) for arg in args], {name: _type_of(arg) for name, arg in kws.items()})

    function.get_call_template = call_template
    return function


def _type_of(arg: types.Type) -> types.Type:
    """Return the type of a number or truth value that stands in a call, or another type itself."""
    return types.unliteral(arg) if isinstance(arg, types.IntegerLiteral | types.BooleanLiteral) else arg


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Pause the garbage collector: the compiler makes many objects that live, and each collection walks all of them."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _InnerLibrary(JITCodeLibrary):
    """The code of an inner function, left as it is until a kernel's library takes it in."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):
    _name = "inner_lowering"

    def run_pass(self, state):
        """Lower the function, and register it under an entry point that raises if Python calls it."""
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        super().run_pass(state)
        # numba knows a function by an object of its own, which must be a builtin: here a bound str.format that fails.
        entry = f"{{{state.func_id.func_qualname} can be called by kernels only}}".format
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=entry)
        return True


# Passes for closures, inlined overloads and expressions of whole arrays: inner functions have none of these.
_NEEDLESS = {InlineClosureLikes, InlineOverloads, NopythonRewrites}


class InnerCompiler(CompilerBase):
    """numba's compiler with another last pass, and without the passes that inner functions do not need."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, _Options.like(flags), locals)

    def compile_extra(self, func):
        """Compile a function."""
        with _garbage_collection_paused():
            return super().compile_extra(func)

    def define_pipelines(self):
        """Return the list of pipelines, which is one."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_InnerLowering if step is NativeLowering else step, text)
            for step, text in passes.passes
            if step not in _NEEDLESS
        ]
        passes.finalize()
        return [passes]
