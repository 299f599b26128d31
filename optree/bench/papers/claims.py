"""The claims of a paper: printed and measured value, tolerance, and result.

A paper's table declares its claims; this module joins the claims of all tables and checks the required ones. The result
of a claim is PASS, CONSISTENT, FAIL, "known FAIL" or SKIPPED. A CONSISTENT claim agrees with the paper, but needs no
run, or its number is that of a solver that was not run. A known FAIL is the paper's own contradiction, or another way
of counting, as the paper's table explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from optree.bench.papers import verdicts
from optree.bench.papers.spec import Paper, Results
from optree.bench.papers.verdicts import CONSISTENT, FAIL, KNOWN, MISSING, PASS, SKIPPED
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance
from optree.errors import OptreeError

COLUMNS = ["table", "claim", "paper", "measured", "tolerance", "result", "why"]
DIGITS = "the printed digits"
_WAITING = "not run by this configuration, or on too few datasets"


def declare(claim: str, paper: str, measured: str, tolerance: str, verdict: str, why: str = "") -> dict:
    """Return one claim, as a row of :attr:`Table.claims`."""
    return dict(claim=claim, paper=paper, measured=measured, tolerance=tolerance, verdict=verdict, why=why)


def judged(
    title: str,
    subject: list[str],
    rows: Iterable[dict],
    tolerances: Mapping[str, str],
    notes: Iterable[str] = (),
    explanations: Iterable[Mapping[str, str]] = (),
) -> Table:
    """Return a table of printed and measured numbers, a claim per row; claims that were not run come last.

    ``rows`` come from :func:`optree.bench.papers.printed.claim`; ``subject`` are the columns that name the subject of a
    claim. ``tolerances`` are the accepted differences by claim; without an entry, :data:`DIGITS`. ``explanations`` are
    the table's rows of ``notes.csv``. One of them applies to the claims that were run and agree with all its columns;
    an empty cell agrees with every claim. Its verdict replaces "not reproduced".
    """
    data = pd.DataFrame(rows, columns=[*subject, "claim", "paper", *verdicts.Finding._fields])
    _explain(data, explanations)
    counts = data["verdict"].value_counts()
    tally = "; ".join(f"{counts[name]} {name}" for name in verdicts.MEANING if name in counts)
    meanings = "; ".join(f"{name} = {text}" for name, text in verdicts.MEANING.items() if name in counts)
    claims = [
        declare(f"{_subject(row, subject)}: {row['claim']}", row["paper"], row["measured"],
                tolerances.get(row["claim"], DIGITS), row["verdict"], row["explanation"])
        for row in data.to_dict("records")
    ]  # fmt: skip
    note = f"Verdicts: {meanings}."
    shown = pd.concat([data[data["verdict"].ne(MISSING)], data[data["verdict"].eq(MISSING)]])
    return Table(title, data, shown, (note, *notes), f"{len(data)} claims: {tally}.", pd.DataFrame(claims))


def _explain(data: pd.DataFrame, notes: Iterable[Mapping[str, str]]) -> None:
    """Add the explanations and verdicts of notes to the claims that were run."""
    for note in notes:
        same = data["verdict"].ne(MISSING)
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
    ran = every["verdict"].ne(MISSING)
    waiting = every[~ran].groupby("table", sort=False).size()
    rest = [
        {"table": name, "claim": f"{count} further claims", "result": MISSING, "why": _WAITING}
        for name, count in waiting.items()
    ]
    every["why"] = every["why"].where(every["result"].eq(PASS) | every["why"].ne(""), every["verdict"])
    data = pd.concat([every[ran], pd.DataFrame(rest)], ignore_index=True).reindex(columns=COLUMNS).fillna("")
    linked = {"table": pd.Series("paper_table_{}.html", data.index)}
    notes = (
        f"{PASS} = within the tolerance, by a run; {CONSISTENT} = agrees without a run of the printed number's solver: "
        f"the size of the data, a formula, or another solver's number beside our optimum; {FAIL} = beyond the "
        f"tolerance; {KNOWN} = beyond it, because the paper contradicts its artefact or itself, or counts something "
        f"else; {SKIPPED} = undecided, or about other data; {MISSING} = of runs or datasets that this configuration "
        "lacks.",
        f"{DIGITS} = the measured value, rounded or cut off, has the printed digits. table = paper_table_NAME, which "
        "explains each claim and the meaning of its verdict.",
        *provenance(results.searches),
    )
    return Table(f"Claims of {paper.title}", data, data, notes, f"{len(every)} claims: {tally(data)}.", linked=linked)


def tally(data: pd.DataFrame) -> str:
    """Return the numbers of claims by result, in a line, for a table of :func:`claims`."""
    return ", ".join(f"{count} {name}" for name, count in _counts(data).items() if count or name in (PASS, FAIL))


def _counts(data: pd.DataFrame) -> dict[str, int]:
    """Return the numbers of claims by result; a row of claims that were not run counts each of them."""
    waiting = data["result"].eq(MISSING)
    kinds = (PASS, CONSISTENT, FAIL, KNOWN, SKIPPED)
    counts = dict.fromkeys(kinds, 0) | data.loc[~waiting, "result"].value_counts().to_dict()
    counts[MISSING] = int(data.loc[waiting, "claim"].str.split().str[0].astype(int).sum())
    return counts


def answer(data: pd.DataFrame, required: Sequence[str] = ()) -> str:
    """Return in one line which claims of a table of :func:`claims` are reproduced, and which are not.

    The line is about the claims of the ``required`` tables, or about all claims if no table is required. Unless runs
    decided all of them, the line begins with the number of decided claims.
    """
    own = data[data["table"].isin(list(required))] if required else data
    counts, words = _counts(own), "required claims" if required else "claims"
    total, decided = sum(counts.values()), counts[PASS] + counts[FAIL] + counts[KNOWN]
    if not total:
        return f"there are no {words}."
    against = [
        f"{counts[FAIL]} that fail" * bool(counts[FAIL]),
        f"{counts[KNOWN]} that the paper itself contradicts or counts differently" * bool(counts[KNOWN]),
    ]
    exceptions = f"; except {' and '.join(filter(None, against))}" if decided > counts[PASS] else ""
    if decided == total:
        return f"reproduced: {counts[PASS]:,} of {total:,} {words}{exceptions}."
    head = f"decided by runs: {decided:,} of {total:,} {words}"
    head += f"; reproduced: {counts[PASS]:,} of these {decided:,}{exceptions}" if decided else ""
    rest = {
        CONSISTENT: "consistent with the paper without a run",
        SKIPPED: "undecided, or about other data",
        MISSING: "not run",
    }
    return "; ".join([head, *(f"{counts[kind]:,} {text}" for kind, text in rest.items() if counts[kind])]) + "."


def check(table: pd.DataFrame, tables: list[str], where: str) -> None:
    """Raise OptreeError if a claim of the required ``tables`` fails, or if no claim of a required table is decided.

    SKIPPED is no decision. CONSISTENT is one: no run can decide more about a formula or the size of the data.
    The error names the file of the claims, ``where``. It has the first three failed claims and the number of all, or
    the tables without a decision.
    """
    failed = table[table["table"].isin(tables) & table["result"].eq(FAIL)]
    if len(failed):
        first = "; ".join(
            f"table {row['table']}, {row['claim']}: {row['measured']} for {row['paper']}"
            for row in failed.head(3).to_dict("records")
        )
        more = f", and {len(failed) - 3} more" if len(failed) > 3 else ""
        raise OptreeError(f"{where}: {len(failed)} required claims fail: {first}{more}")
    decided = set(table.loc[~table["result"].isin((SKIPPED, MISSING)), "table"])
    if undecided := [name for name in tables if name not in decided]:
        raise OptreeError(
            f"{where}: no run decides a claim of the required tables {', '.join(undecided)}; "
            "give more runs, or required_claims without these tables"
        )
