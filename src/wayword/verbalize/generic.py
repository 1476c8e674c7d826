"""Any world in words: what an actor sees and knows of itself, what came of it, what is legal.

    >>> from wayword.core.action import STOP, Action, ActionSpace
    >>> menu(ActionSpace((Action("goto", ("a",)), Action("goto", ("b",)), STOP), ("chat",)))
    'goto[a or b], stop, chat[...]'

The world is found by the type of its observation. A new world is one more entry in ``VOICES``;
until it has one, its observations are told field by field and its feedback by its status, so that
every agent that speaks through here can play it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from wayword.core.action import Action, ActionSpace
from wayword.core.geometry import relative, sector
from wayword.core.perceiver import Perceiver, Percept, Sector
from wayword.core.world import Feedback, Observation
from wayword.verbalize import babyai, household, indoor, objectnav, street, two_phase
from wayword.worlds.babyai.view import BabyAIObservation
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation
from wayword.worlds.objectnav.observation import View
from wayword.worlds.street.world import StreetObservation
from wayword.worlds.two_phase.world import TwoPhaseObservation

IN_VIEW = 112.5
"""Degrees off the heading up to which a street landmark is told: the outermost view and half."""


@dataclass(frozen=True, slots=True)
class SelfState:
    """What an actor can know of itself.

    ``place`` is what the place is called, empty where it has no name. ``heading`` is absolute
    (degrees clockwise from north), None where it is not known. ``holding`` names what is in the
    hands, None for bodies without hands.
    """

    place: str = ""
    heading: float | None = None
    holding: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Verbalizer:
    """How one world is told. ``name`` is also that of its rules and its list of actions.

    ``own``: what the actor knows of itself, as values and as a sentence. ``around``: what it
    perceives, with the help of the dataset's perceiver where there is one. ``feedback``: what came
    of an action of its. ``briefing``: what fills the slots of its rules and list of actions.
    """

    name: str
    own: Callable[[Any], tuple[SelfState, str]]
    around: Callable[[Any, Perceiver | None], str]
    feedback: Callable[[Feedback], str]
    briefing: Callable[[ActionSpace], Mapping[str, str]] = lambda space: {}


def voice(observation: Observation) -> Verbalizer:
    """The voice of the world that an observation comes from."""
    return VOICES.get(type(observation), PLAIN)


def feedback(told: Feedback, speaker: Verbalizer) -> str:
    """What came of a decision, in a sentence; empty where there is nothing to tell."""
    if told.status == "rejected":
        return f"That was no action: {told.details.get('reason', 'it could not be read')}."
    return speaker.feedback(told)


def actions(legal: ActionSpace) -> str:
    """The legal actions, those that differ only in their last argument told together."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for action in legal.actions:
        last = groups.setdefault((action.name, action.arguments[:-1]), [])
        last += action.arguments[-1:]
    closed = [_grouped(name, first, last) for (name, first), last in groups.items()]
    return ", ".join([*closed, *(f"{verb}[...]" for verb in legal.open_verbs)])


def compass(heading: float) -> str:
    """``45° (north-east)``: degrees, and the nearest of the eight main directions."""
    return f"{heading:g}° ({household.COMPASS[sector(heading)]})"


def _grouped(name: str, first: Sequence[str], last: Sequence[str]) -> str:
    if len(last) < 2:
        return str(Action(name, (*first, *last)))
    return f"{name}[{', '.join([*first, ' or '.join(last)])}]"


def _indoor_own(seen: IndoorObservation) -> tuple[SelfState, str]:
    words = f'You are at viewpoint "{seen.viewpoint}", facing {compass(round(seen.heading, 2))}.'
    return SelfState(seen.viewpoint, seen.heading), words


def _indoor_around(seen: IndoorObservation, perceiver: Perceiver | None) -> str:
    if perceiver is not None:
        sectors = perceiver.perceive(seen.scene, seen.viewpoint).sectors
    else:
        sectors = tuple(Sector(45.0 * number, 45.0, "") for number in range(8))
    count, facing = len(sectors), sector(seen.heading, len(sectors))
    lines = []
    for offset, label in enumerate(indoor.DIRECTIONS[count]):
        number = (facing + offset) % count
        ways = [way for way in seen.neighbors if sector(way.heading, count) == number]
        told = _direction(sectors[number], ways, seen.heading)
        lines += [f"{label}: {told}"] if told else []
    return "\n".join(lines)


def _direction(part: Sector, ways: Sequence[Neighbor], facing: float) -> str:
    """One direction in a line: what it looks like, what is near there, and where one can go."""
    things = [
        f"{one.name} ({_off(one.heading, facing)}{_away(one.distance)})" for one in part.sightings
    ]
    leading = [
        f"{Action('goto', (way.viewpoint,))} ({_off(way.heading, facing)}{_steep(way)}"
        f"{_away(way.distance)})"
        for way in ways
    ]
    told = [part.caption.strip().rstrip(".")] if part.caption.strip() else []
    told += [f"Near: {', '.join(things)}"] if things else []
    told += [f"Ways: {', '.join(leading)}"] if leading else []
    return "".join(f"{one}. " for one in told).rstrip()


def _off(heading: float, facing: float) -> str:
    """``left 30°``; ``ahead`` and ``behind`` to the degree."""
    degrees = round(relative(heading, facing))
    if degrees in (0, 180, -180):
        return "behind" if degrees else "ahead"
    return f"{'left' if degrees < 0 else 'right'} {abs(degrees)}°"


def _steep(way: Neighbor) -> str:
    slope = indoor.slope(way.elevation)
    return f", {slope}°" if slope else ""


def _away(metres: float | None) -> str:
    return "" if metres is None else f", {metres:.1f} m"


def _indoor_feedback(told: Feedback) -> str:
    if "heading" not in told.details:
        return "You stopped."
    turn = _off(told.details["heading"], told.details["heading_before"])
    if turn == "ahead":
        return "You went straight on."
    side, _, degrees = turn.partition(" ")
    return f"You turned {side} by {degrees} and went on." if degrees else "You went back."


def _street_own(seen: StreetObservation) -> tuple[SelfState, str]:
    return SelfState("", float(seen.heading)), f"You face {compass(seen.heading)}."


def _street_around(seen: StreetObservation, perceiver: Perceiver | None) -> str:
    landmarks: list[tuple[str, int]] = []
    if perceiver is not None:
        landmarks = _in_view(perceiver.perceive(seen.scene, seen.panorama), seen.heading)
    lines = street.observation(seen.exits, seen.changed, landmarks)
    if seen.exits <= 1:
        lines.insert(0, "The street ends here.")
    elif seen.exits > 2 and not seen.changed:
        lines.insert(0, "You are still at the intersection.")
    return "\n".join(lines or ["The street goes on."])


def _in_view(percept: Percept, heading: float) -> list[tuple[str, int]]:
    """Landmarks before and beside the actor, and which of the five views each is in."""
    found = []
    for sighting in (one for part in percept.sectors for one in part.sightings):
        off = relative(sighting.heading, heading)
        if abs(off) <= IN_VIEW:
            last = len(street.VIEWS) - 1
            found.append((sighting.name, min(last, max(0, round((off + 90) / 45)))))
    return sorted(found, key=lambda one: one[1])


def _street_feedback(told: Feedback) -> str:
    executed = str(told.details.get("executed", "")).replace("_", " ")
    sentences = {
        "no_turn": "There is no way to turn into here, so you went forward.",
        "dead_end": "The street ends here, so you stopped.",
        "forward": "You went forward.",
        "stop": "You stopped.",
        "turn around": "You turned around.",
    }
    return sentences.get(told.status) or sentences.get(executed) or f"You turned {executed}."


def _rooms_own(seen: HouseholdObservation) -> tuple[SelfState, str]:
    own = SelfState(
        household.spoken(seen.room), seen.heading, tuple(held.name for held in seen.holding)
    )
    return own, "\n".join(household.describe(seen).split("\n")[:2])  # where, and what is held


def _rooms_around(seen: HouseholdObservation, perceiver: Perceiver | None) -> str:
    return "\n".join(household.describe(seen).split("\n")[2:])


def _grid_own(seen: BabyAIObservation) -> tuple[SelfState, str]:
    return SelfState("", seen.heading, tuple(held.name for held in seen.holding)), babyai.own(seen)


def _grid_around(seen: BabyAIObservation, perceiver: Perceiver | None) -> str:
    return babyai.around(seen)


def _finding_own(seen: View) -> tuple[SelfState, str]:
    return SelfState("", seen.heading), f"{objectnav.place(seen)} You face {compass(seen.heading)}."


def _two_phase_own(seen: TwoPhaseObservation) -> tuple[SelfState, str]:
    return SelfState(seen.place), two_phase.place(seen)


def _two_phase_around(seen: TwoPhaseObservation, perceiver: Perceiver | None) -> str:
    return two_phase.around(seen)


def _plain_own(seen: Observation) -> tuple[SelfState, str]:
    heading = getattr(seen, "heading", None)
    return SelfState("", float(heading) if isinstance(heading, int | float) else None), ""


def _plain_around(seen: Observation, perceiver: Perceiver | None) -> str:
    return "\n".join(f"{field.name}: {getattr(seen, field.name)}" for field in fields(seen))


def _plain_feedback(told: Feedback) -> str:
    details = "".join(f", {key}: {value}" for key, value in told.details.items())
    return f"Result: {told.status}{details}."


PLAIN = Verbalizer("other", _plain_own, _plain_around, _plain_feedback)
"""For worlds that have no voice of their own yet."""

VOICES: Mapping[type[Observation], Verbalizer] = {
    IndoorObservation: Verbalizer("indoor", _indoor_own, _indoor_around, _indoor_feedback),
    StreetObservation: Verbalizer("street", _street_own, _street_around, _street_feedback),
    HouseholdObservation: Verbalizer(
        "household", _rooms_own, _rooms_around, household.feedback, household.briefing
    ),
    BabyAIObservation: Verbalizer("babyai", _grid_own, _grid_around, babyai.feedback),
    TwoPhaseObservation: Verbalizer("other", _two_phase_own, _two_phase_around, two_phase.feedback),
    View: Verbalizer(
        "other", _finding_own, lambda seen, _: objectnav.around(seen), objectnav.feedback
    ),
}
"""Type of observation -> how its world is told. The one place that a new world is added to."""
