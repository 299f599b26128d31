"""A search in another process: what it tells, and when it is late; for a peer's runner also what it is asked."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from optree.bench.peers.declaration import Peer
from optree.bench.runs.record import Run
from optree.bench.runs.score import REPEAT_SECONDS, seed
from optree.bench.system import process_limits as guard
from optree.objective import Objective
from optree.problem import Problem

START_SECONDS = 300.0  # for imports and the warm-up, which may compile
END_SECONDS = 30.0  # to hand over an answer
_FOREIGN = ("PYTHON", "NUMBA_", "VIRTUAL_ENV")  # variables of our environment that would disturb the peer's


def patience(seconds: float) -> float:
    """How long a search with this time limit is waited for: a little longer, to end by itself."""
    return 1.1 * seconds + 2


class Progress:
    """What a search in another process has told so far, and whether it is late."""

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
        """Why the search has had its time, or None."""
        self.read()
        if self.searching:
            late = self._seconds is not None and self.seconds() > patience(self._seconds)
            return f"ignores its limit of {self._seconds:g} s" if late else None
        most = END_SECONDS if self.ready else START_SECONDS
        return f"no answer within {most:g} s" if self.seconds() > most else None

    def close(self) -> None:
        self.read()
        self._file.close()

    def facts(self, end: guard.End) -> dict:
        """What was measured, whatever the answers are worth: fields of :class:`~optree.bench.entries.Found`."""
        facts: dict = {"peak_rss_mib": end.peak_rss_mib}
        if ready := self.ready:
            facts |= {"warm_up_seconds": ready["warm_up"]}
            facts |= {"machine": {"python": ready["python"], "versions": ready["versions"]}}
        seconds = [(answer["seconds"], answer["call"]) for answer in self.answers]
        if not seconds and self.searching:
            seconds = [(self.seconds(),) * 2]
        return facts | {"searches": tuple(own for own, _ in seconds), "calls": tuple(call for _, call in seconds)}


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
) -> tuple[guard.End, Progress]:
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
    progress = Progress(folder / "answers", asked["seconds"])
    try:
        end = guard.run(list(map(str, command)), folder / "output", asked["memory_mib"], progress.late, _environment())
    finally:
        progress.close()
    return end, progress
