"""Levels of a configuration: smaller or other extents of the same study, each written as its differences."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy

from optree.errors import OptreeError, choice

FULL = "full"  # the configuration without changes


def at_level(config: Mapping, given: Mapping | None = None) -> dict:
    """Return a configuration at its ``level``, without the keys ``level`` and ``levels``.

    A level replaces values key by key. Of the experiments it runs the ones that it names, in its order, each with
    changes; a change to null removes a key. ``given`` are values of the command line, which overrule the level.
    """
    from snakemake.utils import update_config

    config = deepcopy(dict(config))
    levels, level = config.pop("levels", {}), config.pop("level", None) or FULL
    if level == FULL:
        return config
    if level not in levels:
        raise choice("config: level", level, [*levels, FULL])
    changes = {"name": f"{config['name']}-{level}", **deepcopy(levels[level])}
    if "experiments" in changes:
        changes["experiments"] = _chosen(config["experiments"], changes["experiments"], f"config: levels.{level}")
    update_config(config, changes)
    update_config(config, {key: value for key, value in (given or {}).items() if key != "level"})
    return config


def _chosen(experiments: list[dict], changes: Mapping[str, Mapping], where: str) -> list[dict]:
    """Return the experiments that a level names, with its changes."""
    named = {entry["name"]: entry for entry in experiments if "name" in entry}
    if len(named) < sum("name" in entry for entry in experiments):
        raise OptreeError(f"{where}: two experiments have the same name; give each a name of its own")
    for name in changes:
        if name not in named:
            raise choice(f"{where}: experiment", name, named or ["a name of an experiment"])
    entries = ({**named[name], **change} for name, change in changes.items())
    return [{key: value for key, value in entry.items() if value is not None} for entry in entries]
