"""SPLIT: the first levels of a tree searched in full, greedy trees below them.

Idea and source: `lookahead.py`; the search and its bounds: `kernels/lookahead.py`. ``lookahead`` counts levels of
splits: 0 is a greedy tree, and as many as ``max_depth`` the optimum, which is then proven. (The authors' program counts
the level of the leaves, too: its lookahead depth 2 is 1 here.)
"""

from __future__ import annotations

from optree.result import Outcome
from optree.solvers import lookahead
from optree.solvers import lookahead_options as options
from optree.solvers.spec import Solver, Task


def run(task: Task, seed: int, **parameters) -> Outcome:
    """Search; ``seed`` is that of the boosted ensemble, if there is one."""
    return lookahead.run(task, seed, options.options_of("split", False, parameters))


SOLVER = Solver(
    name="split",
    title="exact search of the first levels, greedy trees below",
    paper="Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025",
    features=("binary",),
    penalties=("split", "leaf"),
    constraints=("max_depth",),
    needs=("max_depth",),
    exact=False,
    anytime=True,
    iteration="one set of rows counted",
    run=run,
    parameters={"lookahead": options.LOOKAHEAD, "polish": options.POLISH, **options.PARAMETERS},
)
