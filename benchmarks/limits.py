"""Wall-clock seconds of every classifier under a limit on time, on large tables.

Each fit is a process of its own. Seconds are those of ``fit``, less the seconds of compilation (``compile_seconds_``).
A fit may take the limit and half a second, or the limit and five percent if this is more. ``--processor`` counts the
limit and the seconds in processor time, which other programs of the machine do not change.

    python benchmarks/limits.py --seconds 5 1 --out limits.csv
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from harness.children import measured_alone

import optree
from optree import compilation
from optree.bench.system.cli import reporting
from optree.budget import peak_rss_mib, rss_mib

sys.path.insert(0, str(Path(__file__).parent))
from any_table import mixed

TABLES = {
    "million": (1_000_000, 10),
    "wide": (300_000, 30),
    "mixed": (300_000, 14),
    "objects": (1_000_000, 14),
    "tenth": (100_000, 10),
}
MODELS = {
    "OptimalTreeClassifier": {},
    "OptimalTreeClassifier, depth 3": {"max_depth": 3},
    "OptimalTreeClassifier, 10 thresholds": {"max_thresholds": 10},
    "MurTreeClassifier": {},
    "DL85Classifier": {},
    "BranchesClassifier": {},
    "GOSDTClassifier": {},
    "SPLITClassifier": {},
    "LicketySPLITClassifier": {},
    "LicketySPLITClassifier, 3 ways": {"max_ways": 3, "max_thresholds": 10},
    "DPDTreeClassifier": {},
    "DPDTreeClassifier, exhaustive": {"generator": "exhaustive"},
    "DPDTreeClassifier, lookahead": {"generator": "lookahead"},
}


def draw(name: str) -> tuple:
    """Return a table and its classes."""
    rows, columns = TABLES[name]
    if name in ("mixed", "objects"):
        X, y = mixed(rows)
        return X.astype(object) if name == "objects" else X, y
    random = np.random.RandomState(0)
    X = random.random_sample((rows, columns))
    return X, (X[:, :5].sum(axis=1) + 0.5 * random.standard_normal(rows) > 2.5).astype(int)


def allowed(limit: float) -> float:
    """Return the greatest number of seconds under a limit."""
    return limit + max(0.5, 0.05 * limit)


def measure(model: str, table: str, limit: float, clock=time.perf_counter) -> dict:
    """Fit one classifier."""
    warnings.simplefilter("ignore")
    compilation.time = SimpleNamespace(perf_counter=clock)
    X, y = draw(table)
    estimator = getattr(optree, model.split(",")[0])(**MODELS[model]).set_params(time_limit=limit)
    before, start, found = rss_mib(), clock(), {"model": model, "table": table, "limit": limit}
    try:
        estimator.fit(X, y)
    except Exception as error:
        return found | {"status": f"{type(error).__name__}: {str(error)[:90]}", "seconds": clock() - start}
    seconds = clock() - start - estimator.compile_seconds_
    return found | {
        "seconds": seconds,
        "late": seconds > allowed(limit),
        "compilation": estimator.compile_seconds_,
        "search": estimator.search_seconds_,
        "status": estimator.status_,
        "splits": estimator.tree_.n_splits,
        "accuracy": float(np.mean(estimator.predict(X[-10_000:]) == y[-10_000:])),
        "MiB": peak_rss_mib() - before,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--seconds", nargs="+", type=float, default=[5.0, 1.0], help="the limits, 5 and 1 by default")
    parser.add_argument("--out", type=Path, help="a CSV file")
    parser.add_argument("--processor", action="store_true", help="count seconds of the processor")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        model, table, limit = options.one
        clock = time.process_time if options.processor else time.perf_counter
        print(json.dumps(measure(model, table, float(limit), clock)))
        return
    found = []
    for table in options.tables:
        for limit in options.seconds:
            for model in options.models:
                clock = ["--processor"] if options.processor else []
                row = measured_alone("--one", model, table, limit, *clock)
                found.append({"model": model, "table": table, "limit": limit, **row})
    frame = pd.DataFrame(found)
    if options.out:
        frame.to_csv(options.out, index=False)
    print(frame.round(3).to_markdown(index=False))


if __name__ == "__main__":
    with reporting(os.devnull):
        main()
