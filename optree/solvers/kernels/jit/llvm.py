"""Names of numba and llvmlite for functions that are written as LLVM instructions."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = [
    "AbstractTemplate",
    "cgutils",
    "infer_global",
    "intrinsic",
    "ir",
    "lower_builtin",
    "models",
    "register_model",
    "signature",
    "types",
]
