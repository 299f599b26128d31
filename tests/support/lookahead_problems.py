"""Problems for SPLIT and LicketySPLIT, and their searches."""

from __future__ import annotations

import numpy as np

from optree import solvers
from optree.budget import Budget
from optree.solvers.base import Task
from optree.solvers.split.candidate_thresholds import all_thresholds
from optree.solvers.split.family import Search
from optree.solvers.split.options import options_of, rules_of
from support.problems import make, random_problem


def binary(seed):
    problem = random_problem(seed)
    return make(problem.codes.clip(max=1), problem.y, [2] * len(problem.features), len(problem.classes))


def intervals(seed):
    """Make a small problem of features with up to five ordered categories."""
    random = np.random.RandomState(seed)
    n, q, classes = random.randint(2, 30), random.randint(1, 4), random.randint(2, 4)
    parts = random.randint(2, 6, q)
    codes = (random.random_sample((n, q)) * parts).astype(int)
    y = random.randint(classes, size=n) if seed % 3 else (codes.sum(axis=1) // 2) % classes
    weights = random.randint(1, 4, n) if seed % 4 == 0 else None
    return make(codes, y, parts, classes, weights)


def lickety_problem(seed):
    """Binary features in number, so that a greedy tree is not the best, and parts are worth searching again."""
    random = np.random.RandomState(seed)
    n, q, classes = random.randint(10, 120), random.randint(3, 9), random.randint(2, 5)
    codes = (random.random_sample((n, q)) < random.random_sample(q)).astype(int)
    y = (codes[:, :3].sum(axis=1) + codes[:, -1] * codes[:, 0]) % classes
    y = np.where(random.random_sample(n) < 0.15, random.randint(classes, size=n), y)
    return make(codes, y, [2] * q, classes, random.randint(1, 4, n) if seed % 4 == 0 else None)


def longer(seed, multiway):
    """Make a problem that a search takes a thousand nodes for, of binary features or of up to eight ordered values."""
    random = np.random.RandomState(seed)
    n, classes = random.randint(30, 200), random.randint(2, 4)
    parts = random.randint(2, 9, random.randint(2, 6)) if multiway else [2] * random.randint(4, 11)
    codes = (random.random_sample((n, len(parts))) * parts).astype(int)
    y = (codes[:, :3].sum(axis=1) + codes[:, -1] * codes[:, 0]) % classes
    y = np.where(random.random_sample(n) < 0.15, random.randint(classes, size=n), y)
    return make(codes, y, list(parts), classes, random.randint(1, 4, n) if seed % 4 == 0 else None)


def solve(name, problem, objective, **parameters):
    result = solvers.get(name).solve(problem, objective, **parameters)
    assert objective.cost(result.tree, result.scale, result.tree.errors(problem)) == result.cost
    assert not objective.broken(result.tree, problem)
    return result


def search_for(name, problem, objective, recursive=True, **parameters):
    """Return a search of a solver, or None if all rows are of one class."""
    task = Task(problem, objective, objective.scale(problem), Budget().start(), None)
    defaults = {key: p.default for key, p in solvers.get(name).parameters.items()}
    data = all_thresholds(problem)
    rules = rules_of(task, options_of(name, recursive, defaults | parameters), objective.max_depth)
    return data and Search(data, rules, task.clock)
