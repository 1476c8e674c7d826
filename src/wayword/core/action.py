"""Action, and the action space: what is listed and what is legal now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, overload


@dataclass(frozen=True, slots=True)
class Action:
    """A verb and its arguments: ``Action("goto", ("fridge_1",))`` prints as ``goto[fridge_1]``."""

    name: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(self.arguments)}]" if self.arguments else self.name


STOP = Action("stop")
"""Ends the actor's episode. Every world understands it."""


class LazyActions(Sequence[Action]):
    """A sequence that ``make`` computes at the first access.

    >>> made = LazyActions(lambda: [STOP])
    >>> len(made), STOP in made
    (1, True)
    """

    def __init__(self, make: Callable[[], Sequence[Action]]) -> None:
        self._make = make

    @cached_property
    def _actions(self) -> Sequence[Action]:
        return self._make()

    def __len__(self) -> int:
        return len(self._actions)

    @overload
    def __getitem__(self, index: int) -> Action: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Action]: ...
    def __getitem__(self, index: int | slice) -> Action | Sequence[Action]:
        return self._actions[index]

    def __iter__(self) -> Iterator[Action]:
        return iter(self._actions)


@dataclass(frozen=True, slots=True)
class ActionSpace:
    """The current choices of an actor: those it is shown, and all that are legal.

    ``listed`` are the actions shown, each complete (no free text), in the world's order.
    ``open_verbs`` take free text as their one argument (``chat``, ``ask``, ``stop`` with an
    answer). ``accepts`` says what else is legal, and must accept all that is listed: a house takes
    every well-formed action and answers what cannot be done with a failure. Without it, only what
    is listed is legal. ``named`` is a fast test, without making the list, that an action is legal
    and spelled exactly as it would be listed; without it the list is looked through. ``forms`` are
    regular expressions of other accepted actions, such as turns by any number of degrees,
    for answers that are held to a form.

    >>> space = ActionSpace((STOP,), accepts=lambda action: action.name in ("stop", "wait"))
    >>> Action("wait") in space, Action("wait") in space.listed
    (True, False)
    """

    listed: Sequence[Action]
    open_verbs: tuple[str, ...] = ()
    accepts: Callable[[Action], bool] | None = None
    named: Callable[[Action], bool] | None = None
    forms: tuple[str, ...] = ()

    def __contains__(self, action: object) -> bool:
        if not isinstance(action, Action):
            return False
        if action.name in self.open_verbs and len(action.arguments) == 1:
            return True
        return self.accepts(action) if self.accepts else action in self.listed

    def __len__(self) -> int:
        return len(self.listed) + len(self.open_verbs)

    def knows(self, action: Action) -> bool:
        """True if an action is a listed choice, spelled exactly as it is listed."""
        return self.named(action) if self.named else action in self.listed


# Decision or Rejection: what an agent's answer amounted to.
#
# A rejection is a value. It is counted, shown, and fed back to the agent; it is never quietly
# replaced by a default action. Where a paper's recipe has a fallback (VELMA: forward; LGX: a
# random direction), the decision carries the rejection that led to it.

RejectionKind = Literal[
    "empty", "no_action", "several_actions", "unknown", "illegal", "too_long", "cut_off"
]


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
    """Return the decision, or a rejection where its action is not in the action space."""
    if isinstance(decision, Rejection):
        return decision
    if not isinstance(getattr(decision, "action", None), Action):
        raise TypeError(f"act returns Decision(Action(…)) or a Rejection, not {decision!r}")
    if decision.action in space:
        return decision
    reason = f"{decision.action} is not a legal action here"
    return Rejection("illegal", reason, str(decision.action), decision.thought)
