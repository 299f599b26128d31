"""The tests of the solvers in other modes: with numba's bounds checks, compiled by plain njit, and not compiled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support import ROOT
from support.modes import thorough

pytestmark = pytest.mark.slow

# All solvers by tests of their declarations; kernels with much arithmetic on positions by their own tests as well.
NAMES = ("conformance", "allthresholds", "sparsethresholds", "murtree", "regression", "split")
OTHERS = ("grid", "front", "dpdt", "gosdt", "roc", "shapecart")
CHECKS = {"NUMBA_BOUNDSCHECK": "1"}
MODES = {
    "bounds-checked": (CHECKS, ["exact"], ""),
    "bounds-checked, thorough": (CHECKS, [*NAMES, "engine"], ""),  # compiles for minutes
    "not compiled": ({"NUMBA_DISABLE_JIT": "1"}, ["exact", *NAMES, *OTHERS], ""),
    "plain njit": ({"OPTREE_PLAIN_NJIT": "1"}, ["exact"], "branches"),  # the engine compiles for minutes
}


@pytest.mark.parametrize("mode", [pytest.param(name, marks=thorough if "thorough" in name else ()) for name in MODES])
def test_mode(mode, tmp_path):
    """Each mode has a cache of its own."""
    switches, names, chosen = MODES[mode]
    environment = os.environ | switches | {"NUMBA_CACHE_DIR": str(tmp_path)}
    files = [f"tests/solvers/test_{name}.py" for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *files]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
