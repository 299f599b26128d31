"""MDLP: published thresholds, thresholds by hand, a slow twin, and the encodings that use them."""

from __future__ import annotations

from itertools import pairwise
from math import log2

import numpy as np
import pandas as pd
import pytest
from support.refusal import refused

from optree.datasets import fetch
from optree.encoding import Encoder, EncodingSpec
from optree.encoding.mdlp import mdlp_thresholds

INTERVALS = EncodingSpec(categorical="onehot", drop="first", numeric="intervals", max_cuts=None, cuts="mdlp")
# What mdlp() of the R package "discretization" gives for iris.
PUBLISHED = {
    "sepal length": (5.55, 6.15),
    "sepal width": (2.95, 3.35),
    "petal length": (2.45, 4.75),
    "petal width": (0.8, 1.75),
}


def test_iris_is_cut_as_published(table):
    iris = fetch(table["iris"])
    found = {name: mdlp_thresholds(iris.X[name].to_numpy(), iris.y.to_numpy()) for name in iris.X}
    assert found == PUBLISHED


def entropy(labels: list) -> float:
    return -sum(p * log2(p) for p in (labels.count(k) / len(labels) for k in set(labels)))


def slowly(rows: list[tuple[float, int]]) -> list[float]:
    """Compute the thresholds of the paper's Section 5, word by word."""
    labels, n = [label for _, label in rows], len(rows)
    values = sorted({value for value, _ in rows})
    cuts = []
    for low, high in pairwise(values):
        sides = [[k for v, k in rows if v <= low], [k for v, k in rows if v > low]]
        cuts.append((sum(len(side) * entropy(side) for side in sides) / n, (low + high) / 2, sides))
    if not cuts:
        return []
    least = min(mean for mean, _, _ in cuts)
    mean, cut, sides = next(found for found in cuts if found[0] <= least + 1e-9)
    k, (k1, k2) = len(set(labels)), (len(set(side)) for side in sides)
    delta = log2(3**k - 2) - (k * entropy(labels) - k1 * entropy(sides[0]) - k2 * entropy(sides[1]))
    if entropy(labels) - mean <= (log2(n - 1) + delta) / n:
        return []
    return [
        *slowly([row for row in rows if row[0] < cut]),
        cut,
        *slowly([row for row in rows if row[0] > cut]),
    ]


def test_a_slow_twin_finds_the_same_cuts():
    numbers = []
    for seed in range(1500):
        random = np.random.RandomState(seed)
        n, classes = random.randint(1, 40), random.randint(1, 5)
        values = random.randint(random.randint(1, 30), size=n).astype(float)
        noise = random.random_sample(n) < random.choice([0, 0.1, 0.3, 1])
        y = np.where(noise, random.randint(classes, size=n), (values // random.randint(1, 9)).astype(int) % classes)
        cuts = mdlp_thresholds(values, y)
        assert cuts == tuple(slowly(list(zip(values.tolist(), y.tolist(), strict=True)))), seed
        numbers.append(len(cuts))
    assert {0, 1, 2, 3} <= set(numbers)


@pytest.mark.parametrize(
    ("y", "cuts"),
    [
        ("aaaabbbb", (4.5,)),  # gains 1 bit, costs (log2 7 + log2 7 - 2) / 8 = 0.45
        ("ab", (1.5,)),  # gains 1 bit, costs (log2 1 + log2 7 - 2) / 2 = 0.40
        ("abab", ()),  # the best cut gains 0.31 bits, and costs at least log2 3 / 4 = 0.40
        ("aaaa", ()),
        ("a", ()),
    ],
)
def test_cuts_by_hand(y, cuts):
    assert mdlp_thresholds(np.arange(1.0, len(y) + 1), np.array(list(y))) == cuts


LENGTH = np.arange(1.0, 13)
X = pd.DataFrame({"length": LENGTH, "half": LENGTH.clip(max=5), "noise": [1.0, 2] * 6, "red": list("yn") * 6})
Y = list("aaaabbbbcccc")


def test_the_papers_binarisation_has_as_many_features(table, mirror_dir):
    """MurTree prints 57 for HTRU_2, which it made with the R package: one-hot of the intervals."""
    htru = fetch(table["htru-2"], mirror_dir)
    assert len(Encoder(INTERVALS).fit(htru.X, htru.y).features_) == 57


def test_a_feature_for_every_interval():
    """Columns without a threshold are left out; categories are unchanged."""
    encoder = Encoder(INTERVALS).fit(X, Y)
    assert encoder.constant_ == ["noise"]
    assert [feature.labels for feature in encoder.features_] == [
        ("not length <= 4.5", "length <= 4.5"),
        ("not 4.5 < length <= 8.5", "4.5 < length <= 8.5"),
        ("not length > 8.5", "length > 8.5"),
        ("half > 4.5", "half <= 4.5"),  # one of two intervals says it all
        ("red != y", "red = y"),
    ]
    assert encoder.transform(X)[:, :4].tolist() == [[1, 0, 0, 1]] * 4 + [[0, 1, 0, 0]] * 4 + [[0, 0, 1, 0]] * 4
    again = Encoder.from_dict(encoder.to_dict())
    assert (again.transform(X) == encoder.transform(X)).all()


def test_cuts_of_the_classes_can_be_thresholds_and_bins(table):
    iris = fetch(table["iris"])
    for numeric, features in (("thresholds", 8), ("bins", 4), ("intervals", 12)):
        spec = EncodingSpec("onehot", numeric=numeric, max_cuts=None, cuts="mdlp")
        assert len(Encoder(spec).fit(iris.X, iris.y).features_) == features


def test_what_does_not_go_with_it_is_refused():
    with refused("cuts = 'mdlp'", "max_cuts = 4", "with None"):
        EncodingSpec(cuts="mdlp", max_cuts=4)
    with refused("cuts = 'mdlp'", "numeric = 'values'", "intervals"):
        EncodingSpec(numeric="values", max_cuts=None, cuts="mdlp")
    with refused("cuts", "'entropy'", "quantiles, distinct, mdlp"):
        EncodingSpec(cuts="entropy")
    with refused("needs the classes", "give y"):
        Encoder(INTERVALS).fit(X)
    with refused("no threshold"):
        Encoder(INTERVALS).fit(X[["noise"]], Y)
