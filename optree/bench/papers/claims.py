"""The claims of a paper: printed and measured value, tolerance, and result.

A paper's table declares its claims; this module joins the claims of all tables and checks the required ones. The result
of a claim is PASS, FAIL, "known FAIL" or SKIPPED. A known FAIL is the paper's own contradiction, or another way of
counting, as the paper's table explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from optree.bench.papers import verdicts
from optree.bench.papers.spec import Paper, Results
from optree.bench.papers.verdicts import FAIL, KNOWN, PASS, SKIPPED
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance
from optree.errors import OptreeError

COLUMNS = ["table", "claim", "paper", "measured", "tolerance", "result", "why"]
DIGITS = "the printed digits"
_NOT_RUN = "not run"
_WAITING = "not run by this configuration"


def declare(claim: str, paper: str, measured: str, tolerance: str, verdict: str, why: str = "") -> dict:
    """Return one claim, as a row of :attr:`Table.claims`."""
    return dict(zip(["claim", "paper", "measured", "tolerance", "verdict", "why"],
                    (claim, paper, measured, tolerance, verdict, why), strict=True))  # fmt: skip


def judged(title: str, data: pd.DataFrame, tolerances: Mapping[str, str], notes: Iterable[str] = ()) -> Table:
    """Return a table of printed and measured numbers, a claim per row; claims that were not run come last.

    Parameters
    ----------
    title : str
    data : pandas.DataFrame
        Columns that name the subject, then ``claim``, ``paper``, ``measured``, ``difference``, ``verdict`` (a key of
        :data:`optree.bench.papers.verdicts.MEANING`) and ``explanation``.
    tolerances : mapping of str to str
        The accepted differences by ``claim``; without an entry, :data:`DIGITS`.
    notes : iterable of str
    """
    counts = data["verdict"].value_counts()
    tally = "; ".join(f"{counts[name]} {name}" for name in verdicts.MEANING if name in counts)
    meanings = "; ".join(f"{name} = {text}" for name, text in verdicts.MEANING.items() if name in counts)
    subject_columns = data.columns[: data.columns.get_loc("claim")]
    claims = [
        declare(f"{_subject(row, subject_columns)}: {row['claim']}", row["paper"], row["measured"],
                tolerances.get(row["claim"], DIGITS), row["verdict"], row["explanation"])
        for row in data.to_dict("records")
    ]  # fmt: skip
    note = f"Verdicts: {meanings}."
    shown = pd.concat([data[data["verdict"].ne(_NOT_RUN)], data[data["verdict"].eq(_NOT_RUN)]])
    return Table(title, data, shown, (note, *notes), f"{len(data)} claims: {tally}.", pd.DataFrame(claims))


def explain(data: pd.DataFrame, notes: Iterable[Mapping[str, str]]) -> None:
    """Add the explanations of notes to claims that were run; a note's verdict replaces "not reproduced".

    A note applies to the claims that agree with all its columns, of which an empty one agrees with every claim.
    """
    for note in notes:
        same = data["verdict"].ne(_NOT_RUN)
        for column in set(note) - {"table", "verdict", "explanation"}:
            same &= data[column].eq(note[column]) | (note[column] == "")
        texts = data.loc[same, "explanation"]
        data.loc[same, "explanation"] = texts.where(texts.eq(""), texts + "; ") + note["explanation"]
        if note["verdict"]:
            data.loc[same & data["verdict"].eq("not reproduced"), "verdict"] = note["verdict"]


def _subject(row: dict, columns: Iterable[str]) -> str:
    """Return the subject of a row in words: its name, and the columns that the name does not mention."""
    words = [f"lambda = {row[name]}" if name == "lambda" else row[name] for name in columns if row[name]]
    return ", ".join(dict.fromkeys(word for word in words if word == row["row"] or word not in row["row"]))


def claims(paper: Paper, results: Results) -> Table:
    """Return all claims of a paper's tables; claims that were not run are counted in one row per table."""
    found = {name: make(results).claims for name, make in paper.tables.items()}
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
    return Table(f"Claims of {paper.title}", data, data, _notes(results.runs), result, linked=linked)


def _notes(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return the notes below the table."""
    return (
        f"{PASS} = within the tolerance; {FAIL} = beyond it; {KNOWN} = beyond it, because the paper contradicts its "
        f"artefact or itself, or counts something else; {SKIPPED} = undecided, about other data, or not run.",
        f"{DIGITS} = the measured value, rounded or cut off, has the printed digits. table = paper_table_NAME, which "
        "explains each claim and the meaning of its verdict.",
        *provenance(runs),
    )


def tally(data: pd.DataFrame) -> str:
    """Return the numbers of claims by result, in a line, for a table of :func:`claims`."""
    waiting = data["why"].eq(_WAITING)
    counts = dict.fromkeys((PASS, FAIL, KNOWN, SKIPPED), 0) | data.loc[~waiting, "result"].value_counts().to_dict()
    counts[SKIPPED] += data.loc[waiting, "claim"].str.split().str[0].astype(int).sum()
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count or name in (PASS, FAIL))


def check(table: pd.DataFrame, tables: list[str], where: str) -> None:
    """Raise if a required claim fails.

    Parameters
    ----------
    table : pandas.DataFrame
        ``data`` of :func:`claims`.
    tables : list of str
        The required tables, from :func:`optree.bench.papers.required`.
    where : str
        The file of the claims, for the message.

    Raises
    ------
    OptreeError
        Names the first three failed claims and the number of all.
    """
    failed = table[table["table"].isin(tables) & table["result"].eq(FAIL)]
    if len(failed):
        first = "; ".join(
            f"table {row['table']}, {row['claim']}: {row['measured']} for {row['paper']}"
            for row in failed.head(3).to_dict("records")
        )
        more = f", and {len(failed) - 3} more" if len(failed) > 3 else ""
        raise OptreeError(f"{where}: {len(failed)} required claims fail: {first}{more}")
