"""One run of a peer.

The peer searches in an environment of its own, as a child under limits (:mod:`optree.bench.system.process_limits`); what it answers is
rebuilt as a tree of ours and scored on the rows. A limit, a crash and a peer that could not be installed are results.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from math import floor, isfinite
from pathlib import Path

from optree.bench.peers.declaration import Peer
from optree.bench.runs.record import Run
from optree.bench.runs.score import Found, depth_limit, divide, entry, median_search, untold
from optree.bench.system import process_limits as guard
from optree.bench.system.child_process import Progress, request, start
from optree.bench.system.environment import peer_digest
from optree.errors import OptreeError
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import TracePoint
from optree.tree import LEAF, Tree

TOLERANCE = Fraction(1, 10**6)  # peers count in floats, some in single precision


def rebuild(problem: Problem, nested: dict) -> Tree:
    """The tree that a runner answered, with the classes that the rows have.

    Raises
    ------
    OptreeError
        If it is not a tree over the features of the problem.
    """

    def choose(rows, node: dict) -> tuple[int, list]:
        if not node:
            return LEAF, []
        feature, children = node["feature"], node["children"]
        parts = len(problem.features[feature].labels) if feature in range(len(problem.features)) else 0
        places = node.get("places", range(len(children) if len(children) == parts else 0))
        if not places or len(places) > parts or set(places) != set(range(len(children))):
            raise OptreeError(f"its tree splits feature {feature!r} into {len(children)} parts, which is none of ours")
        return feature, children, [*places, *[places[-1]] * (parts - len(places))]

    try:
        return Tree.grow(problem, choose, nested)
    except (KeyError, TypeError) as error:
        raise OptreeError(f"its tree cannot be read ({type(error).__name__}: {error})") from error


def _told(answer: dict, name: str) -> float | None:
    """A number that a peer tells, if it does and it is one."""
    value = answer.get(name)
    return value if isinstance(value, (int, float)) and isfinite(value) else None


def _cost(value: float | None, penalty: str, objective: Objective) -> Fraction | None:
    """The cost, as a share of all rows, that belongs to accuracy - lambda * splits as a peer tells it."""
    if value is None:
        return None
    return 1 - Fraction(value) + (objective.regularization if penalty == "leaf" else 0)


def _contradiction(claimed: Fraction | None, cost: Fraction, broken: dict[str, int]) -> str:
    """What a peer claims of its own tree that is not so, or nothing."""
    if broken:
        return "its tree breaks " + ", ".join(f"{name} with {value}" for name, value in broken.items())
    if claimed is not None and abs(claimed - cost) > TOLERANCE:
        return f"claims the objective {float(1 - claimed):.6f}, its tree has {float(1 - cost):.6f}"
    return ""


def _bound(answer: dict, run: Run, objective: Objective, train: Problem, scale: Scale, cost: int) -> int | None:
    """The bound that a peer claims, in our units and rounded down by what its floats may be off; at most the cost."""
    share = _cost(_told(answer, "bound"), run.penalty, objective)
    if share is None:
        return None
    return max(0, min(cost, floor((share - TOLERANCE) * train.total_weight * scale.row)))


def _verdict(answer: dict, tree: Tree, run: Run, objective: Objective, train: Problem) -> dict:
    """Status, bound and trace of an answer, given its tree, and where it is wrong, why."""
    scale = objective.scale(train)
    cost = objective.cost(tree, scale, tree.loss(train))
    claimed, limit = _cost(_told(answer, "objective"), run.penalty, objective), run.limits.get("seconds")
    proven = answer["status"] == "optimal"
    share, broken = scale.in_rows(cost) / train.total_weight, objective.broken(tree, train)
    if wrong := _contradiction(claimed, share, broken):
        status = "wrong_certificate" if proven else "error" if broken else answer["status"]
        return {"status": status, "reason": wrong, "trace": (TracePoint(answer["seconds"], cost, None),)}
    bound = cost if proven else _bound(answer, run, objective, train, scale, cost)
    verdict = {"status": answer["status"], "lower_bound": bound, "trace": (TracePoint(answer["seconds"], cost, bound),)}
    if proven and limit is not None and answer["seconds"] > limit:
        verdict |= {"status": "time_limit", "reason": f"proven only after its limit of {limit:g} s"}
    return verdict


def judge(run: Run, objective: Objective, train: Problem, end: guard.End, progress: Progress) -> Found:
    """What a peer's answers are worth. Its status and bound are claims; tree, cost and memory are facts."""
    facts = progress.facts(end)
    if not progress.answers:
        # Without a search, it is not the search that had no time.
        status = "error" if end.status == "time_limit" and not progress.ready else end.status or "error"
        return Found(status, reason=end.reason or "gave no answer", **facts)
    answer = progress.answers[median_search(facts["searches"])]
    claim = {"status": answer["status"], "objective": _told(answer, "objective"), "bound": _told(answer, "bound")}
    facts |= {"counters": {"iterations": _told(answer, "iterations")}, "claim": claim}
    if answer.get("tree") is None:
        status = "error" if answer["status"] == "optimal" else answer["status"]
        return Found(status, reason="gave no tree", **facts)
    try:
        tree = rebuild(train, answer["tree"])
    except OptreeError as error:
        return Found("error", reason=str(error), **facts)
    facts |= {"reason": f"a repeat did not end: {end.reason}" if end.status else ""}
    return Found(tree=tree, **(facts | _verdict(answer, tree, run, objective, train)))


def solve(problem: Problem, notes: dict, run: Run, peer: Peer, marker: dict, reference: dict | None = None) -> dict:
    """Do a run of a peer and return its record.

    Parameters
    ----------
    problem : Problem
        All rows of the dataset, encoded.
    notes : dict
        What the encode step wrote beside it: ``data`` (provenance) and ``seconds``.
    run : Run
    peer : Peer
    marker : dict
        What :mod:`optree.bench.peers.install` wrote: the interpreter, or the reason why there is none.
    reference : dict, optional
        The record of ``run.depth_of``: the depth of its tree is the depth limit.
    """
    train, _ = divide(problem, run)
    objective = run.objective(depth_limit(run, peer, reference))
    if reason := marker["reason"] or untold(run, reference):
        return entry(problem, notes, run, peer, objective, Found("skipped", reason=reason), peer_digest(peer.folder))
    peer.check_problem(train)
    if (train.weights != 1).any():
        raise OptreeError(f"solver {peer.name}: rows with weights are not accepted; leave the weights out")
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        end, progress = start(peer, marker["python"], request(peer, run, objective), Path(folder), train)
    found = judge(run, objective, train, end, progress)
    return entry(problem, notes, run, peer, objective, found, peer_digest(peer.folder))
