"""OpenML's own client against a server on this machine: what arrives is right, and what fails says so in one line."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest
from support.openml_server import arff, parquet, serving
from support.refusal import refused

from optree.datasets import Policy, fetch, load_table

pytest.importorskip("openml")
pytestmark = pytest.mark.slow

ONCE = Policy(timeout_seconds=60, attempts=1)
TWICE = Policy(timeout_seconds=60, attempts=2, backoff_seconds=0)
MD5_OF_NOTHING = "d41d8cd98f00b204e9800998ecf8427e"


@pytest.fixture
def server(tmp_path, monkeypatch):
    with serving(tmp_path / "config", monkeypatch.setenv) as server:
        yield server


@pytest.fixture
def monks(table):
    """monks-1, and its row as one of OpenML."""
    row = replace(table["monks-1"], source="openml", identifier="333", version="1")
    return fetch(table["monks-1"]), row


def quarantined(folder):
    return sorted(path.name for path in folder.glob("*"))


def test_by_id_and_by_name_as_arff_and_as_parquet(server, monks, table):
    rows, row = monks
    server.add(333, "monks", arff(rows))
    server.add(334, "others", b"", parquet(rows))
    for identifier, path in (("333", "/333.arff"), ("monks", "/333.arff"), ("334", "/bucket/334.pq")):
        found = fetch(replace(row, identifier=identifier), policy=ONCE)
        assert found.content() == rows.content()
        assert found.verified == "sha256 of the table of datasets"
        assert path in server.requests
        server.requests.clear()
    iris = fetch(table["iris"])
    server.add(61, "iris", arff(iris), parquet(iris))
    row = replace(table["iris"], source="openml", identifier="61", version="1")
    assert fetch(row, policy=ONCE).content() == iris.content()


@pytest.mark.parametrize(("name", "file"), [("mushroom", "mushroom.arff.gz"), ("kr-vs-kp", "kr.vs.kp.arff.gz")])
def test_real_files_give_what_the_table_says(server, table, mirror_dir, name, file):
    """The class stands elsewhere than in UCI's file, columns have other names, and '?' stays a category."""
    server.add(int(table[name].identifier), name, gzip.decompress((mirror_dir / "arff" / file).read_bytes()))
    assert fetch(table[name], policy=ONCE).verified == "sha256 of the table of datasets"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": "2"}, ["version: expected 2, found 1"]),
        ({"identifier": "335"}, ["OpenML 335 at http://127.0.0.1", "Unknown dataset"]),
        ({"identifier": "munks"}, ["OpenML munks", "No active datasets exist with name"]),
    ],
)
def test_what_will_not_get_better_is_asked_for_once(server, monks, changes, words, tmp_path):
    rows, row = monks
    server.add(333, "monks", arff(rows))
    with refused("dataset monks-1", *words):
        fetch(replace(row, **changes), policy=Policy(attempts=3), kept=tmp_path / "kept")
    assert max(server.requests.values()) == 1
    assert quarantined(tmp_path / "kept") == []


@pytest.mark.parametrize(
    ("path", "fault", "words"),
    [
        ("/api/v1/xml/data/333", 404, ["Status code: 404"]),
        ("/333.arff", "truncate", ["ChunkedEncodingError"]),
        ("/api/v1/xml/data/333", "drop", ["ConnectionError"]),
    ],
)
def test_what_fails_says_how(server, monks, path, fault, words):
    rows, row = monks
    server.add(333, "monks", arff(rows))
    server.faults[path] = [fault]
    with refused("dataset monks-1", "OpenML 333", *words):
        fetch(row, policy=ONCE)


def test_an_error_and_then_success(server, monks):
    rows, row = monks
    server.add(333, "monks", arff(rows))
    server.faults["/api/v1/xml/data/333"] = [500]
    assert fetch(row, policy=TWICE).content() == rows.content()
    assert server.requests["/api/v1/xml/data/333"] == 2


def test_a_server_that_hangs(server, monks):
    server.faults["/api/v1/xml/data/333"] = ["hang"]
    with refused("dataset monks-1", "OpenML 333", "no answer within 4 seconds"):
        fetch(monks[1], policy=replace(ONCE, timeout_seconds=4))


def test_a_file_that_is_too_large(server, monks):
    server.add(333, "monks", arff(monks[0]))
    with refused("dataset monks-1", "OpenML 333", "File too large"):
        fetch(monks[1], policy=replace(ONCE, max_bytes=3000))


def test_a_wrong_md5_and_a_damaged_parquet_file(server, monks, tmp_path):
    rows, row = monks
    server.add(333, "monks", arff(rows), md5=MD5_OF_NOTHING)
    with refused("dataset monks-1", "OpenMLHashException"):
        fetch(row, policy=ONCE)
    damaged = parquet(rows)[:-100] + bytes(100)
    server.add(333, "monks", arff(rows), damaged)
    assert fetch(row, policy=TWICE, kept=tmp_path / "kept").content() == rows.content()  # the second time as ARFF
    assert (tmp_path / "kept" / "monks-1.pq").read_bytes() == damaged


def test_the_last_attempt_goes_to_the_addresses(server, monks):
    """OpenML gives another table, and then fails; the raw file at the row's address is the right one."""
    rows, row = monks
    server.add(333, "monks", arff(rows).replace(b"\n1,1,1,1,3,1,1\n", b"\n1,1,1,1,3,2,1\n"))
    server.pages["/raw.csv"] = (200, rows.content())
    elsewhere = replace(row, file="raw.csv", url=(f"{server.url}/raw.csv",))
    assert fetch(elsewhere, policy=TWICE).origin == f"{server.url}/raw.csv"


def test_another_table_goes_to_the_quarantine(server, monks, tmp_path):
    rows, row = monks
    server.add(333, "monks", arff(rows).replace(b"\n1,1,1,1,3,1,1\n", b"\n1,1,1,1,3,2,1\n"))
    with refused("dataset monks-1", "sha256", row.sha256[0], "it is kept as", "monks-1.raw"):
        fetch(row, policy=ONCE, kept=tmp_path / "kept")
    assert quarantined(tmp_path / "kept") == ["monks-1.raw"]


def test_a_first_download_is_recorded_and_the_next_compared(server, table, tmp_path):
    """Target and kinds of columns are left to OpenML; categories that are numbers stay categories."""
    rows = fetch(table["monks-1"])
    rows.X["a6"] = rows.X["a6"].astype(float)
    server.add(333, "monks", arff(rows), target="class")
    row = replace(table["monks-1"], source="openml", identifier="333", target="default", numeric="declared", sha256=())
    lock = tmp_path / "datasets.lock.json"
    found = fetch(row, policy=ONCE, lock_path=lock)
    assert found.numeric == ["a6"]
    assert found.verified == "first download, recorded in datasets.lock.json"
    entry = json.loads(lock.read_text())["monks-1"]
    assert {key: entry[key] for key in ("target", "numeric", "rows")} == {
        "target": "class",
        "numeric": ["a6"],
        "rows": 432,
    }
    assert fetch(row, policy=ONCE, lock_path=lock).verified == "sha256 of datasets.lock.json"
    (tmp_path / "monks-1.csv").write_bytes(found.content())
    (tmp_path / "monks-1.json").write_text(json.dumps(entry))
    assert load_table(tmp_path / "monks-1.csv", row).X.equals(found.X)
    lock.write_text(lock.read_text().replace(entry["sha256"], "0" * 64))
    with refused("dataset monks-1", "0" * 64, entry["sha256"], "datasets.lock.json"):
        fetch(row, policy=ONCE, lock_path=lock)
