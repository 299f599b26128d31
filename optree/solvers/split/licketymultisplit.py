"""LicketySPLIT with splits of a feature into several intervals of its parts, which are taken in order.

As `licketysplit`, with the candidates of `multisplit`.
"""

from __future__ import annotations

from optree.solvers.split.family import solver

SOLVER = solver(
    "licketymultisplit", "LicketySPLIT with splits of a number into several intervals", recursive=True, multiway=True
)
