"""Solvers: one module each, and this registry. A module is imported when its solver is asked for."""

from __future__ import annotations

from importlib import import_module

from optree.errors import choice
from optree.solvers.base import Parameter, Solver

# Solver name -> the module that defines it as SOLVER.
_MODULES = {
    "allthresholds": "optree.solvers.all_thresholds.solver",
    "branches": "optree.solvers.branches.solver",
    "cart": "optree.solvers.cart.solver",
    "dl85": "optree.solvers.murtree.dl85",
    "dpdt": "optree.solvers.dpdt.solver",
    "exhaustive": "optree.solvers.exhaustive.solver",
    "gosdt": "optree.solvers.gosdt.solver",
    "licketymultisplit": "optree.solvers.split.licketymultisplit",
    "licketysplit": "optree.solvers.split.licketysplit",
    "multisplit": "optree.solvers.split.multisplit",
    "murtree": "optree.solvers.murtree.solver",
    "optree": "optree.solvers.engine.solver",
    "osdt": "optree.solvers.leaf_sets.osdt",
    "pygosdt": "optree.solvers.leaf_sets.pygosdt",
    "roc": "optree.solvers.roc.solver",
    "shapecart": "optree.solvers.shapecart.solver",
    "split": "optree.solvers.split.split",
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
