"""Claims about seconds: GOSDT against OSDT (Appendix I), and slowdown with more binary columns (Figure 6)."""

from __future__ import annotations

import pandas as pd

from optree.bench.papers.claims import declare
from optree.bench.papers.gosdt.figures import of_cuts
from optree.bench.papers.spec import Results
from optree.bench.papers.verdicts import MISSING, reproduced
from optree.bench.runs.folds import FULL
from optree.bench.tables.comparison import CERTIFIED, geometric_mean
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import provenance, seconds

OURS, OLD, OTHERS = ("gosdt-cpp", "gosdt"), "osdt", ("osdt", "dl85", "binoct")
_PROBLEM = ["dataset", "encoding", "regularization", "penalty"]
_FACTOR = 100  # "Several orders of magnitude" is two or more.
_FEW = 5  # Fewer problems decide nothing.
TOLERANCES = {"faster": f"at least {_FACTOR} times", "slowdown": "less"}


def times(results: Results) -> Table:
    """Return seconds of GOSDT and OSDT for each problem, and the claims about seconds."""
    runs = results.searches
    same = runs["algorithm"].isin((*OURS, OLD)) & runs["split"].eq(FULL) & runs["measure"].eq("accuracy")
    same &= runs["max_depth"].isna() & runs["search_seconds"].notna()
    found = runs[same & runs["status"].isin((CERTIFIED, "time_limit", "memory_limit"))]
    ended = found["status"].eq(CERTIFIED)
    wide = found.pivot_table("search_seconds", _PROBLEM, "algorithm", "first")
    proven = found.assign(ended=ended).pivot_table("ended", _PROBLEM, "algorithm", "first")
    shown = wide.index.to_frame(index=False).rename(columns={"regularization": "lambda"})
    for name in wide:
        shown[f"{name}, s"] = [
            "" if pd.isna(value) else ("" if done else "> ") + seconds(value)
            for value, done in zip(wide[name], proven[name], strict=True)
        ]
    claims = [_faster(name, wide, proven) for name in OURS if {name, OLD} <= set(wide)]
    claims += _slowdowns(of_cuts(runs))
    notes = (
        "Seconds of search; > = a limit ended it. The ratios of OSDT's seconds are lower bounds where a limit ended "
        "OSDT; problems that GOSDT does not prove are left out.",
        *provenance(found),
    )
    verdicts = pd.Series([claim["verdict"] for claim in claims], dtype=object).value_counts()
    result = "; ".join(f"{count} {verdict}" for verdict, count in verdicts.items()) or "Nothing has been run."
    title = "GOSDT, Appendix I and Figure 6: seconds to the proof"
    return Table(title, shown.astype(str), shown.astype(str), notes, result, pd.DataFrame(claims))


def _faster(name: str, wide: pd.DataFrame, proven: pd.DataFrame) -> dict:
    """Return the claim that GOSDT is faster than OSDT by orders of magnitude."""
    both = wide[[name, OLD]].notna().all(axis=1)
    decided = both & proven[name].eq(True)
    ratios = (wide[OLD] / wide[name])[decided]
    limited = int((~proven[OLD][decided].astype(bool)).sum())
    claim, paper = f"{name}: faster than OSDT", "several orders of magnitude (section 5)"
    if len(ratios) < _FEW:
        return declare(claim, paper, "", TOLERANCES["faster"], MISSING, f"too few problems: {len(ratios)}")
    mean = geometric_mean(ratios)
    text = f"{mean:.3g} times over {len(ratios)} problems; OSDT reached a limit on {limited}"
    if mean >= _FACTOR:
        return declare(claim, paper, text, TOLERANCES["faster"], "reproduced")
    verdict = "undecided" if limited else "not reproduced"
    why = "limits ended OSDT, so that its seconds are lower bounds" if limited else ""
    return declare(claim, paper, text, TOLERANCES["faster"], verdict, why)


def _slowdowns(rows: pd.DataFrame) -> list[dict]:
    """Return the claims that GOSDT slows down less than other exact algorithms as binary columns are added.

    An algorithm's slowdown is its seconds on the most columns over its least seconds.
    """
    claims = []
    for dataset, group in rows.groupby("dataset"):
        last = group[group["encoded_features"].eq(group["encoded_features"].max())].set_index("algorithm")
        if "gosdt" not in last.index or group["encoded_features"].nunique() < 2 or not last.loc["gosdt", "ended"]:
            continue
        ours = last.loc["gosdt", "times"]
        for name in OTHERS:
            if name not in last.index:
                continue
            theirs, ended = last.loc[name, "times"], last.loc[name, "ended"]
            text = f"{ours:.3g}, and {'' if ended else '> '}{theirs:.3g}"
            why = "a limit ended the other algorithm" if not ended and theirs <= ours else ""
            if ended and last.loc[name, "iterations"] <= 1:  # as of a program whose start has no errors
                why = "the other algorithm proves its start without a search"
            verdict = "undecided" if why else reproduced(ours < theirs)
            columns = int(last["encoded_features"].max())
            claims.append(
                declare(f"{dataset}, {columns} columns: gosdt slows down less than {name}", "typically (Figure 6)",
                        text, TOLERANCES["slowdown"], verdict, why)
            )  # fmt: skip
    return claims
