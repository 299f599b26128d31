"""Reproduction and citation: docs/REPRODUCE.md, the archive, CITATION.cff."""

from __future__ import annotations

import hashlib
import tomllib
from zipfile import ZipFile

import pytest
import yaml
from support import ROOT
from support.finished_results import write_results
from support.refusal import refused

from optree import __version__
from optree.bench import papers
from optree.bench.models.estimators import ESTIMATORS, PEER
from optree.bench.peers.declaration import read_peers
from optree.bench.report import archive, deposit, reproduce
from optree.bench.runs.plan import plan_runs
from optree.datasets import read_table
from optree.solvers import names


def test_the_document_agrees_with_the_papers_modules():
    said, made = (ROOT / "docs" / "REPRODUCE.md").read_text(), reproduce.text()
    assert said == made, "python -m optree.bench.report.reproduce > docs/REPRODUCE.md"
    for name in papers.names():
        paper = papers.get(name)
        assert f"## {paper.title}\n" in said
        assert all(f"config/{study.config}" in said for level in paper.levels.values() for study in level.studies)
        assert all(f"paper_table_{table}.md" in said for table in paper.tables)


@pytest.mark.parametrize("name", papers.names())
def test_smoke_needs_no_network_and_no_peer(name):
    table = read_table(ROOT / "config" / "datasets.csv")
    for study in papers.get(name).levels["smoke"].studies:
        merged = reproduce.merged_configuration(ROOT, *study)
        runs = plan_runs(merged, table, read_peers(ROOT / "workflow" / "peers"))
        assert {run.solver for run in runs} <= {*names(), *ESTIMATORS} - {PEER}
        used = {run.dataset for run in runs}
        assert {table[dataset].source for dataset in used} == {"builtin"}
        assert papers.required(merged)


def test_the_citation_is_about_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "license"} <= set(citation)
    assert str(citation["version"]) == __version__
    assert citation["license"] == project["license"]
    assert len(citation["references"]) >= len(papers.names())


def test_the_descriptions_for_archives_are_made_from_the_project_and_the_citation():
    for name, text in deposit.descriptions().items():
        assert (ROOT / name).read_text() == text, "python -m optree.bench.report.deposit"


@pytest.fixture
def results(tmp_path):
    return write_results(tmp_path / "results" / "some")


def test_an_archive_has_source_results_and_their_checksums_and_is_the_same_every_time(results):
    first = archive.pack(ROOT, results).read_bytes()
    assert archive.pack(ROOT, results).read_bytes() == first
    with ZipFile(results / "archive.zip") as packed:
        held = set(packed.namelist())
        assert {"Snakefile", "requirements/main.lock", "CITATION.cff"} <= held
        assert {f"results/some/{name}" for name in ("tables/runs.jsonl", "plots/trees/a.svg", "report.html")} <= held
        assert "results/some/jobs/one.jsonl" not in held  # its lines in runs.jsonl are there
        sums = dict(line.split("  ", 1)[::-1] for line in packed.read("MANIFEST.sha256").decode().splitlines())
        assert sums.keys() == held - {"MANIFEST.sha256"}
        for name, sum_ in sums.items():
            assert hashlib.sha256(packed.read(name)).hexdigest() == sum_


def test_an_archive_needs_results_and_a_clone(results, tmp_path):
    with refused("tables/runs.jsonl is missing", "run the workflow first"):
        archive.pack(ROOT, tmp_path / "nothing")
    with refused("not a clone"):
        archive.pack(tmp_path, results)
