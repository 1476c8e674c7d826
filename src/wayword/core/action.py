"""Action, and the menu of actions that are legal now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """A verb and its arguments: ``Action("goto", ("fridge_1",))`` prints as ``goto[fridge_1]``."""

    name: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(self.arguments)}]" if self.arguments else self.name


STOP = Action("stop")
"""Ends the actor's episode. Every world understands it."""


@dataclass(frozen=True, slots=True)
class Menu:
    """What an actor may decide now.

    ``actions`` lists every closed choice, in the world's order; it may be any sequence, also one
    that makes its items only when asked. ``open_verbs`` take free text as their one argument
    (``chat``, ``ask``, ``stop`` with an answer), so any such text is on the menu.
    """

    actions: Sequence[Action]
    open_verbs: tuple[str, ...] = ()

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, Action):
            return False
        spoken = action.name in self.open_verbs and len(action.arguments) == 1
        return spoken or action in self.actions

    def __len__(self) -> int:
        return len(self.actions) + len(self.open_verbs)
