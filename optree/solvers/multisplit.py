"""SPLIT with splits of a feature into several intervals of its parts, which are taken in order.

The search is that of `split`; what is new is which splits are candidates: `kernels/partitions.py`. The exact best tree
of one level, and of two, is in `kernels/stumps.py`; with ``max_depth`` 1 or 2 and as much lookahead this is a solver of
its own for these. Trees are the best of those looked at: nothing is proven of others.
"""

from __future__ import annotations

from optree.result import Outcome
from optree.solvers import lookahead
from optree.solvers import lookahead_options as options
from optree.solvers.spec import Solver, Task


def run(task: Task, seed: int, **parameters) -> Outcome:
    """Search; ``seed`` is that of the boosted ensemble, if there is one."""
    return lookahead.run(task, seed, options.options_of("multisplit", False, parameters))


SOLVER = Solver(
    name="multisplit",
    title="SPLIT with splits into intervals",
    paper="Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025",
    features=("binary", "multiway"),
    penalties=("leaf",),
    constraints=("max_depth",),
    needs=("max_depth",),
    exact=False,
    anytime=True,
    iteration="one set of rows counted",
    run=run,
    parameters={"lookahead": options.LOOKAHEAD, "polish": options.POLISH, **options.MULTIWAY},
)
