"""The models of a configuration: estimators with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from optree.bench.runs.record import Run
from optree.bench.system import environment
from optree.errors import OptreeError, choice


def _adaboost(tree: str) -> Callable:
    """Return a factory of AdaBoost over trees; parameters that are not AdaBoost's are the tree's."""

    def make(n_estimators=50, learning_rate=1.0, random_state=0, **parameters):
        from sklearn.ensemble import AdaBoostClassifier

        weak = ESTIMATORS[tree]()(random_state=random_state, **parameters)
        return AdaBoostClassifier(
            weak, n_estimators=n_estimators, learning_rate=learning_rate, random_state=random_state
        )

    return make


def _class(module: str, name: str) -> Callable:
    """Return a function that imports a class."""
    return lambda: getattr(import_module(module), name)


PEER = "Peer"  # a peer that splits columns of numbers, named by the parameter ``peer``
_OURS = (
    "OptimalTreeClassifier",
    "OptimalTreeRegressor",
    "MurTreeRegressor",
    "DPDTreeClassifier",
    "DPDTreeRegressor",
    "DPDTGradientBoostingClassifier",
    "DPDTGradientBoostingRegressor",
)
_DETERMINISTIC = ("OptimalTreeClassifier", "OptimalTreeRegressor", "MurTreeRegressor")
_SCIKIT_LEARN = {
    "DecisionTreeClassifier": "tree",
    "DecisionTreeRegressor": "tree",
    "RandomForestClassifier": "ensemble",
}
# Name -> function that returns the class, so that a job imports only the modules of its own estimator.
ESTIMATORS: dict[str, Callable] = {
    **{name: _class("optree.estimators", name) for name in _OURS},
    **{name: _class(f"sklearn.{module}", name) for name, module in _SCIKIT_LEARN.items()},
    "AdaBoostDPDT": lambda: _adaboost("DPDTreeClassifier"),
    "AdaBoostCART": lambda: _adaboost("DecisionTreeClassifier"),
    PEER: _class("optree.bench.peers.estimator", "PeerModel"),
}


@cache
def _code(estimator: str) -> str:
    ours = estimator in (*_OURS, "AdaBoostDPDT")
    module = "optree.bench.peers.estimator" if estimator == PEER else "optree.estimators" if ours else __name__
    return environment.code_digest(module, "optree.bench.models.fit", "optree.bench.runs.encode")


def code_digest(run: Run, peers: Path | None) -> str:
    """Return the digest of all code that the run of a model depends on, given the folder of all peers."""
    code = _code(run.solver)
    return environment.folder_digest(Path(peers, run.parameters["peer"]), code) if run.solver == PEER else code


def check(name: str, fields: Mapping, peers: Mapping) -> None:
    """Raise if a model of the configuration cannot be made, or is a peer that splits no numeric columns."""
    where, parameters = f"config: algorithms.{name}", fields.get("parameters", {})
    first = {key: values[0] for key, values in fields.get("grid", {}).items()}
    try:
        make(fields["solver"], first | parameters, 0)
    except TypeError as error:
        raise OptreeError(f"{where}: parameters: {error}") from error
    numeric = [peer for peer, declared in peers.items() if "numeric" in declared.features]
    if fields["solver"] == PEER and parameters["peer"] not in numeric:
        raise choice(f"{where}: peer", parameters["peer"], numeric)


def with_missing_numbers() -> list[str]:
    """Return the estimators that take missing numbers, by scikit-learn's tag."""
    from sklearn.utils import get_tags

    return [name for name in ESTIMATORS if name != PEER and get_tags(make(name, {}, 0)).input_tags.allow_nan]


def make(estimator: str, parameters: Mapping, seed: int):
    """Return the estimator, not fitted."""
    random: dict = {} if estimator in _DETERMINISTIC else {"random_state": seed}
    limit = {"time_limit": None} if "DPDT" in estimator else {}  # the paper's fits end by themselves
    return ESTIMATORS[estimator]()(**{**random, **limit, **parameters})
