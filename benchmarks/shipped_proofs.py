"""Write the proofs of ``resources/proofs``: well-known optima.

    python benchmarks/shipped_proofs.py [--mirror DIR]    # writes proofs and, beside them, their tables
    optree-verify resources/proofs/iris.csv resources/proofs/iris.proof

DIR is a directory of raw data files, as for the workflow (``data_mirror``). Without it, only the proofs of datasets are
written that are generated, or that scikit-learn has.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from proofs import ROOT, Case, load

from optree import OptimalTreeClassifier
from optree.datasets import read_table
from optree.proofs.files import Written

FOLDER = ROOT / "resources" / "proofs"
CASES = {
    "tic-tac-toe": Case("tic-tac-toe", "first", "0.005"),
    "tic-tac-toe-multiway": Case("tic-tac-toe", "values", "0.005"),
    "tic-tac-toe-depth-3": Case("tic-tac-toe", "first", "0", 3),
    "balance-scale": Case("balance-scale", "first", "0.01"),
    "balance-scale-multiway": Case("balance-scale", "values", "0.01"),
    "balance-scale-depth-3": Case("balance-scale-numbers", "numbers", "0", 3),
    "monks-1": Case("monks-1", "first", "0.001"),
    "monks-1-multiway": Case("monks-1", "values", "0.001"),
    "monks-2-multiway": Case("monks-2", "values", "0.001"),
    "monks-3": Case("monks-3", "first", "0.001"),
    "iris": Case("iris", "numbers", "0.01", 3),
    "wine": Case("wine", "numbers", "0.01", 2),
    "wine-depth-3": Case("wine", "numbers", "0.01", 3),
    "car": Case("car", "first", "0.005"),
    "car-multiway": Case("car", "values", "0.005"),
    "nursery-multiway": Case("nursery", "values", "0.01"),
    "zoo": Case("zoo", "first", "0.001"),
    "zoo-multiway": Case("zoo", "values", "0.001"),
    "anneal-depth-4": Case("cp4im-anneal", "values", "0", 4),
    "diabetes-depth-4": Case("cp4im-diabetes", "values", "0", 4),
}


def is_embedded(name: str) -> bool:
    """Return whether the dataset of a case needs no mirror."""
    return read_table(ROOT / "config" / "datasets.csv")[CASES[name].dataset].source == "builtin"


def write(name: str, mirror: Path | None, folder: Path = FOLDER) -> Written:
    """Write the proof of a case, and its table."""
    case = CASES[name]
    X, y = load(case, mirror)
    named = "from_dtype" if case.form == "numbers" else list(X.columns)
    options = dict(max_depth=case.max_depth, one_vs_rest=False, categorical_features=named)
    model = OptimalTreeClassifier(case.regularization, **options).fit(X, y)
    return model.prove(X, y, folder / f"{name}.proof")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mirror", type=Path, metavar="DIR", help="raw data files")
    mirror = parser.parse_args().mirror
    for name in CASES if mirror else filter(is_embedded, CASES):
        written = write(name, mirror)
        print(f"{name}: {written.supports} supports, {written.size} bytes, {written.seconds:.1f} s", flush=True)
