"""The benchmark against the authors' program, with a stand-in of ours for it: nothing of theirs is here."""

from __future__ import annotations

import csv
import importlib
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from support.refusal import refused

ROOT = Path(__file__).parents[2]
CASE = "balance-scale-576/ordinal/0.01"

# The interface that the driver uses, with the oracle behind it. ERROR is added to what its tree predicts.
FAKE = """
from types import SimpleNamespace
from nltk import Tree
import svgling
import numpy as np
from optree import solvers
from optree.objective import Objective
from optree.columns import Feature
from optree.problem import Problem

class Branches:
    def __init__(self, data, encoding):
        assert encoding == "ordinal"
        codes, y = data[:, :-1], data[:, -1]
        features = tuple(Feature(str(j), tuple(map(str, range(1 + codes[:, j].max())))) for j in range(codes.shape[1]))
        self.problem = Problem.coded(codes, y, features, tuple(map(str, range(1 + y.max()))))
        self.lattice = SimpleNamespace(root=SimpleNamespace(complete=False))

    def solve(self, lambd, n, print_iter, time_limit):
        print("Iteration", print_iter)
        self.result = solvers.get("exhaustive").solve(self.problem, Objective.of(lambd))
        self.lattice.root.complete = COMPLETE
        return 7

    def predict(self, X):
        classes = self.result.tree.predict(X)
        return np.where(np.arange(len(X)) < ERRORS, -1, classes)

    def infer(self):
        return [], self.result.tree.n_splits
"""


@pytest.fixture
def script() -> ModuleType:
    return importlib.import_module("branches_authors")


def run(tmp_path: Path, *arguments: str, complete: bool = True, errors: int = 0) -> subprocess.CompletedProcess:
    """Run the command line with a stand-in that may not finish, or whose tree has more errors."""
    source = tmp_path / "clone" / "src"
    source.mkdir(parents=True)
    (source / "branches.py").write_text(FAKE.replace("COMPLETE", str(complete)).replace("ERRORS", str(errors)))
    command = [sys.executable, ROOT / "benchmarks" / "branches_authors.py", "--authors", tmp_path / "clone"]
    command += ["--cases", CASE, "--out", tmp_path / "runs.csv", *arguments]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)


def test_runs_alternate_and_agree_and_make_a_table_and_a_file(tmp_path):
    done = run(tmp_path, "--repeats", "2")
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "runs.csv", newline="") as file:
        runs = list(csv.DictReader(file))
    assert [(row["program"], row["repeat"]) for row in runs] == [
        ("authors", "0"),
        ("optree", "0"),
        ("authors", "1"),
        ("optree", "1"),
    ]
    assert {round(float(row["objective"]), 9) for row in runs} == {0.734236111}
    assert all(float(row["cpu_seconds"]) > 0 and float(row["peak_rss_mib"]) > 1 for row in runs)
    header, rule, line = done.stdout.splitlines()
    assert header.count("|") == rule.count("|") == line.count("|")
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:4] == [CASE, "576", "4", "0.734236"]
    assert "(" in cells[6]
    assert cells[7] == "7"


def test_a_search_that_is_not_finished_bounds_the_ratio_and_is_not_repeated(tmp_path):
    done = run(tmp_path, complete=False)
    assert done.returncode == 0, done.stderr
    cells = [cell.strip() for cell in done.stdout.splitlines()[-1].strip("|").split("|")]
    assert cells[4].startswith(">")
    assert cells[6].startswith(">")
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "errors", "words"),
    [
        ((), 100, (CASE, "the authors' program proves 0.5", "optree 0.734236")),
        (("--python", "no-such-python"), 0, (CASE, "authors", "no-such-python")),
        (("--time-limit", "soon"), 0, ("--time-limit",)),
        (("--repeats", "0"), 0, ("--repeats", ">= 1")),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path, arguments, errors, words):
    done = run(tmp_path, *arguments, errors=errors)
    assert done.returncode != 0
    assert [word for word in words if word not in done.stderr.splitlines()[-1]] == []


def test_ratios_are_medians_and_bounds_are_marked(script):
    def pairs(theirs_done: bool, ours_done: bool, *seconds: float) -> list:
        case = script.Case.of(CASE)
        sides = [("authors", theirs_done), ("optree", ours_done)]
        return [
            tuple(
                script.Run(case, 576, 4, side, 0, done, 0.5, 1, s if side == "authors" else 0.5, 1, 1)
                for side, done in sides
            )
            for s in seconds
        ]

    assert script.ratio(pairs(True, True, 20, 50, 1)) == "40 (2-100)"
    assert script.ratio(pairs(False, True, 120)) == ">240"
    assert script.ratio(pairs(True, False, 1)) == "<2"
    assert script.ratio(pairs(False, False, 1)) == "-"
    assert [script.number(value) for value in (1234.5, 12.345, 0.0012345)] == ["1234", "12.3", "0.00123"]


def test_cases_are_read_as_they_are_written(script):
    assert str(script.Case.of(CASE)) == CASE
    with refused("--cases", "'car'", "dataset/encoding/lambda"):
        script.Case.of("car")
    with refused("encoding", "'nohot'", "onehot-drop-first"):
        script.Case.of("car/nohot/0.1")


def test_sizes_are_swept_and_drawn(monkeypatch, tmp_path):
    size = importlib.import_module("size")
    monkeypatch.setattr(size, "USUAL", {"rows": 200, "features": 6, "classes": 2})
    sweeps = {name: (key, {"rows": [50, 100]}.get(key, [5, 6])) for name, (key, _) in size.SWEEPS.items()}
    monkeypatch.setattr(size, "SWEEPS", sweeps)
    table = size.sweep(1, 10)
    assert table["status"].eq("optimal").all()
    assert table["sweep"].value_counts().tolist() == [2] * 4
    assert table["peak_rss_mib"].gt(50).all()
    size.plot(table).savefig(tmp_path / "size.svg")
    table = table.assign(size=[10, 100] * 4, seconds=[2, 20] * 4)
    assert size.slope(table) == pytest.approx(1)


def test_all_thresholds_are_swept_and_drawn(tmp_path, monkeypatch):
    script = importlib.import_module("all_thresholds")
    monkeypatch.setattr(script, "USUAL", 200)
    table, picture = tmp_path / "all.csv", tmp_path / "all.svg"
    sizes = ["--rows", "100", "200", "--values", "80", "150"]
    script.main(["--out", str(table), "--plot", str(picture), "--seeds", "1", *sizes])
    with open(table) as file:
        found = list(csv.DictReader(file))
    assert len(found) == 2 * 4 * 2
    assert {(row["status"], row["solver"]) for row in found} == {("optimal", "allthresholds")}
    assert picture.stat().st_size > 1000


def test_repeated_rows_are_the_same_problem():
    size = importlib.import_module("size")
    problem = size.draw(3000, 8, 2, 0, distinct=1000)
    assert problem.total_weight == 3000
    assert len(problem.groups.rows) <= 256
    assert (problem.codes[:1000] == problem.codes[1000:2000]).all()


LEAF = """
import numpy as np

class LicketySPLITClassifier:
    eta_defer_used_ = 0.0

    def __init__(self, lambda_leaf, depth_budget, lookahead_k):
        self.lambda_leaf, self.depth_budget, self.lookahead_k = lambda_leaf, depth_budget, lookahead_k

    def fit(self, X, y, *rest):
        assert set(np.unique(X)) <= {0, 1} and X.dtype == np.uint8
        self.label = np.bincount(y).argmax()
        return self

    def predict(self, X):
        return np.full(len(X), self.label)

    def get_tree_paths(self):
        return [()], None

    def _new_core(self):
        return self
"""


def test_licketysplit_is_compared_with_a_package(tmp_path, monkeypatch, capsys):
    """A stand-in that makes but leaves is worse where a split pays, and as good where none does."""
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{ROOT}")
    (tmp_path / "licketysplit.py").write_text(LEAF)
    random = np.random.RandomState(0)
    numbers = random.random_sample((60, 2))
    np.savetxt(tmp_path / "half.txt", np.column_stack([numbers[:, 0] > 0.5, numbers]))
    script, runs = importlib.import_module("licketysplit_authors"), tmp_path / "runs.csv"
    few = ["--cuts", "3", "--depths", "2", "--lambdas", "0.01", "0.9", "--repeats", "1", "--most-rows", "50"]
    asked = ["--python", sys.executable, "--data", str(tmp_path), "--out", str(runs), *few]
    for also in (["--solver", "split", "--lookahead", "half"], []):
        script.main([*asked, *also])
        assert capsys.readouterr().out.splitlines()[-1].startswith("| all 2 | 1 | 1 | 0 |")
    with open(runs) as file:
        found = list(csv.DictReader(file))
    for name in ("--repeats", "--rounds"):
        with pytest.raises(SystemExit):
            script.main([*asked, name, "0"])
        assert f"{name} 0 is not accepted; give >= 1" in capsys.readouterr().err
    assert [(row["rows"], row["columns"], row["leaves"]) for row in found[2:]] == [("50", "6", "2"), ("50", "6", "1")]
