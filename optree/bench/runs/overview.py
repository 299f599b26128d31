"""The state of a plan: runs planned, done and to do, their cost, and the progress of a driver."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path

from optree.bench.runs import record
from optree.bench.runs.jobs import Job, max_seconds
from optree.bench.runs.record import Run
from optree.bench.runs.store import AGAIN, Cell, finished
from optree.errors import OptreeError

_MAX_READ = 500  # earlier records that an estimate reads
_FIRST_SECONDS, _SECONDS = 10.0, 30.0  # before the first line of progress, and between lines
_RUN_BYTES = 40_000  # on disk for a run: its record in the store, in its job's file and in the tables
_SCANS = 50  # a scan of the store takes at most this part of the time


def _duration(seconds: float) -> str:
    """Return seconds as a text of one unit."""
    if not isfinite(seconds):
        return "no limit"
    if 0 < seconds < 1:
        return "< 1 s"
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}" if seconds < 20 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def _spent(entry: dict) -> float:
    """Return the seconds that a run took, by its record."""
    seconds = entry["seconds"]
    trials = sum(trial["seconds"] for trial in (entry.get("model") or {}).get("trials", ()))
    return sum(seconds["calls"] or seconds["searches"]) + (seconds["warm_up"] or 0) + trials


class Overview:
    """The cells of all jobs of a plan, and the store of finished cells."""

    def __init__(self, jobs: Iterable[Job], store: Path):
        self.jobs, self.store = list(jobs), store
        self.cells = [cell for job in self.jobs for cell in job.cells]

    def done(self) -> set[str]:
        """Return the digests of the planned cells with a record that may be used."""
        found = finished(self.store)
        cells = (cell for cell in self.cells if cell.digest in found)
        return {cell.digest for cell in cells if AGAIN not in os.environ or cell.is_finished(self.store)}

    def _means(self, done: Iterable[Cell]) -> dict[str, float]:
        """Return the mean seconds of a run of each algorithm, by a sample of the records."""
        done = list(done)
        spent = defaultdict(list)
        for cell in done[:: len(done) // _MAX_READ + 1]:
            with suppress(OptreeError, KeyError):  # an unreadable record is reported where it is needed
                spent[cell.run.algorithm].append(_spent(record.read(cell.path(self.store))))
        return {name: sum(values) / len(values) for name, values in spent.items()}

    def table(self, requests: Sequence[Mapping[str, int]] = ()) -> str:
        """Return a table of runs planned, done and to do, a line for each algorithm, with the time of the last.

        ``requests`` are the resources of the jobs to do: the options of Snakemake may replace the resources of a job.
        """
        done = self.done()
        missing = [cell.run for cell in self.cells if cell.digest not in done]
        means = self._means(cell for cell in self.cells if cell.digest in done) if missing else {}
        planned, left = Counter(cell.run.algorithm for cell in self.cells), Counter(run.algorithm for run in missing)
        most: dict[str, float] = defaultdict(float)
        for run in missing:
            most[run.algorithm] += max_seconds(run)
        rows = [("runs", "planned", "done", "to do", "at most", "about")]
        for name in planned:
            about = _duration(means[name] * left[name]) if left[name] and name in means else ""
            counts = (planned[name], planned[name] - left[name], left[name])
            rows.append((name, *map("{:,}".format, counts), _duration(most[name]) if left[name] else "", about))
        known = [means[run.algorithm] for run in missing if run.algorithm in means]
        about = f"{_duration(sum(known))}{'' if len(known) == len(missing) else ' and more'}" if known else ""
        counts = (len(self.cells), len(self.cells) - len(missing), len(missing))
        rows.append(("all", *map("{:,}".format, counts), _duration(sum(most.values())) if missing else "", about))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
        jobs = sum(any(cell.digest not in done for cell in job.cells) for job in self.jobs)
        most_of = {name: max((one[name] for one in requests), default=0) for name in ("mem_mb", "runtime")}
        asked = ", with at most {mem_mb:,} MB and {runtime:,} minutes each".format(**most_of) if requests else ""
        disk = f", about {max(1, len(missing) * _RUN_BYTES // 10**6):,} MB on disk in all" if missing else ""
        note = f'{jobs:,} jobs have runs to do{asked}{disk}. "at most": on one core, if each reached its limits'
        return "\n".join([*lines, f'{note} (of models: a guess); "about": by earlier records.'])

    def start(self) -> str:
        """Return the runs to do and their cost on one core, as one line."""
        done = self.done()
        missing = [cell.run for cell in self.cells if cell.digest not in done]
        if not missing:
            return f"{self.counted(len(done))}; tables and plots follow"
        most = _duration(sum(map(max_seconds, missing)))
        return f"{self.counted(len(done))}; the others take at most {most} of one core (`snakemake -n` tells more)"

    def watch(self) -> None:
        """Print the progress now and then, in a thread that ends with the last run or with this process."""
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        start, first = time.monotonic(), len(self.done())
        pause, before = _FIRST_SECONDS, first
        while True:
            time.sleep(pause)
            scan = time.monotonic()
            now = len(self.done())
            pause = max(_SECONDS, _SCANS * (time.monotonic() - scan))
            if now > before:
                print(self._progress(now, now - first, time.monotonic() - start), file=sys.stderr, flush=True)
            if now == len(self.cells):
                return
            before = now

    def _progress(self, done: int, new: int, seconds: float) -> str:
        """Return a line of progress; ``new`` of the finished runs took the seconds."""
        if done == len(self.cells):
            return self.counted(done)
        return f"{self.counted(done)}, about {_duration((len(self.cells) - done) * seconds / new)} left"

    def counted(self, done: int | None = None) -> str:
        """Return the number of finished runs, as a text."""
        return f"{len(self.done()) if done is None else done:,} of {len(self.cells):,} runs are done"

    def missing(self) -> dict[tuple[str, str | None], list[Run]]:
        """Return the runs without a record, by dataset and encoding."""
        done, found = self.done(), defaultdict(list)
        for cell in self.cells:
            if cell.digest not in done:
                found[cell.run.dataset, cell.run.encoding].append(cell.run)
        return dict(found)
