"""Problems for tests: small ones of every kind from a seed, a strategy of hypothesis, and noise of any size."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from optree.columns import CodedColumns, Feature
from optree.problem import Problem
from optree.target import Classes


def make(codes, y, n_parts, class_count, weights=None, costs=None, unit=1) -> Problem:
    """Return a problem whose features and classes have plain names."""
    features = tuple(
        Feature(f"x{j}", tuple(f"x{j} = {part}" for part in range(size))) for j, size in enumerate(n_parts)
    )
    target = Classes(y, tuple(f"c{k}" for k in range(class_count)), costs, unit)
    return Problem(CodedColumns(codes, features), target, weights)


def random_problem(seed: int) -> Problem:
    """Return a small problem of binary and ternary features and 2-4 classes.

    Parity, noise, equal rows of several classes, copied and constant features occur.
    """
    random = np.random.RandomState(seed)
    n, q, classes = random.randint(2, 26), random.randint(1, 7), random.randint(2, 5)
    n_parts = random.choice([2, 2, 3], q)
    codes = (random.random_sample((n, q)) * n_parts).astype(int)
    kind = random.randint(4)
    if kind == 0:  # parity of up to three features: no single split helps
        y = codes[:, : min(q, 3)].sum(axis=1) % classes
    elif kind == 1:
        y = random.randint(classes, size=n)
    elif kind == 2:  # a function of two features, with noise
        y = np.where(random.random_sample(n) < 0.15, random.randint(classes, size=n), codes[:, [0, -1]].max(axis=1))
        y = y % classes
    else:  # few distinct rows, so that equal rows disagree
        codes = codes[random.randint(max(1, n // 3), size=n)]
        y = random.randint(classes, size=n)
    if q > 1 and random.randint(4) == 0:
        codes[:, 1] = codes[:, 0] % n_parts[1]  # a copy, or the merging of two parts
    if random.randint(5) == 0:
        codes[:, -1] = 0  # constant
    return make(codes, y, n_parts, classes)


def harder_problem(seed):
    """Return a problem of six to eight features with two to four parts: parity, noise, copies, complements, weights."""
    random = np.random.RandomState(seed)
    n, q, classes = random.randint(2, 41), random.randint(6, 9), random.randint(2, 5)
    n_parts = [2] * q if seed % 2 else random.choice([2, 2, 3, 4], q)
    codes = (random.random_sample((n, q)) * n_parts).astype(int)
    kind = random.randint(4)
    if kind == 0:
        y = codes[:, :3].sum(axis=1) % classes
    elif kind == 1:
        noise = random.random_sample(n) < 0.2
        y = np.where(noise, random.randint(classes, size=n), codes[:, 0] + codes[:, 1] * codes[:, -1]) % classes
    else:
        codes = codes[random.randint(max(1, n // kind), size=n)]
        y = random.randint(classes, size=n)
    codes[:, 1] = codes[:, 0] % n_parts[1] if random.randint(3) == 0 else codes[:, 1]
    codes[:, 2] = (n_parts[0] - 1 - codes[:, 0]) % n_parts[2] if random.randint(3) == 0 else codes[:, 2]
    weights = random.randint(0, random.choice([2, 3, 1000]), n) + (np.arange(n) == 0) if random.randint(2) else None
    return make(codes, y, n_parts, classes, weights)


def with_costs(problem, seed):
    """Return the problem with random costs: zeros, ties, a diagonal above zero, predictions that are never right."""
    random = np.random.RandomState(seed)
    classes = len(problem.classes) + random.randint(2)
    costs = random.randint(0, random.choice([2, 4, 100]), (classes, classes))
    if random.randint(4):
        np.fill_diagonal(costs, 0)
    costs[0, -1] += not costs.any()
    return make(problem.codes, problem.y, problem.n_parts, classes, problem.weights, costs, random.choice([1, 2, 10]))


def binary_problem(seed):
    """Return a problem of up to eight binary features: parity, noise, equal rows, copies, complements, weights."""
    random = np.random.RandomState(seed)
    n, q, classes = random.randint(2, 61), random.randint(2, 9), random.randint(2, 5) if seed % 2 else 2
    codes = random.randint(0, 2, (n, q))
    kind = random.randint(4)
    if kind == 0:
        y = codes[:, :3].sum(axis=1) % classes
    elif kind == 1:
        noise = random.random_sample(n) < 0.2
        y = np.where(noise, random.randint(classes, size=n), codes[:, 0] + codes[:, 1] * codes[:, -1]) % classes
    else:
        codes = codes[random.randint(max(1, n // kind), size=n)]
        y = random.randint(classes, size=n)
    codes[:, 1] = codes[:, 0] if random.randint(3) == 0 else codes[:, 1]
    codes[:, -1] = 1 - codes[:, 0] if random.randint(3) == 0 else codes[:, -1]
    codes[:, q // 2] = random.randint(2) if random.randint(5) == 0 else codes[:, q // 2]
    weights = random.randint(0, random.choice([2, 3, 1000]), n) + (np.arange(n) == 0) if random.randint(2) else None
    return make(codes, y, [2] * q, classes, weights)


def ranking_problem(seed: int):
    """Return a problem of two classes, one often rare: parity, equal rows of both classes, weights and zero weights."""
    random = np.random.RandomState(seed)
    n, q = random.randint(2, 16), random.randint(1, 5)
    codes = random.randint(2, size=(n, q))
    y = (random.random_sample(n) < random.choice([0.5, 0.2, 0.8, 0.05])).astype(int)
    if seed % 5 == 0:
        y = codes[:, :3].sum(axis=1) % 2
    if seed % 7 == 0:
        codes[:, -1] = 1 - codes[:, 0]
    weights = random.randint(0, 4, n) + (n < 3) if seed % 2 else None
    if weights is not None:
        weights[0] += 1
    return make(codes, y, [2] * q, 2, weights)


def noise(rows, columns):
    """Return a problem without structure. An exact search of 250 x 40 takes seconds, of 1000 x 60 over a minute."""
    random = np.random.RandomState(0)
    return make(random.randint(2, size=(rows, columns)), random.randint(2, size=rows), [2] * columns, 2)


problems = st.builds(random_problem, st.integers(0, 2**32 - 1))


def nested_problem(seed):
    """Return a problem of binary columns of which many hold a part of the rows of another one."""
    random = np.random.RandomState(seed)
    rows, groups = random.randint(14, 40), random.randint(3, 5)
    whole = random.randint(2, size=(rows, groups))
    parts = [
        whole[:, j] & (random.random_sample(rows) < 0.8) for j in range(groups) for _ in range(random.randint(1, 3))
    ]
    codes = np.column_stack([whole, *parts])
    y = whole[:, 0] | whole[:, 1] & whole[:, 2]
    y[random.random_sample(rows) < 0.1] ^= 1
    return make(codes[:, random.permutation(codes.shape[1])], y, [2] * codes.shape[1], 2)
