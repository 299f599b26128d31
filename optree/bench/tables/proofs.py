"""The table of proofs: each searched tree, its proof as a file, and the answer of the independent program."""

from __future__ import annotations

import pandas as pd

from optree.bench.runs.proof import CHECKED, OPTIMAL, REFUSED
from optree.bench.tables.formats import Table, as_text
from optree.bench.tables.summary import number, seconds

_SHOWN = {
    "dataset": "dataset",
    "encoding": "encoding",
    "algorithm": "algorithm",
    "regularization": "lambda",
    "max_depth": "max depth",
    "split": "rows",
    "status": "the search said",
    "proof_statement": "checked by an independent program",
    "proof_file": "proof",
    "proof_supports": "supports",
    "proof_bytes": "bytes",
    "proof_write_seconds": "seconds to write",
    "proof_check_seconds": "seconds to check",
}


def checked_proofs(runs: pd.DataFrame) -> str:
    """Return the number of checked proofs in words; an empty string if no proof was asked for."""
    asked = runs["proof_verdict"].dropna()
    if not len(asked):
        return ""
    checked, optimal, refused = (asked.isin(names).sum() for names in (CHECKED, [OPTIMAL], [REFUSED]))
    said = f"{checked:,} of {len(asked):,} proofs checked by an independent program, {optimal:,} of them of optima"
    return f"{said}; {refused:,} refused" if refused else said


def proofs(runs: pd.DataFrame) -> Table:
    """Return the table of all proofs that were asked for."""
    own = runs[runs["proof_verdict"].notna()]
    data = own[list(_SHOWN)].assign(verdict=own["proof_verdict"], sha256=own["proof_sha256"])
    forms = {name: number(0) for name in ("max_depth", "proof_supports", "proof_bytes")}
    forms |= {name: seconds for name in ("proof_write_seconds", "proof_check_seconds")}
    shown = as_text(own[list(_SHOWN)].assign(proof_file=own["proof_file"].fillna("")), forms).rename(columns=_SHOWN)
    if not shown["max depth"].any():
        shown = shown.drop(columns="max depth")
    versions = sorted(own["proof_verifier"].dropna().unique())
    notes = (
        "checked by an independent program: the line that the program prints about the proof and the training rows, or "
        "the reason why there is no proof. optimal = no tree over the candidate splits costs less; within x = none "
        "costs less by more than x, in weight of rows.",
        "proof: the file, beside the table of its training rows; optree-verify TABLE PROOF checks it again. "
        "docs/PROOFS.md says what has to be trusted.",
        *(f"Checked by {version}." for version in versions),
    )
    linked = {"proof": pd.Series("../proofs/{}", own.index)}
    return Table("Proofs", data, shown, notes, result=checked_proofs(runs), linked=linked)
