"""Solvers: one module each, and this registry. A module is imported when its solver is asked for."""

from __future__ import annotations

from importlib import import_module

from optree.errors import choice
from optree.solvers.spec import Parameter, Solver

# Solver name -> the module that defines it as SOLVER.
_MODULES = {
    "allthresholds": "optree.solvers.allthresholds",
    "branches": "optree.solvers.branches",
    "cart": "optree.solvers.cart",
    "dl85": "optree.solvers.dl85",
    "dpdt": "optree.solvers.dpdt",
    "exhaustive": "optree.solvers.exhaustive",
    "gosdt": "optree.solvers.gosdt",
    "licketymultisplit": "optree.solvers.licketymultisplit",
    "licketysplit": "optree.solvers.licketysplit",
    "multisplit": "optree.solvers.multisplit",
    "murtree": "optree.solvers.murtree",
    "optree": "optree.solvers.engine",
    "osdt": "optree.solvers.osdt",
    "pygosdt": "optree.solvers.pygosdt",
    "roc": "optree.solvers.roc",
    "shapecart": "optree.solvers.shapecart",
    "split": "optree.solvers.split",
}

__all__ = ["Parameter", "Solver", "get", "names"]


def names() -> list[str]:
    """The names of all solvers, sorted."""
    return sorted(_MODULES)


def get(name: str) -> Solver:
    """The solver of this name.

    Raises
    ------
    OptreeError
        If there is none.
    """
    if name not in _MODULES:
        raise choice("algorithm", name, names())
    return import_module(_MODULES[name]).SOLVER
