"""A kernel called without numba's dispatcher.

At every call the dispatcher looks at the type of each array of each NamedTuple, to find what was compiled for these
types. For the fifty arrays of a search that took 6 microseconds of 9 in a loop, and 11 within a fit, where the rest of
a small search took 30.
"""

from __future__ import annotations

from collections.abc import Callable


def direct(kernel: Callable) -> Callable:
    """What was compiled of a kernel if that is one version, else the kernel itself.

    Only for kernels whose arguments are always of the same types and in one piece: nobody looks at them again.
    """
    versions = getattr(kernel, "overloads", ())
    if len(versions) != 1:
        return kernel
    return next(iter(dict.values(versions))).entry_point  # an OrderedDict's own would hash all the types
