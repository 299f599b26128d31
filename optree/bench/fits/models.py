"""The estimators that a configuration can fit to tables."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from optree.errors import OptreeError, choice


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


def _scikit_learns(module: str, name: str):
    return lambda: getattr(import_module(f"sklearn.{module}"), name)


def _peer():
    from optree.bench.peers.estimator import PeerModel

    return PeerModel


_OURS = (
    "OptimalTreeClassifier",
    "DPDTreeClassifier",
    "DPDTreeRegressor",
    "DPDTGradientBoostingClassifier",
    "DPDTGradientBoostingRegressor",
)
_THEIRS = {"DecisionTreeClassifier": "tree", "DecisionTreeRegressor": "tree", "RandomForestClassifier": "ensemble"}
# Name -> what gives the class, so that a job imports what it fits and nothing else.
ESTIMATORS = {name: _ours(name) for name in _OURS} | {
    name: _scikit_learns(module, name) for name, module in _THEIRS.items()
}
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
    first = {key: values[0] for key, values in fields.get("grid", {}).items()}
    try:
        make(fields["estimator"], first | fields.get("parameters", {}), 0)
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
