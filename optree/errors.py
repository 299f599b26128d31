"""The one exception for bad input, and the one way to warn."""

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches


class OptreeError(ValueError):
    """Bad input; the message is one line with the file or argument, the value, and the accepted values."""


class NoRoomError(OptreeError):
    """Rows whose codes need more memory than a fit may take."""


def choice(where: str, value, accepted) -> OptreeError:
    """Return the error for a ``value`` at ``where`` that is not one of ``accepted``."""
    return OptreeError(f"{where}: {value!r} is not known; {accepted_names(value, accepted)}")


def accepted_names(value, accepted) -> str:
    """Return the accepted names as the end of an error; of more than thirty, only the names nearest to the value."""
    names = [str(name) for name in accepted]
    if len(names) <= 30:
        return f"accepted: {', '.join(names)}"
    if near := get_close_matches(str(value), names):
        return f"did you mean {' or '.join(near)}?"
    return (
        f"{len(names)} names are accepted, the nearest are {', '.join(get_close_matches(str(value), names, cutoff=0))}"
    )


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's code that called the package."""
    frame, level = sys._getframe(1), 2
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


@contextmanager
def renamed(names: Mapping[str, str]) -> Iterator[None]:
    """Raise each OptreeError with the names of a user's parameters in place of internal names."""
    try:
        yield
    except OptreeError as error:
        text = str(error)
        for internal, name in names.items():
            text = text.replace(internal, name)
        error.args = (text,)
        raise
