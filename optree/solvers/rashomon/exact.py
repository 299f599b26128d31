"""Whole numbers of any size from float64: residues modulo primes, and the Chinese remainder theorem."""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np

from optree.errors import OptreeError

EXACT = 2.0**52  # a count below this number, and each sum on the way to it, is exact in float64
_BELOW = 2**25  # primes: the product of two residues is exact


@cache
def _primes() -> tuple[int, ...]:
    """Return primes below 2^25, the greatest first."""
    low = _BELOW - 2**17
    composite = np.zeros(_BELOW - low, bool)
    for factor in range(2, int(_BELOW**0.5) + 1):
        composite[-low % factor :: factor] = True
    return tuple((np.flatnonzero(~composite)[::-1] + low).tolist())


def moduli_for(most: float) -> tuple[int, ...]:
    """Return primes whose product exceeds a number and all smaller numbers; (0,) if float64 is exact below it.

    most : a float64 that is exact up to a relative error of 1/2.

    Raises
    ------
    OptreeError
        If the number is beyond the range of float64.
    """
    if not most < np.inf:
        raise OptreeError(
            "solver rashomon: the set has more than 10^308 trees; give a lower multiplier, adder or bound"
        )
    if most < EXACT:
        return (0,)
    found, bits = [], 2 + int(np.ceil(np.log2(most)))
    for prime in _primes():
        found.append(prime)
        bits -= np.log2(prime)
        if bits < 0:
            break
    return tuple(found)


def whole(residues: list[np.ndarray], moduli: tuple[int, ...]) -> list[int]:
    """Return the whole numbers with some residues, one array of them for each modulus."""
    if moduli == (0,):
        return [int(value) for value in residues[0].tolist()]
    product = prod(moduli)
    total = np.zeros(len(residues[0]), object)
    for modulus, residue in zip(moduli, residues, strict=True):
        rest = product // modulus
        total += residue.astype(np.int64).astype(object) * (rest * pow(rest, -1, modulus) % product)
    return [int(value) % product for value in total]
