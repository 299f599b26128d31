"""GOSDT: best-first search over a dependency graph of supports.

Source: J. Lin, C. Zhong, D. Hu, C. Rudin, M. Seltzer, "Generalized and Scalable Optimal Sparse Decision Trees", ICML
2020, section 4 and Algorithm 1.

A subproblem is a *support*, and an interval around its optimal cost serves every path to the support. An iteration
takes one item: a signal that the bounds of a support moved, which updates its parents, or a support to be expanded or
continued with its next split. Equal rows of different classes bound every tree (Theorem B.9). A support that no split
can improve by its penalty is a leaf (B.6). A split is pruned if its smaller child cannot repay the penalty (B.7). The
bound of a split carries over to neighbouring splits, minus the rows on which they differ (Theorem 4.1, ``expand.py``).

A split with a child of fewer rows than ``min_samples_leaf`` is no candidate. The rows that two such splits part
differently may leave a leaf too small, so that Theorem 4.1 does not hold with a minimum above one row. A threshold is
left out of a support if the next threshold of its column is at least as good (Appendix G, ``expand.dominated``); this
bound, too, needs leaves of any size.

The paper leaves the order of explorations open; here the least lower bound of the root comes first. Costs are whole
numbers. Measures that are sums over rows are costs of predictions, for any number of classes.

Two guesses shorten the search, which then ends as "heuristic", without a bound (``reference_ensemble.py``). The counter
``proven_within_guess`` is 1 if the tree is optimal under the guesses.

Complexity: at most one expansion per support, each O(words of the rows * features); memory grows with the splits that
may win.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optree.errors import OptreeError
from optree.problem import Problem
from optree.result import Outcome
from optree.solvers import reference_ensemble as guesses
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.driver import Room, drive_with_starts, enlarge
from optree.solvers.gosdt import graph
from optree.solvers.gosdt import search as graph_search
from optree.solvers.gosdt.graph import EXPANDED, ITERATIONS, TABLES, Graph, Rules
from optree.solvers.kernels import memo
from optree.solvers.kernels.bit_layout import Layout, layout
from optree.solvers.kernels.bitset import hash_words
from optree.solvers.kernels.codes import INFINITE, NO_LIMIT
from optree.solvers.kernels.row_set_table import LOW
from optree.tree import LEAF, Tree


def _weights(data: Layout) -> np.ndarray:
    """Return n - e of each block: the greatest loss of a bit minus its loss in every tree."""
    last = data.n_classes + data.n_totals - 1
    counted = data.target == data.n_classes if data.n_totals > 1 else data.target < data.n_classes
    weight = np.zeros(len(data.blocks), np.int64)
    block = np.repeat(np.arange(len(weight)), np.diff(data.first_term))
    np.add.at(weight, block, data.factor * (counted.astype(np.int64) - (data.target == last)))
    return weight


def _nested(data: Layout) -> np.ndarray:
    """Return the relation of each feature to the feature before it: see `Graph.nested`."""
    ones = data.rows[1 : 2 * len(data.feature) : 2]
    apart = [(a & ~b).any(axis=1) for a, b in ((ones[:-1], ones[1:]), (ones[1:], ones[:-1]))]
    return np.append(0, np.where(apart[0], -1 * ~apart[1], 1)).astype(np.int8)


class Search:
    """The tables of a search for one problem, whose root as a leaf costs ``leaf``."""

    def __init__(self, data: Layout, rules: Rules, leaf: int):
        self.data, self.rules = data, rules
        words, width = data.rows.shape[1], len(data.bits) // data.rows.shape[1]
        self.memo = memo.new_memo(words)
        self.graph = Graph(
            node=np.zeros(len(self.memo.entry), graph.NODE),
            edge=np.zeros(1 << 12, graph.EDGE),
            link=np.zeros(1 << 13, graph.LINK),
            item=np.zeros(1 << 10, graph.ITEM),
            signal=np.zeros(1 << 10, np.int64),
            used=np.zeros(7, np.int64),
            bits=data.bits.copy(),
            key=np.zeros((2, words), np.uint64),
            counts=np.zeros((data.n_classes + data.n_totals, width), np.int64),
            cost=np.zeros((6, width), np.int64),
            weight=_weights(data),
            nested=_nested(data),
        )
        root = self.memo.entry[0]
        root["hash"], root["limits"] = hash_words(data.rows[-1], data.salt), NO_LIMIT
        root["parent"] = root["clause"] = root["feature"] = -1
        root["lower"], root["upper"] = min(leaf, rules.penalty), leaf
        self.memo.used[0] = 1
        self.memo.slots[root["hash"] & (len(self.memo.slots) - 1)] = root["hash"] & ~LOW  # entry 0
        self.graph.node[0] = (-1, -1, INFINITE, root["lower"], 0, 0)
        self.graph.item[0]["key"], self.graph.used[graph.ITEMS] = root["lower"], 1

    @property
    def iterations(self) -> int:
        return int(self.graph.used[ITERATIONS])

    @property
    def counters(self) -> dict[str, int]:
        used = self.graph.used
        return {
            "iterations": self.iterations,
            "supports": int(self.memo.used[0]),
            "expanded": int(used[EXPANDED]),
            "edges": int(used[graph.EDGES]),
        }

    def interval(self) -> tuple[int, int]:
        root = self.memo.entry[0]
        return int(root["upper"]), int(root["lower"])

    def step(self, iterations: int) -> int:
        return graph_search.search(self.data, self.memo, self.graph, self.rules, iterations)

    def room(self, code: int) -> Room:
        """Return room in the tables that are nearly full."""
        features = len(self.data.feature)
        entries = int(self.memo.used[0]) + 2 * features
        used = dict(zip(TABLES, self.graph.used.tolist(), strict=False)) | {"node": entries}
        used["signal"] += entries
        full = [name for name, size in used.items() if size + 2 * features + 4 > len(getattr(self.graph, name))]
        tables = enlarge(getattr(self.graph, name) for name in full)
        return tables + memo.grow(self.memo, 2 * features, self._keep)

    def _keep(self, grown: memo.Memo) -> None:
        self.memo = grown

    def tree(self, problem) -> Tree:
        """Return the incumbent; state -1 is a child that was solved as a leaf."""

        def choose(rows: np.ndarray, at: int) -> tuple[int, list[int]]:
            f = LEAF if at < 0 else int(self.memo.entry[at]["feature"])
            if f == LEAF:
                return LEAF, []
            made, j = self.graph.node[at], int(self.data.feature[f])
            edges = self.graph.edge[made["first_edge"] : made["first_edge"] + made["n_edges"]]
            found = np.flatnonzero(edges["feature"] == f)
            below = [int(edges[side][found[0]]) if len(found) else -1 for side in ("left", "right")]
            first = int(self.data.first_clause[f])
            return j, [below[max(0, int(clause) - first)] for clause in self.data.clause_of[j, :2]]

        return Tree.grow(problem, choose, 0)


_BOUNDS = "similar_support", "subset_bound"  # in the order of `Rules`


def run(task: Task, seed: int, guess_thresholds: bool, guess_lower_bound: bool, **bounds: bool) -> Outcome:
    """Search as the module's docstring says. ``seed`` is the seed of the guesses' ensemble."""
    if not guess_thresholds and not guess_lower_bound:
        return _search(task, task.problem, bounds)
    if guess_lower_bound and task.problem.costs is not None:
        raise OptreeError("solver gosdt: guess_lower_bound = True is not accepted with costs; give False")
    kept, best = guesses.guess(task.problem, seed, guess_thresholds, guess_lower_bound, task.clock)
    outcome = _search(task, guesses.narrow(task.problem, kept), bounds, best)
    proven = outcome.status == "optimal"
    counters = outcome.counters | {"features_kept": len(kept), "proven_within_guess": int(proven)}
    tree = guesses.widen(task.problem, outcome.tree, kept)
    return Outcome(tree, None, "heuristic" if proven else outcome.status, counters)


def _search(task: Task, problem: Problem, bounds: dict[str, bool], best: np.ndarray | None = None) -> Outcome:
    """Search for a tree of the task's problem, or of a problem with guesses."""
    whole, scale, exact = problem, task.scale, problem is task.problem
    problem, constant, leaf = problem.without_least_costs()
    leaf *= scale.error
    offset = scale.error * constant + (scale.penalty if task.objective.penalty == "leaf" else 0)
    least = task.objective.min_samples_leaf
    data = layout(problem, least > 1, best, task.clock.check) if leaf > scale.penalty else None
    task.clock.prepared()
    if data is None:
        tree = Tree.leaf(whole)
        return Outcome(tree, leaf + offset, "optimal", {"iterations": 0, "supports": 0, "expanded": 0, "edges": 0})
    search = Search(
        data, Rules(scale.error, scale.penalty, *(bounds[name] and least == 1 for name in _BOUNDS), least), leaf
    )
    status, start = drive_with_starts(
        search,
        task if exact else replace(task, starts=False),
        len(data.bits),
        lambda upper, lower: task.trace.add(upper + offset, lower + offset if exact else None),
    )
    if status is None:
        raise RuntimeError("gosdt: nothing is left to explore, and the root is not solved")
    return Outcome(task.cheaper(search.tree(whole), start), search.interval()[1] + offset, status, search.counters)


SOLVER = Solver(
    name="gosdt",
    title="best-first search over a dependency graph of supports",
    paper="Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal Sparse Decision Trees, ICML 2020",
    constraints=("min_samples_leaf", "costs"),
    exact=True,
    iteration="one item taken from the queues: a signal, or a set of rows explored",
    run=run,
    parameters={
        "guess_thresholds": Parameter(bool, False, "only the features that a boosted ensemble needs: a heuristic"),
        "guess_lower_bound": Parameter(bool, False, "a boosted ensemble's errors for a bound: a heuristic"),
        "similar_support": Parameter(bool, True, "carry the bound of a split to those beside it (Theorem 4.1)"),
        "subset_bound": Parameter(bool, True, "leave out a threshold that one beside it makes superfluous (App. G)"),
    },
)
