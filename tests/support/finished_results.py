"""A small folder of results, for tests of everything that reads one."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from support.runs import records

TEXTS = {"tables/summary.csv": "dataset\nmonks-1\n", "plots/trees/a.svg": "<svg/>", "report.html": "<html/>"}


def write_results(folder: Path) -> Path:
    """Write records, their configuration, a table, a plot and a report; return the folder."""
    lines = "".join(json.dumps(record) + "\n" for record in records())
    rows = [{"name": name, "source": "builtin", "identifier": name} for name in ("monks-1", "tic-tac-toe")]
    kept = {"tables/runs.jsonl": lines, "datasets.json": json.dumps(rows), "jobs/one.jsonl": lines}
    kept["configuration.yaml"] = yaml.safe_dump({"name": folder.name})
    for name, text in (TEXTS | kept).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder
