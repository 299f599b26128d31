"""Ratios of seconds, or of counts, within a paper's table: printed beside measured.

Seconds of two machines cannot be compared, but the ratios of a technique's seconds on each machine can. A printed
number is known up to its rounding, and a timeout is known from below only; so every number and every ratio is an
interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
import pandas as pd

from optree.bench.papers.claims import declare
from optree.bench.runs.folds import FULL
from optree.bench.tables.comparison import CERTIFIED, geometric_mean
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance, seconds

TIMEOUT = "TO"
_LIMITED = ("time_limit", "memory_limit", "iteration_limit")
_NOISE = 0.1  # Relative noise of a mean ratio of seconds.
SIDE = f"the same side of 1, by {_NOISE:.0%}"
_ROUGH = 1.5  # A ratio with at least this factor of uncertainty is marked.


def _digits(number: float) -> str:
    """Return a number with three digits, and all before the point."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


@dataclass(frozen=True)
class Interval:
    """The interval that contains a number, and the number itself if it is known."""

    low: float
    high: float
    value: float | None = None

    def __truediv__(self, other: Interval) -> Interval:
        value = self.value / other.value if self.value is not None and other.value else None
        low = self.low / other.high if other.high else inf
        return Interval(low, self.high / other.low if other.low else inf, value)

    @property
    def side(self) -> int:
        """Return 1 for an interval above one, -1 for one below, 0 for one that contains one."""
        return (self.low > 1) - (self.high < 1)

    def __str__(self) -> str:
        if self.value is not None:
            return f"{'~' if self.high > _ROUGH * _ROUGH * self.low else ''}{_digits(self.value)}"
        return f"> {_digits(self.low)}" if self.low else f"< {_digits(self.high)}" if self.high < inf else ""


def printed(text: str, limit: float, unit: int = 1) -> Interval | None:
    """Return the interval of a printed number: rounded to whole units, from ``limit`` for ``TO``, None for nothing."""
    if text == TIMEOUT:
        return Interval(limit, inf)
    if text.startswith("<"):
        return Interval(0, float(text[1:]) * unit)
    value = float(text) if text else None
    return None if value is None else Interval(max(0, value - 0.5) * unit, (value + 0.5) * unit, value * unit)


def measured(run: pd.Series | None, quantity: str) -> Interval | None:
    """Return the interval of a run's quantity: exact with a proof, a lower bound at a limit, None without a run."""
    if run is None or pd.isna(run[quantity]):
        return None
    value = float(run[quantity])
    if run["status"] == CERTIFIED:
        return Interval(value, value, value)
    return Interval(value, inf) if run["status"] in _LIMITED else None


class Setting(NamedTuple):
    """A timed or counted setting: a printed column, and the runs that reproduce it."""

    title: str
    column: str  # of the file of printed numbers; empty if the paper does not print it
    algorithm: str
    encoding: str
    depth: int = 4  # the depth limit of the runs, which have no limit on splits
    quantity: str = "search_seconds"  # a column of the frame of runs
    unit: int = 1  # the value of 1 in print

    def run(self, dataset: str, by_name: dict) -> pd.Series | None:
        """Return the run on a dataset."""
        return by_name.get((dataset, self.encoding, self.algorithm, self.depth))

    def numbers(self, row: dict, by_name: dict, limit: float) -> dict[str, Interval | None]:
        """Return the measured interval, and the printed one if the paper prints it."""
        paper = {"paper": printed(row.get(self.column, ""), limit, self.unit)} if self.column else {}
        return paper | {"measured": measured(self.run(row["dataset"], by_name), self.quantity)}


class Ratio(NamedTuple):
    """A column of ratios: one setting over another."""

    title: str
    over: Setting
    under: Setting

    @classmethod
    def of(cls, row: dict[str, str]) -> Ratio:
        """Return the ratio of a row of ``ratios.csv``."""
        keys = ("column", "algorithm", "encoding")
        over, under = (
            Setting(
                title,
                *(row[f"{side}_{key}"] for key in keys),
                int(row[f"{side}_depth"]),
                row["quantity"],
                int(row["unit"]),
            )
            for side, title in (("over", ""), ("under", row["under"]))
        )
        return cls(row["title"], over, under)


def comparable(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the paper's setting: fewest errors of a depth on all rows, any number of splits."""
    same = runs["lambda"].eq(0) & runs["max_splits"].isna() & runs["max_depth"].notna()
    return runs[same & runs["split"].eq(FULL) & runs["min_samples_leaf"].eq(1)]


def _text(interval: Interval | None, who: str, quantity: str) -> str:
    """Return an interval as text."""
    if interval is None or interval.value is None:
        return "" if interval is None else str(interval)
    timed = who == "measured" and quantity == "search_seconds"
    return seconds(interval.value) if timed else f"{interval.value:,.0f}"


def _rows(rows: list[dict], by_name: dict, ratios: list[Ratio]) -> list[dict]:
    """Return the printed rows that were run, then rows of the other datasets that were run."""
    names = {dataset for dataset, *_ in by_name}
    ran = {name for name in names for _, *both in ratios if all(side.run(name, by_name) is not None for side in both)}
    shared = [row for row in rows if row["dataset"] in ran]
    return shared + [{"dataset": name} for name in sorted(ran - {row["dataset"] for row in shared})]


def _summary(ratio: Ratio, pairs: list[dict[str, Interval | None]]) -> str:
    """Return a line on the agreement of a printed column; of an unprinted column, its geometric mean."""
    values = [pair["measured"].value for pair in pairs if pair["measured"] and pair["measured"].value]
    if "paper" not in pairs[0]:
        mean = f"geometric mean {geometric_mean(values):.3g} over {len(values)} rows" if values else "not run"
        return f"{ratio.title}: {mean}."
    both = [(pair["paper"], pair["measured"]) for pair in pairs if pair["paper"] and pair["measured"]]
    sided = [p.side == m.side for p, m in both if p.side and m.side]
    texts = [f"{sum(sided)} of {len(sided)} rows on the printed side of 1"] if sided else []
    number, *means = _means(pairs)
    if number:
        texts += [f"geometric means over {number} rows {means[0]:.3g} printed, {means[1]:.3g} measured"]
    return f"{ratio.title}: {'; '.join(texts) or 'no printed row to compare with'}."


def _means(pairs: list[dict[str, Interval | None]]) -> tuple[float, ...]:
    """Return the number of rows with two known ratios, and the geometric means of the printed and measured ones."""
    both = [(pair["paper"].value, pair["measured"].value) for pair in pairs if pair["paper"] and pair["measured"]]
    known = [pair for pair in both if all(pair)]
    return len(known), *(geometric_mean(values) for values in zip(*known, strict=True))


def _claim(ratio: Ratio, pairs: list[dict[str, Interval | None]]) -> dict:
    """Return the claim of a printed column: printed and measured geometric mean lie on the same side of one."""
    claim, (number, *means) = f"{ratio.title}: geometric mean of the ratio", _means(pairs)
    if not number:
        return declare(claim, "", "", SIDE, "not run")
    logs = np.log(means)
    clear = np.abs(logs) > np.log(1 + _NOISE)
    verdict = ("same" if logs[0] * logs[1] > 0 else "other") + " side of 1" if clear.all() else "undecided"
    why = "" if clear.all() else f"{'measured' if clear[0] else 'printed'}: no clear difference"
    if verdict.startswith("other") and number < (printed := sum(pair["paper"] is not None for pair in pairs)):
        why = f"{number} of {printed} printed rows end within the limits"
    texts = [f"{_digits(mean)} over {number} rows" for mean in means]
    return declare(claim, *texts, SIDE, verdict, why)


def _line(row: dict, ratios: list[Ratio], by_name: dict, limit: float) -> tuple[dict, dict, list]:
    """Return a row of the table: numbers, texts, and printed and measured ratios."""
    facts, texts, pairs = {"dataset": row["dataset"]}, {"dataset": row["dataset"]}, []
    for base in dict.fromkeys(ratio.under for ratio in ratios):
        label = f"{base.title}, {'s' if base.quantity == 'search_seconds' else base.quantity}"
        for who, interval in base.numbers(row, by_name, limit).items():
            texts[f"{label}: {who}"] = _text(interval, who, base.quantity)
            facts[f"{label}: {who}"] = None if interval is None else interval.value
    for ratio in ratios:
        over, under = (setting.numbers(row, by_name, limit) for setting in ratio[1:])
        pairs.append(
            {who: over[who] / under[who] if over[who] and under[who] else None for who in over if who in under}
        )
        for who, interval in pairs[-1].items():
            texts[f"{ratio.title}: {who}"] = "" if interval is None else str(interval)
            for end in ("value", "low", "high"):
                facts[f"{ratio.title}: {who} {end}"] = None if interval is None else getattr(interval, end)
    return facts, texts, pairs


def table(title: str, rows: list[dict], runs: pd.DataFrame, ratios: list[Ratio], limit: float, *notes: str) -> Table:
    """Return a row per dataset: the denominators (seconds or counts), then each ratio, printed and measured.

    ``rows`` are the printed numbers, with an empty ``dataset`` if ``datasets.csv`` has no row for the data. Only the
    ``runs`` that :func:`comparable` selects count. ``limit`` is the time limit of the paper's searches, in seconds.
    """
    runs = comparable(runs)
    by_name = {tuple(run[["dataset", "encoding", "algorithm", "max_depth"]]): run for _, run in runs.iterrows()}
    lines = [_line(row, ratios, by_name, limit) for row in _rows(rows, by_name, ratios)]
    data, shown = (pd.DataFrame([line[place] for line in lines]) for place in (0, 1))
    absent = sum(not row["dataset"] for row in rows)
    waiting = sum(row["dataset"] not in {*runs["dataset"], ""} for row in rows)
    notes = (
        *notes,
        "Ratios within a row: of the paper's seconds on its machine, and of our seconds on ours. ~ = the printed "
        f"whole seconds are uncertain by more than a factor of {_ROUGH}; > and < = one of the two searches reached "
        "its limit, or the paper prints less than half a second. Empty under paper = not printed, often because the "
        "difference is not significant; empty under measured = not run, or both reached a limit.",
        f"Of the paper's {len(rows)} rows, {absent} cannot be run because their data has no row in datasets.csv; "
        f"{waiting} more were not run.",
        *provenance(runs),
    )
    columns = [(ratio, [line[2][i] for line in lines]) for i, ratio in enumerate(ratios)]
    result = " ".join(_summary(ratio, pairs) for ratio, pairs in columns if pairs)
    claims = pd.DataFrame(
        [_claim(ratio, pairs) for ratio, pairs in columns if ratio.over.column and ratio.under.column]
    )
    return Table(title, data, shown, notes, result or "Nothing has been run.", claims)
