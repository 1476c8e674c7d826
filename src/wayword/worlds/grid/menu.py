"""KnownErrands: what an actor may try, made only when listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from wayword.core.action import Action
from wayword.worlds.grid.high import HIGH, ONE
from wayword.worlds.grid.level import Level
from wayword.worlds.grid.view import Names


class KnownErrands(Sequence[Action]):
    """The closed choices of an actor that runs errands.

    *Listed* are the errands that suit the things it has seen and that are still there. *Contained*
    is every well-formed errand; the world answers it, with a failure where it must.
    """

    def __init__(self, level: Level, names: Names) -> None:
        self._level, self._names = level, names
        self._count = len(names.thing)
        self._made: list[Action] | None = None

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, Action) or action.name not in HIGH:
            return False
        words = action.arguments
        return len(words) == (action.name in ONE) and all(words)

    def __len__(self) -> int:
        return len(self._listed())

    @overload
    def __getitem__(self, index: int) -> Action: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Action]: ...
    def __getitem__(self, index: int | slice) -> Action | Sequence[Action]:
        return self._listed()[index]

    def __iter__(self) -> Iterator[Action]:
        return iter(self._listed())

    def _listed(self) -> list[Action]:
        if self._made is None:
            known = list(self._names.thing)[: self._count]
            there = [name for name in known if self._level.find(self._names.thing[name])]
            self._made = [
                action
                for verb in HIGH
                for action in (
                    [Action(verb, (name,)) for name in there if self._suits(verb, name)]
                    if verb in ONE
                    else [Action(verb)]
                )
            ]
        return self._made

    def _suits(self, verb: str, name: str) -> bool:
        thing = self._names.thing[name]
        if verb == "go_grab":
            return bool(thing.can_pickup())
        if verb == "go_open":
            return thing.type in ("door", "box")
        return verb != "go_put" or self._level.carried is not None
