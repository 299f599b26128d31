"""The declaration of a paper: levels, and tables and figures as functions of printed and measured numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from optree.bench.models.frame import frame
from optree.bench.tables.formats import Table
from optree.errors import OptreeError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


PRINTED = Path(__file__).resolve().parents[3] / "resources" / "papers"
LEVELS = {
    "smoke": "under five minutes, no network",
    "short": "under two hours on two cores",
    "full": "everything that the paper prints, sized for a cluster",
}


class Study(NamedTuple):
    """A configuration, a file in ``config/``, and one of its levels, or None for the whole."""

    config: str
    level: str | None = None


@dataclass(frozen=True)
class Level:
    """The extent of a reproduction: a row of ``resources/papers/levels.csv``."""

    studies: tuple[Study, ...]
    needs: str  # data and peers that the repository neither ships nor generates
    time: str  # duration and machine: measured, or marked as an estimate


@dataclass(frozen=True)
class Results:
    """The printed numbers of a paper and the measured ones.

    Attributes
    ----------
    folder : Path
        The folder of printed numbers.
    searches : pandas.DataFrame
        The runs of searches, from :func:`optree.bench.tables.frame.frame`. Runs that a table needs may be missing.
    models : pandas.DataFrame
        The runs of models, from :func:`optree.bench.models.frame.frame`; empty by default.
    """

    folder: Path
    searches: pd.DataFrame
    models: pd.DataFrame = field(default_factory=lambda: frame([]))

    def printed(self, file: str) -> list[dict[str, str]]:
        """Return the rows of a CSV file of printed numbers, every value as text."""
        return _rows(self.folder / file)

    def explanations(self, table: str) -> list[dict[str, str]]:
        """Return a table's rows of ``notes.csv``."""
        return [note for note in self.printed("notes.csv") if note["table"] == table]


def _studies(text: str) -> tuple[Study, ...]:
    """Return the studies of a cell such as ``dpdt.yaml:short``, separated by blanks."""
    return tuple(Study(*study.split(":")) for study in text.split())


def _rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file, every value as text."""
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: not a CSV table of printed numbers ({error})") from error


@dataclass(frozen=True)
class Paper:
    """A paper whose printed numbers are compared with measured ones.

    Attributes
    ----------
    name : str
        The name of its folder here, and of the folder of its printed numbers in ``resources/papers``.
    title : str
        One line.
    tables, figures : mapping of str to callable
        The function of :class:`Results` that makes each generated table, ``paper_table_NAME``, and each generated
        figure, ``paper_figures/NAME``.
    tolerances : mapping of str to str
        The accepted difference between measured and printed numbers, by claim. A claim without one is held to the
        printed digits.
    """

    name: str
    title: str
    tables: Mapping[str, Callable[[Results], Table]]
    figures: Mapping[str, Callable[[Results], Figure]] = field(default_factory=dict)
    tolerances: Mapping[str, str] = field(default_factory=dict)

    @property
    def levels(self) -> dict[str, Level]:
        """Return the paper's rows of ``resources/papers/levels.csv``, one for each of :data:`LEVELS`."""
        rows = (row for row in _rows(PRINTED / "levels.csv") if row["paper"] == self.name)
        return {row["level"]: Level(_studies(row["config"]), row["needs"], row["time"]) for row in rows}
