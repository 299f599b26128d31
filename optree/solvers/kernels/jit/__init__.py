"""How this project uses numba: kernels and inner functions, a disk cache, views of structs, direct calls.

A *kernel* is compiled code that Python calls. An *inner function* is compiled code that only kernels call. Both release
Python's global lock.

All of numba that is not its public interface is in this folder. With the environment variable ``OPTREE_PLAIN_NJIT=1``
none of that is used: every function is a plain ``numba.njit``. Results are the same; compilation takes five times
longer. This is the way out for a version of numba with which the project was not tested.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from numba import config, njit
from numba.core.dispatcher import Dispatcher
from numba.core.event import Event, Listener, register

from optree.compilation import COMPILATION
from optree.solvers.kernels.jit import disk_cache

__all__ = ["apart", "borrow", "direct", "inner_function", "kernel"]

PLAIN = bool(config.DISABLE_JIT) or os.environ.get("OPTREE_PLAIN_NJIT") == "1"

if PLAIN:
    _INNER = _KERNEL = _THOROUGH = {"nogil": True}
else:
    from optree.solvers.kernels.jit.direct_call import direct
    from optree.solvers.kernels.jit.inner_functions import InnerCompiler, KernelCompiler, ThoroughCompiler, for_types
    from optree.solvers.kernels.jit.struct_view import apart, borrow

    # Nothing is compiled for calls from Python.
    _INNER = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": InnerCompiler}
    _KERNEL = {"nogil": True, "no_cfunc_wrapper": True, "pipeline_class": KernelCompiler}
    _THOROUGH = _KERNEL | {"pipeline_class": ThoroughCompiler}


KERNELS: list[Dispatcher] = []  # of all modules that are imported


class _Events(Listener):
    """The listener that tells the clock of compilation of numba's events."""

    def on_start(self, event: Event) -> None:
        """Begin a compilation or the loading of machine code, or count a compiled function."""
        COMPILATION.count() if event.kind == _COMPILE else COMPILATION.begin()

    def on_end(self, event: Event) -> None:
        """End a compilation or the loading of machine code."""
        if event.kind == _LOCK:
            COMPILATION.end()


# numba compiles, loads and saves machine code under one lock; a thread that waits for the lock cannot search either.
_COMPILE, _LOCK = "numba:compile", "numba:compiler_lock"
for _kind in (_COMPILE, _LOCK):
    register(_kind, _Events())


def kernel(function: Callable | None = None, *, thorough: bool = False) -> Callable:
    """Compile a function that Python calls, at its first call, and keep the machine code on disk.

    thorough : whether LLVM optimises each inner function by itself, too, which takes longer.
    """

    def compiled(function: Callable) -> Callable:
        if config.DISABLE_JIT:
            return function
        kind = "plain" if PLAIN else "kernels"
        made = njit(**_THOROUGH if thorough else _KERNEL)(function)
        if folders := disk_cache.folders(function.__module__, function.__code__.co_filename, kind):
            made._cache = disk_cache.KernelCache(function, folders)
            made.compile = _with_lock(made)
        KERNELS.append(made)
        return made

    return compiled if function is None else compiled(function)


def _with_lock(made: Dispatcher) -> Callable:
    """Return the method that compiles a kernel, which ends the lock on its machine code after an error too."""
    compile_or_load, end_lock = made.compile, made._cache.end_lock

    def compiled(signature):
        try:
            return compile_or_load(signature)
        finally:
            end_lock()

    return compiled


def inner_function(function: Callable | None = None, **options) -> Callable:
    """Compile a function as a part of the kernels that call it; ``options`` are numba's, for example ``fastmath``."""

    def compiled(function: Callable) -> Callable:
        made = njit(function, **_INNER, **options)
        return made if PLAIN else for_types(made)

    return compiled if function is None else compiled(function)


if PLAIN:

    def direct(kernel: Callable) -> Callable:
        """Return the kernel itself."""
        return kernel

    @inner_function
    def borrow(arrays):
        """Return the NamedTuple itself."""
        return arrays

    @inner_function
    def apart():
        """Do nothing: numba compiles a plain function for itself."""
