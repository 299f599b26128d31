"""The report, opened in a browser: without a network or errors, and with every item visible."""

from __future__ import annotations

import base64
import json
import re
import shutil
import time
from pathlib import Path

import pytest
from harness.browser import CHROMIUM, page
from harness.checkout import Checkout
from support import ROOT

from optree.bench.report import snakemake_pages
from optree.bench.runs import rerun

in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture(scope="module")
def report(finished):
    done = finished.snakemake("--report", "report.html")
    assert done.returncode == 0, done.stderr
    return finished.path / "report.html"


def test_the_report_is_one_file_with_one_rule_for_all_jobs(report):
    text = report.read_text()
    assert "<title>optree: test</title>" in text
    rules = set(re.findall(r'"rule": "(\w+)"', text.split("var rulegraph_spec", 1)[1]))
    assert "solve" in rules
    assert not [name for name in rules if re.search(r"\d$", name)]


def test_only_a_requested_and_finished_page_is_completed(tmp_path):
    assert snakemake_pages.requested(["--cores", "1"]) is None
    assert snakemake_pages.requested(["--report", "--cores", "1"]) == Path("report.html")
    assert snakemake_pages.requested(["--report", "a.html"]) == snakemake_pages.requested(["--report=a.html"])
    page, folder = tmp_path / "a.html", ROOT / "workflow" / "report"
    snakemake_pages.complete(page, folder, "T", 0)
    assert not page.exists()
    text = "<head><title>Snakemake Report</title></head><body></body>"
    page.write_text(text)
    snakemake_pages.complete(page, folder, "T", time.time() + 9)
    assert page.read_text() == text
    snakemake_pages.complete(page, folder, "T", 0)
    assert all(part in page.read_text() for part in ("<title>T</title>", "<style>", "<script>"))


@in_a_browser
@pytest.mark.parametrize("width", [1400, 390])
def test_the_first_page_says_what_was_asked_and_found_without_a_network(report, width):
    with page(width, 900) as opened:
        opened.open(report)
        opened.wait(
            "document.querySelector('.prose h1') && document.querySelector('#rulegraph svg, #rulegraph canvas') && 1"
        )
        text = opened.ask("document.querySelector('.prose').innerText")
        for words in ("What was asked", "What was found", "10 of 11", "How to do it again"):
            assert words in text
        again = re.search(r"python -m optree.bench.runs.rerun '?([^';]+)", text)[1]
        assert (report.parent / again).is_file()
        top = opened.ask("document.querySelector('.prose').getBoundingClientRect().top")
        assert 0 <= top < 100  # the menu is folded on a telephone, and beside the page on a desk
        assert text.index("What was found") < text.index("What was asked")
        assert opened.ask("document.documentElement.scrollWidth") <= width
        assert opened.errors == []
        assert opened.requests == [report.resolve().as_uri()]


@in_a_browser
def test_every_figure_and_table_can_be_seen(report):
    see = """(async () => {
      const found = {};
      for (const [path, result] of Object.entries(results)) {
        if (result.mime_type === "text/html") {
          const text = await (await fetch(result.data_uri)).text();
          const page = new DOMParser().parseFromString(text, "text/html");
          found[path] = page.querySelectorAll("tbody tr, article svg text").length;
        } else {
          const image = new Image();
          image.src = result.data_uri;
          await image.decode();
          found[path] = image.naturalWidth;
        }
      }
      return found;
    })()"""
    with page() as opened:
        opened.open(report)
        seen = opened.ask(see)
        assert {path.rsplit("/", 1)[-1] for path in seen} >= {
            "summary.html",
            "statistics.html",
            "anytime.svg",
            "iris.html",
        }
        assert min(seen.values()) > 0, seen
        assert opened.requests == [report.resolve().as_uri()]
        assert opened.errors == []


@in_a_browser
def test_the_menu_of_a_telephone_is_folded_until_its_button_is_pressed(report):
    height = "document.querySelector('nav').getBoundingClientRect().height"
    with page(390, 900) as opened:
        opened.open(report)
        opened.wait("document.querySelector('.prose h1') && 1")
        assert opened.ask(height) == 0
        opened.ask("document.querySelector('#app .fixed a').click()")
        opened.wait(f"{height} > 200")
        path = "results/test/tables/summary.html"
        opened.ask(f"app.setView({{content: 'html', contentPath: results['{path}'].data_uri, resultPath: '{path}'}})")
        opened.wait(f"{height} === 0")
    with page(1400, 900) as opened:
        opened.open(report)
        assert opened.ask(height) == 900


@in_a_browser
@pytest.mark.parametrize("width", [1400, 390])
def test_figures_are_scaled_to_the_window_and_tables_fit_into_it(report, width):
    with page(width, 900) as opened:
        opened.open(report)
        opened.wait("document.querySelector('.prose h1') && 1")
        for path in opened.ask("Object.keys(results)"):
            kind = "html" if path.endswith(".html") else "img"
            opened.ask(
                f"app.setView({{content: '{kind}', contentPath: results['{path}'].data_uri, resultPath: '{path}'}})"
            )
            if kind == "img":
                opened.wait("document.querySelector('.p-3 > img')?.complete")
                right = "document.querySelector('.p-3 > img').getBoundingClientRect().right"
                assert opened.ask(right) <= width, path
            elif "/tables/" in path:
                opened.wait("document.querySelector('iframe') && 1")
                assert opened.ask_frame("document.documentElement.scrollWidth <= window.innerWidth"), path
        assert opened.errors == []


@in_a_browser
@pytest.mark.parametrize("width", [1400, 390])
def test_a_tree_is_one_click_from_its_row_of_the_table(report, width):
    proven = "[...document.querySelectorAll('tbody tr')].find(row => row.textContent.includes('optimal'))"
    with page(width, 900) as opened:
        opened.open(report)
        opened.wait("document.querySelector('.prose h1') && 1")
        table = "results/test/tables/summary.html"
        opened.ask(f"app.setView({{content: 'html', contentPath: results['{table}'].data_uri, resultPath: '{table}'}})")
        opened.wait("document.querySelector('iframe') && 1")
        link = opened.ask_frame(f"{proven}.querySelector('a').getAttribute('href')")
        dataset = opened.ask_frame(f"{proven}.cells[0].textContent")
        assert re.fullmatch(rf"\.\./plots/trees/{dataset}\.html#\d+", link)
        opened.ask_frame(f"{proven}.querySelector('a').click()")
        opened.wait("app.state.resultPath.includes('trees')")
        assert opened.ask("app.state.resultPath") == f"results/test/plots/trees/{dataset}.html"
        number = link.partition("#")[2]
        seen = f"document.getElementById('{number}').getBoundingClientRect().top"
        assert opened.ask_frame("location.hash") == f"#{number}"
        assert -1 < opened.ask_frame(seen) < 900
        assert opened.ask_frame(f"document.getElementById('{number}').querySelectorAll('svg text').length") > 0
        assert opened.ask_frame("document.documentElement.scrollWidth") <= width
        root = f"[...document.getElementById('{number}').querySelectorAll('svg text')].pop().getBoundingClientRect()"
        assert 0 <= opened.ask_frame(f"{root}.left") < opened.ask_frame(f"{root}.right") <= width
        opened.ask_frame("document.querySelector('p a').click()")
        opened.wait(f"app.state.resultPath === '{table}'")
        assert opened.errors == []
        assert opened.requests == [report.resolve().as_uri()]


@in_a_browser
def test_a_page_longer_than_an_address_opens(finished, report, tmp_path):
    """More than Chromium takes as the address of a frame."""
    text, path = report.read_text(), "results/test/plots/trees/iris.html"
    large = "<!DOCTYPE html><p>" + "long " * 600_000 + "</p><p id=end>the end</p>"
    encoded = base64.b64encode(large.encode()).decode()
    longer = re.sub(rf'({path}": .*?"data_uri": "data:text/html;[^,]*,)[^"]*', rf"\g<1>{encoded}", text, count=1)
    (tmp_path / "large.html").write_text(longer)
    with page() as opened:
        opened.open(tmp_path / "large.html")
        opened.wait("document.querySelector('.prose h1') && 1")
        opened.ask(f"app.setView({{content: 'html', contentPath: results['{path}'].data_uri, resultPath: '{path}'}})")
        opened.wait("document.querySelector('iframe') && 1")
        assert opened.ask_frame("document.getElementById('end').textContent") == "the end"


@in_a_browser
def test_tables_are_sorted_by_a_click(finished):
    column = "[...document.querySelectorAll('tbody tr')].map(row => row.cells[7].textContent)"
    with page() as opened:
        opened.open(finished.path / "results" / "test" / "tables" / "summary.html")
        before = opened.ask(column)
        opened.ask("document.querySelectorAll('th')[7].click()")
        up = opened.ask(column)
        opened.ask("document.querySelectorAll('th')[7].click()")
        down = opened.ask(column)
        assert opened.ask("document.querySelectorAll('th')[7].textContent") == "objective"
        assert opened.errors == []
    assert up == sorted(before, key=float) != before
    assert down == up[::-1] or sorted(down) == sorted(up)
    assert float(down[0]) == max(map(float, before))


def test_tables_and_plots_come_from_the_records_alone(finished, tmp_path):
    """In a copy that has neither data nor runs, only the lines of an earlier run's records."""
    copy, given = Checkout(tmp_path), tmp_path / "given" / "tables"
    given.mkdir(parents=True)
    tables = finished.path / "results" / "test" / "tables"
    shutil.copy(tables / "runs.jsonl", given)
    done = copy.snakemake("--config", "records=given")
    assert done.returncode == 0, done.stderr
    assert not re.search("solve|encode", done.stdout + done.stderr)
    made = tmp_path / "results" / "test"
    for part in ("tables", "plots"):
        there = {path.relative_to(finished.path) for path in (finished.path / "results" / "test" / part).rglob("*.*")}
        of_records = (path for path in there if path.suffix not in (".jsonl", ".rst") and path.stem != "datasets")
        for path in sorted(of_records):
            assert (tmp_path / path).read_bytes() == (finished.path / path).read_bytes(), path
    assert not (made / "jobs").exists()


def test_records_without_a_configuration_file_keep_their_own_configuration(finished, tmp_path):
    copy = Checkout(tmp_path)
    for path in ("configuration.yaml", "tables/runs.jsonl"):
        (tmp_path / "given" / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(finished.path / "results" / "test" / path, tmp_path / "given" / path)
    done = copy.run(["snakemake", "--cores", "1", "--until", "tables", "--config", "records=given"])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "test" / "tables" / "runs.csv").is_file()
    assert not (tmp_path / "results" / "default").exists()


def test_records_that_are_not_there_are_named(finished):
    done = finished.snakemake("-n", "--config", "records=nowhere")
    assert done.returncode != 0
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert line.startswith("error: config: records: nowhere/tables/runs.jsonl: ")


def test_a_run_is_done_again_beside_its_record(finished, capsys, monkeypatch):
    monkeypatch.chdir(finished.path)
    by_solver = {json.loads(path.read_text())["run"]["solver"]: path for path in finished.cells()}
    for solver in ("cart", "branches", "DecisionTreeClassifier"):
        assert rerun.main([str(by_solver[solver].relative_to(finished.path))]) == 0
        assert "the same, apart from values that depend on a clock" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        rerun.main([str(by_solver["cart"]), "--results", "nowhere"])
    assert "no rows of" in capsys.readouterr().err


def test_what_came_out_differently_is_named():
    size = {"splits": 1}
    made = {"status": "optimal", "objective": 0.5, "cost": {"value": 3, "lower_bound": 3}, "size": size}
    made |= {"train": {}, "counters": {"iterations": 7}, "seconds": {"search": 1.0}, "peak_rss_mib": 1.0}
    assert rerun.differences(made, {**made, "seconds": {"search": 2.0}}) == []
    assert rerun.differences(made, {**made, "counters": {"iterations": 8}, "objective": 0.6}) == [
        "objective",
        "iterations",
    ]
    assert rerun.differences(made, {**made, "status": "time_limit", "objective": 0.4}) == []
