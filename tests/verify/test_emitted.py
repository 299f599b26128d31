"""Proofs that the package writes: the verifier accepts each of them, and refuses it without a support that it needs."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import numpy as np
import optree_verify
import pytest
from support.directed_proofs import DIRECTED
from support.modes import THOROUGH
from support.small_proofs import Case, Recursion, case_of, decoded, number, priced, random_case, varied

from optree.actions import Actions, whole_regrets
from optree.arrays import as_whole
from optree.budget import Budget
from optree.columns import CodedColumns, Feature
from optree.objective import Objective
from optree.problem import Problem
from optree.proofs import search, table
from optree.proofs.search import Proof
from optree.proofs.table import ProofFeature, Rows, read_rows
from optree.solvers.kernels.codes import INFINITE
from optree.target import Classes, Values


def rows_of(case: Case) -> tuple[Rows, Fraction, Fraction]:
    """Return the table of a case as the package reads it, the loss of a cost of 1, and the loss of a cost of 0."""
    head, columns = case.head, case.table
    weights = [Fraction(text) for text in columns[head["weight"]]] if head["weight"] else [Fraction(1)] * len(case.rows)
    heavy = np.flatnonzero(np.array([float(weight) for weight in weights]))
    columns = {name: texts[heavy] for name, texts in columns.items()}
    found = [optree_verify.read_feature(feature, columns, set(head["missing"])) for feature in head["features"]]
    features = [
        ProofFeature(feature[:4], codes, 0 if feature[1] == "numbers" else sizes[0])
        for feature, (codes, sizes) in zip(head["features"], found, strict=True)
    ]
    unit = lcm(*(weight.denominator for weight in weights))
    whole = np.array([int(weights[i] * unit) for i in heavy])
    start, none = Fraction(0), CodedColumns(np.zeros((len(heavy), 1), int), [Feature("none", ("0", "1"))])
    if head["costs"] == "squared errors":
        target = Values(columns["y"].astype(float))
    elif head["costs"] == "actions":
        costs = np.stack([columns[name] for name in head["target"]], axis=1)
        regrets, in_one, exact = whole_regrets(costs.astype(float))
        assert exact
        target = Actions(regrets, tuple(head["target"]), unit=in_one)
        start = sum(weights[i] * min(map(Fraction, row)) for i, row in zip(heavy, costs, strict=True))
    else:
        y = np.array([head["classes"].index(text) for text in columns["y"]])
        costs, in_one = None, 1
        if head["costs"] is not None:
            costs, in_one = as_whole([Fraction(cost) for row in head["costs"] for cost in row])
            costs = np.array(costs).reshape(len(head["costs"]), -1)
        target = Classes(y, tuple(head["classes"]), costs=costs, unit=in_one)
    problem = Problem(none, target, whole)
    limits = {name: head[name] for name in optree_verify.LIMITS if head[name] is not None}
    costs = {feature[0]: feature[4] for feature in head["features"] if len(feature) > 4}
    objective = Objective.of(str(Fraction(head["lambda"])), head["penalty"], feature_costs=costs, **limits)
    rows = read_rows(features, problem, objective)
    return rows, 1 / (Fraction(rows.row) * target.unit * unit), start


def proven(case: Case) -> tuple[Rows, Proof, int]:
    """Return the table of a case, and a search that found the least cost, and this cost."""
    rows = rows_of(case)[0]
    proof = Proof(rows, Budget().start())
    least, closed = proof.search(int(INFINITE) // 4)
    assert closed
    return rows, proof, least


def bound_of(case: Case, body: bytes, supports: int) -> Fraction:
    """Return the verifier's lower bound for a list of supports, in weight of rows."""
    problem = optree_verify.Problem(case.head, case.table)
    bound = optree_verify.prove(problem, decoded(body), supports)
    return Fraction(bound, problem.error * problem.unit) + problem.inevitable / Fraction(problem.unit)


def check_case(case: Case) -> int:
    """Prove the least cost of a case, and return the number of supports."""
    rows, proof, least = proven(case)
    recursion, (_, unit, start) = Recursion(case), rows_of(case)
    cost = (least + rows.inevitable) * unit + start
    assert cost == recursion.least_cost(recursion.everything, recursion.depth, recursion.budget)
    body, supports = proof.list_supports(least)
    assert bound_of(case, body, supports) == cost
    return supports


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_the_verifier_reaches_the_least_cost_of_all_trees(first):
    for seed in range(first, first + 20):
        case = random_case(np.random.default_rng(seed))
        check_case(case)
        for change in (varied, priced):
            check_case(change(case, np.random.default_rng(seed)))


@pytest.mark.slow
def test_the_verifier_reaches_the_least_cost_of_tables_treated_as_wide(monkeypatch):
    monkeypatch.setattr(search, "_MOST_SPLITS", 0)
    monkeypatch.setattr(table, "_MANY_GROUPS", 0)
    for name, value in {"MANY_CUTS": 1, "MANY_PAIRS": 8, "MANY_SPLITS": 1}.items():
        monkeypatch.setattr(optree_verify, name, value)
    cases = [random_case(np.random.default_rng(seed)) for seed in range(100, 160)]
    cases += [numbers(seed) for seed in range(20)]
    cases += [change(case, np.random.default_rng(s)) for s, case in enumerate(cases) for change in (varied, priced)]
    for case in cases:
        check_case(case)
    assert sum(case.head["max_depth"] in (3, 4) for case in cases) > 5


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 3000 if THOROUGH else 2000, 500))
def test_the_verifier_reaches_the_least_cost_on_many_tables(first):
    for seed in range(first, first + 500):
        check_case(case_of(seed))


@pytest.mark.parametrize("case", DIRECTED.values(), ids=DIRECTED)
def test_the_verifier_reaches_the_least_cost_of_tables_made_to_break_a_rule(case):
    check_case(case)


def numbers(seed: int) -> Case:
    """Return a table of numbers alone, whose class is a box of two columns, with noise, or a third class."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 6, (24, 3))
    y = ((X[:, 0] > 2) & (X[:, 1] < 4)) ^ (random.random(24) < 0.2)
    classes, y = (["c0", "c1", "c2"], y.astype(int) + (X[:, 2] > 4)) if seed % 3 == 2 else (["c0", "c1"], y)
    limits = [{}, {"min_samples_leaf": 3}, {"max_splits": 3}, {"penalty": "leaf", "max_depth": 2}][seed % 4]
    rows = [{f"f{f}": f"{v}.5" for f, v in enumerate(row)} | {"y": f"c{int(k)}"} for row, k in zip(X, y, strict=True)]
    features = [[f"f{f}", "numbers", None, None] for f in range(3)]
    return Case(
        rows, parity_head() | {"features": features, "classes": classes, "max_depth": 3, "lambda": "1/50"} | limits
    )


def parity(seed: int, **fields) -> Case:
    """Return a table whose class is the parity of three of five columns, with noise: its proofs have many supports."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 2, (40, 5))
    y = (codes[:, :3].sum(axis=1) + (random.random(40) < 0.1)) % 2
    rows = [
        {f"f{f}": f"t{code}" for f, code in enumerate(row)} | {"y": f"c{k}"} for row, k in zip(codes, y, strict=True)
    ]
    head = dict(parity_head(), **fields)
    return Case(rows, head)


def parity_head() -> dict:
    """Return the header of the proofs of `parity`."""
    features = [[f"f{f}", "values", [["t0"], ["t1"]], None] for f in range(5)]
    head = {"features": features, "missing": [], "target": "y", "classes": ["c0", "c1"], "costs": None, "weight": None}
    head |= {"lambda": "1/100", "penalty": "split", "max_depth": None, "max_splits": None, "min_samples_leaf": None}
    return head | {"tree": [-1], "claim": "optimal", "supports": 0}


@pytest.mark.parametrize("limits", [{}, {"max_depth": 4}, {"max_splits": 6}, {"min_samples_leaf": 2}], ids=str)
def test_a_proof_needs_its_supports(limits):
    case = parity(0, **limits)
    _, proof, least = proven(case)
    limited = case.head["max_splits"] is not None
    body, supports = proof.list_supports(least)
    whole = bound_of(case, body, supports)
    assert supports > 5
    found = [bound_of(case, *without(body, support, limited)) for support in range(1, supports)]
    assert max(found) <= whole
    assert sum(bound < whole for bound in found) > len(found) / 3  # the list is short, and not the shortest


def without(body: bytes, support: int, limited: bool) -> tuple[bytes, int]:
    """Return the body of a proof without a support and those below it, and the number of supports."""
    numbers, children, at, count = decoded(body), [], 0, 1
    while at < len(numbers):
        own, at, part = [], at + 1, -1
        for _ in range(numbers[at - 1]):
            part += numbers[at] + (not limited or part < 0)
            own.append((part, numbers[at + 1] if limited else None, count))
            count, at = count + 1, at + 1 + limited
        children.append(own)
    out, queue = bytearray(), [0]
    for node in queue:
        own, before = [child for child in children[node] if child[2] != support], -1
        out += number(len(own))
        for part, share, child in own:
            out += number(part - before - (not limited or before < 0)) + (number(share) if limited else b"")
            before = part
            queue.append(child)
    return bytes(out), len(queue)
