"""The programs of other people that read exports, in a folder of their own beside the environment."""

from __future__ import annotations

import sys

import pytest
from support import ROOT

FOLDER = ROOT / ".exports"


@pytest.fixture(autouse=True, scope="module")
def programs():
    """Let a module of tests import the programs; packages of the environment come first, and have the same version."""
    folders = list(map(str, FOLDER.glob("lib/python3*/site-packages")))
    sys.path += folders
    yield
    sys.path[:] = [folder for folder in sys.path if folder not in folders]


def pytest_collection_modifyitems(items):
    """Mark each test of this folder as slow; skip them without the folder."""
    for item in items:
        if item.path.parent.name == "exports":
            item.add_marker(pytest.mark.slow)
            if not (FOLDER / "ready").exists():
                item.add_marker(pytest.mark.skip(reason="`make .exports/ready` brings the programs"))
