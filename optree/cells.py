"""How single values are written: in data files, in the names of features, and in which order."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np


def is_missing(value) -> bool:
    """None or NaN."""
    return value is None or value != value


def number_text(value: float) -> str:
    """The shortest text that reads back as the same float; whole numbers without ``.0``."""
    value = float(value)
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


def cell_text(value) -> str:
    """A category as text: numbers as :func:`number_text`, truth values as ``true`` and ``false``."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return number_text(value)
    return str(value)


def ordered(texts: Iterable[str]) -> list[str]:
    """Texts in the order of the numbers they stand for, if all stand for one; else alphabetical."""
    texts = sorted(texts)
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return texts
    return sorted(texts, key=float) if all(map(math.isfinite, numbers)) else texts
