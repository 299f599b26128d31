"""Planning: the runs of a configuration. Everything that no run could do is refused here, before any work."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from optree import solvers
from optree.bench import papers
from optree.bench.models import estimators, trials
from optree.bench.peers.declaration import Peer
from optree.bench.runs.encode import NUMBERS, parse_encoding
from optree.bench.runs.folds import FULL, fold_kind
from optree.bench.runs.record import COMPARED, Run, objective_of
from optree.budget import Budget
from optree.datasets.table import KEEP_MISSING
from optree.encoding import EncodingSpec
from optree.errors import OptreeError, choice
from optree.objective import CONSTRAINTS
from optree.solvers.base import Declaration


def plan_runs(config: Mapping, datasets, peers: Mapping[str, Peer] | None = None) -> list[Run]:
    """Return the runs of a configuration that its schema has accepted, each once, in its order.

    ``datasets`` is the datasets table, or the names in it. ``peers`` are all peers, by name.
    """
    Budget(**config["limits"])
    if config.get("paper") not in (None, *papers.names()):
        raise choice("config: paper", config["paper"], papers.names())
    if config.get("required_claims"):
        papers.required(config)
    peers = peers or {}
    for name in set(peers) & set(solvers.names()):
        raise OptreeError(f"{peers[name].folder}: {name!r} is the name of a solver of ours; give the peer another one")
    encodings = {name: _encoding(name, fields) for name, fields in config.get("encodings", {}).items()}
    runs: dict[str, Run] = {}
    for number, experiment in enumerate(config["experiments"]):
        try:
            for run in _experiment_runs(config, experiment, datasets, encodings, peers):
                runs.setdefault(run.to_json(), run)
        except OptreeError as error:
            where = f"experiments[{experiment.get('name', number)}]"
            raise OptreeError(f"config: {where}: {error}") from error
    _check_runs(runs.values(), config)
    return list(runs.values())


def _encoding(name: str, fields: Mapping) -> EncodingSpec:
    try:
        return parse_encoding(fields)[0]
    except OptreeError as error:
        raise OptreeError(f"config: encodings.{name}: {error}") from error


class Algorithm(NamedTuple):
    """An algorithm of the configuration: a search of a solver, ours or a peer, or a model, with parameters."""

    name: str
    solver: str
    declaration: Declaration | None  # None for a model
    parameters: dict
    depth_of: str | None = None
    training: dict | None = None  # of a model: fields of Training
    repeats: int | None = None


def _experiment_runs(
    config: Mapping, experiment: Mapping, datasets, encodings: Mapping, peers: Mapping
) -> Iterator[Run]:
    """Yield the runs of one entry of ``experiments``: the product of its lists."""
    for dataset in experiment["datasets"]:
        if dataset not in datasets:
            raise choice("dataset", dataset, sorted(datasets))
    for fold in map(str, experiment["splits"]):
        fold_kind(fold)
    for algorithm in (_algorithm(config, name, peers) for name in experiment["algorithms"]):
        common = {
            "algorithm": algorithm.name,
            "solver": algorithm.solver,
            "test_size": str(experiment.get("test_size", config["test_size"])),
            "parameters": algorithm.parameters,
            "repeats": algorithm.repeats or experiment.get("repeats", config.get("repeats", 1)),
        }
        if algorithm.declaration is None:
            yield from _model_runs(experiment, algorithm, datasets, encodings, common)
        else:
            yield from _search_runs(config, experiment, algorithm, datasets, encodings, peers, common)


def _search_runs(
    config: Mapping,
    experiment: Mapping,
    algorithm: Algorithm,
    datasets,
    encodings: Mapping,
    peers: Mapping[str, Peer],
    common: dict,
) -> Iterator[Run]:
    """Yield the runs of a search."""
    limits = {**config["limits"], **experiment.get("limits", {})}
    if "regularization" not in experiment:
        raise OptreeError(f"algorithm {algorithm.name!r} is a search and needs regularization; only models do without")
    for key in ("train_rows", "test_rows"):
        if key in experiment:
            raise OptreeError(f"algorithm {algorithm.name!r} is a search and takes no {key}; give it to models only")
    for dataset in experiment["datasets"]:
        if isinstance(datasets, Mapping) and not datasets[dataset].classes:
            raise OptreeError(f"dataset {dataset!r} has a number for its target, which only models take")
    names = _encodings_of(experiment, NUMBERS, encodings)
    used = {name: encodings[name] for name in names}
    _check_algorithm(config, experiment, algorithm, used)
    for dataset in _with_missing_numbers(experiment, datasets):
        _check_missing(algorithm, dataset, used, peers)
    if isinstance(algorithm.declaration, Peer) and limits.get("iterations") is not None:
        raise OptreeError(
            f"algorithm {algorithm.name!r} is not ours and counts iterations of its own: limits.iterations = "
            f"{limits['iterations']} is not accepted; give null"
        )
    for objective in _objectives(experiment):
        algorithm.declaration.check_objective(objective_of(objective))
        for dataset, encoding, fold in product(experiment["datasets"], names, experiment["splits"]):
            rows = {"dataset": dataset, "encoding": encoding, "split": str(fold)}
            yield Run(**rows, limits=limits, depth_of=algorithm.depth_of, **common, **objective)


def _with_missing_numbers(experiment: Mapping, datasets) -> list[str]:
    """Return the datasets of an experiment that keep missing numbers."""
    known = datasets if isinstance(datasets, Mapping) else {}
    return [name for name in experiment["datasets"] if name in known and known[name].keeps_missing]


def _check_missing(algorithm: Algorithm, dataset: str, encodings: Mapping, peers: Mapping[str, Peer]) -> None:
    """Raise if a search cannot read the missing numbers of a dataset; ours read them in every form of a column."""
    where = f"dataset {dataset!r} keeps missing numbers (its recipe is {KEEP_MISSING})"
    for name, spec in encodings.items():
        if spec.missing == "error":
            raise OptreeError(f"{where}, and encodings.{name}: missing = 'error' refuses them; give 'best'")
    if isinstance(algorithm.declaration, Peer) and "numeric" in algorithm.declaration.features:
        takers = [*solvers.names(), *(name for name, peer in peers.items() if "numeric" not in peer.features)]
        raise OptreeError(f"{where}, which {algorithm.solver} does not take; these do: {', '.join(takers)}")


def _encodings_of(experiment: Mapping, default: str | None, known: Mapping) -> list[str | None]:
    """Return the encodings of an experiment, or the default if it names none; raise if one is not defined."""
    names = experiment.get("encodings", [default])
    for name in names:
        if name is not None and name not in known:
            raise choice("encoding", name, sorted(known))
    return names


def _model_runs(experiment: Mapping, algorithm: Algorithm, datasets, encodings: Mapping, common: dict) -> Iterator[Run]:
    """Yield the runs of a model, on the columns of the tables if the experiment has no encodings."""
    training = algorithm.training | {key: experiment[key] for key in ("train_rows", "test_rows") if key in experiment}
    incomplete = _with_missing_numbers(experiment, datasets)
    takers = estimators.with_missing_numbers() if incomplete else []
    for dataset, encoding, fold in product(
        experiment["datasets"], _encodings_of(experiment, None, encodings), map(str, experiment["splits"])
    ):
        if (training.get("space") or training.get("grid")) and fold == FULL:
            raise OptreeError(
                f"algorithm {algorithm.name!r} is a search over parameters and needs rows held out: give seeds or folds"
            )
        if encoding and isinstance(datasets, Mapping) and not datasets[dataset].classes:
            raise OptreeError(f"dataset {dataset!r} has a number for its target and cannot be encoded")
        if dataset in incomplete and (encoding or algorithm.solver not in takers):
            raise OptreeError(
                f"dataset {dataset!r} keeps missing numbers (its recipe is {KEEP_MISSING}), which model "
                f"{algorithm.name!r} does not take{' in an encoding' * bool(encoding)}; without an encoding these do: "
                f"{', '.join(takers)}"
            )
        yield Run(dataset=dataset, encoding=encoding, split=fold, model=training, **common)


def _objectives(experiment: Mapping) -> Iterator[dict]:
    """Yield the objectives of an experiment, as fields of a run."""
    constraints = {name: [constraint.unset] for name, constraint in CONSTRAINTS.items()}
    defaults = {"penalty": ["split"], **constraints, "measure": ["accuracy"], "feature_costs": [{}]}
    for values in product(experiment["regularization"], *(experiment.get(key, defaults[key]) for key in defaults)):
        costs = json.dumps(values[-1], sort_keys=True) if values[-1] else ""
        yield dict(zip(("regularization", *defaults), (str(values[0]), *values[1:-1], costs), strict=True))


def _check_algorithm(config: Mapping, experiment: Mapping, algorithm: Algorithm, encodings: Mapping) -> None:
    """Raise if the solver does not accept its parameters, the encodings, or the depth of another algorithm's tree."""
    name, solver, parameters, depth_of = algorithm.name, algorithm.declaration, algorithm.parameters, algorithm.depth_of
    solver.check_parameters(parameters)
    for encoding, spec in encodings.items():
        if spec.multiway and "multiway" not in solver.features:
            raise OptreeError(
                f"algorithm {name!r} takes binary features only, and encoding {encoding!r} makes features of more "
                "categories; give them an experiment of their own with a binary encoding"
            )
    if depth_of is None:
        return
    where = f"algorithm {name!r}: depth_of = {depth_of!r}"
    if "max_depth" not in solver.constraints:
        raise OptreeError(f"{where} is not accepted: solver {solver.name} has no depth limit")
    if depth_of == name or config["algorithms"].get(depth_of, {}).get("depth_of"):
        raise OptreeError(f"{where} is not accepted: that one waits for a depth itself")
    if depth_of not in experiment["algorithms"]:
        others = sorted(other for other in experiment["algorithms"] if other != name)
        raise choice(f"algorithm {name!r}: depth_of", depth_of, others or ["an algorithm of the same experiment"])
    if experiment.get("max_depth", [None]) != [None]:
        raise OptreeError(f"{where} and max_depth = {experiment['max_depth']} exclude each other; leave one out")


_TRAINING = ("space", "trials", "grid", "staged", "root_splits")  # keys of an algorithm that only models have


def _algorithm(config: Mapping, name: str, peers: Mapping[str, Peer]) -> Algorithm:
    """Return the algorithm that the configuration defines under this name, or the solver of this name."""
    defined = config.get("algorithms", {})
    fields = defined.get(name, {})
    solver, known = fields.get("solver", name), [*solvers.names(), *sorted(peers), *estimators.ESTIMATORS]
    if name not in defined and solver not in known:
        raise choice("algorithm", name, [*known, *sorted(defined)])
    if solver not in known:
        raise choice(f"algorithm {name!r}: solver", solver, known)
    parameters, training = dict(fields.get("parameters", {})), {key: fields[key] for key in _TRAINING if key in fields}
    if solver in estimators.ESTIMATORS:
        estimators.check(name, {"solver": solver, **fields}, peers)
        trials.check(name, fields)
        return Algorithm(name, solver, None, parameters, None, training, fields.get("repeats"))
    if training:
        raise OptreeError(
            f"algorithm {name!r}: {next(iter(training))} is for models only; accepted: parameters, depth_of"
        )
    declared = peers[solver] if solver in peers else solvers.get(solver)
    return Algorithm(name, solver, declared, parameters, fields.get("depth_of"), None, fields.get("repeats"))


def _check_runs(runs: Iterable[Run], config: Mapping) -> None:
    """Raise if two runs differ in no column of the tables, or if no run is of the reference."""
    runs, seen = list(runs), set()
    for run in runs:
        key = run.algorithm, *(getattr(run, name) for name in COMPARED if name != "test_size")
        if key in seen:
            objective = "" if run.regularization is None else f", lambda {run.regularization}"
            raise OptreeError(
                f"config: experiments: {run.algorithm} on {run.dataset}/{run.encoding or 'table'}{objective}, split "
                f"{run.split}, is asked for twice with different limits, repeats or rows; leave one out"
            )
        seen.add(key)
    algorithms = sorted({run.algorithm for run in runs if run.model is None})
    if config.get("reference") is not None and config["reference"] not in algorithms:
        raise choice("config: reference", config["reference"], algorithms)
