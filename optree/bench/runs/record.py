"""Run records: one JSON file for each run, validated at writing and at reading."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import prod
from pathlib import Path
from typing import Any

from optree.bench.runs.folds import FULL, random_seed
from optree.bench.system import schema
from optree.errors import OptreeError
from optree.files import write_whole
from optree.objective import CONSTRAINTS, PENALTIES, Constraints, Objective

SCHEMA = Path(__file__).with_name("record.schema.json")


_TEXT, _TEXT_OR_NULL, _OBJECT = {"type": "string"}, {"type": ["string", "null"]}, {"type": "object"}
_FOLD = {"type": "string", "pattern": "^(full|[0-9]+(of[0-9]+)?)$"}
_LIMITS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "seconds": {"type": ["number", "null"]},
        "iterations": {"type": ["integer", "null"]},
        "memory_mib": {"type": ["number", "null"]},
        "threads": {"type": "integer", "minimum": 1},
    },
}


def _key(schema: dict, compared: bool = False) -> dict:
    """Return the metadata of a field of :class:`Run`: its JSON schema, and whether compared runs share its value."""
    return {"schema": schema, "compared": compared}


def objective_of(fields: Mapping[str, Any]) -> Objective:
    """Return the objective of some fields of a :class:`Run`."""
    return Objective.of(**fields | {"feature_costs": json.loads(fields["feature_costs"] or "{}")})


@dataclass(frozen=True)
class Training:
    """The training of a model: the search over its parameters, and the rows."""

    space: str | None = None  # of a random search, one of optree.bench.models.trials.SPACES
    trials: int | None = None  # number of candidates of a random search
    grid: dict[str, list] = field(default_factory=dict)  # lists of values by parameter, for a grid search
    staged: bool = False  # whether the record keeps the test score after each stage of boosting
    root_splits: bool = False  # whether the record keeps the rows that each candidate split of the root sends left
    train_rows: int | None = None  # maximum number of training rows; the seed samples them
    test_rows: int | None = None  # the same for test or validation rows

    @property
    def candidates(self) -> int:
        """Return the number of models that are trained."""
        return 1 + (self.trials or 0) + (prod(map(len, self.grid.values())) if self.grid else 0)


@dataclass(frozen=True)
class Run(Constraints):
    """One run: a problem, an objective with its constraints, an algorithm, and limits.

    The algorithm is a search (a solver of ours or a peer) or a model (an estimator with the interface of scikit-learn).
    A model has its own objective, in its parameters.

    The schema of records, the columns of tables and the keys of comparisons follow from these fields.
    """

    dataset: str = field(metadata=_key(_TEXT, True))  # name in the datasets table
    # name in the configuration; None for the columns of the table
    encoding: str | None = field(metadata=_key(_TEXT_OR_NULL, True))
    algorithm: str = field(metadata=_key(_TEXT))  # name under which the configuration runs a solver or a model
    solver: str = field(metadata=_key(_TEXT))  # name of one of our solvers, of a peer, or of an estimator
    # lambda, as written; None for a model
    regularization: str | None = field(default=None, metadata=_key(_TEXT_OR_NULL, True))
    penalty: str = field(default="split", metadata=_key({"enum": list(PENALTIES)}, True))
    measure: str = field(default="accuracy", metadata=_key(_TEXT, True))  # the loss, as written; see optree.measure
    # costs of splits by the names of columns, as the text of a JSON object; empty without costs
    feature_costs: str = field(default="", metadata=_key(_TEXT, True))
    split: str = field(default=FULL, metadata=_key(_FOLD, True))  # the fold
    test_size: str = field(default="0.2", metadata=_key(_TEXT, True))  # share of rows that a seed holds out, a decimal
    parameters: dict[str, Any] = field(default_factory=dict, metadata=_key(_OBJECT))  # the solver's own
    # fields of optree.budget.Budget
    limits: dict[str, float | None] = field(default_factory=dict, metadata=_key(_LIMITS))
    # maximum number of searches; see optree.bench.runs.score.REPEAT_SECONDS
    repeats: int = field(default=1, metadata=_key({"type": "integer", "minimum": 1}))
    # the depth limit is the depth of this algorithm's tree, in place of max_depth
    depth_of: str | None = field(default=None, metadata=_key(_TEXT_OR_NULL))
    # fields of Training; None for a search
    model: dict[str, Any] | None = field(default=None, metadata=_key({"type": ["object", "null"]}))

    @property
    def training(self) -> Training:
        """Return the training of a model."""
        return Training(**self.model or {})

    @property
    def seed(self) -> int:
        """Return the random seed: the fold's own, else 0."""
        return random_seed(self.split)

    def objective(self, max_depth: int | None) -> Objective:
        """Return the objective with this depth limit, which may be another than ``self.max_depth``."""
        limits = {name: getattr(self, name) for name in CONSTRAINTS} | {"max_depth": max_depth}
        fields = {name: getattr(self, name) for name in ("regularization", "penalty", "measure", "feature_costs")}
        return objective_of(fields | limits)

    def to_json(self) -> str:
        return json.dumps(vars(self), sort_keys=True)


COMPARED = (*(key.name for key in fields(Run) if key.metadata.get("compared")), *CONSTRAINTS)
_KEYS = [key.name for key in fields(Run)]
RUN_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": _KEYS,
    "properties": {
        key.name: key.metadata["schema"] if "schema" in key.metadata else CONSTRAINTS[key.name].schema
        for key in fields(Run)
    },
}


def comparison_key(run: Run) -> tuple:
    """Return the fields that compared runs share: every field of the problem, none of the algorithm."""
    return tuple(getattr(run, name) for name in COMPARED)


def seal(record: dict) -> dict:
    """Return a record with a digest of its content, which a later edit would contradict."""
    content = {key: value for key, value in record.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True)
    return content | {"digest": hashlib.sha256(text.encode()).hexdigest()[:16]}


def check_seal(record: dict, where: str) -> None:
    """Raise if a record is not the one that a run has written."""
    if record.get("digest") != seal(record)["digest"]:
        raise OptreeError(
            f"{where}: was edited, or is no record of this version; delete the file and its runs are done again"
        )


def write(record: dict, path: str | Path) -> None:
    """Validate a record, seal it and write its file, completely or not at all."""
    schema.check(record, SCHEMA, str(path))
    lines = [
        f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in seal(record).items()
    ]  # readable for ``diff``
    write_whole(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def read(path: str | Path) -> dict:
    """Return the record in a file; an error names the remedy."""
    try:
        record = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: not a record ({error}); delete the file and its run is done again") from error
    check_seal(record, str(path))
    return record
