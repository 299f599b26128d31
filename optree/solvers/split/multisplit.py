"""SPLIT with splits of a feature into several intervals of its parts, which are taken in order.

The search is that of `split`; the new part is the candidate splits: `kernels/interval_partitions.py`. The exact
best tree of one level, and of two, is in `split/interval_splits.py`; with ``max_depth`` 1 or 2 and as much lookahead
this is a solver of its own for these. Trees are the best of those looked at: nothing is proven of others.
"""

from __future__ import annotations

from optree.solvers.split.family import solver

SOLVER = solver("multisplit", "SPLIT with splits of a number into several intervals", recursive=False, multiway=True)
