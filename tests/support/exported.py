"""Random trees over tables with hostile names and values, and the engines that run their exports."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from sklearn.base import RegressorMixin

from optree.encoding import EncodingSpec
from optree.errors import OptreeError
from optree.estimators.base import ClassPredictions, TreeViews
from optree.estimators.policy import OptimalPolicyTree
from optree.estimators.problems import TableEstimator
from optree.estimators.structure import node_costs
from optree.tree import LEAF, Tree

REFUSED = "refused"
_NAMES = ['a"b', "o'clock; DROP TABLE rows--", "größe [m²] <5>", "select", "tab\tand space ", "100%_&#{}~^\\$", "\\"]
_NAMES += ["🌳"]
_TEXTS = ["it's", 'say "x"', "NaN", "1", "1.0", "true", "ü <&>", " red", "a,b", "\\", "None", "x = 2", 'end\\"']
_CLASSES = [["no", "yes"], ["it's", 'the "b"', "<c>", ""], [0, 1, 7], [False, True], [2.0, 1.0, -2.0], [3, 4]]


@dataclass(eq=False, repr=False, kw_only=True)
class _Planted(TreeViews, TableEstimator):
    """A tree of random splits."""

    spec: EncodingSpec = field(default_factory=EncodingSpec)
    seed: int = 0
    _reads_numbers = False

    @property
    def _encoding(self) -> EncodingSpec:
        return self.spec

    def fit(self, X, y):
        """Plant a tree over the features of an encoding."""
        problem, _ = self._problem(X, y, None)
        columns, random = problem.columns.coded, np.random.RandomState(self.seed)
        problem = problem.over(columns)

        def choose(rows, depth):
            if depth == 4 or random.rand() < 0.15:
                return LEAF, []
            feature = random.randint(len(columns.features))
            parts = len(columns.features[feature].labels)
            if parts > 2 and random.randint(2):
                places = random.randint(0, 2, parts)
                places[:2] = 0, 1
                return feature, [depth + 1] * 2, places.tolist()
            return feature, [depth + 1] * parts

        tree = Tree.grow(problem, choose, 0)
        if self.seed % 5 == 0 and tree.values is None:  # as for costs: other classes than the heaviest
            tree = replace(tree, prediction=random.randint(0, len(tree.classes), tree.n_nodes).astype(np.int32))
        used = tree.used_features
        self.encoder_ = columns.encoder.keep(used)
        if problem.target.kind == "actions":
            tree = replace(tree, costs=node_costs(tree, problem))
        self.tree_ = tree.renumber({f: number for number, f in enumerate(used)}, [tree.features[f] for f in used])
        return self


class PlantedClasses(ClassPredictions, _Planted):
    """A random tree of classes."""

    __init__ = _Planted.__init__


class PlantedActions(_Planted, OptimalPolicyTree):
    """A random tree of actions."""


class PlantedNumbers(RegressorMixin, _Planted):
    """A random tree of numbers."""


def random_table(random, n: int) -> pd.DataFrame:
    """Return a table with numbers, texts, truth values and ordered categories, with gaps in some columns."""
    columns = {}
    for name in random.permutation(_NAMES)[: random.randint(1, 6)]:
        kind, gaps = random.randint(6), random.rand(n) < random.choice([0, 0.2])
        if kind == 0:
            values = pd.Series(np.where(gaps, np.nan, random.normal(size=n) * 10.0 ** random.randint(-6, 6)))
        elif kind == 1:
            values = pd.Series(random.randint(-3, 4, n).astype(float)).mask(gaps)
        elif kind == 2:
            values = pd.Series(random.randint(0, 5, n))
        elif kind == 3:
            values = pd.Series(random.rand(n) < 0.5).astype(object).mask(gaps, None)
        else:
            texts = random.permutation(_TEXTS)[: random.randint(2, 6)]
            values = pd.Series(random.choice(texts, n).astype(object)).mask(gaps, None)
            values = values.astype(pd.CategoricalDtype(list(texts), ordered=True)) if kind == 5 else values
        columns[name] = values
    return pd.DataFrame(columns)


def random_model(seed: int):
    """Return a model with a random tree, and new rows: on thresholds, beside them, missing and unseen."""
    random = np.random.RandomState(seed)
    n = random.randint(8, 30)
    X = random_table(random, n)
    onehot = bool(random.randint(2))
    spec = EncodingSpec(
        categorical="onehot" if onehot else "ordinal",
        drop=random.choice(["none", "first", "last"]) if onehot else "none",
        numeric=random.choice(["thresholds", "bins", "intervals", "values"]),
        max_cuts=random.choice([None, 3]),
        unseen=random.choice(["error", "ignore"]),
        missing=random.choice(["error", "best", "best"]),
    )
    if spec.missing == "error":
        X = X.drop(columns=[name for name in X if X[name].isna().any()])
    X = X[[name for name in X if X[name].nunique() > 1]]
    if not X.shape[1]:
        return random_model(seed + 10**6)
    options = {"spec": spec, "seed": seed, "unseen": spec.unseen, "missing": spec.missing}
    if kind := random.randint(4):
        names = _CLASSES[random.randint(len(_CLASSES))]
        y = np.array(names, object if isinstance(names[0], str) else None)[random.randint(0, len(names), n)]
        y[: len(names)] = names[: len(y)]
        model = PlantedClasses(**options)
        model.smoothing = [0.0, 1.5][seed % 2]
        if kind == 1:  # texts name the columns of a frame, an array has their numbers
            costs, texts = random.randint(0, 9, (n, len(names))), isinstance(names[0], str)
            y, model = pd.DataFrame(costs, columns=names) if texts else costs, PlantedActions(**options)
    else:
        y, model = random.normal(size=n), PlantedNumbers(**options)
    model.fit(X, y)
    return model, _new_rows(random, model, X)


def _new_rows(random, model, X: pd.DataFrame) -> pd.DataFrame:
    """Return rows of the values of X, and of other values."""
    thresholds = {column.name: column.parts for column in model.encoder_.columns_ if column.is_numeric}
    n, rows = 25, {}
    for name in X:
        values = X[name].to_numpy(object)[random.randint(0, len(X), n)]
        if X[name].dtype.kind in "fi":
            values = values.astype(float)
            for threshold in thresholds.get(name, ()):
                if isinstance(threshold, float):
                    near = [threshold, np.nextafter(threshold, np.inf), np.nextafter(threshold, -np.inf)]
                    values[random.randint(0, n, 3)] = near
        elif random.randint(2):
            values[random.randint(n)] = "never seen"
        if random.randint(2):
            values[random.randint(0, n, 2)] = np.nan if values.dtype.kind == "f" else None
        rows[name] = values
    return pd.DataFrame(rows)


def answers(model, rows: pd.DataFrame) -> list:
    """Return the prediction of each row, REFUSED where ``predict`` raises an error."""
    try:
        return model.predict(rows).tolist()
    except OptreeError:
        if len(rows) == 1:
            return [REFUSED]
    return [answer for number in range(len(rows)) for answer in answers(model, rows.iloc[[number]])]


def in_python(source: str, rows: pd.DataFrame) -> list:
    """Run an exported function of Python."""
    names: dict = {}
    exec(compile(source, "export", "exec"), names)

    def predict(row):
        try:
            return names["predict"](row)
        except ValueError:
            return REFUSED

    return [predict(row) for row in rows.to_dict("records")]


def in_json(text: str, rows: pd.DataFrame) -> list:
    """Interpret exported rules, by the words of their schema alone."""
    rules = json.loads(text)

    def accepts(branch, value) -> bool:
        if value is None:
            return branch.get("missing", False)
        if value in branch.get("values", ()):
            return True
        ends = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in branch.get("intervals", ())]
        return any(low < value <= high for low, high in ends)

    def predict(row):
        values = []
        for column in rules["columns"]:
            value = row[column["position"]]
            if value is None or value != value:
                value = None
            elif column["kind"] == "category":
                value = str(value).lower() if isinstance(value, bool) else value
            values.append(value)
            kind = "missing" if value is None else "unseen"
            is_unusual = value is None or ("values" in column and value not in column["values"])
            if is_unusual and kind in column["refused"]:
                return REFUSED
        node = 0
        while "branches" in (rule := rules["nodes"][node]):
            value = values[rule["column"]]
            own = [branch["child"] for branch in rule["branches"] if accepts(branch, value)]
            below = own[0] if own else rule["otherwise"]
            if below == node:
                break
            node = below
        return rules["nodes"][node]["answer"]

    return [predict(row) for row in rows.itertuples(index=False, name=None)]


def records(rows: pd.DataFrame, nan=None) -> list[list]:
    """Return the cells of rows; ``nan`` stands for a missing number, None for other missing values."""
    columns = []
    for name in rows:
        values = rows[name].tolist()
        lacks = nan if rows[name].dtype.kind == "f" else None
        columns.append([lacks if value is None or value != value else value for value in values])
    return list(map(list, zip(*columns, strict=True)))


def in_sqlite(query: str, rows: pd.DataFrame) -> list:
    """Run an exported query in SQLite, whose truth values are numbers."""
    cells = records(rows)
    kinds = [
        "REAL" if rows[name].dtype.kind == "f" else "INTEGER" if all(type(v) in (bool, type(None)) for v in rows[name])
        else "TEXT" for name in rows
    ]  # fmt: skip
    return run_sql(sqlite3.connect(":memory:"), query, rows, kinds, cells)


def run_sql(connection, query: str, rows: pd.DataFrame, kinds: list[str], cells: list[list]) -> list:
    """Make the table of the rows, run the query, and return the last column."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in rows]
    table = ", ".join(f"{name} {kind}" for name, kind in zip(quoted, kinds, strict=True))
    connection.execute(f"CREATE TABLE rows (number INTEGER, {table})")
    marks = ", ".join("?" * (len(quoted) + 1))
    connection.executemany(f"INSERT INTO rows VALUES ({marks})", [[i, *row] for i, row in enumerate(cells)])
    found = sorted(connection.execute(query).fetchall(), key=lambda row: row[0])
    return [REFUSED if row[-1] is None else row[-1] for row in found]


def same(found: list, expected: list) -> bool:
    """Return whether answers are equal; a truth value may be a number."""
    return len(found) == len(expected) and all(a == b for a, b in zip(found, expected, strict=True))
