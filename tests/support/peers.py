"""Stub peers for tests: a folder whose ``run.py`` is written by the test, run in this environment."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from optree.bench.peers.declaration import read_peer
from optree.bench.peers.run_peer import run_peer
from optree.bench.runs.record import Run
from support import ROOT
from support.runs import encoded

DECLARATION = """
title: a stub
paper: none
requirements: [numpy]
features: [binary]
penalties: [split, leaf]
constraints: [max_depth]
exact: true
anytime: false
iteration: one look
parameters:
  slowly: {type: bool, default: false, doc: sleep first}
"""

# Splits the first feature and reports the true objective.
HONEST = """
import numpy as np
PACKAGES = ("numpy",)

def search(X, y, request):
    children = [y[X[:, 0] == code] for code in (0, 1)]
    correct = sum(np.bincount(labels).max() for labels in children if len(labels))
    return correct / len(y) - float(request["regularization"])

def answer(model, request):
    tree = {"feature": 0, "children": [{}, {}]}
    return {"status": "time_limit", "tree": tree, "objective": model, "bound": 1.0, "iterations": 1, "seconds": 0.25}
"""

# Does nothing in the warm-up, which has 64 rows, because the tests are about the search.
TROUBLE = """
import os, sys, time
PACKAGES = ("numpy",)

def search(X, y, request):
    if len(y) != 64:
        {trouble}

def answer(model, request):
    return {{"status": "time_limit", "tree": None}}
"""


def write(folder: Path, code: str = HONEST, declaration: str = DECLARATION, name: str = "stub") -> Path:
    """Write a peer's folder beside the runner of all peers, and return it."""
    target = folder / name
    target.mkdir(parents=True)
    (target / "peer.yaml").write_text(declaration)
    (target / "requirements.lock").write_text("")
    (target / "run.py").write_text(code)
    shutil.copy(ROOT / "workflow" / "peers" / "runner.py", folder)
    return target


def run(folder: Path, dataset="monks-1", encoding="onehot-drop-first", reference=None, **fields) -> dict:
    """Return the record of a run of the peer in a folder."""
    marker = {"python": sys.executable, "reason": ""}
    wanted = {"regularization": "0.01", "limits": {"seconds": 30, "memory_mib": 1000}} | fields
    asked = Run(dataset, encoding, folder.name, folder.name, **wanted)
    made = run_peer(*encoded(dataset, encoding), asked, read_peer(folder), marker, reference)
    return json.loads(json.dumps(made))


def trouble(line: str) -> str:
    """Return the code of a stub whose search executes this line."""
    return TROUBLE.format(trouble=line)


def claiming(**claims) -> str:
    """Return the code of the honest stub with other claims."""
    code = HONEST.replace('"seconds": 0.25}', '"seconds": 0.25} | ' + repr(claims))
    return "from math import inf, nan\n" + code
