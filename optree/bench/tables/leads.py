"""Where each algorithm leads and where it loses, cell by cell, from run records alone.

A *cell* is a problem on one kind of machine. Algorithms are compared over the cells that they share.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from optree.bench.tables.comparison import CERTIFIED, PROBLEM, name_of, times
from optree.bench.tables.formats import Table, as_text
from optree.bench.tables.pairwise import CLEARLY, earlier
from optree.bench.tables.summary import limits_text, measured_on, number, seconds

# Runs that agree in these columns are runs on the same cell. An encoding may differ between configurations.
CELL = [*PROBLEM, "data_sha256", "encoding_parameters", "cpu", "cores"]
_LEAST_SECONDS = 1e-6  # the resolution of the clock, in place of zero seconds
_TREE, _PROOF, _TIME = "a worse tree", "no proof", "a later proof"
_CAVEAT = (
    "A cell is a problem (dataset, encoding, lambda, penalty, constraints, measure and fold) on one kind of machine "
    "(processor and number of cores). Only cells that at least two algorithms share are counted. A ratio of seconds "
    "holds for that machine and for these limits; the records name both. Algorithms of one cell may have had different "
    "limits, and other work may have slowed the machine down."
)


def shared_cells(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the cells that several algorithms share, each with the best of its cell.

    The columns ``best`` and ``first`` have the greatest objective, and the least seconds of a proof. ``best_by`` and
    ``first_by`` name the algorithms. ``next`` has the least seconds of a proof by another algorithm. ``lost`` is the
    reason why the run loses its cell, empty for a run that does not. Of several runs of an algorithm on a cell, the
    latest counts. Rashomon sets are left out, because their searches answer another question.
    """
    ran = runs[runs["status"].ne("skipped") & runs["set_bound"].isna()].sort_values("date", kind="stable")
    ran = ran.drop_duplicates([*CELL, "algorithm"], keep="last").sort_index()
    cells = ran.groupby(CELL, dropna=False, sort=False)
    ran = ran[cells["algorithm"].transform("size") > 1].copy()
    ran["proof_at"] = ran["search_seconds"].where(ran["status"].eq(CERTIFIED)).clip(lower=_LEAST_SECONDS)
    ran["cell_number"] = ran.groupby(CELL, dropna=False, sort=False).ngroup()
    cells = ran.groupby("cell_number")
    ran["best"], ran["first"] = cells["objective"].transform("max"), cells["proof_at"].transform("min")
    for name, value, best in (("best_by", "objective", "best"), ("first_by", "proof_at", "first")):
        leaders = ran[(ran[value] - ran[best]).abs() < 1e-9].groupby("cell_number")["algorithm"].agg(", ".join)
        ran[name] = ran["cell_number"].map(leaders).fillna("")
    ran["next"] = _least_of_others(ran)
    ran["lost"] = _lost(ran)
    return ran


def _least_of_others(ran: pd.DataFrame) -> pd.Series:
    """Return for each run the least seconds of a proof of its cell by another run; NaN without one."""
    found = pd.Series(np.nan, ran.index)
    for _, own in ran.groupby("cell_number")["proof_at"]:
        found[own.index] = [own.drop(place).min() for place in own.index]
    return found


def _lost(ran: pd.DataFrame) -> np.ndarray:
    """Return for each run of shared cells the reason why it loses, the gravest first; an empty text without one."""
    worse = ran["best"].notna() & ~(ran["objective"] > ran["best"] - 1e-9)
    proven, exact = ran["proof_at"].notna(), ran["exact"].astype(bool)
    unproven = exact & ~proven & ran["first"].notna()
    later = proven & earlier(ran["proof_at"], ran["first"]).eq(-1)
    return np.select([worse, unproven, later], [_TREE, _PROOF, _TIME], "")


def counts(shared: pd.DataFrame) -> Table:
    """Return a row per algorithm of :func:`shared_cells`: its cells, leads and losses."""
    proven, lead = shared["proof_at"].notna(), earlier(shared["proof_at"], shared["next"])
    columns = {
        "cells": pd.Series(True, shared.index),
        "best tree": shared["objective"] > shared["best"] - 1e-9,
        "proven": proven,
        "first proof": proven & (lead.eq(1) | shared["next"].isna()),
        "proof tied for first": proven & shared["next"].notna() & lead.eq(0),
        **{f"lost: {reason}": shared["lost"].eq(reason) for reason in (_TREE, _PROOF, _TIME)},
    }
    data = pd.DataFrame(columns).groupby(shared["algorithm"]).sum().reset_index()
    data = data.sort_values(["cells", "first proof"], ascending=False, kind="stable")
    notes = (
        "best tree = no algorithm of the cell has a better objective. first proof = the only proof, or clearly the "
        f"earliest. Seconds that differ by less than {CLEARLY[0]:.0%} or {1000 * CLEARLY[1]:.0f} ms are tied. A "
        "heuristic can lose a cell by its tree alone.",
        _CAVEAT,
        *measured_on(shared),
    )
    return Table("Where each algorithm leads and loses", data, data.astype(str), notes)


def losses(shared: pd.DataFrame) -> Table:
    """Return a row per lost cell of :func:`shared_cells`: the winner, both objectives, and the ratio of seconds."""
    own = shared[shared["lost"].ne("")]
    taken = own["search_seconds"].clip(lower=_LEAST_SECONDS)
    data = own[["algorithm", *PROBLEM, "lost", "status", "objective", "best", "search_seconds", "first"]].assign(
        ratio=(taken / own["first"]).where(own["exact"].astype(bool))
    )
    winner = own["best_by"].where(own["lost"].eq(_TREE), own["first_by"])
    at_least = np.where(own["proof_at"].isna() & data["ratio"].notna(), "> ", "")
    shown = pd.DataFrame(
        {
            "cell": [name_of(problem) for problem in own.to_dict("records")],
            "algorithm": own["algorithm"],
            "lost by": own["lost"],
            "to": winner,
            "status": own["status"],
            "objective": own["objective"].map(number(5)),
            "best objective": own["best"].map(number(5)),
            "seconds": own["search_seconds"].map(seconds),
            "first proof, seconds": own["first"].map(seconds),
            "ratio": [f"{left}{times(value)}" for left, value in zip(at_least, data["ratio"], strict=True)],
            "limits": [limits_text(own.loc[[place]]) for place in own.index],
        }
    )
    order = data["ratio"].fillna(np.inf).sort_values(ascending=False, kind="stable").index
    notes = (
        "ratio = seconds of search of the algorithm / seconds of the first proof of the cell; > = a limit ended the "
        "search, so that the ratio is a lower bound. It is empty for a heuristic, and without a proof.",
    )
    return Table("Lost cells", data.loc[order], shown.loc[order].astype(str), notes)


def optima(runs: pd.DataFrame) -> Table:
    """Return a row per problem: the best known objective, its tree's size, and the algorithms that prove it."""
    known = runs[runs["objective"].notna() & runs["set_bound"].isna()]
    rows = []
    for _, own in known.groupby([*PROBLEM, "data_sha256", "encoding_parameters"], dropna=False, sort=False):
        best = own.loc[own["objective"].idxmax()]
        proven = own[own["status"].eq(CERTIFIED)].sort_values("search_seconds", kind="stable")
        rows.append(
            {
                "problem": name_of(best),
                "best objective": best["objective"],
                **{name: best[name] for name in ("errors_train", "rows_train", "splits", "leaves", "depth")},
                "proven by": ", ".join(dict.fromkeys(proven["algorithm"])),
                "first proof, seconds": proven["search_seconds"].min(),
                "runs": len(own),
            }
        )
    columns = ["problem", "best objective", "proven by", "first proof, seconds", "runs"]
    data = pd.DataFrame(rows, columns=None if rows else columns)
    forms = {"best objective": number(5), "first proof, seconds": seconds}
    shown = as_text(data, forms).rename(columns={"errors_train": "errors", "rows_train": "of rows"})
    notes = (
        "best objective = the greatest of all runs of the problem; optimal if an algorithm proves it. The algorithms "
        "that prove it are sorted by their seconds.",
    )
    return Table("Best known trees", data, shown, notes)
