"""Planning: the fits of a configuration. Everything that no fit could do is refused here, before any work."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from optree.bench.fits import models, trials
from optree.bench.fits.fit import Fit
from optree.bench.runs.folds import FULL, fold_kind
from optree.errors import OptreeError, choice


def plan_fits(config: Mapping, datasets, peers: Mapping | None = None) -> list[Fit]:
    """Return the fits of a configuration that its schema has accepted, each once, in its order.

    ``datasets`` is the datasets table. ``peers`` are all peers, by name.
    """
    defined, encodings = config.get("models", {}), config.get("encodings", {})
    for name, fields in defined.items():
        models.check(name, fields, peers or {})
        trials.check(name, fields)
        if (encoding := fields.get("encoding")) not in (None, *encodings):
            raise choice(f"config: models.{name}: encoding", encoding, sorted(encodings))
    planned: dict[tuple, Fit] = {}
    for number, entry in enumerate(config.get("fits", [])):
        where = f"config: fits[{number}]"
        for dataset, model, fold in product(entry["datasets"], entry["models"], map(str, entry["splits"])):
            if dataset not in datasets:
                raise choice(f"{where}: dataset", dataset, sorted(datasets))
            if model not in defined:
                raise choice(f"{where}: model", model, sorted(defined) or ["one that models defines"])
            fold_kind(fold)
            if (defined[model].get("space") or defined[model].get("grid")) and fold == FULL:
                raise OptreeError(f"{where}: model {model!r} is a search and needs rows held out: give seeds or folds")
            if defined[model].get("encoding") and not datasets[dataset].classes:
                raise OptreeError(f"{where}: dataset {dataset!r} has a number for its target and cannot be encoded")
            size = str(entry.get("test_size", config["test_size"]))
            max_rows = {key: entry[key] for key in ("train_rows", "test_rows") if key in entry}
            fit = Fit(dataset=dataset, model=model, split=fold, test_size=size, **max_rows, **defined[model])
            if planned.setdefault((dataset, model, fold), fit) != fit:
                raise OptreeError(f"{where}: {model} on {dataset}, split {fold}, is asked for twice; leave one out")
    return list(planned.values())
