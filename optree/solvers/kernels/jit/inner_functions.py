"""Kernels that only other kernels call, compiled as parts of those and not for themselves.

numba makes every function a library of its own: it optimises it together with all that it calls, makes machine code of
that, and then does both again in each library that calls it, so that nests of calls compile for long. A part is only
lowered. What LLVM does is done once, in the kernel that Python calls, where it sees everything. That takes a third off
the first call of a search. (``inline="always"`` saves the same repetition, but makes type inference slow.) What is left
is numba's own Python; a third of that is saved by options that are quick to compare and by no collection of garbage.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes


class _Options(Flags):
    """Options of parts, of which there is one object for each set of values.

    numba looks up every operator and function by, among other things, the options; it takes them apart each time, and
    they would all have the same hash.
    """

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @classmethod
    def like(cls, flags: Flags) -> _Options:
        """The one object with the values of ``flags``, for code that is not compiled by itself."""
        options = cls(flags)
        options.no_compile = True
        for known in _KNOWN:
            if known.values() == options.values():
                return known
        _KNOWN.append(options)
        return options

    def copy(self) -> _Options:
        return self


_KNOWN: list[_Options] = []


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without collecting garbage: the compiler makes many objects that live, and each collection would walk them."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Part(JITCodeLibrary):
    """Code that waits for the library it will be a part of."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    _name = "part_lowering"

    def run_pass(self, state):
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        super().run_pass(state)
        # numba knows a function by an object of its own, which must be a builtin; this one raises if it is called
        entry = f"{{{state.func_id.func_qualname} can be called by kernels only}}".format
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=entry)
        return True


# What kernels have none of: closures, overloads to be inlined, expressions of whole arrays.
_NEEDLESS = {InlineClosureLikes, InlineOverloads, NopythonRewrites}


class PartCompiler(CompilerBase):
    """numba's compiler with another last step."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, _Options.like(flags), locals)

    def compile_extra(self, func):
        with _uncollected():
            return super().compile_extra(func)

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_PartLowering if step is NativeLowering else step, text)
            for step, text in passes.passes
            if step not in _NEEDLESS
        ]
        passes.finalize()
        return [passes]
