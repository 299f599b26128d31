"""All run records together: one file of JSON lines, and one data frame with a column per fact, units in its name."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from statistics import median_low

import pandas as pd

from optree.bench.models import frame as model_frame
from optree.bench.runs import record, store
from optree.bench.runs.record import COMPARED
from optree.bench.system.environment import versions_text
from optree.bench.tables.certificates import refute
from optree.errors import OptreeError
from optree.files import write_whole
from optree.objective import CONSTRAINTS


def collect(paths: Iterable[str | Path], target: str | Path, proofs: Iterable[str | Path] = ()) -> int:
    """Write the records of all jobs to one file, a line each, and return their number.

    A file with an edited record, or without a record of its job, raises an :exc:`~optree.errors.OptreeError`.
    ``proofs`` are the files of :mod:`optree.bench.runs.prove`, whose entries become part of the records.
    """
    lines, proven = [], {}
    for entry in (json.loads(line) for path in proofs for line in Path(path).read_text().splitlines()):
        proven[entry.pop("cell")] = entry
    for path in map(Path, paths):
        cells = []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            try:
                entry = json.loads(line)
                record.check_seal(entry, f"{path}, line {number}")
                cells.append((entry["cell"], entry["run"]))
            except ValueError as error:
                raise OptreeError(
                    f"{path}, line {number}: not a record ({error}); delete the file and its runs are done again"
                ) from error
            if proof := proven.get(entry["cell"]):
                line = json.dumps(record.seal(entry | {"proof": proof}))
            lines.append(line)
        if store.job_name(cells) != path.stem:
            raise OptreeError(f"{path}: records of the job are missing; delete the file and its runs are done again")
    write_whole(target, "".join(line + "\n" for line in lines).encode())
    return len(lines)


def load(path: str | Path) -> list[dict]:
    """Return the records that :func:`collect` wrote."""
    with open(path) as file:
        return [json.loads(line) for line in file]


def read(path: str | Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frame of searches and the frame of models of the records that :func:`collect` wrote."""
    searches, models = [], []
    for entry in load(path):
        (searches if entry["run"]["model"] is None else models).append(entry)
    return frame(searches), model_frame.frame(models)


def _candidates_gap(entry: dict) -> float | None:
    """Return an upper bound on the gap to the best tree over the candidate splits, or None if it is unknown."""
    bound, cost = entry["counters"].get("candidates_bound"), entry["cost"]["value"]
    if bound is None or not cost:
        return None
    return max(0, cost - bound) / cost * (1 - entry["objective"])


def _some(facts: dict, *names: str) -> dict:
    """Return the named entries of a dictionary, in this order."""
    return {name: facts[name] for name in names}


def _text_of(encoding: dict | None) -> str:
    """Return the parameters of an encoding as a text, one name and value after the other."""
    return " ".join(f"{name}={value}" for name, value in (encoding or {}).items() if value not in ((), [], None, False))


def _row(entry: dict) -> dict:
    """Return the row of one record of a search."""
    run, data, cost, seconds = (entry[key] for key in ("run", "data", "cost", "seconds"))
    train, test, claim = entry["train"], entry["test"] or {}, entry["claim"] or {}
    limits, machine, proof = run["limits"], entry["environment"], entry.get("proof") or {}
    return {
        **_some(run, "dataset", "encoding", "algorithm", "solver"),
        "exact": entry["exact"],
        "lambda": run["regularization"],
        **_some(run, *COMPARED),
        **_some(entry, "status", "reason", "depth_limit"),
        "claimed_status": claim.get("status"),
        "claimed_objective": claim.get("objective"),
        **_some(entry, "objective", "objective_bound", "gap"),
        "candidates_gap": _candidates_gap(entry),
        "accuracy_train": train["accuracy"],
        "accuracy_test": test.get("accuracy"),
        "loss_train": train["loss"],
        "loss_test": test.get("loss"),
        "rows_train": train["rows"],
        "errors_train": train["errors"],
        "rows_test": test.get("rows"),
        "errors_test": test.get("errors"),
        "cost": cost["value"],
        "cost_bound": cost["lower_bound"],
        "cost_of_error": cost["error_unit"],
        "cost_of_penalty": cost["penalty_unit"],
        **_some(entry["size"], "splits", "leaves", "depth", "decisions", "path_features"),
        "iterations": entry["counters"]["iterations"],
        "subproblems": entry["counters"].get("subproblems"),
        "encode_seconds": seconds["encode"],
        "warm_up_seconds": seconds["warm_up"],
        "search_seconds": seconds["search"],
        "call_seconds": median_low(seconds["calls"]) if seconds["calls"] else None,
        "searches": len(seconds["searches"]),
        "peak_rss_mib": entry["peak_rss_mib"],
        **_some(data, "rows", "features"),
        "constant_features": len(data["constant"]),
        **_some(data, "encoded_features", "parts", "classes"),
        **{f"data_{name}": data[name] for name in ("source", "version", "sha256")},
        **{f"limit_{name}": limits.get(name) for name in ("seconds", "iterations", "memory_mib", "threads")},
        "iteration": entry["iteration"],
        **_some(machine, "host", "date", "cores", "cpu", "system"),
        "versions": versions_text(machine),
        **_some(machine, "code", "commit"),
        "cell": entry.get("cell"),
        "encoding_parameters": _text_of(data["encoding"]),
        **{f"proof_{name}": proof.get(name) for name in PROOF},
        "set_bound": _set_bound(run["parameters"]) if "found" in entry else None,
        "set_trees": entry["found"].get("count") if "found" in entry else None,
        "thresholds": sum(kept for kept, _ in data["thresholds"].values()),
        "thresholds_possible": sum(possible for _, possible in data["thresholds"].values()),
        **_some(entry, "tree", "trace"),
    }


def _set_bound(parameters: dict) -> str:
    """Return the bound of a Rashomon set in words, from the parameters of our solver or of a peer."""
    given = [f"{name} {parameters[name]}" for name in ("multiplier", "adder", "bound") if parameters.get(name)]
    return ", ".join(given) or "multiplier 0.05"


class _Nothing(dict):
    """A record without values; its row gives a frame without rows its columns."""

    def __missing__(self, key):
        return _Nothing()


# Of a proof: optree.bench.runs.prove.
PROOF = (
    *("verdict", "statement", "file", "table", "sha256", "bytes", "supports"),
    *("write_seconds", "check_seconds", "verifier"),
)
# Nullable integers: floats would print 3 as 3.0 and would round large costs.
_WHOLE = (
    *(name for name, constraint in CONSTRAINTS.items() if constraint.unset is None),
    *("depth_limit", "rows_test", "errors_train", "errors_test", "cost", "cost_bound"),
    *("splits", "leaves", "depth", "iterations", "subproblems", "limit_iterations", "limit_threads"),
    *("proof_bytes", "proof_supports"),
)
_REAL = (
    *("objective", "objective_bound", "claimed_objective", "gap", "accuracy_train", "accuracy_test", "peak_rss_mib"),
    *("loss_train", "loss_test", "decisions", "path_features", "candidates_gap"),
    *("proof_write_seconds", "proof_check_seconds"),
    *("warm_up_seconds", "search_seconds", "call_seconds", "limit_seconds", "limit_memory_mib"),
)
_ORDER = [
    "dataset",
    "encoding",
    "algorithm",
    "lambda",
    "penalty",
    *CONSTRAINTS,
    "measure",
    "feature_costs",
    "seed",
    "split",
]


def frame(records: Iterable[dict]) -> pd.DataFrame:
    """Return a data frame of the records of searches, sorted independently of the records' order.

    The order is dataset, encoding, algorithm, lambda, penalty, constraints, measure and fold, "full" before seeds and
    folds. ``regularization`` is lambda as it was written, ``lambda`` the float. ``cost`` and ``cost_bound`` are exact
    integers, in units in which one error costs ``cost_of_error``. ``tree`` and ``trace`` are copied from the record. A
    run whose bound another run's tree refutes has the status "wrong_certificate" and a ``reason``
    (:mod:`optree.bench.tables.certificates`).
    """
    rows = [_row(entry) for entry in records]
    table = pd.DataFrame(rows) if rows else pd.DataFrame([_row(_Nothing())]).iloc[:0].infer_objects()
    written = {text: float(Fraction(text)) for text in table["lambda"].unique()}
    table["lambda"] = table["lambda"].map(written).astype(float)
    table = table.astype({name: "Int64" for name in _WHOLE} | {name: float for name in _REAL})
    seed = table["split"].str.extract(r"^(\d+)", expand=False).fillna("-1").astype(int)
    table = table.assign(seed=seed).sort_values(_ORDER, na_position="first").drop(columns="seed")
    return refute(table.reset_index(drop=True))
