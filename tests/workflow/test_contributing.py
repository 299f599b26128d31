"""CONTRIBUTING.md, followed word for word in a copy of the repository."""

from __future__ import annotations

import re
import shlex
import subprocess

from support import ROOT

BLOCK = re.compile(r"^```(\w+)(?: (file|append)=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def follow(checkout, section):
    """Follow the blocks of a section; return the output of its commands."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    body = text.split(f"\n## {section}", 1)[1].split("\n## ", 1)[0]
    printed = ""
    for language, how, path, content in BLOCK.findall(body):
        if how:
            target = checkout.path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "a" if how == "append" else "w") as file:
                file.write(content)
        elif language == "diff":
            subprocess.run(["git", "apply", "-"], input=content, text=True, check=True, cwd=checkout.path)
        elif language == "sh":
            for line in content.splitlines():
                done = checkout.run(shlex.split(line))
                assert done.returncode == 0, done.stdout + done.stderr
                printed += done.stdout + done.stderr
    return printed


def records(checkout, name):
    return checkout.whole_records(name)


def test_adding_a_solver(checkout):
    follow(checkout, "Add a solver")
    branches, stump = records(checkout, "stump")
    assert stump["run"]["solver"] == "stump"
    assert stump["status"] == "heuristic"
    assert stump["size"]["splits"] <= 1
    assert stump["objective"] <= branches["objective"]


def test_adding_a_constraint(checkout):
    follow(checkout, "Add a constraint")
    small, large = sorted(records(checkout, "split"), key=lambda record: record["run"]["min_samples_split"])
    assert [record["status"] for record in (small, large)] == ["optimal", "optimal"]
    assert large["objective"] < small["objective"]
    assert "minimum rows in an inner node" in (checkout.path / "results/split/tables/summary.md").read_text()
    code = (
        "from optree.estimators.exhaustive import ExhaustiveClassifier as Trees\n"
        "for rows in (2, 9):\n"
        "    model = Trees(0, min_samples_split=rows)\n"
        "    print(model.fit([[0, 0], [0, 1], [1, 0], [1, 1]] * 2, [0, 1, 1, 0] * 2).cost_)\n"
    )
    done = checkout.run(["python", "-c", code])
    assert done.stdout.split() == ["0", "4"], done.stderr


def test_adding_a_dataset(checkout):
    follow(checkout, "Add a dataset")
    assert [record["status"] for record in records(checkout, "weather")] == ["optimal", "optimal"]
