"""Colours of pictures, on light and on dark paper.

A colour has a name, which is also its class in a stylesheet. ``c3`` is the colour of class 3, and ``t3`` its tint, on
which text is readable. ``v0`` to ``v8`` are levels of a value, from low to high.

The first eight classes have the colours of Okabe and Ito, which are distinct for people with any colour vision. Classes
8 to 13 have darker shades of the six chromatic colours, and classes 14 to 19 have lighter ones. From class 20 on,
colours repeat. Leaves and legends also have the names of classes, so that no colour is the only sign.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#000000")
LEVELS = 9  # of a value
_CHROMATIC = PALETTE[:6]
PREFERS_DARK = "@media (prefers-color-scheme: dark)"


class Paper(NamedTuple):
    """The colours of everything but classes and values."""

    paper: str
    ink: str
    quiet: str  # of numbers of rows
    outline: str
    edge: str
    track: str  # of empty bars
    value: str  # of bars of values, and of histograms without classes


LIGHT = Paper("#ffffff", "#1a1a1a", "#555555", "#666666", "#999999", "#d4d9de", PALETTE[0])
DARK = Paper("#16191d", "#e8eaed", "#aab1b9", "#8a929b", "#6b727a", "#3c434b", "#9ad0f3")


def mix(colour: str, other: str, share: float) -> str:
    """Return a colour mixed with a share of another."""
    parts = (bytes.fromhex(text[1:]) for text in (colour, other))
    return "#" + "".join(f"{round((1 - share) * own + share * more):02x}" for own, more in zip(*parts, strict=True))


_CLASSES = (
    *PALETTE,
    *(mix(colour, "#000000", 0.45) for colour in _CHROMATIC),
    *(mix(colour, "#ffffff", 0.55) for colour in _CHROMATIC),
)
N_COLOURS = len(_CLASSES)
NAMES = (
    *(f"{kind}{i}" for kind in "ct" for i in range(N_COLOURS)),
    *(f"v{i}" for i in range(LEVELS)),
    "track",
    "value",
)


def solid(label: int) -> str:
    """Return the name of the colour of a class."""
    return f"c{label % N_COLOURS}"


def tinted(label: int) -> str:
    """Return the name of the tint of a class."""
    return f"t{label % N_COLOURS}"


def level(share: float) -> str:
    """Return the name of the colour of a value, given its place between the least value, 0, and the greatest, 1."""
    return f"v{round(share * (LEVELS - 1))}"


def colour(name: str, dark: bool = False) -> str:
    """Return a named colour as ``#rrggbb``."""
    paper = DARK if dark else LIGHT
    if hasattr(paper, name):
        return getattr(paper, name)
    kind, number = name[0], int(name[1:])
    if kind == "v":
        return mix(paper.paper, PALETTE[4] if dark else PALETTE[0], 0.08 + 0.42 * number / (LEVELS - 1))
    own = "#f2f2f2" if dark and number == 7 else _CLASSES[number]  # black is not seen on dark paper
    return own if kind == "c" else mix(own, paper.paper, 0.7 if dark else 0.66)


def rules(attribute: str, names: Iterable[str] = NAMES, dark: bool = True, scope: str = "") -> str:
    """Return the rules of a stylesheet that give an attribute the named colours, also for dark pages if asked for."""
    names = [*names]
    found = [
        "".join(f"{scope}.{name} {{ {attribute}: {colour(name, is_dark)}; }}\n" for name in names)
        for is_dark in (False, True)[: 1 + dark]
    ]
    return found[0] + "".join(f"{PREFERS_DARK} {{\n{own}}}\n" for own in found[1:])


def variables() -> str:
    """Return the colours of paper, ink and lines as variables of a stylesheet, for light and dark pages."""
    light, dark = (
        "".join(f"--{name}: {value}; " for name, value in {**paper._asdict(), "accent": accent}.items())
        for paper, accent in ((LIGHT, PALETTE[0]), (DARK, PALETTE[4]))
    )
    return f":root {{ {light}}}\n{PREFERS_DARK} {{ :root {{ {dark}}} }}\n"
