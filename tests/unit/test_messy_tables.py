"""The tables that users have: each kind of column, frame and target is read, or refused with one line."""

from __future__ import annotations

import datetime
import json
import pickle
import tracemalloc
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from support.refusal import refused

from optree import (
    BranchesClassifier,
    DPDTreeClassifier,
    DPDTreeRegressor,
    MurTreeClassifier,
    MurTreeRegressor,
    OptimalPolicyTree,
    OptimalTreeClassifier,
    OptimalTreeClassifierCV,
    OptimalTreeRegressor,
    SPLITClassifier,
)
from optree.budget import rss_mib
from optree.encoding import Encoder, EncodingSpec, column_values, user_tables
from optree.encoding.cells import Categories, is_missing
from optree.estimators.tables import MOST_CHILDREN, find_left_out, read_table

N = 60
SIZES = ["S", "M", "L"]
EVERY = [OptimalTreeClassifier, MurTreeClassifier, BranchesClassifier, DPDTreeClassifier, MurTreeRegressor]


def table(seed=0, n=N):
    """Return a frame of several kinds of columns, and classes that its sizes and numbers decide."""
    random = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "colour": random.choice(["red", "green", "blue"], n),
            "size": pd.Categorical(random.choice(SIZES, n), SIZES, ordered=True),
            "number": random.random_sample(n).round(2),
            "flag": random.random_sample(n) < 0.5,
        }
    )
    return X, ((X["size"].cat.codes >= 1) & (X["number"] > 0.3)).astype(int).to_numpy()


X, Y = table()


@pytest.fixture(params=[10_000, 0], ids=["few rows", "many rows"], autouse=True)
def many_rows(request, monkeypatch):
    """Read the columns of each test as columns of few rows, and as columns of many."""
    monkeypatch.setattr(column_values, "_MANY_ROWS", request.param)


def test_a_fit_numbers_the_texts_of_a_column_once(many_rows, monkeypatch):
    monkeypatch.setattr(column_values, "_MANY_ROWS", 0)
    monkeypatch.setattr(user_tables, "_KEPT_CELLS", 0)
    names, factorize = [], pd.Series.factorize
    monkeypatch.setattr(pd.Series, "factorize", lambda one: names.append(one.name) or factorize(one))
    texts = X[["number"]].assign(colour=X["colour"].astype("string"), other=X["colour"].str[:1])
    OptimalTreeClassifier(max_depth=2).fit(texts, Y)
    assert sorted(names) == ["colour", "other"]


@pytest.mark.parametrize("form", ["array", "list", "frame"])
def test_a_fit_converts_the_objects_of_a_column_once(form, monkeypatch):
    """A million rows of ten columns took 14 seconds of an array, 39 of a list, with limits of one and two."""
    monkeypatch.setattr(user_tables, "_KEPT_CELLS", 0)
    read, convert = [], column_values._of_objects
    monkeypatch.setattr(column_values, "_of_objects", lambda name, *rest: read.append(name) or convert(name, *rest))
    cells = X[["colour", "number", "flag"]].astype(object).to_numpy()
    cells[::7, 1] = cells[::5, 0] = None
    given = {
        "array": cells,
        "list": cells.tolist(),
        "frame": pd.DataFrame(cells, columns=["x0", "x1", "x2"], dtype=object),
    }[form]
    model = OptimalTreeClassifier(max_depth=2).fit(given, Y)
    assert sorted(read) == ["x0", "x1", "x2"]
    plain = pd.DataFrame({"x0": cells[:, 0], "x1": cells[:, 1].astype(float), "x2": cells[:, 2].astype(bool)})
    assert model.export_text() == OptimalTreeClassifier(max_depth=2).fit(plain, Y).export_text()
    assert (model.predict(given) == model.predict(plain.rename(columns=str))).all()


def test_one_split_into_all_categories_has_the_errors_of_the_best_two_groups():
    random = np.random.RandomState(0)
    for _ in range(20):
        column, y = random.choice(list("abcdef"), N), random.randint(0, 2, N)
        model = OptimalTreeClassifier(0.001, max_splits=1).fit(pd.DataFrame({"a": column}), y)
        groups = [np.isin(column, group) for size in range(7) for group in combinations("abcdef", size)]
        errors = [min(y[side].sum(), (~y.astype(bool))[side].sum()) for group in groups for side in (group, ~group)]
        best = min(map(sum, zip(errors[::2], errors[1::2], strict=True)))
        assert round(float(model.cost_) - 0.001 * N * model.tree_.n_splits, 6) == best


def test_categories_have_the_values_of_their_rows():
    column = X["colour"].where(X.index % 7 > 0)
    unused = pd.Categorical(column, ["black", "blue", "green", "red", "white"])
    for values in (column.astype("str"), column.astype("string"), column.astype(object), pd.Series(unused)):
        read = Categories.of(user_tables.read_column(values.to_frame("a"), 0, "a"))
        expected = column.astype(object).where(column.notna(), None).tolist()
        shown = [None if is_missing(value) else value for value in np.asarray(read)]
        assert shown == expected
        assert len(read.values) == 4
        assert read.n_missing == column.isna().sum()
        assert set(read[:5].values) <= set(read.values)
        assert np.asarray(read[:5]).tolist() == np.asarray(read)[:5].tolist()
        assert len(read[np.flatnonzero(column == "red")].values) == 1


@pytest.mark.parametrize(
    "kinds",
    [
        {"colour": "string", "flag": "boolean", "number": "Float64"},
        {"colour": "category", "flag": object, "number": object},
        {"colour": object, "number": "Float32", "flag": "int8"},
    ],
)
@pytest.mark.parametrize("missing", [False, True])
def test_the_type_of_a_column_does_not_change_the_tree(kinds, missing):
    plain = X.astype({"flag": object})
    if missing:
        plain.loc[::7, ["colour", "flag"]] = None
        plain.loc[::5, "number"] = np.nan
    expected = OptimalTreeClassifier().fit(plain, Y)
    if kinds["flag"] == "int8":
        kinds = {name: kind for name, kind in kinds.items() if name != "flag"}
    given = plain.astype(kinds)
    if kinds.get("number") is object:
        given["number"] = given["number"].where(given["number"].notna(), None)
    model = OptimalTreeClassifier().fit(given, Y)
    assert model.cost_ == expected.cost_
    assert (model.predict(given) == expected.predict(plain)).all()
    assert (model.predict(plain) == expected.predict(plain)).all()


def test_ordered_categories_are_split_at_thresholds_with_their_names():
    model = OptimalTreeClassifier().fit(X, Y)
    assert model.export_text().startswith("size > S\n") or "size <= S" in model.export_text()
    assert model.score(X, Y) == 1
    codes = X.assign(size=X["size"].cat.codes)
    assert OptimalTreeClassifier().fit(codes, Y).cost_ == model.cost_
    for other in (BranchesClassifier(), SPLITClassifier(max_ways=3), MurTreeClassifier(), DPDTreeClassifier()):
        tree = other.fit(X[["size", "colour"]], Y)
        assert "size" in tree.export_text()
        assert not any(f"size <= {code}" in tree.export_text() for code in ("0.5", "1.5"))
    texts = X.astype({"size": object})
    assert (model.predict(texts) == model.predict(X)).all()
    assert (pickle.loads(pickle.dumps(model)).predict(X) == Y).all()
    unordered = OptimalTreeClassifier(categorical_features=["size", "colour", "flag"]).fit(X, Y)
    assert "size = S" in unordered.export_text()
    encoder = Encoder(EncodingSpec(max_cuts=None)).fit(X)
    again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert (again.transform(X) == encoder.transform(X)).all()
    assert [feature.name for feature in again.features_ if "size" in feature.name] == ["size <= S", "size <= M"]


def test_an_unseen_category_of_an_order():
    model = OptimalTreeClassifier().fit(X, Y)
    with refused("column 'size'", "'XXL'", "accepted: S, M, L"):
        model.predict(X.assign(size="XXL"))
    ignoring = OptimalTreeClassifier(unseen="ignore").fit(X, Y)
    assert set(ignoring.predict(X.assign(size="XXL"))) <= {0, 1}
    with_gaps = X.assign(size=X["size"].where(X.index % 6 > 0))
    model = OptimalTreeClassifier().fit(with_gaps, Y)
    assert "missing" in model.export_text()
    numbers = with_gaps.assign(size=with_gaps["size"].cat.codes.astype(float).replace(-1, np.nan))
    assert OptimalTreeClassifier().fit(numbers, Y).cost_ == model.cost_


DATES = [
    pd.date_range("2020-01-01", periods=N),
    pd.date_range("2020-01-01", periods=N, tz="UTC"),
    pd.to_timedelta(range(N), "D"),
    pd.period_range("2020-01-01", periods=N),
    [datetime.date(2020, 1, 1)] * N,
    [None] + [datetime.timedelta(1)] * (N - 1),
    [pd.Timestamp("2020-01-01"), pd.NaT] * (N // 2),
    pd.Categorical(pd.date_range("2020-01-01", periods=N)),
]


@pytest.mark.parametrize("estimator", EVERY)
@pytest.mark.parametrize("dates", DATES, ids=range(len(DATES)))
def test_dates_are_refused_with_advice(estimator, dates):
    with refused("column 'when' has dates or durations", "give numbers", "days since"):
        estimator().fit(X[["number"]].assign(when=dates), Y)
    model = OptimalTreeClassifier().fit(X[["number"]], X["number"] > 0.5)
    with refused("column 'number' has dates"):
        model.predict(pd.DataFrame({"number": dates}))


def test_dates_in_arrays():
    with refused("column 'x0' has dates"):
        OptimalTreeClassifier().fit(np.full((N, 1), "2020-01-01", "datetime64[D]"), Y)
    with refused("column 'x1' has dates"):
        OptimalTreeClassifier().fit([[1.0, datetime.date(2020, 1, 1)]] * N, Y)


def test_columns_of_several_kinds():
    mixed = X.assign(mixed=[1, "a"] * (N // 2))
    with refused("column 'mixed' has numbers (1) and texts ('a')", "categorical_features"):
        OptimalTreeClassifier().fit(mixed, Y)
    with refused("column 'mixed' has truth values (True) and numbers (2.5)"):
        OptimalTreeClassifier().fit(X.assign(mixed=[True, None, 2.5] * (N // 3)), Y)
    names = ["mixed", "colour", "size", "flag"]
    model = OptimalTreeClassifier(categorical_features=names).fit(mixed, mixed["mixed"] == 1)
    assert "mixed = 1" in model.export_text()
    with pytest.raises(TypeError, match="column 'mixed' has a value of type list"):
        OptimalTreeClassifier().fit(X.assign(mixed=[[1]] * N), Y)


def test_constant_columns_are_ignored():
    more = X.assign(a=1, b="x", c=None, d=np.nan, e=True)
    assert OptimalTreeClassifier().fit(more, Y).export_text() == OptimalTreeClassifier().fit(X, Y).export_text()
    gaps = np.where(np.arange(N) % 3 == 0, None, "x")
    model = OptimalTreeClassifier().fit(pd.DataFrame({"f": gaps}), np.arange(N) % 3 == 0)
    assert model.score(pd.DataFrame({"f": gaps}), np.arange(N) % 3 == 0) == 1


def test_names_of_columns():
    with refused("two columns are named 'a'"):
        OptimalTreeClassifier().fit(pd.DataFrame(np.c_[Y, Y], columns=["a", "a"]), Y)
    with refused("two columns are named '1'"):
        DPDTreeClassifier().fit(pd.DataFrame(np.c_[Y, Y], columns=[1, "1"]), Y)
    with pytest.raises(TypeError, match="only supported if all input features have string names"):
        OptimalTreeClassifier().fit(pd.DataFrame(np.c_[Y, Y], columns=[1, "b"]), Y)
    numbered = pd.DataFrame(np.c_[X["number"], Y])
    model = OptimalTreeClassifier().fit(numbered, Y)
    assert not hasattr(model, "feature_names_in_")
    assert (model.predict(numbered.to_numpy()) == Y).all()


@pytest.mark.parametrize("estimator", [OptimalTreeClassifier, DPDTreeClassifier])
def test_frames_and_arrays_take_turns_with_scikit_learns_warnings(estimator):
    frame = X[["number", "flag"]].astype(float)
    model = estimator().fit(frame.to_numpy(), Y)
    with pytest.warns(UserWarning, match="X has feature names, but"):
        renamed = model.predict(frame)
    assert (renamed == model.predict(frame.to_numpy())).all()
    model = estimator().fit(frame, Y)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert (model.predict(frame.to_numpy()) == renamed).all()
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(frame[["flag", "number"]])
    with pytest.raises(ValueError, match="X has 1 features"):
        model.predict(frame.to_numpy()[:, :1])


def test_truth_values_and_their_numbers_take_turns():
    flags = X[["flag"]]
    for given, other in [(flags, flags.astype(int)), (flags.astype(int), flags), (flags, flags.astype(float))]:
        model = OptimalTreeClassifier().fit(given, X["flag"])
        assert (model.predict(other) == X["flag"]).all()
    model = OptimalTreeClassifier().fit(flags, X["flag"])
    with refused("column 'flag'", "'2'", "accepted: false, true"):
        model.predict(flags.astype(int) * 2)
    model = OptimalTreeClassifier().fit(X[["number"]], X["number"] > 0.5)
    with refused("column 'number'", "'high'", "numbers only"):
        model.predict(pd.DataFrame({"number": ["high"]}))


def test_identifiers_are_left_out_with_a_warning_unless_they_are_named():
    names = [f"user {number}" for number in np.random.RandomState(0).permutation(N)]
    with pytest.warns(UserWarning, match="column 'id': almost each row has a category of its own.*left out") as caught:
        model = OptimalTreeClassifier().fit(X.assign(id=names), Y)
    assert [warning.filename for warning in caught if warning.category is UserWarning] == [__file__]
    assert model.export_text() == OptimalTreeClassifier().fit(X, Y).export_text()
    assert (model.predict(X.assign(id="new")) == Y).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        categorical = ["id", "colour", "size", "flag"]
        OptimalTreeClassifier(categorical_features=categorical).fit(X.assign(id=names), Y)
        OptimalTreeClassifier().fit(X[:19].assign(id=names[:19]), Y[:19])
        OptimalTreeClassifier().fit(X.assign(id=[*names[: N // 3]] * 3), Y)
    with pytest.warns(UserWarning, match="'id'"), refused("constant, left out or have no threshold"):
        OptimalTreeClassifier().fit(pd.DataFrame({"id": names}), Y)


def test_the_share_that_makes_an_identifier():
    for equal, found in [(0, True), (5, True), (6, False)]:  # 100, 95 and 94 different values of 100
        values = pd.DataFrame({"id": [f"v{max(number, equal)}" for number in range(100)] + [None] * 50})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert find_left_out(values, "from_dtype") == (("id",) if found else ()), equal


def test_numbers_that_are_doubtful():
    random = np.random.RandomState(0)
    with pytest.warns(UserWarning, match="column 'row': each row has a whole number of its own, from 7 to 66"):
        model = OptimalTreeClassifier().fit(X.assign(row=7 + random.permutation(N)), Y)
    assert model.score(X.assign(row=0), Y) == 1
    with pytest.warns(UserWarning, match="column 'row': each row has a whole number of its own, from 0 to 59"):
        DPDTreeClassifier().fit(X[["number"]].assign(row=range(N)), Y)
    with pytest.warns(UserWarning, match="column 'x0': its texts are numbers.*left out; give numbers"):
        OptimalTreeClassifier().fit(np.c_[random.random_sample(N).astype(str), X["colour"]], Y)
    with pytest.warns(UserWarning, match="column 'code': its texts are numbers; they are split as categories"):
        OptimalTreeClassifier().fit(X.assign(code=random.randint(0, 40, N).astype(str)), Y)
    with pytest.warns(UserWarning, match="column 'x0': almost each row has a number of its own"):
        BranchesClassifier(max_thresholds=None).fit(random.random_sample((N, 1)), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        OptimalTreeClassifier().fit(X.assign(row=2 * random.permutation(N)), Y)
    many = pd.DataFrame({"number": random.random_sample(1200), "id": 3 * random.permutation(1200)})
    for table, name in ((many, "id"), (many.to_numpy(), "x1")):
        with pytest.warns(UserWarning, match=f"column '{name}': each row has a whole number of its own, from 0 to 35"):
            find_left_out(table, "from_dtype")


def test_whole_numbers_that_floats_cannot_hold_warn():
    number = 2**53 + np.arange(N)
    frame = pd.DataFrame({"key": number, "x": Y})
    arrow = pytest.importorskip("pyarrow").table({"key": number, "x": Y})
    polars = pytest.importorskip("polars").DataFrame({"key": number, "x": Y})
    large = frame.assign(key=[10**30 + int(value) for value in number])  # objects: beyond 64 bits
    for table in (frame, frame.astype({"key": "Int64"}), frame.to_numpy(), -frame, arrow, polars, large):
        with pytest.warns(UserWarning, match="its whole numbers of 2.53 or more are rounded to 53 bits"):
            OptimalTreeClassifier(max_depth=1).fit(table, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for table in (frame.astype(float) * 2, frame.assign(key=2**53 - 3 * np.arange(1, N + 1))):
            OptimalTreeClassifier(max_depth=1).fit(table, Y)


def test_branches_cuts_columns_of_many_numbers_at_quantiles():
    random = np.random.RandomState(0)
    X = pd.DataFrame({"many": random.random_sample(200), "few": random.randint(0, 20, 200)})
    y = (X["many"] > 0.5) ^ (X["few"] == 7)
    with pytest.warns(UserWarning, match="column 'many': its more than 20 different numbers.* max_thresholds = 3 quan"):
        model = BranchesClassifier("0.001", max_thresholds=3).fit(X, y)
    assert sorted(len(feature.labels) for feature in model.tree_.features) == [4, 20]
    assert "many > " in model.export_text()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        BranchesClassifier("0.001").fit(X[["few"]], y)
        twice = pd.concat([X[["many"]]] * 2)
        every = BranchesClassifier("0.001", max_thresholds=None, max_depth=1).fit(twice, np.tile(y, 2))
    assert every.tree_.n_leaves == 200
    with refused("max_thresholds = 0"):
        BranchesClassifier(max_thresholds=0).fit(X, y)


def test_many_categories_are_split_one_against_the_rest():
    random = np.random.RandomState(0)
    few, many = 800, 50 * MOST_CHILDREN
    for categories, rows, one in [
        (20, few, False),
        (21, few, True),  # of fewer than 50 rows each
        (21, 50 * 21, False),
        (MOST_CHILDREN, many, False),
        (MOST_CHILDREN + 1, many, True),
        (200, many, True),
    ]:
        cities = np.array([f"city {number}" for number in np.r_[np.arange(categories), random.randint(0, 3, rows)]])
        y = cities == "city 1"
        frame = pd.DataFrame({"city": cities})
        model = OptimalTreeClassifier("0.001").fit(frame, y)
        assert len(model.tree_.features[0].labels) == (2 if one else categories)
        assert model.score(frame, y) == 1
        children = OptimalTreeClassifier("0.001", one_vs_rest=False).fit(frame, y).tree_.features[0].labels
        assert len(children) == categories
    with refused("one_vs_rest: 'city' is not accepted", "'auto', True, False or a list of names"):
        OptimalTreeClassifier(one_vs_rest="city").fit(frame, y)
    with refused("categorical_features: 'city' is not accepted"):
        OptimalTreeClassifier(categorical_features="city").fit(frame, y)


def binary_matrix(n=300, p=40, density=0.2):
    """Return a sparse matrix of zeros and ones, and classes that two of its columns decide."""
    matrix = sparse.random(n, p, density, random_state=0, format="csr")
    matrix.data[:] = 1
    return matrix, (matrix[:, [3]] + matrix[:, [5]]).toarray().ravel() > 0


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "array", "bool"])
@pytest.mark.parametrize("estimator", [OptimalTreeClassifier, MurTreeClassifier, DPDTreeClassifier, BranchesClassifier])
def test_sparse_matrices_give_the_tree_of_the_dense_one(form, estimator):
    matrix, y = binary_matrix()
    given = {"array": sparse.csr_array, "bool": lambda rows: rows.astype(bool)}.get(form, lambda m: m.asformat(form))
    model, dense = estimator(max_depth=2).fit(given(matrix), y), estimator(max_depth=2).fit(matrix.toarray(), y)
    assert model.export_text() == dense.export_text()
    assert (model.predict(given(matrix)) == y).all()
    assert (model.predict(matrix.toarray()) == y).all()
    assert (dense.predict_proba(given(matrix)) == model.predict_proba(matrix.toarray())).all()
    frame = pd.DataFrame.sparse.from_spmatrix(matrix)
    assert estimator(max_depth=2).fit(frame, y).predict(frame).tolist() == y.tolist()


def peak_bytes(call):
    """Return the result of a call, and the greatest number of bytes that it had allocated."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_sparse_binary_matrices_are_never_copied_as_floats():
    matrix, y = binary_matrix(5000, 400, 0.02)
    cells, model = matrix.shape[0] * matrix.shape[1], OptimalTreeClassifier(max_depth=1, time_limit=None)
    (X, _), peak = peak_bytes(lambda: read_table(model, matrix, y, reset=True))
    assert X.dtype == np.int8
    assert peak < 4 * cells
    codes, peak = peak_bytes(lambda: Encoder(EncodingSpec(max_cuts=None)).fit(X).transform(X))
    assert (codes == (X == 0)).all()
    assert peak < 4 * cells
    model.fit(matrix, y)
    _, peak = peak_bytes(lambda: model.predict(matrix))
    assert peak < cells / 2


def test_sparse_numbers_become_dense_if_they_fit():
    matrix, y = binary_matrix()
    numbers = matrix.multiply(np.random.RandomState(0).random_sample((1, matrix.shape[1]))).tocsr()
    model = OptimalTreeClassifier().fit(numbers, y)
    assert model.export_text() == OptimalTreeClassifier().fit(numbers.toarray(), y).export_text()
    huge = sparse.csr_matrix((np.full(300, 0.5), (np.arange(300), np.arange(300))), shape=(300, 50_000_000))
    with refused("the sparse matrix of 300 x 50000000 needs 114441 MiB as an array of float64", "MiB are available"):
        OptimalTreeClassifier().fit(huge, y)
    with refused("needs 46 MiB as an array of float64", "MiB are available"):
        OptimalTreeClassifier(memory_limit=rss_mib() + 10).fit(huge[:, :20_000], y)
    numbers[0, 0] = np.inf
    with refused("column 'x0': 1 rows are infinite"):
        OptimalTreeClassifier().fit(numbers, y)


def test_texts_of_numbers_with_missing_values_warn():
    texts = pd.DataFrame({"a": [f"{number}.5" for number in range(100)] + [None] * 10})
    with pytest.warns(UserWarning, match="its texts are numbers.*left out"), refused("left out"):
        OptimalTreeClassifier().fit(texts, [0, 1] * 55)
    texts["b"] = [f"{number % 30}.5" for number in range(107)] + [np.nan] * 3
    with pytest.warns(UserWarning, match="column 'b': its texts are numbers; they are split as categories"):
        OptimalTreeClassifier(max_depth=1).fit(texts, [0, 1] * 55)


def test_texts_of_dates_warn_and_targets_of_dates_are_refused():
    days = pd.date_range("2020", periods=40)[np.arange(400) % 40]
    frame, y = pd.DataFrame({"day": days.astype(str), "a": np.arange(400) % 9}), np.arange(400) % 9 > 4
    for form in ("%Y-%m-%d", "%d/%m/%Y", "%Y-%m-%dT%H:%M:%S"):
        with pytest.warns(UserWarning, match="column 'day': its texts are dates; .* days since a date"):
            OptimalTreeClassifier(max_depth=1).fit(frame.assign(day=days.strftime(form)), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        OptimalTreeClassifier(max_depth=1).fit(frame.assign(day=[f"2020-{n % 8}" for n in range(400)]), y)
    for target in (days, days - days[0]):
        with refused("y: dates or durations are no numbers", "days since a date"):
            OptimalTreeRegressor(max_depth=1).fit(frame[["a"]], target)
    with refused("one_vs_rest", "'a' has numbers"):
        OptimalTreeClassifier(one_vs_rest=["a"]).fit(frame[["a"]].assign(kind=y.astype(str)), y)


def test_a_split_into_many_children_warns():
    names = pd.DataFrame({"town": [f"town {number % 21}" for number in range(210)], "x": np.arange(210) % 7})
    y = np.arange(210) % 3 > 1
    for model in (OptimalTreeClassifier(one_vs_rest=False), BranchesClassifier()):
        with pytest.warns(UserWarning, match="column 'town': .* of its 21 categories, with 10 rows each on average"):
            model.fit(names, y)
    for quiet in (OptimalTreeClassifier(), OptimalTreeClassifier(one_vs_rest=["town"]), MurTreeClassifier(2)):
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            quiet.fit(names, y)


def test_many_columns_of_one_kind_have_one_warning():
    numbers = pd.DataFrame(np.random.RandomState(0).rand(60, 8)).add_prefix("n")
    with pytest.warns(UserWarning, match="columns 'n0', 'n1', 'n2', 'n3', 'n4' and 3 more, each: its more") as caught:
        BranchesClassifier(max_depth=1).fit(numbers, Y[:60])
    assert len(caught) == 1


def test_weights_in_another_order_than_the_rows_are_refused():
    frame, weights = pd.DataFrame({"a": np.arange(60) % 7, "b": np.arange(60) % 5}), pd.Series(np.arange(1.0, 61))
    other = weights.sample(frac=1, random_state=0)
    for model in (OptimalTreeClassifier(max_depth=1), DPDTreeClassifier(), OptimalTreeClassifierCV(cv=2, max_depth=1)):
        with refused("sample_weight", "sample_weight.loc[X.index]"):
            model.fit(frame, Y[:60], sample_weight=other)
    model = OptimalTreeClassifier(max_depth=1)
    cost = model.fit(frame, Y[:60], sample_weight=weights).cost_
    for given in (other.loc[frame.index], weights.set_axis(weights.index + 100)):
        assert model.fit(frame, Y[:60], sample_weight=given).cost_ == cost


def test_a_list_of_categorical_columns_names_all():
    with refused("'colour'", "categorical_features lists all columns of categories"):
        OptimalTreeClassifier(categorical_features=["flag"]).fit(X.assign(flag=X["number"] > 0.5), Y)
    with refused("categorical_features: mask of 1 entries"):
        OptimalTreeClassifier(categorical_features=[True]).fit(X, Y)


@pytest.mark.parametrize("parameter", ["one_vs_rest", "categorical_features"])
def test_a_text_in_place_of_a_list_is_refused_with_the_list(parameter):
    with refused(f"{parameter}: 'colour'", "['colour'] for one column"):
        OptimalTreeClassifier(**{parameter: "colour"}).fit(X, Y)


def test_a_row_or_a_column_is_no_table():
    for column in (X[:, 0] if isinstance(X, np.ndarray) else X.iloc[:, 0].to_numpy(), [1, 2, 3]):
        with refused("X: ", "of one dimension", "reshape(-1, 1)"):
            OptimalTreeClassifier().fit(column, Y[: len(column)])


def test_targets():
    expected = OptimalTreeClassifier().fit(X, Y).export_text()
    for y in (pd.Series(Y, dtype="Int64"), pd.Series(Y, index=range(N, 2 * N)), Y.tolist(), pd.Series(Y, dtype=object)):
        assert OptimalTreeClassifier().fit(X, y).export_text() == expected
    with pytest.warns(UserWarning, match="column-vector y"):
        assert OptimalTreeClassifier().fit(X, pd.DataFrame({"y": Y})).export_text() == expected
    for kind, classes in [("string", ["0", "1"]), ("category", [0, 1]), ("boolean", [False, True])]:
        y = pd.Series(Y == 1) if kind == "boolean" else pd.Series(Y).astype("string" if kind == "string" else int)
        model = OptimalTreeClassifier().fit(X, y.astype(kind))
        assert model.classes_.tolist() == classes
    shuffled = pd.Series(Y).sample(frac=1, random_state=0)
    with refused("y: its index has the labels of X's index in another order; give y.loc[X.index], or y.to_numpy()"):
        OptimalTreeClassifier().fit(X, shuffled)
    with refused("y: its index has the labels of X's index in another order"):
        DPDTreeRegressor().fit(X[["number"]], shuffled)
    assert OptimalTreeClassifier().fit(X, shuffled.loc[X.index]).export_text() == expected
    by_position = OptimalTreeClassifier().fit(X, shuffled.to_numpy())
    assert by_position.tree_.counts[0].tolist() == np.bincount(Y).tolist()
    for y in (np.where(Y, 1.0, np.nan), np.array([1, None] * (N // 2)), pd.array([0, 1, None] * (N // 3), "Int64")):
        with refused("y: ", f"of {N} rows have no class", "leave these rows out"):
            OptimalTreeClassifier().fit(X, y)
    for y, words in [(np.c_[Y, Y], "1d array"), (Y[:-1], "y: 59 entries for 60 rows of X"), (None, "y")]:
        with pytest.raises(ValueError, match=words):
            OptimalTreeClassifier().fit(X, y)
    with refused("y: ", f"of {N} rows have NaN or inf", "leave the rows out"):
        DPDTreeRegressor().fit(X[["number"]], np.where(Y, 1.0, np.nan))
    with refused("y: 'a' is no number; give finite numbers"):
        DPDTreeRegressor().fit(X[["number"]], ["a", *Y[1:]])


@pytest.mark.parametrize("X", ["abc", None, 3, 2.5])
def test_what_has_no_dimension_is_no_table(X):
    with refused(f"X: {X!r} is no table; give an array of two dimensions, a data frame or a sparse matrix"):
        OptimalTreeClassifier().fit(X, [0, 1])


def test_what_is_no_table():
    model = OptimalTreeClassifier().fit(X, Y)
    for call in (lambda rows: OptimalTreeClassifier().fit(rows, Y[: len(rows)]), model.predict):
        with refused("a Series has one dimension", "X.to_frame()"):
            call(X["number"])
        with refused("0 rows and 4 columns"):
            call(X[:0])
        with refused("60 rows and 0 columns"):
            call(X[[]])


def test_lists_of_numbers_and_texts_keep_their_numbers():
    rows = [[colour, number] for colour, number in zip(X["colour"], X["number"], strict=True)]
    model = OptimalTreeClassifier().fit(rows, X["number"] > 0.5)
    assert model.export_text().startswith("x1 <= 0.")
    assert model.predict([["unseen", 0.1], ["red", 0.9]]).tolist() == [False, True]
    gaps = np.array([[None if number < 0.2 else number, colour] for colour, number in rows], object)
    model = OptimalTreeClassifier().fit(gaps, X["number"] > 0.5)
    assert model.score(gaps, X["number"] > 0.5) == 1
    gaps[gaps == None] = pd.NA  # noqa: E711
    assert (model.predict(gaps) == (X["number"] > 0.5)).all()


def polars_table():
    """Return a frame of polars with nulls, as a table of pyarrow has them, and of pandas."""
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(
        {
            "size": polars.Series(X["size"].tolist(), dtype=polars.Enum(SIZES)),
            "kind": polars.Series(X["colour"].tolist(), dtype=polars.Categorical),
            "flag": [None if number < 0.1 else bool(flag) for number, flag in zip(X["number"], X["flag"], strict=True)],
            "count": [None if number < 0.2 else int(number * 10) for number in X["number"]],
            "text": [None if flag else colour for colour, flag in zip(X["colour"], X["flag"], strict=True)],
            "number": X["number"].to_list(),
        }
    )
    return frame


class Capsule:
    """A frame that has the Arrow PyCapsule interface alone."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def arrow_table():
    """Return a table of pyarrow with nulls and dictionaries."""
    arrow = pytest.importorskip("pyarrow")
    gaps = X["number"] < 0.2
    return arrow.table(
        {
            "size": arrow.DictionaryArray.from_arrays(X["size"].cat.codes, SIZES, ordered=True),
            "kind": arrow.array(X["colour"].where(X["flag"], None)).dictionary_encode(),
            "flag": arrow.array(X["flag"].where(~gaps, None).tolist()),
            "count": arrow.array([None if gap else 3 for gap in gaps]),
            "number": arrow.array(X["number"]),
        }
    )


@pytest.mark.parametrize("make", [arrow_table, polars_table], ids=["pyarrow", "polars"])
def test_frames_of_other_libraries(make):
    given = make()
    frame = given.to_pandas().assign(size=X["size"])
    expected = OptimalTreeClassifier("0.001").fit(frame, Y)
    for other in (given, Capsule(given)):
        model = OptimalTreeClassifier("0.001").fit(other, Y)
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
        assert model.export_text() == expected.export_text()
        assert (model.predict(other) == Y).all()
        assert (model.predict(frame) == Y).all()
    for column, wanted in [("flag", None), ("count", None), ("kind", "red"), ("kind", None)]:  # nulls survive
        y = frame[column].isna() if wanted is None else frame[column] == wanted
        if not y.any():
            continue
        assert OptimalTreeClassifier().fit(given.select([column]), y).score(given.select([column]), y) == 1
    weights = np.arange(N) % 3
    weighted = OptimalTreeClassifier().fit(given, Y, sample_weight=weights)
    assert weighted.cost_ == OptimalTreeClassifier().fit(frame, Y, sample_weight=weights).cost_
    y = given.select(["count"])
    with refused("rows have no class"):
        OptimalTreeClassifier().fit(given, y["count"])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(given.select(given.to_pandas().columns[::-1].tolist()))
    with refused("0 rows"):
        model.predict(given[:0])
    numbers = given.select(["count", "number"])
    assert DPDTreeClassifier().fit(numbers, Y).predict(numbers).shape == (N,)
    path = OptimalTreeClassifierCV(cv=3, lowest="0.01", scoring=lambda model, rows, y: float(type(rows) is type(given)))
    assert path.fit(given, Y).path_[0].score == 1


@pytest.mark.parametrize("seed", range(20))
def test_an_order_is_its_codes_in_the_frames_of_all_libraries(seed):
    arrow = pytest.importorskip("pyarrow")
    random = np.random.RandomState(seed)
    n, names = random.randint(8, 40), [f"c{9 - code}" for code in range(random.randint(2, 6))]
    numbers = pd.DataFrame(random.randint(0, len(names), (n, 3)).astype(float), columns=list("abc"))
    numbers = numbers.mask(random.random_sample(numbers.shape) < 0.2)
    codes = numbers.fillna(-1).astype(int)
    frame = codes.apply(lambda column: pd.Series(pd.Categorical.from_codes(column, names, ordered=True)))
    table = arrow.Table.from_pandas(frame, preserve_index=False)
    y, limits = np.r_[0, 1, random.randint(0, 3, n - 2)], {"max_depth": random.choice([2, 3]), "regularization": "0.02"}
    expected = OptimalTreeClassifier(**limits).fit(numbers, y)
    for other in (frame, table):
        model = OptimalTreeClassifier(**limits).fit(other, y)
        assert model.cost_ == expected.cost_
        assert (model.predict(other) == expected.predict(numbers)).all()


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [3, 7]], ids=["texts", "truth values", "numbers"])
def test_a_target_of_arrow_is_that_of_its_values(classes):
    arrow = pytest.importorskip("pyarrow")
    values = [classes[one] for one in Y]
    for target in (arrow.array(values), arrow.chunked_array([values[:20], values[20:]])):
        model = MurTreeClassifier(2).fit(X[["number"]], target)
        assert model.classes_.tolist() == classes
        assert model.cost_ == MurTreeClassifier(2).fit(X[["number"]], values).cost_


def test_categories_that_are_numbers_stay_categories():
    arrow = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"code": pd.Categorical(np.arange(N) % 4 * 10)})
    y = frame["code"].isin([0, 20])
    for given in (frame, arrow.Table.from_pandas(frame, preserve_index=False)):
        model = OptimalTreeClassifier().fit(given, y)
        assert model.tree_.features[0].labels == ("code = 0", "code = 10", "code = 20", "code = 30")
        assert model.score(frame, y) == 1


def test_columns_of_other_libraries_are_no_table():
    arrow = arrow_table()
    with refused("a ChunkedArray has one dimension"):
        OptimalTreeClassifier().fit(arrow["number"], Y)
    frame = polars_table()
    with refused("a Series has one dimension"):
        OptimalTreeClassifier().fit(frame["number"], Y)
    with refused("a LazyFrame has no rows yet; give X.collect()"):
        OptimalTreeClassifier().fit(frame.lazy(), Y)
    dates = frame.with_columns(when=datetime.date(2020, 1, 1))
    with refused("column 'when' has dates"):
        OptimalTreeClassifier().fit(dates, Y)


@pytest.mark.parametrize("value", [[1, 2], {"a": 1}, (1, "b"), {1}, 1j, b"text"], ids=repr)
@pytest.mark.parametrize("estimator", EVERY)
def test_a_column_of_other_values_is_refused_by_name(estimator, value):
    """In a frame, in rows, and in an array of objects."""
    cells = [value] * (N - 1) + [None]
    frame = X[["number"]].assign(parts=pd.Series(cells, dtype=object))
    rows = [list(row) for row in zip(X["number"], cells, strict=True)]
    tables = [(frame, "parts"), (np.array(rows, object), "x1")] + [(rows, "x1")] * (type(value) in (list, dict, tuple))
    for table, name in tables:
        with refused(f"column {name!r}", f"type {type(value).__name__}", "a string or a number"):
            estimator().fit(table, Y)


@pytest.mark.parametrize("form", [lambda X: X, lambda X: X.to_numpy(object), lambda X: X.to_numpy(object).tolist()])
def test_a_fit_converts_a_column_of_objects_once(monkeypatch, form):
    """A million rows leave no time to do so twice, nor to look for missing values where the types show none."""
    X = pd.DataFrame({"number": [1.5, np.nan, *range(N - 2)], "text": ["a", "b"] * (N // 2), "count": [*range(N)]})
    X, y, seen, looked = form(X.astype(object)), np.arange(N) > 20, [], []
    of_objects, is_missing = column_values._of_objects, column_values.is_missing
    monkeypatch.setattr(user_tables, "_KEPT_CELLS", 0)
    monkeypatch.setattr(column_values, "is_missing", lambda value: bool(looked.append(value)) or is_missing(value))
    monkeypatch.setattr(column_values, "_of_objects", lambda name, *rest: seen.append(name) or of_objects(name, *rest))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a column identifies the rows
        model = OptimalTreeClassifier().fit(X, y)
    assert len(seen) == len(set(seen)) == 3
    assert len(looked) <= 4
    assert np.array_equal(model.predict(X), y)


def test_rows_of_a_list_may_mix_numbers_and_texts():
    rows = [[number, "ab"[number % 2], number % 3 == 0] for number in range(N)]
    y = np.arange(N) > 20
    for X in (rows, tuple(map(tuple, rows))):
        model = OptimalTreeClassifier(0.001).fit(X, y)
        assert model.export_text() == OptimalTreeClassifier(0.001).fit(np.array(rows, object), y).export_text()
    with refused("X: 2 entries of one dimension"):
        OptimalTreeClassifier().fit([[1, 2], [3]], [0, 1])


@pytest.mark.parametrize("model", [OptimalTreeClassifier, OptimalTreeClassifierCV, DPDTreeClassifier, MurTreeRegressor])
def test_values_that_are_no_numbers_are_refused_with_their_argument(model):
    table, y = np.arange(40.0)[:, None], np.arange(40) % 2
    for unreal in (table * 1j, (table * 1j).tolist(), sparse.csr_matrix(table * 1j)):
        with refused("X: Complex data not supported", "give real numbers"):
            model().fit(unreal, y)
    with refused("y: Complex data not supported", "give real numbers"):
        model().fit(table, y * 1j)
    for weights in ("a", ["a"] * 40, {"a": 1}, [1j] * 40, np.full(40, 1j)):
        with refused("sample_weight: ", "give a number >= 0 for each row"):
            model().fit(table, y, sample_weight=weights)


def test_costs_of_actions_are_numbers():
    for cost in ("a", None, np.inf, 1j, object()):
        with refused("y: ", "give finite numbers"):
            OptimalPolicyTree().fit([[0], [1]] * 10, [[cost, 1]] * 20)


def test_labels_of_pandas_are_read_by_name():
    """A series, a dict or a frame whose labels are in another order than the columns, classes or actions."""
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"code": random.randint(0, 4, 200), "number": random.random_sample(200)})
    y = np.where((frame["code"] == 2) ^ (frame["number"] > 0.8), "ill", "well")
    for given in ({"number": False, "code": True}, pd.Series({"number": False, "code": True}), [True, False]):
        model = OptimalTreeClassifier(max_depth=1, categorical_features=given).fit(frame, y)
        assert "code = 2" in model.export_text()
    positions = pd.Series([True, False])
    assert "code = 2" in model.set_params(categorical_features=positions).fit(frame, y).export_text()
    for given in ({"nothing": True}, pd.Series({"nothing": True})):
        with refused("categorical_features: column: 'nothing' is not known; accepted: code, number"):
            OptimalTreeClassifier(categorical_features=given).fit(frame, y)
    with refused("categorical_features: {'code': 1} is not accepted; give True or False by the names of columns"):
        OptimalTreeClassifier(categorical_features={"code": 1}).fit(frame, y)
    prices = {"number": 0.3, "code": 0.0}
    texts = {
        OptimalTreeClassifier(max_depth=1, feature_costs=given).fit(frame, y).export_text()
        for given in (prices, pd.Series(prices), [0.0, 0.3])
    }
    assert len(texts) == 1
    directions = {"number": -1, "code": 1}
    trees = [
        OptimalTreeRegressor(max_depth=2, max_thresholds=4, monotonic_cst=given).fit(
            frame, frame["code"] - frame["number"]
        )
        for given in (directions, pd.Series(directions), [1, -1])
    ]
    assert len({tree.export_text() for tree in trees}) == 1
    with refused("monotonic_cst: 'nothing'"):
        OptimalTreeRegressor(monotonic_cst=pd.Series({"nothing": 1})).fit(frame, frame["code"])


def test_costs_with_labels_are_read_by_the_classes():
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"number": random.random_sample(300)})
    y = np.where(frame["number"] + random.normal(0, 0.3, 300) > 0.5, "ill", "well")
    costs = pd.DataFrame([[0, 5], [1, 0]], ["ill", "well"], ["ill", "well"])
    model = OptimalTreeClassifier(max_depth=1, costs=costs).fit(frame, y)
    for given in (costs.loc[::-1, ::-1], costs.loc[::-1], costs[["well", "ill"]], costs.to_numpy()):
        assert OptimalTreeClassifier(max_depth=1, costs=given).fit(frame, y).export_text() == model.export_text()
    for given in (costs.rename(columns={"ill": "bad"}), costs.rename({"ill": "bad"})):
        with refused("costs:", "with the labels bad, well are not accepted; give those of the classes, ill, well"):
            OptimalTreeClassifier(costs=given).fit(frame, y)
    with refused("costs: a dict is not accepted; give a table"):
        OptimalTreeClassifier(costs={"ill": {"well": 5}}).fit(frame, y)
    with refused("monotonic_cst: costs are not accepted beside it"):
        OptimalTreeClassifier(costs=costs, monotonic_cst=[1]).fit(frame, y)


def test_actions_of_a_score_are_read_by_name():
    random = np.random.RandomState(0)
    frame, costs = pd.DataFrame({"x": random.random_sample(60)}), pd.DataFrame({"a": np.zeros(60), "b": 1.0})
    costs["b"] -= 2 * (frame["x"] > 0.5)
    model = OptimalPolicyTree().fit(frame, costs)
    assert model.score(frame, costs[["b", "a"]]) == model.score(frame, costs) == model.score(frame, costs.to_numpy())
    with refused("y: the actions are a, c; the tree has a, b"):
        model.score(frame, costs.rename(columns={"b": "c"}))


def test_dates_are_named_by_one_that_is_there():
    dates = pd.Series([pd.NaT, *pd.date_range("2020", periods=N - 1)])
    with refused("column 'day' has dates or durations, such as 2020-01-01"):
        OptimalTreeClassifier().fit(pd.DataFrame({"day": dates}), Y)
