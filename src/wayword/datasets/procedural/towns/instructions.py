"""A route in words, in the manner of instructions that were written from a map.

Directions, junctions or traffic lights counted, landmarks passed and landmarks on corners, where
to stop, and what one sees who has gone too far. Every word is taken from the route's legs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from wayword.datasets.procedural.towns.routes import Ending, Passed, TownLeg, TownRoute, Turn
from wayword.datasets.procedural.towns.town import LIGHT

TURNS: dict[Turn, tuple[str, ...]] = {
    "straight": ("go straight",),
    "left": ("turn left", "make a left", "take a left"),
    "right": ("turn right", "make a right", "take a right"),
    "slight left": ("take the slight left", "bear slightly left"),
    "slight right": ("take the slight right", "bear slightly right"),
    "sharp left": ("make a sharp left", "take the sharp left"),
    "sharp right": ("make a sharp right", "take the sharp right"),
}
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")
NUMBERS = ("no", "one", "two", "three", "four", "five")
STOPS = ("Stop next to {}", "Stop in front of {}", "Stop beside {}")
TOO_FAR = (
    "If you see {}, you have gone too far.",
    "If you reach {}, you are too far.",
    "You have gone too far if you come to {}.",
)
COUNT_LIGHTS, NAME_CORNER, NAME_PASSED = 0.7, 0.6, 0.55


@dataclass(slots=True)
class TownInstruction:
    """An instruction, and the landmarks it names, in order.

    ``parts``: the sentence that each leg begins with, then the crossing of junctions after the last
    turn, where it is told, then where to stop.
    """

    sentences: list[str] = field(default_factory=list)
    landmarks: list[str] = field(default_factory=list)
    parts: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    @property
    def begins(self) -> list[int]:
        """The character at which each of the parts begins."""
        return [sum(len(one) + 1 for one in self.sentences[:part]) for part in self.parts]

    def name(self, landmark: str) -> str:
        """Note a landmark, and give its name back."""
        if landmark not in self.landmarks:
            self.landmarks.append(landmark)
        return landmark


def instruct(scene: str, route: TownRoute) -> TownInstruction:
    """The instruction of a route, the same whenever it is asked for."""
    rng = random.Random(f"words/{scene}/{route.path[0]}/{route.path[-1]}")
    told = TownInstruction()
    for leg in route.legs:
        told.parts.append(len(told.sentences))
        told.sentences += _leg(rng, told, leg)
    told.parts += [len(told.sentences) + n for n in range(2 if route.ending.junctions else 1)]
    told.sentences += _ending(rng, told, route.ending)
    return told


def _leg(rng: random.Random, told: TownInstruction, leg: TownLeg) -> list[str]:
    before = _passing(rng, told, leg.passed)
    turn = rng.choice(TURNS[leg.turn])
    by_light = bool(leg.light) and rng.random() < COUNT_LIGHTS
    count, kind = (leg.light, "light") if by_light else (leg.junction, "intersection")
    if by_light:
        told.name(LIGHT)
    where, on = _where(rng, count, kind)
    corner = _corner(rng, told, leg.corner)
    if where:
        line = f"{where}{corner}{',' if corner else ''} {turn}."
    else:
        line = f"{on}{corner}{',' if corner else ''} and {turn}."
    return [*before, line]


def _where(rng: random.Random, count: int, kind: str) -> tuple[str, str]:
    """How the junction is found: ``At …``, to be followed by the turn, or ``Go …`` and the turn."""
    if count == 1:
        ats = [f"At the next {kind}", f"At the first {kind} you come to"]
        goes = [f"Go to the next {kind}", f"Head straight to the {kind}"]
        if kind == "intersection":
            goes.append("Go to the end of the block")
    else:
        through = f"{NUMBERS[count - 1]} {kind}{'s' if count > 2 else ''}"
        ats = [f"At the {ORDINALS[count]} {kind}", f"Go through {through}, and at the next one"]
        goes = [f"Walk straight to the {ORDINALS[count]} {kind}"]
    pick = rng.randrange(len(ats) + len(goes))
    return (ats[pick], "") if pick < len(ats) else ("", goes[pick - len(ats)])


def _corner(rng: random.Random, told: TownInstruction, corner: Passed | None) -> str:
    if corner is None or rng.random() >= NAME_CORNER:
        return ""
    side = f" on the {corner.side} corner" if rng.random() < 0.7 else " on the corner"
    return f", with {told.name(corner.name)}{side}"


def _passing(rng: random.Random, told: TownInstruction, passed: Sequence[Passed]) -> list[str]:
    """At most two of the landmarks on the way, in order."""
    chosen = [each for each in passed if rng.random() < NAME_PASSED][:2]
    if not chosen:
        return []
    first, *rest = [f"{told.name(each.name)} on the {each.side}" for each in chosen]
    verb = rng.choice(("Pass", "Go past", "Walk past"))
    return [f"{verb} {first}{' and then ' + rest[0] if rest else ''}."]


def _ending(rng: random.Random, told: TownInstruction, ending: Ending) -> list[str]:
    if ending.beside is None:
        steps = NUMBERS[ending.steps]
        line = rng.choice((f"Take {steps} steps and stop.", f"Stop after {steps} steps."))
        return [line, *_too_far(rng, told, ending)]
    lines = []
    if ending.junctions:
        lit = ending.lights == ending.junctions and rng.random() < COUNT_LIGHTS
        if lit:
            told.name(LIGHT)
        kind = ("light" if lit else "intersection") + ("s" if ending.junctions > 1 else "")
        many = "the next" if ending.junctions == 1 else f"the next {NUMBERS[ending.junctions]}"
        lines.append(f"{rng.choice(('Go', 'Continue', 'Walk'))} straight through {many} {kind}.")
    else:
        lines += _passing(rng, told, ending.passed)
    stop = rng.choice(STOPS).format(told.name(ending.beside.name))
    lines.append(f"{stop} on your {ending.beside.side}.")
    return lines + _too_far(rng, told, ending)


def _too_far(rng: random.Random, told: TownInstruction, ending: Ending) -> list[str]:
    if not ending.too_far:
        return []
    return [rng.choice(TOO_FAR).format(told.name(ending.too_far))]
