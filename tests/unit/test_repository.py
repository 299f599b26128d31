"""The README, the locks and the metadata are true."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution

import numpy as np
import yaml
from support import ROOT
from support.problems import make

import optree
from optree.bench.peers.chart import chart
from optree.solvers.__main__ import table

README = (ROOT / "README.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_dependency_is_pinned_with_hashes_and_no_index_is_named():
    for lock in [*(ROOT / "requirements").glob("*.lock"), *(ROOT / "workflow").rglob("*.lock")]:
        text = lock.read_text()
        assert "://" not in text
        assert "index-url" not in text
        entries = re.split(r"\n(?=[A-Za-z0-9])", text.strip())
        assert all("==" in entry and "--hash=sha256:" in entry for entry in entries)
    locked = "\n".join((ROOT / "requirements" / f"{name}.lock").read_text().lower() for name in ("main", "exports"))
    extras = PROJECT["optional-dependencies"].values()
    for requirement in [*PROJECT["dependencies"], *(one for extra in extras for one in extra)]:
        name = re.match(r"[A-Za-z0-9_.-]+", requirement).group().lower()
        assert re.search(rf"^{re.escape(name)}(\[.*?\])?==", locked, re.MULTILINE), name


def test_the_lock_of_a_peer_pins_what_it_declares():
    for path in (ROOT / "workflow" / "peers").glob("*/peer.yaml"):
        lock = (path.parent / "requirements.lock").read_text().splitlines()
        names = {re.match(r"[a-z0-9-]*", line).group() for line in lock if "==" in line}
        for requirement in yaml.safe_load(path.read_text())["requirements"]:
            name, _, version = requirement.partition("==")
            assert name in names, requirement
            assert any(line.startswith(f"{name}=={version}") for line in lock), requirement
        assert "numpy" in names
        assert "optree" not in names


def test_the_documentation_has_the_table_of_solvers():
    page = (ROOT / "docs" / "solvers.md").read_text()
    assert table() in page, "python -m optree.solvers docs/solvers.md renews the table"
    assert chart() in page, "python -m optree.bench.peers.chart docs/solvers.md renews the chart"


def test_a_solver_runs_without_an_estimator_as_the_documentation_says():
    random = np.random.RandomState(0)
    problem = make(random.randint(0, 3, (60, 3)), random.randint(0, 2, 60), [3, 3, 3], 2)
    (block,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs" / "solvers.md").read_text(), re.MULTILINE | re.DOTALL
    )
    exec(block, names := {"problem": problem})
    assert names["result"].status == "optimal"


def test_the_readme_points_at_files_that_exist_and_commands_that_make_knows():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{command}:", makefile, re.MULTILINE), command


def test_one_version_everywhere():
    assert distribution(PROJECT["name"]).version == optree.__version__
    assert f"## {optree.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert PROJECT["name"] in README


def test_the_map_of_the_house_is_true():
    """Each question is answered by one file, which defines the name."""
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## The map of the house")[1].split("\n## ")[0]
    rows = re.findall(r"^\| [^|]+\? \| [^|]+ \| `([^`]+)`(?: `([^`]+)`)? \|$", text, re.MULTILINE)
    assert len(rows) == 38
    for path, names in rows:
        content = (ROOT / path).read_text()
        assert all(re.search(rf"\b(def|class) {name}\b", content) for name in names.split(".") if name), path
