"""Declarations of peers. A peer is a folder with a declaration, a lock and a runner.

``peer.yaml`` declares the peer's features, objective and parameters. ``requirements.lock`` pins its environment, which
does not contain optree. ``run.py`` calls the peer there. :mod:`optree.bench.peers.run_peer` executes a run.
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from optree.bench.system import schema
from optree.errors import OptreeError
from optree.objective import Objective
from optree.solvers.base import Declaration, Parameter

SCHEMA = Path(__file__).with_name("peer.schema.json")
_TYPES = {"bool": bool, "int": int, "float": float, "str": str}


@dataclass(frozen=True, kw_only=True)
class Peer(Declaration):
    """A peer's declaration and its folder."""

    folder: Path  # of ``peer.yaml``, ``requirements.lock`` and ``run.py``; its name is the peer's
    deepest: int | None = None  # the greatest accepted depth limit, and its default; proofs are about these trees
    compiled: tuple[str, ...] = ()  # packages that installation compiles; all others come as wheels

    def check_objective(self, objective: Objective) -> None:
        super().check_objective(objective)
        if self.deepest is not None and (objective.max_depth or 0) > self.deepest:
            raise OptreeError(
                f"solver {self.name}: max_depth = {objective.max_depth} is not accepted; give at most {self.deepest}"
            )


def peer_names(folder: str | Path) -> list[str]:
    """Return the names of the peers in a folder, sorted."""
    return sorted(path.parent.name for path in Path(folder).glob("*/peer.yaml"))


def read_peer(folder: str | Path) -> Peer:
    """Return the peer in a folder."""
    import yaml

    folder = Path(folder)
    path = folder / "peer.yaml"
    try:
        declared = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise OptreeError(f"{path}: not a peer's declaration ({' '.join(str(error).split())})") from error
    schema.check(declared, SCHEMA, str(path))
    for name in ("requirements.lock", "run.py"):
        if not (folder / name).is_file():
            raise OptreeError(f"{folder}: {name} is missing; a peer is peer.yaml, requirements.lock and run.py")
    parameters = {
        name: Parameter(_TYPES[field["type"]], field["default"], field["doc"])
        for name, field in declared.get("parameters", {}).items()
    }
    fields = {name: tuple(value) if isinstance(value, list) else value for name, value in declared.items()}
    del fields["requirements"]  # for whoever makes the lock
    return Peer(**fields | {"name": folder.name, "folder": folder, "parameters": parameters})


def add_peer_options(parser: ArgumentParser) -> None:
    """Add the options ``--peers`` and ``--markers`` to a command line."""
    parser.add_argument("--peers", type=Path, default="workflow/peers", help="the folder of all peers")
    parser.add_argument("--markers", type=Path, default=".peers", help="the folder of their environments and markers")


def read_peers(folder: str | Path) -> dict[str, Peer]:
    """Return all peers in a folder, by name."""
    return {name: read_peer(Path(folder, name)) for name in peer_names(folder)}
