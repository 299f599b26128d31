"""Kernels that only other kernels call, compiled as parts of those and not for themselves.

numba makes every function a library of its own: it optimises it together with all that it calls, makes machine code of
that, and then does both again in each library that calls it, so that nests of calls compile for long. A part is only
lowered. What LLVM does is done once, in the kernel that Python calls, where it sees everything. That takes a third off
the first call of a search. (``inline="always"`` saves the same repetition, but makes type inference slow.)
"""

from __future__ import annotations

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


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
        state.flags.no_compile = True
        super().run_pass(state)
        # numba knows a function by an object of its own, which must be a builtin; this one raises if it is called
        entry = f"{{{state.func_id.func_qualname} can be called by kernels only}}".format
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=entry)
        return True


class PartCompiler(CompilerBase):
    """numba's compiler with another last step."""

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_PartLowering if step is NativeLowering else step, text) for step, text in passes.passes]
        passes.finalize()
        return [passes]
