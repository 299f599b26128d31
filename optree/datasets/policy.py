"""The limits of a download, and the error that is worth another attempt."""

from __future__ import annotations

from dataclasses import dataclass

from optree.errors import OptreeError


class Transient(OptreeError):
    """A failure that another attempt may mend: a busy or silent server, or a truncated or damaged body."""


@dataclass(frozen=True)
class Policy:
    """The limits of a download.

    Attributes
    ----------
    timeout_seconds : float, default 900
        Seconds of one attempt, from the first request to the last byte.
    stall_seconds : float, default 60
        Seconds that a server may be silent while a file is read from an address.
    attempts : int, default 3
        Attempts with all of a dataset's addresses, while failures are transient.
    backoff_seconds : float, default 2
        Seconds of the wait before the second attempt; the wait doubles with each attempt.
    max_bytes : int, default 2 GiB
        Bytes of a file, compressed or not.

    Raises
    ------
    OptreeError
        If a limit is too small.
    """

    timeout_seconds: float = 900.0
    stall_seconds: float = 60.0
    attempts: int = 3
    backoff_seconds: float = 2.0
    max_bytes: int = 2 << 30

    def __post_init__(self):
        for name, value in vars(self).items():
            minimum = 0 if name == "backoff_seconds" else 1 if isinstance(value, int) else 1e-9
            if not value >= minimum:
                raise OptreeError(f"downloads: {name} = {value!r}: at least {minimum:g} is accepted")
