"""Facts about a dataset: recounted by naive code, and shown on one page."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from support.openml_server import arff
from support.refusal import refused

from optree.bench.figures import plots
from optree.bench.report import datasheets
from optree.bench.tables import formats
from optree.datasets import Dataset, fetch
from optree.datasets.content import RULES, make_table
from optree.datasets.facts import facts, record
from optree.datasets.raw import Raw, parse


def some(seed: int) -> tuple[Dataset, Raw]:
    """Make a small table with numbers, categories, gaps, constants, duplicates and contradictions."""
    random = np.random.RandomState(seed)
    n, q = random.randint(2, 40), random.randint(1, 5)
    values = [["a", "b", "?", "é", True], [0, 1.5, 2**60], ["x"]]
    kinds = random.randint(0, 3, q)
    columns = [[values[kind][k] for k in random.randint(0, len(values[kind]), n)] for kind in kinds]
    names = [f"c{j}" for j in range(q)]
    y = ["yes", "no", *random.choice(["yes", "no", "perhaps"], n - 2)]
    numeric = " ".join(name for name, kind in zip(names, kinds, strict=True) if kind == 1) or "none"
    sizes = tuple(sorted(Counter(y).values(), reverse=True))
    row = Dataset(
        name="some", source="builtin", identifier="x", numeric=numeric, rows=n, features=q, classes=len(sizes)
    )
    return row, Raw([*names, "class"], [*columns, y], "here")


@pytest.mark.parametrize("seed", range(200))
def test_facts_are_what_counting_gives(seed):
    dataset, raw = some(seed)
    table = make_table(dataset, raw)
    found = facts(table, dataset)
    rows = list(zip(*(table.X[name] for name in table.X), strict=True))
    groups: dict[tuple, Counter] = {}
    for row, label in zip(rows, table.y, strict=True):
        groups.setdefault(row, Counter())[label] += 1
    mixed = [classes for classes in groups.values() if len(classes) > 1]
    assert found["best_accuracy"] == pytest.approx(sum(max(c.values()) for c in groups.values()) / len(rows))
    assert found["contradictory"] == sum(sum(classes.values()) for classes in mixed)
    assert found["contradictory_duplicates"] == sum(sum(classes.values()) - len(classes) for classes in mixed)
    assert found["duplicates"] == len(rows) - len({*zip(rows, table.y, strict=True)})
    assert found["groups"] == len(groups)
    values = {name: set(table.X[name]) for name in table.X}
    assert found["constant"] == [name for name, cells in values.items() if len(cells) == 1]
    assert sum(found["columns"].values()) == found["features"] == len(values)
    assert found["missing"] == {name: n for name in table.X if (n := list(table.X[name]).count("?"))}
    assert found["classes"] == dict(sorted(Counter(table.y).items()))


def test_tables_that_are_known(table, mirror_dir):
    zoo = facts(fetch(table["zoo"], mirror_dir), table["zoo"])
    assert (zoo["duplicates"], zoo["contradictory"], zoo["best_accuracy"]) == (42, 0, 1.0)
    mushroom = facts(fetch(table["mushroom"], mirror_dir), table["mushroom"])
    assert mushroom["missing"] == {"stalk-root": 2480}
    assert mushroom["constant"] == ["veil-type"]
    assert facts(fetch(table["diabetes"]), table["diabetes"])["best_accuracy"] is None


ODDITIES = {
    "mixed": ("size", ["1", "2", "big"], ["numbers only", "'big'"]),
    "missing": ("size", ["1", "?", "3"], ["1 rows are missing"]),
}


@pytest.mark.parametrize("oddity", ODDITIES)
def test_oddities_that_are_refused(oddity):
    name, cells, words = ODDITIES[oddity]
    dataset = Dataset(name="odd", source="builtin", identifier="x", numeric=name, rows=3, features=1, classes=2)
    with refused("dataset odd", f"column '{name}'", *words):
        make_table(dataset, Raw([name, "class"], [cells, ["a", "b", "a"]], "here"))


def test_two_columns_of_one_name_are_refused_wherever_they_come_from():
    dataset = Dataset(name="odd", source="builtin", identifier="x", rows=2, features=2, classes=2)
    for names in (["a", "a", "class"], ["é", "e\u0301", "class"], ["a", " a", "class"]):
        with refused("dataset odd", "two columns have one name"):
            make_table(dataset, Raw(names, [[1, 2], [3, 4], ["x", "y"]], "here"))


def test_booleans_and_ordered_categories_and_identifiers_stay_as_they_are():
    dataset = Dataset(name="odd", source="builtin", identifier="x", rows=3, features=3, classes=2)
    columns = [[True, False, True], ["low", "high", "mid"], ["r1", "r2", "r3"], ["b", "a", "b"]]
    made = make_table(dataset, Raw(["flag", "level", "id", "class"], columns, "here"))
    assert made.content() == b"flag,level,id,class\ntrue,low,r1,b\nfalse,high,r2,a\ntrue,mid,r3,b\n"
    assert facts(made, dataset)["identifiers"] == ["level", "id"]


def test_the_server_of_the_tests_says_what_the_table_says(table):
    """The ARFF file of the loopback server is read as the table that it was made of."""
    rows = fetch(table["monks-1"])
    pytest.importorskip("arff")
    dataset = Dataset(name="m", source="mirror", file="m.arff", rows=432, features=6, classes=2)
    assert make_table(dataset, parse(dataset, "m.arff", arff(rows))).content() == rows.content()


def test_a_page_of_all_datasets(table, tmp_path):
    names = ["monks-1", "diabetes", "digits", "balance-scale-576"]
    for name in names:
        row = table[name]
        (tmp_path / f"{name}.json").write_text(json.dumps(record(fetch(row), row)))
    records = datasheets.read(tmp_path.glob("*.json"))
    page = datasheets.table(records)
    assert page.data["dataset"].tolist() == ["balance-scale-576", "diabetes", "digits", "monks-1"]
    assert page.data["constant"].tolist() == [0, 0, 3, 0]
    assert page.shown["classes"][1] == "a number"
    assert page.shown["classes"][3] == "2 (0: 216, 1: 216)"
    assert all(any(rule in note for note in page.notes) for rule in RULES.values())
    for suffix in ("csv", "md", "tex", "html"):
        formats.write(page, tmp_path / f"datasets.{suffix}")
    plots.save(datasheets.figure(records), tmp_path / "datasets.svg")
    first = (tmp_path / "datasets.svg").read_bytes()
    plots.save(datasheets.figure(records), tmp_path / "datasets.svg")
    assert (tmp_path / "datasets.svg").read_bytes() == first
    assert b"monks-1" in first
    (tmp_path / "broken.json").write_text("{")
    with refused("broken.json", "not a dataset's record"):
        datasheets.read([tmp_path / "broken.json"])
