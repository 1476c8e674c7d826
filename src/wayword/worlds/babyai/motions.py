"""Single motions, one action of the level each, and whole errands over the squares that were seen.

Time passes with every single motion, as in the package; nothing else changes when one fails. An
errand is planned before its first step, so that one that fails changes nothing, not even the time.
One that ends the level ends there.

Source: LangSuitE (Jia et al. 2024), Table 2; the errands themselves are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wayword.core.episode import Json
from wayword.worlds.babyai.level import (
    DROP,
    FORWARD,
    LEFT,
    PICK_UP,
    RIGHT,
    TOGGLE,
    Arrived,
    Level,
    LevelNames,
    Square,
    route,
    seen_squares,
)

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
    outcome = (OK, {}) if verb.startswith("turn") else _foreseen(level, names, verb)
    level.act(CODES[verb])
    return outcome


def _foreseen(level: Level, names: LevelNames, verb: str) -> Outcome:
    there, held = level.front(), level.carried
    name = "" if there is None else called(names, there)
    if verb == "move_ahead":
        return (OK, {}) if there is None or there.can_overlap() else (BLOCKED, {"by": name})
    if verb == "drop":
        if held is None:
            return HANDS_EMPTY, {}
        return (TAKEN, {"by": name}) if there is not None else (OK, {"object": names.call(held)})
    if there is None:
        return NOTHING_THERE, {}
    if verb == "pick_up":
        return why_not_taken(level, names, there) or (OK, {"object": name})
    opens = there.type == "box" or not getattr(there, "is_open", False)
    return why_not_opened(level, names, there) or (OK, {"object": name, "opens": opens})


def why_not_taken(level: Level, names: LevelNames, thing: Any) -> Outcome | None:
    """Why a thing cannot be picked up; None where it can."""
    if not thing.can_pickup():
        return NOT_PICKUPABLE, {"object": called(names, thing)}
    if level.carried is not None:
        return HANDS_FULL, {"holding": names.call(level.carried)}
    return None


def why_not_opened(level: Level, names: LevelNames, thing: Any) -> Outcome | None:
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


Details = dict[str, Json]


class ErrandFailed(Exception):
    """An errand that cannot be run: its status and details."""

    def __init__(self, status: str, details: Details) -> None:
        super().__init__(status)
        self.status, self.details = status, details


ONE = ("goto", "go_grab", "go_open", "go_put")
"""Errands about one thing: methods of :class:`LevelWalker`, as is ``go_explore``."""
HIGH = (*ONE, "go_explore", "turn_left", "turn_right", "drop", "stop")
"""The verbs of bodies that nobody steers step by step."""


class LevelWalker:
    """An actor in a level who remembers what was seen. Errands raise ``ErrandFailed``."""

    def __init__(self, level: Level, names: LevelNames, note: Callable[[], None]) -> None:
        self.level, self.names = level, names
        self.seen: set[Square] = set(seen_squares(level))
        self._note = note

    def remember(self) -> None:
        """Take in what is in view now."""
        self.seen.update(seen_squares(self.level))
        self._note()

    def goto(self, name: str) -> Details:
        """Stand before a thing, facing it."""
        return self._go(name)

    def go_grab(self, name: str) -> Details:
        """Go to a thing and pick it up."""
        thing, _ = self._known(name)
        if failed := why_not_taken(self.level, self.names, thing):
            raise ErrandFailed(*failed)
        return self._go(name, PICK_UP)

    def go_open(self, name: str) -> Details:
        """Go to a door or a box and open it."""
        thing, _ = self._known(name)
        if failed := why_not_opened(self.level, self.names, thing):
            raise ErrandFailed(*failed)
        if thing.type == "door" and thing.is_open:
            raise ErrandFailed(ALREADY_OPEN, {"object": name})
        return self._go(name, TOGGLE)

    def go_put(self, name: str) -> Details:
        """Go to a thing and put what is held on a free square beside it."""
        _, place = self._known(name)
        held = self.level.carried
        if held is None:
            raise ErrandFailed(HANDS_EMPTY, {})

        def arrived(_: Square, front: Square) -> bool:
            free = front in self.seen and self.level.at(*front) is None
            return free and abs(front[0] - place[0]) + abs(front[1] - place[1]) == 1

        self._walk(arrived, ErrandFailed(NO_PATH, {"place": name}), DROP)
        return {"object": self.names.call(held), "place": name}

    def go_explore(self) -> Details:
        """Walk towards the nearest square that was not seen, until it is, or something new is."""
        wide, tall = self.level.env.width, self.level.env.height
        goal: list[Square] = []

        def unseen(_: Square, front: Square) -> bool:
            goal[:] = [front]
            return 0 <= front[0] < wide and 0 <= front[1] < tall and front not in self.seen

        named = len(self.names.thing)
        self._walk(
            unseen,
            ErrandFailed(NOTHING_UNSEEN, {}),
            until=lambda: len(self.names.thing) > named or goal[0] in self.seen,
        )
        return {"seen": list(self.names.thing)[named:]}

    def _known(self, name: str) -> tuple[Any, Square]:
        """A thing that was seen, and where it is."""
        thing = self.names.thing.get(name)
        if thing is not None and thing is self.level.carried:
            raise ErrandFailed(ALREADY_HELD, {"object": name})
        place = None if thing is None else self.level.find(thing)
        if place is None:
            raise ErrandFailed(NO_SUCH_OBJECT, {"object": name})
        return thing, place

    def _go(self, name: str, *last: int) -> Details:
        """Up to a thing, so that it is right ahead, and one more action there."""
        _, place = self._known(name)
        failure = ErrandFailed(NO_PATH, {"place": name})
        self._walk(lambda _, front: front == place, failure, *last)
        return {"object": name}

    def _walk(
        self,
        arrived: Arrived,
        failure: ErrandFailed,
        *last: int,
        until: Callable[[], bool] = lambda: False,
    ) -> None:
        """The shortest way over squares that were seen, and the package's action at its end."""
        way = route(self.level, arrived, self.seen)
        if way is None:
            raise failure
        for code in (*way, *last):
            if not self.level.over:
                self.level.act(code)
                self.remember()
                if until():
                    return
