"""From a configuration to the list of runs. Whatever cannot be run is refused here, before any work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from optree import solvers
from optree.bench.record import Run
from optree.budget import Budget
from optree.encoding import EncodingSpec
from optree.errors import OptreeError, choice
from optree.objective import Objective


def plan(config: Mapping, datasets) -> list[Run]:
    """The runs that a configuration asks for, each once, in its order.

    Parameters
    ----------
    config : mapping
        A configuration that its schema has accepted.
    datasets : collection of str
        The names in the datasets table.

    Raises
    ------
    OptreeError
        Naming the key of the configuration, the value and what is accepted.
    """
    Budget(**config["limits"])
    encodings = {name: _encoding(name, fields) for name, fields in config["encodings"].items()}
    runs: dict[str, Run] = {}
    for number, experiment in enumerate(config["experiments"]):
        try:
            for run in _experiment(config, experiment, datasets, encodings):
                runs.setdefault(run.to_json(), run)
        except OptreeError as error:
            raise OptreeError(f"config: experiments[{number}]: {error}") from error
    return list(runs.values())


def _encoding(name: str, fields: Mapping) -> EncodingSpec:
    try:
        return EncodingSpec(**fields)
    except OptreeError as error:
        raise OptreeError(f"config: encodings.{name}: {error}") from error


def _experiment(config: Mapping, experiment: Mapping, datasets, encodings: Mapping) -> Iterator[Run]:
    """The runs of one entry of ``experiments``: the product of its lists."""
    limits = {**config["limits"], **experiment.get("limits", {})}
    for dataset in experiment["datasets"]:
        if dataset not in datasets:
            raise choice("dataset", dataset, sorted(datasets))
    for encoding in experiment["encodings"]:
        if encoding not in encodings:
            raise choice("encoding", encoding, sorted(encodings))
    for algorithm, penalty in product(experiment["algorithms"], experiment.get("penalty", ["split"])):
        name, parameters = _algorithm(config, algorithm)
        for lam, depth, most, least in product(
            experiment["regularization"],
            experiment.get("max_depth", [None]),
            experiment.get("max_splits", [None]),
            experiment.get("min_samples_leaf", [1]),
        ):
            solver = solvers.get(name)
            solver.check_parameters(parameters)
            solver.check_objective(Objective.of(lam, penalty, depth, most, least))
            for encoding in experiment["encodings"]:
                if encodings[encoding].multiway and "multiway" not in solver.features:
                    raise OptreeError(
                        f"algorithm {algorithm!r} takes binary features only, and encoding {encoding!r} makes features "
                        "with more parts; give them an experiment of their own with a binary encoding"
                    )
            for dataset, encoding, split in product(
                experiment["datasets"], experiment["encodings"], experiment["splits"]
            ):
                yield Run(
                    dataset=dataset,
                    encoding=encoding,
                    algorithm=algorithm,
                    solver=name,
                    regularization=str(lam),
                    penalty=penalty,
                    max_depth=depth,
                    max_splits=most,
                    min_samples_leaf=least,
                    split=str(split),
                    test_size=str(config["test_size"]),
                    parameters=parameters,
                    limits=limits,
                )


def _algorithm(config: Mapping, algorithm: str) -> tuple[str, dict]:
    """(solver, parameters) of an algorithm: one that the configuration defines, or a solver by its own name."""
    defined = config.get("algorithms", {})
    if algorithm in defined:
        return defined[algorithm]["solver"], dict(defined[algorithm].get("parameters", {}))
    if algorithm not in solvers.names():
        raise choice("algorithm", algorithm, [*solvers.names(), *sorted(defined)])
    return algorithm, {}
