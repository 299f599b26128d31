"""Two results folders side by side: what differs is named, and the ratio of seconds can be computed by hand."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from support.compared_records import RECORDS, record
from support.refusal import refused

from optree.bench.report.side_by_side import by_algorithm, cells, main, read


def folder(path, records, kind="runs"):
    for number, entry in enumerate(records):
        target = path / kind / f"{number}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(entry))
    return path


def slower(entry: dict, factor: float) -> dict:
    return entry | {"seconds": {**entry["seconds"], "search": factor * entry["seconds"]["search"]}}


def test_equal_records_agree_and_the_ratio_is_that_of_their_seconds(tmp_path, capsys):
    before = folder(tmp_path / "before", RECORDS)
    after = folder(tmp_path / "after", [slower(entry, 4 if i % 2 else 0.25) for i, entry in enumerate(RECORDS)])
    assert main([str(before), str(after), "--write", str(tmp_path / "out")]) == 0
    assert "10 of 10 cells agree; 1 of them by identity only" in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "out" / "algorithms.csv").set_index("algorithm")
    assert table.loc["ours", "ratio"] == pytest.approx(0.25)
    assert table.loc["peer", "ratio"] == pytest.approx(4)
    assert (table.loc["peer", "low"], table.loc["peer", "high"]) == (pytest.approx(4), pytest.approx(4))
    assert table.loc["peer", "timed"] == 3  # neither the one with a limit nor the skipped one
    page = (tmp_path / "out" / "cells.html").read_text()
    assert "seconds before" in page
    assert "a/onehot-drop-first/peer" in page


def test_other_objectives_statuses_and_trees_are_named(tmp_path, capsys):
    before = folder(tmp_path / "before", RECORDS)
    other = json.loads(json.dumps(RECORDS))
    other[0]["objective"] = 0.5
    other[1]["tree"] = {"prediction": 1}
    other[2]["status"] = "iteration_limit"
    after = folder(tmp_path / "after", [*other[:-1], record("f", "ours", 1.0)])
    assert main([str(before), str(after)]) == 1
    said = capsys.readouterr().out
    for words in ("-> 0.5", "status: optimal -> iteration_limit", "f/onehot-drop-first/ours", "only after", "3 differ"):
        assert words in said
    data = cells(read(before), read(after)).set_index("cell")
    assert data["result"].value_counts().to_dict() == {
        "same": 5, "differs": 3, "limited": 1, "only before": 1, "only after": 1
    }  # fmt: skip
    assert (data["tree"] == "another").sum() == 1
    # An unfinished search has no seconds of its own.
    assert data["ratio"].notna().sum() == 8 - 1


def test_a_limit_depends_on_the_clock_and_counters_are_no_results(tmp_path):
    before, after = read(folder(tmp_path / "a", RECORDS)), read(folder(tmp_path / "b", RECORDS))
    limited = next(name for name, values in after.items() if values["status"] == "memory_limit")
    after[limited] |= {"objective": 0.9}
    plain = next(iter(after))
    after[plain] |= {"counters.iterations": 7}
    assert set(cells(before, after)["result"]) == {"same", "limited", "differs"}
    assert "differs" not in set(cells(before, after, only_results=True)["result"])
    assert "differs" not in set(cells(before, after, {"counters.iterations"})["result"])


def test_an_archive_is_read_from_its_tables(tmp_path):
    whole = folder(tmp_path / "whole", RECORDS)
    (tmp_path / "archive" / "tables").mkdir(parents=True)
    lines = "".join(json.dumps(entry) + "\n" for entry in RECORDS)
    (tmp_path / "archive" / "tables" / "runs.jsonl").write_text(lines)
    assert main([str(whole), str(tmp_path / "archive")]) == 0


def test_no_common_timed_cell_has_no_ratio(tmp_path):
    data = cells(read(folder(tmp_path / "a", RECORDS[:2])), read(folder(tmp_path / "b", RECORDS[2:4])))
    table = by_algorithm(data)
    assert table.result == "0 of 4 cells agree; 2 only before; 2 only after."
    assert table.shown["seconds, after / before"].eq("").all()


def test_a_folder_without_records_is_one_line(tmp_path, capsys):
    with refused("no records", "results/default"):
        read(tmp_path)
    with refused("a/onehot-drop-first/ours", "twice"):
        read(folder(tmp_path / "twice", RECORDS[:1] * 2))
    assert main([str(tmp_path), str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("error: ")
