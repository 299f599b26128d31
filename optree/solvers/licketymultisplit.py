"""LicketySPLIT with splits of a feature into several intervals of its parts, which are taken in order.

As `licketysplit`, with the candidates of `multisplit`.
"""

from __future__ import annotations

from optree.result import Outcome
from optree.solvers import lookahead
from optree.solvers import lookahead_options as options
from optree.solvers.spec import Solver, Task


def run(task: Task, seed: int, **parameters) -> Outcome:
    """Search; ``seed`` is that of the boosted ensemble, if there is one."""
    return lookahead.run(task, seed, options.options_of("licketymultisplit", True, parameters))


SOLVER = Solver(
    name="licketymultisplit",
    title="LicketySPLIT with splits into intervals",
    paper="Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025",
    features=("binary", "multiway"),
    penalties=("leaf",),
    constraints=("max_depth",),
    needs=("max_depth",),
    exact=False,
    anytime=True,
    iteration="one set of rows counted",
    run=run,
    parameters={"lookahead": options.LEVELS, **options.MULTIWAY},
)
