"""Ratios of seconds, or of counts, within a paper's table: printed beside measured.

Seconds of two machines cannot be compared, but what a technique saves on either can. A printed number stands for all
that round to it, a timeout for all from the limit on: every number is an interval, and so is a ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np
import pandas as pd

from optree.bench.papers.claims import declare
from optree.bench.runs.folds import FULL
from optree.bench.tables.comparison import CERTIFIED
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance, seconds

TIMEOUT = "TO"
_LIMITED = ("time_limit", "memory_limit", "iteration_limit")
_NOISE = 0.1  # of a mean ratio of seconds
SIDE = f"the same side of 1, by {_NOISE:.0%}"
_ROUGH = 1.5  # a ratio known no better than by this factor is marked


def _digits(number: float) -> str:
    """Three digits, and all before the point."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


@dataclass(frozen=True)
class Interval:
    """What a number lies between, and the number itself if there is one."""

    low: float
    high: float
    value: float | None = None

    def __truediv__(self, other: Interval) -> Interval:
        value = self.value / other.value if self.value is not None and other.value else None
        low = self.low / other.high if other.high else inf
        return Interval(low, self.high / other.low if other.low else inf, value)

    @property
    def side(self) -> int:
        """1 above one, -1 below, 0 if the digits do not say."""
        return (self.low > 1) - (self.high < 1)

    def __str__(self) -> str:
        if self.value is not None:
            return f"{'~' if self.high > _ROUGH * _ROUGH * self.low else ''}{_digits(self.value)}"
        return f"> {_digits(self.low)}" if self.low else f"< {_digits(self.high)}" if self.high < inf else ""


def printed(text: str, limit: float, unit: int = 1) -> Interval | None:
    """A number as printed, rounded to whole units; ``TO`` ran until the limit; None for nothing."""
    if text == TIMEOUT:
        return Interval(limit, inf)
    if text.startswith("<"):
        return Interval(0, float(text[1:]) * unit)
    value = float(text) if text else None
    return None if value is None else Interval(max(0, value - 0.5) * unit, (value + 0.5) * unit, value * unit)


def measured(run: pd.Series | None, quantity: str) -> Interval | None:
    """What a run took: exactly if it ended with a proof, at least that if a limit ended it; None if it did not run."""
    if run is None or pd.isna(run[quantity]):
        return None
    value = float(run[quantity])
    if run["status"] == CERTIFIED:
        return Interval(value, value, value)
    return Interval(value, inf) if run["status"] in _LIMITED else None


class Setting(NamedTuple):
    """What was timed, or counted: a printed column, and the runs that stand for it.

    Attributes
    ----------
    title : str
    column : str
        Of the file of printed numbers; empty if nothing like it is printed.
    algorithm, encoding : str
        Names of the configuration.
    depth : int
        Their limit on depth; on splits they have none.
    quantity : str
        A column of :func:`optree.bench.tables.frame.frame`.
    unit : int
        The worth of 1 in print.
    """

    title: str
    column: str
    algorithm: str
    encoding: str
    depth: int = 4
    quantity: str = "search_seconds"
    unit: int = 1

    @property
    def label(self) -> str:
        """The title with what is measured."""
        return f"{self.title}, {'s' if self.quantity == 'search_seconds' else self.quantity}"

    def ran(self, by_name: dict) -> set[str]:
        """The datasets that have been run."""
        setting = self.encoding, self.algorithm, self.depth
        return {dataset for dataset, *other in by_name if tuple(other) == setting}

    def numbers(self, row: dict, by_name: dict, limit: float) -> dict[str, Interval | None]:
        """Measured, and printed if it has a column."""
        run = by_name.get((row["dataset"], self.encoding, self.algorithm, self.depth))
        paper = {"paper": printed(row.get(self.column, ""), limit, self.unit)} if self.column else {}
        return paper | {"measured": measured(run, self.quantity)}


class Ratio(NamedTuple):
    """A column of ratios: one setting over another."""

    title: str
    over: Setting
    under: Setting

    @property
    def printed(self) -> bool:
        """Whether the paper has both."""
        return bool(self.over.column and self.under.column)


def comparable(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs like the paper's: the fewest errors of a depth on all rows, any number of splits."""
    same = runs["lambda"].eq(0) & runs["max_splits"].isna() & runs["max_depth"].notna()
    return runs[same & runs["split"].eq(FULL) & runs["min_samples_leaf"].eq(1)]


def _text(interval: Interval | None, who: str, quantity: str) -> str:
    if interval is None or interval.value is None:
        return "" if interval is None else str(interval)
    timed = who == "measured" and quantity == "search_seconds"
    return seconds(interval.value) if timed else f"{interval.value:,.0f}"


def _rows(rows: list[dict], by_name: dict, ratios: list[Ratio]) -> list[dict]:
    """The printed rows that were run, then the other datasets that were."""
    ran = set.union(*(set.intersection(*(setting.ran(by_name) for setting in ratio[1:])) for ratio in ratios))
    here = [row for row in rows if row["dataset"] in ran]
    return here + [{"dataset": name} for name in sorted(ran - {row["dataset"] for row in here})]


def _summary(ratio: Ratio, pairs: list[dict[str, Interval | None]]) -> str:
    """How printed and measured ratios of a column agree, in a line; of one that is not printed, its mean."""
    here = [pair["measured"].value for pair in pairs if pair["measured"] and pair["measured"].value]
    if "paper" not in pairs[0]:
        mean = f"geometric mean {np.exp(np.log(here).mean()):.3g} over {len(here)} rows" if here else "not run"
        return f"{ratio.title}: {mean}."
    both = [(p, m) for p, m in (pair.values() for pair in pairs) if p is not None and m is not None]
    sided = [p.side == m.side for p, m in both if p.side and m.side]
    exact = [(p.value, m.value) for p, m in both if p.value and m.value]
    said = [f"{sum(sided)} of {len(sided)} rows on the printed side of 1"] if sided else []
    if exact:
        means = np.exp(np.log(np.array(exact)).mean(axis=0))
        said += [f"geometric means over {len(exact)} rows {means[0]:.3g} printed, {means[1]:.3g} measured"]
    return f"{ratio.title}: {'; '.join(said) or 'no printed row to compare with'}."


def _claim(ratio: Ratio, pairs: list[dict[str, Interval | None]]) -> dict:
    """The claim of a printed column: its geometric mean over the rows that both have is on that side of one."""
    both = [(pair["paper"].value, pair["measured"].value) for pair in pairs if pair["paper"] and pair["measured"]]
    both = [pair for pair in both if all(pair)]
    claim = f"{ratio.title}: geometric mean of the ratio"
    if not both:
        return declare(claim, "", "", SIDE, "not run")
    logs = np.log(np.array(both)).mean(axis=0)
    clear = np.abs(logs) > np.log(1 + _NOISE)
    verdict = ("same" if logs[0] * logs[1] > 0 else "other") + " side of 1" if clear.all() else "undecided"
    why = "" if clear.all() else f"{'measured' if clear[0] else 'printed'}: no clear difference"
    texts = [f"{_digits(float(mean))} over {len(both)} rows" for mean in np.exp(logs)]
    return declare(claim, *texts, SIDE, verdict, why)


def _line(row: dict, ratios: list[Ratio], by_name: dict, limit: float) -> tuple[dict, dict, list]:
    """A row of the table: all digits, texts, and each ratio, printed where it is, and measured."""
    facts, texts, pairs = {"dataset": row["dataset"]}, {"dataset": row["dataset"]}, []
    for base in dict.fromkeys(ratio.under for ratio in ratios):
        for who, interval in base.numbers(row, by_name, limit).items():
            texts[f"{base.label}: {who}"] = _text(interval, who, base.quantity)
            facts[f"{base.label}: {who}"] = None if interval is None else interval.value
    for ratio in ratios:
        over, under = (setting.numbers(row, by_name, limit) for setting in ratio[1:])
        pairs.append(
            {who: over[who] / under[who] if over[who] and under[who] else None for who in over if who in under}
        )
        for who, interval in pairs[-1].items():
            texts[f"{ratio.title}: {who}"] = "" if interval is None else str(interval)
            for part in ("value", "low", "high"):
                facts[f"{ratio.title}: {who} {part}"] = None if interval is None else getattr(interval, part)
    return facts, texts, pairs


def table(title: str, rows: list[dict], runs: pd.DataFrame, ratios: list[Ratio], limit: float, *notes: str) -> Table:
    """A row per dataset: the seconds or counts that are divided by, then each ratio, printed and measured.

    Parameters
    ----------
    title : str
    rows : list of dict
        The printed numbers; ``dataset`` is empty where the data is not at hand.
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`. Only those that :func:`comparable` selects count.
    ratios : list of Ratio
    limit : float
        Of the paper's searches, in seconds.
    *notes : str
    """
    runs = comparable(runs)
    keys = zip(runs["dataset"], runs["encoding"], runs["algorithm"], runs["max_depth"], strict=True)
    by_name = dict(zip(keys, (run for _, run in runs.iterrows()), strict=True))
    lines = [_line(row, ratios, by_name, limit) for row in _rows(rows, by_name, ratios)]
    data, shown = (pd.DataFrame([line[part] for line in lines]) for part in (0, 1))
    absent = sum(not row["dataset"] for row in rows)
    waiting = sum(row["dataset"] not in {*runs["dataset"], ""} for row in rows)
    notes = (
        *notes,
        "Ratios within a row: of the paper's seconds on its machine, and of ours on ours. ~ = whole seconds in print "
        f"leave more than a factor of {_ROUGH} to either side; > and < = one of the two searches reached its limit, or "
        "took less than half a second in print. Nothing under paper: not printed, often as a difference that is not "
        "significant; under measured: not run, or both reached a limit.",
        f"Of the paper's {len(rows)} rows {absent} cannot be run, as their data, or their binarisation, is not public; "
        f"others that have not been run: {waiting}.",
        *(provenance(runs) if len(runs) else ()),
    )
    columns = [(ratio, [line[2][i] for line in lines]) for i, ratio in enumerate(ratios)]
    result = " ".join(_summary(ratio, pairs) for ratio, pairs in columns if pairs)
    claims = pd.DataFrame([_claim(ratio, pairs) for ratio, pairs in columns if ratio.printed])
    return Table(title, data, shown, notes, result or "Nothing has been run.", claims)
