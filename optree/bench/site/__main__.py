"""The command ``python -m optree.bench.site [RESULTS ...]``: build/site from results folders and the documentation."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from optree.bench.site.pages import build
from optree.bench.site.results import find
from optree.bench.system.cli import reporting


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m optree.bench.site", description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="*", type=Path, help="folders of results; by default each folder in results/")
    parser.add_argument("--to", type=Path, default=Path("build/site"), help="the folder of the site")
    parser.add_argument(
        "--docs", type=Path, default=Path("build/docs"), help="the documentation that `make docs` builds"
    )
    options = parser.parse_args(arguments)
    with reporting(os.devnull):
        pages = build(find(options.results, Path("results")), options.docs, options.to)
    print(f"{options.to / 'index.html'}: {pages:,} pages")


if __name__ == "__main__":
    main()
