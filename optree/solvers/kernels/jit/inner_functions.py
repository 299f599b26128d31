"""The compilers of kernels and of inner functions, which are optimised only within the kernels that call them.

numba makes every function a library of its own. It optimises the library together with all functions that it calls,
makes machine code of it, and repeats both in each library that calls it, so that nests of calls compile for long. Here
an inner function is only lowered to LLVM's language. A kernel's library takes in each inner function once, and LLVM
runs once, where it sees all the code. That takes a third off the first call of a search. (``inline="always"`` saves the
same repetition, but makes type inference slow.) The rest of the time is spent in numba's own Python (``shortcuts.py``).

numba compiles a function once more for each number that stands in a call, and for each of True and False. An inner
function is compiled for their types only. LLVM sees the numbers where it puts the function into its callers.
"""

from __future__ import annotations

from llvmlite.binding import Linkage
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

from optree.solvers.kernels.jit.shortcuts import shortcuts


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


class _Library(JITCodeLibrary):
    """The code of a function, left as it is until it is part of a kernel."""

    def _optimize_functions(self, module):
        """Leave the code as it is, which takes a tenth or more off a compilation: the kernel's passes see it again."""
        module.data_layout = self._codegen._data_layout


class _InnerLibrary(_Library):
    """The code of an inner function alone."""

    def finalize(self):
        """Keep the code as it is: the functions that it calls are linked to kernels only."""
        self._finalize_dynamic_globals()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = Linkage.linkonce_odr  # several libraries of a process may hold the function
        self._shared_module, self._finalized = self._final_module, True


class _KernelLibrary(_Library):
    """The code of a kernel, with each inner function that it calls, directly or not, linked once."""

    def finalize(self):
        """Link the inner functions, and compile.

        LLVM leaves out a function without a call so far. So each function is linked after all functions that call it.
        """
        found: dict[JITCodeLibrary, None] = {}
        for library in self._linking_libraries:
            _collect(library, found)
        self._linking_libraries = list(found)[::-1]
        super().finalize()

    def _optimize_final_module(self):
        """Run LLVM once. numba runs it before, too, for functions that count references."""
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _ThoroughLibrary(_KernelLibrary):
    """The code of a kernel whose inner functions LLVM optimises one by one, too."""

    def finalize(self):
        """Optimise the inner functions, link them, and compile."""
        found: dict[JITCodeLibrary, None] = {}
        _collect(self, found)
        for library in found:
            if isinstance(library, _Library):
                JITCodeLibrary._optimize_functions(library, library._final_module)
        super().finalize()


def _collect(library: JITCodeLibrary, found: dict[JITCodeLibrary, None]) -> None:
    """Add a library to ``found``, after the libraries that it needs; all others have these inside."""
    if library not in found:
        for needed in library._linking_libraries if isinstance(library, _Library) else ():
            _collect(needed, found)
        found[library] = None


class _Lowering(NativeLowering):
    """The last pass, with a class of libraries."""

    library: type[JITCodeLibrary]

    def run_pass(self, state):
        """Lower the function."""
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(_Lowering):
    _name, library = "kernel_lowering", _KernelLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class _ThoroughLowering(_Lowering):
    _name, library = "thorough_lowering", _ThoroughLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(_Lowering):
    _name, library = "inner_lowering", _InnerLibrary

    def run_pass(self, state):
        """Lower the function, and register it under an entry point that raises if Python calls it."""
        super().run_pass(state)
        # numba knows a function by an object of its own, which must be a builtin: here a bound str.format that fails.
        entry = f"{{{state.func_id.func_qualname} can be called by kernels only}}".format
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=entry)
        return True


class KernelCompiler(CompilerBase):
    """numba's compiler with shortcuts."""

    lowering, needless = _KernelLowering, ()

    def compile_extra(self, func):
        """Compile a function."""
        with shortcuts(self.state.targetctx):
            return super().compile_extra(func)

    def define_pipelines(self):
        """Return the list of pipelines, which is one."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (self.lowering if step is NativeLowering else step, text)
            for step, text in passes.passes
            if step not in self.needless
        ]
        passes.finalize()
        return [passes]


class ThoroughCompiler(KernelCompiler):
    """The compiler of kernels whose inner functions are optimised one by one, too."""

    lowering = _ThoroughLowering


class InnerCompiler(KernelCompiler):
    """The compiler of inner functions.

    It leaves out passes for closures, inlined overloads and expressions of whole arrays: inner functions have none.
    """

    lowering, needless = _InnerLowering, (InlineClosureLikes, InlineOverloads, NopythonRewrites)

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, _Options.like(flags), locals)
