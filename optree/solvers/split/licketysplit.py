"""LicketySPLIT: SPLIT with little lookahead, repeated in each subtree. See `build_tree.py`.

Polynomial: with q thresholds, n rows and depth d, O(n q^2 d^2) for one level of lookahead.
"""

from __future__ import annotations

from optree.solvers.split.family import solver

SOLVER = solver(
    "licketysplit", "SPLIT with one level of lookahead, repeated in each subtree", recursive=True, multiway=False
)
