"""One run of a peer: ``python -m optree.bench.peer PROBLEM RECORD --run JSON --peer FOLDER --environment MARKER``.

The peer searches in an environment of its own, as a child under limits (:mod:`optree.bench.guard`); what it answers is
rebuilt as a tree of ours and scored on the rows. A limit, a crash and a peer that could not be installed are results.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from fractions import Fraction
from math import floor
from pathlib import Path

from optree.bench import guard, record
from optree.bench.cli import reporting
from optree.bench.entries import REPEAT_SECONDS, Found, divide, entry, median_search, seed, summary, told_depth
from optree.bench.peers import Peer, read
from optree.bench.record import Run
from optree.errors import OptreeError
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.result import TracePoint
from optree.tree import LEAF, Tree

START_SECONDS = 300.0  # for imports and the warm-up, which may compile
END_SECONDS = 30.0  # to hand over an answer
TOLERANCE = Fraction(1, 10**6)  # peers count in floats, some in single precision
_FOREIGN = ("PYTHON", "NUMBA_", "VIRTUAL_ENV")  # variables of our environment that would disturb the peer's


class _Progress:
    """What a peer's runner has told so far, and whether it is late."""

    def __init__(self, answers: Path, seconds: float | None):
        answers.touch()
        self._file = open(answers)  # noqa: SIM115 - closed by close()
        self._rest, self._seconds = "", seconds
        self.ready: dict | None = None
        self.answers: list[dict] = []
        self.searching = False
        self._since = time.perf_counter()

    def read(self) -> None:
        """Take in the lines that were written since."""
        text = self._rest + self._file.read()
        *lines, self._rest = text.split("\n")
        for line in lines:
            event = json.loads(line)
            self._since = time.perf_counter()
            self.searching = event["event"] == "search"
            if event["event"] == "ready":
                self.ready = event
            elif event["event"] == "answer":
                self.answers.append(event)

    def seconds(self) -> float:
        """Seconds since the last event."""
        return time.perf_counter() - self._since

    def late(self) -> str | None:
        """Why the peer has had its time, or None. A search gets a little more than its limit, to end by itself."""
        self.read()
        if self.searching:
            patience = None if self._seconds is None else 1.1 * self._seconds + 2
            return f"ignores its limit of {self._seconds:g} s" if patience and self.seconds() > patience else None
        patience = END_SECONDS if self.ready else START_SECONDS
        return f"no answer within {patience:g} s" if self.seconds() > patience else None

    def close(self) -> None:
        self.read()
        self._file.close()


def _environment() -> dict[str, str]:
    """Our environment variables without those that are about our Python; one thread."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    return kept | {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def request(peer: Peer, run: Run, objective: Objective) -> dict:
    """What the peer's runner is told."""
    return {
        "regularization": run.regularization,
        "penalty": run.penalty,
        "max_depth": objective.max_depth,
        "max_splits": objective.max_splits,
        "min_samples_leaf": objective.min_samples_leaf,
        "seconds": run.limits.get("seconds"),
        "memory_mib": run.limits.get("memory_mib"),
        "seed": seed(run),
        "repeats": run.repeats,
        "repeat_seconds": REPEAT_SECONDS,
        "parameters": peer.check_parameters(run.parameters),
    }


def start(
    peer: Peer, python: str | Path, asked: dict, folder: Path, problem: Problem | None = None
) -> tuple[guard.End, _Progress]:
    """Run a peer's runner under the limits that it is asked to keep; only the warm-up without a problem.

    Parameters
    ----------
    peer : Peer
    python : path
        The interpreter of the peer's environment.
    asked : dict
        From :func:`request`.
    folder : Path
        An empty directory for the files that go to and fro.
    problem : Problem, optional
        The training rows.
    """
    (folder / "request.json").write_text(json.dumps(asked))
    command = [python, peer.folder.parent / "runner.py", peer.folder, folder / "request.json", folder / "answers"]
    if problem is not None:
        problem.save(folder / "problem.npz")
        command.append(folder / "problem.npz")
    progress = _Progress(folder / "answers", asked["seconds"])
    try:
        end = guard.run(list(map(str, command)), folder / "output", asked["memory_mib"], progress.late, _environment())
    finally:
        progress.close()
    return end, progress


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
        if feature not in range(len(problem.features)) or len(children) != len(problem.features[feature].labels):
            raise OptreeError(f"its tree splits feature {feature!r} into {len(children)} parts, which is none of ours")
        return feature, children

    try:
        return Tree.grow(problem, choose, nested)
    except (KeyError, TypeError) as error:
        raise OptreeError(f"its tree cannot be read ({type(error).__name__}: {error})") from error


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
    share = _cost(answer.get("bound"), run.penalty, objective)
    if share is None:
        return None
    return max(0, min(cost, floor((share - TOLERANCE) * train.total_weight * scale.row)))


def _verdict(answer: dict, tree: Tree, run: Run, objective: Objective, train: Problem) -> dict:
    """Status, bound and trace of an answer, given its tree, and where it is wrong, why."""
    scale = objective.scale(train)
    cost = objective.cost(tree, scale, tree.loss(train))
    claimed, limit = _cost(answer.get("objective"), run.penalty, objective), run.limits.get("seconds")
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


def judge(run: Run, objective: Objective, train: Problem, end: guard.End, progress: _Progress) -> Found:
    """What a peer's answers are worth. Its status and bound are claims; tree, cost and memory are facts."""
    ready, answers = progress.ready, progress.answers
    facts = {"peak_rss_mib": end.peak_rss_mib}
    if ready:
        facts |= {"warm_up_seconds": ready["warm_up"]}
        facts |= {"machine": {"python": ready["python"], "versions": ready["versions"]}}
    if not answers:
        status = end.status or "error"
        if status == "time_limit" and not ready:
            status = "error"  # it is not the search that had no time
        spent = (progress.seconds(),) if progress.searching else ()
        return Found(status, searches=spent, calls=spent, reason=end.reason or "gave no answer", **facts)
    searches = tuple(answer["seconds"] for answer in answers)
    answer = answers[median_search(searches)]
    facts |= {
        "searches": searches,
        "calls": tuple(answer["call"] for answer in answers),
        "counters": {"iterations": answer.get("iterations")},
        "claim": {"status": answer["status"], "objective": answer.get("objective"), "bound": answer.get("bound")},
    }
    if answer["tree"] is None:
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
        What :mod:`optree.bench.install` wrote: the interpreter, or the reason why there is none.
    reference : dict, optional
        The record of ``run.depth_of``: the depth of its tree is the depth limit.
    """
    train, _ = divide(problem, run)
    told = reference is None or reference["tree"] is not None
    depth = told_depth(run, reference)
    if peer.deepest is not None:
        depth = peer.deepest if depth is None else min(depth, peer.deepest)
    objective = run.objective(depth)
    if marker["reason"] or not told:
        reason = marker["reason"] or f"{run.depth_of} has no tree whose depth could be told"
        return entry(problem, notes, run, peer, objective, Found("skipped", reason=reason))
    peer.check_problem(train)
    if (train.weights != 1).any():
        raise OptreeError(f"solver {peer.name}: rows with weights are not accepted; leave the weights out")
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        end, progress = start(peer, marker["python"], request(peer, run, objective), Path(folder), train)
    return entry(problem, notes, run, peer, objective, judge(run, objective, train, end, progress))


def main(arguments: list[str] | None = None) -> None:
    """The command line. Exit code 0 whatever the peer did; 1, with one line, for bad input."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.peer", description=__doc__.splitlines()[0])
    parser.add_argument("problem", help="an encoded problem (.npz)")
    parser.add_argument("record", help="the run record to write (.json)")
    parser.add_argument("--run", required=True, help="the run, as JSON; see optree.bench.record.Run")
    parser.add_argument("--peer", required=True, help="the peer's folder")
    parser.add_argument("--environment", required=True, help="the marker of the peer's environment (.json)")
    parser.add_argument("--depth-of", help="the record whose tree's depth is the depth limit (.json)")
    parser.add_argument("--log", help="where errors and warnings are copied to", default=os.devnull)
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the peer is ended, too
    with reporting(options.log):
        marker = json.loads(Path(options.environment).read_text())
        reference = record.read(options.depth_of) if options.depth_of else None
        problem, notes = Problem.load(options.problem)
        made = solve(problem, notes, Run.from_json(options.run), read(options.peer), marker, reference)
        record.write(made, options.record)
        print(summary(made), file=sys.stderr)


if __name__ == "__main__":
    main()
