"""A table with columns of every kind."""

from __future__ import annotations

import numpy as np
import pandas as pd


def mixed(seed: int, n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with numbers, categories, missing values and a copy, and three classes."""
    random = np.random.RandomState(seed)
    table = pd.DataFrame(
        {
            "number": np.where(random.rand(n) < 0.1, np.nan, random.randint(0, 5, n)),
            "colour": random.choice(["red", "green", "blue"], n),
            "flag": random.rand(n) < 0.5,
        }
    )
    table["copy"] = ~table["flag"]
    y = (table["number"].fillna(0) > 2).astype(int) + (table["colour"] == "red")
    return table, np.where(random.rand(n) < 0.15, random.randint(0, 3, n), y)
