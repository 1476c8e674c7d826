"""The map of a BabyAI episode: the grid with its walls, doors and objects at each step.

The recorded actions are played again, which tells where everything was; without the package, or
where the replay goes otherwise than the recording, the grid is drawn as it was at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from wayword.core.errors import WaywordError
from wayword.core.trajectory import Trajectory
from wayword.viewer.data import Sources
from wayword.viewer.maps.drawing import At, Layer, Map, Stand, square
from wayword.viewer.maps.generic import walked
from wayword.viewer.markup import Html, tag

Thing = tuple[str, str, str, int, int]
"""Kind, colour, state, x to the east and y to the south, in squares."""

MEANT = "meant by the instruction"
_COLOURS = frozenset({"red", "green", "blue", "purple", "yellow", "grey"})


def map(trajectory: Trajectory, sources: Sources) -> Map | None:
    """The walk on its grid; None where no pose has a position."""
    drawn = walked(trajectory, {})
    if drawn is None:
        return None
    drawn.walks = {actor: [_north_up(each) for each in walk] for actor, walk in drawn.walks.items()}
    drawn.unit = "squares"
    rows = trajectory.state.get("walls")
    if isinstance(rows, list | tuple) and rows and all(isinstance(row, str) for row in rows):
        film = _replayed(trajectory, sources)
        still = film is None
        told = film or [_things(trajectory.state)] * (len(trajectory.steps) + 1)
        tall, wide = len(rows), max(len(row) for row in rows)
        corners = [(-0.5, 0.5), (wide - 0.5, 0.5 - tall)]
        legend = [tag("li", tag("i", class_="k meant"), MEANT)]
        legend = [tag("li", "the grid as it was at the end")] if still else legend
        drawn.layer = Layer(partial(_paint, rows, told), corners, {}, legend)
    return drawn


def _north_up(stand: Stand) -> Stand:
    return Stand(stand.step, stand.place, (stand.point[0], -stand.point[1]), stand.heading)


def _replayed(trajectory: Trajectory, sources: Sources) -> list[list[Thing]] | None:
    """The things before each step and at the end, None where that is not known."""
    found: list[list[Thing]] = []
    try:
        played = sources.played(trajectory, lambda world, *_: found.append(_shown(world)))
    except (WaywordError, LookupError, TypeError, ValueError):
        return None  # the page does without
    return None if played is None else found


def _shown(world: Any) -> list[Thing]:
    """The things of a world, and a mark where one of them is meant by the instruction."""
    level = getattr(world, "level", None)
    marks = [(MEANT, "", "", x, y) for x, y in level.meant()] if level is not None else []
    return [*marks, *_things(world.state())]


def _things(state: Mapping[str, Any]) -> list[Thing]:
    listed = state.get("things")
    found = []
    for each in listed if isinstance(listed, list | tuple) else ():
        if isinstance(each, Mapping) and isinstance(each.get("x"), int):
            x, y = int(each["x"]), int(each.get("y", 0))
            words = (str(each.get(key) or "") for key in ("kind", "colour", "state"))
            found.append((*words, x, y))
    return found  # type: ignore[return-value]


def _paint(rows: Sequence[str], told: Sequence[Sequence[Thing]], at: At) -> Html:
    floor = [
        square((x, -y), at, "cell wall-cell" if sign == "#" else "cell")
        for y, row in enumerate(rows)
        for x, sign in enumerate(row)
    ]
    return tag("g", *floor, *(paint_thing(*span, at) for span in _spans(told)), class_="grid")


def _spans(told: Sequence[Sequence[Thing]]) -> Iterator[tuple[Thing, int, int]]:
    """Each thing with the first and last step at which it was so, from 1."""
    since: dict[Thing, int] = {}
    steps = max(1, len(told) - 1)
    for number, things in enumerate(told[:steps], 1):
        now = set(things)
        for thing in [each for each in since if each not in now]:
            yield thing, since.pop(thing), number - 1
        for thing in things:
            since.setdefault(thing, number)
    yield from ((thing, first, steps) for thing, first in since.items())


def paint_thing(thing: Thing, first: int, last: int, at: At) -> Html:
    """A thing on its square, as it was from step ``first`` to step ``last``."""
    kind, colour, state, x, y = thing
    words = " ".join(part for part in (state, colour, kind) if part)
    title = tag("title", words)
    paint = f"c-{colour}" if colour in _COLOURS else "c-grey"
    shown = "on" if first == 1 else ""
    middle = (float(x), -float(y))
    span: dict[str, Any] = {"data_first": first, "data_last": last}
    if kind == MEANT:
        return square(middle, at, f"meant {shown}", 0.03, title=words, **span)
    if kind == "door":
        look = f"griddoor {'open' if state == 'open' else 'shut'} {paint} {shown}"
        return square(middle, at, look, 0.06, title=words, **span)
    if kind == "box":
        return square(middle, at, f"gridbox {paint} {shown}", 0.2, title=words, **span)
    cx, cy = at(middle)
    size = abs(at((middle[0] + 0.3, middle[1]))[0] - cx)
    if kind == "key":
        r = f"{size / 2:.1f}"
        ring = f"a{r} {r} 0 1 1 {size:.1f} 0a{r} {r} 0 1 1 {-size:.1f} 0"
        d = f"M{cx - size:.1f} {cy:.1f}{ring}M{cx:.1f} {cy:.1f}h{size:.1f}v{r}"
        return tag("path", title, d=d, class_=f"gridkey {paint} {shown}", **span)
    look, size = f"gridball {paint} {shown}", round(size, 1)
    return tag("circle", title, cx=cx, cy=cy, r=size, class_=look, **span)
