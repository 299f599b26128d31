"""Objectives for tests: penalties that make ties, constraints, and measures."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from optree.objective import Objective

# Most decimals make ties likely, between a split and a leaf of the same cost; some do not.
REGULARIZATIONS = ("0", "0.001", "0.01", "0.02", "0.05", "0.1", "0.125", "0.25", "0.333333333333", "0.5", "1")

MEASURES = (
    *("auc", "f1", "partial-auc:0.3", "jaccard", "f-beta:0.5", "f-beta:2"),
    *("partial-auc:0.05", "partial-auc:0.9", "partial-auc:0", "partial-auc:1"),
)

regularizations = st.sampled_from(REGULARIZATIONS)
depths = st.sampled_from([None, None, None, 0, 1, 2, 3, 4])


def random_objective(seed, rows, least=(1,), splits=None):
    """Return an objective with some constraints, whose penalty makes ties likely: often whole or half rows a split."""
    random = np.random.RandomState(seed)
    decimal = REGULARIZATIONS[random.randint(len(REGULARIZATIONS))]
    value = decimal if random.randint(2) else f"{random.randint(1, 4)}/{2 * rows}"
    depth = [None, None, 1, 2, 3][random.randint(5)]
    return Objective.of(value, ["split", "leaf"][random.randint(2)], depth, splits, int(random.choice(least)))


def limited_objective(seed, depth=6):
    """Return an objective with a limit on depth, often with a limit on splits; ties are likely."""
    random = np.random.RandomState(seed)
    value = ["0", "0", "0.01", "0.05", "0.02", f"{random.randint(1, 4)}/60"][random.randint(6)]
    splits = None if random.randint(2) else int(random.randint(12))
    return Objective.of(value, ["split", "leaf"][random.randint(2)], int(random.randint(depth)), splits)
