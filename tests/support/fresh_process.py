"""Solve with the solvers named on the command line and print a line of JSON for each: a script for fresh processes."""

from __future__ import annotations

import json
import sys

from numba.core.dispatcher import Dispatcher
from numba.core.event import install_recorder

from optree import solvers
from support.declared import draw


def signatures() -> dict[str, int]:
    """Return the number of signatures of each kernel that are in memory, compiled or loaded."""
    modules = [module for name, module in sys.modules.items() if name.startswith("optree.solvers")]
    kernels = {kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, Dispatcher)}
    return {f"{kernel.py_func.__module__}.{kernel.__name__}": len(kernel.signatures) for kernel in kernels}


for solver in map(solvers.get, sys.argv[1:]):
    before = signatures()
    with install_recorder("numba:compile") as compiled:
        results = [solver.solve(*draw(solver, seed)) for seed in range(6)]
    found = [[result.tree.to_dict(), result.counters, result.cost, result.lower_bound] for result in results]
    several = {kernel: n for kernel, n in signatures().items() if n > max(1, before.get(kernel, 0))}
    line = {"solver": solver.name, "results": found, "compiled": len(compiled.buffer), "signatures": several}
    print(json.dumps(line), flush=True)
