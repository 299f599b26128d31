"""LicketySPLIT: SPLIT with one level of lookahead, and again for each subtree; or with more levels at a time.

Polynomial: with q cuts, n rows and depth d, O(n q^2 d^2) for a level at a time. With more levels the parts of a split
are valued by LicketySPLIT's trees with one level less, as in the package of its authors. See `family.py`.
"""

from __future__ import annotations

from optree.solvers.split.family import solver

SOLVER = solver(
    "licketysplit", "SPLIT with one level of lookahead, repeated in each subtree", recursive=True, multiway=False
)
