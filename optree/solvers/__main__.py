"""The README's table of solvers, made of their declarations: ``python -m optree.solvers`` prints it."""

from __future__ import annotations

import re

from optree.solvers import Solver, get, names


def _accepted(solver: Solver) -> str:
    """Return the constraints, splits and losses that a solver accepts; binary splits and accuracy are not listed."""
    constraints = [f"`{name}`" for name in solver.constraints if name != "costs"]
    multiway = ["multiway splits"] if "multiway" in solver.features else []
    costs = ["costs"] if "costs" in solver.constraints else []
    losses = ", ".join(name for name in solver.measures if name != "accuracy")
    if losses and "accuracy" not in solver.measures:
        losses = f"only {losses}"
    return ", ".join([*constraints, *multiway, *costs, *([losses] if losses else [])])


def table() -> str:
    """Return the table in Markdown."""
    lines = ["| name | method | proof | accepts | paper |", "|---|---|---|---|---|"]
    for solver in map(get, names()):
        proof = "yes" if solver.exact else "no"
        paper = re.sub(r"arXiv (\d+\.\d+)", r"[arXiv \1](https://arxiv.org/abs/\1)", solver.paper)
        lines.append(f"| `{solver.name}` | {solver.title} | {proof} | {_accepted(solver)} | {paper} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
