"""The optional packages: each extra of the distribution brings some, and an error names the extra that is missing."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from optree.errors import OptreeError


def imported(module: str, extra: str, subject: str) -> ModuleType:
    """Import a module of an optional package; raise OptreeError with the extra that brings the package.

    subject : the function or argument that needs the module, as the start of the error.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise OptreeError(
            f"{subject}: the package {package} is not installed; pip install 'optree-bench[{extra}]' brings it"
        ) from error
