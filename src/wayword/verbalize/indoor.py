"""Indoor observations and feedback in words, in NavGPT's order and with its labels.

Eight directions clockwise from the agent's heading, each with its range of relative angles, a
caption, the objects nearby and the neighboring viewpoints.

Source: NavGPT (Zhou et al. 2024), section 3.4 and figures 2, 6 and 11.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from textwrap import shorten

from wayword.core.action import Action
from wayword.core.geometry import relative, sector
from wayword.core.perceiver import Perceiver, Percept, Sector, Sighting
from wayword.core.visible import single_line
from wayword.core.world import Feedback
from wayword.verbalize.generic import SelfState, Verbalizer, ViewPart, compass
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
"""Number of directions -> their names, clockwise from the front: 6, 8 or 12, of 12, 24 or 36 views
per viewpoint."""


@dataclass(frozen=True, slots=True)
class Detail:
    """Parts of a description, as in NavGPT's Table 3: captions, objects, and objects' distances;
    the neighboring viewpoints, which summaries of a place leave out; and the slopes of their exits,
    which NavGPT does not describe."""

    captions: bool = True
    objects: bool = True
    distances: bool = True
    neighbors: bool = True
    slopes: bool = True

    def slope(self, elevation: float) -> str:
        """Return the slope of an exit as :func:`slope` does; empty if slopes are left out."""
        return slope(elevation) if self.slopes else ""


STEEP_DEGREES = 12.0
"""Elevation from which an exit leads up or down: more than a ramp's, less than that of stairs."""


def slope(elevation: float) -> str:
    """Return ``up 25`` or ``down 25`` for a steep exit, empty for a level one.

    ``elevation`` in degrees.
    """
    if elevation >= STEEP_DEGREES:
        return f"up {elevation:.0f}"
    if elevation <= -STEEP_DEGREES:
        return f"down {-elevation:.0f}"
    return ""


def angle(degrees: float) -> str:
    """Return a relative angle in NavGPT's format: ``right 61.44``, ``left 3.51``."""
    if degrees < 0:
        return f"left {-degrees:.2f}"
    return f"right {degrees:.2f}"


def observation(
    view: IndoorObservation,
    percept: Percept,
    write: Callable[..., str],
    detail: Detail | None = None,
) -> str:
    """Return the full description of a viewpoint, all directions clockwise from the front.

    ``write`` returns the text of a direction from its ``direction``, ``start``, ``end``,
    ``caption``, ``objects`` and ``exits``; parts that are left out are empty.
    """
    detail = detail or Detail()
    facing = view.heading
    texts = []
    for label, part, exits in _directions(view, percept.sectors):
        slots = {
            "direction": label,
            "start": angle(relative(part.heading - part.width / 2, facing)),
            "end": angle(relative(part.heading + part.width / 2, facing)),
            "caption": part.caption if detail.captions else "",
            "objects": "",
            "exits": "",
        }
        if detail.objects:
            # As Python writes a dictionary: the format of NavGPT's released prompts,
            # None included.
            in_view = _objects_by_name(part, facing, detail.distances)
            slots["objects"] = str(in_view or None)
        if detail.neighbors:
            reachable = {}
            for exit_ in exits:
                side = angle(relative(exit_.heading, facing))
                steep = detail.slope(exit_.elevation)
                reachable[exit_.viewpoint] = _joined(
                    side,
                    steep,
                    f"{exit_.distance:.2f}m",
                )
            slots["exits"] = str(reachable or None)
        texts.append(write(**slots))
    return "\n".join(texts)


def _objects_by_name(part: Sector, facing: float, distances: bool) -> dict[str, str]:
    """Map the objects of a sector to their relative angles and, if requested, distances.

    ``facing`` is the actor's heading in degrees.
    """
    objects: dict[str, str] = {}
    count: Counter[str] = Counter()
    for sighting in part.sightings:
        words = angle(relative(sighting.heading, facing))
        if distances and sighting.distance is not None:
            words += f", {sighting.distance:.2f}m"
        # A second chair is chair_2, not a replacement.
        name = sighting.name
        count[name] += 1
        if count[name] > 1:
            name = f"{name}_{count[name]}"
        objects[name] = words
    return objects


def _directions(
    view: IndoorObservation,
    sectors: Sequence[Sector],
) -> Iterator[tuple[str, Sector, list[Neighbor]]]:
    """Yield each direction clockwise from the front: its name, sector and neighbors.

    Sectors are fixed to the scene, clockwise from the one around north; names are relative to the
    actor's heading.
    """
    count = len(sectors)
    front = sector(view.heading, count)
    for offset, label in enumerate(DIRECTIONS[count]):
        index = (front + offset) % count
        exits = [
            exit_ for exit_ in view.neighbors if sector(exit_.heading, count) == index
        ]
        yield label, sectors[index], exits


def _joined(*parts: str) -> str:
    """Return the parts that are not empty, joined by commas."""
    return ", ".join(filter(None, parts))


SHORT_CAPTION = 60
"""Maximum characters of a direction's caption in a numbered list."""
FEW_PHRASES = 2
"""Maximum number of phrases with words of the instruction that follow a cut caption."""
FEW_OBJECTS = 4
"""Maximum number of a direction's objects in a numbered list."""
_OPENING = re.compile(
    r"^(?:The|This) (?:scene|room|image|area|space) (?:depicts|shows|contains|features|has|"
    r"consists of|includes) |^There (?:is|are) |^(?:You|We) (?:can )?see |"
    r"^Further off you can make out "
)
# A caption is cut before one of these, never in a phrase; before "of" and "to" only if there is no
# other place, as "and doorways" says nothing without "to the kitchen".
_BOUNDARY = re.compile(
    r"[,.;:] | (?:and|with|that|which|where|while|on|in|at|from|next|above|behind|against) "
)
_WEAK_BOUNDARY = re.compile(r" (?:of|to) ")
# Between two phrases of a caption, which may be kept one without the other.
_SEPARATOR = re.compile(r"[.,;:] (?:and )?| and ")
# Words of an instruction that tell no phrase from another; of three letters or fewer none does.
_COMMON_WORDS = frozenset(
    (
        *(
            "door",
            "doorway",
            "doorways",
            "from",
            "into",
            "past",
            "room",
            "that",
            "then",
        ),
        *("there", "this", "through", "wall", "with", "your"),
    )
)
_TRAILING_NUMBER = re.compile(r"[ _]+\d+$")


def sort_clockwise(view: IndoorObservation) -> list[Neighbor]:
    """Return the exits clockwise from the front sector (of eight), nearest first in each."""
    sectors = {
        exit_: sector(relative(exit_.heading, view.heading), 8)
        for exit_ in view.neighbors
    }
    return sorted(view.neighbors, key=lambda exit_: (sectors[exit_], exit_.distance))


def numbered_exits(
    exits: Sequence[Neighbor],
    facing: float,
    percept: Percept,
    detail: Detail,
    visited: Collection[str],
    mentioned: Set[str] = frozenset(),
) -> str:
    """Return the exits as a list numbered from 1, one line each with a short caption and objects,
    those with ``mentioned`` words first. Later exits in the same direction refer to the caption of
    the first."""
    lines = []
    first: dict[int, int] = {}  # sector -> its first exit
    for number, exit_ in enumerate(exits, 1):
        label = DIRECTIONS[8][sector(relative(exit_.heading, facing), 8)].lower()
        steep = detail.slope(exit_.elevation).partition(" ")[0]
        visited_note = "visited" if exit_.viewpoint in visited else ""
        # At least 1 m: "0 m" reads as the place itself.
        words = _joined(label, steep, f"{max(1.0, exit_.distance):.0f} m", visited_note)
        line = f"{number}. {words}"
        index = sector(exit_.heading, len(percept.sectors))
        # Exits of one direction share its picture, so its caption would be repeated word
        # for word.
        first_number = first.setdefault(index, number)
        if first_number == number:
            scene = _short_scene(percept.sectors[index], detail, mentioned)
        else:
            scene = f"as {first_number}"
        if scene:
            line += f": {scene}"
        lines.append(line)
    return "\n".join(lines)


def _short_scene(part: Sector, detail: Detail, mentioned: Set[str]) -> str:
    """Return a short caption and the names of some objects, those of the instruction first."""
    parts = []
    caption = short_caption(part.caption, mentioned)
    if detail.captions and caption:
        parts.append(caption)
    names = list(
        dict.fromkeys(_TRAILING_NUMBER.sub("", s.name) for s in part.sightings)
    )
    # The sort is stable: nearest first in both groups.
    names.sort(key=lambda name: mentioned.isdisjoint(name.lower().split()))
    if detail.objects and names:
        parts.append(f"near {', '.join(names[:FEW_OBJECTS])}")
    return "; ".join(parts)


def short_caption(caption: str, mentioned: Set[str] = frozenset()) -> str:
    """Return the beginning of a caption, up to the end of a phrase, then the phrases with
    ``mentioned`` words that it lacks.

    >>> text = "There are a chair and a table in the middle of a room, and doorways to the kitchen."
    >>> short_caption(text)
    'a chair and a table in the middle of a room'
    >>> short_caption(text, {"kitchen"})
    'a chair and a table in the middle of a room, doorways to the kitchen'
    """
    # Captions open with the same words; what differs comes after.
    text = _OPENING.sub("", single_line(caption).rstrip("."))
    if len(text) <= SHORT_CAPTION:
        return text
    beginning = text[: SHORT_CAPTION + 1]
    ends = [match.start() for match in _BOUNDARY.finditer(beginning)]
    if not ends:
        ends = [match.start() for match in _WEAK_BOUNDARY.finditer(beginning)]
    if ends:
        # At the last boundary that fits.
        cut = text[: ends[-1]]
        first, period, rest = cut.rpartition(". ")
        if period and len(rest.split()) <= 2:
            cut = first  # the first words of a sentence say nothing
    else:
        # One long phrase: cut at a word.
        cut = shorten(text, SHORT_CAPTION, placeholder="")
    known = {*cut.lower().split(), *_COMMON_WORDS}
    named = []
    whole = cut
    begin = 0
    separators = [match.span() for match in _SEPARATOR.finditer(text)]
    for end, next_begin in [*separators, (len(text), len(text))]:
        phrase = text[begin:end]
        words = {word for word in phrase.lower().split() if len(word) > 3}
        if end > len(cut) and not mentioned.isdisjoint(words - known):
            # A phrase that was cut in its middle is kept whole.
            if begin < len(cut):
                whole = cut[:begin].rstrip(" ,.;:").removesuffix(" and").rstrip(",")
            bare = _OPENING.sub("", phrase)
            named.append(shorten(bare, SHORT_CAPTION, placeholder=""))
        begin = next_begin
    return ", ".join(filter(None, [whole, *named[:FEW_PHRASES]]))


def turn_slots(before: float, after: float, is_first: bool = False) -> dict[str, str]:
    """Return the turn of a move (headings in degrees) as NavGPT writes it: ``degrees``, and the
    headings ``start`` and ``end`` from north, such as ``right 36.16``.

    ``unwrapped`` is the released code's difference of the same headings, which may be -330 for a
    turn of 30. Its headings begin at -15 after a move, and at 0 at the start (``is_first``).
    """
    # As released, so that prompts can be compared with the paper's byte for byte.
    begin = before % 360.0 if is_first else _in_pack(before)
    return {
        "degrees": f"{relative(after, before):.2f}",
        "unwrapped": f"{_in_pack(after) - begin:.2f}",
        "start": angle(relative(before, 0.0)),
        "end": angle(relative(after, 0.0)),
    }


def _in_pack(heading: float) -> float:
    """Return a heading in the range of NavGPT's data pack, [-15, 345)."""
    return (heading + 15.0) % 360.0 - 15.0


def _state(view: IndoorObservation) -> tuple[SelfState, str]:
    """Return the actor's viewpoint and heading, with a sentence on them."""
    words = f'You are at viewpoint "{view.viewpoint}", facing {compass(round(view.heading, 2))}.'
    return SelfState(view.viewpoint, view.heading), words


def _around(view: IndoorObservation, perceiver: Perceiver | None) -> str:
    """Return one line per direction: caption, objects nearby, exits."""
    lines = [line for _, _, line in _described(view, perceiver) if line]
    if isinstance(view, ObjectsObservation):
        lines.append(f"In view, to be named at the stop: {objects(view) or 'nothing'}.")
    return "\n".join(lines)


def _described(
    view: IndoorObservation, perceiver: Perceiver | None
) -> Iterator[tuple[Sector, list[Neighbor], str]]:
    """Yield each direction clockwise from the front, with its exits and its line.

    The line is empty where there is nothing to describe.
    """
    if perceiver is not None:
        sectors = perceiver.perceive(view.scene, view.viewpoint).sectors
    else:
        # Without a perceiver there are directions and exits, but nothing to see.
        sectors = tuple(Sector(45.0 * number, 45.0, "") for number in range(8))
    facing = view.heading
    for label, part, exits in _directions(view, sectors):
        parts = []
        if part.caption.strip():
            parts.append(part.caption.strip().rstrip("."))
        if part.sightings:
            near = [_sighting_text(sighting, facing) for sighting in part.sightings]
            parts.append(f"Near: {', '.join(near)}")
        if exits:
            options = [_exit_text(exit_, facing) for exit_ in exits]
            parts.append(f"Ways: {', '.join(options)}")
        line = ""
        if parts:
            line = f"{label}: {'. '.join(parts)}."
        yield part, exits, line


QUADRANTS = ("ahead", "right", "behind", "left")
"""Directions of parts of a view, clockwise, each 90 degrees wide."""


def _view_parts(view: IndoorObservation, perceiver: Perceiver | None) -> list[ViewPart]:
    """Return the view in quadrants: its lines, then objects and exits with their angles.

    The front quadrant is that of the actor's heading.
    """
    facing = view.heading

    def side(heading: float) -> str:
        """Return the quadrant of a heading (degrees)."""
        return QUADRANTS[sector(relative(heading, facing), len(QUADRANTS))]

    view_parts = []
    for part, exits, line in _described(view, perceiver):
        # Exits are listed in the line of their sector, which may reach into the next quadrant.
        direction = side(part.heading)
        view_parts.append(ViewPart(direction, line))
        for seen in part.sightings:
            measure = side_angle(seen.heading, facing)
            if seen.distance is not None:
                measure += f", {seen.distance:.1f} m"
            view_parts.append(ViewPart(direction, "", seen.name, measure))
        for exit_ in exits:
            text = _exit_text(exit_, facing)
            measure = text.partition(" (")[2].rstrip(")")
            view_parts.append(
                ViewPart(direction, "", exit_.viewpoint, measure, is_exit=True)
            )
    if isinstance(view, ObjectsObservation):
        for item in view.objects:
            name = f"{item.id} {item.name}"
            text = (
                f"To be named at the stop: {name} ({side_angle(item.heading, facing)})."
            )
            measure = side_angle(item.heading, facing)
            view_parts.append(ViewPart(side(item.heading), text, name, measure))
    return view_parts


def _sighting_text(sighting: Sighting, facing: float) -> str:
    """Return an object with its direction and, if known, distance: ``sofa (left 30°, 2.1 m)``."""
    notes = side_angle(sighting.heading, facing)
    if sighting.distance is not None:
        notes += f", {sighting.distance:.1f} m"
    return f"{sighting.name} ({notes})"


def _exit_text(exit_: Neighbor, facing: float) -> str:
    """Return an exit as the action that takes it, with direction, slope and distance."""
    notes = [side_angle(exit_.heading, facing)]
    steep = slope(exit_.elevation)
    if steep:
        notes.append(f"{steep}°")
    notes.append(f"{exit_.distance:.1f} m")
    return f"{Action('goto', (exit_.viewpoint,))} ({', '.join(notes)})"


def objects(view: ObjectsObservation) -> str:
    """Return the objects in view, with IDs and directions: ``81 coffee table (left 30°)``."""
    return ", ".join(
        f"{item.id} {item.name} ({side_angle(item.heading, view.heading)})"
        for item in view.objects
    )


def side_angle(heading: float, facing: float) -> str:
    """Return the relative direction: ``left 30°``; ``ahead`` and ``behind`` after rounding."""
    degrees = round(relative(heading, facing))
    if degrees == 0:
        return "ahead"
    if degrees in (180, -180):
        return "behind"
    if degrees < 0:
        return f"left {-degrees}°"
    return f"right {degrees}°"


def _feedback(result: Feedback) -> str:
    """Return what happened, as a sentence."""
    details = result.details
    # Only a stop changes no heading.
    if "heading" not in details:
        return "You stopped."
    return walk_feedback(details["heading_before"], details["heading"])


def walk_feedback(before: float, after: float) -> str:
    """Return a plain sentence on the turn of a move.

    ``before`` and ``after`` are absolute headings in degrees.
    """
    turn = side_angle(after, before)
    if turn == "ahead":
        return "You went straight on."
    side, _, degrees = turn.partition(" ")
    if degrees:
        return f"You turned {side} by {degrees} and went on."
    return "You went back."


# The perceiver of agents that see pictures has no words: exits remain.
verbalizer = Verbalizer(
    "indoor",
    _state,
    _around,
    _feedback,
    unpictured=_around,
    view_parts=_view_parts,
    directions=QUADRANTS,
    sees_around=True,
)
