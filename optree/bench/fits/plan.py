"""The fits that a configuration asks for, and their records as a data frame."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path

import pandas as pd

from optree.bench.fits import fit, models, trials
from optree.bench.fits.fit import Fit
from optree.bench.runs.folds import FULL, kind
from optree.errors import OptreeError, choice
from optree.files import write_whole

_COLUMNS = [
    *("dataset", "model", "split", "encoding", "rows", "features", "classes", "rows_train", "train", "test", "status"),
    *("iterations", "splits_offered", "splits", "depth", "seconds", "processor_seconds", "search_seconds"),
    *("memory_before_mib", "memory_peak_mib", "cpu", "code", "staged", "trials", "surface", "tree"),
]


def plan(config: Mapping, datasets, peers: Mapping | None = None) -> list[Fit]:
    """The fits, each once, in the order of the configuration.

    Parameters
    ----------
    config : mapping
        A configuration that its schema has accepted.
    datasets : mapping of str to Dataset
        The datasets table.
    peers : mapping, optional
        All peers, by name.

    Raises
    ------
    OptreeError
        Naming the key of the configuration, the value and what is accepted.
    """
    defined = config.get("models", {})
    for name, fields in defined.items():
        models.check(name, fields)
        trials.check(name, fields)
        if (encoding := fields.get("encoding")) not in (None, *config.get("encodings", {})):
            raise choice(f"config: models.{name}: encoding", encoding, sorted(config.get("encodings", {})))
        models.check_peers(name, fields, peers or {})
    planned: dict[tuple, Fit] = {}
    for number, entry in enumerate(config.get("fits", [])):
        where = f"config: fits[{number}]"
        for dataset, model, split in product(entry["datasets"], entry["models"], entry["splits"]):
            if dataset not in datasets:
                raise choice(f"{where}: dataset", dataset, sorted(datasets))
            if model not in defined:
                raise choice(f"{where}: model", model, sorted(defined) or ["one that models defines"])
            kind(str(split))
            if (defined[model].get("space") or defined[model].get("grid")) and split == FULL:
                raise OptreeError(f"{where}: model {model!r} is a search and needs rows held out: give seeds or folds")
            if defined[model].get("encoding") and not datasets[dataset].classes:
                raise OptreeError(f"{where}: dataset {dataset!r} has a number for its target and cannot be encoded")
            size = str(entry.get("test_size", config["test_size"]))
            most = {key: entry[key] for key in ("train_rows", "test_rows") if key in entry}
            made = Fit(dataset=dataset, model=model, split=str(split), test_size=size, **most, **defined[model])
            if planned.setdefault((dataset, model, str(split)), made) != made:
                raise OptreeError(f"{where}: {model} on {dataset}, split {split}, is asked for twice; leave one out")
    return list(planned.values())


def collect(paths: Iterable[str | Path], target: str | Path) -> list[dict]:
    """Read and validate records, and write them to one file, a line each."""
    records = [fit.read(path) for path in paths]
    write_whole(target, "".join(json.dumps(record) + "\n" for record in records).encode())
    return records


def read(paths: Iterable[str | Path]) -> dict[str, pd.DataFrame]:
    """``fits``, the frame of the records that :func:`collect` wrote; nothing if there is no such file."""
    lines = [line for path in paths for line in Path(path).read_text().splitlines()]
    return {"fits": frame(map(json.loads, lines))} if lines else {}


def frame(records: Iterable[dict]) -> pd.DataFrame:
    """A row for each fit, sorted by dataset, model and split; lists of stages and trials as they are."""
    rows = [
        {
            "dataset": record["fit"]["dataset"],
            "model": record["fit"]["model"],
            "split": record["fit"]["split"],
            "encoding": record["fit"].get("encoding"),  # records of before have none
            "rows": record["data"]["rows"],
            "features": record["data"]["features"],
            "classes": record["data"]["classes"],
            "rows_train": record["rows_train"],
            "train": record["train"],
            "test": record["test"],
            "status": record["status"],
            "iterations": record["counters"].get("iterations"),
            "splits_offered": record["counters"].get("splits"),
            "splits": record["size"]["splits"],
            "depth": record["size"]["depth"],
            "seconds": record["seconds"]["wall"],
            "processor_seconds": record["seconds"]["processor"],
            "search_seconds": record["seconds"].get("search"),
            "memory_before_mib": record["memory_mib"]["before"],
            "memory_peak_mib": record["memory_mib"]["peak"],
            "cpu": record["environment"]["cpu"],
            "code": record["environment"]["code"],
            "staged": record["staged"],
            "trials": record["trials"],
            "surface": record["surface"],
            "tree": record["tree"],
        }
        for record in records
    ]
    table = pd.DataFrame(rows, columns=_COLUMNS).sort_values(["dataset", "model", "split"]).reset_index(drop=True)
    return table.astype(dict.fromkeys(("iterations", "splits_offered", "splits", "depth"), "Int64"))
