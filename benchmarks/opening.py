"""Seconds until a report is shown in headless Chromium, and its size.

    python benchmarks/opening.py results/default/report.html

Each opening has a browser of its own, whose start is not counted: the seconds are from the address to the first page's
text, on the browser's own clock. The median of some openings is printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import median

from harness.browser import page

_WATCH = """
new MutationObserver((_, observer) => {
  if (!document.querySelector("#app .prose h1")) return;
  window.shown = performance.now();
  observer.disconnect();
}).observe(document, {childList: true, subtree: true});
"""
_OPENINGS = 3


def seconds_to_open(report: Path, openings: int = _OPENINGS) -> float:
    """Return the median seconds from a report's address to the text of its first page."""
    found = []
    for _ in range(openings):
        with page() as opened:
            # The observer is there before the page, so that the moment is exact.
            opened.send("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
            opened.send("Page.navigate", url=report.resolve().as_uri())
            opened.wait("window.shown")
            found.append(opened.ask("window.shown") / 1000)
    return median(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path, nargs="+")
    for report in parser.parse_args().report:
        print(f"{report}: {report.stat().st_size / 1e6:.1f} MB, shown after {seconds_to_open(report):.2f} s")


if __name__ == "__main__":
    main()
