"""Trees in other languages. ``rules`` has the one intermediate form, and each other module writes one language."""

from __future__ import annotations

from importlib import import_module
from inspect import signature

from optree.errors import OptreeError, choice

LANGUAGES = {
    "if-else": "if_else",
    "json": "json_rules",
    "latex": "latex",
    "onnx": "onnx_model",
    "pmml": "pmml",
    "python": "python_source",
    "sql": "sql",
}


def export(rules, language: str, **options):
    """Return rules in a language, as text or bytes; ``options`` are the arguments of its writer, as texts.

    Raises
    ------
    OptreeError
        If the language or an option is unknown, an option is no text, or the language has no words for the rules.
    """
    if language not in LANGUAGES:
        raise choice("export: language", language, LANGUAGES)
    write = import_module(f"optree.exports.{LANGUAGES[language]}").write
    accepted = list(signature(write).parameters)[1:]
    for name in options:
        if name not in accepted:
            raise choice(f"export: option of {language}", name, accepted or ["none"])
        if not isinstance(options[name], str):
            raise OptreeError(f"export: {name} = {options[name]!r} is not accepted; give a text")
    return write(rules, **options)
