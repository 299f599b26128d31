"""Validation against closed JSON schemas, with errors of one line."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from optree.errors import OptreeError


@cache
def _validator(schema: Path):
    from jsonschema import Draft202012Validator

    if schema.suffix == ".json":
        return Draft202012Validator(json.loads(schema.read_text()))
    import yaml

    return Draft202012Validator(yaml.safe_load(schema.read_text()))


def _explain(error) -> str:
    """What is wrong, and what would be accepted."""
    if error.validator == "additionalProperties":
        accepted = error.schema.get("properties", {})
        unknown = [key for key in error.instance if key not in accepted]
        return f"unknown key {unknown[0]!r}; accepted: {', '.join(sorted(accepted))}"
    if error.validator == "enum":
        return f"{error.instance!r} is not accepted; accepted: {', '.join(map(str, error.validator_value))}"
    hint = error.schema.get("description")
    return error.message + (f" ({hint})" if hint else "")


def check(instance, schema: str | Path, where: str) -> None:
    """Raise OptreeError if ``instance`` does not agree with a schema.

    Parameters
    ----------
    instance : object
        What was read from JSON or YAML.
    schema : path
        A JSON schema, in JSON or YAML.
    where : str
        The file the instance comes from, for the message.
    """
    from jsonschema.exceptions import best_match

    error = best_match(_validator(Path(schema)).iter_errors(instance))
    if error is not None:
        key = ".".join(map(str, error.absolute_path))
        raise OptreeError(f"{where}: {key + ': ' if key else ''}{_explain(error)}")
