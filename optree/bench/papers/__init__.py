"""Papers whose numbers are compared with measured ones, discovered from the folders beside this file.

Each folder's ``paper.py`` defines ``PAPER``; that module is imported when its paper is asked for. A configuration names
a paper with ``paper: NAME``. Printed numbers are data, in ``resources/papers/NAME``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from optree.bench.papers.spec import Paper, Results
from optree.errors import OptreeError, choice

ALL = "all"

__all__ = ["Paper", "Results", "get", "names", "required"]


def names() -> list[str]:
    """Return the names of all papers, sorted."""
    return sorted(folder.name for folder in iter_modules(__path__) if folder.ispkg)


def get(name: str) -> Paper:
    """Return the paper of this name."""
    if name not in names():
        raise choice("paper", name, names())
    return import_module(f"{__name__}.{name}.paper").PAPER


def required(config: Mapping) -> list[str]:
    """Return the tables of a configuration's paper whose claims must pass: ``required_claims``."""
    wanted = config.get("required_claims")
    if not wanted:
        return []
    if not config.get("paper"):
        raise OptreeError(f"config: required_claims = {wanted} is not accepted without a paper; give null")
    tables = list(get(config["paper"]).tables)
    for name in [] if wanted == ALL else wanted:
        if name not in tables:
            raise choice("config: required_claims", name, [ALL, *tables])
    return tables if wanted == ALL else list(wanted)
