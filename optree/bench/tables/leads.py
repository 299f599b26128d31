"""Where each algorithm leads and where it loses, problem by problem, from run records alone.

Algorithms are compared over the problems that they share, on the same kind of machine.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from optree.bench.tables.comparison import CERTIFIED, LEAST_SECONDS, PROBLEM, name_of, times
from optree.bench.tables.formats import Table, as_text
from optree.bench.tables.pairwise import CLEARLY, earlier
from optree.bench.tables.summary import limits_of, measured_on, number, seconds
from optree.words import count

# Runs that agree in these columns are compared. Encodings of one name may differ between configurations.
COMPARED = [*PROBLEM, "data_sha256", "encoding_parameters", "cpu", "cores"]
_ROUNDING = 1e-9  # of objectives
_TREE, _PROOF, _TIME = "a worse tree or none", "no proof", "a later proof"
_CAVEAT = (
    "A problem is a dataset, encoding, lambda, penalty, constraints, measure and fold. Only problems that at least two "
    "algorithms share are counted, and only runs on the same kind of machine (processor and number of cores) are "
    "compared. A ratio of seconds holds for that machine and for these limits; the records name both. Algorithms of a "
    "problem may have had different limits, and other work may have slowed the machine down."
)


def shared_problems(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of the problems that several algorithms share, each with the best of its problem.

    The columns ``best`` and ``first`` have the greatest objective, and the least seconds of a proof. ``best_by`` and
    ``first_by`` name the algorithms. ``next`` has the least seconds of a proof by another algorithm. ``lost`` is the
    reason why the run loses its problem, empty for a run that does not. Of several runs of an algorithm on a problem,
    the latest counts. Rashomon sets are left out, because their searches answer another question.
    """
    ran = runs[runs["status"].ne("skipped") & runs["set_bound"].isna()].sort_values("date", kind="stable")
    ran = ran.assign(problem_number=ran.groupby(COMPARED, dropna=False, sort=False).ngroup())
    ran = ran.drop_duplicates(["problem_number", "algorithm"], keep="last").sort_index()
    ran = ran[ran.groupby("problem_number")["algorithm"].transform("size").gt(1)]
    ran = ran.assign(proof_at=ran["search_seconds"].where(ran["status"].eq(CERTIFIED)).clip(lower=LEAST_SECONDS))
    problems = ran.groupby("problem_number")
    ran["best"], ran["first"] = problems["objective"].transform("max"), problems["proof_at"].transform("min")
    for name, value, best in (("best_by", "objective", "best"), ("first_by", "proof_at", "first")):
        leaders = ran[(ran[value] - ran[best]).abs() < _ROUNDING].groupby("problem_number")["algorithm"].agg(", ".join)
        ran[name] = [leaders.get(number, "") for number in ran["problem_number"]]
    ran["next"] = _least_of_others(ran)
    ran["lost"] = _lost(ran)
    return ran


def _least_of_others(ran: pd.DataFrame) -> pd.Series:
    """Return for each run the least seconds of a proof of its problem by another run; NaN without one."""
    order = ran.sort_values("proof_at", kind="stable")
    place = order.groupby("problem_number").cumcount()
    second = order[place.eq(1)].set_index("problem_number")["proof_at"]
    return ran["first"].where(place.reindex(ran.index).ne(0), ran["problem_number"].map(second))


def _lost(ran: pd.DataFrame) -> np.ndarray:
    """Return for each run of shared problems the reason why it loses, the gravest first; an empty text without one."""
    worse = ran["best"].notna() & ~(ran["objective"] > ran["best"] - _ROUNDING)
    proven, exact = ran["proof_at"].notna(), ran["exact"].astype(bool)
    unproven = exact & ~proven & ran["first"].notna()
    later = proven & earlier(ran["proof_at"], ran["first"]).eq(-1)
    return np.select([worse, unproven, later], [_TREE, _PROOF, _TIME], "")


def counts(shared: pd.DataFrame) -> Table:
    """Return a row per algorithm of :func:`shared_problems`: its problems, leads and losses."""
    proven, lead = shared["proof_at"].notna(), earlier(shared["proof_at"], shared["next"])
    columns = {
        "problems": pd.Series(True, shared.index),
        "best tree": shared["objective"] > shared["best"] - _ROUNDING,
        "proven": proven,
        "first proof": proven & (lead.eq(1) | shared["next"].isna()),
        "proof tied for first": proven & shared["next"].notna() & lead.eq(0),
        **{f"lost: {reason}": shared["lost"].eq(reason) for reason in (_TREE, _PROOF, _TIME)},
    }
    data = pd.DataFrame(columns).groupby(shared["algorithm"]).sum().reset_index()
    data = data.sort_values(["problems", "first proof"], ascending=False, kind="stable")
    notes = (
        "best tree = no algorithm has a better objective. An algorithm with other candidate splits, for example into "
        "several intervals, may have a better objective than an optimum. first proof = the only proof, or clearly the "
        f"earliest. Seconds that differ by less than {CLEARLY[0]:.0%} or {1000 * CLEARLY[1]:.0f} ms are tied. A "
        "heuristic can lose a problem by its tree alone.",
        _CAVEAT,
        *measured_on(shared),
    )
    return Table("Leads and losses of each algorithm", data, data.astype(str), notes)


def losses(shared: pd.DataFrame) -> Table:
    """Return a row per lost problem of :func:`shared_problems`: winner, objectives, and ratio of seconds."""
    own = shared[shared["lost"].ne("")]
    taken = own["search_seconds"].clip(lower=LEAST_SECONDS)
    data = own[["algorithm", *PROBLEM, "lost", "status", "objective", "best", "search_seconds", "first"]].assign(
        ratio=(taken / own["first"]).where(own["exact"].astype(bool))
    )
    winner = own["best_by"].where(own["lost"].eq(_TREE), own["first_by"])
    at_least = np.where(own["proof_at"].isna() & data["ratio"].notna(), "> ", "")
    shown = pd.DataFrame(
        {
            "problem": [name_of(problem) for problem in own.to_dict("records")],
            "algorithm": own["algorithm"],
            "lost by": own["lost"],
            "to": winner,
            "status": own["status"],
            "objective": own["objective"].map(number(5)),
            "best objective": own["best"].map(number(5)),
            "seconds": own["search_seconds"].map(seconds),
            "first proof, seconds": own["first"].map(seconds),
            "ratio": [f"{left}{times(value)}" for left, value in zip(at_least, data["ratio"], strict=True)],
            "limits": limits_of(own),
        }
    )
    order = data["ratio"].fillna(np.inf).sort_values(ascending=False, kind="stable").index
    notes = (
        "ratio = seconds of search of the algorithm / seconds of the first proof of the problem; > = a limit ended the "
        "search, so that the ratio is a lower bound. It is empty for a heuristic, and without a proof.",
    )
    told = f"{len(own):,} of {count(len(shared), 'run')} of shared problems lose their problem."
    return Table("Lost problems", data.loc[order], shown.loc[order].astype(str), notes, told)


def optima(runs: pd.DataFrame) -> Table:
    """Return a row per problem: the best known objective, its tree's size, and the algorithms that prove it."""
    problem, size = [*PROBLEM, "data_sha256", "encoding_parameters"], ["splits", "leaves", "depth"]
    facts = ["objective", "status", "search_seconds", "algorithm", "errors_train", "rows_train", *size]
    known, rows = runs.loc[runs["objective"].notna(), [*problem, *facts]], []
    for _, own in known.groupby(problem, dropna=False, sort=False):
        best = own.loc[own["objective"].idxmax()]
        proven = own[own["status"].eq(CERTIFIED)].sort_values("search_seconds", kind="stable")
        rows.append(
            {
                "problem": name_of(best),
                "best objective": best["objective"],
                **{name: best[name] for name in ("errors_train", "rows_train", *size)},
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
