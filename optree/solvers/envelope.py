"""The lower envelope of the costs of all trees along the penalty, for any exact search.

The cost of a tree is a straight line in the penalty of a split or leaf: its loss, and a slope. The optimal cost is the
lower envelope of all lines, a concave function. The envelope is walked from a greatest penalty down. Let T be the tree
that is optimal so far. The next penalty is a fraction of the last one, or the greatest lower penalty at which a known
tree costs the same as T, if that is higher. A search at this penalty has the best known tree as its incumbent.

**Statement** (walk): if the search proves T, T is optimal from the last penalty down to this one. Otherwise the search
finds a tree whose line meets the line of T in between, where the walk continues.
**Proof**: T's line touches the envelope at both ends of the interval. In between, a concave function is on or above the
line through two of its points, and no line is below the envelope. In the other case, the found tree costs less than T
at the lower end and no less at the upper end, so the lines meet.
**Used in** `Envelope.walk`. A tree that was proven before at a lower penalty needs no further search down to it.
**Worth**: the work of a search grows as the penalty falls. The walk searches no penalty below the next corner of known
trees. A search that takes longer than twice all before is left for a search nearer to the last penalty. So a limit
leaves a long proven part: in six seconds down to lambda = .013 for the first fold of breast cancer, and to .018 with
steps of two only.

**Statement** (chord): the optimum at a penalty is at least the chord between the optima at two penalties around it, one
of which may be 0 with the lower bound 0.
**Proof**: a concave function is on or above its chords. Costs are not negative.
The chord between two lower bounds is therefore a lower bound, too.
**Used in** `Envelope.lower`, for searches that begin with a lower bound, and for the gaps below the proven part.

**Whole penalties.** The search for values counts penalties in whole units, so it searches no penalty between two of
them. A meeting point between p and p + 1 is searched at p + 1, then at p. If another tree is optimal at p, it is taken
for optimal from the meeting point of both lines down. Between p and p + 1 a third tree may cost less than both, by less
than a unit for each split: a rounded penalty has no tree there.

Complexity: about two searches for each tree of the envelope. Source: Eisner, Severance, "Mathematical techniques for
efficient record segmentation in large shared databases", JACM 1976, for the meeting points.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from optree.budget import Stopped

_STEP = 2.0  # the greatest ratio of two penalties that are searched one after another
_LEAST_STEP = 1.1  # with this ratio a search is never left
_DENOMINATOR = 20  # of a rounded penalty, at most, or its numerator


class Line(NamedTuple):
    """The cost of a tree: ``loss + penalty * paid``, in the units of the problem's loss."""

    loss: int | Fraction
    paid: int  # splits or leaves
    read: Callable[[], object]  # returns the tree, of the kind of the search

    def cost(self, penalty: Fraction) -> Fraction:
        """Return the cost at a penalty."""
        return self.loss + penalty * self.paid


class Learned(Exception):
    """The signal that a search has learned many lines before its proof, so that the walk chooses its penalty again."""


class Unfinished(Exception):
    """The signal that a search takes longer than it may."""


def best_line(known: Iterable[Line], penalty: Fraction) -> Line:
    """Return the best of some trees at a penalty; of equal trees the one that is best below the penalty."""
    return min(known, key=lambda line: (line.cost(penalty), -line.paid))


class Envelope:
    """The lower envelope of the lines of all trees, from a greatest penalty down.

    Parameters
    ----------
    known : list of Line
        At least one tree. A search appends each tree that it finds.
    search : callable
        ``search(penalty, incumbent, lower, to_the_end)`` appends a tree that costs less than the incumbent, a Line, to
        ``known``, unless there is none. At a limit it raises :class:`Stopped` with the status, and with a lower bound
        if it has one. It may raise :class:`Learned`, or without ``to_the_end`` :class:`Unfinished`. ``lower`` is a
        lower bound on all costs.

    highest : Fraction
        The greatest penalty.
    whole : bool
        Whether the search counts penalties in whole units.

    Attributes
    ----------
    corners : list of (Fraction, Line)
        The proven part: the trees, each with the greatest penalty at which it is optimal, by falling penalty.
    reached : Fraction
        The penalty down to which the corners are proven; the greatest one if there are none.
    """

    def __init__(
        self,
        known: list[Line],
        search: Callable[[Fraction, Line, Fraction, bool], None],
        highest: Fraction,
        whole: bool = False,
    ):
        self.known, self._search, self.reached, self._whole = known, search, highest, whole
        self.corners: list[tuple[Fraction, Line]] = []
        self._proven: dict[Fraction, Fraction] = {}
        self._bounds: dict[Fraction, Fraction] = {}  # lower bounds, the proven costs among them

    def best(self, penalty: Fraction) -> Line:
        """Return the best known tree at a penalty; of equal trees the one that is best below the penalty."""
        return best_line(self.known, penalty)

    def lower(self, penalty: Fraction) -> Fraction:
        """Return the lower bound of the chord."""
        if penalty in self._bounds:
            return self._bounds[penalty]
        above = min((at for at in self._bounds if at > penalty), default=None)
        if above is None:
            return Fraction(0)
        below = max((at for at in self._bounds if at < penalty), default=Fraction(0))
        ends = self._bounds.get(below, Fraction(0)), self._bounds[above]
        return ends[0] + (ends[1] - ends[0]) * (penalty - below) / (above - below)

    def optimum(self, penalty: Fraction, to_the_end: bool = True) -> Line:
        """Return an optimal tree at a penalty; raise :class:`Learned` or :class:`Unfinished` if the search does."""
        if penalty not in self._proven:
            try:
                self._search(penalty, self.best(penalty), self.lower(penalty), to_the_end)
            except Stopped as stop:
                self._bounds[penalty] = max([*stop.args[1:], self.lower(penalty)])
                raise
            self._proven[penalty] = self._bounds[penalty] = self.best(penalty).cost(penalty)
        return self.best(penalty)

    def walk(self, lowest: Fraction, negligible: Fraction) -> None:
        """Find the envelope; below the penalty ``negligible`` no tree of more splits is better."""
        with suppress(Learned):
            self.optimum(self.reached)
        line, step = self.optimum(self.reached), _STEP
        self.corners.append((self.reached, line))
        while self.reached > lowest:
            if self.reached < negligible:
                self.reached = lowest
                return
            penalty = self._next(lowest, max(self._meetings(line), default=lowest), step)
            to_the_end = step <= _LEAST_STEP
            try:
                best = self.optimum(penalty, to_the_end)
            except Learned:
                continue
            except Unfinished:
                step = max(_LEAST_STEP, min(step, float(self.reached / penalty)) ** 0.5)
                continue
            step = step if to_the_end else min(_STEP, step**1.5)
            if self._whole and self.reached - penalty <= 1 and best.paid > line.paid:
                meeting = Fraction(line.loss - best.loss, best.paid - line.paid)
                line, self.reached = best, penalty
                self.corners.append((meeting, line))
            elif best.cost(penalty) == line.cost(penalty):
                self.reached = penalty
                if best.paid > line.paid and penalty > lowest:
                    line = best
                    if self.corners[-1][0] == penalty:  # three lines meet in a point
                        self.corners.pop()
                    self.corners.append((penalty, line))
                touched = (at for at, cost in self._proven.items() if at < penalty and line.cost(at) == cost)
                self.reached = min(touched, default=penalty)

    def _next(self, lowest: Fraction, meeting: Fraction, step: float) -> Fraction:
        """Return the next penalty to be searched, given the next meeting point of a known tree."""
        if not self._whole:
            return max(lowest, meeting, _rounded(float(self.reached) / step))
        above = min(ceil(meeting), self.reached - 1)
        return Fraction(max(lowest, above, int(self.reached / Fraction(step))))

    def _meetings(self, line: Line) -> Iterator[Fraction]:
        """Yield the penalties below which a known tree is better than the given one."""
        for other in self.known:
            if other.loss < line.loss and other.paid > line.paid:
                yield Fraction(line.loss - other.loss, other.paid - line.paid)

    def known_from(self, penalty: Fraction, lowest: Fraction) -> list[tuple[Fraction, Line]]:
        """Return the best known trees from a penalty down, each with the greatest penalty at which it is best."""
        at, corners = penalty, []
        line = self.best(at)
        while True:
            corners.append((at, line))
            at = max(self._meetings(line), default=lowest)
            if at <= lowest:
                return corners
            line = self.best(at)


def _rounded(penalty: float) -> Fraction:
    """Return about the same number as a fraction of a small numerator or denominator, so that costs are small."""
    if penalty < 1:
        return 1 / _rounded(1 / penalty)
    return Fraction(penalty).limit_denominator(_DENOMINATOR)
