"""The memory of a fit on large tables, as the operating system counts it, in processes of their own."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest
from support.modes import compiled_only, thorough

from optree import DPDTreeClassifier, MurTreeClassifier, OptimalTreeClassifier

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
        for j, count in enumerate((2, 5, 6, 7, 9, 15, 42, 90)):
            X[f"c{j}"] = np.char.add("c", random.randint(0, count, rows).astype(str))
        signal = X["x0"] + X["x1"] * (X["c1"] == "c0") + 0.5 * (X["c5"] < "c4")
    else:
        X = random.random_sample((rows, kind))
        signal = X[:, 0] + X[:, 1] * X[:, 2]
    return X, (signal + 0.4 * random.standard_normal(rows) > np.median(signal)).astype(int)

kind, rows, seconds = sys.argv[1:]
warnings.simplefilter("ignore")
kind = kind if kind == "mixed" else int(kind)
X, y = table(kind, int(rows))
model = OptimalTreeClassifier(time_limit=float(seconds)).fit(X, y)
assert model.tree_.n_splits > 0 and model.lower_bound_ > 0
print(peak_rss_mib())
"""


@compiled_only
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rows", "most"),
    [
        ("mixed", 30_000, 500),
        pytest.param("20", 150_000, 1000, marks=thorough),
        pytest.param("10", 1_000_000, 4000, marks=thorough),
    ],
)
def test_a_large_table_takes_little_memory(kind, rows, most):
    """The limits are in MiB. The first process compiles; the second one loads the machine code."""
    command = [sys.executable, "-c", CODE, kind, str(rows), "15"]
    done = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert float(done[1].stdout) < most, done[1].stdout


PER_CELL = """
import sys, warnings
from pathlib import Path
import numpy as np
import pandas as pd
from optree import OptimalTreeClassifier
from optree.budget import peak_rss_mib, rss_mib

def table(kind, rows):
    random = np.random.RandomState(0)
    if kind == "categories":  # more than a split has children: one against the rest
        X = pd.DataFrame({f"c{j}": np.char.add("c", random.randint(0, 60, rows).astype(str)) for j in range(2)})
        return X, (X["c0"] < "c3") ^ (random.random_sample(rows) < 0.2), 120
    X = random.random_sample((rows, 10))
    if kind == "missing":
        X[random.random_sample(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + 0.4 * random.standard_normal(rows) > 0.5
    return ((X > 0.5).astype(np.int8) if kind == "binary" else X), y, 20 if kind == "missing" else 10

warnings.simplefilter("ignore")
kind, *sizes = sys.argv[1:]
for rows in map(int, [sizes[0], *sizes]):  # the first fit loads the machine code
    X, y, columns = table(kind, rows)
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = rss_mib()
    model = OptimalTreeClassifier(time_limit=None, iteration_limit=1).fit(X, y)
    print((peak_rss_mib() - before) * 2**20 / (rows * columns))
"""
LEVELS = 4  # the trees to start from have up to three levels below the root, whose columns are alive together


@compiled_only
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is forgotten by Linux alone")
@pytest.mark.parametrize("kind", ["numbers", "missing", "binary", "categories"])
def test_a_fit_takes_sixteen_bytes_for_each_row_and_column_of_a_level(kind):
    """A column with missing values counts as two, a column of many categories as one for each of them."""
    sizes = ("60000", "120000") if kind == "categories" else ("200000", "400000")
    command = [sys.executable, "-c", PER_CELL, kind, *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert all(float(found) <= 16 * LEVELS for found in done.stdout.split()[1:]), done.stdout


_NUMBERS = np.random.RandomState(0).random_sample((200, 4))
_NOISY = (_NUMBERS[:, 0] > 0.4) ^ (_NUMBERS[:, 1] > 0.6) ^ (np.arange(200) % 11 == 0)


@pytest.mark.parametrize(
    ("fit", "X"),
    [
        (lambda X: OptimalTreeClassifier("0.02").fit(X, _NOISY), _NUMBERS),
        (lambda X: OptimalTreeClassifier("0.001", iteration_limit=500).fit(X, _NOISY), _NUMBERS),
        (lambda X: OptimalTreeClassifier("0.001", iteration_limit=500).fit(X, _NOISY), _NUMBERS > 0.5),
        (lambda X: OptimalTreeClassifier(0, max_depth=3).fit(X, _NOISY), _NUMBERS),
        (lambda X: OptimalTreeClassifier("0.02").lambda_path(X, _NOISY), _NUMBERS),
        (lambda X: MurTreeClassifier(2).fit(X, _NOISY), _NUMBERS),
        (lambda X: DPDTreeClassifier(2).fit(X, _NOISY), _NUMBERS),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_frees_its_search_without_the_garbage_collector(fit, X):
    fit(X)
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        fit(X)
        gc.collect()
        held = {type(thing) for thing in gc.garbage if type(thing).__module__.startswith("optree")}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not held
