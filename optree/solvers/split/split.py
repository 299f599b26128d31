"""SPLIT: the first levels of a tree searched in full, greedy trees below them.

Idea and source: `family.py`; the search and its bounds: `split/search.py`. ``lookahead`` counts levels of
splits: 0 is a greedy tree, and as many as ``max_depth`` the optimum, which is then proven. (The authors' program counts
the level of the leaves, too: its lookahead depth 2 is 1 here.) A prefix that is best with greedy trees below need not
be best with better ones, so LicketySPLIT's tree can cost less, which is found in a fraction of the time: it is looked
for first, with one level, and the better of both is kept (``lickety``); so with any lookahead ``split`` is never worse
than ``licketysplit`` with one level.
"""

from __future__ import annotations

from optree.solvers.split.family import solver

SOLVER = solver(
    "split", "exact search of the first levels (`lookahead`), greedy trees below", recursive=False, multiway=False
)
