"""Run records: one JSON file per run, validated when written and when read."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from optree.bench.system import schema
from optree.errors import OptreeError
from optree.files import write_whole
from optree.objective import Objective

SCHEMA = Path(__file__).with_name("record.schema.json")
# How a peer's run can end beside what a search can: see optree.bench.peer.
PEER_STATUSES = ("wrong_certificate", "killed", "error", "skipped")


@dataclass(frozen=True)
class Run:
    """What is to be run: one cell of a table.

    Attributes
    ----------
    dataset, encoding : str
        Names of the datasets table and of the configuration.
    algorithm : str
        Name under which the configuration runs a solver.
    solver : str
        Registry name.
    parameters : dict
        The solver's own parameters.
    regularization : str
        lambda, as written.
    penalty : {"split", "leaf"}
    max_depth, max_splits : int or None
    min_samples_leaf : int
    measure : str
        The loss, as written; see :mod:`optree.measure`.
    split : str
        "full", the seed of a stratified train/test split, or a fold such as "1of5": :mod:`optree.bench.runs.folds`.
    test_size : str
        Share of rows held out by a seed, a decimal.
    limits : dict
        Fields of :class:`~optree.budget.Budget`.
    repeats : int
        How many searches are done at most; see :data:`optree.bench.runs.score.REPEAT_SECONDS`.
    depth_of : str or None
        The algorithm of the configuration whose tree's depth is told to this one as its limit, in place of
        ``max_depth``.
    """

    dataset: str
    encoding: str
    algorithm: str
    solver: str
    regularization: str
    penalty: str = "split"
    max_depth: int | None = None
    max_splits: int | None = None
    min_samples_leaf: int = 1
    measure: str = "accuracy"
    split: str = "full"
    test_size: str = "0.2"
    parameters: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, float | None] = field(default_factory=dict)
    repeats: int = 1
    depth_of: str | None = None

    def objective(self, max_depth: int | None) -> Objective:
        """What is minimised, with this depth limit: ``self.max_depth``, unless another was told."""
        constraints = (max_depth, self.max_splits, self.min_samples_leaf)
        return Objective.of(self.regularization, self.penalty, *constraints, self.measure)

    def to_json(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


def write(record: dict, path: str | Path) -> None:
    """Validate and write: the file is either complete or not there."""
    schema.check(record, SCHEMA, str(path))
    write_whole(path, _dump(record).encode())


def _dump(record: dict) -> str:
    """JSON with one line per top-level key: small, and still fit for ``diff``."""
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read(path: str | Path) -> dict:
    """The record in a file.

    Raises
    ------
    OptreeError
        If the file is truncated, not JSON, or not a run record; the message says how to have it made again.
    """
    try:
        record = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: not a run record ({error}); delete the file and its run is done again") from error
    schema.check(record, SCHEMA, str(path))
    return record
