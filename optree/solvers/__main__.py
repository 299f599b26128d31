"""The table of solvers, made of their declarations.

``python -m optree.solvers`` prints it; ``python -m optree.solvers docs/solvers.md`` renews it in a file.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from optree.solvers import Solver, get, names

_HEAD = "| name | method | proof | accepts | paper |\n|---|---|---|---|---|\n"


def accepted(solver: Solver) -> str:
    """Return the constraints, splits and losses that a solver accepts; binary splits and accuracy are not listed."""
    constraints = [f"`{name}`" for name in solver.constraints if name != "costs"]
    kinds = {"multiway": "multiway splits", "numeric": "columns of numbers"}
    splits = [text for kind, text in kinds.items() if kind in solver.features]
    costs = ["costs"] if "costs" in solver.constraints else []
    losses = ", ".join(name for name in solver.measures if name != "accuracy")
    if losses and "accuracy" not in solver.measures:
        losses = f"only {losses}"
    return ", ".join([*constraints, *splits, *costs, *([losses] if losses else [])])


def linked(paper: str) -> str:
    """Return a reference to a paper with its arXiv number as a link."""
    return re.sub(r"arXiv (\d+\.\d+)", r"[arXiv \1](https://arxiv.org/abs/\1)", paper)


def table() -> str:
    """Return the table in Markdown."""
    text = _HEAD
    for solver in map(get, names()):
        proof = "yes" if solver.exact else "no"
        text += f"| `{solver.name}` | {solver.title} | {proof} | {accepted(solver)} | {linked(solver.paper)} |\n"
    return text


def renew(path: Path) -> None:
    """Replace the table in a file by the present one."""
    path.write_text(re.sub(re.escape(_HEAD) + r"(?:\|.*\n)*", lambda old: table(), path.read_text()))


if __name__ == "__main__":
    if sys.argv[1:]:
        renew(Path(sys.argv[1]))
    else:
        print(table(), end="")
