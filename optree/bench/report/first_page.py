"""The first page of a report, in reStructuredText: what was asked, what was found, where, how to do a cell again."""

from __future__ import annotations

import shlex

import pandas as pd

from optree.bench.papers.claims import FAIL, tally
from optree.bench.tables import certificates
from optree.bench.tables.comparison import CERTIFIED, reasons, times
from optree.bench.tables.pairwise import duels
from optree.bench.tables.summary import STATUS, number, provenance

_MOST = 8  # of pairs of algorithms, or of failed claims, that a first page has room for


def findings(runs: pd.DataFrame, record: str, command: str, paper: str = "", claims: pd.DataFrame | None = None) -> str:
    """The page.

    Parameters
    ----------
    runs : pandas.DataFrame
        From :func:`optree.bench.tables.frame.frame`.
    record : str
        One of them, as an example: ``results/NAME/runs/...json``.
    command : str
        What made these results.
    paper : str
        The title of the paper that they are compared with, empty if there is none.
    claims : pandas.DataFrame, optional
        ``data`` of :func:`optree.bench.papers.claims.claims`.
    """
    parts = [
        _section("What was asked", _asked(runs, paper)),
        _section("What was found", _found(runs)),
        *([_section("Claims of the paper", _claims(claims))] if claims is not None else []),
        _section("Where, and with what", [_escape(note) for note in provenance(runs)[1:]]),
        _section("How to do it again", _again(record, command)),
    ]
    return "\n".join(parts)


def _escape(text: str) -> str:
    """Text in which nothing is markup."""
    return "".join(f"\\{c}" if c in "*`|_\\" else c for c in text)


def _section(title: str, items: list[str]) -> str:
    return "\n".join([title, "-" * len(title), "", *(f"- {item}" for item in items), ""])


def _several(names: pd.Series) -> str:
    """Names in a row: all of a few, or how many of many."""
    found = list(dict.fromkeys(map(str, names)))
    return _escape(", ".join(found) if len(found) <= 12 else f"{len(found)}: {', '.join(found[:10])}, ...")


def _asked(runs: pd.DataFrame, paper: str) -> list[str]:
    lambdas = runs.drop_duplicates("lambda").sort_values("lambda")["regularization"]
    asked = [
        f"Trees that minimise errors + lambda * splits (or leaves), {len(runs):,} runs; lambda: {_several(lambdas)}.",
        f"Algorithms: {_several(runs['algorithm'])}.",
        f"Datasets: {_several(runs['dataset'])}. Encodings: {_several(runs['encoding'])}.",
    ]
    return [*asked, f"Does it reproduce {_escape(paper)}?"] if paper else asked


def _found(runs: pd.DataFrame) -> list[str]:
    """How the runs ended, whose proofs were refuted, and who is how fast."""
    exact = runs[runs["exact"].astype(bool) & runs["status"].ne("skipped")]
    proven = int(exact["status"].eq(CERTIFIED).sum())
    found = [f"**{proven:,} of {len(exact):,}** searches of exact algorithms ended with a proof of optimality."]
    counts = runs["status"].value_counts()
    found += [
        f"{counts[status]:,} ended as *{_escape(status)}*: {text}."
        for status, text in STATUS.items()
        if status in counts and status != CERTIFIED
    ]
    found.append(_escape(certificates.table(runs).result))
    found += [_faster(row) for row in _apart(runs)]
    return found + [_escape(reason) for reason in reasons(runs)[:_MOST]]


def _apart(runs: pd.DataFrame) -> list[dict]:
    """The pairs of algorithms whose times can be compared, farthest apart first."""
    table = duels(runs).data
    table = table[table["ratio"].notna()]
    order = table["ratio"].map(lambda ratio: max(ratio, 1 / ratio)).sort_values(ascending=False).index[:_MOST]
    return table.loc[order].to_dict("records")


def _faster(row: dict) -> str:
    """Who is faster, by how much, on what."""
    ratio, ends = row["ratio"], (row["low"], row["high"])
    names, iterations = (row["one"], row["other"]), (row["iterations"], row["iterations_other"])
    if ratio > 1:
        names, value, iterations = names[::-1], ratio, iterations[::-1]
    else:
        value, ends = 1 / ratio, (1 / ends[1], 1 / ends[0])
    interval = "" if pd.isna(ends[0]) else f" [{times(ends[0])}, {times(ends[1])}]"
    first, second = map(_escape, names)
    memory = times(row["memory_ratio"] if ratio <= 1 else 1 / row["memory_ratio"]) or "unknown"
    counts = " and ".join(number(0)(count) or "unknown" for count in iterations)
    return (
        f"**{first}** takes {times(value)}{interval} times less time than {second}, and {memory} times its memory "
        f"(geometric means over the problems that both prove, {row['datasets']} datasets; median iterations {counts}, "
        "each in its own units)."
    )


def _claims(claims: pd.DataFrame) -> list[str]:
    items = [f"**All: {tally(claims)}.**"]
    items += [f"Table {_escape(name)}: {tally(own)}." for name, own in claims.groupby("table")]
    failed = claims[claims["result"].eq(FAIL)].head(_MOST)
    items += [
        _escape(f"FAIL: table {row['table']}, {row['claim']}: {row['measured']} for {row['paper']} ({row['why']}).")
        for row in failed.to_dict("records")
    ]
    return items


def _again(record: str, command: str) -> list[str]:
    results = record.split("/runs/")[0]
    return [
        f"All of it: ``{command}``.",
        f"One cell alone, beside its record: ``{shlex.join(['python', '-m', 'optree.bench.runs.rerun', record])}``; each "
        f"run has such a record below ``{results}/runs``, whose name says what it is. It needs the encoded problem "
        "that the workflow leaves.",
        f"Tables and plots from the records, without any search: ``{_with(command, f'records={results}')}``.",
    ]


def _with(command: str, setting: str) -> str:
    """A command with a further key of the configuration."""
    words = shlex.split(command)
    if "--config" in words:
        words.insert(words.index("--config") + 1, setting)
    else:
        words += ["--config", setting]
    return shlex.join(words)
