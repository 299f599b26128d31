"""Cut points, and the order and texts of values."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optree.datasets import fetch
from optree.encoding import Encoder, EncodingSpec
from optree.encoding.cells import number_text, ordered
from optree.encoding.thresholds import thresholds


def test_iris_has_the_thresholds_that_everybody_knows(table):
    iris = fetch(table["iris"])
    features = Encoder(EncodingSpec(max_cuts=None)).fit(iris.X, iris.y).features_
    assert {"petal length <= 2.45", "petal width <= 0.8", "petal width <= 1.75"} <= {f.name for f in features}
    assert len(features) == sum(iris.X[name].nunique() - 1 for name in iris.X)


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(FINITE | st.integers(-3, 3).map(float), min_size=2, max_size=40),
    st.none() | st.integers(1, 6),
    st.booleans(),
)
def test_thresholds_separate_neighbours(values, max_cuts, distinct):
    found = np.unique(values)
    cuts = thresholds(np.array(values), max_cuts, distinct)
    bins = np.searchsorted(cuts, found)
    assert list(cuts) == sorted(set(cuts))
    assert (np.diff(bins) <= 1).all()
    assert bins[0] == 0
    assert bins[-1] == len(cuts)
    gaps = len(found) - 1
    assert len(cuts) == gaps if max_cuts is None or max_cuts >= gaps else 1 <= len(cuts) <= max_cuts


def test_thresholds_are_few_digits_and_never_a_value():
    assert thresholds(np.array([1990.0, 1991.0])) == (1990.5,)
    assert thresholds(np.array([0.12345678, 0.87654321])) == (0.5,)
    assert thresholds(np.array([1 / 3, 2 / 3, 1])) == (0.5, 0.8333)
    assert thresholds(np.array([1.0, np.nextafter(1.0, 2)])) == (1.0,)  # no float between: x <= 1 separates them
    assert thresholds(np.array([1.0] * 90 + [2.0] * 5 + [3.0] * 5), 1) == (1.5,)
    assert thresholds(np.array([1.0] + [2.0] * 9 + [3.0] * 90), 1) == (2.5,)
    skewed = np.array([1.0] * 90 + [2.0, 3.0, 4.0, 5.0, 6.0])
    assert thresholds(skewed, 1) == (1.5,)
    assert thresholds(skewed, 1, distinct=True) == (3.5,)
    assert thresholds(skewed, 3, distinct=True) == (2.5, 3.5, 4.5)


def test_order_of_categories_and_texts_of_numbers():
    assert ordered(["10", "9", "-1.5"]) == ["-1.5", "9", "10"]
    assert ordered(["10", "9", "?"]) == ["10", "9", "?"]
    assert ordered(["2", "nan", "10"]) == ["10", "2", "nan"]
    assert [number_text(x) for x in (2.0, -0.0, 0.1, 1e16, 1e300)] == ["2", "0", "0.1", "1e+16", "1e+300"]
