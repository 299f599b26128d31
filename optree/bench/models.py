"""The estimators that a configuration can fit to tables as they are, and the spaces of a random search over them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from optree.errors import OptreeError, choice

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


def _boosted(tree):
    """AdaBoost over a tree: parameters that are not its own are the tree's."""

    def make(n_estimators=50, learning_rate=1.0, random_state=0, **parameters):
        from sklearn.ensemble import AdaBoostClassifier

        weak = tree()(random_state=random_state, **parameters)
        return AdaBoostClassifier(
            weak, n_estimators=n_estimators, learning_rate=learning_rate, random_state=random_state
        )

    return make


def _ours(name: str):
    def load():
        from optree import estimators

        return getattr(estimators, name)

    return load


def _scikit_learns(name: str):
    def load():
        from sklearn import tree

        return getattr(tree, name)

    return load


def _peer():
    from optree.bench.peer_model import PeerModel

    return PeerModel


_OURS = (
    "OptimalTreeClassifier",
    "DPDTreeClassifier",
    "DPDTreeRegressor",
    "DPDTGradientBoostingClassifier",
    "DPDTGradientBoostingRegressor",
)
_THEIRS = ("DecisionTreeClassifier", "DecisionTreeRegressor")
# Name -> what gives the class, so that a job imports what it fits and nothing else.
ESTIMATORS = {name: _ours(name) for name in _OURS} | {name: _scikit_learns(name) for name in _THEIRS}
ESTIMATORS |= {
    "AdaBoostDPDT": lambda: _boosted(ESTIMATORS["DPDTreeClassifier"]),
    "AdaBoostCART": lambda: _boosted(ESTIMATORS["DecisionTreeClassifier"]),
    "Peer": _peer,
}


def check(name: str, fields: Mapping) -> None:
    """Refuse a model of the configuration that cannot be made.

    Raises
    ------
    OptreeError
        Naming the key, the value and what is accepted.
    """
    where = f"config: models.{name}"
    if fields["estimator"] not in ESTIMATORS:
        raise choice(f"{where}: estimator", fields["estimator"], sorted(ESTIMATORS))
    if fields.get("space") is not None and fields["space"] not in SPACES:
        raise choice(f"{where}: space", fields["space"], sorted(SPACES))
    if (fields.get("space") is None) != (fields.get("trials") is None):
        raise OptreeError(f"{where}: a random search needs both space and trials")
    try:
        make(fields["estimator"], fields.get("parameters", {}), 0)
    except TypeError as error:
        raise OptreeError(f"{where}: parameters: {error}") from error


def check_peers(name: str, fields: Mapping, peers: Mapping) -> None:
    """Refuse a peer that does not exist, or splits no columns of numbers."""
    if fields["estimator"] != "Peer":
        return
    able = [peer for peer, declared in peers.items() if "numeric" in declared.features]
    if fields["parameters"]["peer"] not in able:
        raise choice(f"config: models.{name}: peer", fields["parameters"]["peer"], able)


def make(estimator: str, parameters: Mapping, seed: int):
    """The estimator, not fitted."""
    random = {} if estimator == "OptimalTreeClassifier" else {"random_state": seed}  # that draws nothing
    return ESTIMATORS[estimator]()(**{**random, **parameters})
