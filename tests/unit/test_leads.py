"""An obvious count over the records finds the same problems that an algorithm leads and loses."""

from __future__ import annotations

from itertools import groupby

import numpy as np
import pandas as pd
from support.compared_records import RECORDS, record

from optree.bench.tables.frame import frame
from optree.bench.tables.leads import counts, losses, optima, shared_problems

EXACT, HEURISTIC = ("ours", "peer", "other"), "greedy"


def test_the_leads_and_losses_of_five_problems_are_counted_as_by_hand():
    """Of five problems, the peer skipped one; a tie is shorter than ten milliseconds."""
    shared = shared_problems(frame(RECORDS))
    table = counts(shared).data.set_index("algorithm")
    assert table.loc["ours"].tolist() == [4, 4, 4, 3, 0, 0, 0, 1]
    assert table.loc["peer"].tolist() == [4, 3, 3, 1, 0, 1, 0, 2]
    lost = losses(shared).shown.set_index("problem")
    assert lost.loc["c/onehot-drop-first/0.01", ["algorithm", "to", "ratio"]].tolist() == ["ours", "peer", "4"]
    assert lost.loc["a/onehot-drop-first/0.01", ["algorithm", "to", "ratio"]].tolist() == ["peer", "ours", "4"]
    assert lost.loc["d/onehot-drop-first/0.01", "ratio"] == "> 50"


def random_runs(random: np.random.RandomState, one: pd.DataFrame) -> pd.DataFrame:
    """Return runs of four algorithms on two problems and two machines, with ties, limits and runs done twice."""
    rows = []
    for _ in range(random.randint(0, 30)):
        name = random.choice([*EXACT, HEURISTIC])
        ends = ["heuristic", "skipped"] if name == HEURISTIC else ["optimal", "time_limit", "skipped"]
        seconds = float(random.choice([0.0, 0.005, 0.1, 0.105, 1.0, 9.0]))
        rows.append((str(random.choice(["a", "b"])), name, seconds, str(random.choice(ends)), random.randint(3) / 4))
    runs = one.iloc[[0] * len(rows)].reset_index(drop=True)
    for place, column in enumerate(["dataset", "algorithm", "search_seconds", "status", "objective"]):
        runs[column] = pd.Series([row[place] for row in rows], dtype=runs[column].dtype)
    runs["exact"] = runs["algorithm"].ne(HEURISTIC)
    runs["date"] = [f"2031-01-{day:02}" for day in random.permutation(len(runs))]
    return runs.assign(cores=random.randint(1, 3, len(runs)))


def naive(runs: pd.DataFrame) -> dict[str, list[int]]:
    """Return the counts of each algorithm by loops: problems, best trees, proofs, first and tied proofs, losses."""
    latest = {}
    for run in sorted(runs.to_dict("records"), key=lambda run: run["date"]):
        if run["status"] != "skipped":
            latest[run["dataset"], run["cores"], run["algorithm"]] = run
    found: dict[str, list[int]] = {}
    for _, keys in groupby(sorted(latest), key=lambda key: key[:2]):
        own = [latest[key] for key in keys]
        best = max(run["objective"] for run in own)
        proofs = {run["algorithm"]: max(1e-6, run["search_seconds"]) for run in own if run["status"] == "optimal"}

        def later(one: float, other: float) -> bool:
            return one - other > max(0.01, 0.1 * one)

        for run in own if len(own) > 1 else ():
            name, taken = run["algorithm"], proofs.get(run["algorithm"])
            others = [value for other, value in proofs.items() if other != name]
            is_worse, is_behind = (
                run["objective"] < best,
                bool(others) and taken is not None and later(taken, min(others)),
            )
            is_first = taken is not None and all(later(value, taken) for value in others)
            is_unproven = taken is None and bool(others) and run["exact"]
            facts = [True, not is_worse, taken is not None, is_first, taken is not None and not (is_first or is_behind)]
            facts += [is_worse, not is_worse and is_unproven, not is_worse and is_behind]
            found[name] = [sum(pair) for pair in zip(found.get(name, [0] * len(facts)), facts, strict=True)]
    return found


def test_random_records_are_counted_as_by_loops():
    random, one, seen = np.random.RandomState(0), frame([record("a", "ours", 1.0)]), np.zeros(8, int)
    for _ in range(12):
        runs = random_runs(random, one)
        table, expected = counts(shared_problems(runs)).data.set_index("algorithm"), naive(runs)
        assert {name: row.tolist() for name, row in table.iterrows()} == expected
        seen += np.sum([*expected.values()], axis=0, dtype=int) if expected else 0
    assert seen.all()


def test_a_search_of_a_rashomon_set_and_other_rows_are_no_rivals():
    runs = frame(RECORDS)
    assert not len(
        shared_problems(runs.assign(set_bound=runs["algorithm"].eq("ours").map({True: "adder 1", False: None})))
    )
    assert not len(shared_problems(runs.assign(data_sha256=runs["algorithm"])))


def test_the_best_known_tree_of_a_problem_names_the_proofs_the_first_one_first():
    table = optima(frame(RECORDS)).shown.set_index("problem")
    assert table["proven by"].tolist() == ["ours, peer", "ours, peer", "peer, ours", "ours", "ours"]
    assert table.loc["c/onehot-drop-first/0.01", "first proof, seconds"] == "0.500"
    assert not len(optima(frame([])).shown)
