"""The process ``python -m optree.datasets.openml_client FOLDER ID VERSION SECONDS BYTES``: download one dataset.

It writes ``answer.pickle`` or ``error.json`` to the folder, whole or not at all. It ends itself soon after the
deadline, even if its parent process is dead.
"""

from __future__ import annotations

import json
import math
import pickle
import resource
import signal
import sys
from pathlib import Path

from optree.files import write_whole


def main(folder: str, identifier: str, version: str, seconds: str, size: str) -> int:
    """Download the dataset, and return the exit code."""
    signal.alarm(math.ceil(float(seconds)) + 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), int(size)))
    server = ""
    try:
        import openml  # the import makes directories for its configuration and its cache

        server = openml.config.server
        openml.config.set_retry_policy("human", 1)
        answer = pickle.dumps(_download(openml, identifier, version) | {"server": server})
    except Exception as error:  # of the client, and of requests, urllib3, minio, xml, arff and pyarrow
        write_whole(Path(folder, "error.json"), json.dumps(_explain(error) | {"server": server}).encode())
        return 1
    write_whole(Path(folder, "answer.pickle"), answer)
    return 0


def _download(openml, identifier: str, version: str) -> dict:
    """Return the id, version, target, column names, kinds and columns of a dataset."""
    named = {} if identifier.isdecimal() else {"version": int(version)}
    data = openml.datasets.get_dataset(identifier, download_data=True, **named)
    frame, *_ = data.get_data(include_row_id=True, include_ignore_attribute=True)
    return {
        "id": data.dataset_id,
        "version": data.version,
        "target": data.default_target_attribute or "",
        "names": [str(name) for name in frame.columns],
        "categorical": [dtype.kind not in "iuf" for dtype in frame.dtypes],
        "columns": [frame.iloc[:, j].to_numpy(object, na_value=None) for j in range(frame.shape[1])],
    }


def _explain(error: Exception) -> dict:
    """Return the text of an error in one line, and whether another attempt may succeed."""
    chain = [error, *([error.__cause__] if error.__cause__ else [])]
    text = "; ".join(f"{type(one).__name__}: {one}" for one in chain)
    final = {"OpenMLServerNoResult", "OpenMLNotAuthorizedError", "OpenMLPrivateDatasetError", "ImportError"}
    final |= {"ModuleNotFoundError", "PermissionError"}
    unknown = "Status code: 404" in text or "No active datasets" in text
    return {"text": " ".join(text.split())[:400], "transient": not (unknown or type(error).__name__ in final)}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
