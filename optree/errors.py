"""The one exception for bad input."""


class OptreeError(ValueError):
    """Bad input; the message is one line with the file or argument, the value, and the accepted values."""


def choice(where: str, value, accepted) -> OptreeError:
    """Return the error for a ``value`` at ``where`` that is not one of ``accepted``."""
    return OptreeError(f"{where}: {value!r} is not known; accepted: {', '.join(map(str, accepted))}")
