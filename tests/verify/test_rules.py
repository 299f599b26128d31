"""No list of supports may give a bound above the least cost; every planted error is found by these tests."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import optree_verify
import pytest
from support.directed_proofs import DIRECTED
from support.modes import THOROUGH, thorough
from support.planted_errors import PLANTED
from support.small_proofs import (
    Case,
    Recursion,
    case_of,
    decimal,
    decoded,
    priced,
    random_case,
    random_supports,
    varied,
)

PROGRAM = Path(optree_verify.__file__)
SEEDS = [204, 252, 37, 41, 5, 6, *range(40)]  # the first ones find errors that few tables find


def bounds_of(
    program: ModuleType, case: Case, random: np.random.Generator, share: float, most: int = 150
) -> Iterator[tuple]:
    """Yield each bound of the program for a random list of supports, and the least cost, in units of weight."""
    problem, found = program.Problem(case.head, case.table), []
    compute = problem.bound

    def recorded(words, d, m, known):
        found.append((words, d, m, compute(words, d, m, known)))
        return found[-1][-1]

    problem.bound = recorded
    body, count = random_supports(problem, random, share, most)
    program.prove(problem, decoded(body), count)
    recursion, unit = Recursion(case), problem.error * problem.unit
    groups = recursion.groups(optree_verify.Problem(case.head, case.table))
    for words, d, m, bound in found:
        inside = [groups[g] for g in problem.groups(words)]
        inevitable = sum((recursion.inevitable(group) for group in inside), Fraction(0))
        yield Fraction(bound, unit) + inevitable, recursion.least_cost(frozenset().union(*inside), d, m)


def variants(source: str) -> list[ModuleType]:
    """Return the program of a source as it is, and one that counts a small table as it counts a large one."""
    sizes, programs = ("MANY_CUTS = 64", "MANY_PAIRS = 2**15", "MANY_SPLITS = 256"), []
    assert all(source.count(size) == 1 for size in sizes)
    small = source
    for size, other in zip(sizes, ("MANY_CUTS = 1", "MANY_PAIRS = 8", "MANY_SPLITS = 1"), strict=True):
        small = small.replace(size, other)
    for text in (source, small):
        programs.append(ModuleType("variant"))
        exec(compile(text, "variant", "exec"), programs[-1].__dict__)
    return programs


TRUE = variants(PROGRAM.read_text())


def is_sound(case: Case, seed: int, shares: tuple[float, ...], programs: list[ModuleType] = TRUE) -> bool:
    """Return whether no bound exceeds the least cost, for lists with shares of all supports."""
    return all(
        bound <= least
        for program in programs
        for share in shares
        for bound, least in bounds_of(program, case, np.random.default_rng(seed), share)
    )


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_no_list_of_supports_gives_a_bound_above_the_least_cost(first):
    for seed in range(first, first + 20):
        case = random_case(np.random.default_rng(seed))
        assert is_sound(case, seed, (1.0, 0.5)), seed
        for change in (varied, priced, decimal):
            assert is_sound(change(case, np.random.default_rng(seed)), seed, (1.0, 0.5)), seed


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1800 if THOROUGH else 1200, 200))
def test_no_list_of_supports_gives_a_bound_above_the_least_cost_on_many_tables(first):
    for seed in range(first, first + 200):
        assert is_sound(case_of(seed), seed, (1.0, 0.5, 0.2)), seed


def great(seed: int) -> Case:
    """Return a case whose costs are above 2^53, and have no common factor of two."""
    random = np.random.default_rng(seed)
    case = random_case(random)
    rows = [row | {"w": str(int(random.integers(1001, 4000)))} for row in case.rows]
    share = f"{int(random.integers(1, 10**6))}/1000000000039"
    return Case(rows, case.head | {"weight": "w", "costs": None, "lambda": share})


def test_great_costs_are_not_summed_in_floating_point():
    for seed in range(15):
        assert is_sound(great(seed), seed, (1.0, 0.5)), seed


@pytest.mark.parametrize("case", DIRECTED.values(), ids=DIRECTED)
def test_tables_made_to_break_a_rule_do_not_break_it(case):
    assert is_sound(case, 0, (1.0, 0.7, 0.7, 0.4, 0.4, 0.1, 0.1))


def test_the_list_of_all_supports_proves_the_optimum():
    for seed in range(40):
        case = case_of(seed)
        for program in TRUE:
            *_, (bound, least) = bounds_of(program, case, np.random.default_rng(seed), 1.0, most=10**6)
            assert bound == least, seed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        pytest.param(*change, id=name, marks=thorough if number % 3 else ())
        for number, (name, change) in enumerate(PLANTED.items())
    ],
)
def test_a_planted_error_is_found(text, replacement):
    source = PROGRAM.read_text()
    assert source.count(text) == 1
    wrong, shares = variants(source.replace(text, replacement)), (1.0, 0.7, 0.7, 0.4, 0.4, 0.1, 0.1)
    cases = [(case, 0, shares) for case in DIRECTED.values()]
    found = [(seed, random_case(np.random.default_rng(seed))) for seed in SEEDS]
    cases += ((great(seed), seed, (1.0, 0.5)) for seed in range(15))
    cases += ((case, seed, (1.0, 0.5, 0.2)) for seed, case in found)
    for change in (varied, priced, decimal):
        cases += ((change(case, np.random.default_rng(seed)), seed, (1.0, 0.5)) for seed, case in found)
    assert not all(is_sound(*case, wrong) for case in cases)


def test_squared_errors_are_rounded_by_the_units_that_the_readme_states():
    """A leaf is 0 or more, and less than a unit too high; a price is within -1/2 and 3/2 units of its share."""
    seen = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        case = varied(random_case(random), random)
        problem, features = optree_verify.Problem(case.head, case.table), case.head["features"]
        if not problem.squared:
            continue
        recursion, unit = Recursion(case), problem.error * problem.unit
        groups, whole = recursion.groups(problem), recursion.squares(recursion.everything) * unit
        costs = {case.head["lambda"]: problem.price}
        costs |= {
            features[f][4]: c for f, c in zip(problem.feature, problem.charge, strict=True) if len(features[f]) > 4
        }
        for share, price in costs.items():
            assert -Fraction(1, 2) <= int(price) - Fraction(share) * whole < Fraction(1, 2) + Fraction(share)
        for _ in range(5):
            some = np.flatnonzero(random.random(len(groups)) < random.random())
            if len(some):
                sums = problem.sums[some].sum(0)
                leaf = int(problem.leaf(sums[:2], sums[2]))
                left_out = sum(recursion.inevitable(groups[g]) for g in some)
                exact = (recursion.squares(frozenset().union(*(groups[g] for g in some))) - left_out) * unit
                assert leaf >= 0
                assert 0 <= leaf - exact < 1
                seen += leaf != exact
    assert seen > 20
