"""A peer as an estimator, for peers that split numeric columns at any threshold.

The peer searches in its own environment and under limits, as in :mod:`optree.bench.peers.run_peer`. Its tree is rebuilt
on the rows, and its claims about the tree are checked. The score of classes is the accuracy, that of floats R2.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score

from optree.bench.peers.child_process import make_request, run_child
from optree.bench.peers.declaration import Peer, read_peer
from optree.bench.peers.run_peer import rebuild
from optree.bench.runs.progress import Progress
from optree.bench.runs.record import Run
from optree.bench.runs.score import median_index
from optree.bench.system.process_limits import ProcessEnd
from optree.encoding import EncodingSpec
from optree.encoding.table_columns import TableColumns
from optree.errors import OptreeError, choice
from optree.objective import Objective
from optree.problem import Problem
from optree.target import Classes, Target, Values

_TOLERANCE = 1e-6


class PeerModel:
    """A peer with the interface of an estimator.

    ``parameters`` are the peer's own.

    ``tree_`` may be None; then ``status_`` and ``reason_`` explain it. ``measured_`` has the ``wall`` and ``processor``
    seconds, and the ``peak`` MiB of the peer's process tree.
    """

    def __init__(
        self,
        peer: str,
        max_depth: int,
        max_splits: int | None = None,
        min_samples_leaf: int = 1,
        time_limit: float = 60,  # seconds
        memory_limit: float = 4096,  # MiB
        repeats: int = 1,  # maximum number of searches; the median gives the seconds
        random_state: int = 0,  # not used: nothing is random
        folder: str | Path = "workflow/peers",
        markers: str | Path = ".peers",
        **parameters,
    ):
        self.peer, self.parameters, self.repeats = peer, parameters, repeats
        self.objective = Objective.of(
            "0", max_depth=max_depth, max_splits=max_splits, min_samples_leaf=min_samples_leaf
        )
        self.limits = {"seconds": time_limit, "memory_mib": memory_limit}
        self.folder, self.markers = Path(folder), Path(markers)
        self.tree_, self.reason_, self.measured_ = None, "", {"wall": 0.0, "processor": 0.0, "peak": 0.0}

    def fit(self, X: np.ndarray, y: np.ndarray) -> PeerModel:
        peer = read_peer(self.folder / self.peer)
        if "numeric" not in peer.features:
            raise OptreeError(f"model: peer {self.peer!r} splits no columns of numbers; give one that declares numeric")
        marker = json.loads((self.markers / f"{self.peer}.json").read_text())
        target = self._target(y)
        if target.kind not in peer.targets:
            raise choice(f"model: peer {self.peer!r}: target", target.kind, peer.targets)
        columns = TableColumns.of(
            np.asarray(X, np.float64), EncodingSpec(numeric="numbers"), classes=getattr(target, "classes", ())
        )
        problem = Problem(columns, target)
        if marker["reason"]:
            self.status_, self.reason_ = "skipped", marker["reason"]
        else:
            self._judge(*self._search(peer, marker["python"], problem), problem)
        return self

    def _target(self, y: np.ndarray) -> Target:
        """Return floats as values, and everything else as classes."""
        self._has_values = y.dtype.kind == "f"
        if self._has_values:
            return Values(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        return Classes(labels, tuple(map(str, self.classes_)))

    def _search(self, peer: Peer, python: str, problem: Problem) -> tuple[ProcessEnd, Progress]:
        asked = {"parameters": self.parameters, "limits": self.limits, "repeats": self.repeats}
        run = Run("", "", peer.name, peer.name, "0", **asked)
        peer.check_objective(self.objective)
        request = make_request(peer, run, self.objective)
        return run_child(peer, python, request, problem)

    def _judge(self, end: ProcessEnd, progress: Progress, problem: Problem) -> None:
        """Set the fitted attributes from the median answer; a claim that its tree refutes is no certificate."""
        self.measured_["peak"] = end.peak_rss_mib
        if not progress.answers:
            self.status_, self.reason_ = end.status or "error", end.reason or "gave no answer"
            self.measured_["wall"] = progress.seconds()
            return
        answer = progress.answers[median_index(tuple(answer["seconds"] for answer in progress.answers))]
        self.measured_ |= {"wall": answer["call"], "processor": answer["processor"]}
        try:
            self.tree_, columns = rebuild(problem, answer["tree"])
        except OptreeError as error:
            self.status_, self.reason_ = "error", str(error)
            return
        self.status_, self._encoder = answer["status"], columns.encoder
        predicted = self.tree_.predict(problem.over(columns).codes)
        name, found = self._measure(predicted, problem.y)
        if abs(found - answer["objective"]) > _TOLERANCE:
            self.reason_ = f"claims the {name} {answer['objective']:.6f}, its tree has {found:.6f}"
            self.status_ = "wrong_certificate" if self.status_ == "optimal" else self.status_

    def _measure(self, predicted: np.ndarray, y: np.ndarray) -> tuple[str, float]:
        """Return the name and the value of the measure: R2 of values, accuracy of classes."""
        return ("R2", r2_score(y, predicted)) if self._has_values else ("accuracy", float((predicted == y).mean()))

    def predict(self, X: np.ndarray) -> np.ndarray:
        found = self.tree_.predict(self._encoder.read(X))
        return found if self._has_values else self.classes_[found]

    def score(self, X: np.ndarray, y: np.ndarray) -> float | None:
        """Return the accuracy on the rows, R2 for values; None without a tree."""
        return None if self.tree_ is None else self._measure(self.predict(X), y)[1]
