"""Validation against closed JSON schemas, with one-line errors."""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from pathlib import Path

from optree.errors import OptreeError, accepted_names
from optree.objective import CONSTRAINTS


@cache
def _validator(schema: Path):
    from jsonschema import Draft202012Validator

    if schema.suffix == ".json":
        loaded = json.loads(schema.read_text())
    else:
        import yaml

        loaded = yaml.safe_load(schema.read_text())
    _complete(loaded)
    return Draft202012Validator(loaded)


def _complete(schema) -> None:
    """Complete each part of a schema that names its definition in the code, by its key ``optree``."""
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _complete(part)
    match schema.pop("optree", None) if isinstance(schema, dict) else None:
        case "constraint":
            schema["enum"] = list(CONSTRAINTS)
        case "lists of constraints":
            lists = {name: {"type": "array", "minItems": 1, "items": one.schema} for name, one in CONSTRAINTS.items()}
            schema["properties"] |= lists
        case str(place):  # "module:NAME"
            module, name = place.split(":")
            schema |= getattr(import_module(module), name)


def _explain(error) -> str:
    """Return the offending value of a schema error and the accepted ones."""
    if error.validator == "additionalProperties":
        accepted = error.schema.get("properties", {})
        unknown = [key for key in error.instance if key not in accepted]
        return f"unknown key {unknown[0]!r}; {accepted_names(unknown[0], sorted(accepted))}"
    if error.validator == "enum":
        return f"{error.instance!r} is not accepted; {accepted_names(error.instance, error.validator_value)}"
    hint = error.schema.get("description")
    if error.validator == "type" and error.validator_value == "string" and isinstance(error.instance, int | float):
        hint = f'write it in quotes: "{error.instance}"'
    return error.message + (f" ({hint})" if hint else "")


def check(instance, schema: str | Path, where: str) -> None:
    """Raise OptreeError, beginning with ``where``, if an instance violates a schema, a file in JSON or YAML."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator(Path(schema)).iter_errors(instance))
    if error is not None:
        key = ".".join(map(str, error.absolute_path))
        raise OptreeError(f"{where}: {key + ': ' if key else ''}{_explain(error)}")
