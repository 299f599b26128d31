"""Numbers and their nouns, for texts, pages and pictures."""


def noun(number: float, one: str, several: str = "") -> str:
    """Return the noun of a number, in the singular for 1."""
    return one if number == 1 else several or one + "s"


def count(number: float, one: str, several: str = "", form: str = ",") -> str:
    """Return a number and its noun: ``1 leaf``, ``2 leaves``."""
    return f"{number:{form}} {noun(number, one, several)}"


def size_text(splits: int, leaves: int, depth: int) -> str:
    """Return the size of a tree: ``1 split, 2 leaves, depth 1``."""
    return f"{count(splits, 'split')}, {count(leaves, 'leaf', 'leaves')}, depth {depth}"


def one_line(text: str) -> str:
    """Return a text with a blank in place of each line break."""
    return " ".join(text.splitlines())
