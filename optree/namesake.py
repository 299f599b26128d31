"""The other distribution that installs a package called ``optree``: pytrees, which keras and torch may bring along.

Whichever of the two is installed later writes over the other, and pip says nothing.
"""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, version

import optree

_REMEDY = "use an environment without it, or: pip uninstall --yes optree optree-bench, then install optree-bench again"


def look_for_namesake() -> None:
    """Warn if the other distribution is installed, or raise ImportError if its files have replaced this package's."""
    try:
        found = f"the distribution optree {version('optree')} (pytrees)"
    except PackageNotFoundError:
        found = None
    if not hasattr(optree, "_ESTIMATORS"):
        other = found or "another package"
        raise ImportError(f"{optree.__file__} is not optree-bench's: {other} wrote over it; {_REMEDY}")
    if found:
        warnings.warn(f"{found} is here too, and each writes over the other; {_REMEDY}", stacklevel=3)
