"""Verdicts and limits of a configuration's proofs, which the workflow, readers of records and the prover share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from pathlib import Path

OPTIMAL, WITHIN, REFUSED, NONE = "optimal", "within", "refused", "none"  # verdicts
CHECKED = (OPTIMAL, WITHIN)  # first words of the program's line about an accepted proof
UNDECIDED = "undecided"  # first word of the program's line if its memory is not enough


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


def remove_incomplete(answers: Iterable[str]) -> None:
    """Remove the answers of each job of which a proof or its table is gone, so that the workflow makes both again."""
    for path in filter(Path.exists, map(Path, answers)):
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        files = [path.parent / entry[name] for entry in entries for name in ("file", "table") if name in entry]
        if not all(map(Path.exists, files)):
            path.unlink()
