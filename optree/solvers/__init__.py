"""The registry of solvers, discovered from the folders beside this file.

Each folder is a family of solvers. Its ``__init__.py`` declares ``SOLVERS``: the name of each solver, and the module of
the folder that defines it as ``SOLVER``, or ``"module:NAME"``. The module is imported when its solver is asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from optree.errors import choice
from optree.solvers.base import Parameter, Solver

__all__ = ["Parameter", "Solver", "get", "names"]


@cache
def _modules() -> dict[str, str]:
    """Return the module of each solver by name, from all families that declare solvers."""
    found = {}
    for family in sorted(f"{__name__}.{folder.name}" for folder in iter_modules(__path__) if folder.ispkg):
        for name, module in getattr(import_module(family), "SOLVERS", {}).items():
            if name in found:
                raise ImportError(f"solver {name!r} is declared by {found[name]} and {family}.{module}")
            found[name] = f"{family}.{module}"
    return found


def names() -> list[str]:
    """Return the names of all solvers, sorted."""
    return sorted(_modules())


def module_of(name: str) -> str:
    """Return the module that declares a solver."""
    return _modules()[name].partition(":")[0]


def get(name: str) -> Solver:
    """Return the solver of this name.

    Raises
    ------
    OptreeError
        If no family declares it.
    """
    if name not in _modules():
        raise choice("algorithm", name, names())
    module, _, variable = _modules()[name].partition(":")
    return getattr(import_module(module), variable or "SOLVER")
