"""The first page of a report begins with the answer, and counts what it says that it counts."""

from __future__ import annotations

import pandas as pd
import pytest
from support.compared_records import RECORDS, record
from support.model_runs import model_run, rows

from optree.bench.figures import profiles, styles
from optree.bench.models import fit
from optree.bench.models import frame as model_frame
from optree.bench.papers.claims import COLUMNS, answer
from optree.bench.report.first_page import Command, closing, first_page, not_drawn
from optree.bench.tables import model_summary
from optree.bench.tables.frame import frame
from optree.bench.tables.summary import summary

ROWS = [
    ("2", "a: objective", "0.9", "0.9", "", "PASS", ""),
    ("2", "b: objective", "0.832", "0.773", "", "known FAIL", "the program finds 0.773"),
    ("3", "c: time", "yes", "no", "", "FAIL", "slower"),
    ("3", "7 further claims", "", "", "", "not run", "not run by this configuration"),
]
COMMAND = Command("snakemake --cores 1", "results/x", "results/cells")
NO_MODELS = model_frame.frame([])
CLAIMS = pd.DataFrame(ROWS, columns=COLUMNS)


def page(runs=RECORDS, **more) -> str:
    return first_page(frame(runs), more.pop("models", NO_MODELS), COMMAND, **more)


def test_the_page_begins_with_the_answer_and_lists_each_exception():
    text = page(paper="A paper", claims=CLAIMS)
    assert text.startswith("The answer")
    for words in ("known FAIL: table 2, b: objective: 0.773 for 0.832 (the program", "FAIL: table 3, c: time"):
        assert words in text
    many = pd.DataFrame([("2", f"{i}: objective", "1", "2", "", "FAIL", "no") for i in range(60)], columns=COLUMNS)
    text = page(paper="A paper", claims=many)
    assert all(f"table 2, {i}: objective" in text for i in range(60))


def test_the_last_words_of_a_run_are_the_first_findings_without_markup_and_the_files_to_open():
    first, *lines, last = closing(page(paper="A paper", claims=CLAIMS), "results/x").splitlines()
    assert first.startswith("decided by runs: ")
    assert any(line.endswith("searches of exact algorithms ended with a proof of optimality.") for line in lines)
    assert any("of the status memory_limit: " in line for line in lines)
    assert not [line for line in lines if any(mark in line for mark in "*`\\")]
    assert lines[-1].startswith("and ")
    assert "results/x/tables/summary.html" in last


@pytest.mark.parametrize(
    ("required", "words"),
    [
        (
            ["2"],
            "reproduced: 1 of 2 required claims; except 1 that the paper itself contradicts or counts differently.",
        ),
        (
            ["3"],
            "decided by runs: 1 of 8 required claims; reproduced: 0 of these 1; except 1 that fail; 7 not run.",
        ),
        (
            [],
            "decided by runs: 3 of 10 claims; reproduced: 1 of these 3; except 1 that fail and 1 that the paper itself",
        ),
    ],
)
def test_the_answer_says_first_how_many_of_the_required_claims_runs_decided(required, words):
    assert answer(CLAIMS, required).startswith(words)


def test_nothing_run_is_no_success():
    assert answer(CLAIMS.tail(1), ["3"]) == "decided by runs: 0 of 7 required claims; 7 not run."
    assert answer(CLAIMS.head(0)) == "there are no claims."


def changed(entry: dict, **machine) -> dict:
    return entry | {"environment": entry["environment"] | machine}


def test_the_page_names_host_cores_days_and_the_code_of_each_solver():
    machine = {"host": "node-7", "cores": 96, "date": "2031-05-06T07:08:09+00:00", "code": "feedc0de" * 2}
    text = page([changed(RECORDS[0], **machine, commit="c0ffee00" * 5 + "+"), *RECORDS[1:]])
    solver = RECORDS[0]["run"]["solver"]
    for words in ("node-7 (", ", 96 cores, ", " to 2031-05-06, with ", f"{solver} ", "feedc0de", "c0ffee00+"):
        assert words in text
    assert "feedc0defeed" not in text
    one_day = page([changed(entry, date="2031-05-06T07:08:09+00:00") for entry in RECORDS])
    assert ", 2031-05-06, with" in one_day
    many = page([changed(RECORDS[0], host=f"node-{number}") for number in range(5)])
    assert "Measured on 5 hosts (" in many


@pytest.mark.parametrize("searches", [RECORDS, []], ids=["searches", "no searches"])
@pytest.mark.parametrize("folds", ["", "01"], ids=["no models", "models"])
def test_a_study_without_searches_or_models_has_a_page_and_summaries(tmp_path, searches, folds):
    asked = (model_run("iris", "tree", "DecisionTreeClassifier", fold, parameters={"max_depth": 1}) for fold in folds)
    models = model_frame.frame(fit.execute(run, rows("iris", tmp_path)) for run in asked)
    text = page(searches, models=models)
    assert text.count("Measured on") == bool(searches or folds)
    assert ("DecisionTreeClassifier " in text) == bool(folds)
    tables = (summary(frame(searches)), model_summary.summary(models))
    assert sum(note.startswith("Measured on") for table in tables for note in table.notes) == bool(searches) + bool(
        folds
    )


def test_a_ratio_names_the_problems_and_datasets_that_both_prove():
    assert "over 3 problems of 3 datasets that both prove" in page()  # five datasets, of which both prove three


def test_accuracy_on_held_out_rows_is_on_the_page_and_no_search_is_not_counted():
    entries = [record(name, who, 1.0) for name in "ab" for who in ("ours", "peer")]
    for entry, accuracy in zip(entries, (0.9, 0.8, 0.7, 0.8), strict=True):
        entry["test"] = {"rows": 10, "errors": 1, "accuracy": accuracy, "loss": 1 - accuracy}
    assert "held-out rows, over 2 problems of 2 datasets: ours 0.8000, peer 0.8000." in page(entries)
    assert "held-out" not in page()
    heuristics = [{**entry, "exact": False, "status": "heuristic"} for entry in entries]
    assert "0 of 0" not in page(heuristics)


def test_an_algorithm_of_few_problems_has_their_number_and_no_line_beyond_its_last_proof():
    runs = frame(RECORDS)
    figure = profiles.certified(runs)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:2] == ["ours", "peer (4 of 5)"]
    looks = styles.styles(runs["algorithm"])
    last = {
        name: max(line.get_xdata()[-1] for line in figure.axes[0].lines if line.get_color() == looks[name].colour)
        for name in looks
    }
    assert last["ours"] == 10.0  # the longest search of all
    assert last["peer"] == 4.0  # its own last proof


def test_figures_that_are_not_drawn_are_one_list():
    text = not_drawn(["mean ranks: too few", "figure 2 of the paper: no runs on folds"])
    assert text.count("Figures that are not drawn") == 1
    assert text.endswith("- mean ranks: too few\n- figure 2 of the paper: no runs on folds\n")
