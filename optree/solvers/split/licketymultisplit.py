"""LicketySPLIT with the candidate splits of `multisplit`: a split has several intervals of a feature's values."""

from __future__ import annotations

from optree.solvers.split.family import solver

SOLVER = solver(
    "licketymultisplit", "LicketySPLIT with splits of a number into several intervals", recursive=True, multiway=True
)
