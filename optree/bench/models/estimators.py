"""The models of a configuration: estimators with the interface of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from inspect import signature
from pathlib import Path

from optree.bench.runs.record import Run
from optree.bench.system import environment
from optree.errors import OptreeError, choice


def _ensemble(kind: str, tree: str) -> Callable:
    """Return a factory of scikit-learn's ensembles of trees; parameters that are not the ensemble's are the tree's."""

    def make(random_state=0, **parameters):
        from sklearn import ensemble

        make_ensemble, seeded = (
            getattr(ensemble, kind),
            {} if tree in _DETERMINISTIC else {"random_state": random_state},
        )
        own = parameters.keys() & signature(make_ensemble).parameters
        weak = ESTIMATORS[tree]()(**seeded, **{name: parameters[name] for name in parameters.keys() - own})
        return make_ensemble(weak, random_state=random_state, **{name: parameters[name] for name in own})

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
_THRESHOLDS = "OptimalTreeOverThresholds"  # chosen before the search
_DETERMINISTIC = ("OptimalTreeClassifier", "OptimalTreeRegressor", "MurTreeRegressor", _THRESHOLDS)
_MODULES = {PEER: "optree.bench.peers.estimator", _THRESHOLDS: "optree.bench.models.over_thresholds"}
_SCIKIT_LEARN = {
    "DecisionTreeClassifier": "tree",
    "DecisionTreeRegressor": "tree",
    "RandomForestClassifier": "ensemble",
}
_ENSEMBLES = {
    "AdaBoostDPDT": ("AdaBoostClassifier", "DPDTreeClassifier"),
    "AdaBoostCART": ("AdaBoostClassifier", "DecisionTreeClassifier"),
    "BaggedOptimalTrees": ("BaggingClassifier", "OptimalTreeClassifier"),
    "BaggedCART": ("BaggingClassifier", "DecisionTreeClassifier"),
}
# Name -> function that returns the class, so that a job imports only the modules of its own estimator.
ESTIMATORS: dict[str, Callable] = {
    **{name: _class("optree.estimators", name) for name in _OURS},
    **{name: _class(f"sklearn.{module}", name) for name, module in _SCIKIT_LEARN.items()},
    _THRESHOLDS: _class(_MODULES[_THRESHOLDS], _THRESHOLDS),
    **{name: partial(_ensemble, *parts) for name, parts in _ENSEMBLES.items()},
    PEER: _class(_MODULES[PEER], "PeerModel"),
}


@cache
def _code(estimator: str) -> str:
    tree = _ENSEMBLES.get(estimator, (None, estimator))[1]
    module = _MODULES.get(tree, "optree.estimators" if tree in _OURS else __name__)
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
