"""Seconds of compilation and memory of the first fit, of several versions of the package in turns.

    git worktree add before f98be24
    python benchmarks/first_fit.py --packages before . --repeats 2

Each fit is a process of its own on breast cancer, with an empty cache of machine code. Seconds are processor time of
all compilations, as numba's events tell. MiB is the peak of the process. The repeat of least seconds is printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FITS = {
    "default": "OptimalTreeClassifier(time_limit=10)",
    "coded features": "OptimalTreeClassifier(max_thresholds=4, time_limit=10)",
    "depth 3": "OptimalTreeClassifier(max_depth=3, max_thresholds=5)",
    "limit on splits": "OptimalTreeClassifier(max_splits=3, max_thresholds=4, time_limit=10)",
    "all thresholds": "OptimalTreeClassifier(max_depth=3, time_limit=10)",
    "DPDT": "DPDTreeClassifier()",
    "split": "SPLITClassifier(max_depth=3, max_thresholds=10)",
    "licketysplit": "LicketySPLITClassifier(max_depth=4)",
    "branches": "BranchesClassifier(regularization=.05, time_limit=10)",
    "gosdt": "GOSDTClassifier(max_thresholds=2, regularization=.05, time_limit=10)",
    "dl85": "DL85Classifier(max_depth=2, max_thresholds=5)",
}
CHILD = """
import resource, sys, time, warnings
from numba.core.event import Listener, register
warnings.simplefilter("ignore")

class Compilations(Listener):
    nested, functions, seconds = 0, 0, 0.0

    def on_start(self, event):
        if not self.nested:
            self.since = time.process_time()
        self.nested, self.functions = self.nested + 1, self.functions + 1

    def on_end(self, event):
        self.nested -= 1
        if not self.nested:
            self.seconds += time.process_time() - self.since

compilations = Compilations()
register("numba:compile", compilations)
import optree
from sklearn.datasets import load_breast_cancer
eval("optree." + sys.argv[1]).fit(*load_breast_cancer(return_X_y=True))
print(compilations.seconds, compilations.functions, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def first_fit(package: Path, model: str) -> list[float]:
    """Return the seconds, the number of compiled functions and the peak MiB of a fit in a process of its own."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"PYTHONPATH": str(package.resolve()), "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-P", "-c", CHILD, model]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(number) for number in done.stdout.split()]


def main() -> None:
    """Print a table with the figures of each package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=Path, nargs="+", default=[Path()], help="folders that hold a package optree")
    parser.add_argument("--fits", nargs="+", default=list(FITS), choices=list(FITS), metavar="FIT")
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    names = [f"{package}: {text}" for package in args.packages for text in ("s", "functions", "MiB")]
    print("|", " | ".join(["first fit", *names]), "|\n| :-- |" + " --: |" * len(names), flush=True)
    for name in args.fits:
        found = [[] for _ in args.packages]
        for _ in range(args.repeats):
            for package, repeats in zip(args.packages, found, strict=True):
                repeats.append(first_fit(package, FITS[name]))
        cells = [f"{seconds:.1f} | {functions:.0f} | {mib:.0f}" for seconds, functions, mib in map(min, found)]
        print("|", " | ".join([name, *cells]), "|", flush=True)


if __name__ == "__main__":
    main()
