"""Table and figure of the datasets of a run, from the records of :func:`optree.datasets.facts.record`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optree.bench.figures import panels
from optree.bench.tables.formats import Table
from optree.drawing.colours import PALETTE
from optree.errors import OptreeError

_KINDS = {"numeric": PALETTE[0], "binary": PALETTE[1], "categorical": PALETTE[2], "constant": "0.75"}
_ROWS = {"new": PALETTE[0], "already there": "0.75", "contradictory": PALETTE[1]}
_SMALL = {"fontsize": 7, "handlelength": 1, "handletextpad": 0.4, "columnspacing": 1, "borderpad": 0.3}
_MAX_CLASSES = 12  # The table has no room for more class counts.


def read(paths: Iterable[str | Path]) -> list[dict]:
    """Return the records of datasets, sorted by name."""
    records = []
    for path in paths:
        try:
            records.append(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            text = f"{path}: not a dataset's record ({error}); delete the file, and the workflow makes it again"
            raise OptreeError(text) from error
    return sorted(records, key=lambda record: record["dataset"].casefold())


def table(records: list[dict]) -> Table:
    """Return the table of datasets, a row each."""
    data = pd.DataFrame([_row(record) for record in records])
    shown = data.drop(columns=["source", "identifier", "uci", "openml"]).astype(object).map(_text)
    shown["sha256"] = data["sha256"].str[:12]
    shown = shown.drop(columns=[name for name in ("recipe", "constant", "numeric") if set(shown[name]) <= {"", "0"}])
    shown.columns = [name.replace("_", " ") for name in shown]
    notes = [
        "Columns by kind: numeric; binary = two categories; categorical = more categories; constant = one value.",
        "already there = rows that repeat an earlier row, class included; contradictory = rows with the features of "
        "another row and a different class; best accuracy = upper bound on the accuracy of any classifier: of rows "
        "with the same features, the largest class is predicted right.",
        "verified = how the rows were checked; sha256 = first twelve digits, of the canonical content.",
        *(f"{name}: {rule}." for name, rule in records[0]["rules"].items()),
    ]
    return Table("Datasets", data, shown, tuple(notes))


def _text(value) -> str:
    """Return a value as text."""
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return f"{value:,}" if isinstance(value, (int, np.integer)) else value


def _row(record: dict) -> dict:
    """Return the row of one dataset."""
    facts = record["facts"]
    missing = facts["missing"]
    where = ", ".join(missing) if len(missing) < 3 else f"{len(missing)} columns"
    return {
        **{name: record[name] for name in ("dataset", "source", "identifier", "uci", "openml")},
        "rows": facts["rows"],
        **facts["columns"],
        "classes": _classes(facts["classes"]),
        "missing": f"{sum(missing.values()):,} in {where}" if missing else "0",
        "already_there": facts["duplicates"],
        "contradictory": facts["contradictory"],
        "best_accuracy": "" if facts["best_accuracy"] is None else facts["best_accuracy"],
        "recipe": " ".join(record["recipe"]),
        **{name: record[name] for name in ("origin", "verified", "sha256")},
    }


def _classes(classes: dict[str, int]) -> str:
    """Return the classes and their counts as text."""
    if not classes:
        return "a number"
    shown = [f"{name}: {count:,}" for name, count in classes.items()]
    return f"{len(classes)} ({', '.join(shown[:_MAX_CLASSES])}{', ...' if len(shown) > _MAX_CLASSES else ''})"


@rc_context(panels.STYLE)
def figure(records: list[dict]) -> Figure:
    """Draw shares of classes, of columns by kind and of rows, a bar per dataset."""
    facts = [record["facts"] for record in records]
    sizes = [f"({entry['rows']:,} x {entry['features']})" for entry in facts]
    names = [f"{record['dataset']}  {size}" for record, size in zip(records, sizes, strict=True)]
    height, margin = 0.24 * len(records) + 0.95, 0.2 + 0.062 * max(map(len, names))  # inches
    drawn = Figure(figsize=(margin + 9, height))
    axes = drawn.subplots(1, 3, sharey=True)
    sides = {"left": margin / (margin + 9), "right": 0.985, "top": 1 - 0.55 / height, "bottom": 0.3 / height}
    drawn.subplots_adjust(**sides, wspace=0.1)
    _bars(axes[0], "rows by class, the largest first", [_shares(entry["classes"]) for entry in facts])
    _bars(axes[1], "columns by kind", [[(entry["columns"][kind], _KINDS[kind]) for kind in _KINDS] for entry in facts])
    _bars(axes[2], "rows", [_kinds_of_rows(entry) for entry in facts])
    _legend(axes[1], _KINDS)
    _legend(axes[2], _ROWS)
    axes[0].set_yticks(range(len(records)), names)
    axes[0].set_ylim(len(records) - 0.4, -0.6)
    return drawn


def _shares(classes: dict[str, int]) -> list[tuple[int, str]]:
    """Return the row count and the colour of each class, the largest class first."""
    counts = sorted(classes.values(), reverse=True) or [1]
    return [(count, PALETTE[k % len(PALETTE)] if classes else "0.9") for k, count in enumerate(counts)]


def _kinds_of_rows(facts: dict) -> list[tuple[int, str]]:
    """Return counts and colours of new, repeated and contradictory rows."""
    contradictory = facts["contradictory"]
    repeated = facts["duplicates"] - facts["contradictory_duplicates"]
    counts = (facts["rows"] - contradictory - repeated, repeated, contradictory)
    return list(zip(counts, _ROWS.values(), strict=True))


def _bars(ax: Axes, title: str, bars: list[list[tuple[int, str]]]) -> None:
    """Draw stacked horizontal bars of counts and colours, scaled to the width of the axis."""
    for place, segments in enumerate(bars):
        counts = np.array([count for count, _ in segments], float)
        ends = np.cumsum(counts) / counts.sum()
        colours = [colour for _, colour in segments]
        ax.barh(place, counts / counts.sum(), 0.68, ends - counts / counts.sum(), color=colours, ec="white", lw=0.4)
    ax.set_title(title, loc="left", y=1, pad=16)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0", "half", "all"])
    ax.tick_params(axis="y", length=0)


def _legend(ax: Axes, colours: dict[str, str]) -> None:
    """Draw a legend of colours above a panel."""
    handles = [ax.barh([0], [0], color=colour, label=name) for name, colour in colours.items()]
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0, 1), ncols=4, borderaxespad=0, **_SMALL)
