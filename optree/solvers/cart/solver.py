"""CART: scikit-learn's greedy tree, then its best pruned subtree for the objective. The baseline.

Source: L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984, chapters 2-3.
``sklearn.tree.DecisionTreeClassifier`` grows the tree. Minimal cost-complexity pruning cuts it back bottom up, at the
objective's lambda and with misclassified rows as the cost.
"""

from __future__ import annotations

import numpy as np

from optree.columns import Columns, NumberSplit
from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.tree import LEAF, Tree


def run(task: Task, seed: int, criterion: str) -> Outcome:
    """Grow a tree and prune it. scikit-learn has no limits, so the tree is always finished."""
    from sklearn.tree import DecisionTreeClassifier

    problem, objective = task.problem, task.objective
    if objective.max_depth == 0 or objective.max_splits == 0:
        columns, _ = problem.columns.at_splits([])
        return Outcome(Tree.leaf(problem.over(columns)), None, "heuristic", {"iterations": 0}, columns=columns)
    model = DecisionTreeClassifier(
        criterion=criterion,
        max_depth=objective.max_depth,
        max_leaf_nodes=None if objective.max_splits is None else objective.max_splits + 1,
        min_samples_leaf=objective.min_samples_leaf,
        random_state=seed,
    )
    columns = problem.columns
    X, values = _ranks(columns.as_numbers(task.clock.check).X) if columns.has_numbers else (problem.codes, [])
    grown = model.fit(X, problem.y, sample_weight=problem.weights).tree_
    split_of = {node: (int(grown.feature[node]), False) for node in np.flatnonzero(grown.feature >= 0).tolist()}
    if columns.has_numbers:
        columns, split_of = _at_splits(columns, grown, values, list(split_of))

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


def _ranks(X: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the rank of each number among the distinct values of its column, float32[n, p], and these values.

    CART depends on the order of numbers alone. scikit-learn reads float32, which has ranks exactly, but not all numbers
    and no infinite ones.
    """
    ranks, values = np.empty(X.shape, np.float32), []
    for column, rank in zip(X.T, ranks.T, strict=True):
        distinct, rank[:] = np.unique(column, return_inverse=True)
        values.append(distinct)
    return ranks, values


def _at_splits(
    columns: Columns, grown, values: list[np.ndarray], nodes: list[int]
) -> tuple[Columns, dict[int, tuple[int, bool]]]:
    """Return columns with the splits of nodes as features, and of each node the feature and whether 1 is below."""
    splits = []
    for node in nodes:
        column = int(grown.feature[node])
        below, above = values[column][int(grown.threshold[node]) :][:2]
        splits.append(NumberSplit(column, float(below), float(above)))
    columns, found = columns.at_splits(splits)
    return columns, dict(zip(nodes, found, strict=True))


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
