"""The site of results: hostile names stay text, links lead to files, and the table of records works in a browser."""

from __future__ import annotations

import csv
import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from harness.browser import CHROMIUM, page
from support.compared_records import RECORDS, record
from support.model_runs import model_run, rows
from support.refusal import refused

from optree.bench import papers
from optree.bench.models import fit
from optree.bench.site.__main__ import main
from optree.bench.site.pages import build
from optree.bench.site.published import publish, unpack
from optree.bench.site.results import find, finished, slug

in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
HOSTILE = (
    "<script>window.broken = 1</script>",
    "</script><evil onload=window.broken=1>",
    "<!--<script>",
    "../../../outside",
    "\"'><evil onload=window.broken=1> & `x <javascript:window.broken=1>`_",
    "{{ 7 * 7 }}</style><evil>",
    "con\\taining/../slashes",
)
RAW = "- .. raw:: html\n\n     <evil>\n\n- .. image:: nowhere.png\n\n.. include:: /etc/passwd\n"
PLAIN_RECORDS = [entry | {"cell": f"plain {number}"} for number, entry in enumerate(RECORDS)]
PLAIN = ("datasets/a.html", "solvers/branches.html", "papers/murtree.html", "index.html", "records.html")


def hostile(number: int, name: str) -> dict:
    """Return a record with a hostile name of everything that data can name."""
    entry = record("a", "ours", 1.0 + number)
    tree = json.loads(json.dumps(entry["tree"]))
    tree["classes"] = [f"{name} {k}" for k in range(len(tree["classes"]))]
    for feature in tree["features"].values():
        feature |= {"name": name, "labels": [f"{name} {k}" for k in range(len(feature["labels"]))]}
    run = entry["run"] | dict.fromkeys(("dataset", "encoding", "algorithm", "solver"), name)
    proof = {"verdict": "optimal", "statement": name, "file": name, "table": name, "sha256": name, "verifier": name}
    facts = entry | {"run": run, "tree": tree, "iteration": name, "proof": proof, "cell": f"hostile {number}"}
    return facts | {"environment": entry["environment"] | {"host": name, "cpu": name}}


def folder(path: Path, entries: list[dict], **configuration) -> Path:
    """Return a results folder with records and a configuration."""
    (path / "tables").mkdir(parents=True)
    (path / "tables" / "runs.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    (path / "configuration.yaml").write_text(yaml.safe_dump({"name": path.name} | configuration))
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Return a site of three folders: plain records, hostile names, and a paper; two folders share a cell."""
    home = tmp_path_factory.mktemp("home")
    model = fit.execute(
        model_run("iris", "tree", "DecisionTreeClassifier", parameters={"max_depth": 1}), rows("iris", home)
    )
    folders = [
        folder(home / "results" / "plain-smoke", [*PLAIN_RECORDS, model]),
        folder(home / "results" / "re<sul>ts 'x' %20#?", [hostile(*pair) for pair in enumerate(HOSTILE)], paper="../x"),
        folder(home / "results" / "murtree-smoke", PLAIN_RECORDS[:1], paper="murtree"),
    ]
    (folders[1] / "tables" / "findings.rst").write_text(f"Title\n-----\n\n- {HOSTILE[1]}\n{RAW}")
    (folders[1] / "plots" / "figures").mkdir(parents=True)
    (folders[1] / "plots" / "figures" / "a <b> #1.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (folders[1] / "tables" / "link.csv").symlink_to("/etc/hostname")
    before = {path for path in home.rglob("*")}
    build(find(finished(home / "results")), home / "no-docs", home / "build" / "site")
    made = {path for path in home.rglob("*")} - before - {home / "build"}
    assert all(path.is_relative_to(home / "build" / "site") for path in made)
    assert not [path for path in made if path.is_symlink() or path.name == "link.csv"]
    return home / "build" / "site"


class Reader(HTMLParser):
    """The tags, links, texts and scripts of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.tags, self.links, self.ids, self.text, self.attributes = set(), [], set(), "", set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        """Keep a tag, its links and the names of its attributes."""
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value for name, value in attrs if name in ("href", "src")]
        self.ids.update(value for name, value in attrs if name == "id")

    def handle_data(self, data):
        """Keep a text."""
        self.text += f"{data} "


def test_names_from_data_stay_text_on_every_page(site):
    seen = ""
    for path in site.rglob("*.html"):
        reader = Reader(path)
        assert "evil" not in reader.tags, path
        assert not [name for name in reader.attributes if name.startswith("on")], path
        seen += reader.text
    for name in HOSTILE:
        assert seen.count(name) > 5, name
    for words in (".. image:: ", ".. include:: ", ".. raw:: html"):
        assert words in seen


def test_names_of_pages_are_their_own_and_cannot_leave_the_folder():
    names = [*HOSTILE, "a", "A", "a b", "a-b", "", ".", "..", "/", "é", "x" * 500, "\ud800", "a.html", "CON"]
    found = [slug(name) for name in names]
    assert len(set(found)) == len(names)
    assert all(len(name) < 90 and set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789._-") for name in found)
    assert not [name for name in found if name.startswith(".")]
    assert slug("balance-scale_2") == "balance-scale_2"


def test_every_link_leads_to_a_file_of_the_site(site):
    count = 0
    for path in site.rglob("*.html"):
        for link in Reader(path).links:
            parts = urlsplit(link)
            assert not parts.scheme, (path, link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), (path, link)
            assert target.is_relative_to(site)
            if parts.fragment and target.name != "records.html":
                assert unquote(parts.fragment) in Reader(target).ids, (path, link)
            count += 1
    assert count > 300


def test_what_is_not_there_is_said(site):
    text = {path: " ".join(Reader(site / path).text.split()) for path in PLAIN}
    assert "The documentation is not there" in text["index.html"]
    assert "The facts of this dataset, data/NAME.json of a results folder, are not there" in text["datasets/a.html"]
    assert "no file of a proof was asked for" in text["datasets/a.html"]
    assert "no results here" in text["papers/murtree.html"]
    assert "No records of this solver are there" in Reader(site / "solvers" / "gosdt.html").text
    assert "The first page of the report" in Reader(site / "results" / "murtree-smoke" / "index.html").text


def test_a_page_of_a_solver_has_its_declaration_and_its_losses(site):
    text = " ".join(Reader(site / "solvers" / "branches.html").text.split())
    assert "best-first AND/OR search" in text.replace("Best", "best")
    assert "max_depth, min_samples_leaf, multiway splits" in text
    assert "A ratio of seconds holds for that machine and for these limits" in text
    assert "c/onehot-drop-first/0.01 ours a later proof peer" in text


def test_the_command_replaces_an_older_site_and_no_other_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("optree.bench.site.__main__.unpack", lambda *_: [])  # the published results are another test's
    folder(tmp_path / "results" / "one", RECORDS[:2])
    main([])
    assert capsys.readouterr().out.startswith("build/site/index.html: ")
    old = tmp_path / "build" / "site" / "old.html"
    old.write_text("an older page")
    (tmp_path / "build" / "docs").mkdir()
    page = '<!--beside-results <a href="../index.html"> beside-results-->'
    (tmp_path / "build" / "docs" / "index.html").write_text(page)
    main(["results/one"])
    assert not old.exists()
    assert (tmp_path / "build" / "site" / "docs" / "index.html").read_text() == '<a href="../index.html">'
    assert sorted(path.name for path in (tmp_path / "build").iterdir()) == ["docs", "site"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(SystemExit) as end:
        main(["--to", "mine"])
    assert end.value.code == 1
    assert capsys.readouterr().err.startswith("error: mine: holds files of no site, which would be lost; ")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    with pytest.raises(SystemExit):
        main(["--to", "/dev/null/site"])
    assert capsys.readouterr().err.startswith("error: /dev/null/site: cannot be written (")


def test_published_results_are_those_of_their_folder(tmp_path):
    own = folder(tmp_path / "results" / "one", PLAIN_RECORDS)
    for name in ("plots/figures/a.svg", "data/iris.json", "data/iris.csv", "report.html", "logs/one.log"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text(name)
    path = publish(find([own])[0], tmp_path / "published")
    first = path.read_bytes()
    assert publish(find([own])[0], tmp_path / "published").read_bytes() == first
    assert unpack(tmp_path / "none", ["one"], tmp_path / "published") == []
    (unpacked,) = unpack(tmp_path / "unpacked", [], tmp_path / "published")
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert names == {"tables/runs.jsonl", "configuration.yaml", "plots/figures/a.svg", "data/iris.json"}
    assert find([unpacked])[0].searches.equals(find([own])[0].searches)


@pytest.mark.slow
def test_a_level_of_each_paper_is_published(tmp_path):
    found = find(unpack(tmp_path / "unpacked"))
    assert build(found, tmp_path / "no-docs", tmp_path / "site") > 100
    text = (tmp_path / "site" / "index.html").read_text()
    assert all(f">{one.name}<" in text for one in found)
    assert {one.paper for one in found} >= set(papers.names())
    for one in found:
        assert one.text("tables/claims.md").startswith("# Claims of ")
        assert one.figures("plots/figures") or one.figures("plots/paper_figures")


def test_nothing_to_show_is_an_error_of_one_line(tmp_path):
    with refused("results: no folder with tables/runs.jsonl and configuration.yaml"):
        find(finished(tmp_path / "results"))
    broken = folder(tmp_path / "results" / "one", [])
    with refused("nowhere: tables/runs.jsonl is missing"):
        find([tmp_path / "nowhere"])
    (broken / "tables" / "runs.jsonl").write_text("{\n")
    with refused("one: the records or the configuration cannot be read"):
        find([broken])
    (broken / "tables" / "runs.jsonl").write_text("")
    with refused("results: no records in one"):
        find([broken])
    with refused("two folders have the name 'one'"):
        find([broken, broken])


@in_a_browser
@pytest.mark.parametrize("width", [1400, 390])
def test_every_page_fits_a_screen_without_a_network_or_errors(site, width):
    pages = [site / name for name in PLAIN]
    for kind in ("datasets", "solvers", "results"):
        pages += sorted(path for path in (site / kind).rglob("*.html") if "." in path.relative_to(site).as_posix()[:-5])
    assert len(pages) > 20
    with page(width, 900) as opened:
        for path in pages:
            opened.send("Page.navigate", url=path.resolve().as_uri())
            opened.wait(f"location.pathname.endsWith({json.dumps(path.name)}) && document.readyState === 'complete'")
            assert opened.ask("document.documentElement.scrollWidth") <= width, path
            assert opened.ask("typeof window.broken") == "undefined", path
            assert opened.ask("document.querySelector('evil')") is None
        assert opened.errors == []
        assert all(request.startswith(site.resolve().as_uri()) for request in opened.requests)


def shown(opened, column: str) -> list[str]:
    """Return the texts of a column of the table of all records."""
    heads = opened.ask("[...document.querySelectorAll('#rows th')].map(head => head.textContent)")
    cells = f"[...document.querySelectorAll('#rows tbody tr')].map(row => row.cells[{heads.index(column)}].textContent)"
    return opened.ask(cells)


def choose(opened, name: str, value: str) -> None:
    """Write into a control, as a reader does."""
    control = f"document.querySelector('[name=\"{name}\"]') ?? document.getElementById('{name}')"
    opened.ask(f"(() => {{const c = {control}; c.value = '{value}'; c.dispatchEvent(new Event('input'));}})()")


@in_a_browser
@pytest.mark.parametrize("width", [1400, 390])
def test_the_table_of_all_records_is_filtered_sorted_plotted_and_kept_in_the_address(site, width, tmp_path):
    with page(width, 900) as opened:
        opened.open(site / "records.html")
        total = len(RECORDS) + 1 + len(HOSTILE)
        assert opened.ask("document.getElementById('shown').textContent") == f"{total} of {total} records"
        assert set(HOSTILE) <= set(shown(opened, "dataset"))
        assert opened.ask("document.getElementById('filtered').open") == (width > 700)
        choose(opened, "algorithm", "PEER")
        assert shown(opened, "algorithm") == ["peer"] * 5
        choose(opened, "seconds of search", "<=4")
        choose(opened, "status", "optimal")
        assert sorted(map(float, shown(opened, "seconds of search"))) == [0.016, 0.5, 4]
        button = "[...document.querySelectorAll('#rows th button')].find(b => b.textContent === 'seconds of search')"
        opened.ask(f"{button}.focus()")
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        for kind, order in (("ascending", ["0.016", "0.5", "4"]), ("descending", ["4", "0.5", "0.016"])):
            opened.send("Input.dispatchKeyEvent", type="keyDown", **key)
            opened.send("Input.dispatchKeyEvent", type="keyUp", **key)
            assert shown(opened, "seconds of search") == order
            assert opened.ask(f"{button}.parentNode.getAttribute('aria-sort')") == kind
        opened.ask("document.getElementById('plotted').open = true")
        choose(opened, "x", "seconds of search")
        choose(opened, "y", "MiB")
        opened.wait("document.querySelectorAll('#plot circle').length === 3")
        title = opened.ask("document.querySelector('#plot circle title').textContent")
        assert title == "a, onehot-drop-first, peer, branches, optimal: 4, 400"
        assert "(logarithmic)" in opened.ask("document.querySelector('#plot svg').textContent")
        assert opened.ask("document.querySelector('#plot svg').getBoundingClientRect().right") <= width
        kept = opened.ask("location.hash")
        opened.ask("document.getElementById('clear').click()")
        assert len(shown(opened, "dataset")) == total
        opened.ask(f"location.hash = {json.dumps(kept)}")
        opened.wait("document.querySelectorAll('#rows tbody tr').length === 3")
        assert shown(opened, "seconds of search") == ["4", "0.5", "0.016"]
        assert opened.ask("document.querySelector('[name=status]').value") == "optimal"
        opened.ask("document.getElementById('clear').click()")
        choose(opened, "measure", "accuracy")
        opened.ask("URL.createObjectURL = blob => { blob.text().then(text => window.saved = text); return '#'; }")
        opened.ask("document.getElementById('download').click()")
        opened.wait("window.saved !== undefined")
        lines = list(csv.DictReader(opened.ask("window.saved").splitlines()))
        assert {line["dataset"] for line in lines} >= {*HOSTILE, "a"}
        assert opened.errors == []
        assert opened.ask("typeof window.broken") == "undefined"


@in_a_browser
def test_tables_of_a_page_are_sorted_and_filtered_each_for_itself(site):
    path = site / "results" / "plain-smoke" / "index.html"
    texts = "[...document.querySelectorAll('#t{} tbody tr')].map(row => row.cells[0].textContent)"
    with page() as opened:
        opened.open(path)
        before = [opened.ask(texts.format(number)) for number in (1, 2)]
        head = "document.querySelector('#t2 th')"
        opened.ask(f"{head}.click(), {head}.click()")
        assert opened.ask(texts.format(2)) == sorted(before[1], reverse=True) != before[1]
        assert opened.ask(texts.format(1)) == before[0]
        assert opened.errors == []
