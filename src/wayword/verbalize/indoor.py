"""Indoor observations and feedback in words, in NavGPT's order and with its labels.

Eight directions clockwise from the one the agent faces, each with its range relative to the
agent's heading, what there is to see, the objects nearby and the viewpoints one can go to.

Source: NavGPT (Zhou et al. 2024), section 3.4 and figures 2, 6 and 11.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from textwrap import shorten

from wayword.core.action import Action
from wayword.core.geometry import relative, sector
from wayword.core.perceiver import Perceiver, Percept, Sector, Sighting
from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer, compass
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation, ObjectsObservation

DIRECTIONS = {
    6: ("Front", "Front Right", "Rear Right", "Rear", "Rear Left", "Front Left"),
    8: (
        "Front", "Front Right", "Right", "Rear Right", "Rear", "Rear Left", "Left", "Front Left",
    ),
    12: (
        "Front", "Slight Right", "Front Right", "Right", "Rear Right", "Slight Rear Right",
        "Rear", "Slight Rear Left", "Rear Left", "Left", "Front Left", "Slight Left",
    ),
}  # fmt: skip
"""Names of the directions, clockwise from the front, for 12, 24 and 36 views a viewpoint."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What is told, as in NavGPT's Table 3: sentences, objects, and the objects' distances.
    ``ways``: the viewpoints one can go to; a summary of a place goes without."""

    captions: bool = True
    objects: bool = True
    distances: bool = True
    ways: bool = True


STEEP = 12.0
"""Degrees from which a way is told to lead up or down: ramps stay below, stairs do not."""


def slope(elevation: float) -> str:
    """``up 25`` or ``down 25`` (degrees) for a steep way, empty for a level one."""
    if abs(elevation) < STEEP:
        return ""
    return f"{'up' if elevation > 0 else 'down'} {abs(elevation):.0f}"


def angle(degrees: float) -> str:
    """A relative angle as NavGPT writes it: ``right 61.44``, ``left 3.51``."""
    return f"left {-degrees:.2f}" if degrees < 0 else f"right {degrees:.2f}"


def observation(seen: IndoorObservation, percept: Percept, telling: Telling | None = None) -> str:
    """The full description of a viewpoint, all directions clockwise from the agent's front."""
    telling = telling or Telling()
    count = len(percept.sectors)
    ways: list[list[Neighbor]] = [[] for _ in range(count)]
    for way in seen.neighbors:
        ways[sector(way.heading, count)].append(way)
    facing = sector(seen.heading, count)
    blocks = []
    for offset, label in enumerate(DIRECTIONS[count]):
        index = (facing + offset) % count
        blocks.append(_direction(label, percept.sectors[index], ways[index], seen.heading, telling))
    return "\n".join(blocks)


SHORT_CAPTION, FEW_OBJECTS = 40, 2
"""Characters of a direction's caption, and objects of it, in a numbered list."""
_LEAD = re.compile(r"^The (?:scene|room|image) (?:depicts|shows|contains|features|consists of) ")
_NUMBER = re.compile(r"[ _]+\d+$")


def clockwise(seen: IndoorObservation) -> list[Neighbor]:
    """The exits clockwise from the eighth in front, the nearest of one eighth first."""
    return sorted(seen.neighbors, key=lambda way: (_eighth(way, seen.heading), way.distance))


def numbered(
    exits: Sequence[Neighbor],
    facing: float,
    percept: Percept,
    telling: Telling,
    visited: Collection[str],
) -> str:
    """The exits as a list numbered from 1, a short line each: for models that read slowly.

    Exits in one direction share its scene: later ones refer to the first.
    """
    lines = []
    first: dict[int, int] = {}
    for number, way in enumerate(exits, 1):
        label = DIRECTIONS[8][_eighth(way, facing)].lower()
        steep = slope(way.elevation).partition(" ")[0]
        passed = "visited" if way.viewpoint in visited else ""
        parts = (label, steep, f"{max(1.0, way.distance):.0f} m", passed)
        index = sector(way.heading, len(percept.sectors))
        same = first.setdefault(index, number)
        scene = _brief(percept.sectors[index], telling) if same == number else f"as {same}"
        words = ", ".join(part for part in parts if part)
        lines.append(f"{number}. {words}: {scene}" if scene else f"{number}. {words}")
    return "\n".join(lines)


def _eighth(way: Neighbor, facing: float) -> int:
    return sector(relative(way.heading, facing), 8)


def _brief(part: Sector, telling: Telling) -> str:
    """The scene in a direction in a few words, cut at a comma where it is long, and objects."""
    whole = _LEAD.sub("", part.caption.strip().rstrip("."))
    caption = shorten(whole, SHORT_CAPTION, placeholder="")
    if len(caption) < len(whole) and "," in caption:
        caption = caption.rpartition(",")[0]
    names = list(dict.fromkeys(_NUMBER.sub("", seen.name) for seen in part.sightings))
    near = f"near {', '.join(names[:FEW_OBJECTS])}" if telling.objects and names else ""
    return "; ".join(words for words in (caption if telling.captions else "", near) if words)


def _direction(
    label: str, part: Sector, ways: Sequence[Neighbor], facing: float, telling: Telling
) -> str:
    left = angle(relative(part.heading - part.width / 2, facing))
    right = angle(relative(part.heading + part.width / 2, facing))
    lines = [f"{label}, range ({left} to {right}):"]
    if telling.captions and part.caption:
        lines.append(f"'{part.caption}'")
    if telling.objects:
        lines.append(f"{label} Objects in 3m: {_objects(part.sightings, facing, telling)}")
    if telling.ways:
        reachable = {way.viewpoint: _way(way, facing) for way in ways}
        lines.append(f"{label} Navigable Viewpoints: {reachable or 'None'}")
    return "\n".join(lines)


def _way(way: Neighbor, facing: float) -> str:
    """``right 61.44, up 25, 1.40m``."""
    parts = (angle(relative(way.heading, facing)), slope(way.elevation), f"{way.distance:.2f}m")
    return ", ".join(part for part in parts if part)


def _objects(sightings: Sequence[Sighting], facing: float, telling: Telling) -> str:
    told: dict[str, str] = {}
    named: Counter[str] = Counter()
    for seen in sightings:
        words = angle(relative(seen.heading, facing))
        if telling.distances and seen.distance is not None:
            words += f", {seen.distance:.2f}m"
        named[seen.name] += 1  # a second chair is chair_2, not the first one's end
        again = named[seen.name] > 1
        told[f"{seen.name}_{named[seen.name]}" if again else seen.name] = words
    return str(told or "None")


def turn(before: float, after: float) -> str:
    """The turn a move took, headings in degrees: NavGPT's words."""
    by, start, end = relative(after, before), relative(before, 0.0), relative(after, 0.0)
    return f"Turn heading direction {by:.2f} degrees from {angle(start)} to {angle(end)}."


def _own(seen: IndoorObservation) -> tuple[SelfState, str]:
    words = f'You are at viewpoint "{seen.viewpoint}", facing {compass(round(seen.heading, 2))}.'
    return SelfState(seen.viewpoint, seen.heading), words


def _around(seen: IndoorObservation, perceiver: Perceiver | None) -> str:
    if perceiver is not None:
        sectors = perceiver.perceive(seen.scene, seen.viewpoint).sectors
    else:
        sectors = tuple(Sector(45.0 * number, 45.0, "") for number in range(8))
    count, facing = len(sectors), sector(seen.heading, len(sectors))
    lines = []
    for offset, label in enumerate(DIRECTIONS[count]):
        number = (facing + offset) % count
        ways = [way for way in seen.neighbors if sector(way.heading, count) == number]
        told = _one_line(sectors[number], ways, seen.heading)
        lines += [f"{label}: {told}"] if told else []
    if isinstance(seen, ObjectsObservation):
        lines.append(f"In view, to be named at the stop: {objects(seen) or 'nothing'}.")
    return "\n".join(lines)


def objects(seen: ObjectsObservation) -> str:
    """The objects in view, with IDs and directions: ``81 coffee table (left 30°)``."""
    return ", ".join(
        f"{thing.id} {thing.name} ({_off(thing.heading, seen.heading)})" for thing in seen.objects
    )


def _one_line(part: Sector, ways: Sequence[Neighbor], facing: float) -> str:
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
    words = slope(way.elevation)
    return f", {words}°" if words else ""


def _away(metres: float | None) -> str:
    return "" if metres is None else f", {metres:.1f} m"


def _feedback(told: Feedback) -> str:
    if "heading" not in told.details:
        return "You stopped."
    return walked(told.details["heading_before"], told.details["heading"])


def walked(before: float, after: float) -> str:
    """The turn a move took, headings in degrees, in plain words."""
    turn = _off(after, before)
    if turn == "ahead":
        return "You went straight on."
    side, _, degrees = turn.partition(" ")
    return f"You turned {side} by {degrees} and went on." if degrees else "You went back."


verbalizer = Verbalizer("indoor", _own, _around, _feedback)
