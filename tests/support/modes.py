"""The mode in which the tests run (compiled, with bounds checks, not compiled), and the problems it has time for."""

from __future__ import annotations

import os

import pytest

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK") == "1"  # several times slower: a fraction of the problems
FULL = COMPILED and not CHECKED
compiled_only = pytest.mark.skipif(not COMPILED, reason="too slow without compilation")


def seeds(compiled: int, otherwise: int) -> range:
    """Return the seeds of random problems that this mode has time for."""
    return range(max(otherwise, compiled // 5 if CHECKED else compiled) if COMPILED else otherwise)
