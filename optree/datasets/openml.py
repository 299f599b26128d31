"""OpenML, through its own Python client.

The client (0.15) waits for a server without end, is not safe for several processes that share a cache, and trusts what
it finds there. So every download has a deadline here and a cache directory of its own, which is gone afterwards; what
comes back is judged by our own checksum, and kept by the caller. Server, key and retries are as configured for the
client (``openml.config`` or its configuration file).
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from optree.datasets.mirror import rename
from optree.datasets.table import Dataset


def read(dataset: Dataset, timeout_seconds: float) -> dict[str, Sequence]:
    """Download the columns of a dataset."""
    try:
        import openml  # makes directories for its configuration and its cache
    except (ImportError, OSError) as error:
        raise dataset.error(
            f"the package openml cannot be used ({error}); or set data_mirror to a directory"
        ) from error
    where = f"OpenML {dataset.identifier} at {openml.config.server}"
    shared_cache = openml.config.get_config_as_dict()["cachedir"]
    with tempfile.TemporaryDirectory(prefix="optree-openml-", ignore_cleanup_errors=True) as cache:
        openml.config.set_root_cache_directory(cache)
        try:
            version, frame = _within(timeout_seconds, lambda: _download(openml.datasets, int(dataset.identifier)))
        except TimeoutError as error:
            raise dataset.error(f"{where}: no answer within {timeout_seconds:g} seconds") from error
        except Exception as error:  # the client raises its own, and those of requests, urllib3, minio, xml and arff
            raise dataset.error(f"{where}: {type(error).__name__}: {error}") from error
        finally:
            openml.config.set_root_cache_directory(shared_cache)
    if dataset.version and str(version) != dataset.version:
        raise dataset.error(f"{where}: version: expected {dataset.version}, found {version}")
    names = rename(dataset, [str(name) for name in frame.columns])
    return {name: frame.iloc[:, j].to_numpy(object, na_value=None) for j, name in enumerate(names)}


def _download(client, identifier: int):
    """Version and DataFrame of a dataset, with all of its columns."""
    data = client.get_dataset(identifier, download_data=True)
    frame, *_ = data.get_data(include_row_id=True, include_ignore_attribute=True)
    return data.version, frame


def _within(seconds: float, work: Callable):
    """``work()``, or TimeoutError: a thread that hangs in a system call cannot be stopped, so it is left behind."""
    future = Future()

    def run():
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result(timeout=seconds)
