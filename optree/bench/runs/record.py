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


@dataclass(frozen=True)
class Run(Constraints):
    """One run: a problem, an objective with its constraints, an algorithm, and limits."""

    dataset: str  # name in the datasets table
    encoding: str  # name in the configuration
    algorithm: str  # name under which the configuration runs a solver
    solver: str  # name of one of our solvers or of a peer
    regularization: str  # lambda, as written
    penalty: str = "split"  # "split" or "leaf"
    measure: str = "accuracy"  # the loss, as written; see optree.measure
    split: str = "full"  # the fold; see optree.bench.runs.folds
    test_size: str = "0.2"  # share of rows that a seed holds out, a decimal
    parameters: dict[str, Any] = field(default_factory=dict)  # the solver's own
    limits: dict[str, float | None] = field(default_factory=dict)  # fields of optree.budget.Budget
    repeats: int = 1  # maximum number of searches; see optree.bench.runs.score.REPEAT_SECONDS
    depth_of: str | None = None  # the depth limit is the depth of this algorithm's tree, in place of max_depth

    def objective(self, max_depth: int | None) -> Objective:
        """Return the objective with this depth limit, which may be another than ``self.max_depth``."""
        limits = {name: getattr(self, name) for name in CONSTRAINTS} | {"max_depth": max_depth}
        return Objective.of(self.regularization, self.penalty, measure=self.measure, **limits)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def write(record: dict, path: str | Path) -> None:
    """Validate a record and write its file, completely or not at all."""
    schema.check(record, SCHEMA, str(path))
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()]  # readable for ``diff``
    write_whole(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def read(
    path: str | Path,
    record_schema: Path = SCHEMA,
    problem: str = "not a run record",
    remedy: str = "its run is done again",
) -> dict:
    """Return the record in a file; an error names the problem, and the remedy if the file is deleted."""
    try:
        record = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: {problem} ({error}); delete the file and {remedy}") from error
    schema.check(record, record_schema, str(path))
    return record
