"""Bitsets: sets of rows as 64-bit words, their hashes and their counts."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numba import config

from optree.solvers.kernels.jit import inner_function, kernel
from optree.solvers.kernels.jit.llvm import intrinsic, ir, types
from optree.solvers.kernels.shared_counts import count_shared
from optree.solvers.kernels.simd import fill, lanes, load, store

ONE = np.uint64(1)


@intrinsic
def _cttz(typing_context, word):
    """Count trailing zeros by LLVM's instruction; the word must not be zero."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), codegen


@intrinsic
def _ctpop(typing_context, word):
    """Count the bits that are set in a word, by LLVM's instruction."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


if config.DISABLE_JIT:  # intrinsics exist in compiled code only

    def count_bits(word):
        """Count the bits that are set in a uint64."""
        return int(word).bit_count()

    def lowest_bit(word):
        """Return the index of the lowest set bit of a nonzero uint64."""
        return (int(word) & -int(word)).bit_length() - 1

    def hash_words(words, salt):
        """Return the hash of a set of rows, a non-negative int64; salt : uint64[>= words], odd random numbers."""
        mixed = (words ^ (words >> np.uint64(32))) * salt[: len(words)]
        total = int((mixed ^ (mixed >> np.uint64(29))).sum())
        return (total ^ (total >> 32)) & (2**63 - 1)

else:

    @inner_function
    def count_bits(word):
        """Count the bits that are set in a uint64."""
        return _ctpop(word)

    @kernel
    def lowest_bit(word):
        """Return the index of the lowest set bit of a nonzero uint64."""
        return _cttz(word)

    @kernel
    def hash_words(words, salt):
        """Return the hash of a set of rows, a non-negative int64; salt : uint64[>= words], odd random numbers."""
        total = np.uint64(0)
        for w in range(len(words)):
            mixed = (words[w] ^ (words[w] >> np.uint64(32))) * salt[w]
            total += mixed ^ (mixed >> np.uint64(29))
        return np.int64((total ^ (total >> np.uint64(32))) & np.uint64(2**63 - 1))


def salts(count: int, seed: int = 0) -> np.ndarray:
    """Return odd random numbers for :func:`hash_words`, uint64[count]; a lower count gives a prefix."""
    return _salts(max(0, count - 1).bit_length(), seed)[:count]


@lru_cache(8)
def _salts(digits: int, seed: int) -> np.ndarray:
    """Return 2^digits salts. Drawing them takes longer than a small search."""
    numbers = np.random.RandomState(seed).randint(0, 2**63 - 1, 1 << digits, np.int64)
    return numbers.astype(np.uint64) * np.uint64(2) + np.uint64(1)


@inner_function
def pop_row(w, word):
    """Return the lowest row of word ``w`` of a set, and the word without it. The word is not 0."""
    return 64 * w + lowest_bit(word), word & (word - ONE)


@inner_function
def list_rows(words, rows):
    """Write the row numbers of a set to ``rows`` in increasing order; return their count."""
    count = 0
    for w in range(len(words)):
        word = words[w]
        while word != 0:
            rows[count], word = pop_row(w, word)
            count += 1
    return count


@kernel
def add_counts(bits, width, column, first, last, factor, out):
    """Add to ``out[c]``, for every column c, ``factor`` times the number of rows in both c and ``column``.

    bits : uint64[words * width], word after word, ``width`` columns each (whole vectors of ``out``); the words from
    ``first`` to ``last`` are counted. out : int16, int32 or int64[>= width].
    """
    for c in range(0, width, lanes(out)):
        met = count_shared(bits, width, column, c, first, last, out)
        store(out, c, load(out, c) + met * fill(factor, out))


def narrowest(most: int) -> np.dtype:
    """Return the narrowest of int16, int32 and int64 that holds a number and its negative."""
    return np.promote_types(np.int16, np.min_scalar_type(-1 - most))


def pack(mask: np.ndarray) -> np.ndarray:
    """Pack bool[k, m] into words uint64[k, ceil(m / 64)]; row ``r`` is bit ``r % 64`` of word ``r // 64``."""
    sets, rows = mask.shape
    padded = np.zeros((sets, -(-rows // 64) * 64), bool)
    padded[:, :rows] = mask
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
