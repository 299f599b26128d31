"""Small problems for tests: hypothesis strategies, and a generator of the nasty kind."""

from __future__ import annotations

import os

import numpy as np
from hypothesis import strategies as st

from optree.problem import Feature, Problem

COMPILED = os.environ.get("NUMBA_DISABLE_JIT") != "1"
CHECKED = os.environ.get("NUMBA_BOUNDSCHECK") == "1"  # several times slower: a fraction of the problems


def seeds(compiled: int, otherwise: int) -> range:
    """As many random problems as there is time for in this mode."""
    return range(max(otherwise, compiled // 5 if CHECKED else compiled) if COMPILED else otherwise)


def make(codes, y, n_parts, class_count, weights=None, costs=None, unit=1) -> Problem:
    """A problem with plain names."""
    features = tuple(
        Feature(f"x{j}", tuple(f"x{j} = {part}" for part in range(size))) for j, size in enumerate(n_parts)
    )
    return Problem(
        np.asarray(codes), np.asarray(y), features, tuple(f"c{k}" for k in range(class_count)), weights, costs, unit
    )


def random_problem(seed: int) -> Problem:
    """A small problem: binary and ternary features, 2-4 classes; parity, noise, duplicates, copies, constants."""
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


# Decimals that make ties (a split that pays exactly) likely, and some that do not.
REGULARIZATIONS = ("0", "0.001", "0.01", "0.02", "0.05", "0.1", "0.125", "0.25", "0.333333333333", "0.5", "1")

problems = st.builds(random_problem, st.integers(0, 2**32 - 1))
regularizations = st.sampled_from(REGULARIZATIONS)
depths = st.sampled_from([None, None, None, 0, 1, 2, 3, 4])
