"""The claims of a paper: what it prints, what was measured, what may differ, and whether that passes.

Each claim is declared once, where its table judges it; here they are put together: one table per configuration, and
what of it has to pass. A claim is PASS, FAIL, "known FAIL" (printed numbers contradict each other, or count something
else: the paper's table says why) or SKIPPED with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from optree.bench.papers import verdicts
from optree.bench.papers.spec import Paper
from optree.bench.papers.verdicts import FAIL, KNOWN, PASS, SKIPPED
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance
from optree.errors import OptreeError

COLUMNS = ["table", "claim", "paper", "measured", "tolerance", "result", "why"]
DIGITS = "the printed digits"
_NOT_RUN = "not run"
_WAITING = "not run by this configuration"


def declare(claim: str, paper: str, measured: str, tolerance: str, verdict: str, why: str = "") -> dict:
    """One claim, as a row of :attr:`Table.claims`."""
    return dict(zip(["claim", "paper", "measured", "tolerance", "verdict", "why"],
                    (claim, paper, measured, tolerance, verdict, why), strict=True))  # fmt: skip


def judged(title: str, data: pd.DataFrame, tolerances: Mapping[str, str], notes: Iterable[str] = ()) -> Table:
    """A table of printed numbers beside measured ones, a claim per row.

    Parameters
    ----------
    title : str
    data : pandas.DataFrame
        Columns that say what the row is about, up to ``claim``; then ``paper``, ``measured``, ``difference``,
        ``verdict`` (a key of :data:`optree.bench.papers.verdicts.MEANING`) and ``explanation``. Shown are first the rows that
        were run.
    tolerances : mapping of str to str
        How far measured numbers may be from printed ones, by ``claim``; :data:`DIGITS` where it has none.
    notes : iterable of str
    """
    counts = data["verdict"].value_counts()
    tally = "; ".join(f"{counts[name]} {name}" for name in verdicts.MEANING if name in counts)
    meanings = "; ".join(f"{name} = {text}" for name, text in verdicts.MEANING.items() if name in counts)
    heads = data.columns[: data.columns.get_loc("claim")]
    claims = [
        declare(f"{_subject(row, heads)}: {row['claim']}", row["paper"], row["measured"],
                tolerances.get(row["claim"], DIGITS), row["verdict"], row["explanation"])
        for row in data.to_dict("records")
    ]  # fmt: skip
    note = f"Verdicts: {meanings}."
    shown = pd.concat([data[data["verdict"].ne(_NOT_RUN)], data[data["verdict"].eq(_NOT_RUN)]])
    return Table(title, data, shown, (note, *notes), f"{len(data)} claims: {tally}.", pd.DataFrame(claims))


def _subject(row: dict, heads: Iterable[str]) -> str:
    """What a row is about, in a word: its name, and what else tells it from others."""
    parts = [f"lambda = {row[name]}" if name == "lambda" else row[name] for name in heads if row[name]]
    return ", ".join(dict.fromkeys(part for part in parts if part == row["row"] or part not in row["row"]))


def claims(paper: Paper, folder: Path, runs: pd.DataFrame, **more: pd.DataFrame) -> Table:
    """All claims of a paper that its tables judge, those that were not run summed up.

    Parameters
    ----------
    paper : Paper
    folder : Path
        Its printed numbers.
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    **more : pandas.DataFrame
        ``fits``, as the paper's tables take them.
    """
    found = {name: make(folder, runs, **more).claims for name, make in paper.tables.items()}
    parts = [own.assign(table=name) for name, own in found.items() if own is not None and len(own)]
    every = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[*COLUMNS, "verdict"])
    every["result"] = every["verdict"].map(verdicts.result)
    ran = every["verdict"].ne(_NOT_RUN)
    waiting = every[~ran].groupby("table", sort=False).size()
    rest = [
        {"table": name, "claim": f"{count} further claims", "result": SKIPPED, "why": _WAITING}
        for name, count in waiting.items()
    ]
    every["why"] = every["why"].where(every["result"].eq(PASS) | every["why"].ne(""), every["verdict"])
    data = pd.concat([every[ran], pd.DataFrame(rest)], ignore_index=True).reindex(columns=COLUMNS).fillna("")
    linked = {"table": pd.Series("paper_table_{}.html", data.index)}
    result = f"{len(every)} claims: {tally(data)}."
    return Table(f"Claims of {paper.title}", data, data, _notes(runs), result, linked=linked)


def _notes(runs: pd.DataFrame) -> tuple[str, ...]:
    return (
        f"{PASS} = within the tolerance; {FAIL} = beyond it; {KNOWN} = beyond it, and the paper's own table says why: "
        f"the paper contradicts its artefact or itself, or counts something else; {SKIPPED} = undecided, about other "
        "data, or not run.",
        f"{DIGITS} = those of the measured value, rounded or cut off; table = paper_table_NAME, where each claim "
        "stands with its explanation and what the verdict means.",
        *(provenance(runs) if len(runs) else ()),
    )


def tally(data: pd.DataFrame) -> str:
    """How many claims of a table of :func:`claims` pass, in a line."""
    waiting = data["why"].eq(_WAITING)
    counts = dict.fromkeys((PASS, FAIL, KNOWN, SKIPPED), 0) | data.loc[~waiting, "result"].value_counts().to_dict()
    counts[SKIPPED] += data.loc[waiting, "claim"].str.split().str[0].astype(int).sum()
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count or name in (PASS, FAIL))


def check(table: pd.DataFrame, tables: list[str], where: str) -> None:
    """Refuse failed claims.

    Parameters
    ----------
    table : pandas.DataFrame
        ``data`` of :func:`claims`.
    tables : list of str
        From :func:`optree.bench.papers.required`.
    where : str
        The file that has it, for the message.

    Raises
    ------
    OptreeError
        Naming the first claims that fail, and how many there are.
    """
    failed = table[table["table"].isin(tables) & table["result"].eq(FAIL)]
    if len(failed):
        first = "; ".join(
            f"table {row['table']}, {row['claim']}: {row['measured']} for {row['paper']}"
            for row in failed.head(3).to_dict("records")
        )
        more = f", and {len(failed) - 3} more" if len(failed) > 3 else ""
        raise OptreeError(f"{where}: {len(failed)} required claims fail: {first}{more}")
