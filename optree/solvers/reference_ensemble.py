"""Guesses from a boosted reference ensemble: the features that a problem needs, and predictions as a lower bound.

Source: H. McTavish, C. Zhong, R. Achermann, I. Karimalis, J. Chen, C. Rudin, M. Seltzer, "Fast Sparse Decision Tree
Optimization via Reference Ensembles", AAAI 2022. A binary feature is a column with a threshold, so a guess
of features is a guess of thresholds. The ensemble is scikit-learn's gradient boosting of 40 trees of depth two.

- *Thresholds*: drop the features that the ensemble does not use, then repeatedly the least important one. Stop when a
  new fit of the ensemble misclassifies more training rows.
- *Lower bound*: assume that no tree has fewer errors on a support than the ensemble.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optree.budget import Clock
from optree.columns import CodedColumns
from optree.problem import Problem
from optree.tree import LEAF, Tree

_TREES, _DEPTH = 40, 2


def ensemble(seed: int):
    """Return the ensemble before its fit."""
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=_TREES, max_depth=_DEPTH, random_state=seed)


def _fit(problem: Problem, features: np.ndarray, seed: int):
    """Fit the ensemble to some features; return the ensemble and its misclassified weight."""
    codes = problem.codes[:, features]
    model = ensemble(seed)
    model.fit(codes, problem.y, sample_weight=problem.weights)
    return model, int(problem.weights[model.predict(codes) != problem.y].sum())


def guess(
    problem: Problem, seed: int, thresholds: bool, bound: bool, clock: Clock
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the needed features int64[kept], and int64[groups], the ensemble's class for each group of equal rows.

    Without the guess of ``thresholds`` all features are needed. Without the guess of a ``bound`` the classes are None.
    Features are dropped during the first half of the clock's seconds only.
    """
    kept = np.arange(len(problem.features))
    if np.count_nonzero(np.bincount(problem.y, problem.weights)) < 2:
        return kept, None
    model, errors = _fit(problem, kept, seed)
    half = np.inf if clock.budget.seconds is None else clock.budget.seconds / 2
    while thresholds and len(kept) > 1 and clock.seconds() < half:
        used = model.feature_importances_ > 0
        if used.all():
            used[model.feature_importances_.argmin()] = False
        if not used.any():
            break
        smaller, more = _fit(problem, kept[used], seed)
        if more > errors:
            break
        kept, model = kept[used], smaller
    groups = narrow(problem, kept).groups
    return kept, model.predict(groups.codes).astype(np.int64) if bound else None


def narrow(problem: Problem, kept: np.ndarray) -> Problem:
    """Return the problem with some of its features."""
    return problem.over(CodedColumns(problem.codes[:, kept], [problem.features[j] for j in kept]))


def widen(problem: Problem, tree: Tree, kept: np.ndarray) -> Tree:
    """Return a tree over some features of a problem as a tree over all of them."""
    feature = np.where(tree.feature == LEAF, LEAF, kept[tree.feature]).astype(np.int32)
    return replace(tree, feature=feature, features=problem.features)
