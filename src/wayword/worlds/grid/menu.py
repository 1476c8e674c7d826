"""KnownErrands: what an actor may try, made only when listed."""

from __future__ import annotations

from wayword.core.action import Action, ListedWhenAsked
from wayword.worlds.grid.high import HIGH, ONE
from wayword.worlds.grid.level import Level
from wayword.worlds.grid.view import Names


class KnownErrands(ListedWhenAsked):
    """The closed choices of an actor that runs errands.

    *Listed* are the errands that suit the things it has seen and that are still there. *Contained*
    is every well-formed errand; the world answers it, with a failure where it must.
    """

    def __init__(self, level: Level, names: Names) -> None:
        self._level, self._names = level, names
        self._count = len(names.thing)

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, Action) or action.name not in HIGH:
            return False
        words = action.arguments
        return len(words) == (action.name in ONE) and all(words)

    def listed(self) -> list[Action]:
        known = list(self._names.thing)[: self._count]
        there = [name for name in known if self._level.find(self._names.thing[name])]
        return [
            action
            for verb in HIGH
            for action in (
                [Action(verb, (name,)) for name in there if self._suits(verb, name)]
                if verb in ONE
                else [Action(verb)]
            )
        ]

    def _suits(self, verb: str, name: str) -> bool:
        thing = self._names.thing[name]
        if verb == "go_grab":
            return bool(thing.can_pickup())
        if verb == "go_open":
            return thing.type in ("door", "box")
        return verb != "go_put" or self._level.carried is not None
