"""The same tests with numba's bounds checks on, without compilation at all, and with numba's public interface only."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support import ROOT

_NAMES = (
    "exact",
    "allthresholds",
    "murtree",
    "grid",
    "regression",
    "front",
    "dpdt",
    "gosdt",
    "roc",
    "split",
    "shapecart",
)
BOTH = [f"test_{name}.py" for name in _NAMES]
MODES = {
    "bounds-checked": ({"NUMBA_BOUNDSCHECK": "1"}, [*BOTH, "test_branches.py", "test_engine.py"], ""),
    "not compiled": ({"NUMBA_DISABLE_JIT": "1"}, BOTH, ""),
    "plain numba": ({"OPTREE_PLAIN_NJIT": "1"}, ["test_exact.py"], "optree or branches"),
}


@pytest.mark.parametrize("mode", MODES)
def test_mode(mode, tmp_path):
    # A cache of its own: what was compiled without bounds checks must not be loaded with them.
    switches, files, words = MODES[mode]
    environment = os.environ | switches | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        words,
        *(f"tests/solvers/{name}" for name in files),
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
