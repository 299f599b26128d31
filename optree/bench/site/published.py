"""The published results: an archive for each of some results folders, which the site reads without any run.

``python -m optree.bench.site.published RESULTS ...`` writes an archive for each folder. The archive holds the files
that the site reads: configuration, records, tables, plots, and the facts of the datasets. It holds no raw data, and no
path of a mirror of them.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

from optree.bench.report.archive import write
from optree.bench.site.results import CONFIGURATION, Folder, find
from optree.bench.system.cli import reporting

PUBLISHED = Path(__file__).resolve().parents[3] / "resources" / "published"
_REPORT = Path("report.html")  # Some megabytes, made of the other files.


def publish(folder: Folder, home: Path = PUBLISHED) -> Path:
    """Write the archive of a results folder and return its path."""
    names = [path for path in folder.files if path != _REPORT]
    names += [path.relative_to(folder.path) for path in folder.datasets()]
    contents = {name.as_posix(): (folder.path / name).read_bytes() for name in sorted(names)}
    contents[CONFIGURATION] = re.sub(rb"(?m)^data_mirror: .*$", b"data_mirror: DIR", contents[CONFIGURATION])
    home.mkdir(parents=True, exist_ok=True)
    return write(home / f"{folder.name}.zip", contents)


def unpack(to: Path, without: Sequence[str] = (), home: Path = PUBLISHED) -> list[Path]:
    """Unpack the published archives, without some folders, and return the folders of results."""
    folders = []
    for path in sorted(home.glob("*.zip")):
        if path.stem not in without:
            with ZipFile(path) as archive:
                archive.extractall(to / path.stem)  # no entry leaves the folder
            folders.append(to / path.stem)
    return folders


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.site.published", description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="+", type=Path, help="folders of finished results")
    options = parser.parse_args(arguments)
    with reporting(os.devnull):
        paths = [publish(folder) for folder in find(options.results)]
    for path in paths:
        print(f"{path}: {path.stat().st_size / 2**10:,.0f} KiB")


if __name__ == "__main__":
    main()
