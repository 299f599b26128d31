"""ShapeCART: greedy trees whose splits are learned shapes: a child may be several intervals of a feature.

The bins of a feature are the leaves of an inner CART on this feature alone. The bins are assigned to two or more
children so that the weighted impurity is lowest, and the feature of lowest impurity is split. ``shapes.py`` has the
algorithm, its proofs and its complexity. The values of a feature are taken in order.

Source: N. Upadhya, E. Cohen, "Empowering Decision Trees via Shape Function Branching", NeurIPS 2025, without shapes of
two features and without the refinement of grown trees. Defaults of the inner tree are from the paper's program: depth 6
and 32 leaves; its library sgtlearn has 3 and 8. Differences from that program:

- The assignment of bins is the best one for two classes. For more classes nothing is drawn.
- It has enough rows in each child. The program skips a feature whose best assignment has a child of too few rows.
- Among shapes of equal impurity, the one with the fewest children is taken.
- A split has to lower the impurity.

The objective's lambda has no influence unless ``prune`` is set.
"""

from __future__ import annotations

import numpy as np

from optree.errors import OptreeError, choice
from optree.problem import Problem
from optree.result import Outcome
from optree.solvers.base import Parameter, Solver, Task
from optree.solvers.kernels.interval_partitions import CRITERIA, logs_of, unit_of
from optree.solvers.shapecart import shapes as kernel
from optree.tree import LEAF, Tree

PARAMETERS = {
    "max_ways": Parameter(int, 2, "maximum number of children of a split"),
    "support": Parameter(int, 20, "minimum rows of a leaf; min_samples_leaf, if that is more"),
    "inner_depth": Parameter(int, 6, "levels of the inner tree"),
    "inner_leaves": Parameter(int, 32, "maximum number of bins of a feature"),
    "inner_least": Parameter(int, 1, "minimum weight of a bin"),
    "sweeps": Parameter(int, 20, "maximum number of sweeps of coordinate descent, for more than two classes"),
    "criterion": Parameter(str, "gini", "impurity: gini or entropy"),
    "prune": Parameter(bool, False, "prune the grown tree for the objective, as cart is"),
}
_LOWEST = {"max_ways": 2, "support": 1, "inner_depth": 1, "inner_leaves": 2, "inner_least": 1, "sweeps": 0}


class Grower:
    """The search for shapes of supports, until a limit, the name of which is then ``status``."""

    def __init__(self, task: Task, options: dict):
        problem = task.problem
        self.clock, self.status, self.iterations = task.clock, None, 0
        self.rules = kernel.Rules(
            criterion=CRITERIA[options["criterion"]],
            unit=unit_of(problem),
            min_bin_weight=options["inner_least"],
            max_bins=options["inner_leaves"],
            inner_depth=options["inner_depth"],
            ways=options["max_ways"],
            support=max(options["support"], task.objective.min_samples_leaf),
            sweeps=options["sweeps"],
        )
        self.rows = kernel.Rows(
            codes=problem.codes.astype(np.int32),  # one type, for which the kernel is compiled
            y=problem.y,
            weights=problem.weights,
            first=np.append(0, problem.n_parts.cumsum(dtype=np.int64)),
            logs=logs_of(problem),
            classes=len(problem.classes),
        )
        self.work = new_work(problem, self.rules)

    def shape(self, rows: np.ndarray) -> tuple[int, int, np.ndarray]:
        """Return the feature of the best split of some rows, its number of children, and the child of each value.

        The feature is LEAF if no split lowers the impurity, or at a limit.
        """
        try:
            self.status = self.status or self.clock.limit(self.iterations)
            if self.status is None:
                self.iterations += 1
                kernel.best_shape(self.rows, self.work, self.rules, rows)
        except KeyboardInterrupt:
            self.status = "interrupted"
        feature, children = self.work.found[:2].tolist()
        if self.status or feature < 0:
            return LEAF, 0, self.work.child[:0]
        return feature, children, self.work.child[: self.rows.first[feature + 1] - self.rows.first[feature]]


def new_work(problem: Problem, rules: kernel.Rules) -> kernel.Work:
    """Return scratch memory of the kernel."""
    total, values, classes = int(problem.n_parts.sum()), int(problem.n_parts.max()), len(problem.classes)
    ways, bins = rules.ways, min(values, rules.max_bins)
    return kernel.Work(
        table=np.zeros((total, classes), np.int64),
        size=np.zeros(total, np.int64),
        above=np.zeros((values + 1, classes), np.int64),
        value=np.zeros(values + 1, np.int64),
        above_rows=np.zeros(values + 1, np.int64),
        cols=np.zeros(values + 2, np.int64),
        leaves=np.zeros((values + 1, 5), np.int64),
        marked=np.zeros(values + 2, np.uint8),
        weight=np.zeros((bins, classes), np.int64),
        rows=np.zeros(bins, np.int64),
        order=np.zeros(bins, np.int64),
        share=np.zeros(bins),
        sorted=np.zeros((bins + 1, classes), np.int64),
        sorted_rows=np.zeros(bins + 1, np.int64),
        places=np.arange(bins + 1),
        best=np.zeros((ways + 1, bins + 1), np.int64),
        source=np.zeros((ways + 1, bins + 1), np.int64),
        last=np.zeros(bins + 1, np.int64),
        lowest=np.zeros(ways + 1, np.int64),
        group=np.zeros((ways + 1, bins), np.int64),
        group_weight=np.zeros((ways, classes), np.int64),
        group_rows=np.zeros(ways, np.int64),
        moved=np.zeros((2, classes), np.int64),
        nothing=np.zeros(classes, np.int64),
        label=np.zeros(ways, np.int64),
        child=np.zeros(values, np.int64),
        found=np.zeros(3, np.int64),
    )


def run(task: Task, seed: int, **options) -> Outcome:
    """Grow a tree, and prune it if asked to; ``seed`` is not used, because nothing is drawn."""
    if options["criterion"] not in CRITERIA:
        raise choice("solver shapecart: criterion", options["criterion"], CRITERIA)
    for name, lowest in _LOWEST.items():
        if options[name] < lowest:
            raise OptreeError(f"solver shapecart: {name} = {options[name]} is not accepted; give >= {lowest}")
    grower = Grower(task, options)
    task.clock.prepared()

    def choose(rows: np.ndarray, depth: int) -> tuple[int, list[int], np.ndarray]:
        if depth == task.objective.max_depth:
            return LEAF, [], ()
        feature, children, child = grower.shape(rows)
        return feature, [depth + 1] * children, child

    tree = Tree.grow(task.problem, choose, 0)
    tree = task.prune(tree) if options["prune"] else tree
    return Outcome(tree, None, grower.status or "heuristic", {"iterations": grower.iterations})


SOLVER = Solver(
    name="shapecart",
    title="greedy trees whose children are unions of intervals of a feature, two or more",
    paper="Upadhya, Cohen: Empowering Decision Trees via Shape Function Branching, NeurIPS 2025, arXiv 2510.19040",
    features=("binary", "multiway"),
    constraints=("max_depth", "min_samples_leaf"),
    exact=False,
    iteration="one node that was looked at",
    run=run,
    parameters=PARAMETERS,
)
