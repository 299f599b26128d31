"""The mode of the tests (compiled, with bounds checks, plain, not compiled), and the problems it has time for."""

from __future__ import annotations

import os

import pytest

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
# Modes in which searches take several times as long: a fraction of the problems.
CHECKED = "1" in (os.environ.get("NUMBA_BOUNDSCHECK"), os.environ.get("OPTREE_PLAIN_NJIT"))
FULL = COMPILED and not CHECKED
THOROUGH = os.environ.get("OPTREE_THOROUGH") == "1"  # set by `make test-thorough`
SHARE = 10 if CHECKED else 1 if THOROUGH else 3  # of the problems, one in SHARE is solved
compiled_only = pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
thorough = pytest.mark.skipif(not THOROUGH, reason="left to `make test-thorough`")


def seeds(compiled: int, otherwise: int) -> range:
    """Return the seeds of random problems that this mode has time for."""
    return range(max(otherwise, compiled // SHARE) if COMPILED else otherwise)
