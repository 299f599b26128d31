"""Best trees for measures that are no sum over rows: AUC, partial AUC, F-beta, Jaccard.

The objectives are those of J. Lin, C. Zhong, D. Hu, C. Rudin, M. Seltzer, "Generalized and Scalable Optimal Sparse
Decision Trees", ICML 2020, section 2; the method is ours. (The paper's own, over sets of leaves, is ``pygosdt``.)

1. All sets of rows that a useful tree can single out are made (``roc/supports.py``); they are few where features
   are thresholds or the penalty is high.
2. *Areas*: from small sets to large the best that trees of h leaves can do in 15 directions of (FN, FP), and with it a
   bound on the objective; trees that are best in a direction are incumbents; from large sets to small the best of what
   surrounds each set, which shows the sets and splits that can still matter (``roc/envelopes.py``); on those a
   dynamic program over sets of ROC curves (``roc/curves.py``). Within a bound below the optimum next to nothing
   matters, so bounds are tried upwards, from the first lower bound to the incumbent: each proves or finds.
3. *Ratios*: whether a tree of at most h leaves is better than the incumbent is linear in FN and FP, so a dynamic
   program over splits decides it, for all h at once, one lane each. Each pass finds better trees, or the proof that
   there are none (Dinkelbach). The best labels of a tree are part of the minimum.

Complexity: (sets of rows) * features * leaves^2 * lanes for a pass.
"""

from __future__ import annotations

from optree.measure import LABELLED, RANKED
from optree.result import Outcome
from optree.solvers.base import Solver, Task
from optree.solvers.roc import ratio as roc_ratio
from optree.solvers.roc.area import Areas
from optree.solvers.roc.search import Search, Stopped


def run(task: Task, seed: int) -> Outcome:
    """Search; see the module's text. ``seed`` is not used: the search draws no random numbers."""
    search = Search(task)
    task.clock.prepared()
    status = "optimal"
    settled = 0 in (search.rows.negative, search.rows.positive, len(search.features)) or search.cost == search.base
    try:
        if not settled:
            search.offer_greedy()
        if settled:
            search.note(search.cost)
        elif search.measure.name in RANKED:
            Areas(search).run()
        else:
            roc_ratio.minimise(search)
    except (Stopped, KeyboardInterrupt) as stop:
        status = stop.args[0] if isinstance(stop, Stopped) else "interrupted"
    return Outcome(search.tree, search.lower, status, search.counters)


SOLVER = Solver(
    name="roc",
    title="envelopes of what trees can do inside and outside of sets of rows",
    paper="Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal Sparse Decision Trees, ICML 2020",
    features=("binary",),
    penalties=("split", "leaf"),
    constraints=(),
    exact=True,
    anytime=True,
    measures=(*LABELLED, *RANKED),
    iteration="one set of rows made, or visited by a pass",
    run=run,
)
