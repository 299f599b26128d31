"""Figure 6 of the DPDT paper: random searches, as curves of test scores and as claims."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from optree.bench.papers.dpdt.importance import FEW_DATASETS, FEW_TRIALS
from optree.bench.papers.spec import Results
from optree.bench.papers.verdicts import Finding, reproduced

_SHUFFLES = 15
_OURS = "search-dpdt"
_RIVALS = {"search-cart": "CART", "search-streed": "STreeD"}
_BETTER, _SOONER = (
    "scaled test score of DPDT's best trial, above the rival's",
    "DPDT's processor seconds, below the rival's",
)
TOLERANCES = {_BETTER: "above", _SOONER: "below"}


def _best_so_far(trials: list[dict], order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the test score of the trial that is best on the validation rows, and seconds spent, after each trial."""
    valid = np.array([trials[i]["valid"] for i in order])
    test, cost = (np.array([trials[i][name] for i in order]) for name in ("test", "seconds"))
    best = np.maximum.accumulate(valid)
    chosen = np.maximum.accumulate(np.where(valid == best, np.arange(len(valid)), 0))
    return test[chosen], np.cumsum(cost)


def curves(runs: pd.DataFrame) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return test scores float64[shuffles, trials] and seconds of each model, averaged over datasets.

    Scores of a dataset are scaled: 1 is the best test score of all trials of all models, 0 the 10 % quantile. Lower
    scores count as 0.
    """
    tables = {}
    for dataset, group in runs.groupby("dataset"):
        every = np.concatenate([[trial["test"] for trial in trials] for trials in group["trials"]])
        low, high = np.quantile(every, 0.1), every.max()
        for model, trials in zip(group["model"], group["trials"], strict=True):
            found = []
            for shuffle in range(_SHUFFLES):
                others = 1 + np.random.RandomState(shuffle).permutation(len(trials) - 1)
                found.append(_best_so_far(trials, np.concatenate([[0], others]).astype(int)))
            scores, spent = (np.array(each) for each in zip(*found, strict=True))
            scaled = np.clip((scores - low) / max(high - low, 1e-12), 0, None)
            tables.setdefault(model, {})[dataset] = scaled, spent
    complete = max(map(len, tables.values()))
    return {
        model: tuple(np.mean([curve[i] for curve in by_dataset.values()], axis=0) for i in range(2))
        for model, by_dataset in sorted(tables.items())
        if len(by_dataset) == complete
    }


def _judge(_: str, measured: tuple[bool, str, str]) -> Finding:
    """Judge a comparison; the last part of the measured value is the reason of doubt."""
    holds, text, doubt = measured
    return Finding(text, "", "undecided" if doubt else reproduced(holds), doubt)


def claims(results: Results) -> Iterator[tuple]:
    """Yield claims on the random searches of DPDT beside CART and STreeD, from section 6.2 of the paper."""
    runs = results.models[results.models["model"].isin([_OURS, *_RIVALS])]
    runs = runs[runs["trials"].map(len) > 1]
    found = curves(runs) if len(runs) else {}
    datasets, trials = runs["dataset"].nunique(), runs["trials"].map(len).min()
    few = datasets < FEW_DATASETS or trials < FEW_TRIALS
    doubt = f"{datasets} datasets, {trials} trials of a search" if few else ""
    for model, rival in _RIVALS.items():
        if {model, _OURS} <= found.keys():
            (score, spent), (other, others) = found[_OURS], found[model]
            best, beside = score[:, -1].mean(), other[:, -1].mean()
            first, last = spent[:, -1].mean(), others[:, -1].mean()
            better = bool(best > beside), f"{best:.3f} beside {beside:.3f}", doubt
            sooner = bool(first < last), f"{first:.3g} beside {last:.3g}", doubt
        else:
            better = sooner = None
        yield rival, _OURS, _BETTER, "yes", better, _judge
        if rival == "STreeD":
            yield rival, _OURS, _SOONER, "yes", sooner, _judge
