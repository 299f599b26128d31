"""Changes to Snakemake's report: one rule for all jobs of a loop, a stylesheet, a title, links between items.

Snakemake has no setting for these changes, so :func:`customise` wraps its writer. A test opens the page in a browser.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_NUMBERED = re.compile(r"^(.+)_\d+$")  # Names of rules that a loop makes, one per job.


def requested() -> bool:
    """Return whether this process was asked for a report."""
    return any(word.startswith("--report") for word in sys.argv[1:])


def merged_name(name: str) -> str:
    """Return a rule's name in the report: ``solve`` for ``solve_17``."""
    return _NUMBERED.sub(r"\1", name)


def customise(folder: Path, title: str) -> None:
    """Patch Snakemake's report writer: merged rules, title, and ``style.css`` and ``links.js`` from the folder."""
    from snakemake.report.html_reporter import Reporter

    render = Reporter.render

    def customised(self) -> None:
        for job in self.dag.jobs:
            job.rule.name = merged_name(job.rule.name)
        for job in self.jobs:
            job.rule = merged_name(job.rule)
        self.rules = {merged_name(name): rule for name, rule in self.rules.items()}
        self.custom_stylesheet = (folder / "style.css").read_text()
        render(self)
        path = Path(self.settings.path)
        if path.suffix == ".html":
            page = path.read_text(encoding="utf-8")
            page = page.replace("<title>Snakemake Report</title>", f"<title>{title}</title>", 1)
            head, end = page.rsplit("</body>", 1)
            links = (folder / "links.js").read_text()
            path.write_text(f"{head}<script>\n{links}</script>\n</body>{end}", encoding="utf-8")

    Reporter.render = customised
