"""Searches over the parameters of an estimator: a grid, or a random search over a space of the DPDT paper."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from optree.bench.fits import models
from optree.errors import OptreeError, choice

if TYPE_CHECKING:
    from optree.bench.fits.fit import Fit

_TREE = {
    "max_depth": [(5, 0.7), (2, 0.1), (3, 0.1), (4, 0.1)],
    "min_samples_split": [(2, 0.95), (3, 0.05)],
    "min_impurity_decrease": [(0.0, 0.85), (0.01, 0.05), (0.02, 0.05), (0.05, 0.05)],
    "min_samples_leaf": (2, 51),  # whole, log-uniform
    "min_weight_fraction_leaf": [(0.0, 0.95), (0.01, 0.05)],
    "max_features": [("sqrt", 0.5), ("log2", 0.25), (None, 0.25)],
}
# "8 configs" and "5 configs" are printed, not which they are: these are ours.
_NODES = [(nodes, 0.125) for nodes in ((8, 4), (4, 8), (16, 2), (4, 4, 4), (8, 8), (3, 3, 3), (32,), (8, 4, 2))]
_FEW_NODES = [(nodes, 0.2) for nodes in ((8, 4), (4, 8), (16, 2), (4, 4, 4), (6, 6))]
_BOOSTED = {**_TREE, "max_depth": [(2, 0.4), (3, 0.6)], "learning_rate": (float(np.log(0.01)), float(np.log(10)))}
# Table 7 of Kohler, Akrour, Preux, KDD 2025: a value with its probability, or the ends of a range.
SPACES: dict[str, dict] = {
    "cart": {**_TREE, "max_leaf_nodes": [(32, 0.85), (5, 0.05), (10, 0.05), (15, 0.05)]},
    "dpdt": {**_TREE, "cart_nodes_list": _NODES},
    "boosted-cart": {**_BOOSTED, "max_leaf_nodes": [(8, 0.85), (5, 0.05), (7, 0.1)]},
    "boosted-dpdt": {**_BOOSTED, "cart_nodes_list": _FEW_NODES},
}


def draw(space: str, random: np.random.RandomState) -> dict:
    """Parameters drawn from a space."""
    drawn = {}
    for name, values in SPACES[space].items():
        if name == "learning_rate":
            drawn[name] = float(random.lognormal(*values))
        elif isinstance(values, tuple):
            drawn[name] = round(float(np.exp(random.uniform(*np.log(np.array(values) - [0.5, 0.5])))))
        else:
            drawn[name] = values[random.choice(len(values), p=[share for _, share in values])][0]
    return drawn


def check(name: str, fields: Mapping) -> None:
    """Refuse a model of the configuration whose search is not one of the two, or lacks something.

    Raises
    ------
    OptreeError
        Naming the key, the value and what is accepted.
    """
    where, space, trials = f"config: models.{name}", fields.get("space"), fields.get("trials")
    if space is not None and space not in SPACES:
        raise choice(f"{where}: space", space, sorted(SPACES))
    if (space is None) != (trials is None):
        raise OptreeError(f"{where}: a random search needs both space and trials")
    if space is not None and fields.get("grid"):
        raise OptreeError(f"{where}: grid and space = {space!r} exclude each other; leave one out")


def _candidates(fit: Fit) -> Iterator[dict]:
    """The parameters that are tried, the defaults first in a random search."""
    random = np.random.RandomState(fit.seed)
    if fit.space:
        yield from (draw(fit.space, random) if number else {} for number in range(fit.trials))
    elif fit.grid:
        yield from (dict(zip(fit.grid, values, strict=True)) for values in product(*fit.grid.values()))


def done(fit: Fit, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> list[dict]:
    """Train and score every candidate of a fit that is a search; of another there are none.

    Parameters
    ----------
    fit : Fit
    X : array of shape (n, p)
    y : array of shape (n,)
    train, test : bool[n]
        The rows to train on, and those held out.

    Returns
    -------
    list of dict
        ``parameters``, ``seconds`` of processor time, and scores: of a grid on ``train`` and ``test`` rows; of a random
        search on ``valid`` rows, three tenths of those held out, and ``test``, the others.
    """
    shuffled = np.random.RandomState(fit.seed).permutation(np.flatnonzero(test))
    if fit.space:
        validation, rest = np.split(shuffled, [round(0.3 * len(shuffled))])
        parts = {"valid": validation[: fit.test_rows], "test": rest[: fit.test_rows]}
    else:
        parts = {"train": np.flatnonzero(train), "test": shuffled[: fit.test_rows]}
    tried = []
    for chosen in _candidates(fit):
        start = time.process_time()
        model = models.make(fit.estimator, chosen | fit.parameters, fit.seed).fit(X[train], y[train])
        seconds = time.process_time() - start
        scores = {name: float(model.score(X[rows], y[rows])) for name, rows in parts.items()}
        tried.append({"parameters": chosen, "seconds": seconds, **scores})
    return tried
