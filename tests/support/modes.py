"""The mode of the tests (compiled, with bounds checks, plain, not compiled), and the problems it has time for."""

from __future__ import annotations

import os

import pytest

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
# Modes in which searches take several times as long: a fraction of the problems.
CHECKED = "1" in (os.environ.get("NUMBA_BOUNDSCHECK"), os.environ.get("OPTREE_PLAIN_NJIT"))
FULL = COMPILED and not CHECKED
compiled_only = pytest.mark.skipif(not COMPILED, reason="too slow without compilation")


def seeds(compiled: int, otherwise: int) -> range:
    """Return the seeds of random problems that this mode has time for."""
    return range(max(otherwise, compiled // 10 if CHECKED else compiled) if COMPILED else otherwise)
