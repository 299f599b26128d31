"""Encodings: codes agree with the labels of features, and errors have one line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from support.refusal import refused

from optree.encoding import Encoder, EncodingSpec
from optree.errors import OptreeError
from optree.tree import Tree

X = pd.DataFrame(
    {
        "color": ["red", "blue", "green", "red", "blue", "red"],
        "doors": ["10", "2", "2", "4", "10", "4"],
        "length": [1.5, 2.0, 2.0, 3.0, 5.0, 10.0],
        "planet": ["earth"] * 6,
        "open": [True, False, True, True, False, False],
    }
)
Y = ["yes", "no", "no", "yes", "no", "yes"]


def names(spec: EncodingSpec) -> list[str]:
    return [feature.name for feature in Encoder(spec).fit(X, Y).features_]


# Features


def test_ordinal_and_values_have_one_category_per_value():
    encoder = Encoder(EncodingSpec("ordinal", numeric="values")).fit(X, Y)
    assert [feature.name for feature in encoder.features_] == ["color", "doors", "length", "open"]
    assert encoder.features_[0].labels == ("color = blue", "color = green", "color = red")
    assert encoder.features_[1].labels == ("doors = 2", "doors = 4", "doors = 10")
    assert encoder.features_[2].labels[:2] == ("length = 1.5", "length = 2")
    assert encoder.features_[3].labels == ("open = false", "open = true")
    assert encoder.transform(X)[:, 1].tolist() == [2, 0, 0, 1, 2, 1]
    assert encoder.constant_ == ["planet"]
    assert encoder.classes_ == ("no", "yes")


@pytest.mark.parametrize(
    ("drop", "doors", "opened"),
    [
        ("none", ["doors = 2", "doors = 4", "doors = 10"], ["open = false", "open = true"]),
        ("first", ["doors = 4", "doors = 10"], ["open = true"]),
        ("last", ["doors = 2", "doors = 4"], ["open = false"]),
    ],
)
def test_onehot_has_a_feature_for_each_category_but_the_dropped_one(drop, doors, opened):
    found = names(EncodingSpec("onehot", drop))
    assert [name for name in found if name.startswith("doors")] == doors
    assert [name for name in found if name.startswith("open")] == opened


def test_thresholds_and_bins_cut_between_the_values():
    thresholds = Encoder(EncodingSpec(max_cuts=2)).fit(X[["length"]])
    assert [feature.labels for feature in thresholds.features_] == [
        ("length > 2.5", "length <= 2.5"),
        ("length > 4", "length <= 4"),
    ]
    assert thresholds.transform(X[["length"]]).tolist() == [[1, 1], [1, 1], [1, 1], [0, 1], [0, 0], [0, 0]]
    bins = Encoder(EncodingSpec(numeric="bins", max_cuts=2)).fit(X[["length"]])
    assert bins.features_[0].labels == ("length <= 2.5", "2.5 < length <= 4", "length > 4")
    assert bins.transform(X[["length"]]).ravel().tolist() == [0, 0, 0, 1, 2, 2]


# Codes


@pytest.mark.parametrize("numeric", ["thresholds", "bins", "intervals", "values"])
@pytest.mark.parametrize(("categorical", "drop"), [("ordinal", "none"), ("onehot", "none"), ("onehot", "first")])
def test_every_row_meets_the_condition_of_its_label(categorical, drop, numeric):
    problem = Encoder(EncodingSpec(categorical, drop, numeric, 2)).fit(X, Y).problem(X, Y)
    rows = X.assign(open=X["open"].map({True: "true", False: "false"})).to_dict("records")
    for row, codes in zip(rows, problem.codes, strict=True):
        for feature, code in zip(problem.features, codes, strict=True):
            for part, label in enumerate(feature.labels):
                assert holds(label, row) == (part == code), (row, label)


def holds(label: str, row: dict) -> bool:
    """Return whether a row meets a condition such as ``2.5 < length <= 4`` or ``color != red``."""
    if label.startswith("not "):
        return not holds(label.removeprefix("not "), row)
    low, separator, rest = label.partition(" < ")
    if separator:
        return float(low) < row["length"] and holds(rest, row)
    name, relation, value = label.split()
    if relation in ("=", "!="):
        equal = row[name] == float(value) if name == "length" else row[name] == value
        return equal == (relation == "=")
    return (row[name] <= float(value)) == (relation == "<=")


def test_an_encoder_survives_json():
    for spec in (EncodingSpec("onehot", "last"), EncodingSpec(numeric="values", max_cuts=None, unseen="ignore")):
        encoder = Encoder(spec).fit(X, Y)
        again = Encoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
        assert (again.transform(X) == encoder.transform(X)).all()
        assert (again.features_, again.constant_, again.classes_) == (
            encoder.features_,
            encoder.constant_,
            encoder.classes_,
        )
    with refused("not what Encoder.to_dict writes"):
        Encoder.from_dict({"spec": {}})


def test_arrays_are_encoded_like_data_frames():
    frame = X.drop(columns="open")
    expected = Encoder().fit(frame, Y)
    encoder = Encoder().fit(frame.to_numpy(object), Y, names=list(frame))
    assert encoder.features_ == expected.features_
    assert (encoder.transform(frame.to_numpy(object)) == expected.transform(frame)).all()
    numbers = np.array([[0, 1], [1, 1], [2, 0]])
    assert [feature.name for feature in Encoder().fit(numbers).features_] == ["x0 <= 0.5", "x0 <= 1.5", "x1 <= 0.5"]


@pytest.mark.parametrize("categorical", [["x0"], [True, False], np.array([True, False])])
def test_columns_of_numbers_can_be_categorical(categorical):
    numbers = np.array([[0, 1], [1, 1], [2, 0]])
    features = Encoder().fit(numbers, categorical=categorical).features_
    assert features[0].labels == ("x0 = 0", "x0 = 1", "x0 = 2")
    assert features[1].name == "x1 <= 0.5"


def test_pandas_types_of_categories_and_numbers():
    frame = pd.DataFrame({"a": pd.Categorical([3, 20, 3]), "b": pd.array([1, 2, 2], "Int64"), "c": [True, False, True]})
    labels = [feature.labels for feature in Encoder().fit(frame).features_]
    assert labels == [("a = 3", "a = 20"), ("b > 1.5", "b <= 1.5"), ("c = false", "c = true")]


def test_a_problem_has_the_classes_of_all_rows():
    encoder = Encoder().fit(X[:2], Y[:2], classes=["yes", "no", "perhaps"])
    assert encoder.problem(X[:2], Y[:2]).classes == ("yes", "no", "perhaps")
    with refused("class", "'never'", "yes, no, perhaps"):
        encoder.problem(X[:1], ["never"])
    weighted = encoder.problem(X[:2], Y[:2], [3, 4])
    assert weighted.total_weight == 7
    assert Encoder().fit(X, [10, 9, 9, 10, 2, 2]).classes_ == ("2", "9", "10")


# Unseen values


def test_unseen_categories_are_refused():
    new = X.assign(color="pink")
    for categorical in ("ordinal", "onehot"):
        with refused("'color'", "'pink'", "blue, green, red"):
            Encoder(EncodingSpec(categorical)).fit(X, Y).transform(new)
    many = pd.DataFrame({"a": [f"{number:03}" for number in range(100)]})
    with refused("'200'", "018, 019, ..."):
        Encoder().fit(many).transform(pd.DataFrame({"a": ["000", "200"]}))


def test_a_number_without_a_row_is_none_of_the_values():
    values = Encoder(EncodingSpec(numeric="values")).fit(X, Y)
    assert values.transform(X.assign(length=7.5))[:, 2].tolist() == [-1] * 6


def test_unseen_categories_are_ignored_if_asked():
    new = X.assign(color="pink", length=7.5)
    ordinal = Encoder(EncodingSpec(numeric="values", unseen="ignore")).fit(X, Y)
    assert ordinal.transform(new)[0].tolist() == [-1, 2, -1, 1]
    onehot = Encoder(EncodingSpec("onehot", unseen="ignore")).fit(X, Y)
    assert onehot.transform(new)[0, :3].tolist() == [0, 0, 0]
    problem = ordinal.problem(X, Y)
    tree = Tree.grow(problem, lambda rows, state: (0, [0, 0, 0]) if state else (-1, []), 1)
    assert tree.apply(ordinal.transform(new)).tolist() == [0] * 6


# Bad input


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"categorical": "hash"}, ["categorical", "'hash'", "ordinal, onehot"]),
        ({"drop": "second"}, ["drop", "'second'", "first, last, none"]),
        ({"drop": "first"}, ["drop = 'first'", "onehot"]),
        ({"numeric": "raw"}, ["numeric", "thresholds, bins, intervals, values"]),
        ({"max_cuts": 0}, ["max_cuts = 0"]),
        ({"max_cuts": 2.5}, ["max_cuts = 2.5"]),
        ({"max_cuts": True}, ["max_cuts = True"]),
        ({"unseen": "skip"}, ["unseen", "error, ignore"]),
    ],
)
def test_bad_specifications_are_refused(fields, words):
    with refused(*words):
        EncodingSpec(**fields)


@pytest.mark.parametrize(
    ("X_bad", "words"),
    [
        (X.assign(color=[None, "a", "b", None, "a", "b"]), ["'color'", "2 rows"]),
        (X.assign(color=pd.array([pd.NA, "a", "b", "a", "a", "b"], "string")), ["'color'", "1 rows"]),
        (X.assign(length=[np.nan, np.inf, 1, 2, 3, 4]), ["'length'", "1 rows are infinite"]),
        (X[["planet", "planet"]], ["two columns are named 'planet'"]),
        (X[["planet"]], ["1 columns are constant"]),
        (X[:1], ["5 columns are constant"]),
        (np.zeros(6), ["1 dimensions"]),
    ],
)
def test_bad_tables_are_refused(X_bad, words):
    with refused(*words):
        Encoder().fit(X_bad, Y)


def test_tables_unlike_the_fitted_one_are_refused():
    encoder = Encoder().fit(X, Y)
    for other in (X[list(X)[::-1]], X.drop(columns="color"), X.rename(columns={"color": "colour"})):
        with refused("columns are", "expected: color, doors, length, planet, open"):
            encoder.transform(other)
    with refused("2 columns and 5 names"):
        encoder.transform(np.zeros((3, 2)))
    with refused("'length'", "'long'", "numbers"):
        encoder.transform(X.assign(length="long"))
    with refused("'length'", "6 rows"):
        encoder.transform(X.assign(length=np.nan))
    with refused("not fitted"):
        Encoder().transform(X)


def test_bad_arguments_of_fit_are_refused():
    with refused("categorical column", "'colour'", "color, doors"):
        Encoder().fit(X, Y, categorical=["colour"])
    with refused("mask of 2 entries for 5 columns"):
        Encoder().fit(X, Y, categorical=[True, False])
    with refused("'color'", "accepts numbers only"):
        Encoder().fit(X, Y, categorical=["doors"])
    with refused("'y'", "1 rows"):
        Encoder().fit(X, [None, *Y[1:]])
    with refused("'y'", "1 rows"):
        Encoder().fit(X, [float("nan"), *Y[1:]])


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8])
@pytest.mark.parametrize("numeric", ["thresholds", "bins", "intervals", "values"])
def test_arrays_are_encoded_as_their_columns_are(kind, numeric):
    """Columns of two values, and all of an array at once, are short cuts: a table of columns takes the long way."""
    random = np.random.RandomState(0)
    X = np.stack([random.choice(values, 40) for values in ([0, 1], [3, 7], [0, 1, 2, 3, 4], [5, 5], [0, 200])], axis=1)
    X[:2, [0, 1, 4]] = [[0, 3, 0], [1, 7, 200]]
    X, spec = X.astype(kind), EncodingSpec(numeric=numeric, max_cuts=2)
    one, other = Encoder(spec).fit(X), Encoder(spec).fit(pd.DataFrame(X, columns=[f"x{j}" for j in range(5)]))
    assert one.columns_ == other.columns_
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)])
    assert np.array_equal(one.transform(X), other.transform(frame))
    if kind in (np.float64, np.float32):
        X[3, 1] = np.nan
        for read in (Encoder(spec).fit, one.transform):
            with pytest.raises(OptreeError, match="column 'x1': 1 rows have no value"):
                read(X)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_whole_numbers_are_compared_as_they_are(kind):
    """As floats are, to the ends of the type; columns of neighbours need no second look, others do."""
    least, most = np.iinfo(kind).min, min(np.iinfo(kind).max, 2**52)
    columns = ([0, 1], [most - 1, most], [least, least + 1], [least, most], [0, 1, 2], [7, 7])
    random = np.random.RandomState(0)
    X = np.array([[values[i % len(values)] for values in columns] for i in range(40)], kind)
    pairs = np.array([[values[i % 2] for values in columns[:3]] for i in range(40)], kind)
    new = random.randint(0, 4, (30, 6)).astype(kind)
    new[0], new[1] = least, most
    for table, rows in ((X, new), (pairs, new[:, :3])):
        one, other = Encoder().fit(table), Encoder().fit(table.astype(float))
        assert one.columns_ == other.columns_
        assert np.array_equal(one.transform(rows), other.transform(rows.astype(float)))
        assert np.array_equal(one.transform(table), other.transform(table.astype(float)))
