"""Single motions: one action of the level each, and why it may come to nothing.

Time passes with every one of them, as in the package; nothing else changes when one fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wayword.core.episode import Json
from wayword.worlds.babyai.level import DROP, FORWARD, LEFT, PICK_UP, RIGHT, TOGGLE, Level
from wayword.worlds.babyai.view import Arrived, LevelNames, Square, beside, route, seen_squares

CODES = {
    "move_ahead": FORWARD,
    "turn_left": LEFT,
    "turn_right": RIGHT,
    "pick_up": PICK_UP,
    "drop": DROP,
    "toggle": TOGGLE,
}
"""Verb -> the package's action."""
LOW = (*CODES, "stop")

OK = "ok"
BLOCKED = "blocked"  # a wall, a thing or a shut door is in the way
NOTHING_THERE = "nothing_there"  # the square ahead is empty
NOT_PICKUPABLE = "not_pickupable"
NOT_OPENABLE = "not_openable"
HANDS_FULL = "hands_full"
HANDS_EMPTY = "hands_empty"
TAKEN = "taken"  # the square ahead is not free to put something on
LOCKED = "locked"  # and its key is not in hand
ALREADY_OPEN = "already_open"
ALREADY_HELD = "already_held"
NO_SUCH_OBJECT = "no_such_object"  # no thing of that name has been seen, or it is gone
NO_PATH = "no_path"  # through what has been seen, as things and doors are
NOTHING_UNSEEN = "nothing_unseen"  # nothing unseen can be walked to

FAILURES: dict[str, tuple[str, ...]] = {
    "move_ahead": (BLOCKED,),
    "turn_left": (),
    "turn_right": (),
    "pick_up": (NOTHING_THERE, NOT_PICKUPABLE, HANDS_FULL),
    "drop": (HANDS_EMPTY, TAKEN),
    "toggle": (NOTHING_THERE, NOT_OPENABLE, LOCKED),
    "goto": (NO_SUCH_OBJECT, ALREADY_HELD, NO_PATH),
    "go_grab": (NO_SUCH_OBJECT, ALREADY_HELD, NO_PATH, NOT_PICKUPABLE, HANDS_FULL),
    "go_open": (NO_SUCH_OBJECT, ALREADY_HELD, NO_PATH, NOT_OPENABLE, LOCKED, ALREADY_OPEN),
    "go_put": (NO_SUCH_OBJECT, ALREADY_HELD, NO_PATH, HANDS_EMPTY),
    "go_explore": (NOTHING_UNSEEN,),
    "stop": (),
}
"""Verb -> the failures it can answer with. Each pair has a test."""

Outcome = tuple[str, dict[str, Json]]
"""A status and its details."""


def primitive(level: Level, names: LevelNames, verb: str) -> Outcome:
    """Carry out a single motion; its outcome is read off the level before."""
    outcome = _CHECKS[verb](level, names) if verb in _CHECKS else (OK, {})
    level.act(CODES[verb])
    return outcome


def openable(level: Level, names: LevelNames, thing: Any) -> Outcome | None:
    """Why a thing cannot be opened; None where it can."""
    if thing.type not in ("door", "box"):
        return NOT_OPENABLE, {"object": called(names, thing)}
    if thing.type == "door" and thing.is_locked:
        held = level.carried
        if held is None or held.type != "key" or held.color != thing.color:
            return LOCKED, {"object": names.call(thing), "key": f"{thing.color} key"}
    return None


def called(names: LevelNames, thing: Any) -> str:
    """A thing's name; walls have none of their own."""
    return "a wall" if thing.type == "wall" else names.call(thing)


def _move(level: Level, names: LevelNames) -> Outcome:
    there = level.front()
    if there is None or there.can_overlap():
        return OK, {}
    return BLOCKED, {"by": called(names, there)}


def _pick_up(level: Level, names: LevelNames) -> Outcome:
    there = level.front()
    if there is None:
        return NOTHING_THERE, {}
    name = called(names, there)
    if not there.can_pickup():
        return NOT_PICKUPABLE, {"object": name}
    if level.carried is not None:
        return HANDS_FULL, {"holding": names.call(level.carried)}
    return OK, {"object": name}


def _drop(level: Level, names: LevelNames) -> Outcome:
    if level.carried is None:
        return HANDS_EMPTY, {}
    there = level.front()
    if there is not None:
        return TAKEN, {"by": called(names, there)}
    return OK, {"object": names.call(level.carried)}


def _toggle(level: Level, names: LevelNames) -> Outcome:
    there = level.front()
    if there is None:
        return NOTHING_THERE, {}
    failed = openable(level, names, there)
    if failed:
        return failed
    opens = there.type == "box" or not there.is_open
    return OK, {"object": names.call(there), "opens": opens}


_CHECKS = {"move_ahead": _move, "pick_up": _pick_up, "drop": _drop, "toggle": _toggle}


# Whole errands, walked over the squares that have been seen.
#
# Everything is planned before the first step, so that an errand that fails changes nothing, not
# even the time. One that ends the level ends there.
#
# Source: LangSuitE (Jia et al. 2024), Table 2; the errands themselves are our own.

Details = dict[str, Json]


class ErrandFailed(Exception):
    """An errand that cannot be run: its status and details."""

    def __init__(self, status: str, details: dict[str, Json]) -> None:
        super().__init__(status)
        self.status, self.details = status, details


class LevelWalker:
    """Somebody in a level who remembers what was seen."""

    def __init__(self, level: Level, names: LevelNames, note: Callable[[], None]) -> None:
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
            raise ErrandFailed(ALREADY_HELD, {"object": name})
        place = None if thing is None else self.level.find(thing)
        if place is None:
            raise ErrandFailed(NO_SUCH_OBJECT, {"object": name})
        return thing, place


def _before(place: Square) -> Arrived:
    return lambda _, front: front == place


def _go(walker: LevelWalker, name: str, last: int | None, details: dict[str, Json]) -> Details:
    """Up to a thing, so that it is right ahead, and one more action there."""
    _, place = walker.known(name)
    way = walker.way(_before(place))
    if way is None:
        raise ErrandFailed(NO_PATH, {"place": name})
    walker.do(way if last is None else [*way, last])
    return details


def goto(walker: LevelWalker, name: str) -> Details:
    """Stand before a thing, facing it."""
    return _go(walker, name, None, {"object": name})


def go_grab(walker: LevelWalker, name: str) -> Details:
    """Go to a thing and pick it up."""
    thing, _ = walker.known(name)
    if not thing.can_pickup():
        raise ErrandFailed(NOT_PICKUPABLE, {"object": name})
    if walker.level.carried is not None:
        raise ErrandFailed(HANDS_FULL, {"holding": walker.names.call(walker.level.carried)})
    return _go(walker, name, PICK_UP, {"object": name})


def go_open(walker: LevelWalker, name: str) -> Details:
    """Go to a door or a box and open it."""
    thing, _ = walker.known(name)
    failed = openable(walker.level, walker.names, thing)
    if failed:
        raise ErrandFailed(*failed)
    if thing.type == "door" and thing.is_open:
        raise ErrandFailed(ALREADY_OPEN, {"object": name})
    return _go(walker, name, TOGGLE, {"object": name})


def go_put(walker: LevelWalker, name: str) -> Details:
    """Go to a thing and put what is held on a free square beside it."""
    _, place = walker.known(name)
    held = walker.level.carried
    if held is None:
        raise ErrandFailed(HANDS_EMPTY, {})

    def arrived(_: Square, front: Square) -> bool:
        free = front in walker.seen and walker.level.at(*front) is None
        return free and beside(front, place)

    way = walker.way(arrived)
    if way is None:
        raise ErrandFailed(NO_PATH, {"place": name})
    walker.do([*way, DROP])
    return {"object": walker.names.call(held), "place": name}


def go_explore(walker: LevelWalker) -> Details:
    """Walk towards the nearest square that was not seen, until it is, or something new is."""
    wide, tall = walker.level.env.width, walker.level.env.height
    goal: list[Square] = []

    def unseen(_: Square, front: Square) -> bool:
        goal[:] = [front]
        return 0 <= front[0] < wide and 0 <= front[1] < tall and front not in walker.seen

    way = walker.way(unseen)
    if way is None:
        raise ErrandFailed(NOTHING_UNSEEN, {})
    named, wanted = len(walker.names.thing), goal[0]
    for code in way:
        walker.do([code])
        if len(walker.names.thing) > named or wanted in walker.seen:
            break
    return {"seen": list(walker.names.thing)[named:]}


ONE: dict[str, Callable[[LevelWalker, str], Details]] = {
    "goto": goto,
    "go_grab": go_grab,
    "go_open": go_open,
    "go_put": go_put,
}
"""Errands about one thing."""
HIGH = (*ONE, "go_explore", "turn_left", "turn_right", "drop", "stop")
"""The verbs of bodies that nobody steers step by step."""
