"""Searches over the parameters of an estimator: a grid, or a random search over a space of the DPDT paper."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from optree.bench.models import estimators
from optree.errors import OptreeError, choice

if TYPE_CHECKING:
    from optree.bench.runs.record import Run

_TREE = {
    "max_depth": [(5, 0.7), (2, 0.1), (3, 0.1), (4, 0.1)],
    "min_samples_split": [(2, 0.95), (3, 0.05)],
    "min_impurity_decrease": [(0.0, 0.85), (0.01, 0.05), (0.02, 0.05), (0.05, 0.05)],
    "min_samples_leaf": (2, 51),  # integers, log-uniform
    "min_weight_fraction_leaf": [(0.0, 0.95), (0.01, 0.05)],
    "max_features": [("sqrt", 0.5), ("log2", 0.25), (None, 0.25)],
}
# The paper prints only "8 configs" and "5 configs", so these lists are our choice.
_NODES = [(nodes, 0.125) for nodes in ((8, 4), (4, 8), (16, 2), (4, 4, 4), (8, 8), (3, 3, 3), (32,), (8, 4, 2))]
_FEW_NODES = [(nodes, 0.2) for nodes in ((8, 4), (4, 8), (16, 2), (4, 4, 4), (6, 6))]
_BOOSTED = {**_TREE, "max_depth": [(2, 0.4), (3, 0.6)], "learning_rate": (float(np.log(0.01)), float(np.log(10)))}
# Table 7 of Kohler, Akrour, Preux, KDD 2025. A list has values with their probabilities, a pair the ends of a
# log-uniform range; the pair of a learning rate has the mean and the standard deviation of its logarithm.
SPACES: dict[str, dict] = {
    "cart": {**_TREE, "max_leaf_nodes": [(32, 0.85), (5, 0.05), (10, 0.05), (15, 0.05)]},
    "dpdt": {**_TREE, "cart_nodes_list": _NODES},
    "streed": {
        "max_splits": [(nodes, 1 / 7) for nodes in (3, 5, 7, 11, 17, 25, 31)],
        "n_thresholds": [(count, 0.25) for count in (5, 10, 20, 50)],
        "min_samples_leaf": _TREE["min_samples_leaf"],
    },
    "boosted-cart": {**_BOOSTED, "max_leaf_nodes": [(8, 0.85), (5, 0.05), (7, 0.1)]},
    "boosted-dpdt": {**_BOOSTED, "cart_nodes_list": _FEW_NODES},
}


def sample(space: str, random: np.random.RandomState) -> dict:
    """Return random parameters from a space."""
    parameters = {}
    for name, values in SPACES[space].items():
        if name == "learning_rate":
            parameters[name] = float(random.lognormal(*values))
        elif isinstance(values, tuple):
            parameters[name] = round(float(np.exp(random.uniform(*np.log(np.array(values) - [0.5, 0.5])))))
        else:
            probabilities = [probability for _, probability in values]
            parameters[name] = values[random.choice(len(values), p=probabilities)][0]
    return parameters


def check(name: str, fields: Mapping) -> None:
    """Raise if the search of a model is incomplete, or both a grid and a random search."""
    where, space, trials = f"config: algorithms.{name}", fields.get("space"), fields.get("trials")
    if space is not None and space not in SPACES:
        raise choice(f"{where}: space", space, sorted(SPACES))
    if (space is None) != (trials is None):
        raise OptreeError(f"{where}: a random search needs both space and trials")
    if space is not None and fields.get("grid"):
        raise OptreeError(f"{where}: grid and space = {space!r} exclude each other; leave one out")


def _candidates(run: Run) -> Iterator[dict]:
    """Yield the parameters of each trial; a random search begins with the defaults."""
    random, training = np.random.RandomState(run.seed), run.training
    if training.space:
        yield from (sample(training.space, random) if number else {} for number in range(training.trials))
    elif training.grid:
        yield from (dict(zip(training.grid, values, strict=True)) for values in product(*training.grid.values()))


def _score(model, X: np.ndarray, y: np.ndarray, leaf: float) -> float:
    """Return the score of a model; without a tree, as of a peer at its limit, the accuracy of a leaf."""
    score = model.score(X, y)
    return float((y == leaf).mean() if score is None else score)


def run_trials(
    run: Run, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, peer: Mapping | None = None
) -> list[dict]:
    """Train and score every candidate of a search; return an empty list if the run is no search.

    ``peer`` has the further parameters of a peer.

    A trial has ``parameters``, ``seconds`` of processor time, and scores. A grid search has scores on ``train`` and
    ``test`` rows, bool[n]. A random search has scores on ``valid`` rows, three tenths of the rows held out, and on
    ``test`` rows, the other seven tenths.
    """
    shuffled = np.random.RandomState(run.seed).permutation(np.flatnonzero(test))
    most = run.training.test_rows
    if run.training.space:
        validation, rest = np.split(shuffled, [round(0.3 * len(shuffled))])
        scored = {"valid": validation[:most], "test": rest[:most]}
    else:
        scored = {"train": np.flatnonzero(train), "test": shuffled[:most]}
    tried = []
    for parameters in _candidates(run):
        start = time.process_time()
        model = estimators.make(run.solver, parameters | run.parameters | (peer or {}), run.seed)
        model.fit(X[train], y[train])
        seconds = getattr(model, "measured_", {"processor": time.process_time() - start})["processor"]
        leaf = np.bincount(y[train]).argmax() if y.dtype.kind == "i" else np.nan
        scores = {name: _score(model, X[rows], y[rows], leaf) for name, rows in scored.items()}
        tried.append({"parameters": parameters, "seconds": seconds, **scores})
    return tried
