"""Raw files from addresses, and mirrors: bounded, whole or not there, and nothing wrong is ever kept or used."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from contextlib import suppress
from dataclasses import replace

import pytest
from support.openml_server import serving
from support.refusal import refused

from optree.datasets import Dataset, Policy, fetch, read_table
from optree.datasets.fill import Mirror, fill
from optree.datasets.table import LISTS

RAW = b"1,red,1.50,yes\n2, blue ,2,no\n3,?,1e-3,yes\n"
CANONICAL = b"color,size,class\nred,1.5,yes\nblue,2,no\n?,0.001,yes\n"
QUICK = Policy(timeout_seconds=2, stall_seconds=0.3, attempts=2, backoff_seconds=0)


@pytest.fixture
def server(tmp_path, monkeypatch):
    with serving(tmp_path / "config", monkeypatch.setenv) as server:
        server.pages["/small.data"] = (200, RAW)
        yield server


def small(server, *paths, **changes) -> Dataset:
    row = dict(name="small", source="url", file="small.data", columns=("id", "color", "size", "class"))
    row |= dict(drop=("id",), numeric="size", rows=3, features=2, classes=2, class_rows=(2, 1))
    row |= dict(file_sha256=hashlib.sha256(RAW).hexdigest(), sha256=(hashlib.sha256(CANONICAL).hexdigest(),))
    return Dataset(**(row | dict(url=[f"{server.url}{path}" for path in paths or ["/small.data"]]) | changes))


def write_row(path, dataset):
    """Write a table of datasets with one row."""
    fields = {key: " ".join(map(str, value)) if key in LISTS else value for key, value in vars(dataset).items()}
    path.write_text(",".join(fields) + "\n" + ",".join(map(str, fields.values())) + "\n")
    assert read_table(path) == {dataset.name: dataset}


def zipped(names) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in names.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(name: str, link: str = "") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.size = 0 if link else len(RAW)
        member.type, member.linkname = (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, "")
        archive.addfile(member, None if link else io.BytesIO(RAW))
    return gzip.compress(file.getvalue(), mtime=0)  # the same content, and name of the test, at any time


# From an address


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/small.data", RAW),
        ("/small.data.gz", gzip.compress(RAW, mtime=0)),
        ("/all.zip", zipped({"read.me": b"", "a/small.data": RAW})),
        ("/all.zip", zipped({"small.data.gz": gzip.compress(RAW, mtime=0)})),
        ("/all.tar.gz", tarred("a/small.data")),
        ("/all.zip", zipped({"../../../../tmp/small.data": RAW})),  # read, and written nowhere
        ("/all.tgz", tarred("/etc/small.data")),
    ],
)
def test_files_and_archives_are_read_where_they_are(server, path, content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server.pages[path] = (200, content)
    before = sorted(tmp_path.rglob("*"))
    found = fetch(small(server, path), policy=QUICK, kept=tmp_path / "kept")
    assert found.content() == CANONICAL
    assert found.origin == server.url + path
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        ("/all.zip", zipped({"other.data": RAW}), ["no file small.data"]),
        ("/all.zip", zipped({"small.data": RAW})[:-30], ["damaged archive", "tried 2 times"]),
        ("/all.tar.gz", tarred("small.data", "/etc/passwd"), ["no file small.data"]),
        ("/all.tar.gz", tarred("small.data")[:40], ["damaged archive"]),
        ("/small.data.gz", gzip.compress(RAW, mtime=0)[:20], ["damaged archive"]),
        ("/small.data.gz", gzip.compress(bytes(200_000), mtime=0), ["more than 100000 bytes when unpacked"]),
        ("/all.zip", zipped({"small.data": bytes(200_000)}), ["more than 100000 bytes when unpacked"]),
        ("/small.data", bytes(200_000), ["more than 100000 bytes"]),
        ("/small.data", RAW[:-4], ["sha256 of small.data: expected", "it is kept as", "small.raw"]),
    ],
)
def test_what_is_damaged_or_too_large_is_refused(server, path, content, words, tmp_path):
    server.pages[path] = (200, content)
    with refused("dataset small", server.url + path, *words):
        fetch(small(server, path), policy=replace(QUICK, max_bytes=100_000), kept=tmp_path / "kept")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (404, ["status 404"]),
        (503, ["status 503", "tried 2 times"]),
        ("hang", ["no answer within 0.3 seconds", "tried 2 times"]),
        ("drop", ["ConnectionError", "tried 2 times"]),
        ("truncate", ["IncompleteRead", "tried 2 times"]),
    ],
)
def test_servers_that_fail(server, fault, words, tmp_path):
    server.faults["/small.data"] = [fault] * 3
    with refused("dataset small", f"{server.url}/small.data", *words):
        fetch(small(server), policy=QUICK)
    asked = server.requests["/small.data"]
    assert asked == (1 if fault == 404 else 2)
    assert fetch(small(server), policy=replace(QUICK, attempts=3)).content() == CANONICAL if fault != 404 else True


def test_the_second_address_is_tried_and_both_failures_are_named(server):
    dataset = small(server, "/gone", "/small.data")
    assert fetch(dataset, policy=QUICK).origin.endswith("/small.data")
    with refused("/gone: status 404", f"; and {server.url}/lost: status 404"):
        fetch(small(server, "/gone", "/lost"), policy=QUICK)


def test_a_body_that_never_ends_is_cut_off_in_time(server, monkeypatch):
    drip = threading.Event()

    def dripping(handler):
        handler.send_response(200)
        handler.end_headers()
        with suppress(OSError):
            while not drip.wait(0.05):
                handler.wfile.write(b"1")

    monkeypatch.setattr(server, "_answer", dripping)
    start = time.monotonic()
    with refused("not complete within 0.5 seconds"):
        fetch(small(server), policy=replace(QUICK, timeout_seconds=0.5, attempts=1))
    assert time.monotonic() - start < 5
    drip.set()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "../small"}, ["'../small'"]),
        ({"file": ".."}, ["'..'", "without folders"]),
        ({"file": "*.data"}, ["'*.data'", "without folders"]),
        ({"file": ""}, ["file is empty"]),
        ({"url": ()}, ["url is empty"]),
        ({"url": ("file:///etc/passwd",)}, ["file:///etc/passwd", "http"]),
        ({"target": "default"}, ["'default'", "openml"]),
        ({"class_rows": (3, 1)}, ["class_rows", "3 together"]),
        ({"recipe": ("half",)}, ["recipe", "'half'", "complete"]),
    ],
)
def test_rows_that_make_no_sense(server, changes, words):
    with refused("dataset ", *words):
        fetch(small(server, **changes), policy=QUICK)


def test_short_forms_of_addresses(server):
    row = small(server, url=("uci:car/car.data", "github:a/b@90b8:data/c.txt"))
    assert row.addresses == [
        "https://archive.ics.uci.edu/ml/machine-learning-databases/car/car.data",
        "https://github.com/a/b/raw/90b8/data/c.txt",
        "https://github.com/a/b/raw/HEAD/data/c.txt",
    ]


# Mirrors


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_mirror_is_filled_verified_resumed_and_read_without_a_network(server, tmp_path):
    here, there = Mirror(tmp_path / "here", policy=QUICK), tmp_path / "there"
    said: list[str] = []
    server.faults["/small.data"] = ["drop", "drop"]
    assert len(fill(here, [small(server)], said.append)) == 1
    assert files(tmp_path / "here") == [".locks/small"]
    for words in (f"from {server.url}/small.data; sha256 of the table", "was there"):
        assert fill(here, [small(server)], said.append) == []
        assert words in said[-1]
    assert fill(Mirror(there, source=tmp_path / "here", policy=QUICK), [small(server)], said.append) == []
    assert files(there) == [".datasets.lock.json", ".locks/small", "datasets.lock.json", "tables/small.csv"]
    assert server.requests["/small.data"] == 3
    assert fetch(small(server), there, QUICK).content() == CANONICAL
    assert server.requests["/small.data"] == 3
    (there / "tables" / "small.csv").write_bytes(CANONICAL.replace(b"blue", b"red"))
    with refused("dataset small", "sha256"):
        fetch(small(server), there, QUICK)
    assert fill(Mirror(there, policy=QUICK), [small(server)], said.append) == []
    assert (there / "tables" / "small.csv").read_bytes() == CANONICAL
    assert b"red,2" in (there / "quarantine" / "small.csv").read_bytes()


def test_a_mirror_has_what_nobody_has_verified_as_it_first_came(server, tmp_path):
    row = small(server, sha256=(), file_sha256="")
    lock = tmp_path / "config" / "datasets.lock.json"
    mirror = Mirror(tmp_path / "mirror", policy=QUICK, lock_path=lock)
    assert "first download, recorded in" in mirror.fill(row)
    path = tmp_path / "mirror" / "tables" / "small.csv"
    path.write_bytes(CANONICAL.replace(b"blue", b"red"))
    with refused("dataset small", "sha256", "mirror/datasets.lock.json"):
        fetch(row, tmp_path / "mirror", QUICK)
    server.pages["/small.data"] = (200, RAW.replace(b"blue", b"red"))
    with refused("dataset small", "sha256", "config/datasets.lock.json"):
        mirror.fill(row)
    assert not path.exists()


def test_two_who_fill_one_mirror_download_once(server, tmp_path):
    mirrors = [Mirror(tmp_path, policy=QUICK) for _ in range(4)]
    threads = [threading.Thread(target=mirror.fill, args=[small(server)]) for mirror in mirrors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.requests["/small.data"] == 1
    assert files(tmp_path / "tables") == ["small.csv"]


def test_what_many_record_at_once_is_all_there(server, tmp_path):
    path = tmp_path / "datasets.lock.json"
    rows = [small(server, name=f"small-{number}", sha256=()) for number in range(8)]
    threads = [threading.Thread(target=fetch, args=[row, None, QUICK, path]) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(json.loads(path.read_text())) == sorted(row.name for row in rows)
    path.write_text("{")
    with refused(str(path), "not a lock file of datasets"):
        fetch(rows[0], None, QUICK, path)


def command(tmp_path, dataset, *names):
    write_row(tmp_path / "datasets.csv", dataset)
    program = [sys.executable, "-m", "optree.datasets"]
    return [*program, "mirror", str(tmp_path / "mirror"), *names, "--table", str(tmp_path / "datasets.csv")]


def test_the_command_says_what_it_does(server, tmp_path):
    done = subprocess.run(command(tmp_path, small(server)), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"small: {len(CANONICAL)} bytes from {server.url}/small.data" in done.stdout
    assert done.stdout.splitlines()[-1] == f"{tmp_path}/mirror: 1 of 1 datasets are there"
    done = subprocess.run(command(tmp_path, small(server), "large"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "'large' is not known; accepted: small" in done.stderr


def test_a_disk_that_is_full_and_then_is_not(server, tmp_path):
    """A limit on the size of files stands for the disk: writing ends in the middle with an error of the system."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))  # noqa: E731
    line = command(tmp_path, small(server))
    done = subprocess.run(line, capture_output=True, text=True, preexec_fn=limit)
    assert done.returncode == 1
    (error,) = done.stderr.splitlines()
    assert (
        error == f"error: {tmp_path}/mirror/tables/small.csv: cannot be written (File too large); nothing was changed"
    )
    assert files(tmp_path / "mirror") == [".locks/small"]
    assert subprocess.run(line, capture_output=True).returncode == 0
    assert files(tmp_path / "mirror" / "tables") == ["small.csv"]


def test_killed_in_the_middle_the_next_run_succeeds(server, tmp_path):
    server.faults["/small.data"] = ["hang"]
    process = subprocess.Popen(command(tmp_path, small(server)))
    deadline = time.monotonic() + 30
    while not server.requests["/small.data"]:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert files(tmp_path / "mirror") == [".locks/small"]
    leftover = tmp_path / "mirror" / "tables" / f".small.csv.{process.pid}.tmp"  # as if while it wrote
    leftover.parent.mkdir()
    leftover.write_bytes(CANONICAL[:10])
    done = subprocess.run(command(tmp_path, small(server)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert files(tmp_path / "mirror" / "tables") == ["small.csv"]


def test_a_folder_that_cannot_be_written(server, tmp_path):
    if os.geteuid() == 0:
        (tmp_path / "mirror").write_text("a file")
    else:
        (tmp_path / "mirror").mkdir(mode=0o500)
    with refused(str(tmp_path / "mirror"), "cannot be"):
        Mirror(tmp_path / "mirror", policy=QUICK).fill(small(server))
