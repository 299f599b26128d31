"""Peers that split columns of numbers, and the comparison of trees over all thresholds."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from support import ROOT
from support.model_runs import model_run, rows
from support.peers import DECLARATION, HONEST, TROUBLE, write
from support.peers import run as run_stub
from support.refusal import refused
from support.runs import encoded

from optree.bench import papers
from optree.bench.figures.panels import NothingToDraw
from optree.bench.models import fit
from optree.bench.models.frame import frame
from optree.bench.models.trials import run_trials
from optree.bench.papers import Results
from optree.bench.peers.declaration import read_peers
from optree.bench.peers.estimator import PeerModel
from optree.bench.report.reproduce import merged_configuration
from optree.bench.runs import record
from optree.bench.runs.folds import held_out
from optree.bench.runs.plan import plan_runs
from optree.datasets import read_table
from optree.encoding.cells import number_text

FOLDER = ROOT / "resources" / "papers" / "continuous"
NUMERIC = DECLARATION.replace("[binary]", "[binary, numeric]")
# A peer that splits the first column at its mean, and claims the test's values.
STUMP = """
import numpy as np
PACKAGES = ("numpy",)

def search(X, y, request):
    cut = float(X[:, 0].mean())
    parts = [y[X[:, 0] <= cut], y[X[:, 0] > cut]]
    return cut, sum(np.bincount(part).max() for part in parts if len(part)) / len(y)

def answer(model, request):
    tree = {"feature": 0, "threshold": model[0], "children": [{}, {}]}
    return {"status": "optimal", "tree": tree, "objective": model[1] + %s}
"""
X = np.random.RandomState(0).random_sample((90, 3))
Y = np.where(X[:, 0] > 0.5, 7, 3)


def fitted(folder, code, declaration=NUMERIC, reason="", y=Y, **limits):
    folder.mkdir(exist_ok=True)
    write(folder, code, declaration)
    (folder / "stub.json").write_text(json.dumps({"python": sys.executable, "reason": reason}))
    return PeerModel("stub", 2, folder=folder, markers=folder, **limits).fit(X, y)


def test_the_tree_of_a_peer_is_judged_on_the_rows(tmp_path):
    model = fitted(tmp_path, STUMP % "0.0")
    assert (model.status_, model.tree_.n_splits) == ("optimal", 1)
    right = np.where(X[:, 0] > X[:, 0].mean(), 7, 3)
    assert model.predict(X).tolist() == right.tolist()
    assert model.score(X, Y) == (right == Y).mean()
    assert model.measured_["wall"] > 0
    assert model.measured_["processor"] >= 0
    assert model.measured_["peak"] > 5


# A peer of values, which splits the first column at its mean and claims R2.
MEANS = """
PACKAGES = ("numpy",)

def search(X, y, request):
    cut, rest = float(X[:, 0].mean()), y.astype(float)
    for part in (X[:, 0] <= cut, X[:, 0] > cut):
        rest[part] -= y[part].mean() if part.any() else 0
    return cut, 1 - (rest**2).mean() / y.var()

def answer(model, request):
    tree = {"feature": 0, "threshold": model[0], "children": [{}, {}]}
    return {"status": "heuristic", "tree": tree, "objective": model[1] + %s}
"""


@pytest.mark.parametrize(("more", "agrees"), [("0.0", True), ("0.01", False)])
def test_the_tree_of_a_peer_of_values_is_judged_by_its_squared_error(tmp_path, more, agrees):
    y, above = X[:, 0] ** 2 + X[:, 1] / 9, X[:, 0] > X[:, 0].mean()
    model = fitted(tmp_path, MEANS % more, NUMERIC + "targets: [values]\n", y=y)
    assert (model.status_, model.reason_ == "") == ("heuristic", agrees)
    assert np.allclose(model.predict(X), np.where(above, y[above].mean(), y[~above].mean()))
    assert model.score(X, y) == pytest.approx(1 - ((y - model.predict(X)) ** 2).mean() / y.var())
    with refused("target: 'values'", "accepted: classes"):
        fitted(tmp_path / "classes", MEANS % more, y=y)


def test_a_claim_that_the_tree_refutes_is_no_certificate(tmp_path):
    model = fitted(tmp_path, STUMP % "0.01")
    assert model.status_ == "wrong_certificate"
    assert "claims the accuracy" in model.reason_


@pytest.mark.parametrize(
    ("line", "limits", "status"),
    [("raise RuntimeError('no')", {}, "error"), ("time.sleep(60)", {"time_limit": 0.1}, "time_limit")],
)
def test_trouble_is_a_result(tmp_path, line, limits, status):
    model = fitted(tmp_path, TROUBLE.format(trouble=line), **limits)
    assert (model.status_, model.tree_, model.score(X, Y)) == (status, None, None)


def test_a_random_search_tries_a_peers_own_parameters_and_a_trial_without_a_tree_scores_as_a_leaf(tmp_path):
    """The stub gives a tree for at most ten thresholds, and keeps a record of its requests."""
    keeps = f"""
    with open({str(tmp_path / "asked")!r}, "a") as file:
        file.write(json.dumps(request) + chr(10))
"""
    code = "import json\n" + (STUMP % "0.0").replace(
        "def search(X, y, request):\n", f"def search(X, y, request):{keeps}"
    )
    code = code.replace("    tree = {", "    tree = None if request['parameters']['n_thresholds'] > 10 else {")
    declared = NUMERIC.replace("max_depth]", "max_depth, max_splits, min_samples_leaf]")
    write(tmp_path, code, declared + "  n_thresholds: {type: int, default: 5, doc: quantiles}\n")
    (tmp_path / "stub.json").write_text(json.dumps({"python": sys.executable, "reason": ""}))
    run = model_run("d", "search", "Peer", "0", parameters={"peer": "stub", "max_depth": 2}, space="streed", trials=9)
    test = np.arange(len(Y)) % 3 == 0
    tried = run_trials(run, X, Y, ~test, test, {"folder": tmp_path, "markers": tmp_path})
    asked = [json.loads(line) for line in (tmp_path / "asked").read_text().splitlines()]
    for trial in tried:
        has_tree = trial["parameters"].get("n_thresholds", 5) <= 10
        assert (trial["test"] > 0.8) == has_tree
        assert trial["seconds"] >= 0
    for name in ("max_splits", "min_samples_leaf"):
        assert {trial["parameters"][name] for trial in tried[1:]} <= {request[name] for request in asked}
    assert {request["parameters"]["n_thresholds"] for request in asked} > {5}


@pytest.mark.parametrize("fold", ["full", "1"])
def test_a_search_of_such_a_peer_reads_numbers_and_keeps_its_threshold(tmp_path, fold):
    made = run_stub(write(tmp_path, STUMP % "-0.01", NUMERIC), "iris", "numbers", split=fold, max_depth=1)
    problem = encoded("iris", "numbers")[0]
    lengths, test = problem.columns.as_numbers().X[:, 0], held_out(problem.y, fold, "0.2")
    mean = lengths[~test].mean()
    (feature,) = made["tree"]["features"].values()
    assert feature["name"] == f"sepal length <= {number_text(mean)}"
    assert (made["status"], made["reason"]) == ("optimal", "")
    above = lengths > mean
    majority = np.array([np.bincount(problem.y[~test & (above == side)]).argmax() for side in (False, True)])
    wrong = majority[above.astype(int)] != problem.y
    assert made["train"]["errors"] == wrong[~test].sum()
    assert made["test"] is None if fold == "full" else made["test"]["errors"] == wrong[test].sum()


def test_a_peer_without_numbers_gets_a_feature_for_each_threshold(tmp_path):
    made = run_stub(write(tmp_path, HONEST), "iris", "numbers", split="0")
    coded = run_stub(tmp_path / "stub", "iris", "all-thresholds", split="0")
    for key in ("status", "tree", "train", "test", "cost", "claim"):
        assert made[key] == coded[key]
    small = run_stub(tmp_path / "stub", "iris", "numbers", limits={"seconds": 5, "memory_mib": 0.01})
    assert small["status"] == "memory_limit"
    assert small["reason"].startswith(
        "solver stub takes no columns of numbers; their thresholds are 119 binary features"
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"feature": 9}, "splits column 9 into 2 parts, which is none of ours"),
        ({"threshold": 99.0}, "splits column 0 at 99.0, which separates no two rows"),
        ({"threshold": "much"}, "cannot be read (ValueError"),
        ({"children": [{}]}, "splits column 0 into 1 parts"),
    ],
)
def test_a_tree_over_numbers_that_cannot_be_is_an_error(tmp_path, changes, words):
    code = STUMP.replace('"children": [{}, {}]}', '"children": [{}, {}]} | ' + repr(changes)) % "0"
    made = run_stub(write(tmp_path, code, NUMERIC), "iris", "numbers", max_depth=1)
    assert made["status"] == "error"
    assert words in made["reason"]


def test_a_peer_that_could_not_be_installed_is_skipped(tmp_path):
    model = fitted(tmp_path, STUMP % "0", reason="cannot be installed: no wheel")
    assert (model.status_, model.reason_, model.score(X, Y)) == ("skipped", "cannot be installed: no wheel", None)


def test_a_peer_that_splits_no_numbers_is_refused(tmp_path):
    with refused("model: peer 'stub' splits no columns of numbers"):
        fitted(tmp_path, STUMP % "0", DECLARATION)
    peers = read_peers(tmp_path)
    config = {
        "limits": {},
        "test_size": "0.2",
        "algorithms": {"it": {"solver": "Peer", "parameters": {"peer": "stub", "max_depth": 2}}},
        "experiments": [{"datasets": ["iris"], "algorithms": ["it"], "splits": ["full"]}],
    }
    with refused("config: algorithms.it: peer: 'stub' is not known"):
        plan_runs(config, {"iris"}, peers)


@pytest.mark.parametrize("level", [None, "short", "smoke"])
def test_the_levels_ask_for_what_there_is(level):
    config = merged_configuration(ROOT, "continuous.yaml", level)
    planned = plan_runs(config, read_table(ROOT / "config" / "datasets.csv"), read_peers(ROOT / "workflow" / "peers"))
    sets = {row["dataset"] + "-train" for row in pd.read_csv(FOLDER / "quantbnb.csv").to_dict("records")} - {
        "skin-train"
    }
    used = {asked.dataset for asked in planned if asked.split == "full" and asked.model is not None}
    assert used == sets if level is None else used < sets | {"iris", "wine", "breast_cancer"}


@pytest.mark.parametrize(("level", "sets"), [(None, 10), ("short", 4), ("smoke", 1)])
def test_the_levels_of_the_regressions_ask_for_what_there_is(level, sets):
    config = merged_configuration(ROOT, "regression.yaml", level)
    planned = plan_runs(config, read_table(ROOT / "config" / "datasets.csv"), {})
    assert len({asked.dataset for asked in planned}) == sets
    assert {asked.solver for asked in planned} == {
        "OptimalTreeRegressor",
        "DPDTreeRegressor",
        "DecisionTreeRegressor",
    }


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """Return records of iris as our estimator and CART make them."""
    made = []
    for estimator, model in (("OptimalTreeClassifier", "optimal"), ("DecisionTreeClassifier", "cart")):
        extra = {"regularization": 0} if model == "optimal" else {}
        asked = model_run("iris", f"{model}-3", estimator, parameters={"max_depth": 3, **extra}, repeats=3)
        made.append(fit.execute(asked, rows("iris", tmp_path_factory.mktemp("tables"))))
    return made


def altered(made, dataset, model, train, status="optimal", seconds=1.0):
    changed = json.loads(json.dumps(made))
    changed["run"] |= {"dataset": dataset, "algorithm": model}
    changed["seconds"]["processor"] = seconds
    return changed | {"train": changed["train"] | {"score": train}, "status": status}


def test_a_record_has_the_tree_and_is_valid(records, tmp_path):
    ours = records[0]
    assert ours["status"] == "optimal"
    assert ours["train"]["score"] >= records[1]["train"]["score"]
    assert len(ours["tree"]["feature"]) == 2 * ours["size"]["splits"] + 1
    record.write(ours, tmp_path / "record.json")
    assert record.read(tmp_path / "record.json") == json.loads(json.dumps(record.seal(ours)))
    record.write(altered(ours, "iris", "contree-3", None, "skipped"), tmp_path / "record.json")


NO_RUNS = pd.DataFrame(
    columns=["dataset", "algorithm", "split", "encoding", "max_depth", "accuracy_train", "status", "search_seconds"]
)


def compared(name, made, runs=NO_RUNS):
    return papers.get("continuous").tables[name](Results(FOLDER, runs, frame(made)))


def test_accuracies_are_set_beside_printed_ones_and_other_proofs(records):
    made = [
        altered(records[0], "rice-train", "optimal-3", 0.93799),
        altered(records[0], "rice-train", "contree-3", 0.93799),
        altered(records[0], "wilt-train", "optimal-3", 0.9),
        altered(records[0], "wilt-train", "contree-3", 0.95),
        altered(records[0], "bank-train", "contree-3", None, "skipped"),
        altered(records[1], "bank-train", "cart-3", 0.9, "time_limit"),
    ]
    found = compared("accuracy", made)
    data = found.data.set_index("dataset")
    assert data.loc["rice", "verdict"] == "reproduced (rounded), as ConTree"
    assert data.loc["wilt", "verdict"] == "not reproduced, proofs disagree"
    assert (data.loc["bank", "contree"], data.loc["bank", "cart"]) == ("skipped", "0.9000 (time limit)")
    assert "1 of them contradict" in found.result
    claims = found.claims.set_index("claim")["verdict"]
    better = "{}, depth 3: no tree is better than the optimum"
    assert (claims[better.format("rice")], claims[better.format("wilt")]) == ("reproduced", "not reproduced")
    assert better.format("bank") not in claims


def test_ratios_are_of_pairs_that_end(records):
    made = [
        altered(records[0], "rice-train", "optimal-3", 0.9, seconds=0.5),
        altered(records[0], "rice-train", "contree-3", 0.9, seconds=2.0),
        altered(records[0], "wilt-train", "optimal-3", 0.9, seconds=0.5),
        altered(records[0], "wilt-train", "contree-3", 0.9, "time_limit", seconds=50.0),
    ]
    found = compared("seconds", made)
    assert found.data.set_index("dataset")["ratio"].dropna().to_dict() == {"rice": 4.0}
    assert "depth 3, more classes: 4.0" in found.result


def test_what_few_thresholds_lose(records):
    made = [altered(records[0], "rice-train", "optimal-3", 0.95)]
    row = {"dataset": "rice-train", "algorithm": "allthresholds", "split": "full", "max_depth": 3}
    runs = pd.DataFrame([row | {"encoding": f"cuts-{n}", "accuracy_train": 0.95 - 0.1 / n} for n in (20, 5)])
    data = compared("thresholds", made, runs).data
    assert list(data.columns) == ["dataset", "depth", "all, %", "5 lost", "20 lost"]
    assert data.loc[0, "5 lost"] == pytest.approx(2.0)


def folded(records, dataset, model, test, train, seconds=1.0, splits=10, folds=2):
    """Return records of a model on folds, with these scores."""
    made = []
    for fold in range(1, folds + 1):
        one = altered(records[0], dataset, model, train)
        one["run"]["split"] = f"{fold}of{folds}"
        one["counters"] |= {"splits": splits}
        one["seconds"]["search"] = seconds
        made.append(one | {"test": one["train"] | {"score": test}})
    return made


def test_chosen_thresholds_stand_beside_all_of_them(records, tmp_path):
    made = []
    for number, name in enumerate("abcdefg"):
        made += folded(records, name, "all-3", 0.8, 0.9, 4.0, 100)
        made += folded(records, name, "mdlp-3", 0.82 + number / 1000, 0.85, 1.0, 7)
        made += folded(records, name, "quantiles-10-3", 0.8, 0.88, 2.0, 20)
    made += folded(records, "a", "mdlp-2", 0.7, 0.7) + folded(records, "a", "optimal-2", 0.7, 0.7)
    found = compared("discretisation", made)
    assert found.data["choice"].value_counts().to_dict() == {"mdlp": 8, "all": 7, "quantiles-10": 7}
    one = found.data[found.data["dataset"].eq("b") & found.data["choice"].eq("mdlp")].iloc[0]
    assert one[["thresholds", "folds", "proofs", "ratio"]].tolist() == [7, 2, 2, 0.25]
    assert (one["train_gain"], one["test_gain"]) == (pytest.approx(-5), pytest.approx(2.1))
    assert found.shown["choice"].tolist()[:4] == ["mdlp", "mdlp", "quantiles-10", "all"]
    assert found.result.split("; ") == [
        "mdlp, depth 3: -5.00 training, +2.30 test (7 better, 0 worse, p = 0.016), 0.25 of the seconds of search, 1 of "
        "whole calls",
        "quantiles-10, depth 3: -2.00 training, +0.00 test (0 better, 0 worse), 0.5 of the seconds of search, 1 of "
        "whole calls.",
    ]
    figure = papers.get("continuous").figures["discretisation"](Results(FOLDER, NO_RUNS, frame(made)))
    means = {line.get_label(): line.get_data() for line in figure.axes[1].lines if line.get_label()[0] != "_"}
    assert means["mdlp"][0] == pytest.approx(0.25)
    assert means["mdlp"][1] == pytest.approx(2.3)
    with pytest.raises(NothingToDraw):
        papers.get("continuous").figures["discretisation"](Results(FOLDER, NO_RUNS))


def test_trees_are_drawn(records):
    draw = papers.get("continuous").figures["trees"]
    made = [altered(records[0], name, "optimal-3", 0.9) for name in "abc"]
    assert len(draw(Results(FOLDER, NO_RUNS, frame(made))).axes) == 3
    with pytest.raises(NothingToDraw):
        draw(Results(FOLDER, NO_RUNS))


def test_growth_is_drawn_of_what_was_proven(records):
    draw = papers.get("continuous").figures["growth"]
    made = [altered(records[0], "large", "optimal-3", 0.9, status) for status in ("optimal", "time_limit", "optimal")]
    for number, entry in enumerate(made):
        entry["run"]["split"], entry["train"]["rows"] = str(number), 10 ** (number + 1)
    row = {"dataset": "rice-train", "algorithm": "allthresholds", "split": "full", "max_depth": 3, "status": "optimal"}
    runs = pd.DataFrame([row | {"encoding": f"cuts-{n}", "accuracy_train": 0.9, "search_seconds": n} for n in (20, 5)])
    rows, cuts = draw(Results(FOLDER, runs, frame(made))).axes
    assert rows.lines[0].get_xdata().tolist() == [10.0, 1000.0]
    assert cuts.lines[0].get_xdata().tolist() == [5.0, 20.0]
    with pytest.raises(NothingToDraw):
        draw(Results(FOLDER, NO_RUNS))


@pytest.mark.parametrize("name", papers.get("continuous").tables)
def test_tables_without_any_fit(name):
    assert compared(name, []).data.empty
