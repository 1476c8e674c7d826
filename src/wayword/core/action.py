"""Action, and the menu of actions that are legal now."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload


@dataclass(frozen=True, slots=True)
class Action:
    """A verb and its arguments: ``Action("goto", ("fridge_1",))`` prints as ``goto[fridge_1]``."""

    name: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(self.arguments)}]" if self.arguments else self.name


STOP = Action("stop")
"""Ends the actor's episode. Every world understands it."""


class ListedWhenAsked(Sequence[Action], ABC):
    """Closed choices that are worked out once somebody lists them.

    A subclass says what is listed, and with ``__contains__`` what else is legal.
    """

    @abstractmethod
    def listed(self) -> list[Action]:
        """The choices, in the world's order. Called once."""

    def knows(self, action: Action) -> bool:
        """Whether an action is legal and its words are written as they are here, as far as that
        can be said without listing the choices; False leaves it to the list."""
        return False

    @cached_property
    def _made(self) -> list[Action]:
        return self.listed()

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> Action: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Action]: ...
    def __getitem__(self, index: int | slice) -> Action | Sequence[Action]:
        return self._made[index]

    def __iter__(self) -> Iterator[Action]:
        return iter(self._made)


@dataclass(frozen=True, slots=True)
class ActionSpace:
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

    def knows(self, action: Action) -> bool:
        """Whether an action is a closed choice whose words need no reading: listing nothing."""
        if isinstance(self.actions, ListedWhenAsked):
            return self.actions.knows(action)
        return action in self.actions


# Decision or Rejection: what an agent's answer amounted to.
#
# A rejection is a value. It is counted, shown, and fed back to the agent; it is never quietly
# replaced by a default action. Where a paper's recipe has a fallback (VELMA: forward; LGX: a
# random direction), the decision carries the rejection that led to it.

RejectionKind = str
"""``empty``, ``no_action``, ``several_actions``, ``unknown``, ``illegal``, ``too_long``,
``cut_off``."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """An answer that is no action: what was said, and why it does not count.

    ``kind`` is one of ``empty``, ``no_action`` (prose without an action), ``several_actions``,
    ``unknown`` (no such action or ID), ``illegal`` (exists, but not from here), ``too_long`` and
    ``cut_off`` (the answer ended at its token limit before it could be read).
    """

    kind: RejectionKind
    reason: str
    said: str = ""
    thought: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """An action, with the thought that led to it.

    ``fallback_for`` holds the rejected answer where the recipe's stated fallback chose the action.
    """

    action: Action
    thought: str = ""
    fallback_for: Rejection | None = None


def legal(decision: Decision | Rejection, space: ActionSpace) -> Decision | Rejection:
    """The decision, or a rejection where its action is not in the action space."""
    if isinstance(decision, Rejection) or decision.action in space:
        return decision
    reason = f"{decision.action} is not a legal action here"
    return Rejection("illegal", reason, str(decision.action), decision.thought)
