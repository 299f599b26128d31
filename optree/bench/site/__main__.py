"""The command ``python -m optree.bench.site [RESULTS ...]``: build/site from results and the documentation.

Without arguments the results are each folder in results/, and the published results of all other names.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from optree.bench.site.pages import build
from optree.bench.site.published import unpack
from optree.bench.site.results import find, finished
from optree.bench.system.cli import reporting


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.site", description=__doc__.splitlines()[0])
    default = "those in results/, and the published results"
    parser.add_argument("results", nargs="*", type=Path, help=f"folders of results; by default {default}")
    parser.add_argument("--to", type=Path, default=Path("build/site"), help="the folder of the site")
    parser.add_argument(
        "--docs", type=Path, default=Path("build/docs"), help="the documentation that `make docs` builds"
    )
    options = parser.parse_args(arguments)
    with reporting(os.devnull), TemporaryDirectory() as folder:
        own = options.results or finished(Path("results"))
        others = [] if options.results else unpack(Path(folder), [path.name for path in own])
        pages = build(find([*own, *others]), options.docs, options.to)
    print(f"{options.to / 'index.html'}: {pages:,} pages")


if __name__ == "__main__":
    main()
