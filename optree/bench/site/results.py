"""The results folders of a site: configuration, records, and the small files that the site copies."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import yaml

from optree.bench import papers
from optree.bench.models import frame as model_frame
from optree.bench.tables.frame import frame, load
from optree.errors import OptreeError

RECORDS, CONFIGURATION = "tables/runs.jsonl", "configuration.yaml"
_COPIED = ("tables/*.csv", "tables/*.md", RECORDS, "plots/*.svg", "plots/*figures/*.svg", CONFIGURATION, "report.html")


def slug(name: str) -> str:
    """Return the name of a page's file, which cannot leave its folder; different names have different slugs.

    A name of lower-case letters, digits, ``-`` and ``_`` is its own slug. Any other slug ends with a digest of the
    name.
    """
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,79}", name):
        return name
    kept = re.sub(r"[^a-z0-9]+", "-", name.lower())[:60].strip("-")
    return f"{kept or 'page'}.{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


@dataclass(frozen=True)
class Folder:
    """A folder of results, with the configuration and the frames of its records.

    ``searches`` and ``models`` have the column ``results``, the name of the folder.
    """

    path: Path
    configuration: dict
    searches: pd.DataFrame
    models: pd.DataFrame

    @property
    def name(self) -> str:
        """Return the name of the folder."""
        return self.path.name

    @property
    def paper(self) -> str | None:
        """Return the name of the paper that the configuration reproduces; None without one that is known here."""
        name = self.configuration.get("paper")
        return name if name in papers.names() else None

    @cached_property
    def files(self) -> list[Path]:
        """Return the paths of the copied files within the folder, sorted; links are left out."""
        found = {path for pattern in _COPIED for path in self.path.glob(pattern)}
        return sorted(path.relative_to(self.path) for path in found if path.is_file() and not path.is_symlink())

    def figures(self, folder: str) -> list[Path]:
        """Return the figures among the copied files of a folder such as ``plots/figures``."""
        return [path for path in self.files if path.parent.as_posix() == folder and path.suffix == ".svg"]

    def text(self, file: str) -> str:
        """Return the content of a text file, empty if there is none."""
        path = self.path / file
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def datasets(self) -> Iterator[Path]:
        """Yield the files of facts of the datasets, which the workflow writes when it fetches them."""
        yield from sorted((self.path / "data").glob("*.json"))


def finished(home: Path) -> list[Path]:
    """Return the folders in ``home`` with records and a configuration, sorted."""
    found = (path.parents[1] for path in sorted(home.glob(f"*/{RECORDS}")))
    return [path for path in found if (path / CONFIGURATION).is_file()]


def find(paths: Sequence[Path]) -> list[Folder]:
    """Return results folders."""
    if not paths:
        text = f"results: no folder with {RECORDS} and {CONFIGURATION}; run `make run` first, or name folders"
        raise OptreeError(text)
    found = [_read(path.resolve()) for path in paths]
    names = [folder.name for folder in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise OptreeError(f"results: two folders have the name {twice[0]!r}; give one of them")
    if not any(len(folder.searches) + len(folder.models) for folder in found):
        raise OptreeError(f"results: no records in {', '.join(names)}; run the workflow first")
    return found


def _read(path: Path) -> Folder:
    """Return one results folder."""
    for name in (RECORDS, CONFIGURATION):
        if not (path / name).is_file():
            raise OptreeError(f"{path}: {name} is missing; give a folder of finished results, such as results/default")
    try:
        records = load(path / RECORDS)
        configuration = yaml.safe_load((path / CONFIGURATION).read_text(encoding="utf-8")) or {}
        searches = frame(record for record in records if record["run"]["model"] is None)
        models = model_frame.frame(record for record in records if record["run"]["model"] is not None)
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        text = f"{path}: the records or the configuration cannot be read ({type(error).__name__}: {error})"
        raise OptreeError(" ".join(text.split())) from error
    tables = (table.assign(results=path.name) for table in (searches, models))
    return Folder(path, configuration, *tables)


def together(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the frames of several folders as one; a finished cell that configurations share is there once."""
    every = pd.concat([table for table in tables if len(table)] or [tables[0]], ignore_index=True)
    return every[every["cell"].isna() | ~every["cell"].duplicated()].reset_index(drop=True)
