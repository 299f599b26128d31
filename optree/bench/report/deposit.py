"""The descriptions of the software for archives: ``codemeta.json`` and ``.zenodo.json``.

``python -m optree.bench.report.deposit`` writes both from ``pyproject.toml`` and ``CITATION.cff``. Sources:
CodeMeta 3.0, https://w3id.org/codemeta/3.0, and Zenodo's metadata of deposits, https://developers.zenodo.org.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import yaml

from optree import __version__

HOME = Path(__file__).resolve().parents[3]


def _codemeta(project: dict, citation: dict) -> dict:
    """Return the description in the terms of CodeMeta."""
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["workflow"]]
    return {
        "@context": "https://w3id.org/codemeta/3.0",
        "@type": "SoftwareSourceCode",
        "name": project["name"],
        "description": project["description"],
        "version": __version__,
        "license": f"https://spdx.org/licenses/{project['license']}",
        "author": [{"@type": "Organization", "name": one["name"]} for one in citation["authors"]],
        "keywords": citation["keywords"],
        "programmingLanguage": "Python",
        "runtimePlatform": f"Python {project['requires-python']}",
        "softwareRequirements": sorted(set(needed)),
        "operatingSystem": ["Linux", "macOS"],
        "developmentStatus": "active",
        "readme": "README.md",
        "softwareHelp": "docs/index.md",
        "referencePublication": [
            {"@type": "ScholarlyArticle", "name": one["title"], **({"url": one["url"]} if "url" in one else {})}
            for one in citation["references"]
        ],
    }


def _zenodo(project: dict, citation: dict) -> dict:
    """Return the description in the terms of Zenodo."""
    return {
        "upload_type": "software",
        "title": citation["title"],
        "description": f"{project['description']}. {citation['message']}",
        "version": __version__,
        "license": project["license"],
        "creators": [{"name": one["name"]} for one in citation["authors"]],
        "keywords": citation["keywords"],
        "references": [f"{one['title']}, {one['year']}" for one in citation["references"]],
    }


def descriptions() -> dict[str, str]:
    """Return the texts of both files, by name."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((HOME / "CITATION.cff").read_text())
    made = {"codemeta.json": _codemeta(project, citation), ".zenodo.json": _zenodo(project, citation)}
    return {name: json.dumps(content, indent=2, ensure_ascii=False) + "\n" for name, content in made.items()}


if __name__ == "__main__":
    for name, text in descriptions().items():
        (HOME / name).write_text(text)
