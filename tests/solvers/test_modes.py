"""The same tests with numba's bounds checks on, and without compilation at all."""

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
    "bounds-checked": ({"NUMBA_BOUNDSCHECK": "1"}, [*BOTH, "test_branches.py", "test_engine.py"]),
    "not compiled": ({"NUMBA_DISABLE_JIT": "1"}, BOTH),
}


@pytest.mark.parametrize("mode", MODES)
def test_mode(mode, tmp_path):
    # A cache of its own: what was compiled without bounds checks must not be loaded with them.
    switches, files = MODES[mode]
    environment = os.environ | switches | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *(f"tests/solvers/{name}" for name in files),
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
