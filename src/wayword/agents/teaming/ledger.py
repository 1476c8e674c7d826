"""Ledger: which of the things known serve which want, and what is still missing."""

from __future__ import annotations

from collections import Counter

from wayword.agents.teaming.knowledge import Knowledge
from wayword.agents.teaming.wants import Wants


class Ledger:
    """What is known, set against what is wanted; made anew each turn.

    ``serves`` gives the want of each thing that lies where it should, is claimed or is held.
    ``left`` counts what each want still lacks.
    """

    def __init__(self, wants: Wants, known: Knowledge) -> None:
        self._wants, self._known = wants, known
        self.left = [want.count for want in wants.wants]
        self.serves: dict[str, int] = {}
        self.targets = [self._target(n) for n in range(len(self.left))]
        for thing, place in known.placed.items():
            fits = [n for n in wants.of(thing) if self.targets[n] == place]
            self._count(thing, fits)
        for thing in (*known.claims, *known.held):
            if thing not in self.serves and thing not in known.placed:
                self._count(thing, wants.of(thing))

    def open_things(self) -> list[str]:
        """Known things that are still wanted and nobody's; those one has seen oneself first.

        Those beyond what is lacking are left out.
        """
        left = list(self.left)
        found = []
        things = self._known.things
        for thing in sorted(things, key=lambda t: not things[t].own):
            if thing in self.serves or thing in self._known.held or thing in self._known.placed:
                continue
            serves = next((n for n in self._wants.of(thing) if left[n] > 0), None)
            if serves is not None:
                left[serves] -= 1
                found.append(thing)
        return found

    def allot(self, thing: str) -> str:
        """Put a claimed thing down to the first want that lacks it; where it goes, if known."""
        self._count(thing, self._wants.of(thing))
        return self.goes_to(thing)

    def goes_to(self, thing: str) -> str:
        """The place that a thing goes to; empty for hands, or where it is not known yet."""
        number = self.serves.get(thing)
        return "" if number is None else self.targets[number]

    def homeless(self, holding: list[str]) -> list[str]:
        """What is in the hands and goes to a place that one has not seen oneself."""
        things = self._known.things
        return [
            thing
            for thing in holding
            if thing in self.serves
            and self._wants.wants[self.serves[thing]].places
            and not ((at := things.get(self.goes_to(thing))) and at.own)
        ]

    def missing(self) -> int:
        """How many things are wanted and not even claimed."""
        return sum(self.left)

    def done(self) -> bool:
        """Whether all that is wanted lies where it should, or is in hands where it should be."""
        wants = self._wants.wants
        far = [t for t, n in self.serves.items() if t not in self._known.placed and wants[n].places]
        return not self.missing() and not far

    def _count(self, thing: str, fits: list[int]) -> None:
        serves = next((n for n in fits if self.left[n] > 0), None)
        if serves is not None:
            self.left[serves] -= 1
            self.serves[thing] = serves

    def _target(self, number: int) -> str:
        """Of the places that would do, the one that has or gets most; else the first known."""
        known = self._known
        things = [t for t in (*known.placed, *known.headed) if number in self._wants.of(t)]
        towards = Counter(known.placed.get(t) or known.headed.get(t, "") for t in things)
        places = [place for place in known.things if number in self._wants.places(place)]
        heard = [place for place in towards if number in self._wants.places(place)]
        return max(sorted({*places, *heard}), key=lambda p: towards[p], default="")
