"""PyGOSDT: GOSDT's search over sets of leaves, for measures that are no sum over rows. The slow reference of ``roc``.

Source: J. Lin, C. Zhong, D. Hu, C. Rudin, M. Seltzer, "Generalized and Scalable Optimal Sparse Decision Trees", ICML
2020, section 2. ``search.py`` has the idea, the bounds and the complexity.
"""

from __future__ import annotations

from optree.measure import LABELLED, RANKED
from optree.solvers.base import Parameter, Solver
from optree.solvers.leaf_sets.search import run

SOLVER = Solver(
    name="pygosdt",
    title="branch and bound over sets of leaves, for small problems: the reference of `roc`",
    paper="Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal Sparse Decision Trees, ICML 2020",
    features=("binary",),
    penalties=("split", "leaf"),
    constraints=(),
    exact=True,
    anytime=True,
    measures=(*LABELLED, *RANKED),
    iteration="one open leaf of one tree decided",
    run=run,
    parameters={
        "equivalent_points": Parameter(bool, True, "bound by equal rows (Theorem C.3); else by Theorem 2.1 alone")
    },
)
