"""Compile the searches ahead of the first fit, and keep their machine code on disk: ``python -m optree.compile``.

Names of estimators or solvers after the command choose among them: ``python -m optree.compile OptimalTreeClassifier``.
``--jobs 4`` compiles in four processes; a kernel that several of them need is compiled by one.
A kernel is compiled at its first call, for the types of its arguments. Here every estimator fits small tables of each
kind, with one parameter changed at a time, and every solver of the registry searches small problems. A combination that
an estimator refuses is passed over. Containers start without compilation if the command runs while their image is
built. ``NUMBA_CACHE_DIR`` names a folder for the machine code, if the package's own folder cannot be written.
"""

from __future__ import annotations

import logging
import os
import sys
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryDirectory

import numpy as np

import optree
from optree import solvers
from optree.columns import CodedColumns, Feature
from optree.errors import OptreeError, choice
from optree.objective import Objective
from optree.problem import Problem
from optree.solvers.kernels import jit
from optree.solvers.kernels.jit.disk_cache import KernelCache
from optree.target import Classes

# One of these parameters at a time differs from the default, in estimators that have it. Each choice is another search.
_VARIANTS = {
    "max_depth": (1, 2, 3, 5),
    "max_splits": (2,),
    "min_samples_leaf": (2,),
    "max_thresholds": (3, None),
    "one_vs_rest": (True,),
    "costs": (((0, 2), (1, 0)),),
    "objective": ("balanced-accuracy", "f1", "auc", "partial-auc:0.3"),
    "max_ways": (3,),
    "generator": ("gain", "features", "lookahead", "exhaustive"),
    "criterion": ("absolute_error",),
    "guess_thresholds": (True,),
    "guess_lower_bound": (True,),
}
_PARAMETERS = {"murtree": ({"search": "paper"},)}


def _tables() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Yield small tables, classes and weights: numbers, numbers with missing values, categories, truth values."""
    random = np.random.RandomState(0)
    numbers = random.randint(0, 12, (30, 3)) / 12
    y = ((numbers[:, 0] > 0.4) ^ (numbers[:, 1] > 0.6)).astype(int)
    holes = np.where(random.random_sample(numbers.shape) < 0.1, np.nan, numbers)
    letters = np.array(list("abc"))[(numbers * 3).astype(int)]
    for X in (numbers, holes, letters, numbers > 0.5):
        yield X, y, None
        yield X, y + (numbers[:, 2] > 0.5), random.randint(1, 9, 30) / 4


def _fits(name: str) -> Iterator[Callable[[], object]]:
    """Yield the fits of an estimator, and what only it can do after a fit."""
    estimator = getattr(optree, name)
    known = estimator().get_params()
    changes = [{}, *({key: value} for key in _VARIANTS if key in known for value in _VARIANTS[key])]
    limit = {"time_limit": 1} if "time_limit" in known else {}

    def fit(change: dict, X, y, weights) -> None:
        model = estimator(**limit | change)
        if name == "OptimalPolicyTree":
            model.fit(X, np.eye(int(y.max()) + 1)[y])
            return
        model.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
        model.predict(X)
        if name == "RashomonSet":
            model.feature_usage_, model.index(model[0])
            model.filter(require=[0]).best(1)
        if hasattr(model, "prove") and not change and weights is None:
            with TemporaryDirectory() as folder:
                model.prove(X, y, Path(folder, "tree.proof"))

    for change in changes:
        for table in _tables():
            yield lambda change=change, table=table: fit(change, *table)


def _searches(name: str) -> Iterator[Callable[[], object]]:
    """Yield searches of a solver of the registry: binary and ternary features, two and three classes."""
    solver, random = solvers.get(name), np.random.RandomState(0)
    for size, classes in ((2, 2), (2, 3), (3, 2), (3, 3)):
        codes, y = random.randint(0, size, (40, 3)), random.randint(0, classes, 40)
        features = tuple(Feature(f"x{j}", tuple(f"x{j} = {k}" for k in range(size))) for j in range(3))
        problem = Problem(CodedColumns(codes, features), Classes(y, tuple(map(str, range(classes)))), None)
        measure = solver.measures[0] if "-" not in solver.measures[0] else "f1"
        for limits in ({}, {"max_depth": 2}, {"max_depth": 3}):
            for parameters in ({}, *_PARAMETERS.get(name, ())):
                penalty = (solver.penalties or ("split",))[0]
                objective = Objective.of("0.02" if solver.penalties else 0, penalty=penalty, measure=measure, **limits)
                yield lambda problem=problem, objective=objective, own=parameters: solver.solve(
                    problem, objective, **own
                )


def _kernels() -> list[Callable]:
    """Return all kernels of the package."""
    for package in ("optree.solvers", "optree.proofs"):
        for module in walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    return jit.KERNELS


def _compile(name: str) -> str:
    """Compile the kernels of an estimator or a solver; return its name."""
    for call in (_fits if name[0].isupper() else _searches)(name):
        with suppress(OptreeError):  # a combination that is refused
            call()
    return name


def _be_quiet() -> None:
    """Keep "optree compiles its search" and warnings of small tables off the screen."""
    logging.getLogger("optree").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")


def main(chosen: Sequence[str], jobs: int = 1) -> str | None:
    """Compile the kernels of the chosen estimators and solvers, or of all; return the reason if that is impossible."""
    known = [*(name for name in optree.__all__ if name[0].isupper()), *solvers.names()]
    for name in chosen:
        if name not in known:
            return f"optree.compile: {choice('name', name, known)}"
    start, kernels = time.perf_counter(), _kernels()
    if not all(isinstance(one._cache, KernelCache) and os.access(one._cache.cache_path, os.W_OK) for one in kernels):
        return "optree.compile: no folder can be written for machine code; name one in NUMBA_CACHE_DIR"
    names = list(chosen or known)
    with ExitStack() as stack:
        compiled = map(_compile, names)
        if jobs > 1:
            pool = stack.enter_context(get_context("spawn").Pool(min(jobs, len(names)), _be_quiet))
            compiled = pool.imap_unordered(_compile, names)
        for number, name in enumerate(compiled, 1):
            done = sum(bool(one._cache.files()) for one in kernels)
            seconds = time.perf_counter() - start
            print(f"{number:2} of {len(names)}: {name}, {done} of {len(kernels)} kernels, {seconds:.0f} s", flush=True)
    files = {file for one in kernels for file in one._cache.files()}
    size = sum(file.stat().st_size for file in files) / 2**20
    place = os.path.commonpath([Path(one._cache.cache_path).parent for one in kernels])
    print(f"machine code: {size:.1f} MiB below {place}")
    if left := [] if chosen else [one.__name__ for one in kernels if not one._cache.files()]:
        print(f"compiled at their first call: {', '.join(left)}")
    return None


if __name__ == "__main__":
    _be_quiet()
    parser = ArgumentParser(prog="python -m optree.compile", description=__doc__.splitlines()[0].split(":")[0] + ".")
    parser.add_argument("chosen", nargs="*", metavar="NAME", help="an estimator or a solver; all without a name")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes; default: 1")
    sys.exit(main(**vars(parser.parse_args())))
