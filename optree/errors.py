"""The one exception a user sees for bad input: a single line that names what is wrong and what is accepted."""


class OptreeError(ValueError):
    """Bad input. The message is one line: where, what, and what would be accepted."""


def choice(where: str, value, accepted) -> OptreeError:
    """The error for ``value`` found at ``where`` when it should be one of ``accepted``."""
    return OptreeError(f"{where}: {value!r} is not known; accepted: {', '.join(map(str, accepted))}")
