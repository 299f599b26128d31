"""A kernel called without numba's dispatcher.

At every call the dispatcher looks up the type of each array of each NamedTuple. For the fifty arrays of a search this
look-up took 6 of the 9 microseconds of a call in a loop, and 11 microseconds within a fit, where the rest of a small
search took 30.
"""

from __future__ import annotations

from collections.abc import Callable


def direct(kernel: Callable) -> Callable:
    """Return the compiled version of a kernel if there is exactly one, else the kernel itself.

    Only for kernels whose arguments always have the same types and memory layout: the compiled version does not check.
    """
    versions = getattr(kernel, "overloads", ())
    if len(versions) != 1:
        return kernel
    return next(iter(dict.values(versions))).entry_point  # OrderedDict.values would hash all the types
