"""CART: scikit-learn's greedy tree, then its best pruned subtree for the objective. The baseline.

Source: L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984, chapters 2-3.
``sklearn.tree.DecisionTreeClassifier`` grows the tree. Minimal cost-complexity pruning cuts it back bottom up, at the
objective's lambda and with misclassified rows as the cost.
"""

from __future__ import annotations

import numpy as np

from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.tree import LEAF, Tree


def run(task: Task, seed: int, criterion: str) -> Outcome:
    """Grow a tree and prune it. scikit-learn has no limits, so the tree is always finished."""
    from sklearn.tree import DecisionTreeClassifier

    problem, objective = task.problem, task.objective
    grown = None
    if objective.max_depth != 0 and objective.max_splits != 0:
        model = DecisionTreeClassifier(
            criterion=criterion,
            max_depth=objective.max_depth,
            max_leaf_nodes=None if objective.max_splits is None else objective.max_splits + 1,
            min_samples_leaf=objective.min_samples_leaf,
            random_state=seed,
        )
        grown = model.fit(problem.codes, problem.y, sample_weight=problem.weights).tree_

    def choose(rows: np.ndarray, node: int) -> tuple[int, list[int]]:
        if grown is None or grown.feature[node] < 0:
            return LEAF, []
        return int(grown.feature[node]), [int(grown.children_left[node]), int(grown.children_right[node])]

    tree = task.prune(Tree.grow(problem, choose, 0))
    return Outcome(tree, None, "heuristic", {"iterations": 0 if grown is None else int((grown.feature >= 0).sum())})


SOLVER = Solver(
    name="cart",
    title="scikit-learn's greedy tree, pruned for the same objective: the baseline",
    paper="Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984",
    constraints=("max_depth", "max_splits", "min_samples_leaf"),
    exact=False,
    anytime=False,
    iteration="one split of the grown tree, before pruning",
    imports=("sklearn.tree",),
    run=run,
    parameters={"criterion": Parameter(str, "gini", "impurity: gini, entropy or log_loss")},
)
