"""Papers: one module each, and this registry. A configuration says ``paper: NAME`` to be compared with one.

A module is imported when its paper is asked for. What the paper printed is data, in ``resources/papers/NAME``.
"""

from __future__ import annotations

from importlib import import_module

from optree.bench.papers.spec import Paper
from optree.errors import choice

# Name of a paper -> the module that defines it as PAPER.
_MODULES = {
    "branches": "optree.bench.papers.branches",
    "dpdt": "optree.bench.papers.dpdt",
    "gosdt": "optree.bench.papers.gosdt",
    "multisplit": "optree.bench.papers.multisplit",
    "murtree": "optree.bench.papers.murtree",
}

__all__ = ["Paper", "get", "names"]


def names() -> list[str]:
    """The names of all papers, sorted."""
    return sorted(_MODULES)


def get(name: str) -> Paper:
    """The paper of this name.

    Raises
    ------
    OptreeError
        If there is none.
    """
    if name not in _MODULES:
        raise choice("paper", name, names())
    return import_module(_MODULES[name]).PAPER
