"""The proposal of a dataset's row for somebody's own CSV file: the table reads it back, and fetching accepts it."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.refusal import refused

from optree.datasets import fetch, load_table, read_table, save_table
from optree.datasets.__main__ import main
from optree.datasets.facts import facts
from optree.datasets.propose import propose
from optree.datasets.table import join_list, split_list

TABLE_FILE = Path(__file__).parents[2] / "config" / "datasets.csv"
HEAD = 'row id,Account Age,"income, net",opened on,home type,comment,rate,Paid Back\n'


def loans(rows: int = 300) -> str:
    """Return a messy table: names with spaces, a comma in a name and in texts, dates, missing numbers and classes."""
    draw, lines = random.Random(0), []
    for i in range(rows):
        age = "" if i % 25 == 3 else draw.randint(1, 60)
        rate = "NA" if i == 7 else draw.randint(1, 9)
        home = draw.choice(['"own, with garden"', "rent", "", "parents"])
        paid = "" if i == 11 else draw.choice(["yes", "no"])
        lines.append(
            f'{i + 1},{age},{draw.random() * 1e4:.2f},20{i % 20:02}-03-{1 + i % 28:02},{home},"t {i}, m",{rate},{paid}'
        )
    return HEAD + "\n".join(lines) + "\n"


@pytest.fixture
def table_path(tmp_path):
    return Path(shutil.copy(TABLE_FILE, tmp_path / "datasets.csv"))


def test_a_messy_table_is_proposed_added_and_fetched(tmp_path, table_path, capsys):
    (tmp_path / "my loans.csv").write_text(loans())
    command = ["row", str(tmp_path / "my loans.csv"), "--table", str(table_path), "--add"]
    assert main(command) == 0
    said = capsys.readouterr()
    assert table_path.read_text().rstrip().endswith(said.out.strip())
    for words in (
        "'opened on': dropped, it holds dates",
        "'row id': dropped, it numbers the rows",
        "'NA' is no number",
    ):
        assert words in said.err
    dataset = read_table(table_path)["my-loans"]
    assert dataset.drop == ("row id", "opened on", "comment")
    assert dataset.numeric_columns == ["Account Age", "income, net"]
    assert (dataset.target, dataset.recipe) == ("Paid Back", ("without:?", "keep-missing"))
    table = fetch(dataset, tmp_path)
    assert table.verified == "sha256 of the table of datasets"
    assert table.numeric == ["Account Age", "income, net"]
    assert len(table.X) == dataset.rows == 300 - 1
    assert table.X["Account Age"].isna().sum() == 12
    content = tmp_path / "table.csv"
    save_table(table, content)
    assert load_table(content, dataset).X.equals(table.X)
    counted = facts(table, dataset)
    assert counted["missing"] == {"Account Age": 12, "home type": int((table.X["home type"] == "?").sum())}
    assert counted["groups"] == 299
    with refused("'Account Age': 12 rows are missing", "the recipe keep-missing"):
        fetch(replace(dataset, recipe=("without:?",)), tmp_path)
    assert set(table.X["home type"]) == {"own, with garden", "rent", "?", "parents"}
    assert main(command) == 1
    assert "give another --name" in capsys.readouterr().err


def test_lists_of_names_with_spaces_are_written_and_read():
    for names in ([], ["a"], ["a b", "c"], ['say "x" y', "it's", "a,b"], ["f1..f3"]):
        assert split_list(join_list(names)) == names
    assert split_list("a  b ") == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("1,", "one,"), ["row id", "dropped, 300 different texts", "'one'", "write ? for a missing number"]),
        (("rate,", "class,"), ["target 'class': classes"]),
    ],
)
def test_decisions_are_explained(change, words, tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text(HEAD.replace(*change) + loans().removeprefix(HEAD).replace(*change, 1))
    notes = "\n".join(propose(path)[1])
    assert all(word in notes for word in words)


def test_a_target_of_many_numbers_is_a_number(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{i % 7},{i * 0.5}\n" for i in range(50)))
    assert propose(tmp_path / "a.csv")[0].classes == 0


def test_what_is_wrong_is_one_line(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text(loans())
    with refused("loans.csv", "'Paid'", "Paid Back"):
        propose(path, target="Paid")
    path.write_text(loans().replace('"own, with garden"', "own, with garden", 1))
    with refused("expected 8 columns, found 9", "double quotes"):
        propose(path)
    with refused("none.csv", "cannot be read"):
        propose(tmp_path / "none.csv")
    path.write_text("id,class\n1,a\n2,b\n3,a\n")
    with refused("no feature is left"):
        propose(path)
