"""The one exception for bad input."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches


class OptreeError(ValueError):
    """Bad input; the message is one line with the file or argument, the value, and the accepted values."""


def choice(where: str, value, accepted) -> OptreeError:
    """Return the error for a ``value`` at ``where`` that is not one of ``accepted``; it suggests near ones of many."""
    names = [str(name) for name in accepted]
    near = get_close_matches(str(value), names) if len(names) > 30 else []
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return OptreeError(f"{where}: {value!r} is not known; {hint}accepted: {', '.join(names)}")


@contextmanager
def renamed(names: Mapping[str, str]) -> Iterator[None]:
    """Raise each OptreeError with the names of a user's parameters in place of internal names."""
    try:
        yield
    except OptreeError as error:
        text = str(error)
        for internal, name in names.items():
            text = text.replace(internal, name)
        raise OptreeError(text) from None
