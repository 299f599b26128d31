"""Runs of models: planning, execution, records; and the DPDT paper's tables and figures from them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from numba import njit
from support import ROOT
from support.model_runs import model_run, rows
from support.refusal import refused

from optree.bench import papers
from optree.bench.figures.panels import NothingToDraw
from optree.bench.models import estimators, fit, trials
from optree.bench.models.frame import frame
from optree.bench.papers import Results
from optree.bench.peers.declaration import read_peers
from optree.bench.report.reproduce import merged_configuration
from optree.bench.runs import record, store
from optree.bench.runs.plan import plan_runs
from optree.bench.tables.frame import collect, load
from optree.datasets import read_table
from optree.encoding import Encoder, EncodingSpec
from optree.estimators import OptimalTreeClassifier

TABLE = read_table(ROOT / "config" / "datasets.csv")
FOLDER = ROOT / "resources" / "papers" / "dpdt"
NO_RUNS = pd.DataFrame({name: pd.Series(dtype=str) for name in ("dataset", "algorithm", "split", "max_depth")})
TREE, BOOSTED = "DPDTreeClassifier", "DPDTGradientBoostingClassifier"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture(scope="module")
def records(folder):
    wanted = [
        model_run("iris", "cart-3", "DecisionTreeClassifier", parameters={"max_depth": 3}),
        model_run("iris", "dpdt-8-8-8", TREE, parameters={"bounds": False}),
        model_run("xor-board", "dpdt-2", TREE, parameters={"max_depth": 2}),
        model_run("diabetes", "dpdt-regression-3", "DPDTreeRegressor", "1", parameters={"max_depth": 3}),
    ]
    wanted += [
        model_run("iris", "roots-cart", TREE, parameters={"cart_nodes_list": [16]}, root_splits=True),
        model_run("iris", "roots-top", TREE, parameters={"generator": "top"}, root_splits=True),
        model_run("iris", "roots-optimal", "OptimalTreeClassifier", parameters={"max_depth": 2}, root_splits=True),
    ]
    for seed in ("0", "1"):
        wanted.append(model_run("wine", "cart-3", "DecisionTreeClassifier", seed, parameters={"max_depth": 3}))
        wanted += [
            model_run("wine", f"{kind}-cart", BOOSTED, seed, parameters={"n_estimators": 5}, staged=True)
            for kind in ("gb", "xgb")
        ]
        wanted += [
            model_run(
                "wine",
                f"search-{space}",
                estimator,
                seed,
                "0.3",
                {"n_estimators": 2} if "boosted" in space else {},
                space=space,
                trials=4,
            )
            for space, estimator in (
                ("dpdt", TREE),
                ("boosted-dpdt", "AdaBoostDPDT"),
                ("cart", "DecisionTreeClassifier"),
            )
        ]
    return [fit.execute(each, rows(each.dataset, folder)) for each in wanted]


def test_records_are_valid_and_come_back(records, tmp_path):
    for number, made in enumerate(records):
        record.write(made, tmp_path / f"{number}.json")
    read = [record.read(tmp_path / f"{number}.json") | {"cell": str(number)} for number in range(len(records))]
    path = tmp_path / f"{store.job_name((entry['cell'], entry['run']) for entry in read)}.jsonl"
    path.write_text("".join(json.dumps(record.seal(entry)) + "\n" for entry in read))
    assert collect([path], tmp_path / "all.jsonl") == len(records)
    again = load(tmp_path / "all.jsonl")
    table = frame(again)
    assert len(table) == len(records)
    assert table.equals(frame(again[::-1]))
    (tmp_path / "0.json").write_text("{")
    with refused("0.json", "not a record", "delete the file"):
        record.read(tmp_path / "0.json")


def test_what_is_measured(records, folder):
    table = frame(records)
    board = table[table["dataset"].eq("xor-board")].iloc[0]
    assert board["train"] > 0.95
    assert len(board["surface"]) == len(board["surface"][0]) == 100
    assert set(board["surface"][3]) == {"0", "1"}
    wide = table[table["model"].eq("dpdt-8-8-8")].iloc[0]
    assert wide["iterations"] > wide["splits_offered"] > wide["splits"] > 0
    assert wide["train"] >= table[table["dataset"].eq("iris") & table["model"].eq("cart-3")].iloc[0]["train"]
    regression = table[table["dataset"].eq("diabetes")].iloc[0]
    assert (regression["classes"], regression["rows_train"]) == (0, 354)
    assert 0 < regression["test"] < regression["train"] < 1
    for _, search in table[table["trials"].map(len) > 0].iterrows():
        assert len(search["trials"]) == 4
        assert search["trials"][0]["parameters"] == {}
    staged = table[table["staged"].map(len) > 0]
    assert set(staged["staged"].map(len)) == {5}
    for _, one in staged.iterrows():
        assert one["staged"][-1] == pytest.approx(one["test"])


def test_a_fit_that_compiles_does_not_count():
    kernel, fitted = njit(lambda x: x + 1), []

    class Compiling:
        def fit(self, X, y):
            kernel(len(y))
            fitted.append(bool(kernel.signatures))

    fit._timed_fit(Compiling, np.zeros((3, 1)), np.zeros(3), 2)
    assert len(fitted) == 3


def test_rows_held_out_are_for_tests_alone(folder):
    """Check that validation and test rows of a random search are disjoint, and that the fit sees neither."""
    wine = rows("wine", folder)
    wanted = model_run("wine", "search", TREE, "0", "0.3", space="dpdt", trials=2)
    test = fit.test_mask(wine, wanted)
    spoiled = wine._replace(X=np.where(test[:, None], 1e6, wine.X))
    first, second = (fit.execute(wanted, data) for data in (wine, spoiled))
    assert first["train"] == second["train"]
    assert first["test"] != second["test"]


def test_rows_are_capped(folder):
    """Check the limits on training and test rows; all models get the same rows."""
    wine, most = rows("wine", folder), {"train_rows": 50, "test_rows": 20}
    made = fit.execute(model_run("wine", "cart-3", "DecisionTreeClassifier", "0", "0.3", **most), wine)
    assert made["train"]["rows"] == 50
    assert made["test"]["score"] * 20 == pytest.approx(round(made["test"]["score"] * 20))
    test = fit.test_mask(wine, model_run("wine", "cart-3", TREE, "0", "0.3"))
    drawn = fit.sample_rows(~test, 50, 0)
    assert drawn.sum() == 50
    assert not (drawn & test).any()
    assert (fit.sample_rows(~test, None, 0) == ~test).all()
    assert fit.sample_rows(~test, 10_000, 0).sum() == (~test).sum()


def test_ensembles_share_parameters_with_their_trees():
    """Check that parameters reach the ensemble or its trees, and that bagged optimal trees are optimal."""
    X = np.random.RandomState(0).random_sample((60, 6)) > 0.5
    y = (X[:, 0] ^ X[:, 1]).astype(int)
    parameters = {"n_estimators": 7, "max_features": 0.5, "max_depth": 2, "regularization": 0}
    bagged = estimators.make("BaggedOptimalTrees", parameters, 3).fit(X, y)
    assert (len(bagged.estimators_), bagged.max_features, bagged.random_state) == (7, 0.5, 3)
    for tree, drawn, columns in zip(
        bagged.estimators_, bagged.estimators_samples_, bagged.estimators_features_, strict=True
    ):
        assert (tree.max_depth, tree.status_, len(columns)) == (2, "optimal", 3)
        alone = OptimalTreeClassifier(0, max_depth=2).fit(X[drawn][:, columns], y[drawn])
        assert tree.cost_ == alone.cost_
    boosted = estimators.make("AdaBoostCART", {"learning_rate": 0.5, "max_depth": 1, "max_features": "sqrt"}, 4)
    assert (boosted.learning_rate, boosted.random_state) == (0.5, 4)
    assert (boosted.estimator.max_depth, boosted.estimator.max_features, boosted.estimator.random_state) == (
        1,
        "sqrt",
        4,
    )


@pytest.mark.parametrize(("cuts", "most"), [("mdlp", None), ("quantiles", 3), ("quantiles", None), ("distinct", 5)])
def test_a_tree_over_chosen_thresholds_is_the_optimum_over_them(cuts, most, folder):
    wine = rows("wine", folder)
    train = np.arange(len(wine.y)) % 3 > 0
    X, y = wine.X[train], wine.y[train]
    model = estimators.make("OptimalTreeOverThresholds", {"cuts": cuts, "max_cuts": most, "max_depth": 2}, 0).fit(X, y)
    encoder = Encoder(EncodingSpec(cuts=cuts, max_cuts=most)).fit(X, y)  # a binary feature for each threshold
    codes = encoder.transform(X)
    assert model.counters_["splits"] == codes.shape[1]
    best = OptimalTreeClassifier(0, max_depth=2).fit(codes, y)
    assert (model.status_, model.model_.cost_) == ("optimal", best.cost_)
    assert model.score(X, y) == best.score(codes, y)
    sides = [(codes == row).all(axis=1) for row in encoder.transform(wine.X[~train])]
    same = [(np.flatnonzero(side)[0], number) for number, side in enumerate(sides) if side.any()]
    predicted = model.predict(wine.X[~train])
    assert all(predicted[number] == model.predict(X)[twin] for twin, number in same)


def test_a_tree_without_thresholds_is_a_leaf():
    X, y = np.random.RandomState(0).random_sample((30, 2)), np.arange(30) % 3 > 0
    model = estimators.make("OptimalTreeOverThresholds", {"cuts": "mdlp", "max_depth": 2}, 0).fit(X, y)
    assert (model.status_, model.counters_, model.score(X, y)) == ("optimal", {"splits": 0}, pytest.approx(2 / 3))


def test_parameters_are_drawn_as_the_paper_says():
    for space in trials.SPACES:
        random = np.random.RandomState(0)
        drawn = [trials.sample(space, random) for _ in range(2000)]
        rows = [parameters["min_samples_leaf"] for parameters in drawn]
        assert (min(rows), max(rows)) == (2, 50)
        assert abs(np.mean(np.log(rows)) - np.log(1.5 * 50.5) / 2) < 0.1
        if space == "streed":
            assert {parameters["max_splits"] for parameters in drawn} == {3, 5, 7, 11, 17, 25, 31}
            assert {parameters["n_thresholds"] for parameters in drawn} == {5, 10, 20, 50}
            continue
        share = np.mean([parameters["min_impurity_decrease"] == 0 for parameters in drawn])
        assert abs(share - 0.85) < 0.03
        deepest = max(parameters["max_depth"] for parameters in drawn)
        assert deepest == (3 if "boosted" in space else 5)
        assert ("cart_nodes_list" in drawn[0]) == ("dpdt" in space)


CONFIG = {
    "limits": {},
    "test_size": "0.2",
    "encodings": {"binary": {}},
    "algorithms": {
        "tree": {"solver": TREE, "parameters": {}},
        "search": {"solver": TREE, "space": "dpdt", "trials": 3},
        "grid": {"solver": "RandomForestClassifier", "grid": {"max_depth": [None, 2]}},
    },
}
ENTRY = {"datasets": ["iris", "wine"], "algorithms": ["tree"], "splits": ["full", 0]}


def test_runs_of_models_are_planned_in_order_and_once():
    planned = plan_runs({**CONFIG, "experiments": [ENTRY, ENTRY]}, TABLE)
    assert [(one.dataset, one.encoding, one.split) for one in planned] == [
        ("iris", None, "full"),
        ("iris", None, "0"),
        ("wine", None, "full"),
        ("wine", None, "0"),
    ]
    assert {(one.solver, one.regularization) for one in planned} == {(TREE, None)}


@pytest.mark.parametrize(
    ("algorithms", "entry", "words"),
    [
        ({}, {"datasets": ["nothing"]}, ["experiments[0]: dataset", "'nothing'"]),
        ({}, {"algorithms": ["bush"]}, ["experiments[0]: algorithm", "'bush'", "the nearest are search"]),
        ({}, {"algorithms": ["search"]}, ["'search'", "rows held out"]),
        ({"bush": {"solver": "Bush"}}, {}, ["algorithm 'bush': solver", "'Bush'", "the nearest are"]),
        ({"bush": {"solver": TREE, "parameters": {"leaves": 3}}}, {}, ["algorithms.bush: parameters", "leaves"]),
        ({"bush": {"solver": TREE, "space": "all", "trials": 2}}, {}, ["algorithms.bush: space", "'all'", "boosted"]),
        ({"bush": {"solver": TREE, "trials": 2}}, {}, ["algorithms.bush", "both space and trials"]),
        (
            {"bush": {"solver": TREE, "space": "dpdt", "trials": 2, "grid": {"max_depth": [2]}}},
            {},
            ["algorithms.bush", "grid and space = 'dpdt'", "leave one out"],
        ),
        ({"bush": {"solver": TREE, "grid": {"leaves": [3]}}}, {}, ["algorithms.bush: parameters", "leaves"]),
        ({}, {"encodings": ["unary"]}, ["encoding", "'unary'", "binary"]),
        ({}, {"algorithms": ["grid"]}, ["'grid'", "rows held out"]),
        ({}, {"encodings": ["binary"], "splits": [0], "datasets": ["diabetes"]}, ["'diabetes'", "cannot be encoded"]),
        ({}, {"splits": ["9of5"]}, ["'9of5'", "1of5"]),
        ({}, {"algorithms": ["cart"]}, ["'cart' is a search", "needs regularization"]),
        ({"bush": {"solver": "cart", "staged": True}}, {}, ["'bush'", "staged is for models only"]),
    ],
)
def test_misuse_is_refused(algorithms, entry, words):
    named = {"algorithms": ["bush"]} if algorithms else {}
    config = {**CONFIG, "algorithms": CONFIG["algorithms"] | algorithms, "experiments": [ENTRY | named | entry]}
    with refused(*words):
        plan_runs(config, TABLE)


def test_one_run_asked_for_in_two_ways_is_refused():
    with refused("tree on iris", "asked for twice"):
        plan_runs({**CONFIG, "experiments": [ENTRY, ENTRY | {"test_size": "0.3"}]}, TABLE)


@pytest.mark.parametrize(("level", "models"), [(None, 755), ("short", 124), ("smoke", 2), ("grinsztajn", 69)])
def test_what_ships_can_be_planned(level, models):
    planned = plan_runs(merged_configuration(ROOT, "dpdt.yaml", level), TABLE, read_peers(ROOT / "workflow" / "peers"))
    assert sum(run.model is not None for run in planned) == models


# The paper


@pytest.mark.parametrize("name", papers.get("dpdt").tables)
def test_tables_are_made_of_what_is_there(name, records):
    make = papers.get("dpdt").tables[name]
    assert set(make(Results(FOLDER, NO_RUNS, frame([]))).data["verdict"]) == {"not run"}
    assert len(make(Results(FOLDER, NO_RUNS, frame(records))).data) > 1


def test_regression_on_other_sets_is_shown_beside_the_papers(records):
    data = papers.get("dpdt").tables["5"](Results(FOLDER, NO_RUNS, frame(records))).data
    own = data[data["row"].eq("diabetes") & data["verdict"].eq("other data")]
    assert list(own["claim"]) == ["train R2, %", "test R2, %"]
    assert list(own["paper"]) == ["", ""]
    assert (own["measured"].astype(float) > 10).all()
    assert data.loc[data["paper"].ne(""), "verdict"].eq("not run").all()


def test_printed_numbers_are_judged(records):
    """Check verdicts on a reproduced record, another value, and a misprint of the paper."""
    source = next(made for made in records if made["run"]["algorithm"] == "dpdt-8-8-8")

    def record(dataset, model, train, iterations):
        counters = {"iterations": iterations, "splits": 1193}
        wanted = vars(model_run(dataset, model, TREE))
        return source | {"run": wanted, "train": source["train"] | {"score": train}, "counters": counters}

    made = [
        record("raisin-train", "dpdt-16-16-16", 0.8861, 20762),
        record("rice-train", "dpdt-16-16-16", 0.9, 30000),
        record("page-train", "top-16-1-1", 0.9644, 70),
        record("raisin-train", "dpdt-8-8-8", 0.88611, 0),
    ]
    data = papers.get("dpdt").tables["1"](Results(FOLDER, NO_RUNS, frame(made))).data
    verdicts = {(row["row"], row["model"], row["claim"]): row["verdict"] for _, row in data.iterrows()}
    assert verdicts["raisin", "dpdt-16-16-16", "accuracy"] == "reproduced (rounded)"
    assert verdicts["raisin", "dpdt-16-16-16", "operations"] == "within 3 %"
    assert verdicts["raisin", "Quant-BnB", "optimum, not below DPDT"] == "consistent with the optimum"
    assert verdicts["rice", "dpdt-16-16-16", "accuracy"] == "not reproduced"
    assert verdicts["rice", "dpdt-16-16-16", "operations"] == "not reproduced"
    assert verdicts["page", "top-16-1-1", "operations"] == "paper contradicts itself"
    assert verdicts["skin", "cart-3", "accuracy"] == "not run"
    data = papers.get("dpdt").tables["4"](Results(FOLDER, NO_RUNS, frame(made))).data
    found = data[data["row"].eq("raisin") & data["model"].eq("dpdt-8-8-8")]
    assert found["verdict"].tolist() == ["reproduced (rounded)", "reproduced"]


def test_candidate_splits_of_the_root_are_compared_with_the_optimal_root(records, folder):
    X = rows("iris", folder).X
    data = papers.get("dpdt").tables["4-5"](Results(FOLDER, NO_RUNS, frame(records))).data.set_index("model")
    kept = {made["run"]["algorithm"]: made["model"]["root_splits"] for made in records}
    ((optimum, _),) = kept["roots-optimal"]

    def left(test):
        column, threshold = test.split(" <= ")
        return X[:, int(column[1:])] <= float(threshold)

    assert len(kept["roots-cart"]) > 4
    for test, bits in kept["roots-cart"]:
        assert np.array_equal(np.unpackbits(np.frombuffer(bytes.fromhex(bits), np.uint8))[: len(X)], left(test))
    shares = [(left(test) == left(optimum)).mean() for test, _ in kept["roots-cart"]]
    best = max(max(share, 1 - share) for share in shares)
    shown = data.loc["roots-cart"].set_index("claim")["measured"]
    assert shown["resembles the optimum's root"].endswith(f", {100 * best:.1f} % of rows")
    assert data.loc["roots-top-columns", "verdict"] == "not run"


@pytest.fixture
def without_notes(monkeypatch):
    """Make tables without notes on machines, which made-up runs do not have."""
    monkeypatch.setattr("optree.bench.papers.dpdt.paper._machine", lambda runs: ())


def test_dpdt_is_compared_with_the_optimum_and_with_the_printed_operations(without_notes):
    def runs(*rows):
        return pd.DataFrame([dict(zip(("dataset", "model", "split", "train", "status", "iterations", "splits"),
                                      row, strict=True)) for row in rows])  # fmt: skip

    made = runs(
        ("rice-train", "dpdt-16-16-16", "full", 0.937, "heuristic", 25500, 7),
        ("rice-train", "optimal", "full", 0.938, "optimal", 1, 7),
        ("bean-train", "dpdt-16-16-16", "full", 0.853, "heuristic", 25900, 7),
        ("bean-train", "optimal", "full", 0.871, "optimal", 1, 7),
        ("room-train", "dpdt-16-16-16", "full", 0.98, "heuristic", 16100, 7),
        ("room-train", "optimal", "full", 0.992, "optimal", 1, 7),
    )
    data = papers.get("dpdt").tables["1"](Results(FOLDER, NO_RUNS, made.reindex(columns=frame([]).columns))).data
    verdicts = data.set_index(["row", "claim"])["verdict"]
    assert verdicts["rice", "of the optimum's accuracy, %"] == "reproduced"
    assert verdicts["bean", "of the optimum's accuracy, %"] == "paper contradicts itself"  # 0.853 / 0.871 < 0.99
    assert verdicts["room", "of the optimum's accuracy, %"] == "not reproduced"
    assert verdicts["bean", "Quant-BnB's printed operations, as a multiple"] == "recomputed"
    assert verdicts["room", "Quant-BnB's printed operations, as a multiple"] == "paper contradicts itself"  # 62 times


def searched(dataset: str, trials: int, decides: str = "min_samples_leaf") -> dict:
    """Return a random search whose scores depend on one hyperparameter, and a little on two others."""
    names, random = ("min_samples_leaf", "max_depth", "cart_nodes_list", "max_features"), np.random.RandomState(0)
    drawn = [dict(zip(names, random.randint(1, 9, 4).tolist(), strict=True)) for _ in range(trials)]
    weight = {name: 1.0 if name == decides else w for name, w in zip(names, (0.2, 0.4, 0.3, 0.0), strict=True)}
    scored = [{"parameters": one, "test": sum(weight[name] * one[name] for name in names)} for one in drawn]
    return {"dataset": dataset, "model": "search-dpdt", "trials": [{"parameters": {}, "test": 0.5}, *scored]}


@pytest.mark.parametrize(
    ("sets", "trials", "decides", "verdicts"),
    [
        (8, 60, "min_samples_leaf", ["reproduced", "reproduced"]),
        (8, 60, "max_features", ["other data", "reproduced"]),
        (7, 60, "min_samples_leaf", ["undecided", "undecided"]),
        (8, 40, "min_samples_leaf", ["undecided", "undecided"]),
    ],
)
def test_hyperparameters_are_ranked_by_their_importance(sets, trials, decides, verdicts, without_notes):
    runs = pd.DataFrame([searched(f"d{k}", trials, decides) for k in range(sets)])
    data = papers.get("dpdt").tables["2"](Results(FOLDER, NO_RUNS, runs.reindex(columns=frame([]).columns))).data
    ranks = data[data["row"].eq("all") & data["model"].eq("search-dpdt")]
    assert ranks["measured"].tolist() == [decides, "cart_nodes_list"]
    assert ranks["verdict"].tolist() == verdicts
    shares = data[data["model"].eq("search-dpdt") & data["claim"].eq("importance, %") & data["measured"].ne("")]
    assert shares["measured"].astype(float).sum() == pytest.approx(100, abs=0.5)


@pytest.mark.parametrize(
    ("sets", "verdicts"), [(8, ["reproduced", "not reproduced", "reproduced"]), (7, ["undecided"] * 3)]
)
def test_random_searches_of_dpdt_are_compared_with_cart_and_streed(sets, verdicts, without_notes):
    def search(dataset, model, score, seconds):
        trials = [{"valid": score, "test": score, "seconds": seconds}] * 50
        return {"dataset": f"d{dataset}", "model": f"search-{model}", "trials": trials}

    rivals = ("dpdt", 0.8, 1.0), ("cart", 0.7, 0.5), ("streed", 0.9, 5.0)
    runs = pd.DataFrame([search(dataset, *rival) for dataset in range(sets) for rival in rivals])
    data = papers.get("dpdt").tables["searches"](Results(FOLDER, NO_RUNS, runs.reindex(columns=frame([]).columns))).data
    assert data["verdict"].tolist() == verdicts


@pytest.mark.parametrize("name", papers.get("dpdt").figures)
def test_figures_are_drawn_of_what_is_there(name, records, tmp_path):
    make = papers.get("dpdt").figures[name]
    with pytest.raises(NothingToDraw):
        make(Results(FOLDER, NO_RUNS, frame([])))
    figure = make(Results(FOLDER, NO_RUNS, frame(records)))
    figure.savefig(tmp_path / "figure.png")
    assert figure.axes
