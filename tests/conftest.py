"""Fixtures that several test files share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from harness.checkout import Checkout
from support import ROOT

from optree.datasets import read_table


@pytest.fixture(scope="session")
def table():
    """Return the table of datasets that ships."""
    return read_table(ROOT / "config" / "datasets.csv")


@pytest.fixture(scope="session")
def mirror_dir() -> Path:
    """Return the directory of raw files that cannot ship: OPTREE_MIRROR, or shared/data beside the repository."""
    path = Path(os.environ.get("OPTREE_MIRROR") or ROOT.parent / "shared" / "data")
    if not path.is_dir():
        pytest.skip("no mirror of the raw data files; OPTREE_MIRROR names the directory")
    return path


@pytest.fixture
def interruptible():
    """Let Ctrl-C raise KeyboardInterrupt, also where a shell has started the tests with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def checkout(tmp_path) -> Checkout:
    """Return a copy of the repository that belongs to one test."""
    return Checkout(tmp_path)


@pytest.fixture(scope="session")
def finished(tmp_path_factory) -> Checkout:
    """Return a copy of the repository in which the tiny configuration has run."""
    checkout = Checkout(tmp_path_factory.mktemp("finished"))
    done = checkout.snakemake()
    assert done.returncode == 0, done.stdout + done.stderr
    return checkout
