"""SPLIT: an exact search of the first levels of a tree, with greedy trees below them.

Source: `family.py`; search and bounds: `search.py`. ``lookahead`` counts levels of splits: 0 gives a greedy tree, and
``max_depth`` the optimum with a proof. (The authors' program counts the level of the leaves, too: its lookahead 2 is 1
here.) With ``lickety`` LicketySPLIT's tree is constructed first, and the better tree is returned. So ``split`` is never
worse than ``licketysplit`` with the same lookahead.
"""

from __future__ import annotations

from optree.solvers.split.family import solver

SOLVER = solver(
    "split", "exact search of the first levels (`lookahead`), greedy trees below", recursive=False, multiway=False
)
