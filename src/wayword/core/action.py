"""Actions, the action space (listed and legal actions), and parsed answers of agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Action:
    """A verb and its arguments: ``Action("goto", ("fridge_1",))`` prints as ``goto[fridge_1]``."""

    name: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.arguments:
            return f"{self.name}[{', '.join(self.arguments)}]"
        return self.name


STOP = Action("stop")
"""Ends the actor's episode. Every world understands it."""


def as_written(text: str) -> Action:
    """Return the action that prints as this text; the whole text is its name if none does.

    >>> as_written("put[mug_1, desk]")
    Action(name='put', arguments=('mug_1', 'desk'))
    """
    name, bracket, rest = text.partition("[")
    if not (name and bracket and rest.endswith("]")):
        return Action(text)
    return Action(name, tuple(rest.removesuffix("]").split(", ")))


def call_of(action: Action) -> str:
    """Return the Python code of an action, for a message.

    >>> call_of(Action("goto", ("fridge_1",)))
    "Action('goto', ('fridge_1',))"
    """
    if action == STOP:
        return "STOP"
    if not action.arguments:
        return f"Action({action.name!r:.40})"
    return f"Action({action.name!r:.40}, {action.arguments!r:.60})"


class LazyActions(Sequence[Action]):
    """A sequence that ``make`` computes at the first access.

    >>> actions = LazyActions(lambda: [STOP])
    >>> len(actions), STOP in actions
    (1, True)
    """

    def __init__(self, make: Callable[[], Sequence[Action]]) -> None:
        self._make = make

    @cached_property
    def _actions(self) -> Sequence[Action]:
        """The listed actions, made at first use."""
        return self._make()

    def __len__(self) -> int:
        return len(self._actions)

    def __getitem__(self, index: Any) -> Any:
        return self._actions[index]

    def __iter__(self) -> Iterator[Action]:
        return iter(self._actions)


@dataclass(frozen=True, slots=True)
class ActionSpace:
    """The current choices of an actor: the listed actions and all legal ones.

    ``listed`` are the actions shown, each complete (no free text), in the world's order.
    ``open_verbs`` take free text as their one argument (``chat``, ``ask``, ``stop`` with an
    answer). ``accepts`` returns True for every legal action, including the listed ones: a house
    accepts every well-formed action, and an impossible one gets failure feedback. If it is None,
    only listed actions are legal. ``named`` is a fast test that an action is listed, spelled
    exactly, without building the list; by default the list is searched. ``forms`` are regular
    expressions of accepted actions that are not listed, such as turns by any number of degrees;
    constrained decoding uses them.

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


# A rejection is counted, shown, and fed back to the agent, never silently replaced by a default
# action. If a paper's recipe has a fallback (VELMA: forward), the decision carries the rejection.

RejectionKind = Literal[
    "empty", "no_action", "several_actions", "unknown", "illegal", "too_long", "cut_off"
]


@dataclass(frozen=True, slots=True)
class Rejection:
    """An answer without a valid action: its text, and the reason for the rejection.

    Kinds include ``no_action`` (prose without an action), ``unknown`` (unknown action or ID),
    ``illegal`` (known, but not legal now) and ``cut_off`` (the answer ended at its token limit).
    """

    kind: RejectionKind
    reason: str
    said: str = ""
    thought: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """An action, with the thought that led to it. ``fallback_for`` holds the rejected answer if the
    recipe's fallback chose the action."""

    action: Action
    thought: str = ""
    fallback_for: Rejection | None = None


LONGEST_SAID = 2_000
"""Characters of a rejected answer that are recorded with its step, by choice: the record of the
model's call has all of it."""


def decision_problem(answer: object) -> str:
    """Return why an agent's answer is neither a decision nor a rejection; empty if it is one."""
    # Recorded as texts, and read as such by tables and pages.
    for field in ("thought", "said", "reason", "kind"):
        text = getattr(answer, field, "")
        if not isinstance(text, str):
            return f"{field} must be text, got {text!r:.80}"
    if isinstance(answer, Rejection):
        return ""
    fallback = getattr(answer, "fallback_for", None)
    if not isinstance(fallback, Rejection | None):
        return f"fallback_for must be a Rejection or None, got {fallback!r:.80}"
    action = getattr(answer, "action", None)
    if not isinstance(action, Action):
        problem = "act must return Decision(Action(…)) or a Rejection"
        remedy = ""
        name = action or answer
        if isinstance(name, str):
            remedy = f"; write Decision({call_of(as_written(name))})"
        return f"{problem}, got {answer!r:.80}{remedy}"
    return action_problem(action)


def action_problem(action: Action) -> str:
    """Return what is wrong with the name or the arguments of an action; empty if nothing is."""
    verb: Any = action.name
    if not isinstance(verb, str):
        return f"the name of an action must be text, got {action!r:.80}"
    # A text is a sequence, too: each of its letters would be an argument.
    arguments: Any = action.arguments
    if isinstance(arguments, tuple) and all(
        isinstance(each, str) for each in arguments
    ):
        return ""
    if not isinstance(arguments, tuple | list):
        arguments = (arguments,)
    problem = f"the arguments of an action are a tuple of texts, got {action!r:.80}"
    if any(isinstance(each, Action) for each in arguments):
        return f"{problem}; return the inner action itself"
    texts = tuple(map(str, arguments))
    return f"{problem}; write Action({verb!r}, {texts!r:.60})"


def plan_problem(action: object) -> str:
    """Return why a plan cannot yield this as its next action; empty if it can."""
    if isinstance(action, Action):
        return action_problem(action)
    remedy = ""
    if isinstance(action, str):
        remedy = f"; write yield {call_of(as_written(action))}"
    return f"a plan must yield Action(…), got {action!r:.80}{remedy}"


def nearest_legal(action: Action, space: ActionSpace) -> str:
    """Return the listed actions that the author of an illegal one may have meant.

    >>> nearest_legal(Action("rigth"), ActionSpace((Action("left"), Action("right"), STOP)))
    'did you mean right?'
    """
    listed = [str(each) for each in space.listed]
    text = str(action)
    # The same text, but other parts: its name holds the arguments, or one argument all of them.
    if text in listed:
        meant = space.listed[listed.index(text)]
        return (
            f"its name and each argument are texts of their own: write {call_of(meant)}"
        )
    if "[" in action.name:
        meant = as_written(action.name)
        return f"its name holds the arguments: write {call_of(meant)}"
    near = get_close_matches(text, listed, 3, 0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    shown = ", ".join(listed[:5]) or "none"
    if len(listed) > 5:
        shown += f" and {len(listed) - 5} more"
    return f"legal here: {shown}"


def legal(decision: Decision | Rejection, space: ActionSpace) -> Decision | Rejection:
    """Return the decision, or a rejection if its action is not in the action space.

    ``said`` of a rejection is cut to ``LONGEST_SAID``. Raises ``TypeError`` for an answer that is
    neither.
    """
    if problem := decision_problem(decision):
        raise TypeError(problem)
    if isinstance(decision, Rejection):
        if len(decision.said) > LONGEST_SAID:
            return replace(decision, said=decision.said[:LONGEST_SAID])
        return decision
    if decision.action in space:
        return decision
    said = str(decision.action)[:LONGEST_SAID]
    reason = f"{said} is not a legal action here"
    return Rejection("illegal", reason, said, thought=decision.thought)
