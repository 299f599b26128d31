"""The environment of a record: machine, versions, and digests of the code."""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from optree import solvers

PACKAGE = Path(__file__).resolve().parents[2]
_ROOT = PACKAGE.parent
# Folders of the package whose modules only read records: an edit in one of them changes no run.
_READERS = tuple(f"optree.bench.{folder}" for folder in ("figures", "papers", "report", "tables"))


def _digest_of(files: Iterable[tuple[str, Path]], seed: str = "") -> str:
    """Return a digest of named files, 16 hexadecimal digits."""
    digest = hashlib.sha256(seed.encode())
    for name, path in files:
        digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _file_of(module: str) -> Path | None:
    """Return the file of a module of this package; None for any other name."""
    path = _ROOT.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield statements and the statements in them, and no expressions, of which a module has ten times as many."""
    for node in body:
        yield node
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from _statements(getattr(node, part, ()))


def _named_modules(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of this package that import statements name, in functions too."""
    for node in _statements(tree.body):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("optree"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("optree"):
            modules = [f"{node.module}.{name.name}" for name in node.names]
            found = [module for module in modules if _file_of(module)]
            yield from found if len(found) == len(modules) else [*found, node.module]


@cache
def _imports(module: str) -> frozenset[str]:
    """Return the modules of this package that a module imports; absolute imports only, as ruff demands."""
    text = _file_of(module).read_text()
    called = set(re.findall(r'(?<![\w.])get\("(\w+)"', text)) & set(solvers.names())
    return frozenset([*_named_modules(ast.parse(text)), *map(solvers.module_of, called)])


def imported_modules(*modules: str) -> list[str]:
    """Return modules of this package with all modules that they import, directly or not, sorted.

    A package that only lies on the way to an imported module counts with its own file and not with its imports. A call
    ``get("NAME")`` imports the solver of this name.
    """
    found, waiting = set(), list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found and _file_of(module):
            found.add(module)
            waiting += _imports(module)
    parents = {module.rsplit(".", depth)[0] for module in found for depth in range(1, module.count(".") + 1)}
    return sorted(found | parents)


@cache
def code_digest(*modules: str) -> str:
    """Return a digest of modules of this package and of all modules that they import.

    Snakemake does not notice an edit in an imported module. An edit in one solver changes no digest of another solver.
    """
    return _digest_of((name, _file_of(name)) for name in imported_modules(*modules))


@cache
def readers_digest() -> str:
    """Return a digest of all code that makes tables and figures from records: an edit there repeats no run."""
    names = (".".join(path.relative_to(_ROOT).with_suffix("").parts) for path in sorted(PACKAGE.rglob("*.py")))
    return _digest_of(
        (name, _ROOT.joinpath(*name.split(".")).with_suffix(".py")) for name in names if name.startswith(_READERS)
    )


@cache
def folder_digest(folder: Path, code: str) -> str:
    """Return a digest of a peer's folder, of the peers' common modules, and of the package's code, given its digest."""
    paths = sorted([*(path for path in folder.iterdir() if path.is_file()), *folder.parent.glob("*.py")])
    return _digest_of(((path.name, path) for path in paths), seed=code)


@cache
def cpu() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


@cache
def git_commit() -> str | None:
    """Return the commit of the package's checkout, with "+" after uncommitted changes; None outside a checkout."""
    git = ["git", "-C", str(PACKAGE)]
    try:
        commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        edits = subprocess.run([*git, "status", "--porcelain", "--", "."], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit + ("+" if edits.stdout else "")


def versions() -> dict[str, str]:
    """Return the versions of the imported packages that a search depends on; an import just for its version is slow."""
    loaded = {name: getattr(sys.modules.get(name), "__version__", None) for name in ("numpy", "numba", "sklearn")}
    return {name: version for name, version in loaded.items() if version}


def describe(command: list[str], code: str) -> dict:
    """Return the ``environment`` of a run record, given the digest of the code."""
    return {
        "host": socket.gethostname(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu": cpu(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions(),
        "code": code,
        "commit": git_commit(),
        "command": [part.removeprefix(os.path.join(os.getcwd(), "")) for part in command],
    }


def versions_text(environment: dict) -> str:
    """Return the versions of Python and the packages, by the names of their distributions."""
    distributions = {"sklearn": "scikit-learn"}
    versions = {"python": environment["python"], **environment["versions"]}
    return ", ".join(f"{distributions.get(name, name)} {version}" for name, version in versions.items())
