"""The programs of other people that read exports, in a folder of their own beside the environment."""

from __future__ import annotations

import sys

import pytest
from support import ROOT

FOLDER = ROOT / ".exports"
sys.path += map(str, FOLDER.glob("lib/python3*/site-packages"))  # at the end: shared packages have the same version


def pytest_collection_modifyitems(items):
    """Mark each test of this folder as slow; skip them without the folder."""
    for item in items:
        if item.path.parent.name == "exports":
            item.add_marker(pytest.mark.slow)
            if not (FOLDER / "ready").exists():
                item.add_marker(pytest.mark.skip(reason="`make .exports/ready` brings the programs"))
