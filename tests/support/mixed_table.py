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


def long(seed: int = 0, n: int = 30_000) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of many rows as companies have them, and two classes.

    Half of the numbers are different in almost every row, so that a coded feature for each threshold takes gigabytes.
    """
    random = np.random.RandomState(seed)
    income, age, score = random.lognormal(10, 0.6, n), random.randint(18, 90, n), random.randn(n)
    region, product = random.choice(list("ABCDEFGHIJKL"), n), random.choice(["basic", "plus", "premium"], n)
    days = (np.datetime64("2024-01-01") + random.randint(0, 730, n) - np.datetime64("2024-01-01")).astype(int)
    table = pd.DataFrame(
        {
            "income": np.where(random.rand(n) < 0.05, np.nan, income),
            "balance": income * random.rand(n) - 5000,
            "age": age,
            "score": np.where(random.rand(n) < 0.1, np.nan, score),
            "visits": random.poisson(6, n),
            "days_since_2024": days,  # a date, as the encoder's advice says
            "region": pd.Categorical(region),
            "product": np.where(random.rand(n) < 0.03, None, product),
            "is_member": random.rand(n) < 0.4,
        }
    )
    risk = 0.8 * score - 0.02 * (age - 50) + (product == "premium") + 0.7 * np.isin(region, ["A", "F"]) - 0.3
    risk += 0.5 * ((income > 30_000) & (days > 365)) + random.logistic(0, 1, n)
    return table, (risk > 0.3).astype(int)
