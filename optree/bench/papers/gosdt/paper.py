"""GOSDT, ICML 2020: objectives on the four-class data, bucketization, accuracy against leaves, times.

The paper prints figures only. Printed numbers are from Table 2 of BRANCHES, which has columns for OSDT, PyGOSDT and
GOSDT (``resources/papers/gosdt``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from optree.bench.papers import verdicts
from optree.bench.papers.claims import DIGITS, declare, judged
from optree.bench.papers.gosdt import figures
from optree.bench.papers.gosdt.times import TOLERANCES, times
from optree.bench.papers.printed import claim, fitting
from optree.bench.papers.spec import Paper, Results
from optree.bench.runs.folds import FULL
from optree.bench.tables.formats import Table, as_text
from optree.bench.tables.summary import number, provenance
from optree.measure import Measure
from optree.tree import Tree

_BEST = "best by its own measure"
_NOT_ABOVE = "objective, not above the optimum"
_SAME = "the same optimum"
_TOLERANCES = {
    "ends in time": f"{verdicts.LIMIT_SECONDS} s",
    "iterations": "no more",
    _BEST: "none: exact",
    _NOT_ABOVE: "none: exact",
    _SAME: "none: exact",
}
_OF_THEOREM = {"binoct": "BinOCT", "dl85": "DL8.5", "gosdt": "GOSDT"}
_ROUNDING = 1e-9  # Tolerance for floats of exact fractions.


def _judge(row: dict, name: str, run: pd.Series | None) -> Iterator[tuple[str, str, verdicts.Finding]]:
    """Yield claim, printed value and finding for each printed number of an algorithm in Table 2."""
    objective, time = row[f"{name}_objective"], row[f"{name}_time_s"]
    if run is None:
        yield "objective", objective, verdicts.NOT_RUN
        return
    yield "objective", objective, verdicts.judge_objective(objective, time != verdicts.TIMEOUT, run)
    if time:
        yield "ends in time", time, verdicts.judge_time(time, run)
    if printed := row[f"{name}_iterations"]:
        finding = verdicts.judge_iterations(printed, run)
        if finding.verdict == "not reproduced":
            text = "our iteration is one item of the queue, or one open leaf decided; the programs count differently"
            finding = finding._replace(verdict="counted differently", explanation=text)
        yield "iterations", printed, finding


def _judge_optimum(row: dict, name: str, run: pd.Series | None) -> Iterator[tuple[str, str, verdicts.Finding]]:
    """Yield the claim that the objective of an algorithm without runs is not above the optimum.

    If the printed search ended, its objective has to be the optimum.
    """
    printed, ended = row[f"{name}_objective"], row[f"{name}_time_s"] != verdicts.TIMEOUT
    if run is None or pd.isna(run["cost"]):
        yield _NOT_ABOVE, printed, verdicts.NOT_RUN
        return
    finding = verdicts.judge_peer(printed, run)
    if ended and finding.verdict == "consistent with the optimum":
        fits = verdicts.agreement(printed, verdicts.objective_value(run))
        why = "" if fits else "printed for a search that ended, but below the optimum"
        finding = finding._replace(verdict=finding.verdict if fits else "not reproduced", explanation=why)
    yield _NOT_ABOVE, printed, finding


def table_2(results: Results) -> Table:
    """Return the claims of OSDT's, PyGOSDT's and GOSDT's columns in Table 2 of BRANCHES.

    PyGOSDT is not run, because our ``pygosdt`` takes only measures that are not sums over leaves. Its objectives are
    compared with the optimum, which ``gosdt`` proves.
    """
    runs, claims = results.searches, []
    for name, ours in (("osdt", "osdt"), ("pygosdt", "gosdt"), ("gosdt", "gosdt")):
        same = runs["algorithm"].eq(ours) & runs["penalty"].eq("split") & runs["measure"].eq("accuracy")
        same = runs[same & runs["split"].eq(FULL) & runs["max_depth"].isna()]
        for row in results.printed("branches_table_2.csv"):
            if not (objective := row[f"{name}_objective"]):
                continue
            for encoding, run in fitting(row, same, row["gosdt_objective"] if name != ours else objective).items():
                head = {"row": row["row"], "algorithm": name, "lambda": row["lambda"], "encoding": encoding}
                numbers = _judge(row, name, run) if name == ours else _judge_optimum(row, name, run)
                claims += [claim(head, *number) for number in numbers]
    title = "GOSDT, PyGOSDT and OSDT in Table 2 of BRANCHES (arXiv 2406.02175)"
    subject = ["row", "algorithm", "lambda", "encoding"]
    return judged(title, subject, claims, _TOLERANCES, provenance(runs))


def objectives(results: Results) -> Table:
    """Return the trees of Figures 2 and 3, with the claim that each is best by its own measure."""
    rows = []
    for run in figures.four_class(results.searches):
        tree = Tree.from_dict(run["tree"])
        leaves = [tuple(count) for count in tree.counts[tree.feature < 0].tolist() if any(count)]
        rate = figures.rates(tree)
        rows.append(
            {
                **run[["measure", "algorithm", "status", "leaves"]],
                "loss": run["loss_train"],
                "loss_and_penalty": 1 - run["objective"],
                "accuracy": run["accuracy_train"],
                "f1": 1 - float(Measure.of("f1").of_leaves(leaves)),
                "auc": 1 - float(Measure.of("auc").of_leaves(leaves)),
                "false_positive_rate": rate[0],
                "true_positive_rate": rate[1],
                "seconds": run["search_seconds"],
                "doubt": verdicts.doubt_of_optimum(run),
            }
        )
    data = pd.DataFrame(rows).drop(columns="doubt", errors="ignore")
    shown = as_text(data, dict.fromkeys(data.select_dtypes("float"), number(5)))
    notes = (
        "loss = by the row's own measure. f1 = F1 of the row's tree with the best labels; auc = AUC of the order of "
        "its leaves; rates = rates of its predictions. All numbers are on the training rows.",
        *provenance(results.searches),
    )
    title = "GOSDT, Figures 2 and 3: objectives on the four-class data"
    return Table(title, data, shown, notes, claims=_best_by_their_own(rows))


def _best_by_their_own(rows: list[dict]) -> pd.DataFrame:
    """Return a claim per measure: no other row's tree has a better measure minus penalty."""
    claims = []
    for own in rows:
        measure = own["measure"]
        if measure in ("accuracy", "f1", "auc"):
            penalty = (own["loss_and_penalty"] - own["loss"]) / own["leaves"]
            value = {row["measure"]: row[measure] - penalty * row["leaves"] for row in rows}
            best = max(value, key=value.get)
            verdict = verdicts.reproduced(value[measure] >= value[best] - _ROUNDING)
            verdict = verdict if own["status"] == "optimal" and not own["doubt"] else "undecided"
            text = f"{value[measure]:.5f}; the best of {len(rows)} trees, {value[best]:.5f}, is the tree for {best}"
            name = f"the tree for {measure} is the best by {measure} - lambda * leaves"
            claims.append(declare(name, "by construction (Figures 2, 3)", text, _TOLERANCES[_BEST], verdict))
    return pd.DataFrame(claims)


def _same_optimum(runs: pd.DataFrame, proven: pd.DataFrame) -> Iterator[dict]:
    """Yield the claim that the paper's three algorithms find one optimum, for each dataset on which all were run."""
    for dataset, group in runs.groupby("dataset"):
        if not set(_OF_THEOREM) <= set(group["algorithm"]):
            continue
        errors = proven[proven["dataset"].eq(dataset)].set_index("algorithm")["errors_train"]
        found = {title: int(errors[name]) for name, title in _OF_THEOREM.items() if name in errors.index}
        missing = [title for title in _OF_THEOREM.values() if title not in found]
        verdict = "undecided" if missing else verdicts.reproduced(len(set(found.values())) == 1)
        text = ", ".join(f"{title}: {wrong} of 77 wrong" for title, wrong in found.items())
        why = f"without a proof: {', '.join(missing)}" if missing else ""
        name = f"{dataset}: the same optimum by {', '.join(_OF_THEOREM.values())}"
        yield declare(name, "the same values", text, _TOLERANCES[_SAME], verdict, why)


def bucketization(results: Results) -> Table:
    """Return the optima of Theorem 3.1, with and without thresholds between neighbours of one class."""
    found = results.searches[results.searches["dataset"].str.startswith("bucketization")]
    columns = ["dataset", "algorithm", "regularization", "encoded_features", "status", "leaves"]
    names = {"regularization": "lambda", "encoded_features": "cut points", "rows_train": "rows"}
    data = found[columns].assign(right=found["rows_train"] - found["errors_train"])
    data = data.join(found[["rows_train", "accuracy_train"]]).rename(columns=names | {"accuracy_train": "accuracy"})
    data = data.assign(paper=np.where(data["dataset"].eq("bucketization"), "93.5%", "92.2%"))
    shown = as_text(data, {"accuracy": "{:.1%}"})
    proven = [run["status"] == "optimal" and not verdicts.doubt_of_optimum(run) for _, run in found.iterrows()]
    with_proof = found[np.array(proven, bool)]
    best = with_proof.groupby("dataset")["errors_train"].min()
    text = "; ".join(f"{name}: {errors} of 77 wrong, proven" for name, errors in best.items())
    claims = [
        declare(f"{row['dataset']}, {row['algorithm']}: accuracy of the optimum", row["paper"], row["accuracy"], DIGITS,
                "undecided" if not is_proven else
                "reproduced (rounded)" if row["accuracy"] == row["paper"] else "not reproduced")
        for row, is_proven in zip(shown.to_dict("records"), proven, strict=True) if row["status"] == "optimal"
    ]  # fmt: skip
    claims += _same_optimum(found, with_proof)
    title = "GOSDT, Theorem 3.1: bucketization sacrifices optimality"
    return Table(title, data, shown, provenance(found), text, pd.DataFrame(claims))


PAPER = Paper(
    name="gosdt",
    title="Lin, Zhong, Hu, Rudin, Seltzer: Generalized and Scalable Optimal Sparse Decision Trees, ICML 2020",
    tables={"objectives": objectives, "bucketization": bucketization, "branches_2": table_2, "times": times},
    tolerances=_TOLERANCES | TOLERANCES,
    figures={
        "1": figures.bucketization,
        "2": figures.roc,
        "3": figures.trees,
        "4": figures.train_accuracy,
        "5": figures.test_accuracy,
        "6": figures.slowdown,
        "times": figures.times,
    },
)
