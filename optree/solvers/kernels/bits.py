"""Sets of rows as 64-bit words."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

ONE = np.uint64(1)


@intrinsic
def _cttz(typing_context, word):
    """LLVM's count of trailing zeros; the word must not be zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def lowest_bit(word):
        """The index of the lowest bit set in a uint64 that is not zero."""
        return (int(word) & -int(word)).bit_length() - 1

else:

    @njit(cache=True, nogil=True)
    def lowest_bit(word):
        """The index of the lowest bit set in a uint64 that is not zero."""
        return _cttz(word)


def pack(mask: np.ndarray) -> np.ndarray:
    """Words uint64[k, ceil(m / 64)] of a boolean array bool[k, m]; row ``r`` is bit ``r % 64`` of word ``r // 64``."""
    sets, rows = mask.shape
    padded = np.zeros((sets, -(-rows // 64) * 64), bool)
    padded[:, :rows] = mask
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
