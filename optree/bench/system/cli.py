"""Error reporting of scripts and command lines: bad input, a full disk and Ctrl-C give one line, not a traceback."""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import NoReturn, TextIO

from optree.bench.system.process_limits import die_with_parent
from optree.errors import OptreeError

FULL = (errno.ENOSPC, errno.EDQUOT)  # errors of a full disk, and of a user's full share
INTERRUPTED = 130  # exit code after Ctrl-C, as of a shell


class _Tee:
    """A stream that writes to the screen, and to a log as long as the log's disk has room."""

    def __init__(self, screen: TextIO, log: TextIO):
        self._screen, self.log = screen, log

    def write(self, text: str) -> int:
        with suppress(OSError):
            self.log.write(text)
        return self._screen.write(text)

    def flush(self) -> None:
        self._screen.flush()


def _end(message: str, stream: _Tee) -> NoReturn:
    """Print a line and end the process with exit code 1."""
    print(message, file=stream)
    sys.exit(1)


def log_of(stream: TextIO) -> TextIO:
    """Return the log that :func:`reporting` has put behind a stream; the stream itself without a log that is kept."""
    log = getattr(stream, "log", stream)
    return stream if getattr(log, "name", "") == os.devnull else log


def parse_command(parser: ArgumentParser, arguments: Sequence[str] | None) -> Namespace:
    """Return the options of a command of the workflow, which has a log and ends with its driver."""
    parser.add_argument("--log", default=os.devnull, help="a file for a copy of errors and warnings")
    parser.add_argument("--parent", type=int, help="a process whose end ends this one; none by default")
    options = parser.parse_args(arguments)
    if options.parent is not None:
        die_with_parent(options.parent, signal.SIGTERM)
    return options


@contextmanager
def reporting(log: str | Path) -> Iterator[None]:
    """Copy stderr to a log; an :class:`OptreeError` ends the process with one ``error: ...`` line and exit code 1.

    A full disk does so, too. Ctrl-C ends the process without a line. Any other exception is a defect: its traceback
    goes to the log, and the exception propagates.
    """
    try:
        file = open(log, "w", buffering=1)  # noqa: SIM115 - closed below, where a full disk is no second error
    except OSError as error:
        sys.exit(f"error: {log}: {error.strerror}")
    tee = _Tee(sys.stderr, file)
    try:
        with redirect_stderr(tee):
            yield
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OptreeError as error:
        _end(f"error: {error}", tee)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            _end(f"error: {error.filename or 'a file'}: {error.strerror}; make room first", tee)
        with suppress(OSError):
            file.write(traceback.format_exc())
        raise
    finally:
        with suppress(OSError):
            file.close()
