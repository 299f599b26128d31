"""Progress of a search in a child process, as the child reports it line by line."""

from __future__ import annotations

import json
import time
from pathlib import Path

from optree.bench.system.process_limits import ProcessEnd

START_SECONDS = 300.0  # limit on imports and the warm-up, which may compile
END_SECONDS = 30.0  # limit on handing over an answer


def hard_limit_seconds(seconds: float) -> float:
    """Return the seconds after which a search is killed: its limit, and a margin to end by itself."""
    return 1.1 * seconds + 2


class Progress:
    """The events that a search has appended to a file, one JSON object a line; ``seconds`` limits each search.

    "ready" ends the warm-up, "search" starts a search, and "answer" ends one; "compilation" begins or ends within a
    search, whose limit it does not count for. ``workflow/peers/runner.py`` describes the fields of the others.
    """

    def __init__(self, path: Path, seconds: float | None):
        path.touch()
        self._file = open(path)  # noqa: SIM115 - closed by close()
        self._incomplete_line, self._seconds = "", seconds
        self.ready: dict | None = None
        self.answers: list[dict] = []
        self.searching = False
        self._last_event = time.perf_counter()
        self._compiled, self._compiling_since = 0.0, None  # seconds before the present compilation, and its start

    def read(self) -> None:
        """Read the events that the child has written since the last call."""
        *lines, self._incomplete_line = (self._incomplete_line + self._file.read()).split("\n")
        for line in lines:
            event = json.loads(line)
            if event["event"] == "compilation":
                self._compiles(event["begins"], event["seconds"])
                continue
            self._last_event, self._compiling_since = time.perf_counter(), None
            self.searching = event["event"] == "search"
            if event["event"] == "ready":
                self.ready = event
            elif event["event"] == "answer":
                self.answers.append(event)

    def _compiles(self, begins: bool, seconds: float) -> None:
        """Begin a compilation, or end it and leave its seconds out; ``seconds`` is the total of all compilations."""
        if not begins:
            self._last_event += seconds - self._compiled
        self._compiled, self._compiling_since = seconds, time.perf_counter() if begins else None

    def seconds(self) -> float:
        """Return the seconds since the last event, without the seconds of compilation."""
        return (self._compiling_since or time.perf_counter()) - self._last_event

    def overdue(self) -> str | None:
        """Return the reason to kill the child for its time limit, or None."""
        self.read()
        if self._compiling_since and time.perf_counter() - self._compiling_since > START_SECONDS:
            return f"no end of a compilation within {START_SECONDS:g} s"
        if self.searching:
            late = self._seconds is not None and self.seconds() > hard_limit_seconds(self._seconds)
            return f"ignores its limit of {self._seconds:g} s" if late else None
        limit = END_SECONDS if self.ready else START_SECONDS
        return f"no answer within {limit:g} s" if self.seconds() > limit else None

    def close(self) -> None:
        self.read()
        self._file.close()

    def measurements(self, end: ProcessEnd) -> dict:
        """Return memory, versions and seconds, as fields of :class:`~optree.bench.runs.score.SearchOutcome`."""
        measured: dict = {"peak_rss_mib": end.peak_rss_mib}
        if ready := self.ready:
            measured |= {"warm_up_seconds": ready["warm_up"]}
            measured |= {"machine": {"python": ready["python"], "versions": ready["versions"]}}
        seconds = [(answer["seconds"], answer["call"]) for answer in self.answers]
        if not seconds and self.searching:
            seconds = [(self.seconds(),) * 2]
        return measured | {"searches": tuple(own for own, _ in seconds), "calls": tuple(call for _, call in seconds)}
