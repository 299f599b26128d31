"""Downloads from OpenML, by its own Python client in a process of its own.

The client (0.15) has no time limit, is not safe for several processes with one cache, does not verify cached files, and
keeps damaged parquet files. Each download is therefore a process with a deadline, a limit on the size of its files and
a temporary cache. The table is verified by its checksum. The client's configuration file sets server and key, and
:mod:`optree.datasets.fetch` makes the retries.
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
from optree.errors import OptreeError
from optree.files import quarantine

_CLIENT = "optree.datasets.openml_client"


def read(dataset: Dataset, policy: Policy, attempt: int, kept: Path | None) -> Raw:
    """Download the columns of a dataset; every second attempt asks for ARFF, in case the parquet file is damaged.

    A data file that the client cannot read goes to the quarantine ``kept``.
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
    """Run the client, and return its exit status."""
    arguments = [dataset.identifier, dataset.version or "-", str(policy.timeout_seconds), str(policy.max_bytes)]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", _CLIENT, str(folder), *arguments],
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
            raise dataset.error(text, Transient) from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _failure(dataset: Dataset, folder: Path, status: int, kept: Path | None):
    """Return the error of a client that left no answer."""
    try:
        failure = json.loads((folder / "error.json").read_text())
    except (OSError, ValueError):
        failure = {"server": "", "text": f"the client ended with status {status}", "transient": True}
    where = f"OpenML {dataset.identifier}" + (f" at {failure['server']}" if failure["server"] else "")
    files = [path for path in sorted(folder.rglob("dataset_*.*")) if path.suffix in (".pq", ".arff")]
    notes = [quarantine(kept, f"{dataset.name}{path.suffix}", path.read_bytes()) for path in files]
    text = "; ".join([f"{where}: {failure['text']}", *notes])
    return dataset.error(text, Transient if failure["transient"] else OptreeError)
