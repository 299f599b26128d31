"""CART: scikit-learn's greedy tree, then its best pruned subtree for the objective. The baseline.

Source: L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984, chapters 2-3.
``sklearn.tree.DecisionTreeClassifier`` grows the tree. Minimal cost-complexity pruning cuts it back bottom up, at the
objective's lambda and with misclassified rows as the cost.
"""

from __future__ import annotations

import numpy as np

from optree.objective import Objective
from optree.problem import Problem
from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.ranks import at_ranks, ranks
from optree.tree import LEAF, Tree


def grow(problem: Problem, objective: Objective, X: np.ndarray, criterion: str, seed: int):
    """Return scikit-learn's tree over the columns X, within the constraints."""
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(
        criterion=criterion,
        max_depth=objective.max_depth,
        max_leaf_nodes=None if objective.max_splits is None else objective.max_splits + 1,
        min_samples_leaf=objective.min_samples_leaf,
        random_state=seed,
    )
    return model.fit(X, problem.y, sample_weight=problem.weights).tree_


def run(task: Task, seed: int, criterion: str) -> Outcome:
    """Grow a tree and prune it. scikit-learn has no limits, so the tree is always finished."""
    problem, objective = task.problem, task.objective
    if objective.max_depth == 0 or objective.max_splits == 0:
        columns, _ = problem.columns.at_splits([])
        return Outcome(Tree.leaf(problem.over(columns)), None, "heuristic", {"iterations": 0}, columns=columns)
    columns = problem.columns
    # scikit-learn reads float32, which has ranks exactly, but not all numbers and no infinite ones.
    numbers = ranks(columns.as_numbers(task.clock.check).X, np.float32) if columns.has_numbers else (problem.codes, [])
    grown = grow(problem, objective, numbers[0], criterion, seed)
    split_of = {node: (int(grown.feature[node]), False) for node in np.flatnonzero(grown.feature >= 0).tolist()}
    if columns.has_numbers:
        splits = {node: (feature, int(grown.threshold[node])) for node, (feature, _) in split_of.items()}
        columns, split_of = at_ranks(columns, numbers[1], splits)

    def choose(rows: np.ndarray, node: int) -> tuple[int, list[int]]:
        if node not in split_of:
            return LEAF, []
        feature, is_below = split_of[node]
        return feature, [int(grown.children_left[node]), int(grown.children_right[node])][:: -1 if is_below else 1]

    tree = task.prune(Tree.grow(problem.over(columns), choose, 0))
    if columns is not problem.columns:  # without the thresholds of the pruned splits
        columns = columns.keep(sorted(tree.used_features))
        tree = tree.over(columns.features)
    return Outcome(tree, None, "heuristic", {"iterations": len(split_of)}, columns=columns)


SOLVER = Solver(
    name="cart",
    title="scikit-learn's greedy tree, pruned for the same objective: the baseline",
    paper="Breiman, Friedman, Olshen, Stone: Classification and Regression Trees, 1984",
    features=("binary", "numeric"),
    constraints=("max_depth", "max_splits", "min_samples_leaf"),
    exact=False,
    anytime=False,
    iteration="one split of the grown tree, before pruning",
    imports=("sklearn.tree",),
    run=run,
    parameters={"criterion": Parameter(str, "gini", "impurity: gini, entropy or log_loss")},
)
