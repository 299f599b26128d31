"""DPDT, KDD 2025: Tables 1 to 6 and the XOR board, a claim per printed number.

Printed numbers and explanations are data, in ``resources/papers/dpdt``; figures are in ``figures.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

import pandas as pd

from optree.bench.papers import verdicts
from optree.bench.papers.claims import judged
from optree.bench.papers.dpdt import figures, flow, importance, roots, searches
from optree.bench.papers.printed import claim
from optree.bench.papers.spec import Paper, Results
from optree.bench.papers.verdicts import FITS, NOT_RUN, Finding, agreement
from optree.bench.runs.folds import FULL
from optree.bench.tables.formats import Table
from optree.bench.tables.summary import measured_on, seconds

_CLOSE = Fraction(1, 1000)  # Tolerance of an accuracy.
_SAME_WORK = 0.03  # Relative tolerance of a count: the authors' program breaks ties between splits at random.
_MEANS = ("R2, %", "accuracy, %", "accuracy, % (paper: MFOCT)")  # Means over seeds.
_OTHER_PARTITIONS = 3  # Tolerance in percentage points for means over train/test partitions other than the paper's.
_POINTS = f"{_OTHER_PARTITIONS} points, or better"
_SHARE, _FEWER = "of the optimum's accuracy, %", "Quant-BnB's printed operations, as a multiple"
_ORDERS = 100, 10_000  # "2 to 4 orders of magnitude"
_FIRST, _THIRD = "the most important hyperparameter", "the third hyperparameter by importance"
_OUR_NAMES = {"max_num_nodes": "max_splits"}
_TOLERANCES = {
    _SHARE: "at least",
    _FEWER: "2 to 4 orders of magnitude",
    **dict.fromkeys((_FIRST, _THIRD), "none: exact"),
    **roots.TOLERANCES,
    **searches.TOLERANCES,
    **flow.TOLERANCES,
    **dict.fromkeys(("no training error", "training errors"), "none: exact"),
    **{"accuracy": "0.001", "accuracy, %": "0.1", "operations": "3 %", "splits": "3 %", "ends": "12 hours"},
    "optimum, not below DPDT": "0.001",
    **{f"{rows} {mean}": _POINTS for rows in ("train", "test") for mean in _MEANS},
}
# A row's name, model, claim, printed value, measured value or None, and the judge of both values.
_Claim = tuple[str, str, str, str, object, Callable[[str, object], Finding]]


def _judge_accuracy(printed: str, value: float, percent: bool = False, exact: bool = True) -> Finding:
    """Judge an accuracy or R2; ``exact`` for the paper's own rows."""
    value = Fraction(float(value)) * (100 if percent else 1)
    close, digits = _CLOSE * (100 if percent else 1), 2 if percent else 4
    gap = value - Fraction(printed)
    fit = agreement(printed, value)
    if not fit:
        near = not exact and gap >= -_OTHER_PARTITIONS
        worse = "not reproduced" if exact else "within 3 points" if near else "below printed"
        fit = "within 0.001" if abs(gap) <= close else "better than printed" if gap > 0 else worse
    return Finding(f"{float(value):.{digits}f}", f"{float(gap):+.{digits}f}", fit)


_judge_percent = partial(_judge_accuracy, percent=True)
_judge_mean = partial(_judge_accuracy, percent=True, exact=False)


def _judge_optimum(printed: str, value: float) -> Finding:
    """Judge whether a printed optimum is not below DPDT's accuracy."""
    finding = _judge_accuracy(printed, value)
    holds = finding.difference.startswith("-") or finding.verdict in FITS
    return finding._replace(verdict="consistent with the optimum") if holds else finding


def _judge_stand_in(printed: str, value: float) -> Finding:
    """Judge the printed mean of a solver that was not run here, beside the mean of the optimum."""
    finding = _judge_mean(printed, value)
    passes = verdicts.result(finding.verdict) == verdicts.PASS
    return finding._replace(verdict="consistent with the optimum") if passes else finding


def _judge_undecided(printed: str, value: float, doubt: str) -> Finding:
    """Return the measured mean without a decision, because of the doubt."""
    return _judge_mean(printed, value)._replace(verdict="undecided", explanation=doubt)


def _judge_count(printed: str, value: float) -> Finding:
    """Judge a count; a printed count that ends in 0 has three significant digits."""
    value, paper = int(value), float(printed)
    three = f"{int(paper):.2e}" if paper >= 1000 and printed.endswith("0") else printed
    fit = agreement(printed, Fraction(value)) or agreement(three, Fraction(value))
    verdict = fit or ("within 3 %" if abs(value / paper - 1) <= _SAME_WORK else "not reproduced")
    return Finding(str(value), f"{100 * (value / paper - 1):+.1f} %", verdict)


def _judge_share(printed: str, value: float, paper: Fraction) -> Finding:
    """Judge whether DPDT reaches a share of the optimum; ``paper`` is the share by the paper's own accuracies."""
    text = f"{100 * value:.2f}"
    if value >= float(printed) / 100:
        return Finding(text, "", "reproduced")
    if 100 * paper < Fraction(printed):
        return Finding(text, "", "paper contradicts itself", f"its own accuracies give {100 * float(paper):.2f}")
    return Finding(text, "", "not reproduced")


def _judge_orders(_: str, value: float, paper: float) -> Finding:
    """Judge a ratio of printed operations to ours; ``paper`` is the ratio by the paper's own numbers."""
    (low, high), text = _ORDERS, f"{value:.3g}"
    if low <= value <= high:
        return Finding(text, "", "recomputed", "Quant-BnB was not run")
    if not low <= paper <= high:
        return Finding(text, "", "paper contradicts itself", f"its own operations give {paper:.3g}")
    return Finding(text, "", "not reproduced", f"its own operations give {paper:.3g}")


def _judge_name(printed: str, measured: tuple[str, str]) -> Finding:
    """Judge the name of a hyperparameter; the second part of the measured value is the reason of doubt."""
    name, doubt = measured
    return Finding(name, "", "undecided" if doubt else verdicts.reproduced(name == printed), doubt)


def _judge_end(_: str, run: dict) -> Finding:
    """Judge whether a search that took the paper too long ends."""
    if run["status"] != "heuristic":
        return Finding("no", "", "reproduced")
    return Finding(f"yes, {_percent(run['train'])} in {seconds(run['seconds'])} s", "", "better than printed")


def _show(_: str, measured: str) -> Finding:
    """Return a measured value that is shown for information, without a verdict."""
    return Finding(measured, "", "other data")


def _judge_errors(_: str, measured: tuple[bool, float]) -> Finding:
    """Judge a statement about the training errors of a tree; the second part is the tree's training accuracy."""
    holds, accuracy = measured
    return Finding(f"accuracy {accuracy:.4g}", "", verdicts.reproduced(holds))


def _one(runs: pd.DataFrame, dataset: str, model: str, split: str = FULL) -> dict:
    """Return the run of a model, empty if there is none."""
    found = runs[runs["dataset"].eq(dataset) & runs["model"].eq(model) & runs["split"].eq(split)]
    return {} if found.empty else found.iloc[0].to_dict()


def _trained(runs: pd.DataFrame, row: str, model: str) -> dict:
    """Return the run of a model on the paper's training rows, or on other rows if these are not public."""
    return _one(runs, f"{row}-train", model) or _one(runs, row, model, "0")


def _machine(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return notes on machine, code, operations, seconds and memory."""
    if runs.empty:
        return ()
    return (
        "An operation is a node of the CARTs that DPDT fits (Table 1), or a candidate split (Top-B, Table 4). "
        "Seconds are processor seconds of one fit; MiB is the peak memory of its process minus the memory after "
        "reading the data.",
        *measured_on(runs),
    )


def table_1(results: Results) -> Iterator[_Claim]:
    """Yield claims on training accuracy and operations at depth 3.

    Operations are the nodes of all fitted CARTs, or candidate splits for Top-B. Quant-BnB's accuracy is compared with
    our proven optimum.
    """
    models = {"dpdt_light": "dpdt-16-1-1", "dpdt_full": "dpdt-16-16-16"}
    models |= {"topb_light": "top-16-1-1", "topb_full": "top-16-16-16", "cart": "cart-3"}
    for printed in results.printed("table1.csv"):
        row, runs = printed["dataset"], results.models
        for key, model in models.items():
            run = _trained(runs, row, model)
            yield row, model, "accuracy", printed[f"acc_{key}"], run.get("train"), _judge_accuracy
            work = 2 * run["splits"] + 1 if model == "cart-3" and run else run.get("iterations")
            yield row, model, "operations", printed[f"ops_{key}"], work, _judge_count
        optimal = _trained(runs, row, "optimal")
        proven = optimal.get("train") if optimal.get("status") == "optimal" else None
        yield row, "optimal", "accuracy", printed["acc_quantbnb"], proven, _judge_accuracy
        best = _trained(runs, row, models["dpdt_full"]).get("train")
        yield row, "Quant-BnB", "optimum, not below DPDT", printed["acc_quantbnb"], best, _judge_optimum
        share = best / proven if best and proven else None
        judge = partial(_judge_share, paper=Fraction(printed["acc_dpdt_full"]) / Fraction(printed["acc_quantbnb"]))
        yield row, models["dpdt_full"], _SHARE, "99", share, judge
        exact, work = float(printed["ops_quantbnb"]), _trained(runs, row, models["dpdt_full"]).get("iterations")
        judge = partial(_judge_orders, paper=exact / float(printed["ops_dpdt_full"]))
        yield row, models["dpdt_full"], _FEWER, "100 to 10,000", exact / work if work else None, judge


def figure_1(results: Results) -> Iterator[_Claim]:
    """Yield claims on the XOR board: of depth 2, DPDT's tree has no training error (Theorem 5.2), CART's has some."""
    for model, name, perfect in (("dpdt-2", "no training error", True), ("cart-2", "training errors", False)):
        accuracy = _one(results.models, "xor-board", model).get("train")
        measured = None if accuracy is None else ((accuracy == 1) == perfect, accuracy)
        yield "xor-board", model, name, "yes (Lemma 5.7)", measured, _judge_errors


def table_2(results: Results) -> Iterator[_Claim]:
    """Yield claims on the importance of hyperparameters in the random searches of Figure 6."""
    rows, runs = results.printed("table2.csv"), results.models
    for key in ("dpdt", "cart", "streed"):
        model = f"search-{key}"
        shares, datasets, trials = importance.importances(runs[runs["model"].eq(model)])
        few = datasets < importance.FEW_DATASETS or trials < importance.FEW_TRIALS
        doubt = f"{datasets} datasets, {trials} trials of a search" if few else ""
        ranked = sorted(shares, key=shares.get, reverse=True)
        for row in rows:
            if printed := row[key]:
                share = shares.get(_OUR_NAMES.get(row["hyperparameter"], row["hyperparameter"]))
                shown = None if share is None else f"{share:.1f}"
                yield row["hyperparameter"], model, "importance, %", printed, shown, _show
        for place, name in ((0, _FIRST), (2, _THIRD)) if key == "dpdt" else ((0, _FIRST),):
            printed = sorted((row for row in rows if row[key]), key=lambda row: -float(row[key]))[place]
            found = (ranked[place], doubt) if len(ranked) > place else None
            wanted = printed["hyperparameter"]
            yield "all", model, name, _OUR_NAMES.get(wanted, wanted), found, _judge_name


def table_3(results: Results) -> Iterator[_Claim]:
    """Yield claims on KDD Cup 99 at depth 10: test accuracy, and DPDT's seconds and memory as multiples of CART's."""
    models = {"DPDT-(4,)": "dpdt-10-4", "DPDT-(4,4)": "dpdt-10-4-4", "CART": "cart-10"}
    rows, runs = {row["model"]: row for row in results.printed("table3.csv")}, results.models
    names = runs.loc[runs["model"].eq("cart-10"), "dataset"].unique()
    for dataset in names if len(names) else ["kddcup99-tenth"]:
        cart, printed_cart = _one(runs, dataset, models["CART"], "0"), rows["CART"]
        for name, model in models.items():
            run, printed = _one(runs, dataset, model, "0"), rows[name]
            yield dataset, model, "test accuracy, %", printed["test_accuracy_pct"], _percent(run.get("test")), _show
            for name, column, measure in (
                ("seconds", "time_s", "processor_seconds"),
                ("memory, MiB", "memory_MB", "memory_peak_mib"),
            ):
                yield dataset, model, name, printed[column], seconds(run[measure]) if run else None, _show
                if model != "cart-10":
                    ratio = f"{float(printed[column]) / float(printed_cart[column]):.2f}"
                    here = f"{run[measure] / cart[measure]:.2f}" if run and cart else None
                    yield dataset, model, f"{name}, as a multiple of CART's", ratio, here, _show


def _percent(value: float | None) -> str | None:
    """Return a share in percent as text."""
    return None if value is None or pd.isna(value) else f"{100 * value:.2f}"


def table_4(results: Results) -> Iterator[_Claim]:
    """Yield claims on DPDT of depth 3 and lookahead trees: training accuracy, and splits."""
    for printed in results.printed("table4.csv"):
        row, runs = printed["dataset"], results.models
        run, ahead = _trained(runs, row, "dpdt-8-8-8"), _trained(runs, row, "lookahead")
        yield row, "dpdt-8-8-8", "accuracy, %", printed["dpdt_train_acc_pct"], run.get("train"), _judge_percent
        yield row, "dpdt-8-8-8", "splits", printed["dpdt_ops"], run.get("splits_offered"), _judge_count
        accuracy = printed["lookahead1_train_acc_pct"]
        if accuracy == "OoT":
            yield row, "lookahead", "ends", "no, 12 hours", ahead or None, _judge_end
        else:
            yield row, "lookahead", "accuracy, %", accuracy, ahead.get("train"), _judge_percent
            yield row, "lookahead", "splits", printed["lookahead1_ops"], ahead.get("iterations"), _judge_count


_OF_TABLE_5 = ("dpdt", "streed", "cart")


def table_5(results: Results) -> Iterator[_Claim]:
    """Yield claims on regression: mean R2 of training and test rows over seeds; datasets of our own come last.

    The paper's STreeD at depth 5 repeats depth 3 in all rows, so that nothing is claimed about it.
    """
    printed, runs = {row["dataset"]: row for row in results.printed("table5.csv")}, results.models
    models = [(f"{name}-regression-{depth}", f"d{depth}_{name}") for depth in (3, 5) for name in _OF_TABLE_5]
    own = runs.loc[runs["model"].isin([model for model, _ in models]), "dataset"]
    for row in dict.fromkeys([*printed, *own]):
        for model, column in models:
            found = runs[runs["dataset"].eq(row) & runs["model"].eq(model)]
            for rows in ("train", "test"):
                mean, name = found[rows].mean() if len(found) else None, f"{rows} R2, %"
                if row in printed and column != "d5_streed":
                    yield row, model, name, printed[row][f"{column}_{rows}_r2_pct"], mean, _judge_mean
                else:
                    yield row, model, name, "", _percent(mean), _show


_OF_TABLE_6 = {"dpdt": "dpdt-5", "cart": "cart", "oct": "oct", "binoct": "binoct", "mfoct": "murtree"}
_EXACT = ("oct", "binoct", "murtree")  # A search that a limit stops often returns CART's tree, its first incumbent.


def _doubt(runs: pd.DataFrame, cart: pd.DataFrame) -> str:
    """Return why exact searches decide nothing, or an empty text if each of them proved an optimum.

    The reason names the limits, and the number of trees with the training errors of CART's tree on the same rows.
    """
    ends = Counter(flow.end(run) for _, run in runs.iterrows() if run["status"] != "optimal")
    reasons = [f"{count} of {len(runs)} runs: {how}" for how, count in ends.items()]
    both = runs.merge(cart, on="split", suffixes=("", "_cart"))
    if reasons and len(both) == len(runs):
        same = both["errors_train"].eq(both["errors_train_cart"]).sum()
        reasons.append(f"{same} of {len(runs)} trees have the training errors of CART's tree on the same rows")
    return "; ".join(reasons)


def table_6(results: Results) -> Iterator[_Claim]:
    """Yield claims on mean accuracies over three seeds at depth 5, with the optimum in the place of MFOCT.

    A mean of exact searches is judged only if all of them proved an optimum.
    """
    for printed in results.printed("table6.csv"):
        row, runs = printed["dataset"], flow.runs_of(results, printed["dataset"], depth=5)
        for column, algorithm in _OF_TABLE_6.items():
            same = runs[runs["algorithm"].eq(algorithm)]
            doubt = _doubt(same, runs[runs["algorithm"].eq("cart")]) if algorithm in _EXACT else ""
            judge = _judge_stand_in if column == "mfoct" else _judge_mean
            judge = partial(_judge_undecided, doubt=doubt) if doubt else judge
            for rows in ("train", "test"):
                mean = same[f"accuracy_{rows}"].mean() if len(same) else None
                name = f"{rows} accuracy, %" + " (paper: MFOCT)" * (column == "mfoct")
                yield row, algorithm, name, printed[f"{rows}_{column}_pct"], mean, judge


_TABLES = {
    "xor": ("Figure 1 and Theorem 5.2: the XOR board, depth 2", figure_1),
    "1": ("Table 1: training accuracy and operations at depth 3", table_1),
    "2": ("Table 2: importance of hyperparameters", table_2),
    "3": ("Table 3: KDD Cup 99 at depth 10", table_3),
    "4": ("Table 4: against lookahead trees, depth 3", table_4),
    "5": ("Table 5: regression", table_5),
    "6": ("Table 6: depth 5", table_6),
    "6-flow": ("Table 6: FlowOCT at depth 2", flow.claims),
    "searches": ("Figure 6: random searches", searches.claims),
    "4-5": ("Figures 4 and 5: candidate splits of the root, bank", roots.claims),
}


def _compare(table: str, results: Results) -> Table:
    """Return a table of claims, with explanations."""
    title, make = _TABLES[table]
    rows = [
        claim({"row": row, "model": model}, name, printed,
              NOT_RUN if value is None or value is pd.NA or value != value else judge(printed, value))
        for row, model, name, printed, value, judge in make(results)
    ]  # fmt: skip
    notes, explanations = _machine(results.models), results.explanations(table)
    return judged(f"DPDT (KDD 2025), {title}", ["row", "model"], rows, _TOLERANCES, notes, explanations)


PAPER = Paper(
    name="dpdt",
    title="Kohler, Akrour, Preux: Breiman meets Bellman: Non-Greedy Decision Trees with MDPs, KDD 2025",
    tables={name: partial(_compare, name) for name in _TABLES},
    figures=figures.FIGURES,
    tolerances=_TOLERANCES,
)
