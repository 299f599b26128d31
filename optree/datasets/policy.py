"""How patient a download is, how large it may be, and what is worth another try."""

from __future__ import annotations

from dataclasses import dataclass

from optree.errors import OptreeError


class Transient(OptreeError):
    """What may go better the next time: a server that is busy or silent, a body that was cut off or damaged."""


@dataclass(frozen=True)
class Policy:
    """The limits of a download.

    Attributes
    ----------
    timeout_seconds : float
        Of one attempt, from the first request to the last byte.
    stall_seconds : float
        How long a server may say nothing while a file is read from an address.
    attempts : int
        How often all of a dataset's addresses are tried, where that may help.
    backoff_seconds : float
        Wait before the second attempt; it doubles with each.
    max_bytes : int
        Of a file, compressed or not.
    """

    timeout_seconds: float = 900.0
    stall_seconds: float = 60.0
    attempts: int = 3
    backoff_seconds: float = 2.0
    max_bytes: int = 2 << 30

    def __post_init__(self):
        for name, value in vars(self).items():
            least = 0 if name == "backoff_seconds" else 1 if isinstance(value, int) else 1e-9
            if not value >= least:
                raise OptreeError(f"downloads: {name} = {value!r}: at least {least:g} is accepted")
