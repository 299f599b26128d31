"""What surrounds the workflow: the catalogue's layout, images, and tables with hostile names."""

from __future__ import annotations

import ast
import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from harness.browser import CHROMIUM, page
from support import ROOT

HOSTILE = {"column": "<img src=x onerror=h()>", "class": "</script><script>h()</script>", "value": '"><b onclick=\'">'}
UNPICKLE = {"pickle.load", "pickle.loads", "pickle.Unpickler", "joblib.load", "pd.read_pickle", "pandas.read_pickle"}


def test_the_repository_has_the_layout_of_the_workflow_catalogue():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert usage.keys() == {"mandatory-flags", "software-stack-deployment", "report"}
    assert usage["software-stack-deployment"]["apptainer"]
    assert all((ROOT / name).is_file() for name in ("workflow/Snakefile", "config/README.md", "config/config.yaml"))


def test_both_images_start_from_the_same_one_and_run_the_same_script():
    docker, apptainer = ((ROOT / "containers" / name).read_text() for name in ("Dockerfile", "optree.def"))
    assert re.search(r"BASE=docker.io/library/(\S+)", docker)[1] == re.search(r"BASE=(\S+)", apptainer)[1]
    assert all(re.search(r"sh /\w+/install.sh /\w+/optree.tar", text) for text in (docker, apptainer))


def test_no_pickle_is_read_but_that_of_the_own_child_process():
    """Arrays of numpy are pickles if they have objects, which ``allow_pickle=False``, the default, refuses."""
    found = set()
    for path in [*(ROOT / "optree").rglob("*.py"), *(ROOT / "workflow").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in UNPICKLE:
                found.add(path.relative_to(ROOT).as_posix())
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert ast.unparse(node.value) == "False", path
    assert found == {"optree/datasets/openml.py"}


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_hostile_names_are_text_on_every_page(finished, tmp_path):
    random, mine = np.random.RandomState(0), tmp_path / "mine"
    a, kind = random.random_sample(80).round(2), random.choice(["plain", HOSTILE["value"]], 80)
    target = np.where((a > 0.4) & (kind == "plain"), HOSTILE["class"], "good")
    mine.mkdir()
    rows = pd.DataFrame({HOSTILE["column"]: a, "kind": kind, "y": target})
    rows.to_csv(mine / "hostile.csv", index=False)
    table = finished.path / "config" / "datasets.csv"
    before = table.read_text()
    added = finished.run(["python", "-m", "optree.datasets", "row", mine / "hostile.csv", "--target", "y", "--add"])
    assert added.returncode == 0, added.stderr
    asked = {"datasets": ["hostile"], "algorithms": ["optree", "cart"], "regularization": ["0.05"], "splits": ["full"]}
    config = {"name": "hostile", "data_mirror": str(mine), "prove": True, "experiments": [asked]}
    (finished.path / "hostile.json").write_text(json.dumps(config))
    for arguments in ([], ["--report", "hostile.html"]):
        done = finished.snakemake(*arguments, config="hostile.json")
        assert done.returncode == 0, done.stdout + done.stderr
    table.write_text(before)
    pages = [finished.path / "hostile.html", *(finished.path / "results" / "hostile").rglob("*.html")]
    named = set()
    with page(1400, 900) as opened:
        for path in pages:
            opened.open(path)
            assert opened.ask("[...document.images].filter(one => one.getAttribute('src') === 'x').length") == 0, path
            assert opened.ask("document.querySelectorAll('b[onclick]').length") == 0, path
            text = opened.ask("document.documentElement.textContent")
            named |= {kind for kind, name in HOSTILE.items() if name in text}
        assert opened.errors == []  # a call of the missing function would be one
    assert named == set(HOSTILE)
