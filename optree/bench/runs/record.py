"""Run records: one JSON file for each run, validated at writing and at reading."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from optree.bench.system import schema
from optree.errors import OptreeError
from optree.files import write_whole
from optree.objective import CONSTRAINTS, Constraints, Objective

SCHEMA = Path(__file__).with_name("record.schema.json")
# Further statuses of a run: see optree.bench.peers.run_peer and optree.bench.system.process_limits.
PEER_STATUSES = ("wrong_certificate", "killed", "error", "skipped")


@dataclass(frozen=True)
class Run(Constraints):
    """One run: a problem, an objective, an algorithm, and limits.

    Attributes
    ----------
    dataset, encoding : str
        Names in the datasets table and in the configuration.
    algorithm : str
        The name under which the configuration runs a solver.
    solver : str
        Registry name.
    parameters : dict
        The solver's own parameters.
    regularization : str
        lambda, as written.
    penalty : {"split", "leaf"}
    measure : str
        The loss, as written; see :mod:`optree.measure`.
    split : str
        The fold; see :mod:`optree.bench.runs.folds`.
    test_size : str
        Share of rows that a seed holds out, a decimal.
    limits : dict
        Fields of :class:`~optree.budget.Budget`.
    repeats : int
        Maximum number of searches; see :data:`optree.bench.runs.score.REPEAT_SECONDS`.
    depth_of : str or None
        Another algorithm of the configuration: the depth of its tree is the depth limit, in place of ``max_depth``.
    max_depth, max_splits, min_samples_leaf, ...
        The constraints; see :class:`optree.objective.Constraints`.
    """

    dataset: str
    encoding: str
    algorithm: str
    solver: str
    regularization: str
    penalty: str = "split"
    measure: str = "accuracy"
    split: str = "full"
    test_size: str = "0.2"
    parameters: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, float | None] = field(default_factory=dict)
    repeats: int = 1
    depth_of: str | None = None

    def objective(self, max_depth: int | None) -> Objective:
        """Return the objective with this depth limit, which may be another than ``self.max_depth``."""
        limits = {name: getattr(self, name) for name in CONSTRAINTS} | {"max_depth": max_depth}
        return Objective.of(self.regularization, self.penalty, measure=self.measure, **limits)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def write(record: dict, path: str | Path) -> None:
    """Validate a record and write its file, completely or not at all."""
    schema.check(record, SCHEMA, str(path))
    write_whole(path, _dump(record).encode())


def _dump(record: dict) -> str:
    """Return JSON with one line per top-level key: small, and readable for ``diff``."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read(path: str | Path) -> dict:
    """Return the record in a file.

    Raises
    ------
    OptreeError
        If the file is truncated, not JSON, or not a run record.
    """
    return read_record(path, SCHEMA, "not a run record", "its run is done again")


def read_record(path: str | Path, record_schema: Path, problem: str, remedy: str) -> dict:
    """Return the record in a file of this schema; an error names the problem, and the remedy if the file is deleted."""
    try:
        record = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: {problem} ({error}); delete the file and {remedy}") from error
    schema.check(record, record_schema, str(path))
    return record
