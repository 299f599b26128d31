"""Two results folders side by side: before and after a change, from two machines, or of two versions.

    python -m optree.bench.report.side_by_side BEFORE AFTER [--write DIR] [--only-results] [--renamed OLD=NEW ...]

Every value of a record is compared but clocks, memory and the machine. Of a cell that a limit of time or memory ended,
only the identity of the cell and its data are compared, as its tree depends on the clock. The exit code is 1 if a cell
differs or has no counterpart.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pandas as pd

from optree.bench.tables.comparison import LEAST_SECONDS, ratio_of_seconds, with_interval
from optree.bench.tables.formats import Table, as_text, write
from optree.bench.tables.frame import load
from optree.errors import OptreeError
from optree.words import count

# Prefixes of keys that depend on the clock or on the machine.
CLOCKS = ("seconds", "peak_rss_mib", "model.memory", "trace", "environment", "run.limits", "cell", "digest")
LIMITS = ("time_limit", "memory_limit", "interrupted")
RESULTS = ("status", "objective", "cost.value", "cost.lower_bound", "tree", "train", "test")
ENDED = ("optimal", "heuristic")
ALL = "all"
_SECONDS = ("search_seconds_reference", "search_seconds", "ratio")
_RATIO = "seconds, after / before"


def flat(record: dict, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield (dotted key, value) for every leaf of a record."""
    for key, value in record.items():
        if isinstance(value, dict) and value:
            yield from flat(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield prefix + key, [{k: v for k, v in flat(item) if "seconds" not in k} for item in value]
        else:
            yield prefix + key, value


def identity(record: dict) -> str:
    """Return the name of a record's cell: the fields of its run, without limits, empty and default ones."""
    fields = record["run"] | (record["run"].get("model") or {})
    left_out = ("limits", "repeats", "test_size", "solver", "model")
    kept = {key: value for key, value in fields.items() if key not in left_out and value not in (None, {}, False)}
    names = [str(kept.pop(key)) for key in ("dataset", "encoding", "algorithm") if key in kept]
    rest = (f"{key}={json.dumps(kept[key], sort_keys=True)}".replace('"', "") for key in sorted(kept))
    return " ".join(["/".join(names), *rest])


def read(folder: Path, renamed: dict[str, str] | None = None) -> dict[str, dict[str, object]]:
    """Return the flat records of a results folder or an unpacked archive, by the name of their cell."""
    older = sorted((folder / "runs").rglob("*.json"))  # of versions with a file for each record
    tables = sorted((folder / "jobs").glob("*.jsonl")) or [folder / "tables" / "runs.jsonl"]
    try:
        records = [json.loads(path.read_text(encoding="utf-8")) for path in older]
        records = records or list(chain.from_iterable(load(path) for path in tables if path.exists()))
    except (OSError, ValueError) as error:
        raise OptreeError(f"{folder}: a record cannot be read ({error})") from error
    if not records:
        raise OptreeError(f"{folder}: no records in jobs/ or tables/; give a folder such as results/default")
    cells = {}
    for record in records:
        values, name = dict(flat(record)), identity(record)
        if name in cells:
            raise OptreeError(f"{folder}: the cell {name} has a record twice; delete one")
        cells[name] = {(renamed or {}).get(key, key): value for key, value in values.items()}
    return cells


def differences(before: dict, after: dict, ignored: set[str], only_results: bool = False) -> list[str]:
    """Return the keys whose value differs between two flat records."""
    keys = [key for key in dict.fromkeys([*before, *after]) if not key.startswith(CLOCKS) and key not in ignored]
    if before.get("status") in LIMITS or after.get("status") in LIMITS:
        keys = [key for key in keys if key.startswith(("run.", "data."))]
    elif only_results:
        keys = [key for key in keys if key.startswith(RESULTS)]
    return [key for key in keys if before.get(key) != after.get(key)]


def _seconds(record: dict) -> float | None:
    """Return the seconds of search of a run that ended by itself; a model without a search has seconds of a fit."""
    if record.get("status") not in ENDED:
        return None
    found, calls = record.get("seconds.search"), record.get("seconds.calls") or [0.0]
    return max(LEAST_SECONDS, calls[0] if found is None else found)


def cells(before: dict, after: dict, ignored: set[str] = frozenset(), only_results: bool = False) -> pd.DataFrame:
    """Return a row per cell of either folder: its result in words, what differs, objectives, statuses and seconds."""
    rows = []
    for name in dict.fromkeys([*before, *after]):
        one, other = before.get(name, {}), after.get(name, {})
        any_side = one or other
        keys = differences(one, other, ignored, only_results) if one and other else []
        limited = {one.get("status"), other.get("status")} & {*LIMITS}
        result = "only before" if not other else "only after" if not one else "differs" if keys else "same"
        objective = [side.get("train.score", side.get("objective")) for side in (one, other)]
        tree = {key for key in keys if key == "tree" or key.startswith("tree.")}
        texts = (f"{key}: {one.get(key, '(absent)')} -> {other.get(key, '(absent)')}"[:160] for key in keys)
        rows.append(
            {
                "cell": name,
                "dataset": any_side.get("run.dataset"),
                "algorithm": any_side.get("run.algorithm"),
                "result": "limited" if result == "same" and limited else result,
                "status_before": one.get("status", ""),
                "status_after": other.get("status", ""),
                "objective_before": objective[0],
                "objective_after": objective[1],
                "tree": "another" if tree else "",
                "what": "; ".join(sorted(texts, key=lambda text: not text.startswith(RESULTS))),
                "search_seconds_reference": _seconds(one) if one else None,
                "search_seconds": _seconds(other) if other else None,
            }
        )
    data = pd.DataFrame(rows)
    data[[*_SECONDS[:2]]] = data[[*_SECONDS[:2]]].astype(float)
    return data.assign(ratio=data["search_seconds"] / data["search_seconds_reference"])


def by_algorithm(data: pd.DataFrame) -> Table:
    """Return a row per algorithm, and one for all: cells by result, and the ratio of seconds with its interval."""
    rows = []
    for name, own in [(ALL, data), *data.groupby("algorithm")]:
        timed = own[own["ratio"].notna()]
        results = own["result"].value_counts()
        ratio = dict(zip(("ratio", "low", "high"), ratio_of_seconds(timed), strict=True)) if len(timed) else {}
        counts = {key: int(results.get(key, 0)) for key in ("same", "limited", "differs", "only before", "only after")}
        rows.append({"algorithm": name, "cells": len(own), **counts, "timed": len(timed), **ratio})
    table = pd.DataFrame(rows).reindex(columns=[*rows[0], *({"ratio", "low", "high"} - set(rows[0]))])
    texts = [with_interval(*row) for row in table[["ratio", "low", "high"]].to_numpy(float)]
    shown = table.drop(columns=["ratio", "low", "high"]).assign(**{_RATIO: texts}).astype(str)
    notes = (
        "limited = a limit of time or memory ended a search of the cell, so that its tree depends on the clock.",
        f"{_RATIO} = geometric mean over timed cells, whose searches ended by themselves in both folders: below 1, "
        "after is faster. Brackets: 95 % bootstrap interval over datasets, from two datasets on.",
    )
    return Table("Two results side by side", table, shown, notes, _verdict(table.iloc[0], texts[0]))


def _verdict(total: pd.Series, ratio: str) -> str:
    """Return the answer in one line."""
    alike = total["same"] + total["limited"]
    parts = [f"{alike} of {count(total['cells'], 'cell')} agree"]
    parts += [f"{total['limited']} of them by identity only, ended by a limit"] if total["limited"] else []
    parts += [f"{total[key]} {words}" for key, words in (("differs", "differ"), *_ONLY) if total[key]]
    return "; ".join([*parts, *([f"{_RATIO}: {ratio} over {total['timed']}"] if ratio else [])]) + "."


_ONLY = (("only before", "only before"), ("only after", "only after"))


def by_cell(data: pd.DataFrame) -> Table:
    """Return a row per cell that differs or has no counterpart, and then the cells with other seconds."""
    order = ["differs", "only before", "only after", "limited", "same"]
    data = data.sort_values(["result", "ratio"], key=lambda c: c.map(order.index) if c.name == "result" else -c)
    forms = {"objective_before": "{:.6g}", "objective_after": "{:.6g}", **dict.fromkeys(_SECONDS, "{:.3g}")}
    shown = as_text(data.drop(columns=["dataset", "algorithm"]), forms)
    names = {"search_seconds_reference": "seconds_before", "search_seconds": "seconds_after"}
    shown = shown.rename(columns=names | {"ratio": "after / before"})
    shown.columns = [name.replace("_", " ") for name in shown.columns]
    shown.insert(len(shown.columns) - 1, "differences", shown.pop("what"))
    notes = ("Cells that differ come first, then cells of one folder, then the others by their ratio of seconds.",)
    return Table("Cells of two results", data.rename(columns=names), shown, notes)


def main(arguments: list[str] | None = None) -> int:
    """Print the comparison, write its tables if asked to, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="results folder, for example results/default")
    parser.add_argument("after", type=Path)
    parser.add_argument("--write", type=Path, metavar="DIR", help="tables and pages go to DIR/{algorithms,cells}.*")
    parser.add_argument("--only-results", action="store_true", help="compare status, objective, bound, tree, accuracy")
    parser.add_argument("--renamed", nargs="*", default=[], metavar="OLD=NEW", help="keys renamed on purpose")
    parser.add_argument("--added", nargs="*", default=[], metavar="KEY", help="keys added or removed on purpose")
    options = parser.parse_args(arguments)
    try:
        if wrong := [pair for pair in options.renamed if "=" not in pair]:
            raise OptreeError(f"--renamed {wrong[0]!r}: OLD=NEW is accepted")
        before = read(options.before, dict(pair.split("=", 1) for pair in options.renamed))
        data = cells(before, read(options.after), set(options.added), options.only_results)
        tables = {"algorithms": by_algorithm(data), "cells": by_cell(data)}
        for name, table in tables.items() if options.write else ():
            options.write.mkdir(parents=True, exist_ok=True)
            for form in ("csv", "md", "html"):
                write(table, options.write / f"{name}.{form}")
    except (OptreeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    different = data[data["result"].isin(("differs", "only before", "only after"))]
    for cell in different.itertuples():
        print(f"{cell.cell}: {cell.result}", *filter(None, cell.what.split("; ")), sep="\n    ")
    print(tables["algorithms"].result)
    print(tables["algorithms"].shown.to_string(index=False))
    return int(len(different) > 0)


if __name__ == "__main__":
    sys.exit(main())
