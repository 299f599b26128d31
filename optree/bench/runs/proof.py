"""Verdicts and limits of a configuration's proofs, which the workflow, readers of records and the prover share."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

OPTIMAL, WITHIN, REFUSED, NONE = "optimal", "within", "refused", "none"  # verdicts
CHECKED = (OPTIMAL, WITHIN)  # first words of the program's line about an accepted proof


@dataclass(frozen=True)
class ProofLimits:
    """Limits of a proof: of the search that writes it, of its check, and of the memory of either process."""

    write_seconds: float = 60
    check_seconds: float = 600
    memory_mib: float = 4096

    @property
    def minutes(self) -> int:
        """Return the most minutes of a proof and its check."""
        return ceil((self.write_seconds + self.check_seconds) / 60)
