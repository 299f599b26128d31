"""The four solvers of the SPLIT family.

Source: V. Babbar, H. McTavish, C. Rudin, M. Seltzer, "Near-Optimal Decision Trees in a SPLIT Second", ICML 2025.

*split*: ``lookahead`` counts levels of splits. 0 gives a greedy tree, and ``max_depth`` the optimum with a proof. The
authors' program counts the level of the leaves, too: its lookahead 2 is 1 here. With ``lickety`` LicketySPLIT's tree
is constructed first, and the better tree is returned. So `split` is never worse than `licketysplit` with the same
lookahead.

*licketysplit*: polynomial. With q thresholds, n rows and depth d, one level of lookahead takes O(n q^2 d^2).

*multisplit*, *licketymultisplit*: a split has several intervals of a feature's values, which are taken in order. Only
trees of candidate splits (``kernels/interval_partitions.py``) are compared, and nothing is proven about others.
"""

from __future__ import annotations

from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.split.family import run
from optree.solvers.split.options import options_of, parameters_of


def _solver(name: str, title: str, recursive: bool = False, multiway: bool = False) -> Solver:
    def declared(task: Task, seed: int, **parameters) -> Outcome:
        return run(task, seed, options_of(name, recursive, parameters))

    return Solver(
        name=name,
        title=title,
        paper="Babbar, McTavish, Rudin, Seltzer: Near-Optimal Decision Trees in a SPLIT Second, ICML 2025",
        features=("binary", "multiway") if multiway else ("binary",),
        penalties=("leaf",) if multiway else ("split", "leaf"),
        constraints=("max_depth",),
        needs=("max_depth",),
        exact=False,
        iteration="one set of rows counted",
        run=declared,
        parameters=parameters_of(recursive, multiway),
    )


SPLIT = _solver("split", "exact search of the first levels (`lookahead`), greedy trees below")
LICKETYSPLIT = _solver("licketysplit", "SPLIT with one level of lookahead, repeated in each subtree", recursive=True)
MULTISPLIT = _solver("multisplit", "SPLIT with splits of a number into several intervals", multiway=True)
LICKETYMULTISPLIT = _solver(
    "licketymultisplit", "LicketySPLIT with splits of a number into several intervals", recursive=True, multiway=True
)
