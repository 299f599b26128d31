"""Ablation: the reference against the same solver with other parameters."""

from __future__ import annotations

import pandas as pd

from optree.bench.tables.comparison import CERTIFIED, both_certify, geometric_mean, name_of, pairs
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import number, provenance, seconds


def variants(runs: pd.DataFrame, reference: str) -> list[str]:
    """Return the names of the other algorithms that use the reference's solver."""
    solver = set(runs.loc[runs["algorithm"].eq(reference), "solver"])
    return sorted(set(runs.loc[runs["solver"].isin(solver), "algorithm"]) - {reference})


def _text(row: pd.Series | None) -> str:
    """Return the ratios of seconds and visits as text; without a proof, a lower bound on the ratio of seconds."""
    if row is None:
        return ""
    ratio = f"{row['seconds_ratio']:.2f}"
    return f"{ratio} / {row['iterations_ratio']:.2f}" if row["status"] == CERTIFIED else f"> {ratio}"


def ablation(runs: pd.DataFrame, reference: str) -> Table:
    """Return a row per problem that the reference certifies: its seconds and visits, and the ratios of each variant.

    The reference has all techniques on; its variants are the other algorithms with the same solver.
    """
    own = pairs(runs, reference, reference)
    own = own[own["status"].eq(CERTIFIED)].sort_values(["dataset", "encoding", "lambda"], ascending=[True, True, False])
    names = own.apply(name_of, axis=1) if len(own) else pd.Series(dtype=str)
    data = pd.DataFrame({"problem": names, "seconds": own["search_seconds"], "visits": own["iterations"]})
    shown = pd.DataFrame(
        {"problem": names, "s": own["search_seconds"].map(seconds), "visits": own["iterations"].map(number(0))}
    )
    means = {"problem": "geometric mean", "s": "", "visits": ""}
    open_ = {"problem": "not certified", "s": "", "visits": ""}
    for variant in variants(runs, reference):
        both = pairs(runs, reference, variant)
        both["seconds_ratio"] = both["search_seconds"] / both["search_seconds_reference"]
        both["iterations_ratio"] = both["iterations"] / both["iterations_reference"]
        by_name = {name_of(row): row for _, row in both.iterrows()}
        certified = both_certify(both)
        for fact in ("status", "seconds_ratio", "iterations_ratio"):
            data[f"{variant} {fact}"] = [by_name[n][fact] if n in by_name else None for n in names]
        shown[variant] = [_text(by_name.get(name)) for name in names]
        ratios = [geometric_mean(certified[f"{fact}_ratio"]) for fact in ("seconds", "iterations")]
        means[variant] = f"{ratios[0]:.2f} / {ratios[1]:.2f}" if len(certified) else ""
        open_[variant] = str(int((both["status_reference"].eq(CERTIFIED) & both["status"].ne(CERTIFIED)).sum()))
    shown = pd.concat([shown, pd.DataFrame([means, open_])], ignore_index=True)
    notes = (
        f"s, visits = seconds and visits (iterations) of {reference}, which has all techniques on. The other columns "
        "are ratios of seconds / visits of the same solver with other parameters: above 1, the missing technique "
        "helps.",
        "> = ended by a limit: a lower bound on the ratio. The geometric mean omits these problems; the last row "
        "counts them.",
        *provenance(runs),
    )
    return Table(f"Ablation of {reference}", data, shown, notes)
