"""Error reporting of scripts and command lines: bad input gives one line, not a traceback."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import TextIO

from optree.errors import OptreeError


class _Tee:
    """A stream that writes to two others."""

    def __init__(self, screen: TextIO, file: TextIO):
        self._streams = (screen, file)

    def write(self, text: str) -> int:
        for stream in self._streams:
            stream.write(text)
        return len(text)

    def flush(self) -> None:
        for stream in self._streams:
            stream.flush()


@contextmanager
def reporting(log: str | Path) -> Iterator[None]:
    """Copy stderr to a log; an :class:`OptreeError` ends the process with one ``error: ...`` line and exit code 1.

    Any other exception is a defect: its traceback goes to the log, and the exception propagates.
    """
    with open(log, "w") as file:
        try:
            with redirect_stderr(_Tee(sys.stderr, file)):
                yield
        except OptreeError as error:
            print(f"error: {error}", file=_Tee(sys.stderr, file))
            sys.exit(1)
        except Exception:
            file.write(traceback.format_exc())
            raise
