"""Snakemake's report, as ours: one rule in place of one for each job, a stylesheet, a title, links between items.

Snakemake has no setting for any of this, so :func:`dress` stands before its writer; tests/test_report.py opens what
comes of it in a browser.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_NUMBERED = re.compile(r"^(.+)_\d+$")  # rules that are made in a loop, a job each


def wanted() -> bool:
    """Whether this process was asked for a report."""
    return any(word.startswith("--report") for word in sys.argv[1:])


def folded(name: str) -> str:
    """The name that a rule has in the report: ``solve`` for ``solve_17``."""
    return _NUMBERED.sub(r"\1", name)


def dress(folder: Path, title: str) -> None:
    """Have Snakemake's next report folded, styled and named, and its items linked to each other.

    Parameters
    ----------
    folder : Path
        Where ``style.css`` and ``links.js`` are.
    title : str
        Of the page.
    """
    from snakemake.report.html_reporter import Reporter

    render = Reporter.render

    def dressed(self) -> None:
        for job in self.dag.jobs:
            job.rule.name = folded(job.rule.name)
        for job in self.jobs:
            job.rule = folded(job.rule)
        self.rules = {folded(name): rule for name, rule in self.rules.items()}
        self.custom_stylesheet = (folder / "style.css").read_text()
        render(self)
        path = Path(self.settings.path)
        if path.suffix == ".html":
            page = path.read_text(encoding="utf-8")
            page = page.replace("<title>Snakemake Report</title>", f"<title>{title}</title>", 1)
            head, end = page.rsplit("</body>", 1)
            links = (folder / "links.js").read_text()
            path.write_text(f"{head}<script>\n{links}</script>\n</body>{end}", encoding="utf-8")

    Reporter.render = dressed
