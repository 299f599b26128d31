"""Table 2 of the DPDT paper: the importance of each hyperparameter, from the trials of random searches.

The paper does not say how it measures importance. Here a random forest predicts a trial's test score from its
hyperparameters, dataset by dataset; the importance is the mean share of the forest's decrease of variance.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

_TREES = 200
FEW_TRIALS, FEW_DATASETS = 50, 8  # Less decides nothing.


def _codes(values: list) -> np.ndarray:
    """Return a column of numbers: numbers as they are, other values by the order of their texts."""
    if all(isinstance(value, int | float) for value in values):
        return np.array(values, float)
    texts = [str(value) for value in values]
    return np.searchsorted(sorted(set(texts)), texts).astype(float)


def importances(runs: pd.DataFrame) -> tuple[dict[str, float], int, int]:
    """Return the mean importance of each hyperparameter in percent, the number of datasets and the fewest trials.

    ``runs`` are the random searches of one model. A dataset whose trials all have the same score has no importances.
    """
    shares, fewest = [], 0
    for trials in runs["trials"]:
        drawn = [trial for trial in trials if trial["parameters"]]  # The first trial has the defaults.
        score = np.array([trial["test"] for trial in drawn])
        if not len(drawn) or np.ptp(score) == 0:
            continue
        names = sorted(drawn[0]["parameters"])
        columns = [_codes([trial["parameters"][name] for trial in drawn]) for name in names]
        forest = RandomForestRegressor(_TREES, random_state=0).fit(np.transpose(columns), score)
        shares.append(dict(zip(names, 100 * forest.feature_importances_, strict=True)))
        fewest = min(fewest or len(drawn), len(drawn))
    return pd.DataFrame(shares).mean().to_dict(), len(shares), fewest
