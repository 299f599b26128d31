"""The first page of a report begins with the answer, and counts what it says that it counts."""

from __future__ import annotations

import pandas as pd
import pytest
from support.compared_records import RECORDS, record

from optree.bench.figures import panels, profiles
from optree.bench.models import frame as model_frame
from optree.bench.papers.claims import COLUMNS, answer
from optree.bench.report.first_page import Command, first_page
from optree.bench.tables.frame import frame

ROWS = [
    ("2", "a: objective", "0.9", "0.9", "", "PASS", ""),
    ("2", "b: objective", "0.832", "0.773", "", "known FAIL", "the program finds 0.773"),
    ("3", "c: time", "yes", "no", "", "FAIL", "slower"),
    ("3", "7 further claims", "", "", "", "SKIPPED", "not run by this configuration"),
]
COMMAND = Command("snakemake --cores 1", "results/x", "results/cells")
NO_MODELS = model_frame.frame([])
CLAIMS = pd.DataFrame(ROWS, columns=COLUMNS)


def page(runs=RECORDS, **more) -> str:
    return first_page(frame(runs), more.pop("models", NO_MODELS), COMMAND, **more)


def test_the_page_begins_with_the_answer_and_lists_each_exception():
    text = page(paper="A paper", claims=CLAIMS)
    assert text.startswith("The answer")
    assert "reproduced: 1 of 3 claims that were decided; except 1 that fail and 1 that the paper itself" in text
    for words in ("known FAIL: table 2, b: objective: 0.773 for 0.832 (the program", "FAIL: table 3, c: time"):
        assert words in text


@pytest.mark.parametrize(
    ("required", "words"),
    [
        (["2"], "reproduced: 1 of 2 required claims that were decided; except 1 that the paper itself contradicts"),
        (["3"], "reproduced: 0 of 1 required claims that were decided; except 1 that fail; 7 required claims are und"),
        ([], "7 claims are undecided, about other data, or were not run."),
    ],
)
def test_the_answer_is_about_the_required_claims_and_counts_those_that_were_not_run(required, words):
    assert words in answer(CLAIMS, required)


def test_nothing_run_is_no_success():
    assert answer(CLAIMS.tail(1), ["3"]) == (
        "nothing is decided: 7 required claims are undecided, about other data, or were not run."
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


def test_an_algorithm_has_one_colour_in_all_figures_and_its_number_of_problems():
    names = ["cart", "optree", "zeta"]
    assert panels.markers(names, ["zeta"]) == {"zeta": panels.markers(names)["zeta"]}
    runs = frame(RECORDS)
    labels = [text.get_text() for text in profiles.certified(runs).legends[0].get_texts()]
    assert "ours" in labels
    assert "peer (4 of 5)" in labels
