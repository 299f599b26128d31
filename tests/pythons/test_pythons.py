"""The fast suite with every other Python that the project takes and this machine has.

A run takes a quarter of an hour of a core, or longer. So it is asked for: ``OPTREE_PYTHONS_BY``, in seconds since 1970,
is the time at which a run ends. A run that has not finished then is skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.checkout import Checkout
from support import ROOT

pytestmark = pytest.mark.slow

VERSIONS = ["3.11", "3.12", "3.13"]


def interpreter(version: str) -> str | None:
    """Return the path of a Python, on the search path or of pyenv, which starts."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    found = [shutil.which(f"python{version}"), *map(str, pyenv.glob(f"{version}.*/bin/python{version}"))]
    starts = (one for one in found if one and subprocess.run([one, "-c", ""], capture_output=True).returncode == 0)
    return next(starts, None)


@pytest.mark.parametrize("version", [one for one in VERSIONS if one != "{}.{}".format(*sys.version_info)])
def test_the_fast_suite_passes(version, tmp_path):
    if (left := float(os.environ.get("OPTREE_PYTHONS_BY", 0)) - time.time()) < 1:
        pytest.skip("OPTREE_PYTHONS_BY is over or not set")
    if (python := interpreter(version)) is None:
        pytest.skip(f"no Python {version} on this machine")
    checkout = Checkout(tmp_path)
    for command in (["init", "--quiet"], ["add", "--all"]):  # some tests read the list of files
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    mirror = os.environ.get("OPTREE_MIRROR") or str(ROOT.parent / "shared" / "data")
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "VIRTUAL_ENV"))}
    checkout.environment = own | {"OPTREE_MIRROR": mirror}
    done = checkout.run(["timeout", f"{left:.0f}", "make", "test-fast", f"PYTHON={python}"])
    if done.returncode == 124:  # of `timeout`, which has ended all processes of the run
        pytest.skip("the run had not finished at OPTREE_PYTHONS_BY")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 3000
    made = checkout.run([".venv/bin/python", "-c", "import sys; print(*sys.version_info[:2], sep='.')"])
    assert made.stdout.strip() == version
