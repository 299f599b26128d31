"""The trees of a search whose time is over before its first tree: a CART of few rows.

The rows are at equal distances. A node has one candidate split, so the search takes a small part of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from optree.solvers.dpdt.growth import Growth
from optree.solvers.dpdt.search import Path, solve
from optree.solvers.kernels.presort import presort
from optree.solvers.kernels.presorted_columns import Sample

_ROWS, _CELLS, _DEPTH = 10_000, 1_000_000, 6  # of the sample and its trees, at most


def sampled_path(
    read: Callable[[slice], np.ndarray], y: np.ndarray, classes: int, weight: np.ndarray | None, growth: Growth
) -> tuple[Path, Sample]:
    """Return the trees for all penalties on a sample of the rows, and the sample; no limit is obeyed.

    read : returns some rows, float64[m, p].
    """
    width = read(slice(1)).shape[1]
    few = slice(None, None, -(-len(y) // min(_ROWS, max(1000, _CELLS // width))))
    growth = replace(growth, cart_nodes_list=(), generator="cart", max_depth=min(_DEPTH, growth.max_depth))
    weight = None if weight is None else weight[few]
    sample = presort(np.ascontiguousarray(read(few)), y[few], classes, weight, False, growth.n_layers)
    return solve(sample, growth), sample
