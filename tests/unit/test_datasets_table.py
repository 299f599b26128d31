"""The table of datasets: read in order, mistakes named with their line, and a closed schema."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.refusal import refused

from optree.datasets import read_table

TABLE_FILE = Path(__file__).parents[2] / "config" / "datasets.csv"


def test_the_table_is_read_in_order(table):
    assert list(table)[:2] == ["tic-tac-toe", "balance-scale"]
    assert {dataset.source for dataset in table.values()} == {"builtin", "openml", "url"}
    assert table["zoo"].drop == ("animal",)
    assert all(table[name].class_rows for name in table if table[name].classes and table[name].sha256)
    assert table["iris"].is_numeric("petal length")
    assert not table["zoo"].is_numeric("legs")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("wine,builtin", "wine,internet", ["line 9", "'internet'", "builtin, mirror, openml, url"]),
        ("wine,builtin", "iris,builtin", ["line 9", "iris", "twice"]),
        ("wine,builtin", "wi ne,builtin", ["line 9", "'wi ne'"]),
        ("wine,builtin,wine", "wine,builtin,", ["line 9", "generator"]),
        ("71 59 48", "71 59 47", ["line 9", "class_rows", "178 together"]),
        ("71 59 48", "71 59 many", ["line 9", "class_rows", "71 59 many"]),
        (",178,", ",many,", ["line 9", "rows = 'many'"]),
        (",178,", ",0,", ["line 9", "rows = '0'"]),
        (",178,", ",178,1,", ["line 9", "19 fields"]),
        ("car,openml,40975,3", "car,openml,car,", ["line 15", "identifier = 'car'", "a name with a version"]),
        ("monks-1.train", "", ["line 12", "raw file"]),
        ("buying maint", "buying buying", ["line 15", "twice"]),
        ("animal,none", "beast,none", ["'beast'", "animal, hair"]),
        ("b703a9", "B703A9", ["line 15", "hexadecimal"]),
        ("monks-1.train", "a/monks-1.train", ["line 12", "without folders"]),
        ("name,source", "nom,source", ["columns are nom, source", "expected: name, source"]),
    ],
)
def test_mistakes_in_the_table_are_named(old, new, words, tmp_path):
    text = TABLE_FILE.read_text()
    assert old in text
    path = tmp_path / "datasets.csv"
    path.write_text(text.replace(old, new, 1))
    with refused("datasets.csv", *words):
        read_table(path)


def test_many_columns_are_named_by_a_range(table):
    columns = table["cp4im-anneal"].columns
    assert (columns[0], columns[1], columns[-1], len(columns)) == ("class", "f1", "f93", 94)


def test_a_table_that_is_not_there_or_empty(tmp_path):
    with refused("none.csv", "cannot be read"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "empty.csv").touch()
    with refused("empty.csv", "columns are none"):
        read_table(tmp_path / "empty.csv")


def test_the_schema_is_closed_and_fits_the_table():
    jsonschema, yaml = pytest.importorskip("jsonschema"), pytest.importorskip("yaml")
    pandas = pytest.importorskip("pandas")
    schema = yaml.safe_load((TABLE_FILE.parents[1] / "workflow" / "schemas" / "datasets.schema.yaml").read_text())
    rows = pandas.read_csv(TABLE_FILE, dtype=str, keep_default_na=False).to_dict("records")
    validator = jsonschema.Draft202012Validator(schema)
    assert [error.message for row in rows for error in validator.iter_errors(row)] == []
    assert set(schema["properties"]) == set(schema["required"]) == set(rows[0])
    assert not validator.is_valid(rows[0] | {"colour": "red"})
    assert not validator.is_valid(rows[0] | {"rows": "0"})
    assert not validator.is_valid(rows[0] | {"recipe": "half"})
    assert not validator.is_valid(rows[0] | {"url": "file:///etc/passwd"})
