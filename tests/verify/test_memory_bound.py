"""The memory of a check is bounded by a function of the table and the list of supports, which README.md states."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import optree_verify
import pytest
from support.small_proofs import Case, random_supports, seal

PEAK = """
import re, sys, optree_verify
code = optree_verify.main()
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1], file=sys.stderr)
sys.exit(code)
"""


def table(n: int, columns: int, values: int, **limits) -> Case:
    """Return a random table: columns of a few categories, or of that many numbers."""
    random, few = np.random.default_rng(0), values < 10
    X, y = random.integers(0, values, (n, columns)), random.integers(0, 3, n)
    lists = [[f"t{code}"] for code in range(values)]
    features = [[f"f{f}", "values" if few else "numbers", lists if few else None, None] for f in range(columns)]
    head = {"features": features, "missing": [], "target": "y", "classes": ["0", "1", "2"], "costs": None}
    head |= {"weight": None, "lambda": "1/100", "penalty": "split", "tree": [-1], "claim": str(n)}
    head |= {"max_depth": None, "max_splits": None, "min_samples_leaf": None, "supports": 0} | limits
    text = "t{}" if few else "{}.25"
    rows = [
        {f"f{f}": text.format(code) for f, code in enumerate(row)} | {"y": str(k)} for row, k in zip(X, y, strict=True)
    ]
    return Case(rows, head)


def stated_bytes(problem: optree_verify.Problem, files: int, supports: int, costs: int) -> int:
    """Return the bound of README.md on the memory of a check, beyond the memory of the interpreter and numpy."""
    n, f = problem.codes.shape
    q, p, sums = len(problem.shape.of), int(problem.shape.size.max()), problem.sums.shape[1]
    m = 1 if np.isinf(problem.budget) else problem.budget
    pairs = p * sums * (optree_verify.MANY_PAIRS + q)
    return 32 * files + 64 * costs + 32 * n * (q + f) + 48 * (pairs + m * q) + n * supports


def peak_bytes(data: Path, proof: Path) -> int:
    """Return the greatest memory of a process that checks a proof, as the operating system counts it."""
    command = [sys.executable, "-c", PEAK, str(data), str(proof)]
    folder = Path(optree_verify.__file__).parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stderr) * 1024


def priced(case: Case, actions: int, digits: int) -> Case:
    """Return the case with random costs of actions, of some digits."""
    random, names = np.random.default_rng(1), [f"a{k}" for k in range(actions)]
    costs = random.integers(0, 10**digits, (len(case.rows), actions)).tolist()
    rows = [row | dict(zip(names, map(str, own), strict=True)) for row, own in zip(case.rows, costs, strict=True)]
    return Case(rows, case.head | {"target": names, "classes": [], "costs": "actions", "claim": str(10**12)})


CASES = {
    "many costs": (priced(table(20_000, 2, 5), 8, 6), 1),
    "many costs of a digit": (priced(table(100_000, 1, 2), 4, 1), 1),
    "many rows": (table(12_000, 10, 5), 10),
    "many thresholds": (table(600, 12, 500, max_depth=2), 1),
    "many supports": (table(1_500, 14, 2), 3_000),
    "many shares": (table(300, 10, 3, max_splits=30), 20),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the operating system has no /proc")
@pytest.mark.slow
@pytest.mark.parametrize(("case", "most"), CASES.values(), ids=CASES)
def test_the_peak_is_below_the_stated_bound(case, most, tmp_path):
    data, proof = tmp_path / "data.csv", tmp_path / "tree.proof"
    table(2, 2, 2).write(data)
    proof.write_bytes(seal(table(2, 2, 2).head, b""))
    least = peak_bytes(data, proof)
    case.write(data)
    problem = optree_verify.Problem(case.head, case.table)
    body, count = random_supports(problem, np.random.default_rng(0), 1.0, most)
    proof.write_bytes(seal(case.head | {"supports": count}, body))
    costs = len(case.rows) * len(case.head["target"]) if case.head["costs"] == "actions" else 0
    stated = stated_bytes(problem, data.stat().st_size + proof.stat().st_size, count, costs)
    peak = peak_bytes(data, proof) - least
    assert peak < stated, (peak, stated)
    assert peak > stated / 50, (peak, stated)  # the bound says something
