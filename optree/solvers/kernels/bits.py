"""Sets of rows as 64-bit words, and the counting of their bits."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

ONE = np.uint64(1)
LANES = 8  # columns counted side by side; tables of columns are padded to a multiple


@intrinsic
def _cttz(typing_context, word):
    """LLVM's count of trailing zeros; the word must not be zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@intrinsic
def _add_counts(typing_context, bits, width, column, first, last, factor, out):
    """``add_counts`` below, on addresses, in vectors of LANES words whose sums stay in registers.

    Written out because LLVM does not make this of the plain loops: they reach a quarter of its speed on short sets.
    """
    word = ir.IntType(64)
    vector = ir.VectorType(word, LANES)

    def splat(builder, value):
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), lanes)

    def codegen(context, builder, signature, args):
        address, width, column, first, last, factor, out = args
        rows, target = (builder.inttoptr(a, word.as_pointer()) for a in (address, out))
        ctpop = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector]), f"llvm.ctpop.v{LANES}i64"
        )
        zero, one, lanes = (ir.Constant(word, value) for value in (0, 1, LANES))
        with cgutils.for_range_slice(builder, zero, width, lanes, word) as (block, _):
            total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0] * LANES))
            with cgutils.for_range_slice(builder, first, last, one, word) as (w, _):
                row = builder.gep(rows, [builder.mul(w, width)])
                set_here = splat(builder, builder.load(builder.gep(row, [column])))
                source = builder.bitcast(builder.gep(row, [block]), vector.as_pointer())
                met = builder.and_(set_here, builder.load(source, align=8))
                builder.store(builder.add(builder.load(total), builder.call(ctpop, [met])), total)
            place = builder.bitcast(builder.gep(target, [block]), vector.as_pointer())
            scaled = builder.mul(builder.load(total), splat(builder, factor))
            builder.store(builder.add(builder.load(place, align=8), scaled), place, align=8)
        return context.get_dummy_value()

    number = types.int64
    return types.void(types.uintp, number, number, number, number, number, types.uintp), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def lowest_bit(word):
        """The index of the lowest bit set in a uint64 that is not zero."""
        return (int(word) & -int(word)).bit_length() - 1

    def add_counts(bits, width, column, first, last, factor, out):
        """Add to ``out[c]``, for every column c, ``factor`` times the number of rows in both c and ``column``.

        bits : uint64[words * width], word after word, ``width`` columns each (a multiple of LANES); the words from
        ``first`` to ``last`` are counted. out : int64[>= width].
        """
        table = bits[first * width : last * width].reshape(-1, width)
        out[:width] += np.bitwise_count(table & table[:, column : column + 1]).sum(axis=0, dtype=np.int64) * factor

    def hash_words(words, salt):
        """A hash of a set of rows, a non-negative int64; ``salt`` is uint64[>= words], odd random numbers."""
        mixed = (words ^ (words >> np.uint64(32))) * salt[: len(words)]
        total = int((mixed ^ (mixed >> np.uint64(29))).sum())
        return (total ^ (total >> 32)) & (2**63 - 1)

else:

    @njit(cache=True, nogil=True)
    def lowest_bit(word):
        """The index of the lowest bit set in a uint64 that is not zero."""
        return _cttz(word)

    @njit(nogil=True)
    def add_counts(bits, width, column, first, last, factor, out):
        """Add to ``out[c]``, for every column c, ``factor`` times the number of rows in both c and ``column``.

        bits : uint64[words * width], word after word, ``width`` columns each (a multiple of LANES); the words from
        ``first`` to ``last`` are counted. out : int64[>= width].
        """
        _add_counts(bits.ctypes.data, width, column, first, last, factor, out.ctypes.data)

    @njit(cache=True, nogil=True)
    def hash_words(words, salt):
        """A hash of a set of rows, a non-negative int64; ``salt`` is uint64[>= words], odd random numbers."""
        total = np.uint64(0)
        for w in range(len(words)):
            mixed = (words[w] ^ (words[w] >> np.uint64(32))) * salt[w]
            total += mixed ^ (mixed >> np.uint64(29))
        return np.int64((total ^ (total >> np.uint64(32))) & np.uint64(2**63 - 1))


def pack(mask: np.ndarray) -> np.ndarray:
    """Words uint64[k, ceil(m / 64)] of a boolean array bool[k, m]; row ``r`` is bit ``r % 64`` of word ``r // 64``."""
    sets, rows = mask.shape
    padded = np.zeros((sets, -(-rows // 64) * 64), bool)
    padded[:, :rows] = mask
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
