"""OpenML, through its own Python client, in a process of its own.

The client (0.15) waits for a server without end, is not safe for several processes that share a cache, trusts what it
finds there, and keeps a damaged parquet file. So each download is a process with a deadline, a limit on the size of
what it writes and a cache of its own, which is gone afterwards; what comes back is judged by our own checksum. Server
and key are as configured for the client (its configuration file); retries are ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from optree.datasets.policy import Policy, Transient
from optree.datasets.raw import Raw, rename
from optree.datasets.table import Dataset
from optree.files import quarantine

_CLIENT = "optree.datasets.openml_client"


def read(dataset: Dataset, policy: Policy, attempt: int, kept: Path | None) -> Raw:
    """Download the columns of a dataset; every second attempt as ARFF, in case it is the parquet file that is damaged.

    A data file that the client could not read goes to the quarantine ``kept``.
    """
    with tempfile.TemporaryDirectory(prefix="optree-openml-", ignore_cleanup_errors=True) as folder:
        status = _run(dataset, policy, attempt, Path(folder))
        answer = Path(folder, "answer.pickle")
        if not answer.exists():
            raise _failure(dataset, Path(folder), status, kept)
        found = pickle.loads(answer.read_bytes())
    origin = f"OpenML {found['id']} at {found['server']}"
    if dataset.version and str(found["version"]) != dataset.version:
        raise dataset.error(f"{origin}: version: expected {dataset.version}, found {found['version']}")
    names = rename(dataset, found["names"], found["target"])
    target = dict(zip(found["names"], names, strict=True)).get(found["target"], "")
    return Raw(names, found["columns"], f"{origin}, version {found['version']}", target, found["categorical"])


def _run(dataset: Dataset, policy: Policy, attempt: int, folder: Path) -> int:
    """Run the client; its exit status, or that of a signal."""
    asked = [dataset.identifier, dataset.version or "-", str(policy.timeout_seconds), str(policy.max_bytes)]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", _CLIENT, str(folder), *asked],
            env=os.environ
            | {"OPENML_CACHE_DIR": str(folder / "cache"), "OPENML_SKIP_PARQUET": "true" if attempt % 2 else "false"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            return process.wait(policy.timeout_seconds)
        except subprocess.TimeoutExpired as error:
            text = f"OpenML {dataset.identifier}: no answer within {policy.timeout_seconds:g} seconds"
            raise Transient(str(dataset.error(text))) from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _failure(dataset: Dataset, folder: Path, status: int, kept: Path | None):
    """What went wrong, as an error to be raised."""
    try:
        said = json.loads((folder / "error.json").read_text())
    except (OSError, ValueError):
        said = {"server": "", "text": f"the client ended with status {status}", "again": True}
    where = f"OpenML {dataset.identifier}" + (f" at {said['server']}" if said["server"] else "")
    files = [path for path in sorted(folder.rglob("dataset_*.*")) if path.suffix in (".pq", ".arff")]
    notes = [quarantine(kept, f"{dataset.name}{path.suffix}", path.read_bytes()) for path in files]
    error = dataset.error("; ".join([f"{where}: {said['text']}", *notes]))
    return Transient(str(error)) if said["again"] else error
