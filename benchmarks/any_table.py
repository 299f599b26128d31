"""The default call of ``OptimalTreeClassifier`` on tables of many kinds, beside CART, DPDT and a random forest.

Every model is fitted on the same seven tenths of the rows. The objective is the accuracy on these rows, less .01 for
each split. CART grows on one-hot columns without a limit on depth, DPDT to depth 20. Both are pruned exactly for the
objective. The better of CART by Gini and by entropy is shown. "Others" is the best of LicketySPLIT, SPLIT and
MurTree with their own defaults, but the same penalty and limit on time. The accuracies are of the other rows. "Tuned
CART" has ``ccp_alpha`` from five-fold cross-validation; the random forest has scikit-learn's defaults.

Each model of a table is a process of its own; the default call comes after fits that compile. Seconds are wall-clock
time of ``fit``; MiB is the peak memory of the process. A row that is interrupted goes on with the models that are left:
the others are in a file beside the CSV file.

    python benchmarks/any_table.py --mirror DIR --out tables.csv --page docs/comparison.md

DIR is a directory of raw data files, as for the workflow (``data_mirror``). Without it four tables of scikit-learn and
two generated tables are measured. ``--page`` writes the tables of the CSV file into a page; ``--tables`` without
names measures none.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from harness.children import measured_alone
from scipy.io import arff
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.tree import DecisionTreeClassifier

from optree import (
    DPDTreeClassifier,
    LicketySPLITClassifier,
    MurTreeClassifier,
    OptimalTreeClassifier,
    SPLITClassifier,
)
from optree.bench.system.cli import reporting
from optree.budget import peak_rss_mib
from optree.datasets import fetch, read_table
from optree.errors import OptreeError

REGULARIZATION = 0.01
EMBEDDED = ("iris", "wine", "breast_cancer", "digits")
GENERATED = {"mixed": 30_000, "numbers": 150_000}
MIRRORED = {"compas": "compas-2016", "heloc": "heloc", "electricity": "electricity-6"}  # names in the dataset table
FILES = ("credit-g", *MIRRORED)


def mixed(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw a table like a census: six columns of numbers, some with many values, and eight of categories."""
    random = np.random.RandomState(seed)

    def category(count: int) -> np.ndarray:
        share = 1 / np.arange(1, count + 1)
        return np.char.add("c", random.choice(count, rows, p=share / share.sum()).astype(str))

    education, gain = random.randint(1, 17, rows), random.rand(rows) < 0.08
    X = pd.DataFrame({
        "age": random.randint(17, 91, rows),
        "weight": random.randint(12_000, 1_500_000, rows),
        "years": education,
        "gain": np.where(gain, random.choice(random.randint(100, 99_999, 120), rows), 0),
        "loss": np.where(random.rand(rows) < 0.05, random.choice(random.randint(100, 4400, 90), rows), 0),
        "hours": np.clip(random.normal(40, 12, rows).round(), 1, 99),
        "education": np.char.add("e", education.astype(str)),
        **{name: category(count) for name, count in zip("abcdefg", (9, 7, 15, 6, 5, 2, 42), strict=True)},
    })  # fmt: skip
    score = -2.2 + 0.03 * (X["age"] - 38) - 0.0006 * (X["age"] - 50) ** 2 + 0.33 * (education - 9)
    score += 1.5 * (X["b"] == "c0") + 0.8 * X["c"].isin(["c1", "c4", "c7"]) + 3 * (X["gain"] > 7000)
    score += 0.9 * (X["loss"] > 1800) + 0.03 * (X["hours"] - 40) + 0.3 * (X["f"] == "c1")
    return X, np.where(random.rand(rows) < 1 / (1 + np.exp(-score)), "yes", "no")


def numbers(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw twenty columns of numbers; the sum of five, with noise, decides."""
    random = np.random.RandomState(seed)
    X = random.random_sample((rows, 20))
    return pd.DataFrame(X).add_prefix("x"), (X[:, :5].sum(axis=1) + 0.5 * random.standard_normal(rows) > 2.5).astype(
        int
    )


def load(name: str, mirror: Path | None) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table and its classes."""
    if name in GENERATED:
        return {"mixed": mixed, "numbers": numbers}[name](GENERATED[name])
    if name in EMBEDDED:
        return getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    if name in MIRRORED:
        data = fetch(read_table(Path(__file__).parents[1] / "config" / "datasets.csv")[MIRRORED[name]], mirror)
        return data.X, np.asarray(data.y)
    table = pd.DataFrame(arff.loadarff(mirror / "arff" / f"{name.replace('-', '.')}.arff")[0])
    for column in table.select_dtypes(object):
        table[column] = table[column].str.decode("utf-8")
    return table.iloc[:, :-1], table.iloc[:, -1].to_numpy()


def pruned(tree, rows: int) -> float:
    """Return the greatest objective of a subtree with the root of a tree of scikit-learn."""
    counts = tree.value[:, 0] * tree.weighted_n_node_samples[:, None]
    cost = counts.sum(axis=1) - counts.max(axis=1)
    for node in range(tree.node_count - 1, -1, -1):  # children have greater numbers
        if tree.children_left[node] >= 0:
            below = cost[tree.children_left[node]] + cost[tree.children_right[node]]
            cost[node] = min(cost[node], REGULARIZATION * rows + below)
    return 1 - cost[0] / rows


def divided(name: str, mirror: Path | None) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Return a table, its classes, and the rows to fit on and to test on."""
    X, y = load(name, mirror)
    y = np.asarray(y)
    return X, y, *train_test_split(np.arange(len(y)), test_size=0.3, random_state=0, stratify=y)


def default_call(X: pd.DataFrame, y: np.ndarray, fit: np.ndarray, test: np.ndarray, seconds: float) -> dict:
    """Fit the default estimator, after fits that compile."""
    warm = np.concatenate([fit[y[fit] == label][:200] for label in np.unique(y)])
    OptimalTreeClassifier(time_limit=1).fit(X.iloc[warm], y[warm])
    OptimalTreeClassifier(time_limit=1).fit(X.iloc[fit], y[fit])  # counts of the same type
    start = time.perf_counter()
    model = OptimalTreeClassifier(REGULARIZATION, time_limit=seconds).fit(X.iloc[fit], y[fit])
    return {
        "rows": len(fit),
        "columns": X.shape[1],
        "solver": model.solver_,
        "status": model.status_,
        "objective": model.objective_,
        "gap": model.gap_,
        "splits": model.tree_.n_splits,
        "seconds": time.perf_counter() - start,
        "MiB": peak_rss_mib(),
        "accuracy": model.score(X.iloc[test], y[test]),
    }


def pruned_cart(X: pd.DataFrame, y: np.ndarray, fit: np.ndarray, test: np.ndarray, seconds: float) -> dict:
    """Grow both CARTs, and prune them."""
    onehot, cart = pd.get_dummies(X).to_numpy(float), DecisionTreeClassifier(random_state=0)
    carts = [cart.set_params(criterion=criterion).fit(onehot[fit], y[fit]).tree_ for criterion in ("gini", "entropy")]
    return {"pruned CART": max(pruned(tree, len(fit)) for tree in carts)}


def reached(model, X: pd.DataFrame, y: np.ndarray) -> float:
    """Return the objective of a fitted tree."""
    return model.score(X, y) - REGULARIZATION * model.tree_.n_splits


def pruned_dpdt(X: pd.DataFrame, y: np.ndarray, fit: np.ndarray, test: np.ndarray, seconds: float) -> dict:
    """Fit DPDT."""
    parameters = {
        "cart_nodes_list": (8, 4, 3, 2, 2),
        "penalty": "split",
        "regularization": REGULARIZATION,
        "time_limit": None,
    }
    dpdt = DPDTreeClassifier(20, **parameters)
    return {"pruned DPDT": reached(dpdt.fit(X.iloc[fit], y[fit]), X.iloc[fit], y[fit])}


def others(X: pd.DataFrame, y: np.ndarray, fit: np.ndarray, test: np.ndarray, seconds: float) -> dict:
    """Fit the other estimators with the same penalty."""
    fitted = (
        other.set_params(regularization=REGULARIZATION, time_limit=seconds).fit(X.iloc[fit], y[fit])
        for other in (LicketySPLITClassifier(), SPLITClassifier(), MurTreeClassifier())
    )
    return {"others": max(reached(model, X.iloc[fit], y[fit]) for model in fitted)}


def tuned_cart(X: pd.DataFrame, y: np.ndarray, fit: np.ndarray, test: np.ndarray, seconds: float) -> dict:
    """Tune CART by cross-validation."""
    onehot, grid = pd.get_dummies(X).to_numpy(float), {"ccp_alpha": [0, *np.logspace(-5, -1, 17)]}
    tuned = GridSearchCV(DecisionTreeClassifier(random_state=0), grid, n_jobs=-1).fit(onehot[fit], y[fit])
    splits = int(tuned.best_estimator_.get_n_leaves()) - 1
    return {"tuned CART": tuned.score(onehot[test], y[test]), "tuned CART splits": splits}


def forest(X: pd.DataFrame, y: np.ndarray, fit: np.ndarray, test: np.ndarray, seconds: float) -> dict:
    """Grow a random forest."""
    onehot = pd.get_dummies(X).to_numpy(float)
    model = RandomForestClassifier(random_state=0, n_jobs=-1).fit(onehot[fit], y[fit])
    return {"random forest": model.score(onehot[test], y[test])}


PIECES = {piece.__name__: piece for piece in (default_call, pruned_cart, pruned_dpdt, others, tuned_cart, forest)}


def short(number: float, digits: int = 4) -> str:
    """Return a number with some decimals, without a leading zero; a whole number has none."""
    text = f"{number:.{digits}f}"
    return f"{float(text):.0f}" if float(text).is_integer() else text.removeprefix("0")


def published(table: pd.DataFrame) -> str:
    """Return the table of docs/comparison.md."""
    columns = {
        "table": table["table"].str.replace("_", " "),
        "rows x columns": [f"{rows:,} x {columns}" for rows, columns in table[["rows", "columns"]].to_numpy()],
        **{name: table[name].map(short) for name in ("objective", "gap")},
        "splits": table["splits"].astype(str),
        "seconds": [short(seconds, 2 if seconds < 10 else 0) for seconds in table["seconds"]],
        "MiB": [short(mib, 0) for mib in table["MiB"]],
        **{name: table[name].map(short) for name in ("pruned CART", "pruned DPDT", "others", "accuracy")},
        "tuned CART (splits)": table["tuned CART"].map(short) + " (" + table["tuned CART splits"].astype(str) + ")",
        "random forest": table["random forest"].map(short),
    }
    rows = ["| " + " | ".join(row) + " |" for row in [list(columns), *zip(*columns.values(), strict=True)]]
    return "\n".join([rows[0], "|---|" + "--:|" * (len(columns) - 1), *rows[1:]])


def publish(table: pd.DataFrame, page: Path) -> None:
    """Write the table in the place of the table with the same columns."""
    text, new = page.read_text(), published(table)
    first = text.index(new.splitlines()[0])
    page.write_text(text[:first] + new + text[text.index("\n\n", first) :])


def measured_once(piece: str, name: str, options: argparse.Namespace, pieces: Path) -> dict:
    """Return a part of a row, from the file of measured pieces if it is there; a new one is added to the file."""
    done = dict(map(json.loads, pieces.read_text().splitlines())) if pieces.exists() else {}
    if piece not in done:
        mirror = ["--mirror", options.mirror] if options.mirror else []
        done[piece] = measured_alone("--one", piece, name, "--seconds", options.seconds, *mirror)
        if "exit status" in str(done[piece].get("status")):
            raise OptreeError(f"any_table: {piece} of {name} ended with {done[piece]['status']}; start again")
        if options.out:
            with pieces.open("a") as file:
                print(json.dumps([piece, done[piece]]), file=file)
    return done[piece]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", help="names; by default all without a file")
    parser.add_argument("--mirror", type=Path, metavar="DIR", help=f"raw data files, for {', '.join(FILES)}")
    parser.add_argument("--seconds", type=float, default=30, help="the limit on time, 30 by default")
    parser.add_argument("--out", type=Path, help="a CSV file, whose other tables stay")
    parser.add_argument("--page", type=Path, help="a Markdown file whose table is replaced")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        warnings.simplefilter("ignore")
        piece, name = options.one
        print(json.dumps(PIECES[piece](*divided(name, options.mirror), options.seconds)))
        return
    names = options.tables
    if names is None:
        names = [*EMBEDDED, *GENERATED, *(FILES if options.mirror else ())]
    found = pd.read_csv(options.out).to_dict("records") if options.out and options.out.exists() else []
    for name in names:
        row, pieces = {"table": name}, Path(f"{options.out}.{name}")
        for piece in PIECES:
            row |= measured_once(piece, name, options, pieces)
        found = [other for other in found if other["table"] != name] + [row]
        pieces.unlink(missing_ok=True)
    order = [*EMBEDDED, *GENERATED, *FILES]
    table = pd.DataFrame(sorted(found, key=lambda row: order.index(row["table"])))
    if options.out:
        table.to_csv(options.out, index=False)
    if options.page:
        publish(table, options.page)
    print(published(table))


if __name__ == "__main__":
    with reporting(os.devnull):
        main()
