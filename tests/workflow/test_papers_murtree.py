"""MurTree's tables and figures: intervals, ratios, agreement, tuning on folds, and the configuration for them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pandas as pd
import pytest
from support import ROOT
from support.model_runs import model_run
from support.runs import encoded, run

from optree.bench import papers
from optree.bench.figures import plots
from optree.bench.figures.panels import NothingToDraw
from optree.bench.models import fit
from optree.bench.models import frame as model_frame
from optree.bench.papers import Results
from optree.bench.papers.murtree import controller, forests, ratios, tuning
from optree.bench.papers.murtree.ratios import Interval, measured, printed
from optree.bench.peers.declaration import read_peers
from optree.bench.report.reproduce import merged_configuration
from optree.bench.runs.folds import fold_kind, held_out
from optree.bench.runs.plan import plan_runs
from optree.bench.tables.frame import frame, read
from optree.datasets import read_table
from optree.encoding.problem_files import save_problem
from optree.tree import Tree

FOLDER = ROOT / "resources" / "papers" / "murtree"
PAPER = papers.get("murtree")
FOLDS = ("1of2", "2of2")


@pytest.fixture(scope="module")
def record():
    """Return a run in the paper's setting, to be copied with other names and seconds."""
    return frame([run("monks-1", "onehot-drop-first", "0", algorithm="murtree", max_depth=4)])


def made(record, *rows: dict) -> pd.DataFrame:
    """Return runs like the record, except for these columns."""
    table = pd.concat([record.assign(encoding="binary", **row) for row in rows], ignore_index=True)
    return table.astype(record.dtypes.to_dict())


# --- numbers


def test_a_printed_number_is_all_that_rounds_to_it():
    assert printed("55", 600) == Interval(54.5, 55.5, 55)
    assert printed("0", 600) == Interval(0, 0.5, 0)
    assert printed("12", 600, 1000) == Interval(11500, 12500, 12000)
    assert printed("<0.5", 600) == Interval(0, 0.5)
    assert printed("TO", 600) == Interval(600, inf)
    assert printed("", 600) is None


@pytest.mark.parametrize(
    ("over", "under", "text", "side"),
    [
        ("250", "132", "1.89", 1),
        ("18", "31", "0.581", -1),
        ("1", "1", "~1", 0),
        ("9", "9", "1", 0),
        ("TO", "89", "> 6.7", 1),
        ("55", "<0.5", "> 109", 1),
        ("<0.5", "11", "< 0.0476", -1),
        ("TO", "TO", "", 0),
        ("<0.5", "<0.5", "", 0),
        ("1", "0", "> 1", 0),
    ],
)
def test_a_ratio_says_what_the_digits_say(over, under, text, side):
    ratio = printed(over, 600) / printed(under, 600)
    assert (str(ratio), ratio.side) == (text, side)


def test_a_run_that_was_stopped_took_longer(record):
    done = record.iloc[0]
    assert measured(done, "search_seconds") == Interval(*[done["search_seconds"]] * 3)
    stopped = done.copy()
    stopped["status"] = "time_limit"
    assert measured(stopped, "search_seconds") == Interval(done["search_seconds"], inf)
    for status in ("skipped", "error", "wrong_certificate"):
        stopped["status"] = status
        assert measured(stopped, "search_seconds") is None
    assert measured(None, "search_seconds") is None


# --- tables


def test_ratios_stand_beside_the_printed_ones(record):
    runs = made(
        record,
        {"dataset": "cp4im-segment", "algorithm": "paper-all", "search_seconds": 3.0, "subproblems": 2000},
        {"dataset": "cp4im-segment", "algorithm": "paper-branch-cache", "search_seconds": 6.0, "subproblems": 5000},
        {"dataset": "cp4im-vote", "algorithm": "paper-all", "search_seconds": 2.0, "subproblems": 100},
        {
            "dataset": "cp4im-vote",
            "algorithm": "paper-branch-cache",
            "search_seconds": 5.0,
            "subproblems": 300,
            "status": "time_limit",
        },
    )
    table = PAPER.tables["1"](Results(FOLDER, runs))
    shown = table.shown.set_index("dataset")
    assert shown.loc["cp4im-segment"].to_dict() == {
        "dataset, s: paper": "8",
        "dataset, s: measured": "3.00",
        "dataset, subproblems: paper": "4,000",
        "dataset, subproblems: measured": "2,000",
        "seconds, branch / dataset: paper": "1.38",
        "seconds, branch / dataset: measured": "2",
        "entries, branch / dataset: paper": "3",
        "entries, branch / dataset: measured": "2.5",
    }
    assert shown.loc["cp4im-vote", "seconds, branch / dataset: measured"] == "> 2.5"  # and nothing is printed of it
    assert shown.loc["cp4im-vote", "seconds, branch / dataset: paper"] == ""
    assert set(shown.index) == {"cp4im-segment", "cp4im-vote"}
    assert (
        "seconds, branch / dataset: 1 of 1 rows on the printed side of 1; geometric means over 1 rows" in table.result
    )
    assert "Of the paper's 18 rows, 2 cannot be run" in " ".join(table.notes)
    assert "15 more were not run." in " ".join(table.notes)


def test_what_is_not_printed_is_measured_all_the_same(record):
    names = {"murtree": 0.5, "paper": 2.0, "dl85": 30.0}
    runs = made(record, *({"dataset": "cp4im-yeast", "algorithm": k, "search_seconds": v} for k, v in names.items()))
    table = PAPER.tables["5"](Results(FOLDER, runs))
    row = table.shown.iloc[0]
    assert (row["DL8.5 / MurTree, depth 4: paper"], row["DL8.5 / MurTree, depth 4: measured"]) == ("93", "15")
    assert row["MurTree / our search, depth 4: measured"] == "4"
    assert "MurTree / our search, depth 4: paper" not in row
    assert "MurTree / our search, depth 4: geometric mean 4 over 1 rows." in table.result
    assert "MurTree / our search, depth 5: not run." in table.result


def test_only_runs_like_the_papers_count(record):
    runs = made(
        record,
        *({"dataset": "cp4im-vote", "algorithm": "paper-all", **odd} for odd in (
            {"lambda": 0.01}, {"max_splits": 7}, {"split": "1of5"}, {"min_samples_leaf": 2}, {"max_depth": None},
        )),
    )  # fmt: skip
    assert len(ratios.comparable(runs)) == 0
    assert PAPER.tables["2"](Results(FOLDER, runs)).result == "Nothing has been run."


def test_proofs_have_to_agree(record):
    names = ("murtree", "dl85", "paper")
    agreed = [{"dataset": "cp4im-vote", "algorithm": name, "errors_train": 5} for name in names]
    agreed[2] |= {"status": "time_limit", "errors_train": 9}
    odd = [{"dataset": "cp4im-lymph", "algorithm": name, "errors_train": 3 + (name == "dl85")} for name in names]
    table = PAPER.tables["errors"](Results(FOLDER, made(record, *agreed, *odd)))
    columns = ["dataset", "proven by", "same", "dl85", "murtree", "paper"]
    assert table.shown[columns].to_numpy().tolist() == [
        ["cp4im-lymph", "3", "no", "4", "3", "3"],
        ["cp4im-vote", "2", "yes", "5", "5", "(9)"],
    ]
    assert table.result.startswith("2 problems: 1 where all proofs agree, 1 where they do not")


def test_an_optimum_whose_proof_was_refused_is_not_proven(record):
    rows = [{"dataset": "cp4im-vote", "algorithm": name, "errors_train": 5} for name in ("murtree", "dl85", "paper")]
    runs = made(record, *rows).assign(
        proof_verdict=["optimal", "refused", None], proof_statement=["optimal: cost 5", "refused: why", None]
    )
    shown = PAPER.tables["errors"](Results(FOLDER, runs)).shown
    assert shown[["proven by", "dl85", "murtree", "paper"]].to_numpy().tolist() == [["2", "(5)", "5", "5"]]


# --- tuning


@pytest.fixture(scope="module")
def folded():
    """monks-1 on two folds: CART of depth 1 to 3, optimal trees of all sizes to depth 3, and CART on all rows."""
    fields = {"dataset": "monks-1", "encoding": "onehot-drop-first", "regularization": "0"}
    sizes = [(0, 0), *((d, n) for d in (1, 2, 3) for n in range(d, 2**d))]
    done = [run(**fields, split=split, algorithm="cart", max_depth=d) for d in (1, 2, 3) for split in ("full", *FOLDS)]
    for depth, most in sizes:
        done += [run(**fields, split=f, algorithm="murtree", max_depth=depth, max_splits=most) for f in FOLDS]
    return frame(done)


def mean(runs, algorithm, depth, most=None) -> float:
    """Mean test accuracy over the folds."""
    own = runs[runs["algorithm"].eq(algorithm) & runs["split"].isin(FOLDS) & runs["max_depth"].eq(depth)]
    own = own[own["max_splits"].isna() if most is None else own["max_splits"].eq(most)]
    assert len(own) == len(FOLDS)
    return own["accuracy_test"].sum() / len(FOLDS)


def test_methods_are_tuned_as_the_paper_says(folded):
    found = tuning.accuracies(Results(FOLDER, folded)).set_index("method")
    cart = {depth: mean(folded, "cart", depth) for depth in (1, 2, 3)}
    best = max(cart, key=lambda depth: (cart[depth], -depth))
    assert found.loc["CART", ["test", "parameters"]].tolist() == [cart[best], f"depth {best}"]
    grown = folded[folded["algorithm"].eq("cart") & folded["split"].eq("full") & folded["max_depth"].eq(best)].iloc[0]
    depth, most = int(grown["depth"]), int(grown["splits"])
    assert found.loc["MT-F", "test"] == mean(folded, "murtree", depth, most)
    sizes = {(d, n): mean(folded, "murtree", d, n) for d in (1, 2, 3) for n in range(d, 2**d)}
    for method, allowed in (
        ("MT-A", sizes),
        ("MT-R", [(d, n) for d, n in sizes if d <= depth and n <= most]),
    ):
        d, n = max(allowed, key=lambda size: (sizes[size], -size[0], -size[1]))
        assert found.loc[method, ["test", "parameters", "folds"]].tolist() == [sizes[d, n], f"depth {d}, {n} splits", 2]
    assert found.loc["MT-A", "test"] >= found.loc["MT-R", "test"]


def test_parameters_with_a_fold_missing_do_not_count(folded):
    chosen = tuning.accuracies(Results(FOLDER, folded)).set_index("method").loc["MT-A", "parameters"]
    depth, most = map(int, re.findall(r"\d+", chosen))
    gone = folded["max_depth"].eq(depth) & folded["max_splits"].eq(most) & folded["split"].eq("2of2")
    assert tuning.accuracies(Results(FOLDER, folded[~gone])).set_index("method").loc["MT-A", "parameters"] != chosen


GRID = {"n_estimators": [1, 2], "max_depth": [None, 2], "max_features": ["sqrt", 0.5]}


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """Forests as the workflow leaves them, for the dataset of ``folded``."""
    folder = tmp_path_factory.mktemp("forests")
    problem, notes = encoded("monks-1", "onehot-drop-first")
    save_problem(problem, folder / "problem.npz", **notes)
    dataset = read_table(ROOT / "config" / "datasets.csv")["monks-1"]
    wanted = model_run("monks-1", tuning.FOREST, "RandomForestClassifier", encoding="onehot-drop-first", grid=GRID)
    rows = fit.load_rows(folder / "problem.npz", dataset)
    return model_frame.frame(fit.execute(replace(wanted, split=fold), rows) for fold in FOLDS)


def test_forests_are_trained_on_the_folds_of_the_trees(grown):
    from sklearn.ensemble import RandomForestClassifier

    problem, _ = encoded("monks-1", "onehot-drop-first")
    test = held_out(problem.y, "2of2", "0.2")
    record = grown.set_index("split").loc["2of2"]
    assert [list(trial["parameters"].values()) for trial in record["trials"]] == list(
        map(list, product(*GRID.values()))
    )
    for trial in record["trials"]:
        model = RandomForestClassifier(**trial["parameters"], random_state=0)
        model.fit(problem.codes[~test], problem.y[~test])
        assert trial["test"] == model.score(problem.codes[test], problem.y[test])
        assert trial["train"] == model.score(problem.codes[~test], problem.y[~test])


def test_seconds_of_tuning_are_those_of_all_combinations(folded, grown):
    found = tuning.accuracies(Results(FOLDER, folded, grown)).set_index("method")["seconds"]
    own = folded[folded["split"].isin(FOLDS)]
    cart, trees = (own[own["algorithm"].eq(name)] for name in ("cart", "murtree"))
    assert found["CART"] == pytest.approx(cart["search_seconds"].sum())
    assert found["MT-A"] == pytest.approx(trees.loc[trees["max_depth"].gt(0), "search_seconds"].sum())
    assert found["MT-F"] < found["MT-R"] <= found["MT-A"]
    spent = sum(trial["seconds"] for trials in grown["trials"] for trial in trials)
    assert found["random forest"] == pytest.approx(spent)


def test_forests_are_tuned_and_shown_beside_the_trees(folded, grown, tmp_path):
    found = tuning.accuracies(Results(FOLDER, folded, grown)).set_index("method")
    assert list(found.index) == list(tuning.METHODS)
    means = pd.DataFrame(
        [{**trial["parameters"], "test": trial["test"]} for trials in grown["trials"] for trial in trials]
    )
    best = means.astype({"max_features": str}).groupby(list(GRID), dropna=False)["test"].mean()
    assert found.loc["random forest", "test"] == pytest.approx(best.max())
    n, depth, _ = min(best[best.eq(best.max())].index, key=lambda chosen: chosen[0])
    words = found.loc["random forest", "parameters"]
    assert words.startswith(f"{n} trees, depth {'none' if pd.isna(depth) else int(depth)}, features ")
    table = tuning.tuned(Results(FOLDER, folded, grown))
    assert table.shown.loc[0, "random forest: test"] == f"{100 * best.max():.2f}"
    assert "MT-A" in table.result
    figure = PAPER.figures["2"](Results(FOLDER, folded, grown))
    assert [ax.get_title(loc="left").split("\n")[0] for ax in figure.axes] == [f"MT-{k} - CART" for k in "FRA"]
    gain = 100 * (found.loc["MT-A", "test"] - found.loc["CART", "test"])
    assert f"mean {gain:+.2f}" in figure.axes[2].get_title(loc="left")
    assert len(PAPER.figures["3"](Results(FOLDER, folded, grown)).axes) == 1


WORKFLOW = {
    "name": "folded",
    "paper": "murtree",
    "algorithms": {tuning.FOREST: {"solver": "RandomForestClassifier", "grid": GRID}},
    "experiments": [
        {
            "datasets": ["monks-1"],
            "encodings": ["onehot"],
            "algorithms": [tuning.FOREST],
            "splits": ["1of2", "2of2"],
        },
        {
            "datasets": ["monks-1"],
            "encodings": ["onehot"],
            "algorithms": ["cart"],
            "regularization": ["0"],
            "max_depth": [1, 2],
            "splits": ["full", "1of2", "2of2"],
        },
    ],
}


def test_the_workflow_makes_tables_and_figures_of_runs_and_forests(checkout):
    (checkout.path / "folded.json").write_text(json.dumps(WORKFLOW))
    done = checkout.snakemake(config="folded.json")
    assert done.returncode == 0, done.stdout + done.stderr
    results = checkout.path / "results" / "folded"
    table = read(results / "tables" / "runs.jsonl")[1]
    assert set(table["dataset"] + "/" + table["encoding"] + "/" + table["split"]) == {
        "monks-1/onehot/1of2",
        "monks-1/onehot/2of2",
    }
    assert table["trials"].map(len).eq(8).all()
    paper = papers.get("murtree")
    for name in paper.tables:
        assert (results / "tables" / f"paper_table_{name}.md").read_text().startswith("# MurTree")
    assert not list((results / "plots" / "paper_figures").glob("*.svg"))  # without trees, no figure has data
    listed = (results / "tables" / "paper_figures_not_drawn.txt").read_text().splitlines()
    assert [line.split(":")[0] for line in listed] == [f"figure {name} of the paper" for name in paper.figures]
    page = (results / "tables" / "findings.rst").read_text()
    assert all(line in page for line in listed)
    again = checkout.snakemake("-n", config="folded.json")
    assert "Nothing to be done" in again.stdout + again.stderr


# --- section 5.3


def judged(table) -> dict[str, str]:
    """Return the verdict of each claim of a table."""
    return dict(zip(table.claims["claim"], table.claims["verdict"], strict=True))


def test_the_first_depth_without_errors_is_the_perfect_tree(record):
    tried = [(2, 5, 1.0), (3, 0, 2.0), (4, 0, 50.0)]
    small = {"dataset": "murtree-corral-reduced", "lambda": 1e-6, "regularization": "0.000001"}
    rows = [
        small | {"max_depth": depth, "depth": depth, "splits": 6, "errors_train": errors, "search_seconds": time}
        for depth, errors, time in tried
    ]
    stuck = [row | {"dataset": "murtree-appendicitis-reduced", "errors_train": 2} for row in rows]
    slow = [row | {"dataset": "murtree-mouse-reduced", "search_seconds": 31.0} for row in rows]
    other = [row | {"dataset": "murtree-car"} for row in rows]
    table = PAPER.tables["perfect"](Results(FOLDER, made(record, *rows, *stuck, *slow, *other)))
    shown = table.shown.set_index("dataset")
    assert shown.loc["murtree-corral-reduced", ["least depth", "seconds"]].tolist() == ["depth 3, 6 splits", "3.00"]
    assert shown.loc["murtree-appendicitis-reduced", ["least depth", "depths tried"]].tolist() == ["", "to 4"]
    assert judged(table) == {
        "murtree-appendicitis-reduced: a perfect tree within seconds": "undecided",
        "murtree-corral-reduced: a perfect tree within seconds": "reproduced",
        "murtree-mouse-reduced: a perfect tree within seconds": "not reproduced",
    }
    assert table.result.startswith("1 of 3 reduced datasets")


@pytest.mark.parametrize(
    ("trees", "osdt", "status", "verdict"),
    [
        (1.0, 10.0, "optimal", "reproduced"),
        (1.0, 5.0, "optimal", "not reproduced"),
        (61.0, 900.0, "optimal", "not reproduced"),
        (9.0, 20.0, "time_limit", "undecided"),
    ],
)
def test_murtree_takes_seconds_where_osdt_takes_minutes(trees, osdt, status, verdict, record):
    same = {"dataset": "fico-binary", "lambda": 0.005, "regularization": "0.005"}
    rows = [same | {"search_seconds": trees}, same | {"algorithm": "osdt", "search_seconds": osdt, "status": status}]
    table = PAPER.tables["sparse"](Results(FOLDER, made(record, *rows)))
    assert judged(table) == {"fico-binary: MurTree within seconds, OSDT slower": verdict}


def test_shares_of_gosdts_trees_need_many_datasets(record):
    def of(count, limited, deepest=5):
        same = {"algorithm": "gosdt", "lambda": 0.01, "regularization": "0.01", "max_depth": None, "depth": 3}
        rows = [same | {"dataset": f"d{k}", "status": "time_limit" if k < limited else "optimal"} for k in range(count)]
        rows[-1] |= {"depth": deepest}
        return list(judged(PAPER.tables["sparse"](Results(FOLDER, made(record, *rows)))).values())

    assert of(20, 13) == ["reproduced", "reproduced"]
    assert of(20, 2) == ["other data", "reproduced"]
    assert of(20, 13, 8) == ["reproduced", "not reproduced"]
    assert of(19, 13) == ["not run", "not run"]


def test_comparable_accuracies_decide_from_eight_datasets_on(monkeypatch):
    def of(*gains, spent=0.0):
        methods = {"CART": 0.8, "MT-F": 0.805, "MT-R": 0.8, "random forest": 0.9}
        rows = [
            {"dataset": f"d{k}", "encoding": "binary", "method": name, "train": 1.0, "test": value, "folds": 5,
             "parameters": "", "seconds": {"CART": 0.5, "random forest": 12.0 + spent}.get(name, 3.0)}
            for k, gain in enumerate(gains)
            for name, value in (methods | {"MT-A": 0.9 + gain}).items()
        ]  # fmt: skip
        monkeypatch.setattr(tuning, "accuracies", lambda _: pd.DataFrame(rows))
        return judged(tuning.tuned(Results(FOLDER, frame([]))))

    half = of(*[0.0, -0.1] * 4)
    assert (
        half["MT-F tests like CART"] == half["MT-A tests like random forests on half of the datasets"] == "reproduced"
    )
    assert of(*[-0.1] * 8)["MT-A tests like random forests on half of the datasets"] == "not reproduced"
    assert of(*[0.0] * 8)["MT-A tests like random forests on half of the datasets"] == "better than printed"
    few = of(0.0, 0.0)
    assert few.pop("MT-R tests better than CART on more datasets than worse") == "undecided"  # no dataset differs
    assert set(few.values()) == {"not run"}
    assert half["CART is tuned in a fraction of a second"] == "reproduced"
    forests = "random forests are tuned in 10 to 19 seconds"
    assert [of(*[0.0] * 8, spent=spent)[forests] for spent in (-2.1, 0, 7.9, 8)] == [
        "other data",
        "reproduced",
        "reproduced",
        "other data",
    ]


# --- section 6


def test_the_smallest_perfect_tree_of_the_controller_is_smaller_than_carts(tmp_path):
    same = {"dataset": controller.DATASET, "encoding": "numbers", "regularization": "0.000001"}
    runs = frame([run(**same, algorithm=name) for name in ("optree", "cart")])
    runs = pd.concat([runs, frame([run(**same, algorithm="murtree", max_depth=depth) for depth in (6, 7)])])
    results = Results(FOLDER, runs.reset_index(drop=True))
    table = PAPER.tables["perfect"](results)
    row = table.shown.iloc[0]
    assert (row["least depth"], row["fewest splits"]) == ("depth 7, 44 splits", "depth 12, 44 splits")
    assert row["CART"].endswith("49 splits")
    assert "fewer splits than CART's on 1 of 1 datasets; the geometric mean of the ratio is 0.90." in table.result
    figure = PAPER.figures["controller"](results)
    assert len(figure.axes) == 2 * 5
    assert figure.axes[0].get_ylabel() == "optree: 44 splits, the fewest\nspeed, m/s"
    assert figure.axes[5].get_ylabel() == "cart: 49 splits\nspeed, m/s"
    for axes, name in ((figure.axes[:5], "optree"), (figure.axes[5:], "cart")):
        tree = Tree.from_dict(runs.set_index("algorithm").loc[name, "tree"])
        drawn = [feature.name for feature in tree.split_features if not feature.name.startswith("front speed")]
        assert sum(len(ax.lines) for ax in axes) >= len(drawn) > 20
    with pytest.raises(NothingToDraw, match="no perfect trees"):
        PAPER.figures["controller"](Results(FOLDER, runs[:0]))


def test_forests_of_optimal_trees_are_compared_with_rivals(grown):
    made = []
    for number in range(6):
        for name, score in {
            "tree-3": 0.7, "bagged-3": 0.8 + number / 100, "bagged-cart-3": 0.8 + number / 100, "random-3": 0.79,
            "random-any": 0.95, "tree-4": 0.9,
        }.items():  # fmt: skip
            made.append(grown.assign(dataset=f"d{number}", model=name, test=score, train=1.0, processor_seconds=2.0))
    models = pd.concat(made, ignore_index=True)
    table = PAPER.tables["forests"](Results(FOLDER, frame([]), models))
    assert table.result == (
        "Bagged optimal trees of depth 3 against one optimal tree: better (+12.50 points, better on 6 of 6, worse on "
        "0, p = 0.031); bagged CART: undecided (+0.00 points, better on 0 of 6, worse on 0); random forest: better "
        "(+3.50 points, better on 6 of 6, worse on 0, p = 0.031); deep random forest: worse (-12.50 points, better on "
        "0 of 6, worse on 6, p = 0.031)."
    )
    shown = table.shown.set_index("dataset, depth")
    assert shown.loc["d2, depth 3", ["bagged optimal", "deep random forest"]].tolist() == ["82.00", "95.00"]
    assert shown.loc["d2, depth 4", ["bagged optimal", "deep random forest", "one optimal tree"]].tolist() == [
        "",
        "",
        "90.00",
    ]
    assert shown.loc["d2, depth 3", "bagged optimal, s"] == "4.00"
    figure = PAPER.figures["forests"](Results(FOLDER, frame([]), models))
    assert [ax.get_title(loc="left").split("\n")[0] for ax in figure.axes] == [
        f"bagged optimal - {other}" for _, other in forests.PAIRS
    ]
    gone = models[~(models["dataset"].eq("d0") & models["split"].eq("1of2") & models["model"].eq("bagged-3"))]
    assert "better on 5 of 5" in PAPER.tables["forests"](Results(FOLDER, frame([]), gone)).result


# --- the configuration


def planned(level: str | None = None):
    config = merged_configuration(ROOT, "murtree.yaml", level)
    return plan_runs(config, read_table(ROOT / "config" / "datasets.csv"), read_peers(ROOT / "workflow" / "peers"))


def test_the_configuration_has_every_run_that_a_table_wants(record, monkeypatch):
    runs = planned()
    there = {
        (r.dataset, r.encoding, r.algorithm, r.max_depth) for r in runs if r.split == "full" and r.max_splits is None
    }
    wanted = set()

    def table(title, rows, _, columns, *rest):
        for ratio in columns:
            for setting in (ratio.over, ratio.under):
                for row in rows:
                    assert setting.column in row or not setting.column
                    if row["dataset"] and (row.get(setting.column) or not setting.column):
                        wanted.add((row["dataset"], setting.encoding, setting.algorithm, setting.depth))

    monkeypatch.setattr(ratios, "table", table)
    for name in "12345":
        PAPER.tables[name](Results(FOLDER, record))
    assert len(wanted) > 200
    assert wanted <= there
    searches = [r for r in runs if r.model is None]
    folds = {(r.algorithm, r.max_depth, r.max_splits) for r in searches if fold_kind(r.split) == "folds"}
    assert folds == {
        *(("cart", depth, None) for depth in tuning.DEPTHS),
        *(("murtree", depth, n) for depth in tuning.DEPTHS for n in range(depth, 2**depth)),
        ("murtree", 0, 0),
    }
    models = {(run.dataset, run.algorithm) for run in runs if run.model is not None}
    tuned = {(run.dataset, tuning.FOREST) for run in runs} - {(controller.DATASET, tuning.FOREST)}
    beside = {(dataset, algorithm) for dataset, algorithm in models if algorithm != tuning.FOREST}
    assert models == tuned | beside
    of_depths = {f"{name}-{depth}" for name in forests.METHODS.values() for depth in (3, 4)}
    assert {algorithm for _, algorithm in beside} == of_depths | {"random-any"}


def test_the_short_configuration_has_the_same_names():
    short = planned("short")
    whole = planned()
    for fact in ("dataset", "encoding", "algorithm"):
        assert {getattr(r, fact) for r in short} <= {getattr(r, fact) for r in whole}
    parameters = {r.algorithm: (r.solver, r.parameters) for r in whole}
    assert all(parameters[r.algorithm] == (r.solver, r.parameters) for r in short)


@pytest.mark.parametrize(
    ("name", "missing"), {"2": "folds", "3": "folds", "forests": "folds", "rows": "duplicated rows"}.items()
)
def test_a_figure_without_runs_of_its_kind_is_not_drawn(name, missing, record):
    with pytest.raises(NothingToDraw, match=f"no runs on {missing}"):
        PAPER.figures[name](Results(FOLDER, record))


def test_seconds_are_drawn_against_copies_of_the_rows(record, tmp_path):
    settings = [
        {"dataset": "cp4im-anneal", "algorithm": "paper-all", "search_seconds": float(k), "encoding": e}
        for k, e in enumerate(("binary", "binary-x2", "binary-x3", "binary-x4"), 1)
    ]
    copies = pd.concat([record.assign(**setting) for setting in settings], ignore_index=True)
    figure = PAPER.figures["rows"](Results(FOLDER, copies))
    plots.save(figure, tmp_path / "rows.png")
    assert (tmp_path / "rows.png").stat().st_size > 1000
    lines = [line.get_ydata() for line in PAPER.figures["rows"](Results(FOLDER, copies)).axes[0].lines]
    assert any(np.array_equal(line, [1, 2, 3, 4]) and len(line) == 4 for line in lines)


@pytest.mark.parametrize("name", PAPER.tables)
def test_tables_are_made_without_runs_of_theirs(name, record):
    table = PAPER.tables[name](Results(FOLDER, record.assign(algorithm="other", exact=False)))
    assert table.title.startswith("MurTree")
    assert table.result
