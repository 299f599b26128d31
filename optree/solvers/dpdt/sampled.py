"""The trees of a search whose time is over before its first tree: a CART of few rows.

The rows are at equal distances. A node has one candidate split, so the search takes a small part of a second.
"""

from __future__ import annotations

from dataclasses import replace

from optree.problem import Problem
from optree.solvers.dpdt.growth import Growth, read_sample
from optree.solvers.dpdt.search import Path, solve
from optree.solvers.kernels.presorted_columns import Sample

_ROWS, _CELLS, _DEPTH = 10_000, 1_000_000, 6  # of the sample and its trees, at most


def sampled_path(problem: Problem, growth: Growth) -> tuple[Path, Sample]:
    """Return the trees for all penalties on a sample of the rows, and the sample; no limit is obeyed."""
    width = problem.take(slice(1)).columns.as_numbers().X.shape[1]
    few = slice(None, None, -(-len(problem.y) // min(_ROWS, max(1000, _CELLS // width))))
    growth = replace(growth, cart_nodes_list=(), generator="cart", max_depth=min(_DEPTH, growth.max_depth))
    sample = read_sample(problem.take(few), growth)
    return solve(sample, growth), sample
