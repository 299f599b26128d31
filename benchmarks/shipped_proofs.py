"""The proofs of ``resources/proofs``: well-known optima of datasets that are generated, or that scikit-learn has.

python benchmarks/shipped_proofs.py            # writes all proofs and, beside them, their tables
optree-verify resources/proofs/iris.csv resources/proofs/iris.proof
"""

from __future__ import annotations

from pathlib import Path

from proofs import ROOT, Case, load

from optree import OptimalTreeClassifier
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
}


def write(name: str, folder: Path = FOLDER) -> Written:
    """Write the proof of a case, and its table."""
    case = CASES[name]
    X, y = load(case, None)
    named = "from_dtype" if case.form == "numbers" else list(X.columns)
    options = dict(max_depth=case.max_depth, one_vs_rest=False, categorical_features=named)
    model = OptimalTreeClassifier(case.regularization, **options).fit(X, y)
    return model.prove(X, y, folder / f"{name}.proof")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in CASES:
        written = write(name)
        print(f"{name}: {written.supports} supports, {written.size} bytes, {written.seconds:.1f} s", flush=True)
