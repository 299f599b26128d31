"""The progress of a search on standard error, for ``verbose`` estimators.

On a terminal a line of progress overwrites the one before it; elsewhere there is a line every few seconds. The lines of
the start and the end of a search are kept in both.
"""

from __future__ import annotations

import shutil
import sys
from threading import Lock

_TERMINAL_SECONDS, _FILE_SECONDS = 0.2, 5.0  # between two lines of progress
_LOCK = Lock()  # of the searches of several folds
_CLEAR = "\r\x1b[K"  # to the start of the line, and delete it


class Progress:
    """Lines of text on standard error.

    Parameters
    ----------
    prefix : str, default ""
        The start of each line.

    Attributes
    ----------
    pause : float
        Seconds between two lines of :meth:`update`.
    """

    def __init__(self, prefix: str = ""):
        self._stream, self._prefix = sys.stderr, prefix
        self._is_terminal = self._stream is not None and self._stream.isatty()
        self.pause = _TERMINAL_SECONDS if self._is_terminal else _FILE_SECONDS

    def __call__(self, text: str) -> None:
        """Write a line that is kept."""
        self._write(f"{_CLEAR if self._is_terminal else ''}{self._prefix}{text}\n")

    def update(self, text: str) -> None:
        """Write a line of progress."""
        if self._is_terminal:
            width = shutil.get_terminal_size().columns - 1  # a longer line could not be deleted
            self._write(f"{_CLEAR}{(self._prefix + text)[:width]}")
        else:
            self(text)

    def _write(self, text: str) -> None:
        if self._stream is not None:  # as in a process without a console
            with _LOCK:
                self._stream.write(text)
                self._stream.flush()
