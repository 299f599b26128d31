"""One run of a peer, in its own environment and under limits.

The peer's answer is rebuilt as a tree of ours and scored on the rows; its status and its bound are claims. A limit, a
crash and a failed installation are results.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import floor, isfinite

import numpy as np

from optree.bench.peers.child_process import make_request, run_child
from optree.bench.peers.declaration import Peer
from optree.bench.runs.progress import Progress
from optree.bench.runs.record import Run
from optree.bench.runs.score import (
    SearchOutcome,
    depth_limit,
    make_record,
    median_index,
    train_and_test,
    why_no_depth,
    why_too_large,
)
from optree.bench.system.process_limits import ProcessEnd
from optree.columns import Columns, NumberSplit
from optree.errors import OptreeError
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import TracePoint
from optree.tree import LEAF, Tree

TOLERANCE = Fraction(1, 10**6)  # peers compute with floats, some in single precision


def rebuild(problem: Problem, nested: dict) -> tuple[Tree, Columns]:
    """Return the tree of an answer, whose leaves predict from the problem's rows, and the columns that it splits."""
    try:
        if problem.columns.has_numbers:
            return _rebuild_over_numbers(problem, nested)
        return Tree.grow(problem, partial(_coded_split, problem), nested), problem.columns
    except (KeyError, TypeError, ValueError) as error:
        raise OptreeError(f"its tree cannot be read ({type(error).__name__}: {error})") from error


def _coded_split(problem: Problem, rows: np.ndarray, node: dict) -> tuple[int, list] | tuple[int, list, list]:
    """Return the feature of an answer's node, its children, and the child of each category."""
    if not node:
        return LEAF, []
    feature, children = node["feature"], node["children"]
    categories = len(problem.features[feature].labels) if feature in range(len(problem.features)) else 0
    places = node.get("places", range(len(children) if len(children) == categories else 0))
    if not places or len(places) > categories or set(places) != set(range(len(children))):
        raise OptreeError(f"its tree splits feature {feature!r} into {len(children)} parts, which is none of ours")
    return feature, children, [*places, *[places[-1]] * (categories - len(places))]


def _rebuild_over_numbers(problem: Problem, nested: dict) -> tuple[Tree, Columns]:
    """Return the tree with the peer's own thresholds: a row goes to the first child if its number is at most that."""
    (X, is_multiway), splits = problem.columns.as_numbers(), {}

    def collect(node: dict) -> None:
        if not node:
            return
        column, threshold, children = node["feature"], float(node["threshold"]), node["children"]
        if column not in range(X.shape[1]) or is_multiway[column] or len(children) != 2:
            raise OptreeError(f"its tree splits column {column!r} into {len(children)} parts, which is none of ours")
        if not X[:, column].min() <= threshold < X[:, column].max():
            raise OptreeError(f"its tree splits column {column} at {threshold}, which separates no two rows")
        splits[id(node)] = NumberSplit(column, threshold, threshold)
        for child in children:
            collect(child)

    collect(nested)
    columns, features = problem.columns.at_splits([*splits.values()])
    found = dict(zip(splits, features, strict=True))

    def choose(rows: np.ndarray, node: dict) -> tuple[int, list]:
        if not node:
            return LEAF, []
        feature, is_one_below = found[id(node)]
        return feature, node["children"][:: -1 if is_one_below else 1]

    return Tree.grow(problem.over(columns), choose, nested), columns


def _number(answer: dict, name: str) -> float | None:
    """Return a field of an answer if it is a finite number, else None."""
    value = answer.get(name)
    return value if isinstance(value, (int, float)) and isfinite(value) else None


def _cost(value: float | None, penalty: str, objective: Objective) -> Fraction | None:
    """Return the cost, as a share of all rows, of a claimed accuracy - lambda * splits."""
    if value is None:
        return None
    return 1 - Fraction(value) + (objective.regularization if penalty == "leaf" else 0)


def _contradiction(claimed: Fraction | None, cost: Fraction, broken: dict[str, int]) -> str:
    """Return the contradiction between a peer's claim and its own tree, else an empty string."""
    if broken:
        return "its tree breaks " + ", ".join(f"{name} with {value}" for name, value in broken.items())
    if claimed is not None and abs(claimed - cost) > TOLERANCE:
        return f"claims the objective {float(1 - claimed):.6f}, its tree has {float(1 - cost):.6f}"
    return ""


def _lower_bound(answer: dict, run: Run, objective: Objective, train: Problem, scale: Scale, cost: int) -> int | None:
    """Return the claimed bound in units of the scale, less the tolerance, rounded down, and at most the cost."""
    share = _cost(_number(answer, "bound"), run.penalty, objective)
    if share is None:
        return None
    return max(0, min(cost, floor((share - TOLERANCE) * train.total_weight * scale.row)))


def _verdict(answer: dict, tree: Tree, run: Run, objective: Objective, train: Problem) -> dict:
    """Return status, bound, trace, and the reason of a wrong answer, as fields of :class:`SearchOutcome`."""
    scale = objective.scale(train)
    cost = objective.cost(tree, scale, tree.loss(train))
    claimed, limit = _cost(_number(answer, "objective"), run.penalty, objective), run.limits.get("seconds")
    proven = answer["status"] == "optimal"
    share, broken = scale.in_rows(cost) / train.total_weight, objective.broken(tree, train)
    if wrong := _contradiction(claimed, share, broken):
        status = "wrong_certificate" if proven else "error" if broken else answer["status"]
        return {"status": status, "reason": wrong, "trace": (TracePoint(answer["seconds"], cost, None),)}
    bound = cost if proven else _lower_bound(answer, run, objective, train, scale, cost)
    verdict = {"status": answer["status"], "lower_bound": bound, "trace": (TracePoint(answer["seconds"], cost, bound),)}
    if proven and limit is not None and answer["seconds"] > limit:
        verdict |= {"status": "time_limit", "reason": f"proven only after its limit of {limit:g} s"}
    return verdict


def judge(run: Run, objective: Objective, train: Problem, end: ProcessEnd, progress: Progress) -> SearchOutcome:
    """Return the outcome of a peer's searches. Its status and bound are claims; tree, cost and memory are facts."""
    measured = progress.measurements(end)
    if not progress.answers:
        # Before the end of the warm-up, the search itself has not reached its time limit.
        status = "error" if end.status == "time_limit" and not progress.ready else end.status or "error"
        return SearchOutcome(status, reason=end.reason or "gave no answer", **measured)
    answer = progress.answers[median_index(measured["searches"])]
    claim = {"status": answer["status"], "objective": _number(answer, "objective"), "bound": _number(answer, "bound")}
    measured |= {"counters": {"iterations": _number(answer, "iterations")}, "claim": claim}
    measured |= {"found": {"count": str(answer["trees"])} if "trees" in answer else None}
    if answer.get("tree") is None:
        status = "error" if answer["status"] == "optimal" else answer["status"]
        return SearchOutcome(status, reason="gave no tree", **measured)
    try:
        tree, columns = rebuild(train, answer["tree"])
    except OptreeError as error:
        return SearchOutcome("error", reason=str(error), **measured)
    measured |= {"reason": f"a repeat did not end: {end.reason}" if end.status else ""}
    verdict = _verdict(answer, tree, run, objective, train.over(columns))
    return SearchOutcome(tree=tree, columns=columns, **(measured | verdict))


def run_peer(problem: Problem, notes: dict, run: Run, peer: Peer, marker: dict, reference: dict | None = None) -> dict:
    """Execute a run of a peer and return its record; :mod:`optree.bench.peers.install` wrote the marker."""
    objective, readable = run.objective(depth_limit(run, peer, reference)), peer.readable(problem)
    finish = partial(make_record, problem, notes, run, peer, objective)
    if reason := marker["reason"] or why_no_depth(run, reference):
        return finish(SearchOutcome("skipped", reason=reason))
    if reason := why_too_large(problem, notes, run, peer):
        return finish(SearchOutcome("memory_limit", reason=reason))
    train, _ = train_and_test(readable, run)
    peer.check_problem(train)
    if (train.weights != 1).any():
        raise OptreeError(f"solver {peer.name}: rows with weights are not accepted; leave the weights out")
    end, progress = run_child(peer, marker["python"], make_request(peer, run, objective), train)
    return finish(judge(run, objective, train, end, progress))
