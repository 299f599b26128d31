"""The proofs that ship: the program accepts each of them, for the tables that the package generates."""

from __future__ import annotations

import optree_verify
import pytest
import shipped_proofs
from shipped_proofs import CASES, FOLDER

from optree.datasets import read_table
from optree.proofs.files import write_table

SLOW = ["tic-tac-toe", "balance-scale", "iris"]


def test_all_cases_have_a_small_proof():
    files = {path.stem: path.stat().st_size for path in FOLDER.glob("*.proof")}
    assert files.keys() == CASES.keys()
    assert sum(files.values()) < 200_000


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in CASES])
def test_a_proof_that_ships_is_accepted(name, tmp_path, capsys):
    X, y = shipped_proofs.load(CASES[name], None)
    columns = {column: [str(float(v)) if CASES[name].form == "numbers" else v for v in X[column]] for column in X}
    write_table(tmp_path / "data.csv", columns | {"class": list(map(str, y))})
    assert optree_verify.main([str(tmp_path / "data.csv"), str(FOLDER / f"{name}.proof")]) == 0
    assert capsys.readouterr().out.startswith("optimal: cost ")


def test_the_tables_of_the_proofs_ship_no_foreign_data():
    table = read_table(shipped_proofs.ROOT / "config" / "datasets.csv")
    assert {table[case.dataset].source for case in CASES.values()} == {"builtin"}
    assert not list(FOLDER.glob("*.csv")) or (FOLDER / ".gitignore").exists()
