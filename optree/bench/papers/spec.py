"""What a paper is for the workflow: tables and figures, each a function of printed numbers and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from optree.bench.tables.formats import Table
from optree.errors import OptreeError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LEVELS = {
    "smoke": "under five minutes, no network",
    "short": "under two hours on two cores",
    "full": "all that the paper prints, sized for a cluster",
}


@dataclass(frozen=True)
class Level:
    """How much of a paper is run.

    Attributes
    ----------
    config : tuple of str
        Configurations, files in ``config/``.
    needs : str
        Data and peers that it does not generate or ship.
    time : str
        How long it takes, and on what: measured, or said to be an estimate.
    """

    config: tuple[str, ...]
    needs: str
    time: str


@dataclass(frozen=True)
class Paper:
    """A paper whose numbers are set beside measured ones.

    Attributes
    ----------
    name : str
        As in the registry, and the folder of its printed numbers in ``resources/papers``.
    title : str
        One line, for people.
    levels : mapping of str to Level
        A key for each of :data:`LEVELS`.
    tables : mapping of str to callable
        A function for each generated table, ``paper_table_NAME``: of the folder with the printed numbers, and all runs
        as :func:`optree.bench.tables.frame.frame` gives them. It has to cope with runs that are not there. Where a
        configuration asks for fits of estimators, they come as ``fits``: :func:`optree.bench.fits.frame.read_fits`.
    figures : mapping of str to callable
        The same for each generated figure, ``paper_figure_NAME``.
    tolerances : mapping of str to str
        How far what is measured may be from what is printed, by claim; where it has none, the printed digits.
    """

    name: str
    title: str
    levels: Mapping[str, Level]
    tables: Mapping[str, Callable[..., Table]]
    figures: Mapping[str, Callable[..., Figure]] = field(default_factory=dict)
    tolerances: Mapping[str, str] = field(default_factory=dict)


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file of printed numbers, every cell as it is written."""
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    except (OSError, ValueError) as error:
        raise OptreeError(f"{path}: not a table of printed numbers ({error})") from error
