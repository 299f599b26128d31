"""The search of a mixed-integer program: CART's tree as the start, then HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from optree.budget import Stopped
from optree.errors import OptreeError
from optree.result import Outcome
from optree.solvers.base import Task
from optree.solvers.driver import drive
from optree.solvers.mip.complete_tree import DEEPEST, Cells, CompleteTree, Splits
from optree.solvers.mip.program import Program, Search

ITERATION = "CART's tree, one inner node whose constraints are written, or one node of HiGHS"


class Formulation(Protocol):
    """The variables and constraints of a program for a complete tree."""

    def solution(self, splits: Splits) -> np.ndarray:
        """Return the values of all variables for some splits."""

    def splits(self, x: np.ndarray) -> Splits:
        """Return the splits of a solution."""


def search(task: Task, seed: int, name: str, formulate: Callable[[CompleteTree, Program], Formulation]) -> Outcome:
    """Start from CART and search the program that ``formulate`` writes."""
    objective, clock = task.objective, task.clock
    if objective.max_depth > DEEPEST:
        raise OptreeError(f"solver {name}: max_depth = {objective.max_depth} is not accepted; give 0 to {DEEPEST}")
    if status := clock.limit(0):
        raise Stopped(status)
    complete = CompleteTree(task, Cells.of(task.problem, clock))
    cost, best = complete.best(complete.cart(seed))
    lower, status = complete.unavoidable if complete.depth else cost, "optimal"
    program = Program(clock)
    clock.prepared()

    def offer(x: np.ndarray) -> int:
        nonlocal cost, best
        found = complete.best(formulation.splits(x))
        if found[0] < cost:
            cost, best = found
        return cost

    if lower < cost:
        try:
            program.check()
            formulation = formulate(complete, program)
            start = formulation.solution(complete.placed(best))
            units = task.scale, complete.first_leaf
            highs = Search(program, name, start, offer, (cost, lower), *units, seed)
        except Stopped as stop:
            status = stop.args[0]
        except KeyboardInterrupt:
            status = "interrupted"
        else:
            stopped = drive(highs, clock, task.trace.add)
            lower, ended = highs.end()
            program.iterations = highs.iterations
            status = "optimal" if lower >= cost else stopped or clock.limit(program.iterations) or ended
    clock.searched()
    tree, columns = complete.tree(best)
    return Outcome(tree, min(lower, cost), status, {"iterations": program.iterations}, columns=columns)
