"""The proofs that ship: the program accepts each of them, for tables that the package generates or has in a mirror."""

from __future__ import annotations

import optree_verify
import pytest
import shipped_proofs
from shipped_proofs import CASES, FOLDER
from support.modes import thorough

from optree.proofs.files import write_table

MARKS = dict.fromkeys(["tic-tac-toe", "balance-scale", "iris", "car"], pytest.mark.slow) | {
    "diabetes-depth-4": thorough
}


def test_all_cases_have_a_small_proof():
    files = {path.stem: path.stat().st_size for path in FOLDER.glob("*.proof")}
    assert files.keys() == CASES.keys()
    assert sum(files.values()) < 200_000


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS.get(name, ())) for name in CASES])
def test_a_proof_that_ships_is_accepted(name, request, tmp_path, capsys):
    mirror = None if shipped_proofs.is_embedded(name) else request.getfixturevalue("mirror_dir")
    X, y = shipped_proofs.load(CASES[name], mirror)
    columns = {column: [str(float(v)) if CASES[name].form == "numbers" else v for v in X[column]] for column in X}
    write_table(tmp_path / "data.csv", columns | {"class": list(map(str, y))})
    assert optree_verify.main([str(tmp_path / "data.csv"), str(FOLDER / f"{name}.proof")]) == 0
    line = capsys.readouterr().out.strip()
    assert line.startswith("optimal: cost ")
    assert f"    {name}: {line}\n" in (FOLDER / "README.md").read_text()


def test_the_tables_of_the_proofs_do_not_ship():
    assert not list(FOLDER.glob("*.csv")) or (FOLDER / ".gitignore").exists()
