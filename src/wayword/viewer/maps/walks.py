"""An actor's walk on a map: lines with arrows, views, and a marker for each point it visited.

Stops at the same point share a marker, numbered if there is room: ``S`` for the start, ``2·5`` for
two visits, ``3–8`` for a stay, ``2…14`` for more than three visits. The start and the end are
placed first, then the others in order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from wayword.core.episode import JsonObject
from wayword.core.geometry import Point
from wayword.viewer.maps.content import SQUARES, At, Map, Waypoint

Marker = tuple[float, float, float]
"""Center and half width of a marker with a number."""

_SHORT = 16  # legs up to this length have no arrow: it would be all there is of them
_APART = 48  # units of such legs after which one has an arrow all the same; twice on long walks
_LONG = 3  # characters of steps at a point, beyond which they would hide too much of the walk
_LARGEST = 1.25  # of a marker on a map that a page draws smaller than its units
_NEAR = 24  # between two marks of one kind, up to which one stands for both
_RING = 16.0  # radius of the ring around the dart at the end
_DOT = 4.0  # half width of a marker without a number
_CHARACTER = 4.1  # half width of a character
_EVERY = 5  # on a grid, or where all moves are short, steps between two numbers
_FEW = 8  # moves of a walk up to which each may have its number
_CLOSE = 32  # units of a move up to which the next number would touch the last one
_MANY = 30  # stops up to which all others are numbered
_NUMBERS = 12  # of a longer walk, about
_BESIDE = 1.5  # squares from a player up to which numbers would hide what is next to it


def draw_walk(
    where: Map,
    actor: str,
    number: int,
    at: At,
    numbered: list[Marker],
) -> dict[str, Any]:
    """Return the values that the template draws an actor's walk from.

    ``moves`` are lines with an arrow, if there is room, and their step, ``poses`` the
    position and heading after each step, and ``stops`` the markers of its visits. A
    dart shows where the actor is ``facing`` at the end. ``number`` is that of the walk,
    from 0. ``numbered`` has all markers numbered so far, and gets those of this walk.
    """
    waypoints = where.walks[actor]
    legs = list(pairwise(waypoints))
    facing = _facing(where, waypoints[-1], at)
    # The ring around the dart takes its place before the numbers of stops take theirs.
    numbered += [(*point, _RING) for point, _ in facing]
    # A view says where an actor faced; on a grid, squares in view do.
    shows_poses = where.unit != SQUARES and not where.views.get(actor)
    poses = []
    floors = {}
    for before, after in legs:
        if shows_poses and after.heading is not None:
            poses.append((after.step, at(after.point), after.heading))
        floor = where.floors.get(after.place)
        if where.floors.get(before.place) == floor:
            floors[after.step] = floor
    stops = _Stops(where, waypoints, at, numbered, has_dart=bool(facing))
    is_long = _is_long(where, waypoints)
    return {
        "number": number,
        "moves": _moves(legs, at, is_long),
        "poses": poses,
        "views": where.views.get(actor) or {},
        "stops": stops.draw(),
        "wrong": (),
        "facing": facing,
        "floors": floors,
        "blocked": _blocked(waypoints, at, is_long),
    }


def _is_long(where: Map, waypoints: Sequence[Waypoint]) -> bool:
    """True if marks of each step would hide the walk. On a grid each square has room."""
    return len(waypoints) > _MANY and where.unit != SQUARES


def _blocked(
    waypoints: Sequence[Waypoint],
    at: At,
    is_long: bool,
) -> list[tuple[Point, float, int]]:
    """Return the points, headings and steps at which a move was blocked; on a long walk, one stands
    for its neighbors."""
    marks: list[tuple[Point, float, int]] = []
    for stop in waypoints:
        if not stop.blocked or stop.heading is None:
            continue
        mark = (at(stop.point), stop.heading)
        is_new = mark not in [each[:2] for each in marks]
        has_neighbor = _is_near(mark[0], [each[0] for each in marks])
        if is_new and not (is_long and has_neighbor):
            marks.append((*mark, stop.step))
    return marks


def _moves(
    legs: Sequence[tuple[Waypoint, Waypoint]],
    at: At,
    is_long: bool,
) -> list[tuple[Any, ...]]:
    """Return the lines of the legs that moved, some with an arrow.

    A long walk has few arrows, and one where it goes again and again.
    """
    apart = _APART * 2 if is_long else _APART
    moves = []
    pointed: list[Point] = []
    since_arrow = 0.0
    for leg in legs:
        length = _length(leg, at)
        # A step that did not move has no line.
        if length <= 1:
            continue
        since_arrow += length
        has_arrow = since_arrow > apart or (length > _SHORT and not is_long)
        # Counted from here also if a neighbor's arrow stands for it below.
        if has_arrow:
            since_arrow = 0.0
        line, arrow, step = _move(leg, at, has_arrow)
        if arrow and is_long and _is_near(arrow[:2], pointed):
            arrow = None
        if arrow:
            pointed.append(arrow[:2])
        moves.append((line, arrow, step))
    return moves


def _is_near(point: Point, others: Sequence[Point]) -> bool:
    return any(math.dist(point, other) < _NEAR for other in others)


def _facing(where: Map, final: Waypoint, at: At) -> list[tuple[Point, float]]:
    """Return the dart at the end, its point and heading, or an empty list.

    It is drawn where the view decides what happened: on small maps, in games, and in
    failed walks without a gold path.
    """
    is_pointed = where.small or where.targets is not None
    if where.failed and not where.gold:
        is_pointed = True
    if final.heading is None or not is_pointed:
        return []
    return [(at(final.point), final.heading)]


def _line(leg: tuple[Waypoint, Waypoint], at: At) -> list[Point]:
    """Return the points of a leg on the drawing, from one waypoint over its route to the next."""
    before, after = leg
    points = (before.point, *after.route, after.point)
    return [at(point) for point in points]


def _longest(line: Sequence[Point]) -> tuple[Point, Point]:
    """Return the ends of the longest part of a line."""
    return max(pairwise(line), key=lambda ends: math.dist(*ends))


def _length(leg: tuple[Waypoint, Waypoint], at: At) -> float:
    """Return the length of the longest part of a leg, in units of the drawing."""
    return math.dist(*_longest(_line(leg, at)))


def _move(leg: tuple[Waypoint, Waypoint], at: At, has_arrow: bool) -> tuple[Any, ...]:
    """Return a leg's line, its arrow (x, y, degrees; None if it has none) and its step."""
    line = _line(leg, at)
    step = leg[1].step
    if not has_arrow:
        return line, None, step
    (x1, y1), (x2, y2) = _longest(line)
    # Past the middle, where two arrows of a path that is walked both ways do not meet.
    x = x1 + 0.6 * (x2 - x1)
    y = y1 + 0.6 * (y2 - y1)
    turn = math.degrees(math.atan2(y2 - y1, x2 - x1))
    return line, (x, y, turn), step


_FORMS: Sequence[tuple[str, str]] = (
    (r"\d+", "after step {0}"),
    (r"S–(\d+)", "there from the start to step {0}"),
    (r"(\d+)–(\d+)", "there after steps {0} to {1}"),
    (r"(?:S|\d+)(?:·\d+)+", "there several times"),
    (r"(\w+)…(\d+)", "there several times, last after step {1}"),
)
"""Forms of the numbers of stops, with their words in the legend."""


def number_signs(markers: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the first number of each form on markers, with its words for the legend."""
    signs: dict[str, tuple[str, str]] = {}
    for marker in markers:
        number = marker["text"].removesuffix(marker["end"])
        for form, words in _FORMS:
            if match := re.fullmatch(form, number):
                shown = words.format(*(match.groups() or (number,)))
                signs.setdefault(form, (number, shown))
    return [signs[form] for form, _ in _FORMS if form in signs]


class _Stops:
    """The markers of a walk: stops at the same point share one."""

    def __init__(
        self,
        where: Map,
        waypoints: Sequence[Waypoint],
        at: At,
        numbered: list[Marker],
        has_dart: bool,
    ) -> None:
        self._where = where
        self._waypoints = waypoints
        self._at = at
        self._numbered = numbered
        self._has_dart = has_dart
        self._final = waypoints[-1]
        # The stop where the mistake was made; its number is placed early.
        self._left = where.ringed(waypoints)
        self._is_grid = where.unit != "m"
        # On a grid, numbers would hide the squares next to them, and on a long walk the walk. The
        # start, the end and the stop of the mistake always have one.
        moves = [_length(leg, at) for leg in pairwise(waypoints)]
        is_dense = len(moves) > _FEW and max(moves) < _CLOSE
        every = _EVERY if self._is_grid or is_dense else 1
        if len(waypoints) > _MANY:
            every = _EVERY * math.ceil(len(waypoints) / (_EVERY * _NUMBERS))
        # Of several actors, the numbers of one would hide the walk of another.
        if len(where.walks) > 1 and (where.failed or where.solved):
            every = len(waypoints)
        chosen = [*waypoints[::every], self._final]
        if self._left:
            chosen.append(self._left)
        self._chosen = {stop.step for stop in chosen}
        # Of walks from one place, the first one's letter is enough.
        first = next(iter(where.walks.values()))
        if waypoints is not first and waypoints[0].point == first[0].point:
            self._chosen.discard(0)
        self._is_long = _is_long(where, waypoints)

    def draw(self) -> list[dict[str, Any]]:
        """Return the markers in the order in which they get their numbers."""
        return [self._marker(group) for group in self._groups()]

    def _groups(self) -> list[list[Waypoint]]:
        """Return the stops by their point (to a centimetre): the start first, then the
        end and the mistake, then the others in order.
        """
        by_point: dict[Point, list[Waypoint]] = {}
        for stop in self._waypoints:
            x, y = stop.point
            point = (round(x, 2), round(y, 2))
            by_point.setdefault(point, []).append(stop)
        start, *others = by_point.values()
        end = next((group for group in others if self._final in group), None)
        if end is not None and self._where.failed and not self._is_grid:
            first_point = self._at(start[0].point)
            if math.dist(first_point, self._at(self._final.point)) < _NEAR:
                # The end would be hidden below the start's number.
                others.remove(end)
                start = sorted(start + end, key=lambda stop: stop.step)

        def rank(group: list[Waypoint]) -> tuple[bool, bool]:
            return self._final not in group, self._left not in group

        others.sort(key=rank)
        return [start, *others]

    def _marker(self, group: Sequence[Waypoint]) -> dict[str, Any]:
        """Return a marker: its words, place on the drawing, and its number if there is room.

        It is ``aside`` its point if the number is long, the point has a dart, or another
        number is in the way of the end. The page's script goes to its ``first`` step,
        None if it cannot be pressed.
        """
        is_last = self._final in group
        steps = [stop.step for stop in group]
        place = group[0].place
        # At the end of a walk the marker stands where the actor stopped, a step from others nearby.
        point = self._final.point if is_last else group[0].point
        x, y = self._at(point)
        end = ""
        if is_last and self._where.failed:
            end = " ✕"
        elif is_last and self._where.solved:
            end = " ✓"
        is_dart = is_last and self._has_dart
        text = self._number(steps) + end
        half = max(9.0, _CHARACTER * len(text) + 4)
        is_quiet = not text or self._is_hidden_in_game(group, is_last)
        taken = self._is_taken(x, y, half)
        aside = is_dart or (self._where.failed and len(text) > _LONG)
        if taken and (end or 0 in steps):
            aside = True  # the end keeps its number, and the start its letter
        aside = aside and not is_quiet
        if is_quiet or (not aside and taken):
            half = _DOT
            text = ""
        elif not aside:
            # The ring around the mistake needs room as well.
            space = half
            if self._left in group:
                space += 8
            self._numbered.append((x, y, space))
        elif not is_dart:
            room = _RING if self._left in group else 6.0
            self._numbered.append((x, y, room))
        when = ["start" if step == 0 else f"after step {step}" for step in steps]
        title = [self._where.title(place), ", ".join(when)]
        pressed = None
        if self._where.targets is None:  # in a game a press is a move
            pressed = next((step for step in steps if step), None)
        return {
            "steps": steps,
            "words": ": ".join(filter(None, title)),
            "floor": self._where.floors.get(place),
            "x": x,
            "y": y,
            "half": half,
            "text": text,
            "end": end,
            "aside": aside,
            # A quarter of a metre apart, dots would hide the line.
            "hidden": self._is_long and not text,
            "dart": is_dart,
            "first": pressed,
        }

    def _number(self, steps: Sequence[int]) -> str:
        """Return the steps as a number: ``S``, ``2·5``, ``3–8``, ``2…14``.

        Empty if none of them is numbered. An ellipsis stands for what it leaves out.
        """
        if self._chosen.isdisjoint(steps):
            return ""
        names = ["S" if step == 0 else str(step) for step in steps]
        first = names[0]
        last = names[-1]
        number = "·".join(names)
        # Of a stay, the steps between are not listed.
        if len(steps) > 2 and steps[-1] - steps[0] == len(steps) - 1:
            number = f"{first}–{last}"
        elif len(names) > 3:
            number = f"{first}…{last}"
        if self._where.solved and len(number) > _LONG:
            # Of a solved walk, the start, the end or the first visit is enough.
            is_end = steps[0] and self._final.step in steps
            return last if is_end else first
        return number

    def _is_hidden_in_game(self, group: Sequence[Waypoint], is_last: bool) -> bool:
        """True in a game where a number would hide doors and names: it has every fifth
        one, and none near the player.
        """
        if self._where.targets is None:
            return False
        gap = math.dist(group[0].point, self._final.point)
        is_beside = self._is_grid and gap < _BESIDE
        return is_last or is_beside or all(stop.step % _EVERY for stop in group)

    def _is_taken(self, x: float, y: float, half: float) -> bool:
        """True if another number is in the way: markers are about 17 units high, with a
        gap of 2, at their largest.
        """
        for other_x, other_y, other_half in self._numbered:
            is_beside = abs(x - other_x) < _LARGEST * (half + other_half + 2)
            is_level = abs(y - other_y) < _LARGEST * 19
            if is_beside and is_level:
                return True
        return False


def ring(
    where: Map, walk: Sequence[Waypoint], drawn: JsonObject
) -> tuple[Marker, list[int]] | None:
    """Return the ring around the stop before the mistake, and the steps walked after it.

    All of them if the walk left the path for good, else those up to its return to the
    gold path; without a path only the first. None if this walk has no mistake, or if it
    is only that the walk stopped. ``drawn`` is the result of ``draw_walk``.
    """
    before = where.ringed(walk)
    if before is None:
        return None
    # A walk that ended there without a move has the mark of its end.
    end = walk[-1]
    if end.step == where.mistake and end.point == before.point:
        return None
    on_path = {name for name, _ in where.gold}
    wrong = []
    # Also moves that are too short for a line: their stops are marked.
    for before_move, stop in pairwise(walk):
        if stop.step < where.mistake or stop.point == before_move.point:
            continue
        wrong.append(stop.step)
        has_returned = not on_path or stop.place in on_path
        if has_returned and not where.departed:
            break
    marker = next(each for each in drawn["stops"] if before.step in each["steps"])
    half = _RING
    if not marker["aside"]:  # around the number, not only around the point
        half = max(_RING, marker["half"] + 6)
    return (marker["x"], marker["y"], half), wrong
