"""DPDT: dynamic programming over the splits of CART. Near-optimal trees of limited depth.

A state is a support and a depth. Its actions are the leaf and the splits of a CART grown on its rows with at most
``cart_nodes_list[depth]`` leaves (one split beyond the list). Depth-first backward induction finds the best tree over
all sequences of actions. ``induction.py`` has the algorithm, its bound and its complexity, ``generators.py`` other
sources of candidate splits, ``hulls.py`` the exact path over all penalties. The tree for the objective's lambda is
taken from that path.

Source: H. Kohler, R. Akrour, P. Preux: Breiman meets Bellman: Non-Greedy Decision Trees with MDPs, KDD 2025. Theorem
5.1 holds: CART's own split is a candidate of every support, so no tree that CART grows to the same depth, and none of
its pruned subtrees, costs less. Here a split costs lambda, as in the registry's objective. The paper's penalty, the
expected number of splits that a row meets, is the penalty of ``DPDTreeClassifier``.
"""

from __future__ import annotations

import numpy as np

from optree.errors import OptreeError, choice
from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.dpdt.growth import GENERATORS, Growth
from optree.solvers.dpdt.search import solve
from optree.solvers.kernels.presort import presort
from optree.tree import LEAF, Tree


def run(task: Task, seed: int, cart_nodes_list: list, generator: str, bounds: bool) -> Outcome:
    """Search over all penalties from lambda on, and take the tree for lambda. ``seed`` is unused: nothing is drawn."""
    problem, objective, scale = task.problem, task.objective, task.scale
    if not all(isinstance(nodes, int) and not isinstance(nodes, bool) and nodes >= 1 for nodes in cart_nodes_list):
        raise OptreeError(
            f"solver dpdt: cart_nodes_list = {cart_nodes_list!r} is not accepted; give whole numbers >= 1"
        )
    if generator not in GENERATORS:
        raise choice("solver dpdt: generator", generator, GENERATORS)
    if objective.max_depth == 0:
        return Outcome(Tree.leaf(problem), None, "heuristic", {"iterations": 0})
    kept = np.flatnonzero(problem.weights)
    weights = problem.weights[kept].astype(np.float64)
    growth = Growth(
        max_depth=objective.max_depth,
        cart_nodes_list=tuple(cart_nodes_list),
        max_features=len(problem.features),
        min_samples_leaf=objective.min_samples_leaf,
        per_split=True,
        bounds=bounds,
        generator=generator,
        least_alpha=scale.penalty / scale.error,
    )
    unit = (weights == 1).all()
    codes, merge = np.ascontiguousarray(problem.codes[kept], np.float64), unit or objective.min_samples_leaf == 1
    weight = None if unit else weights
    sample = presort(codes, problem.y[kept], len(problem.classes), weight, merge, growth.n_layers, task.clock.check)
    path = solve(sample, growth, clock=task.clock)
    trees = zip(path.loss, path.penalty, strict=True)
    costs = [int(loss) * scale.error + int(splits) * scale.penalty for loss, splits in trees]

    def choose(rows: np.ndarray, link: int) -> tuple[int, list[int]]:
        if link < 0:
            return LEAF, []
        return int(path.feature[link]), [int(path.left[link]), int(path.right[link])]

    tree = Tree.grow(problem, choose, int(path.link[costs.index(min(costs))]))
    return Outcome(tree, None, path.status, {"iterations": path.fitted})


SOLVER = Solver(
    name="dpdt",
    title="dynamic programming over the splits that CART proposes; never worse than CART to the same depth",
    paper="Kohler, Akrour, Preux: Breiman meets Bellman: Non-Greedy Decision Trees with MDPs, KDD 2025",
    constraints=("max_depth", "min_samples_leaf"),
    needs=("max_depth",),
    exact=False,
    anytime=False,
    iteration="one node, split or leaf, of a CART that was fitted; or one split offered, or looked ahead from",
    run=run,
    parameters={
        "cart_nodes_list": Parameter(list, [8, 8, 8], "leaves of the CART of a state, by depth"),
        "generator": Parameter(
            str, "cart", "source of candidate splits: cart, top, top_features, lookahead or exhaustive"
        ),
        "bounds": Parameter(bool, True, "prune states with one level left by the stump bound; the tree is the same"),
    },
)
