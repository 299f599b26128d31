"""The validator of the standard accepts the metadata of an archive."""

from __future__ import annotations

import json
from importlib.resources import files
from unittest.mock import Mock
from zipfile import ZipFile

import pytest
from support import ROOT
from support.finished_results import write_results

from optree.bench.report import archive

PROFILE = "workflow-run-crate-0.5"
NO_ADDRESS = {"process-run-crate-0.5_3.2", "process-run-crate-0.5_5.1", "ro-crate-1.1_31.2"}  # of workflow and authors


@pytest.fixture
def crate(tmp_path):
    """Return a folder with an unpacked archive."""
    with ZipFile(archive.pack(ROOT, write_results(tmp_path / "results" / "some"))) as packed:
        packed.extractall(tmp_path / "crate")
    return tmp_path / "crate"


@pytest.fixture
def issues(monkeypatch):
    """Return a function that lists the validator's findings; the context comes from a package, not from the web."""
    services, models = (
        pytest.importorskip("rocrate_validator.services"),
        pytest.importorskip("rocrate_validator.models"),
    )
    from rocrate_validator.utils.http import HttpRequester

    context = files("rocrate").joinpath("data", "ro-crate.jsonld").read_text()

    def get(self, url, **_):
        assert url == "https://w3id.org/ro/crate/1.1/context"
        answer = {"status_code": 200, "text": context, "headers": {"Content-Type": "application/ld+json"}}
        return Mock(json=lambda: json.loads(context), **answer)

    monkeypatch.setattr(HttpRequester, "get", get, raising=False)

    def found(folder):
        settings = services.ValidationSettings(
            rocrate_uri=str(folder), profile_identifier=PROFILE, requirement_severity=models.Severity.RECOMMENDED
        )
        return {(issue.severity.name, issue.check.identifier) for issue in services.validate(settings).get_issues()}

    return found


def test_an_archive_is_a_workflow_run_crate(crate, issues):
    assert issues(crate) <= {("RECOMMENDED", check) for check in NO_ADDRESS}


def test_the_validator_refuses_an_archive_without_a_named_file_or_without_the_workflow(crate, issues):
    (crate / "results" / "some" / "configuration.yaml").unlink()
    assert any(severity == "REQUIRED" for severity, _ in issues(crate))
    metadata = crate / "ro-crate-metadata.json"
    metadata.write_text(metadata.read_text().replace("ComputationalWorkflow", "Thing"))
    assert ("REQUIRED", "workflow-ro-crate-1.0_2.1") in issues(crate)
