"""Datasets: generated tables equal UCI's, files are verified, and errors have one line."""

from __future__ import annotations

import csv
import gzip
import hashlib
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import product

import pytest
from support import ROOT
from support.refusal import refused

from optree.datasets import Dataset, fetch, load_table, save_table
from optree.datasets.builtin import safe_accelerations
from optree.datasets.content import make_table
from optree.datasets.raw import Raw

BUILTIN = ["tic-tac-toe", "balance-scale", "balance-scale-576", "monks-1", "monks-2", "monks-3"]
BUILTIN += ["friedman-1", "friedman-2", "friedman-3"]
BUILTIN += ["iris", "wine", "breast_cancer", "digits", "diabetes", "xor-board", "breast-cancer-boosted"]
BUILTIN += ["balance-scale-numbers", "cruise-control"]
PAPER = ["monk1-train", "monk2-train", "monk3-train", "car", "nursery", "mushroom", "kr-vs-kp", "zoo", "lymph"]
CP4IM = """
    anneal audiology australian-credit breast-wisconsin diabetes german-credit heart-cleveland hepatitis
    hypothyroid ionosphere kr-vs-kp lymph mushroom pendigits primary-tumor segment soybean splice-1
    tic-tac-toe vehicle vote yeast
"""
PAPER += [*(f"cp4im-{name}" for name in CP4IM.split()), "htru-2", "spambase", "fico-binary"]
MURTREE = """
    compas-binary indiansdiabetes ionosphere balance-scale bank-conv banknote biodeg car-evaluation iris messidor monk1
    monk2 monk3 seismic-bumps tic-tac-toe wine winequality-red house-votes-84 new-throid
"""
REDUCED = """
    appendicitis australian backache cancer car cleve colic corral haberman heart-statlog hepatitis hungarian irish
    mouse mux6 promoters spect
"""
PAPER += [f"murtree-{name}" for name in (MURTREE + REDUCED).split() if name != "australian"]
PAPER += [f"murtree-{name}-reduced" for name in [*REDUCED.split(), "shuttlem"]]
GOSDT = ["bucketization", "bucketization-bucketized", "fourclass"]
MORE = [
    "compas-binned",
    "compas-2016",
    "coupon-bar-7",
    "coupon",
    "heloc",
    "heloc-answered",
    "heloc-1000",
    "gosdt-car",
    "iris-setosa",
    "iris-versicolor",
    "iris-virginica",
    "electricity-6",
    "eeg-eye-state",
]
MORE += ["banknote", "breast-cancer-complete", "hayes-roth-train", "house-votes-84-complete", "soybean-small"]
NUMBERS = [f"{name}-train" for name in ("avila", "bank", "bean", "bidding", "eeg", "fault", "htru", "magic")]
NUMBERS += [f"{name}-train" for name in ("occupancy", "page", "raisin", "rice", "room", "segment", "wilt")]
BINARY = ["breast-cancer", "hayes-roth", "house-votes-84", "soybean-small", "spect", "tic-tac-toe"]
PAPER += NUMBERS + [f"{name}-binary" for name in BINARY]
LARGE = ["kddcup99-tenth", "skin"]  # long to read
LARGE += ["murtree-australian", "murtree-default-credit", "murtree-htru-2", "murtree-magic04", "murtree-spambase"]
LARGE += ["murtree-statlog-satellite"]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def small(**changes) -> Dataset:
    """Make a dataset of three rows, in a raw file without header."""
    row = dict(name="small", source="mirror", file="small.data", columns=("id", "color", "size", "class"))
    row |= dict(drop=("id",), numeric="size", rows=3, features=2, classes=2)
    return Dataset(**(row | changes))


RAW = b"1,red,1.50,yes\n2, blue ,2,no\n3,?,1e-3,yes\n"
CANONICAL = b"color,size,class\nred,1.5,yes\nblue,2,no\n?,0.001,yes\n"


# What ships


@pytest.mark.parametrize("name", [*BUILTIN, *GOSDT[:2]])
def test_builtin_datasets_are_what_the_table_says(name, table):
    assert fetch(table[name]).sha256() in table[name].sha256


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PAPER, *GOSDT[2:], *MORE])
def test_datasets_of_the_paper_come_from_a_mirror(name, table, mirror_dir):
    assert fetch(table[name], mirror_dir).sha256() == table[name].sha256[0]


@pytest.mark.parametrize(
    ("name", "file"),
    [("tic-tac-toe", "tic-tac-toe.data"), ("balance-scale", "balance-scale.data")]
    + [(f"monks-{number}", f"monks-{number}.test") for number in (1, 2, 3)],
)
def test_generated_rows_are_those_of_uci_in_the_same_order(name, file, table, mirror_dir):
    generated = fetch(table[name])
    features = list(generated.X)
    order = [*features, "class"] if name == "tic-tac-toe" else ["class", *features]
    columns = (*order, "id") if name.startswith("monks") else tuple(order)
    raw = replace(table[name], source="mirror", file=file, columns=columns, drop=("id",) * name.startswith("monks"))
    assert fetch(raw, mirror_dir).content() == generated.content()


def test_the_cruise_control_permits_all_that_is_safe(table):
    """Compare the game's fixed point with a recursion over the seconds for which a state stays safe."""
    fastest, nearest, farthest = 6, 5, 16
    choices = (-2, 0, 2)

    @cache
    def survives(speed: int, front: int, distance: int, seconds: int) -> bool:
        if distance < nearest:
            return False
        return seconds == 0 or any(holds(speed, front, distance, own, seconds) for own in choices)

    def holds(speed: int, front: int, distance: int, own: int, seconds: int) -> bool:
        if not 0 <= speed + own <= fastest:
            return False
        ends = [(other, distance + front - speed + (other - own) / 2) for other in choices]
        return all(
            survives(speed + own, front + other, min(int(far), farthest), seconds - 1)
            for other, far in ends
            if 0 <= front + other <= fastest
        )

    speeds = range(0, fastest + 1, 2)
    expected = {
        state: tuple(own for own in choices if holds(*state, own, 60))
        for state in product(speeds, speeds, range(nearest, farthest + 1))
    }
    expected = {state: accepted for state, accepted in expected.items() if accepted}
    assert safe_accelerations(fastest, nearest, farthest) == expected
    assert 0 < len(expected) < 4 * 4 * 12
    made = fetch(table["cruise-control"])
    names = {-2: "brake", 0: "hold", 2: "accelerate"}
    states = zip(*(made.X[name].astype(int) for name in ("speed", "front speed", "distance")), strict=True)
    assert dict(zip(states, made.y, strict=True)) == {s: names[max(k)] for s, k in safe_accelerations().items()}


def test_every_dataset_of_the_table_is_tested_or_marked_as_not_verified(table):
    unverified = [name for name in table if not table[name].sha256]
    assert sorted(table) == sorted(BUILTIN + PAPER + GOSDT + LARGE + MORE + unverified)
    assert {table[name].source for name in unverified if name != "skin-train"} == {"openml"}


def test_the_printed_rows_of_murtree_are_those_of_the_table(table):
    """All but three datasets of the paper's tables have a row, with the printed shape."""
    absent = set()
    for number in range(1, 6):
        path = ROOT / "resources" / "papers" / "murtree" / f"table_{number}.csv"
        for row in csv.DictReader(path.read_text().splitlines()):
            if not row["dataset"]:
                absent.add(row["row"])
                continue
            found = table[row["dataset"]]
            assert (found.rows, found.classes) == (int(row["n"]), int(row["K"])), row["row"]
            assert found.features == int(row.get("q", found.features)), row["row"]
    assert absent == {"letter", "Statlog_shuttle", "shuttleM"}


def test_the_suites_of_the_grinsztajn_benchmark_are_complete(table):
    """16, 7 and 17 datasets in 337, 334 and 335; 19 in 336, whose names have no number."""
    ids = {
        name: int(table[name].identifier) for name in table if table[name].source == "openml" and table[name].identifier
    }
    for suite, size in ((337, 16), (334, 7), (335, 17)):
        assert len([name for name in ids if name.endswith(f"-{suite}")]) == size
    numbers = [name for name in ids if not table[name].classes and not name.endswith("-335")]
    assert sorted(ids[name] for name in numbers) == [44132, 44133, 44134, *range(44136, 44149), 45032, 45033, 45034]


@pytest.mark.parametrize(
    ("recipe", "kept"),
    [("complete", ["red,1.5,yes", "blue,2,no"]), ("without:no", ["red,1.5,yes", "?,0.001,yes"])],
)
def test_recipes_leave_rows_out(recipe, kept, tmp_path):
    (tmp_path / "small.data").write_bytes(RAW + b"4,green,1,maybe\n")
    dataset = small(recipe=(recipe,), rows=3, classes=3 if recipe == "complete" else 2)
    assert fetch(dataset, tmp_path).content().decode().splitlines()[1:3] == kept


def test_names_and_categories_are_in_one_normal_form(tmp_path):
    for raw in ("größe".encode(), "gro\u0308ße".encode()):
        (tmp_path / "small.data").write_bytes(b"farbe;" + raw + b";class\n" + raw + b";1;a\nrot\xc2\x85;2;b\n")
        dataset = small(columns=(), drop=(), numeric="größe", rows=2)
        assert fetch(dataset, tmp_path).content() == "farbe,größe,class\ngröße,1,a\nrot,2,b\n".encode()


def test_lines_of_libsvm_are_read(tmp_path):
    (tmp_path / "small.data").write_bytes(b"yes 1:1.50 2:3 \nno 1:2 2:-1e-3\nno 1:0 2:3:4\n")
    dataset = small(columns=("class", "a", "b"), drop=(), numeric="a")
    assert fetch(dataset, tmp_path).content() == b"a,b,class\n1.5,3,yes\n2,-1e-3,no\n0,3:4,no\n"


def test_importing_is_light():
    code = "import sys, optree.datasets, optree.encoding; print([m for m in ('pandas', 'sklearn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


# Canonical content


def test_canonical_content_and_round_trip(tmp_path):
    (tmp_path / "small.data").write_bytes(RAW)
    dataset = small(sha256=("0" * 64, sha256(CANONICAL)))
    table = fetch(dataset, tmp_path)
    assert table.content() == CANONICAL
    assert table.X["size"].tolist() == [1.5, 2.0, 0.001]
    save_table(table, tmp_path / "small.csv")
    assert (tmp_path / "small.csv").read_bytes() == CANONICAL
    again = load_table(tmp_path / "small.csv", dataset)
    assert again.X.equals(table.X)
    assert again.y.equals(table.y)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.csv", "small.data"]


def test_every_value_survives_the_round_trip(tmp_path):
    texts = ["a,b", 'say "x"', "two\nlines", "ü", None, "", float("nan"), 1.0, 2, True]
    numbers = [0.1, 1 / 3, 1e300, 5e-324, -0.0, 2.0**53, 1e16, 123456789.0, "7", 1]
    dataset = Dataset(name="x", source="mirror", file="x", numeric="number", rows=10, features=2, classes=10)
    table = make_table(dataset, Raw(["text", "class", "number"], [texts, list(range(10)), numbers], "here"))
    assert table.X["text"].tolist() == ["a,b", 'say "x"', "two\nlines", "ü", "?", "?", "?", "1", "2", "true"]
    save_table(table, tmp_path / "x.csv")
    assert load_table(tmp_path / "x.csv", dataset).X.equals(table.X)


def test_a_table_that_was_changed_or_cut_off_is_not_loaded(tmp_path):
    path, dataset = tmp_path / "small.csv", small(sha256=(sha256(CANONICAL),))
    for content, words in [
        (CANONICAL.replace(b"blue", b"red"), ["sha256", dataset.sha256[0]]),
        (CANONICAL[:-3], ["classes: expected 2, found 3"]),
        (CANONICAL[:-5], ["small.csv", "fetch it again"]),
        (b"", ["small.csv", "fetch it again"]),
        (b"color,size,label\nred,1,a\n", ["'class'", "label"]),
    ]:
        path.write_bytes(content)
        with refused("small", *words):
            load_table(path, dataset)
    with refused("none.csv", "fetch it again"):
        load_table(tmp_path / "none.csv", dataset)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rows": 4}, ["rows: expected 4, found 3"]),
        ({"features": 3}, ["features: expected 3, found 2"]),
        ({"classes": 3}, ["classes: expected 3, found 2"]),
        ({"sha256": ("0" * 64,)}, ["expected " + "0" * 64, "found " + sha256(CANONICAL)]),
        ({"numeric": "all"}, ["'color'", "'red'", "numbers only"]),
        ({"file_sha256": "0" * 64}, ["expected " + "0" * 64, "small.data " + sha256(RAW)]),
        ({"columns": ("id", "size", "class")}, ["row 1", "expected 3 columns, found 4"]),
        ({"file": "other.data"}, ["no file other.data or other.data.gz"]),
    ],
)
def test_what_differs_from_the_table_is_refused(changes, words, tmp_path):
    (tmp_path / "small.data").write_bytes(RAW)
    with refused("dataset small", *words):
        fetch(small(**changes), tmp_path)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (RAW.replace(b"1.50", b"?"), ["'size': 1 rows"]),
        (RAW.replace(b"1.50", b"nan").replace(b"1e-3", b"inf"), ["'size': 2 rows"]),
        (RAW.replace(b"no", b"yes"), ["3 rows and 1 classes"]),
        (RAW.replace(b"no", b"?"), ["class is missing in 1 rows"]),
        (b"", ["no rows"]),
        (b"\xff\xfe", ["not UTF-8"]),
        (RAW + b"4,red\n", ["row 4", "expected 4 columns, found 2"]),
    ],
)
def test_bad_raw_files_are_refused(raw, words, tmp_path):
    (tmp_path / "small.data").write_bytes(raw)
    with refused("dataset small", *words):
        fetch(small(), tmp_path)


# The mirror


@pytest.mark.parametrize("mark", [",", ";", "\t", "  "])
def test_delimiters_headers_and_compressed_files(mark, tmp_path):
    lines = ["color,size,class", "red,1.5,yes", "blue,2,no", "?,1e-3,yes", ""]
    (tmp_path / "sub").mkdir()
    raw = "\r\n".join(lines).replace(",", mark).encode()
    with gzip.open(tmp_path / "sub" / "small.data.gz", "wb") as file:
        file.write(raw)
    dataset = small(columns=(), drop=(), file_sha256=sha256(raw))
    assert fetch(dataset, tmp_path).content() == CANONICAL
    (tmp_path / "small.data").write_bytes(raw.replace(b"size", b"color"))
    with refused("two columns have one name"):
        fetch(small(columns=(), drop=(), file_sha256=sha256(raw.replace(b"size", b"color"))), tmp_path)


def test_the_checksum_decides_between_files_of_one_name(tmp_path):
    for folder, raw in [("a", RAW.replace(b"red", b"green")), ("b", RAW)]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "small.data").write_bytes(raw)
    assert fetch(small(file_sha256=sha256(RAW)), tmp_path).content() == CANONICAL
    with refused("small.data", "expected one file"):
        fetch(small(), tmp_path)


def test_broken_compression_is_refused(tmp_path):
    whole = gzip.compress(RAW * 100)
    for broken in (whole[: len(whole) // 2], whole[:5] + b"\0" * 20, RAW):
        (tmp_path / "small.data.gz").write_bytes(broken)
        with refused("small.data.gz", "cannot be read"):
            fetch(small(), tmp_path)


ARFF = """@relation small
@attribute ID numeric
@attribute Class {yes,no}
@attribute 'the color' {red,blue}
@attribute Size real
@data
1,yes,red,1.5
2,no,blue,2
3,yes,?,0.001
"""


def test_arff_columns_are_renamed_wherever_the_class_stands(tmp_path):
    pytest.importorskip("arff", reason="liac-arff comes with openml")
    (tmp_path / "small.arff").write_text(ARFF)
    assert fetch(small(file="small.arff"), tmp_path).content() == CANONICAL
    (tmp_path / "small.arff").write_text(ARFF.replace("real", "[0,9]"))
    with refused("small.arff", "not an ARFF file"):
        fetch(small(file="small.arff"), tmp_path)
    (tmp_path / "small.arff").write_text(ARFF.replace("@attribute Size real\n", ""))
    with refused("small.arff"):
        fetch(small(file="small.arff"), tmp_path)


def test_a_mirror_that_is_not_there(tmp_path):
    with refused("small.data", "data_mirror"):
        fetch(small())
    with refused("data_mirror", "nowhere", "not a directory"):
        fetch(small(), tmp_path / "nowhere")


def test_an_unknown_generator_is_refused():
    with refused("'chess'", "tic-tac-toe"):
        fetch(small(source="builtin", identifier="chess"))
