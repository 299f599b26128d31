"""LicketySPLIT: SPLIT with one level of lookahead, and again for each subtree; or with more levels at a time.

Polynomial: with q cuts, n rows and depth d, O(n q^2 d^2) for a level at a time. See `lookahead.py`.
"""

from __future__ import annotations

from optree.result import Outcome
from optree.solvers import lookahead
from optree.solvers import lookahead_options as options
from optree.solvers.spec import Solver, Task


def run(task: Task, seed: int, **parameters) -> Outcome:
    """Search; ``seed`` is that of the boosted ensemble, if there is one."""
    return lookahead.run(task, seed, options.options_of("licketysplit", True, parameters))


SOLVER = Solver(
    name="licketysplit",
    title="SPLIT with a level of lookahead, again for each subtree",
    paper="Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025",
    features=("binary",),
    penalties=("split", "leaf"),
    constraints=("max_depth",),
    needs=("max_depth",),
    exact=False,
    anytime=True,
    iteration="one set of rows counted",
    run=run,
    parameters={"lookahead": options.LEVELS, **options.PARAMETERS},
)
