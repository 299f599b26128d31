"""The files of a proof: the table as CSV, and the proof in the format of ``verify/README.md``."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, lcm
from pathlib import Path

import numpy as np

from optree.actions import Actions
from optree.budget import Clock, Stopped
from optree.encoding.cells import number_text
from optree.errors import OptreeError
from optree.files import write_whole
from optree.objective import Objective, Scale
from optree.problem import Problem
from optree.proofs.features import Texts
from optree.proofs.search import Proof
from optree.proofs.table import ProofFeature, Rows, read_rows, tree_cost
from optree.tree import LEAF, Tree

_MAGIC = b"optree-proof 1 "
_SQUARED = "squared errors"
_MOST_DIGITS = 10**15  # the verifier reads numbers of up to 18 digits
_ROUNDED = 8  # units of cost for each node of a tree: more than the rounding of squared errors can make


class WrongBoundError(OptreeError):
    """The search for a proof found a lower cost than a search's lower bound."""


@dataclass(frozen=True)
class Written:
    """A proof that was written.

    Attributes
    ----------
    path, data : Path
        The proof, and the table that it is about.
    sha256 : str
        The checksum of the proof.
    digest : str
        The digest of the table as the verifier reads it; the verifier prints the first 16 digits, and refuses a table
        of another digest.
    size : int
        Its bytes.
    supports : int
        The number of listed supports.
    gap : Fraction
        The tree costs at most this much more than the best one, in weight of rows.
    seconds : float
    complete : bool
        Whether the search for the proof ended. If not, a limit ended it, and the gap is greater than that of the fit.
    """

    path: Path
    data: Path
    sha256: str
    digest: str
    size: int
    supports: int
    gap: Fraction
    seconds: float
    complete: bool


def splits_of(rows: Rows, tree: Tree, codes: Callable[[int], np.ndarray]) -> list[int]:
    """Return a tree in preorder, for a proof: the number of each split, and -1 - the class of each leaf.

    codes : returns the code of each row for a feature of the tree. A split is found by its parts of the rows: the
    cheapest split with these parts.
    """
    place, order, first = {}, {}, 0
    for feature in rows.features:
        for cut in range(int(feature.codes.max()) if not feature.parts else 1):
            own = feature.codes if feature.parts else (feature.codes > cut).astype(np.int64)
            canonical, held = _canonical(own)
            known = place.setdefault(canonical.tobytes(), (first, held, feature.parts or 2))
            if rows.table.charge[first] < rows.table.charge[known[0]]:
                place[canonical.tobytes()] = first, held, feature.parts or 2
            first += 1
    for feature in tree.used_features:
        canonical, held = _canonical(codes(feature))
        if canonical.tobytes() not in place:
            name = tree.features[feature].name
            raise OptreeError(
                f"proof: {name!r} is neither a split of a whole column nor one at a threshold; "
                "splits into several intervals (max_ways above 2) have no proofs"
            )
        split, parts, size = place[canonical.tobytes()]
        order[feature] = split, dict(zip(parts.tolist(), held.tolist(), strict=True)), size
    out, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if node == LEAF:  # a part without rows
            out.append(-1)
        elif tree.feature[node] == LEAF:
            out.append(-1 - (int(tree.prediction[node]) if tree.values is None else 0))
        else:
            split, code_of, size = order[int(tree.feature[node])]
            children = tree.children(node)
            out.append(split)
            waiting += [children[code_of[p]] if p in code_of else LEAF for p in reversed(range(size))]
    return out


def _canonical(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return codes numbered in the order in which they appear in the rows, and the codes in that order."""
    if codes.min() == 0 and codes.max() == 1:
        return codes ^ codes[0], np.array([codes[0], 1 - codes[0]])
    held, first, which = np.unique(codes, return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    rank = np.empty(len(held), np.int64)
    rank[appearance] = np.arange(len(held))
    return rank[which.ravel()], held[appearance]


def write_table(path: Path, columns: dict[str, list[str]]) -> None:
    """Write columns of texts as a CSV file, whole: another process may read an equal table of this name."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_whole(path, file.getvalue().encode())


def _costs(target: Actions) -> list[list[str]]:
    """Return the costs of each action as decimals, a list for each action; rounded regrets in whole units."""
    if not target.exact:
        return target.y.T.astype(str).tolist()
    least = [0] * len(target.y) if target.least is None else [Fraction(str(cost)) for cost in target.least.tolist()]
    regrets = target.y.T.tolist()
    return [
        [number_text(low + Fraction(regret, target.unit)) for low, regret in zip(least, column, strict=True)]
        for column in regrets
    ]


def _losses(problem: Problem) -> list | None:
    """Return the costs of mistakes as the user gave them: whole numbers, or all of them as fractions."""
    if problem.costs is None or problem.unit == 1:
        return None if problem.costs is None else problem.costs.tolist()
    return [[str(Fraction(cost, problem.unit)) for cost in row] for row in problem.costs.tolist()]


def _unused(name: str, columns: dict) -> str:
    """Return a name that no column has."""
    while name in columns:
        name += "_"
    return name


def _share(share: Fraction, price: int, problem: Problem, scale: Scale) -> Fraction:
    """Return the share that a price is of all rows, or of the regret of the best single action.

    The verifier rounds prices of values, and gets the user's share. The prices of a regret of 0 are 0 for every share.
    """
    if problem.target.kind == "values":
        return share
    is_action = problem.target.kind == "actions"
    whole = int((problem.weights @ problem.y).min()) if is_action else problem.total_weight * problem.unit
    return Fraction(price, scale.error) / whole if whole else share.limit_denominator(_MOST_DIGITS)


def _statement(feature: ProofFeature, objective: Objective, problem: Problem, scale: Scale) -> list:
    """Return a feature as the header states it, with the cost of its splits if it has one."""
    costs, charges = dict(objective.feature_costs), dict(scale.charges)
    name = feature.statement[0]
    if name not in costs:
        return feature.statement
    return [*feature.statement, str(_share(costs[name], charges[name], problem, scale))]


def _digest_of_data(texts: Texts, problem: Problem, columns: dict, target, costs, weight_name: str | None) -> str:
    """Return the sha256 of the data as the verifier reads them: codes, classes or numbers, weights, and costs."""
    heavy = np.flatnonzero(problem.weights)
    codes = np.column_stack([feature.codes[heavy] for feature in texts.features])
    if problem.target.kind == "classes":
        y = problem.y[heavy]
    else:
        names = target if isinstance(target, list) else [target]
        y = np.column_stack([np.asarray(columns[name], object)[heavy] for name in names]).ravel()
    weights = [Fraction(1)] * len(heavy)
    if weight_name is not None:
        weights = [Fraction(columns[weight_name][row]) for row in heavy.tolist()]
    unit = lcm(*(weight.denominator for weight in weights))
    data = [codes.tolist(), y.tolist(), [str(int(weight * unit)) for weight in weights], costs]
    return hashlib.sha256(json.dumps(data).encode()).hexdigest()


def write_proof(
    path: Path,
    data: Path,
    texts: Texts,
    problem: Problem,
    unit: Fraction,
    objective: Objective,
    tree: Tree,
    tree_codes: Callable[[int], np.ndarray],
    lower_bound: int | None,
    clock: Clock,
    weaker: bool = False,
) -> Written:
    """Write a proof of a tree, and the table that it is about.

    Parameters
    ----------
    path, data : Path
    texts : Texts
        The columns, with all candidate splits.
    problem : Problem
        The target and the weights of the same rows.
    unit : Fraction
        The user's weight of a weight of 1.
    objective : Objective
    tree : Tree
    tree_codes : callable
        Returns the code of each row for a feature of the tree.
    lower_bound : int or None
        A true lower bound of the cost of all trees, in the units of the objective's scale; None proves no bound.
    clock : Clock
        With the limits of the search for the proof.
    weaker : bool, default False
        Whether a proof of a lower bound is written where a limit ends the search.

    Raises
    ------
    OptreeError
        If a limit is reached, with ``weaker`` before a bound is proven and listed; if costs are too large for a proof.
    WrongBoundError
        If the lower bound is not true.
    """
    start = time.perf_counter()
    rows, scale = read_rows(texts.features, problem, objective), objective.scale(problem)
    nodes = splits_of(rows, tree, tree_codes)
    cost, row, spare, kind = tree_cost(rows, nodes), Fraction(rows.row), 0, problem.target.kind
    columns, costs = dict(texts.columns), _losses(problem)
    if kind == "classes":
        row *= problem.unit
    elif kind == "actions":
        costs, row = kind, row * (problem.unit if problem.target.exact else 1)
    elif kind == "values":
        grid, costs = problem.target.grid(problem), _SQUARED
        spare = _ROUNDED * tree.n_nodes * max(1, ceil(row / scale.row))
        if lower_bound is not None:
            own = objective.cost(tree, scale, problem.target.training_loss(tree, problem))
            lower_bound = cost - ceil(max(0, own - lower_bound) / Fraction(scale.row) * row)
        row *= 1 if grid.exact else Fraction(str(grid.step)) ** 2
    body, supports, complete = b"", 0, True
    if kind == "actions" and lower_bound is not None and not (problem.weights @ problem.y).min():
        lower_bound = 0  # beside prices of 0
    if lower_bound is not None:
        constant, proof = rows.inevitable + rows.charge, Proof(rows, clock)
        try:
            target = lower_bound - constant
            found, complete = proof.search_by_steps(target) if weaker else (proof.search(target)[0], True)
            if complete and found + spare < target:
                above = f"{target - found} above the least cost"
                raise WrongBoundError(f"proof: the lower bound is {above}; please report this")
            target = min(found, target)
            body, supports = proof.list_supports(target)
        except Stopped as stop:
            visits = f"{proof.visits} visits to supports"
            raise OptreeError(f"proof: the {stop} was reached after {visits}; give a greater one") from None
        lower_bound = target + constant
    gap = (cost - (lower_bound or 0)) / row * unit
    if kind == "actions":
        target = []
        for action, decimals in zip(problem.classes, _costs(problem.target), strict=True):
            target.append(_unused(f"cost of {action}", columns))
            columns[target[-1]] = decimals
    elif kind == "values":
        target = _unused("target", columns)
        columns[target] = [number_text(y) for y in problem.y.tolist()] if grid.exact else grid.whole.astype(str)
    else:
        target = _unused("class", columns)
        columns[target] = [problem.classes[k] for k in problem.y.tolist()]
    weight_name, weights = None, [weight * unit for weight in problem.weights.tolist()]
    own = 1 if max(max(weight.as_integer_ratio()) for weight in weights) < 10 * _MOST_DIGITS else 1 / unit
    if (problem.weights != 1).any() or own * unit != 1:  # of too many digits: the verifier gets whole weights
        weight_name = _unused("weight", columns)
        columns[weight_name] = [str(weight * own) for weight in weights]
    digest = _digest_of_data(texts, problem, columns, target, costs, weight_name)
    head = {
        "features": [_statement(feature, objective, problem, scale) for feature in texts.features],
        "missing": texts.missing,
        "target": target,
        "classes": list(problem.classes) if kind == "classes" else [],
        "costs": costs,
        "weight": weight_name,
        "lambda": str(_share(objective.regularization, scale.penalty, problem, scale)),
        "penalty": objective.penalty,
        "max_depth": objective.max_depth,
        "max_splits": objective.max_splits,
        "min_samples_leaf": objective.min_samples_leaf if objective.min_samples_leaf > 1 else None,
        "tree": nodes,
        "claim": "optimal" if gap == 0 else str(gap * own),
        "supports": supports,
        "data": digest,
    }
    rest = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" + body
    content = _MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest
    write_table(data, columns)
    path.write_bytes(content)
    sha256, seconds = hashlib.sha256(content).hexdigest(), time.perf_counter() - start
    return Written(path, data, sha256, digest, len(content), supports, gap, seconds, complete)
