"""The chart of all methods, ours and peers, made of their declarations.

``python -m optree.bench.peers.chart`` prints it; ``python -m optree.bench.peers.chart docs/solvers.md`` renews it in a
file.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from optree.bench.peers.declaration import read_peers
from optree.solvers import get, names
from optree.solvers.base import Declaration

PEERS = Path(__file__).resolve().parents[3] / "workflow" / "peers"
# Title of a column -> whether a declaration has the ability.
_ABILITIES = {
    "proof": lambda solver: solver.exact,
    "anytime": lambda solver: solver.anytime,
    "penalty": lambda solver: bool(solver.penalties),
    "any depth": lambda solver: "max_depth" not in solver.needs and getattr(solver, "deepest", None) is None,
    "limit on depth": lambda solver: "max_depth" in solver.constraints,
    "limit on splits": lambda solver: "max_splits" in solver.constraints,
    "rows per leaf": lambda solver: "min_samples_leaf" in solver.constraints,
    "multiway": lambda solver: "multiway" in solver.features,
    "numbers": lambda solver: "numeric" in solver.features,
    "costs": lambda solver: "costs" in solver.constraints,
    "other measures": lambda solver: bool(set(solver.measures) - {"accuracy"}),
}


def abilities(solver: Declaration) -> dict[str, bool]:
    """Return whether a declaration has each ability of the chart."""
    return {title: has(solver) for title, has in _ABILITIES.items()}


def _row(name: str, solver: Declaration, kind: str) -> str:
    marks = ["yes" if able else "" for able in abilities(solver).values()]
    return f"| {' | '.join([f'`{name}`', kind, *marks])} |\n"


def chart() -> str:
    """Return the chart in Markdown: a row per method, a column per ability."""
    text = f"| {' | '.join(['method', 'whose', *_ABILITIES])} |\n" + "|---" * (2 + len(_ABILITIES)) + "|\n"
    text += "".join(_row(name, get(name), "ours") for name in names())
    return text + "".join(_row(name, peer, "peer") for name, peer in read_peers(PEERS).items())


def renew(path: Path) -> None:
    """Replace the chart in a file by the present one."""
    path.write_text(re.sub(r"\| method \| whose \|.*\n(?:\|.*\n)*", lambda old: chart(), path.read_text()))


if __name__ == "__main__":
    if sys.argv[1:]:
        renew(Path(sys.argv[1]))
    else:
        print(chart(), end="")
