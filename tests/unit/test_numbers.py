"""Encodings that keep numbers: files, folds, solvers that take numbers, and all others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support import ROOT, runs
from support.declared import PROGRAMS
from support.modes import seeds
from support.refusal import refused

from optree import OptimalTreeClassifier, solvers
from optree.bench.models.fit import load_rows
from optree.bench.models.frame import frame as model_frame
from optree.bench.peers.declaration import read_peers
from optree.bench.report.first_page import Command, first_page
from optree.bench.report.reproduce import merged_configuration
from optree.bench.runs.encode import encode, parse_encoding
from optree.bench.runs.folds import held_out
from optree.bench.runs.plan import plan_runs
from optree.bench.runs.record import Run
from optree.bench.runs.solve import solve, solve_in_child
from optree.bench.tables.frame import frame
from optree.bench.tables.summary import summary
from optree.budget import rss_mib
from optree.datasets import Dataset, fetch, load_table, save_table
from optree.datasets.propose import propose
from optree.encoding import EncodingSpec
from optree.encoding.problem_files import load_problem, save_problem
from optree.encoding.table_columns import TableColumns
from optree.objective import Objective
from optree.problem import Problem
from optree.target import Classes
from optree.tree import LEAF, Tree

NUMBERS = EncodingSpec("onehot", numeric="numbers")


def table(random, rows: int, missing: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Return mixed columns, some of one value or two, and classes."""
    X = pd.DataFrame(
        {
            "a": random.randint(0, random.choice([2, 4, 30]), rows) / 4,
            "b b": random.random_sample(rows).round(random.randint(1, 4)),
            "text": random.choice(["u, v", "w", "?"], rows).astype(object),
            "constant": np.ones(rows),
        }
    )
    if missing:
        X["order"] = pd.Categorical(random.choice(["low", "mid", "high"], rows), ["low", "mid", "high"], ordered=True)
        for name, nothing in (("a", np.nan), ("text", None)):
            X.loc[random.random_sample(rows) < 0.2, name] = nothing
    return X, (X["b b"] > 0.4).to_numpy() ^ (random.random_sample(rows) < 0.3)


def own_file(folder, X: pd.DataFrame, y: np.ndarray, fields: dict):
    """Write a user's file and encode it, as the workflow does; return the dataset's row, table and encoded file."""
    X.assign(y=np.where(y, "yes", "no")).to_csv(folder / "own.csv", index=False)
    row, _ = propose(folder / "own.csv", "y")
    save_table(fetch(row, folder), folder / "table.csv")
    spec, copies = parse_encoding(fields)
    encode(folder / "table.csv", row, spec, folder / "own.npz", copies)
    return row, load_table(folder / "table.csv", row), folder / "own.npz"


def errors_by_name(made: dict, X: pd.DataFrame, y: np.ndarray) -> int:
    """Return the errors of a record's tree on rows, from the names of its features alone."""
    tree, errors = Tree.from_dict(made["tree"]), 0

    def holds(condition: str, row: pd.Series) -> bool:
        if " missing" in condition:
            known, _, own = condition.rpartition(" or missing") if " or missing" in condition else ("", "", condition)
            if own.endswith(" is missing") or own.endswith(" is not missing"):
                name, _, words = own.partition(" is ")
                return bool(pd.isna(row[name])) == (words == "missing")
            return pd.isna(row[known.split(" <= ")[0].split(" > ")[0]]) or holds(known, row)
        for sign in (" <= ", " > ", " != ", " = "):
            if sign in condition:
                name, value = condition.split(sign)
                if sign in (" <= ", " > "):
                    return bool(row[name] <= float(value) if sign == " <= " else row[name] > float(value))
                return (row[name] == value) == (sign == " = ")
        raise AssertionError(condition)

    for (_, row), label in zip(X.iterrows(), y, strict=True):
        node = 0
        while tree.feature[node] != LEAF:
            labels = tree.features[tree.feature[node]].labels
            (child,) = (number for number, condition in enumerate(labels) if holds(condition, row))
            node = tree.first_child[node] + child
        errors += tree.classes[tree.prediction[node]] != label
    return errors


def test_an_own_table_without_a_word_on_thresholds_is_solved_over_all_of_them(tmp_path):
    """Check the case of a table of numbers whose optimum three thresholds a column hide."""
    random = np.random.RandomState(0)
    X = pd.DataFrame(random.random_sample((3000, 4)), columns=list("abcd"))
    y = ((X["a"] > 0.61) & (X["b"] < 0.83)) ^ (random.random_sample(3000) < 0.03)
    config = merged_configuration(ROOT, "config.yaml")
    asked = {"datasets": ["own"], "algorithms": ["optree"], "regularization": ["0.01"], "splits": ["full"]}
    (run,) = plan_runs(config | {"experiments": [asked]}, ["own"])
    _, _, path = own_file(tmp_path, X, y.to_numpy(), config["encodings"][run.encoding])
    made = solve(*load_problem(path), run)
    model = OptimalTreeClassifier(regularization="0.01").fit(X, y)
    assert made["status"] == model.status_ == "optimal"
    assert made["objective"] == model.objective_
    assert made["size"]["splits"] == model.tree_.n_splits
    assert made["search"] == "sparsethresholds"
    assert made["data"]["thresholds"] == {name: [2999, 2999] for name in "abcd"}
    assert (made["data"]["encoding"]["numeric"], made["data"]["encoding"]["max_cuts"]) == ("numbers", None)
    page = first_page(frame([made]), model_frame([]), Command("snakemake", "results/x", "results/cells"))
    assert "numeric=numbers" in page
    words = "keeps all 11,996 thresholds of numeric columns"
    assert words in page
    assert any(words in note for note in summary(frame([made])).notes)
    fewer = parse_encoding({"categorical": "onehot", "numeric": "thresholds", "max_cuts": 3})[0]
    encode(tmp_path / "table.csv", propose(tmp_path / "own.csv", "y")[0], fewer, tmp_path / "fewer.npz")
    assert solve(*load_problem(tmp_path / "fewer.npz"), run)["objective"] < made["objective"] - 0.02


@pytest.mark.parametrize("seed", seeds(12, 3))
def test_solvers_with_and_without_numbers_find_the_same_optimum_on_a_fold(tmp_path, seed):
    random = np.random.RandomState(seed)
    X, y = table(random, random.randint(20, 40))
    _, rows, path = own_file(tmp_path, X, y, {"categorical": "onehot", "numeric": "numbers"})
    found, fold = {}, random.choice(["0", "1", "2of3"])
    for solver in ("exhaustive", "optree", "sparsethresholds", "allthresholds", "branches", "gosdt", "cart"):
        depth = {"max_depth": 2} if solver not in ("branches", "gosdt") else {}
        run = Run("own", "numbers", solver, solver, "0.05", split=fold, **depth)
        made = found[solver] = solve(*load_problem(path), run)
        test = held_out(load_problem(path)[0].y, fold, run.test_size)
        for part, own in (("train", ~test), ("test", test)):
            assert made[part]["errors"] == errors_by_name(made, rows.X[own], rows.y[own])
            assert made[part]["rows"] == own.sum()
    best = found["exhaustive"]["objective"]
    exact = [made["objective"] for made in found.values() if made["exact"] and made["run"]["max_depth"]]
    assert exact == pytest.approx([best] * len(exact))
    assert found["branches"]["objective"] == pytest.approx(found["gosdt"]["objective"])
    assert found["branches"]["objective"] >= best - 1e-12
    assert found["cart"]["objective"] <= best + 1e-12


@pytest.mark.parametrize("seed", seeds(20, 5))
def test_a_table_of_numbers_survives_the_disk(tmp_path, seed):
    random = np.random.RandomState(seed)
    X, y = table(random, random.randint(10, 50), missing=True)
    spec = EncodingSpec(random.choice(["onehot", "ordinal"]), numeric="numbers", missing="best")
    weights = random.randint(0, 5, len(y)) + 1
    target = Classes(y.astype(int), ("no", "yes"), np.array([[0, 3], [1, 0]]), 2)
    problem = Problem(TableColumns.of(X, spec), target, weights).take(np.tile(np.arange(len(y)), 2))
    save_problem(problem, tmp_path / "own.npz", seconds=2.5)
    again, notes = load_problem(tmp_path / "own.npz")
    assert notes == {"seconds": 2.5}
    assert again.columns.has_numbers
    assert (again.classes, again.unit, again.costs.tolist()) == (problem.classes, problem.unit, problem.costs.tolist())
    for part in (np.arange(len(again.y)), random.permutation(len(y))[:8]):
        one, other = again.take(part), problem.take(part)
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(one.weights, other.weights)
        np.testing.assert_array_equal(one.columns.as_numbers().X, other.columns.as_numbers().X)
        np.testing.assert_array_equal(one.codes, other.codes)
        assert one.features == other.features
    solver, objective = solvers.get("optree"), Objective.of("0.02")
    assert solver.solve(again, objective).cost == solver.solve(problem, objective).cost


def test_a_table_without_thresholds_to_choose_from_has_codes(tmp_path):
    random = np.random.RandomState(1)
    X = pd.DataFrame({"two": random.randint(0, 2, 60) * 2.5, "text": random.choice(["u", "v", "w"], 60)})
    y = random.randint(0, 2, 60)
    kept = load_problem(own_file(tmp_path, X, y, {"categorical": "onehot", "numeric": "numbers"})[2])
    coded = load_problem(own_file(tmp_path, X, y, {"categorical": "onehot", "numeric": "thresholds"})[2])
    assert not kept[0].columns.has_numbers
    digests = [notes["data"]["encoded_sha256"] for _, notes in (kept, coded)]
    assert digests[0] == digests[1]


def test_thresholds_that_do_not_fit_into_memory_as_features_are_a_record(tmp_path):
    random = np.random.RandomState(2)
    X = pd.DataFrame({name: random.random_sample(2000) for name in "ab"})
    _, _, path = own_file(tmp_path, X, random.randint(0, 2, 2000), {"categorical": "onehot", "numeric": "numbers"})
    run = Run("own", "numbers", "gosdt", "gosdt", "0.05", limits={"seconds": 5, "memory_mib": 7})
    made = solve_in_child(*load_problem(path), run)
    assert (made["status"], made["tree"], made["train"]["rows"]) == ("memory_limit", None, 2000)
    assert made["reason"] == (
        "solver gosdt takes no columns of numbers; their thresholds are 3,998 binary features, which need 8 MiB or "
        "more; the limit is 7 MiB"
    )
    limited = Run("own", "numbers", "cart", "cart", "0.05", limits=run.limits | {"memory_mib": int(rss_mib()) + 400})
    assert solve_in_child(*load_problem(path), limited)["status"] == "heuristic"


@pytest.mark.parametrize("seed", seeds(12, 4))
def test_cart_over_numbers_is_scikit_learns(seed):
    random = np.random.RandomState(seed)
    n = random.randint(30, 200)
    X = pd.DataFrame({name: random.randint(0, 64, n) / 8 for name in "abc"})
    y = random.randint(0, 3, n)
    limits = {"max_depth": random.choice([3, 6]), "min_samples_leaf": random.choice([1, 4])}
    grown = DecisionTreeClassifier(random_state=0, **limits).fit(X, y)
    problem = Problem(TableColumns.of(X, NUMBERS), Classes(y, ("u", "v", "w")))
    found = solvers.get("cart").solve(problem, Objective.of("0", **limits))
    assert found.counters["iterations"] == (grown.tree_.feature >= 0).sum()
    assert found.tree.errors(problem.over(found.columns)) == (grown.predict(X) != y).sum()
    assert len(found.columns.features) == len({*found.tree.feature[found.tree.feature != LEAF]})


def test_cart_tells_numbers_apart_that_float32_does_not():
    X = pd.DataFrame({"a": 1 + np.arange(40) * 1e-12})
    y = (np.arange(40) >= 17).astype(int)
    problem = Problem(TableColumns.of(X, NUMBERS), Classes(y, ("u", "v")))
    found = solvers.get("cart").solve(problem, Objective.of("0.01"))
    assert (found.tree.n_splits, found.tree.errors(problem.over(found.columns))) == (1, 0)
    for limit in ({"max_depth": 0}, {"max_splits": 0}):
        leaf = solvers.get("cart").solve(problem, Objective.of("0.01", **limit))
        assert (leaf.tree.n_splits, leaf.columns.features) == (0, ())


MISSING_FORMS = ({"numeric": "numbers"}, {"numeric": "thresholds"}, {"numeric": "intervals"}, {"numeric": "bins"})


@pytest.mark.parametrize("fields", MISSING_FORMS, ids=lambda fields: fields["numeric"])
@pytest.mark.parametrize("seed", seeds(4, 1))
def test_missing_numbers_of_a_file_reach_every_solver(tmp_path, seed, fields):
    random = np.random.RandomState(seed)
    X, y = table(random, random.randint(24, 40), missing=True)
    X["a"] = np.where(random.random_sample(len(X)) < 0.3, np.nan, random.randint(0, 4, len(X)) / 4)
    y = np.where(X["a"].isna(), y.mean() < 0.5, y)
    row, rows, path = own_file(tmp_path, X[["a", "b b"]].round(1), y, {"categorical": "onehot"} | fields)
    assert row.recipe == ("keep-missing",)
    assert rows.X["a"].isna().sum() == X["a"].isna().sum()
    best = None
    for solver in ("exhaustive", *(name for name in solvers.names() if name != "exhaustive")):
        declared = solvers.get(solver)
        if "accuracy" not in declared.measures or (fields["numeric"] == "bins" and "multiway" not in declared.features):
            continue
        depth = {"max_depth": 2} if "max_depth" in declared.constraints else {}
        lambda_, penalty = ("0.05" if declared.penalties else "0"), (declared.penalties or ("split",))[0]
        limits = {"limits": {"seconds": 0.5}} if solver in PROGRAMS else {}
        run = Run("own", "own", solver, solver, lambda_, penalty, split="0", **depth, **limits)
        made = solve(*load_problem(path), run)
        best = made["objective"] if solver == "exhaustive" else best
        if "split" in declared.penalties and depth:
            equal = made["exact"] and made["status"] == "optimal"
            assert made["objective"] == pytest.approx(best) if equal else made["objective"] <= best + 1e-12, solver
        test = held_out(load_problem(path)[0].y, "0", "0.2")
        for part, own in (("train", ~test), ("test", test)):
            if fields["numeric"] == "numbers":
                assert made[part]["errors"] == errors_by_name(made, rows.X[own], rows.y[own]), solver


def test_missing_numbers_are_refused_in_a_line_that_names_who_takes_them():
    config = merged_configuration(ROOT, "config.yaml")
    config["encodings"] |= {"strict": {"categorical": "onehot", "numeric": "numbers", "missing": "error"}}
    config["algorithms"] = {"boosted": {"solver": "AdaBoostCART"}, "forest": {"solver": "RandomForestClassifier"}}
    fields = {"name": "own", "source": "mirror", "file": "own.csv", "rows": 9, "features": 2, "classes": 2}
    table = {"own": Dataset(**fields, recipe=("keep-missing",))}
    asked = {"datasets": ["own"], "regularization": ["0.01"], "splits": ["full"]}

    def planned(peers=None, **changes):
        return plan_runs(config | {"experiments": [asked | changes]}, table, peers)

    assert len(planned(algorithms=["optree", "cart", "gosdt", "forest"])) == 4
    with refused("'own' keeps missing numbers", "encodings.strict: missing = 'error'", "give 'best'"):
        planned(algorithms=["optree"], encodings=["strict"])
    with refused("model 'boosted' does not take", "these do: OptimalTreeClassifier", "RandomForestClassifier"):
        planned(algorithms=["boosted"])
    with refused("model 'forest' does not take in an encoding"):
        planned(algorithms=["forest"], encodings=["numbers"])
    peers = read_peers(ROOT / "workflow" / "peers")
    with refused(
        "which pycontree does not take; these do: allthresholds, binoct, branches, cart", "optree", "pystreed"
    ):
        planned(peers, algorithms=["pycontree"], max_depth=[2])


def test_models_read_the_numbers_of_an_encoded_file(tmp_path):
    X, y = table(np.random.RandomState(3), 40)
    row, rows, path = own_file(tmp_path, X, y, {"categorical": "onehot", "numeric": "numbers"})
    found = load_rows(path, row)
    np.testing.assert_array_equal(found.X[:, :2], rows.X[["a", "b b"]])
    assert {tuple(line) for line in found.X[:, 2:]} == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
    assert found.data == load_problem(path)[1]["data"]


def test_an_encoding_that_keeps_numbers_keeps_all_thresholds():
    with refused("encoding: max_cuts = 3 with numeric = 'numbers'", "accepted: None"):
        EncodingSpec(numeric="numbers", max_cuts=3)
    assert EncodingSpec().max_cuts is None
    assert parse_encoding({"categorical": "onehot", "numeric": "thresholds"})[0].max_cuts is None


def test_the_binary_features_of_numbers_are_those_of_all_thresholds():
    kept, coded = runs.encoded("iris", "numbers")[0], runs.encoded("iris", "all-thresholds")[0]
    np.testing.assert_array_equal(kept.codes, coded.codes)
    assert kept.features == coded.features


@pytest.mark.parametrize("seed", seeds(10, 2))
def test_records_count_the_costs_of_features(tmp_path, seed):
    """The cost is recomputed from the names of the tree's features; solvers over numbers and over codes agree."""
    random = np.random.RandomState(seed)
    X, y = table(random, random.randint(20, 40), missing=seed % 2)
    asked = {"datasets": ["own"], "regularization": ["0.02"], "splits": ["1"], "max_depth": [2]}
    asked |= {"feature_costs": [{"b b": "0.03", "text": "1/9", "constant": "0.5"}]}
    config = merged_configuration(ROOT, "config.yaml")
    algorithms = ["exhaustive", "optree", "sparsethresholds"]
    runs = plan_runs(config | {"experiments": [asked | {"algorithms": algorithms}]}, ["own"])
    path = own_file(tmp_path, X, y, config["encodings"][runs[0].encoding])[2]
    made = [solve(*load_problem(path), run) for run in runs]
    assert {one["status"] for one in made} == {"optimal"}
    assert [one["objective"] for one in made] == pytest.approx([made[0]["objective"]] * 3)
    for one in made:
        tree, costs = Tree.from_dict(one["tree"]), {"b b": 0.03, "text": 1 / 9}
        paid = 0.02 * tree.n_splits
        for feature in tree.split_features:
            paid += next((cost for name, cost in costs.items() if feature.name.startswith(name)), 0)
        assert one["objective"] == pytest.approx(one["train"]["accuracy"] - paid)
    shown = summary(frame(made))
    assert any("splits of columns cost more by" in note for note in shown.notes)
    wrong = plan_runs(
        config | {"experiments": [asked | {"algorithms": ["optree"], "feature_costs": [{"z": "1"}]}]}, ["own"]
    )
    with refused(
        "own/numbers: feature_costs: 'z' is not known; accepted: a, b b, constant, text" if not seed % 2 else "'z'"
    ):
        solve(*load_problem(path), wrong[0])
    with refused("solver murtree: feature_costs are not accepted"):
        plan_runs(config | {"experiments": [asked | {"algorithms": ["murtree"], "encodings": ["onehot"]}]}, ["own"])
