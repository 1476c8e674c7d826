"""A walk along the legs of a street instruction: what was counted, and what of it agrees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from wayword.agents.parts.clauses import MOVES, plain_words
from wayword.agents.parts.legs import FRACTIONS, Kind, Leg, place_told, steps_told

_WARNS = re.compile(r"\btoo far\b|\bpassed it\b|\bif you (?:see|reach|come)\b", re.IGNORECASE)


def goal_part(leg: str) -> str:
    """The last step that a leg tells, with what is said of it; no warning of going too far.

    >>> goal_part("Pass a zoo, stop at the bank, which is on your left")
    ' stop at the bank, which is on your left'
    """
    parts = [part for part in re.split(r"[,.]", leg) if not _WARNS.search(part)]
    moving = [number for number, part in enumerate(parts) if MOVES.search(part)]
    return ",".join(parts[moving[-1] if moving else -1 :]) if parts else leg


@dataclass(slots=True)
class Since:
    """What was met since the last turn, or since the start.

    ``on`` counts the steps since then or since the last crossing; ``block`` is how many steps lay
    between the last two crossings, 0 before there were two. A light counts where one was in view
    ahead, and an intersection was come to, at most a step on.
    """

    turn: str = "start"
    steps: int = 0
    on: int = 0
    block: int = 0
    junctions: int = 0
    crossroads: int = 0
    lights: int = 0
    _lit: bool = False

    def see(self, exits: int, *, lit: bool) -> None:
        """A new place: its ways, 0 where one has only turned; and whether a light is ahead."""
        self.lights += exits > 2 and (lit or self._lit)
        self._lit = lit
        self.crossroads += exits > 3
        if exits > 2:
            self.block = self.on if self.junctions else 0
            self.on, self.junctions = 0, self.junctions + 1

    def done(self, word: str) -> None:
        """An action was carried out."""
        if word == "forward":
            self.steps, self.on = self.steps + 1, self.on + 1
        elif word != "stop":
            self.turn, self.steps, self.on, self.block = word.replace("_", " "), 0, 0, 0
            self.junctions = self.crossroads = self.lights = 0

    def count(self, kind: Kind) -> int:
        """How many ``intersections`` or ``lights``."""
        return self.lights if kind == "lights" else self.junctions


@dataclass(slots=True)
class RouteProgress:
    """How far a walk is along its ``legs``: the number of the one that is ``followed``, from 1.

    ``sees``: whether landmarks can be seen; where not, lights are counted by their intersections.
    ``beside`` holds the landmarks beside the place (name, and where in words).
    """

    legs: Sequence[Leg]
    sees: bool
    followed: int = 1
    told: int = 0
    """The number of the leg whose words were last written down."""
    since: Since = field(default_factory=Since)
    beside: Sequence[tuple[str, str]] = ()
    junction: bool = False
    steps: int = 0
    """Steps since the start."""
    done: bool = False
    """Whether the leg was answered to be done here; the next one begins with the next action."""

    @property
    def leg(self) -> Leg:
        """The leg that is followed."""
        return self.legs[self.followed - 1]

    @property
    def last(self) -> bool:
        """Whether it is the last one, at whose end one stops."""
        return self.followed == len(self.legs)

    def see(self, exits: int, *, lit: bool, beside: Sequence[tuple[str, str]]) -> None:
        """A new place with its ways, or with 0 a new way to face; what is beside it."""
        self.junction, self.beside = exits > 2, beside
        self.since.see(exits, lit=lit)

    def begins(self) -> bool:
        """Whether the words of the leg are still to be written down; asked once for each leg."""
        begins, self.told = self.told != self.followed, self.followed
        return begins

    def took(self, word: str) -> None:
        """An action was carried out."""
        self.since.done(word)
        self.steps += word == "forward"
        if self.done and not self.last:
            self.followed += 1
        self.done = False

    def decisive(self) -> bool:
        """Whether the leg may end here: at a crossing, and the last one anywhere."""
        return self.junction or self.last

    def words(self) -> dict[str, str]:
        """The slots of a sentence: the steps since the turn, landmarks, and what agrees."""
        beside = "".join(f"; {name} {where}" for name, where in self.beside)
        since = {"since": str(self.since.steps), "turn": self.since.turn}
        return {**since, "beside": beside, "signs": ", ".join(self.signs())}

    def signs(self) -> Iterator[str]:
        """What of the place agrees with the leg, and what the leg tells to do: by plain rules."""
        leg, since = self.leg, self.since
        if self.junction:
            yield f"at intersection {since.junctions}"
        if leg.crossings is not None:
            if since.crossroads != since.junctions:
                yield _of(since.crossroads, leg.crossings, "crossroads")
            yield _of(since.count(self._kind), leg.crossings, self._kind)
        yield from self._beside_it()
        if leg.turn:
            yield f"turn {leg.turn}"
        elif self.last:
            yield from self._stop()

    @property
    def _kind(self) -> Kind:
        return self.leg.kind if self.sees else "intersections"

    def _beside_it(self) -> Iterator[str]:
        goal = plain_words(goal_part(self.leg.text))
        told = set() if self.leg.turn else {"left", "right"} & goal
        for name, where in self.beside:
            words = plain_words(name) - {"a", "an", "the"}
            if words and words <= goal:
                other = told and where.rpartition(" ")[2] not in told
                yield "beside it, other side" if other else "beside it"

    def _stop(self) -> Iterator[str]:
        place, steps = place_told(self.leg.text), steps_told(self.leg.text)
        if steps is None and place in FRACTIONS and self.since.block:
            steps = max(1, round(FRACTIONS[place] * self.since.block))
        yield f"stop {place}".strip()
        if steps is not None:
            yield f"{self.since.on} of {steps} steps" + " reached" * (self.since.on == steps)
        else:
            yield f"{self.since.on} on"
        yield f"{self.steps} in all"


def _of(so_far: int, number: int, kind: str) -> str:
    """So many of a number, and whether it is reached or passed."""
    how = " reached" if so_far == number else " passed" * (so_far > number)
    return f"{so_far} of {number} {kind}{how}"
