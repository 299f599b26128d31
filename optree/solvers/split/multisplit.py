"""SPLIT with splits of a feature into several intervals of its values, which are taken in order.

The candidate splits are in `kernels/interval_partitions.py`, the exact trees of one and of two levels in
`interval_splits.py`. Only trees of candidate splits are compared: the search proves nothing about others.
"""

from __future__ import annotations

from optree.solvers.split.family import solver

SOLVER = solver("multisplit", "SPLIT with splits of a number into several intervals", recursive=False, multiway=True)
