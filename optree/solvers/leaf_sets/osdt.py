"""OSDT, the ancestor of GOSDT: search over sets of leaves, for accuracy.

Source: X. Hu, C. Rudin, M. Seltzer, "Optimal Sparse Decision Trees", NeurIPS 2019. ``search.py`` has the
idea, the bounds and the complexity.
"""

from __future__ import annotations

from optree.solvers.base import Parameter, Solver
from optree.solvers.leaf_sets.search import run

SOLVER = Solver(
    name="osdt",
    title="branch and bound over sets of leaves, for small problems: the ancestor of GOSDT",
    paper="Hu, Rudin, Seltzer: Optimal Sparse Decision Trees, NeurIPS 2019",
    features=("binary",),
    penalties=("split", "leaf"),
    constraints=(),
    exact=True,
    anytime=True,
    iteration="one open leaf of one tree decided",
    run=run,
    parameters={"equivalent_points": Parameter(bool, True, "bound by equal rows that disagree")},
)
