"""The memory of a fit on large tables, as the operating system counts it, in processes of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.modes import compiled_only

CODE = """
import sys, warnings
import numpy as np
import pandas as pd
from optree import OptimalTreeClassifier
from optree.budget import peak_rss_mib

def table(kind, rows):
    random = np.random.RandomState(0)
    if kind == "mixed":
        X = pd.DataFrame(random.random_sample((rows, 6))).add_prefix("x")
        for j, count in enumerate((2, 5, 6, 7, 9, 15, 16, 42)):
            X[f"c{j}"] = np.char.add("c", random.randint(0, count, rows).astype(str))
        signal = X["x0"] + X["x1"] * (X["c1"] == "c0") + 0.5 * (X["c5"] < "c4")
    else:
        X = random.random_sample((rows, kind))
        signal = X[:, 0] + X[:, 1] * X[:, 2]
    return X, (signal + 0.4 * random.standard_normal(rows) > np.median(signal)).astype(int)

kind, rows, seconds = sys.argv[1:]
warnings.simplefilter("ignore")
kind = kind if kind == "mixed" else int(kind)
OptimalTreeClassifier(time_limit=5).fit(*table(kind, 1000))  # loads machine code, or compiles it
before = peak_rss_mib()
X, y = table(kind, int(rows))
model = OptimalTreeClassifier(time_limit=float(seconds)).fit(X, y)
assert model.tree_.n_splits > 0 and model.lower_bound_ > 0
print(before, peak_rss_mib())
"""


@compiled_only
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rows", "most"), [("mixed", 30_000, 500), ("20", 150_000, 1000), ("10", 1_000_000, 4000)], ids=str
)
def test_a_large_table_takes_little_memory(kind, rows, most):
    """The limits are in MiB; machine code that was compiled in the process may take more than the smallest."""
    command = [sys.executable, "-c", CODE, kind, str(rows), "15"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    before, peak = map(float, done.stdout.split()[-2:])
    assert peak < max(most, before + 250), done.stdout
