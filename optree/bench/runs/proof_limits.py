"""The limits of proofs, which a configuration sets; in a module of its own because the workflow reads them first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True)
class ProofLimits:
    """Limits of a proof: of the search that writes it, of its check, and of the memory of either process."""

    write_seconds: float = 60
    check_seconds: float = 600
    memory_mib: float = 4096

    @classmethod
    def of(cls, prove: bool | Mapping) -> ProofLimits:
        """Return the limits of a configuration's ``prove``: true for the defaults, or some of the limits."""
        return cls(**(prove if isinstance(prove, Mapping) else {}))

    @property
    def minutes(self) -> int:
        """The time of a proof and its check, at most."""
        return ceil((self.write_seconds + self.check_seconds) / 60)
