"""The first page of a report, in reStructuredText: the question, the results, the machine, and how to repeat a run."""

from __future__ import annotations

import shlex

import pandas as pd

from optree.bench.papers.claims import FAIL, tally
from optree.bench.tables import certificates
from optree.bench.tables.comparison import CERTIFIED, reasons, times, with_interval
from optree.bench.tables.pairwise import pairwise_comparisons
from optree.bench.tables.summary import STATUS, number, provenance

_MAX_ITEMS = 8  # Pairs of algorithms, reasons and failed claims that fit on the page.


def first_page(
    runs: pd.DataFrame, record: str, command: str, paper: str = "", claims: pd.DataFrame | None = None
) -> str:
    """Return the page in reStructuredText.

    ``record`` is the path of an example record, ``results/NAME/runs/...json``; ``command`` made the results. ``paper``
    is a title, and ``claims`` the data of the paper's table of claims.
    """
    sections = [
        _section("What was asked", _asked(runs, paper)),
        _section("What was found", _found(runs)),
        *([_section("Claims of the paper", _claims(claims))] if claims is not None else []),
        _section("Where, and with what", [_escape(note) for note in provenance(runs)[1:]]),
        _section("How to do it again", _again(record, command)),
    ]
    return "\n".join(sections)


def _escape(text: str) -> str:
    """Return text without markup characters."""
    return "".join(f"\\{c}" if c in "*`|_\\" else c for c in text)


def _section(title: str, items: list[str]) -> str:
    """Return a section with a bullet per item."""
    return "\n".join([title, "-" * len(title), "", *(f"- {item}" for item in items), ""])


def _several(names: pd.Series) -> str:
    """Return distinct names as text: up to 12 in full, otherwise their number and the first ten."""
    distinct = list(dict.fromkeys(map(str, names)))
    return _escape(", ".join(distinct) if len(distinct) <= 12 else f"{len(distinct)}: {', '.join(distinct[:10])}, ...")


def _asked(runs: pd.DataFrame, paper: str) -> list[str]:
    """Return the question: objective, lambdas, algorithms, datasets, encodings and paper."""
    lambdas = runs.drop_duplicates("lambda").sort_values("lambda")["regularization"]
    asked = [
        f"Trees that minimise errors + lambda * splits (or leaves), {len(runs):,} runs; lambda: {_several(lambdas)}.",
        f"Algorithms: {_several(runs['algorithm'])}.",
        f"Datasets: {_several(runs['dataset'])}. Encodings: {_several(runs['encoding'])}.",
    ]
    return [*asked, f"Does it reproduce {_escape(paper)}?"] if paper else asked


def _found(runs: pd.DataFrame) -> list[str]:
    """Return the outcome: statuses, refuted certificates, ratios of seconds, and reasons of failures."""
    exact = runs[runs["exact"].astype(bool) & runs["status"].ne("skipped")]
    proven = exact["status"].eq(CERTIFIED).sum()
    found = [f"**{proven:,} of {len(exact):,}** searches of exact algorithms ended with a proof of optimality."]
    counts = runs["status"].value_counts()
    found += [
        f"{counts[status]:,} runs have the status *{_escape(status)}*: {text}."
        for status, text in STATUS.items()
        if status in counts and status != CERTIFIED
    ]
    found.append(_escape(certificates.wrong_certificates(runs).result))
    found += [_faster(row) for row in _apart(runs)]
    return found + [_escape(reason) for reason in reasons(runs)[:_MAX_ITEMS]]


def _apart(runs: pd.DataFrame) -> list[dict]:
    """Return the pairs of algorithms that prove problems in common, the greatest ratio of seconds first."""
    table = pairwise_comparisons(runs).data
    table = table[table["ratio"].notna()]
    order = table["ratio"].map(lambda ratio: max(ratio, 1 / ratio)).sort_values(ascending=False).index[:_MAX_ITEMS]
    return table.loc[order].to_dict("records")


def _faster(row: dict) -> str:
    """Return a sentence about one pair: the faster algorithm, its ratios of seconds and memory, and iterations."""
    ratio, ends = row["ratio"], (row["low"], row["high"])
    names, iterations = (row["one"], row["other"]), (row["iterations"], row["iterations_other"])
    if ratio > 1:
        names, value, iterations = names[::-1], ratio, iterations[::-1]
    else:
        value, ends = 1 / ratio, (1 / ends[1], 1 / ends[0])
    first, second = map(_escape, names)
    memory = times(row["memory_ratio"] if ratio <= 1 else 1 / row["memory_ratio"]) or "unknown"
    counts = " and ".join(number(0)(count) or "unknown" for count in iterations)
    return (
        f"**{first}** is {with_interval(value, *ends)} times faster than {second}, with {memory} times the memory "
        f"(geometric means over the problems that both prove, {row['datasets']} datasets; median iterations {counts}, "
        "each in its own units)."
    )


def _claims(claims: pd.DataFrame) -> list[str]:
    """Return the tally of all claims and of each table, and the first failed claims."""
    items = [f"**All: {tally(claims)}.**"]
    items += [f"Table {_escape(name)}: {tally(own)}." for name, own in claims.groupby("table")]
    failed = claims[claims["result"].eq(FAIL)].head(_MAX_ITEMS)
    items += [
        _escape(f"FAIL: table {row['table']}, {row['claim']}: {row['measured']} for {row['paper']} ({row['why']}).")
        for row in failed.to_dict("records")
    ]
    return items


def _again(record: str, command: str) -> list[str]:
    """Return the commands that repeat everything, one run, or the tables and plots alone."""
    results = record.split("/runs/")[0]
    return [
        f"Everything: ``{command}``.",
        f"One run: ``{shlex.join(['python', '-m', 'optree.bench.runs.rerun', record])}``; it prints the new result "
        f"beside the record, and needs the encoded problem that the workflow left. Each run has a record in "
        f"``{results}/runs``, named after its problem and algorithm.",
        f"Tables and plots from the records, without any search: ``{_with(command, f'records={results}')}``.",
    ]


def _with(command: str, setting: str) -> str:
    """Return the command with one more setting of the configuration."""
    words = shlex.split(command)
    if "--config" in words:
        words.insert(words.index("--config") + 1, setting)
    else:
        words += ["--config", setting]
    return shlex.join(words)
