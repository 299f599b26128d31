"""The data frame of records, the summary, and written tables."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from html.parser import HTMLParser

import pandas as pd
import pytest
from support.refusal import refused
from support.runs import records, run, shuffled

from optree.bench.runs import record, store
from optree.bench.tables import formats, summary
from optree.bench.tables.frame import collect, frame, load


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return frame(records())


def pick(table: pd.DataFrame, **values) -> pd.DataFrame:
    for name, value in values.items():
        table = table[table[name].isna() if value is None else table[name].eq(value)]
    return table


def test_the_frame_does_not_depend_on_the_order_of_the_records(runs):
    pd.testing.assert_frame_equal(runs, frame(shuffled()))
    same = pick(runs, dataset="monks-1", encoding="onehot-drop-first", algorithm="branches", max_depth=None)
    assert same[["regularization", "split"]].agg(" ".join, axis=1).tolist() == [
        f"{lam} {split}" for lam in ("0.01", "0.05") for split in ("full", "0", "1", "2")
    ]


def test_the_frame_holds_what_the_record_says(runs):
    entry = run("tic-tac-toe", "ordinal", "0.005")
    row = pick(runs, dataset="tic-tac-toe", encoding="ordinal").iloc[0]
    assert (row["status"], row["splits"], row["rows_train"], row["classes"]) == ("optimal", 17, 958, 2)
    assert row["cost"] == entry["cost"]["value"] == row["cost_bound"]
    assert row["objective"] == pytest.approx(row["accuracy_train"] - 0.005 * row["splits"])
    assert pd.isna(row["accuracy_test"])
    assert pd.isna(row["rows_test"])
    assert pd.isna(row["max_depth"])


def test_full_and_seeds_are_summed_up_apart(runs):
    table = summary.summarise(runs)
    cell = pick(table, encoding="onehot-drop-first", algorithm="branches", regularization="0.01", max_depth=None)
    cell = pick(cell, dataset="monks-1")
    assert cell["rows"].tolist() == ["full", "3 seeds"]
    full, seeds = cell.to_dict("records")
    assert pd.isna(full["accuracy_test"])
    assert pd.isna(full["accuracy_train_std"])
    accuracies = [
        entry["test"]["accuracy"]
        for entry in records()
        if entry["test"] and entry["run"]["algorithm"] == "branches" and entry["run"]["regularization"] == "0.01"
    ]
    assert seeds["accuracy_test"] == pytest.approx(statistics.mean(accuracies))
    assert seeds["accuracy_test_std"] == pytest.approx(statistics.stdev(accuracies))


def test_each_run_is_in_one_row_of_the_summary_and_depth_limits_have_rows_of_their_own(runs):
    table = summary.summarise(runs)
    assert table.groupby("rows").size().to_dict() == {"full": 10, "3 seeds": 4}
    assert pick(table, max_depth=2)["depth"].tolist() == [2]


def test_statuses_are_counted():
    assert summary.count_statuses(pd.Series(["optimal"] * 5)) == "optimal"
    mixed = pd.Series(["time_limit", "optimal", "optimal", "time_limit", "optimal"])
    assert summary.count_statuses(mixed) == "3/5 optimal, 2/5 time_limit"


@pytest.mark.parametrize(
    ("value", "text"),
    [(4.6e-6, "< 0.00001"), (0.00137, "0.0014"), (0.7761, "0.776"), (4.381, "4.38"), (22.14, "22.1"), (300.02, "300")],
)
def test_seconds_have_the_digits_that_mean_something(value, text):
    assert summary.seconds(value) == text


def test_the_notes_say_what_the_numbers_mean(runs):
    text = " ".join(summary.summary(runs).notes)
    for entry in records():
        assert f"{entry['run']['algorithm']} = {entry['iteration']}" in text
        assert entry["status"] in text
        assert entry["environment"]["cpu"] in text
    assert "Limits of a search: 2000 iterations; or none" in text
    assert "lambda is paid per split" in text


class Cells(HTMLParser):
    """The texts of all cells of a page."""

    def __init__(self, page: str):
        super().__init__()
        self.texts, self._inside = [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag in ("td", "th"):
            self._inside = True
            self.texts.append("")

    def handle_endtag(self, tag):
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, data):
        if self._inside:
            self.texts[-1] += data


def test_every_format_has_every_cell(runs, tmp_path):
    table = summary.summary(runs)
    for ending in ("csv", "md", "tex", "html"):
        formats.write(table, tmp_path / f"summary.{ending}")
    back = pd.read_csv(tmp_path / "summary.csv")
    assert back["objective"].tolist() == table.data["objective"].tolist()
    rows = [list(table.shown.columns), *table.shown.to_numpy().tolist()]
    assert Cells((tmp_path / "summary.html").read_text()).texts == [cell for row in rows for cell in row]
    lines = [line for line in (tmp_path / "summary.md").read_text().splitlines() if line.startswith("| ")]
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in lines] == rows
    latex = (tmp_path / "summary.tex").read_text()
    assert latex.count(r"\\") == len(rows) + 1
    assert r"iteration\_limit" in latex
    assert "±" not in latex


def test_texts_are_escaped(tmp_path):
    data = pd.DataFrame({"a & b": ["50 % < _x_"]})
    table = formats.Table("T <1>", data, data, ("{note}",))
    formats.write(table, tmp_path / "t.html")
    formats.write(table, tmp_path / "t.tex")
    page, latex = (tmp_path / "t.html").read_text(), (tmp_path / "t.tex").read_text()
    for text in ("50 % &lt; _x_", "<h1>T &lt;1&gt;</h1>", "a &amp; b"):
        assert text in page
    for text in (r"50 \% $<$ \_x\_", r"a \& b", r"\{note\}"):
        assert text in latex


def test_a_table_without_rows_has_its_head(tmp_path):
    data = pd.DataFrame({"a": pd.Series([], dtype=float), "b": pd.Series([], dtype=object)})
    table = formats.Table("nothing", data, formats.as_text(data, {"a": "{:.1f}"}), ())
    for shown in (table.shown, data):
        text = formats.fragment(formats.Table("nothing", data, shown, ()))
        assert [name in text for name in ("<th", ">a<", ">b<", "<td")] == [True, True, True, False]


def test_an_unknown_format_is_refused(runs, tmp_path):
    with refused("table.xls", "'.xls'", ".csv, .md, .tex, .html"):
        formats.write(summary.summary(runs), tmp_path / "table.xls")


def test_records_survive_being_collected_and_a_broken_file_of_a_job_is_named(tmp_path):
    cells = [{**entry, "cell": f"{number:024}"} for number, entry in enumerate(records()[:4])]
    jobs, paths = [cells[:1], cells[1:3], cells[3:]], []
    for entries in jobs:
        paths.append(tmp_path / f"{store.job_name((entry['cell'], entry['run']) for entry in entries)}.jsonl")
        paths[-1].write_text("".join(json.dumps(record.seal(entry)) + "\n" for entry in entries))
    assert collect(paths, tmp_path / "runs.jsonl") == 4
    pd.testing.assert_frame_equal(frame(load(tmp_path / "runs.jsonl")), frame(cells))
    text, objective = paths[1].read_text(), json.dumps(cells[1]["objective"])
    for broken, problem in (
        (text[:300], ", line 1: not a record"),
        (text.replace(objective, "0.999", 1), ", line 1: was edited"),
        (text[: text.index("\n") + 1], "records of the job are missing"),
    ):
        paths[1].write_text(broken)
        with refused(str(paths[1]), problem, "delete the file"):
            collect(paths, tmp_path / "other.jsonl")
    assert not (tmp_path / "other.jsonl").exists()


SCRIPT = """
import sys
from optree.bench.system.cli import reporting
from optree.errors import OptreeError
with reporting(sys.argv[1]):
    print("a warning", file=sys.stderr)
    raise {error}
"""


@pytest.mark.parametrize(
    ("error", "screen"),
    [("OptreeError('file.json: broken')", ["a warning", "error: file.json: broken"]), ("KeyError('x')", None)],
)
def test_bad_input_gives_one_line_and_a_defect_its_traceback(error, screen, tmp_path):
    log = tmp_path / "log"
    command = [sys.executable, "-c", SCRIPT.format(error=error), str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    if screen is None:
        assert "Traceback" in done.stderr
        assert "KeyError: 'x'" in log.read_text()
    else:
        assert done.stderr.splitlines() == screen == log.read_text().splitlines()
