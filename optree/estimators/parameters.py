"""The checks of parameters that no later step of a fit would refuse in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from optree.encoding.user_tables import is_labelled
from optree.errors import OptreeError, choice


def is_whole(value) -> bool:
    """Return whether a value is an integer and no truth value."""
    return isinstance(value, Integral) and not _is_truth(value)


def _is_truth(value) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_seed(value) -> bool:
    return value is None or isinstance(value, np.random.RandomState) or (is_whole(value) and 0 <= value < 2**32)


def _is_weight(value) -> bool:
    return isinstance(value, Real) and not _is_truth(value) and 0 <= value < np.inf


def _is_columns(value) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str) and all(map(_is_column, value))


def _is_word(value, word: str) -> bool:
    return isinstance(value, str) and value == word


def _is_column(value) -> bool:
    return isinstance(value, (str, np.bool_, bool, Integral))


def _are_costs(value) -> bool:
    return value is None or (isinstance(value, Iterable) and not isinstance(value, (str, bytes)))


NAMES = {
    "encoding: categorical": "categorical_features:",
    "encoding: one-hot": "one_vs_rest:",
    "a numeric column accepts numbers only": "categorical_features lists all columns of categories; add this column",
}
"""The parameters in place of internal names in errors; see :func:`optree.errors.renamed`."""
_FLAG = (_is_truth, "True or False")
_ACCEPTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "bounds": _FLAG,
    "categorical_features": (
        lambda value: _is_columns(value) or _is_word(value, "from_dtype"),
        "'from_dtype', a mask, or a list of names",
    ),
    "collapse": _FLAG,
    "feature_costs": (_are_costs, "None, costs >= 0 by the names of columns, or one for each column"),
    "fewest_splits": _FLAG,
    "guess_lower_bound": _FLAG,
    "guess_thresholds": _FLAG,
    "lookahead": (lambda value: is_whole(value) and value >= 0, "a whole number >= 0"),
    "max_ways": (lambda value: is_whole(value) and value >= 2, "a whole number >= 2"),
    "missing": (lambda value: value in ("best", "error"), "'best' or 'error'"),
    "n_jobs": (lambda value: value is None or (is_whole(value) and value != 0), "None or a whole number other than 0"),
    "on_interrupt": (lambda value: value in ("raise", "return"), "'raise' or 'return'"),
    "one_vs_rest": (
        lambda value: _is_truth(value) or _is_columns(value) or _is_word(value, "auto"),
        "'auto', True, False or a list of names",
    ),
    "polish": _FLAG,
    "random_state": (_is_seed, "None, a whole number from 0 to 2^32 - 1, or a RandomState"),
    "repeat": _FLAG,
    "smoothing": (_is_weight, "a number >= 0"),
    "trivial_extensions": _FLAG,
    "unseen": (lambda value: value in ("error", "ignore"), "'error' or 'ignore'"),
    "verbose": (lambda value: _is_truth(value) or (is_whole(value) and value >= 0), "True, False or a number >= 0"),
    "warm_start": _FLAG,
}
"""The test of a value and the accepted values, by the name of the parameter."""


def check_parameters(estimator) -> None:
    """Raise OptreeError for a parameter whose value is not accepted."""
    for name, value in estimator.get_params(deep=False).items():
        check_parameter(name, value)


def check_parameter(name: str, value) -> None:
    """Raise OptreeError if the value of a parameter is not accepted."""
    is_accepted, accepted = _ACCEPTED.get(name, (None, ""))
    if is_accepted and not is_accepted(value):
        shown = " ".join(repr(value).split())
        listed = f": [{shown}] for one column" if isinstance(value, str) and accepted.endswith("names") else ""
        raise OptreeError(f"{name}: {shown} is not accepted; give {accepted}{listed}")


def by_column(parameter: str, noun: str, given, names: Sequence[str], default) -> dict[str, Any]:
    """Return the value of each column of a parameter: a mapping of names to values, or a value for each column.

    noun : the values, for people; default : the value of a column that a mapping leaves out.

    Raises
    ------
    OptreeError
        If a name is unknown, or there is no value for each column.
    """
    if isinstance(given, Mapping) or is_labelled(given):
        given = {str(name): value for name, value in given.items()}
        for name in given:
            if name not in names:
                raise choice(parameter, name, names)
        return {name: given.get(name, default) for name in names}
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise OptreeError(
            f"{parameter}: {given!r} is not accepted; give {noun} by the names of columns, or for each column"
        )
    if len(given) != len(names):
        found = " ".join(repr(given).split())
        raise OptreeError(
            f"{parameter}: {len(given)} {noun} are not accepted; give one for each of {len(names)} columns, not {found}"
        )
    return dict(zip(names, given, strict=True))


def seed_of(random_state) -> int:
    """Return a seed: the given one, 0 for None, or a number that a RandomState draws."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    return int(random_state or 0)
