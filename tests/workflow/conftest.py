"""All tests of the workflow are slow, and run one after the other in one process."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.hookimpl(tryfirst=True)  # before the groups become parts of names
def pytest_collection_modifyitems(items):
    """Mark the tests of this folder among all collected tests."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group("workflow"))  # they share a finished run, and start clusters
