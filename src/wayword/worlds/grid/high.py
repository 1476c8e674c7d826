"""Whole errands, walked over the squares that have been seen.

Everything is planned before the first step, so that an errand that fails changes nothing, not even
the time. One that ends the level ends there.

Source: LangSuitE (Jia et al. 2024), Table 2; the errands themselves are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wayword.core.episode import Json
from wayword.worlds.grid import low
from wayword.worlds.grid.level import DROP, PICK_UP, TOGGLE, Level
from wayword.worlds.grid.routes import Arrived, Square, beside, route
from wayword.worlds.grid.view import Names, seen_squares

Details = dict[str, Json]


class Fail(Exception):
    """An errand that cannot be run: its status and details."""

    def __init__(self, status: str, details: dict[str, Json]) -> None:
        super().__init__(status)
        self.status, self.details = status, details


class Walker:
    """Somebody in a level who remembers what was seen."""

    def __init__(self, level: Level, names: Names, note: Callable[[], None]) -> None:
        self.level, self.names = level, names
        self.seen: set[Square] = set(seen_squares(level))
        self._note = note

    def do(self, codes: list[int]) -> None:
        """Carry out actions of the package's, as far as the level goes on."""
        for code in codes:
            if self.level.over:
                return
            self.level.act(code)
            self.remember()

    def remember(self) -> None:
        """Take in what is in view now."""
        self.seen.update(seen_squares(self.level))
        self._note()

    def way(self, arrived: Arrived) -> list[int] | None:
        """The shortest way over squares that were seen."""
        return route(self.level, arrived, self.seen)

    def known(self, name: str) -> tuple[Any, Square]:
        """A thing that was seen, and where it is."""
        thing = self.names.thing.get(name)
        if thing is not None and thing is self.level.carried:
            raise Fail(low.ALREADY_HELD, {"object": name})
        place = None if thing is None else self.level.find(thing)
        if place is None:
            raise Fail(low.NO_SUCH_OBJECT, {"object": name})
        return thing, place


def _before(place: Square) -> Arrived:
    return lambda _, front: front == place


def _go(walker: Walker, name: str, last: int | None, details: dict[str, Json]) -> Details:
    """Up to a thing, so that it is right ahead, and one more action there."""
    _, place = walker.known(name)
    way = walker.way(_before(place))
    if way is None:
        raise Fail(low.NO_PATH, {"place": name})
    walker.do(way if last is None else [*way, last])
    return details


def goto(walker: Walker, name: str) -> Details:
    """Stand before a thing, facing it."""
    return _go(walker, name, None, {"object": name})


def go_grab(walker: Walker, name: str) -> Details:
    """Go to a thing and pick it up."""
    thing, _ = walker.known(name)
    if not thing.can_pickup():
        raise Fail(low.NOT_PICKUPABLE, {"object": name})
    if walker.level.carried is not None:
        raise Fail(low.HANDS_FULL, {"holding": walker.names.call(walker.level.carried)})
    return _go(walker, name, PICK_UP, {"object": name})


def go_open(walker: Walker, name: str) -> Details:
    """Go to a door or a box and open it."""
    thing, _ = walker.known(name)
    failed = low.openable(walker.level, walker.names, thing)
    if failed:
        raise Fail(*failed)
    if thing.type == "door" and thing.is_open:
        raise Fail(low.ALREADY_OPEN, {"object": name})
    return _go(walker, name, TOGGLE, {"object": name})


def go_put(walker: Walker, name: str) -> Details:
    """Go to a thing and put what is held on a free square beside it."""
    _, place = walker.known(name)
    held = walker.level.carried
    if held is None:
        raise Fail(low.HANDS_EMPTY, {})

    def arrived(_: Square, front: Square) -> bool:
        free = front in walker.seen and walker.level.at(*front) is None
        return free and beside(front, place)

    way = walker.way(arrived)
    if way is None:
        raise Fail(low.NO_PATH, {"place": name})
    walker.do([*way, DROP])
    return {"object": walker.names.call(held), "place": name}


def go_explore(walker: Walker) -> Details:
    """Walk towards the nearest square that was not seen, until it is, or something new is."""
    wide, tall = walker.level.env.width, walker.level.env.height
    goal: list[Square] = []

    def unseen(_: Square, front: Square) -> bool:
        goal[:] = [front]
        return 0 <= front[0] < wide and 0 <= front[1] < tall and front not in walker.seen

    way = walker.way(unseen)
    if way is None:
        raise Fail(low.NOTHING_UNSEEN, {})
    named, wanted = len(walker.names.thing), goal[0]
    for code in way:
        walker.do([code])
        if len(walker.names.thing) > named or wanted in walker.seen:
            break
    return {"seen": list(walker.names.thing)[named:]}


ONE: dict[str, Callable[[Walker, str], Details]] = {
    "goto": goto,
    "go_grab": go_grab,
    "go_open": go_open,
    "go_put": go_put,
}
"""Errands about one thing."""
HIGH = (*ONE, "go_explore", "turn_left", "turn_right", "drop", "stop")
"""The verbs of bodies that nobody steers step by step."""
