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

from dataclasses import replace

import numpy as np

from optree.columns import Columns, NumberSplit
from optree.errors import OptreeError, choice
from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.dpdt.growth import GENERATORS, Growth, read_sample
from optree.solvers.dpdt.search import Path, solve, values_around
from optree.solvers.kernels.presorted_columns import Sample
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
    columns, clock, by_value = problem.columns, task.clock, problem.target.kind == "values"
    kept = problem if problem.weights.all() else problem.take(np.flatnonzero(problem.weights))
    per_loss = float(scale.row) if by_value else scale.error
    growth = Growth(
        max_depth=min(objective.max_depth, max(1, len(kept.y) - 1)),  # no tree of these rows has more levels
        cart_nodes_list=tuple(cart_nodes_list),
        max_features=0,
        min_samples_leaf=objective.min_samples_leaf,
        per_split=True,
        bounds=bounds,
        generator=generator,
        least_alpha=scale.penalty / per_loss,
    )
    sample = read_sample(kept, growth, clock.check)
    path = solve(sample, replace(growth, max_features=sample.features), clock)
    trees = zip(path.loss, path.penalty, strict=True)
    costs = [(loss if by_value else int(loss)) * per_loss + int(splits) * scale.penalty for loss, splits in trees]
    root = int(path.link[costs.index(min(costs))])
    columns, split_of = _columns_of(columns, path, sample, root)

    def choose(rows: np.ndarray, link: int) -> tuple[int, list[int]]:
        if link < 0:
            return LEAF, []
        feature, is_below = split_of[link]
        return feature, [int(path.left[link]), int(path.right[link])][:: -1 if is_below else 1]

    tree = Tree.grow(problem.over(columns), choose, root)
    return Outcome(tree, None, path.status, {"iterations": path.fitted}, columns=columns)


def _columns_of(columns: Columns, path: Path, sample: Sample, root: int) -> tuple[Columns, dict[int, tuple[int, bool]]]:
    """Return columns with the splits of a tree as features, and of each split the feature and whether 1 is below."""
    links = [root] if root >= 0 else []
    for link in links:
        links += [child for child in (int(path.left[link]), int(path.right[link])) if child >= 0]
    if not columns.has_numbers:
        return columns, {link: (int(path.feature[link]), False) for link in links}
    tests = [(int(path.feature[link]), float(path.threshold[link])) for link in links]
    columns, found = columns.at_splits([NumberSplit(test[0], *values_around(sample, *test)) for test in tests])
    return columns, dict(zip(links, found, strict=True))


SOLVER = Solver(
    name="dpdt",
    title="dynamic programming over the splits that CART proposes; never worse than CART to the same depth",
    paper="Kohler, Akrour, Preux: Breiman meets Bellman: Non-Greedy Decision Trees with MDPs, KDD 2025",
    features=("binary", "numeric"),
    targets=("classes", "values"),
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
