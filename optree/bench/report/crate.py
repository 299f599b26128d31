"""The metadata of an archive: a Workflow Run RO-Crate.

Source: RO-Crate 1.1, https://w3id.org/ro/crate/1.1, and its profile Workflow Run Crate 0.5,
https://w3id.org/ro/wfrun/workflow/0.5. The metadata name the workflow, its configuration and its locks; the machines
and the times of the runs; the raw data with their checksums; and the files of the results.
"""

from __future__ import annotations

import json
import mimetypes
from pathlib import Path

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.model.entity import Entity
from rocrate.rocrate import ROCrate

from optree import __version__

METADATA = "ro-crate-metadata.json"
_WORKFLOW = "workflow/Snakefile"
_LICENSES = "https://spdx.org/licenses/"
_LISTED = ("config", "requirements", "results")  # folders whose files have an entity each
_PROFILES = {  # of the root, by address
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
_FORMATS = {".jsonl": "application/jsonl", ".yaml": "application/yaml", ".md": "text/markdown", ".proof": "text/plain"}


def _add_file(crate: ROCrate, path: Path, name: str) -> Entity:
    """Add a file under its name in the archive."""
    form = _FORMATS.get(path.suffix) or mimetypes.guess_type(name)[0] or "text/plain"
    about = {"name": name, "encodingFormat": form, "contentSize": str(path.stat().st_size)}
    return crate.add_file(path, name, properties=about)


def _add_entity(crate: ROCrate, identifier: str, kind: str, **properties) -> Entity:
    """Add an entity that is no file."""
    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))


def _add_data(crate: ROCrate, row: dict, sha256: str) -> Entity:
    """Add the raw data of a dataset: their origin, and the checksum of the rows that the runs have read."""
    about = {"name": row["name"], "sha256": sha256, "description": f"{row['source']}: {row['identifier']}"}
    if row["source"] == "openml":
        about["url"] = f"https://www.openml.org/d/{row['identifier']}"
    return _add_entity(crate, f"#data-{row['name']}", "Dataset", **about)


def metadata(files: dict[str, Path], results: str, folder: Path) -> str:
    """Return the text of ``ro-crate-metadata.json``.

    Parameters
    ----------
    files
        The path of each file of the archive, by its name there.
    results
        The name of the folder of results in the archive.
    folder
        The folder of results.
    """
    citation = yaml.safe_load(files["CITATION.cff"].read_text())
    records = [json.loads(line) for line in (folder / "tables" / "runs.jsonl").read_text().splitlines()]
    dates = sorted(record["environment"]["date"] for record in records)
    crate = ROCrate(version="1.1")
    crate.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
    root = crate.root_dataset
    author = _add_entity(crate, "#authors", "Organization", name=citation["authors"][0]["name"])
    license = _add_entity(crate, _LICENSES + citation["license"], "CreativeWork", name=citation["license"])
    crate.name = f"{citation['title']}: results of {results.rpartition('/')[2]}"
    crate.description = (
        "The source of the workflow and of the solvers, the locks of all environments, and the records, tables, plots "
        "and proofs of one configuration's runs."
    )
    crate.datePublished = dates[-1]
    root["license"], root["author"], root["publisher"], root["version"] = license, author, author, __version__
    root["conformsTo"] = [
        _add_entity(crate, address, "CreativeWork", name=name, version=address.rpartition("/")[2])
        for address, name in _PROFILES.items()
    ]
    root["keywords"] = ", ".join(citation["keywords"])

    listed = [name for name in files if name != _WORKFLOW and name.partition("/")[0] in (*_LISTED, name)]
    added = {name: _add_file(crate, files[name], name) for name in listed}
    for part in sorted({name.partition("/")[0] for name in files.keys() - set(listed)}):
        crate.add_directory(dest_path=f"{part}/", properties={"name": part})
    if "README.md" in added:
        added["README.md"]["about"] = root
    about = {"name": citation["title"], "license": license, "author": author, "version": __version__}
    workflow = crate.add_workflow(files[_WORKFLOW], _WORKFLOW, properties=about, main=True, lang="snakemake")
    workflow["encodingFormat"], workflow["conformsTo"] = "text/plain", {"@id": _BIOSCHEMAS}

    configuration, records_file = f"{results}/configuration.yaml", f"{results}/tables/runs.jsonl"
    slots = {"configuration": ("input", configuration), "records": ("output", records_file)}
    for name, (side, path) in slots.items():
        slot = crate.add_formal_parameter(name, "File", f"#{name}", f"the file {path}", valueRequired=True)
        workflow[side] = slot
        if path in added:
            added[path]["exampleOfWork"] = slot
    rows = {row["name"]: row for row in json.loads((folder / "datasets.json").read_text())}
    sums = {record["run"]["dataset"]: record["data"]["sha256"] for record in records}
    data = [_add_data(crate, rows[name], sha256) for name, sha256 in sorted(sums.items())]
    machine = "{cpu}, {cores} cores, {system}, Python {python}"
    machines = sorted({machine.format(**record["environment"]) for record in records})
    inputs = [added[name] for name in (configuration, "config/datasets.csv", "requirements/main.lock") if name in added]
    run = crate.add_action(
        workflow,
        "#run",
        inputs + data,
        [entity for name, entity in added.items() if name.startswith(f"{results}/") and name != configuration],
        {
            "name": f"the runs of {results}",
            "description": f"{len(records)} runs on {'; '.join(machines)}",
            "startTime": dates[0],
            "endTime": dates[-1],
            "agent": author,
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
    )
    root["mentions"] = run
    return json.dumps(crate.metadata.generate(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
