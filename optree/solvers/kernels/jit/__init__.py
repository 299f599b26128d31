"""How this project uses numba: compilation of kernels and inner functions, views of structs, direct calls.

A *kernel* is compiled code that Python calls; an *inner function* is compiled code that only kernels call.
"""

from __future__ import annotations

from collections.abc import Callable

from numba import njit

from optree.solvers.kernels.jit.direct_call import direct
from optree.solvers.kernels.jit.struct_view import INNER, apart, borrow

__all__ = ["apart", "borrow", "direct", "inner_function", "kernel"]


def kernel(function: Callable) -> Callable:
    """Compile a function that Python calls, at its first call; keep the machine code on disk."""
    return njit(cache=True, nogil=True)(function)


def inner_function(function: Callable | None = None, **options) -> Callable:
    """Compile a function as a part of the kernels that call it; ``options`` are numba's, for example ``fastmath``."""
    compiled = njit(**INNER, **options)
    return compiled if function is None else compiled(function)
