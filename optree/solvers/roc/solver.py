"""Optimal trees for measures that are no sum over rows: AUC, partial AUC, F-beta, Jaccard.

Source of the objectives: J. Lin, C. Zhong, D. Hu, C. Rudin, M. Seltzer, "Generalized and Scalable Optimal Sparse
Decision Trees", ICML 2020, section 2. The method is this project's; the paper's search over sets of leaves is
``pygosdt``.

1. ``supports.py`` makes all supports that a useful tree can have. They are few where features are thresholds or the
   penalty is high.
2. *Areas* (``area.py``). Passes from small supports to large and back compute envelopes of (FN, FP) inside and outside
   of each support (``envelopes.py``). Envelopes give lower bounds, incumbents, and the splits that matter within an
   upper bound. On these splits a dynamic program makes all sets of ROC curves (``curves.py``). Low upper bounds are
   tried first, since they leave few supports; each yields a better tree or a proof.
3. *Ratios* (``ratio.py``). Whether a tree of at most h leaves beats the incumbent is linear in FN and FP. So a dynamic
   program over splits decides it, for LANES values of h at once, and finds better trees until none exists.

Complexity: O(supports * features * leaves^2 * lanes) for a pass.
"""

from __future__ import annotations

from optree.measure import LABELLED, RANKED
from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.driver import finish
from optree.solvers.roc import ratio
from optree.solvers.roc.area import Areas
from optree.solvers.roc.search import Search


def run(task: Task, seed: int) -> Outcome:
    """Search as the module's docstring says. ``seed`` is unused: the search draws no random numbers."""
    search = Search(task)
    task.clock.prepared()

    def minimise() -> None:
        rows = search.rows
        if 0 in (rows.negative, rows.positive, len(search.features)) or search.cost == search.base:
            search.note(search.cost)
            return
        search.propose_greedy()
        if search.measure.name in RANKED:
            Areas(search).run()
        else:
            ratio.minimise(search)

    status = finish(minimise)
    return Outcome(search.tree, search.lower, status, search.counters)


SOLVER = Solver(
    name="roc",
    title="the project's search for measures that are no sum over rows, by envelopes of ROC curves",
    paper="this project; proofs in `optree/solvers/roc/`",
    exact=True,
    measures=(*LABELLED, *RANKED),
    iteration="one set of rows made, or visited by a pass",
    run=run,
)
