"""The first page of a report, in reStructuredText: the answer, the results, the question, and how to repeat a run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from optree.bench.papers.claims import answer, tally
from optree.bench.papers.verdicts import FAIL, KNOWN
from optree.bench.runs.store import path_of
from optree.bench.tables import certificates
from optree.bench.tables.comparison import CERTIFIED, by_algorithm, reasons, times, with_interval
from optree.bench.tables.pairwise import pairwise_comparisons
from optree.bench.tables.proofs import checked_proofs
from optree.bench.tables.summary import STATUS, encodings, measured_on, number, provenance
from optree.words import count

_MAX_ITEMS = 8  # Pairs of algorithms and reasons that fit on the page.


class Command(NamedTuple):
    """The command that made the results, their folder, and the folder of finished cells."""

    words: str
    results: str
    cells: str


def first_page(
    runs: pd.DataFrame,
    models: pd.DataFrame,
    command: Command,
    paper: str = "",
    claims: pd.DataFrame | None = None,
    required: Sequence[str] = (),
) -> str:
    """Return the page in reStructuredText.

    ``runs`` are searches, and ``models`` are models, as :func:`optree.bench.tables.frame.read` gives them. ``paper`` is
    a title, and ``claims`` the data of the paper's table of claims, of whose tables some are ``required``.
    """
    asked = [*(_asked(runs) if len(runs) else []), *(_asked_of(models) if len(models) else [])]
    found = [*(_found(runs) if len(runs) else []), *_scores(models)]
    machine = [*provenance(runs)[1:3], *measured_on(runs, models)]
    if paper:
        asked.append(f"Does it reproduce {_escape(paper)}?")
    cells = pd.concat([runs["cell"], models["cell"]]).dropna()
    sections = [
        *([_section("The answer", _answer(claims, required))] if claims is not None else []),
        *([_section("What was found", found)] if found else []),
        _section("What was asked", asked),
        *([_section("Claims of the paper", _claims(claims))] if claims is not None else []),
        _section("Where, and with what", list(map(_escape, machine))),
        _section("How to do it again", _again(command, cells)),
    ]
    return "\n".join(sections)


def closing(page: str, results: str) -> str:
    """Return the last lines of a run: the answer and the findings of its first page, and the files to open."""
    lines, section = [], ""
    for line, below in pairwise([*page.splitlines(), ""]):
        section = line if below and set(below) == {"-"} else section
        if line.startswith("- ") and section in ("The answer", "What was found", "What is missing"):
            lines.append(re.sub(r"\\(.)|[*`]{1,2}", r"\1", line[2:]))
    more = f"Open {results}/tables/summary.html and {results}/plots; all findings: {results}/tables/findings.rst"
    others = [f"and {count(len(lines) - _MAX_ITEMS, 'finding')} more"] if len(lines) > _MAX_ITEMS else []
    return "\n".join([*lines[:_MAX_ITEMS], *others, more])


def missing(jobs: Sequence[str]) -> str:
    """Return the section that names the jobs without records, each in words."""
    named = [_escape(job) for job in jobs[:_MAX_ITEMS]]
    more = [f"and {len(jobs) - _MAX_ITEMS:,} jobs more"] if len(jobs) > _MAX_ITEMS else []
    return _section("What is missing", [f"{count(len(jobs), 'job')} without records", *named, *more])


def not_drawn(reasons: Sequence[str]) -> str:
    """Return the section on figures that are not drawn, each with its reason."""
    return "\n" + _section("Figures that are not drawn", list(map(_escape, reasons)))


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


def _asked(runs: pd.DataFrame) -> list[str]:
    """Return the question: objective, lambdas, algorithms, datasets, and encodings with their parameters."""
    lambdas = runs.drop_duplicates("lambda").sort_values("lambda")["regularization"]
    return [
        f"Trees that minimise errors + lambda * splits (or leaves), {count(len(runs), 'run')}; "
        f"lambda: {_several(lambdas)}.",
        f"Algorithms: {_several(runs['algorithm'])}.",
        f"Datasets: {_several(runs['dataset'])}. Encodings: {_several(runs['encoding'])}.",
        *map(_escape, encodings(runs)),
    ]


def _asked_of(models: pd.DataFrame) -> list[str]:
    """Return the question of models: names and datasets."""
    names, datasets = _several(models["model"]), _several(models["dataset"])
    return [f"Models: {names}, {count(len(models), 'run')}. Datasets of models: {datasets}."]


def _scores(models: pd.DataFrame) -> list[str]:
    """Return sentences on held-out rows: mean scores over the partitions that all models were tested on."""
    tested, sentences = models[models["test"].notna()], []
    for score, own in tested.groupby("score"):
        wide = own.pivot_table("test", ["dataset", "split"], "model", observed=True).dropna()
        if len(wide):
            sentences.append(f"Mean {score} of models on held-out rows, over {_means(wide, 'partition')}.")
    return sentences


def _means(wide: pd.DataFrame, row: str) -> str:
    """Return the number of rows and datasets of a table, and the means of its columns, the greatest first."""
    means = wide.mean().sort_values(ascending=False, kind="stable")
    datasets = count(wide.index.get_level_values("dataset").nunique(), "dataset")
    names = ", ".join(f"{_escape(name)} {mean:.4f}" for name, mean in means.items())
    return f"{count(len(wide), row)} of {datasets}: {names}"


def _found(runs: pd.DataFrame) -> list[str]:
    """Return the outcome: statuses, refuted certificates, ratios of seconds, and reasons of failures."""
    exact = runs[runs["exact"].astype(bool) & runs["status"].ne("skipped")]
    proven = exact["status"].eq(CERTIFIED).sum()
    proofs = f"**{proven:,} of {len(exact):,}** searches of exact algorithms ended with a proof of optimality."
    found = [proofs] if len(exact) else ["No exact algorithm was run."]
    found += [f"**{told}.**" for told in [checked_proofs(runs)] if told]
    counts = runs["status"].value_counts()
    found += [
        f"{count(counts[status], 'run')} of the status *{_escape(status)}*: {text}."
        for status, text in STATUS.items()
        if status in counts and status != CERTIFIED
    ]
    found.append(_escape(certificates.wrong_certificates(runs).result))
    found += [_escape(reason) for reason in reasons(runs)[:_MAX_ITEMS]]
    return [*found, *map(_faster, _apart(runs)), *_held_out(runs)]


def _held_out(runs: pd.DataFrame) -> list[str]:
    """Return a sentence on held-out rows: mean accuracies over the problems that all algorithms were tested on."""
    tested = runs[runs["accuracy_test"].notna()]
    wide = by_algorithm(tested, "accuracy_test").dropna()
    if not len(wide):
        return []
    return [f"Mean accuracy on held-out rows, over {_means(wide, 'problem')}."]


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
    counts = " and ".join(number(0)(value) or "unknown" for value in iterations)
    proven = f"{count(row['certified_both'], 'problem')} of {count(row['ratio_datasets'], 'dataset')} that both prove"
    return (
        f"**{first}** is {with_interval(value, *ends)} times faster than {second}, with {memory} times the memory "
        f"(geometric means over {proven}; median iterations {counts}, "
        "each in its own units)."
    )


def _answer(claims: pd.DataFrame, required: Sequence[str]) -> list[str]:
    """Return the answer on the required claims, or on all, and each claim that is not reproduced."""
    own = claims[claims["table"].isin(list(required))] if required else claims
    against = own[own["result"].isin((FAIL, KNOWN))].sort_values("result", kind="stable")
    return [f"**{_escape(answer(claims, required))}**", *map(_claim, against.to_dict("records"))]


def _claim(row: dict) -> str:
    """Return a claim that is not reproduced, with both values and the reason."""
    values = f"{row['measured']} for {row['paper']} ({row['why']})"
    return _escape(f"{row['result']}: table {row['table']}, {row['claim']}: {values}.")


def _claims(claims: pd.DataFrame) -> list[str]:
    """Return the tally of all claims and of each table."""
    items = [f"**All: {tally(claims)}.**"]
    return [*items, *(f"Table {_escape(name)}: {tally(own)}." for name, own in claims.groupby("table"))]


def _again(command: Command, cells: pd.Series) -> list[str]:
    """Return the commands that repeat everything, one run, or the tables and plots alone."""
    cell = cells.iloc[0] if len(cells) else "..."
    record = str(path_of(cell, Path(command.cells)))
    return [
        f"Everything: ``{command.words}``.",
        f"One run: ``{shlex.join(['python', '-m', 'optree.bench.runs.rerun', record])}``; it prints the new result "
        f"beside the record, and needs the rows that the workflow left. The column *cell* of the tables names the "
        f"record of each run in ``{command.cells}``.",
        "Tables and plots from the records, without any search: "
        f"``{_with(command.words, f'records={command.results}')}``.",
    ]


def _with(command: str, setting: str) -> str:
    """Return the command with one more setting of the configuration."""
    words = shlex.split(command)
    if "--config" in words:
        words.insert(words.index("--config") + 1, setting)
    else:
        words += ["--config", setting]
    return shlex.join(words)
