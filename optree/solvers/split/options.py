"""The parameters of SPLIT and LicketySPLIT, and the rules of a search with given parameters."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from optree.errors import OptreeError, choice
from optree.solvers.base import Parameter, Task
from optree.solvers.kernels.interval_partitions import CRITERIA, unit_of
from optree.solvers.split.candidate_thresholds import ACCEPTED
from optree.solvers.split.state import ALL, CART, MIDPOINTS, MOST_WAYS, Rules

GENERATORS = {"all": ALL, "midpoints": MIDPOINTS, "cart": CART}
TWO_LEVELS = ("never", "lookahead", "frontier")


PARAMETERS = {
    "criterion": Parameter(str, "entropy", "impurity that greedy splits lower: gini or entropy"),
    "two_levels": Parameter(
        str, "lookahead", "where the last two levels are solved exactly: never, lookahead (if both have it) or frontier"
    ),
    "most_candidates": Parameter(int, 0, "maximum number of candidate splits of a node, by impurity; 0: all"),
    "cuts": Parameter(str, "all", "thresholds of splits: all, of boosting, of near_optimal trees, of a rashomon set"),
    "reference": Parameter(bool, False, "guess that no tree misclassifies less on any rows than a boosted ensemble"),
    "deepening": Parameter(bool, True, "without an incumbent, begin with the greedy tree and less lookahead"),
    "collapse": Parameter(bool, False, "join equal neighbouring subtrees, and nested splits of a feature"),
}
MULTIWAY = {
    **PARAMETERS,
    "criterion": Parameter(str, "gini", PARAMETERS["criterion"].doc),
    "max_ways": Parameter(int, 5, "maximum number of intervals of a split"),
    "two_way_from": Parameter(int, 255, "level from which splits have two intervals, the root being 0"),
    "generator": Parameter(str, "midpoints", "splits of a feature: midpoints, or cart's bins; all: every partition"),
    "bins": Parameter(int, 500, "midpoints: maximum number of bins of a feature in a node"),
    "cart_leaf": Parameter(int, 1, "cart: minimum weight of a bin"),
    "beam": Parameter(list, [5, 4, 3, 2], "splits of a feature with 2, 3, ... intervals; 1 beyond the list"),
    "pair_bins": Parameter(int, 32, "maximum number of bins of a feature where two levels are solved exactly; 0: all"),
    "repeat": Parameter(bool, True, "whether a feature may be split again on a path"),
}
# The values of the parameters that a solver does not have.
_OTHERS = {name: parameter.default for name, parameter in MULTIWAY.items()}
_OTHERS |= {"max_ways": 2, "generator": "all", "polish": False, "lickety": False}


def parameters_of(recursive: bool, multiway: bool) -> dict[str, Parameter]:
    """Return the parameters of a solver."""
    doc = "levels searched exactly, with greedy trees below; -1: half of them, rounded up; -2: rounded down"
    own = {"lookahead": Parameter(int, -1, doc)}
    if recursive:
        own = {"lookahead": Parameter(int, 1, "levels searched exactly to choose a split, anew for each child")}
    else:
        own["polish"] = Parameter(bool, False, "replace each greedy subtree by the best one of its depth")
        if not multiway:
            own["lickety"] = Parameter(bool, True, "search for LicketySPLIT's tree, too, and return the better one")
    return own | (MULTIWAY if multiway else PARAMETERS)


def options_of(solver: str, recursive: bool, parameters: dict) -> SimpleNamespace:
    """Return the values of all parameters, and ``recursive``: LicketySPLIT; raise if a value is not accepted."""
    options = SimpleNamespace(recursive=recursive, **_OTHERS | parameters)
    accepted = {"criterion": CRITERIA, "two_levels": TWO_LEVELS, "generator": GENERATORS, "cuts": ACCEPTED}
    for name, values in accepted.items():
        if getattr(options, name) not in values:
            raise choice(f"solver {solver}: {name}", getattr(options, name), values)
    lowest = {"lookahead": 1 if recursive else -2, "max_ways": 2, "bins": 2, "cart_leaf": 1}
    for name, value in {**lowest, "most_candidates": 0, "two_way_from": 0, "pair_bins": 0}.items():
        if getattr(options, name) < value:
            raise OptreeError(f"solver {solver}: {name} = {getattr(options, name)} is not accepted; give >= {value}")
    if not all(isinstance(width, int) and not isinstance(width, bool) and width >= 1 for width in options.beam):
        raise OptreeError(f"solver {solver}: beam = {options.beam!r} is not accepted; give whole numbers >= 1")
    return options


def rules_of(task: Task, options: SimpleNamespace, depth: int) -> Rules:
    """Return the rules of a search."""
    ways = min(options.max_ways, MOST_WAYS)
    bins, coarse = int(task.problem.n_parts.max()), options.two_levels != "never" and options.pair_bins
    complete = options.generator == "all" and options.repeat and not (options.most_candidates or options.reference)
    beam = (*options.beam, *[1] * ways)[: ways - 1]
    return Rules(
        error=task.scale.error,
        penalty=task.scale.penalty,
        max_depth=depth,
        min_rows=task.objective.min_samples_leaf,
        ways=ways,
        two_way_from=options.two_way_from,
        generator=GENERATORS[options.generator],
        criterion=CRITERIA[options.criterion],
        max_bins=options.bins,
        min_bin_weight=options.cart_leaf,
        exact_depth=2 if options.two_levels == "frontier" else 1,
        exact_pairs=options.two_levels != "never",
        pair_bins=options.pair_bins or bins,
        max_candidates=options.most_candidates,
        repeat=options.repeat,
        complete=bool(complete and (not coarse or bins <= coarse)),
        polish=options.polish,
        both=options.lickety,
        bounded=not (options.polish or options.collapse),
        unit=unit_of(task.problem),
        beam=np.array([0, 0, *beam], np.int64),
    )
