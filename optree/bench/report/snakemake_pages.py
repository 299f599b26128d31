"""Additions to the page that Snakemake's ``--report`` writes: a title, a stylesheet, links between items.

Snakemake has no setting for these additions, so they are put into the finished page at the end of the process.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

_OPTION, _DEFAULT = "--report", "report.html"


def requested(arguments: Sequence[str] | None = None) -> Path | None:
    """Return the page that this process was asked for, None for no report."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    for number, word in enumerate(arguments):
        if word.startswith(f"{_OPTION}="):
            return Path(word.partition("=")[2])
        if word == _OPTION:
            following = arguments[number + 1 : number + 2]
            return Path(following[0] if following and not following[0].startswith("-") else _DEFAULT)
    return None


def complete(page: Path, folder: Path, title: str, start: float) -> None:
    """Add title, ``style.css`` and ``links.js`` from the folder to a page, unless it is older than the start."""
    if page.suffix != ".html" or not page.is_file() or page.stat().st_mtime < start:
        return
    text = page.read_text(encoding="utf-8").replace("<title>Snakemake Report</title>", f"<title>{title}</title>", 1)
    for end, tag, name in (("</head>", "style", "style.css"), ("</body>", "script", "links.js")):
        before, after = text.rsplit(end, 1) if end == "</body>" else text.split(end, 1)
        text = f"{before}<{tag}>\n{(folder / name).read_text()}</{tag}>\n{end}{after}"
    page.write_text(text, encoding="utf-8")
