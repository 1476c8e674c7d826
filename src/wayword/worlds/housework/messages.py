"""Messages: what actors say to each other, and who answers their questions.

A message reaches its recipients at their next turn, in the order of sending, and leaves their
observation once they have acted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Answerer = Callable[[str, str], str | None]
"""``(actor, question) -> answer``, or None for no answer: a person, or a script."""


@dataclass(frozen=True, slots=True)
class Message:
    """What was said, and by whom."""

    sender: str
    text: str


@dataclass(slots=True)
class Mailbox:
    """One inbox an actor, and the log of all that was said (sender, recipients, text)."""

    inbox: dict[str, list[Message]]
    log: list[tuple[str, tuple[str, ...], str]] = field(default_factory=list)

    def send(self, sender: str, recipients: Iterable[str], text: str) -> None:
        """Put a message into each recipient's inbox."""
        to = tuple(recipients)
        self.log.append((sender, to, text))
        for name in to:
            self.inbox[name].append(Message(sender, text))

    def read(self, actor: str) -> None:
        """The actor has acted on what was in its inbox."""
        self.inbox[actor].clear()


@dataclass(slots=True)
class ScriptedAnswers:
    """An answerer that gives listed answers in order, then none: for tests and for replays."""

    answers: list[str]
    asked: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, actor: str, question: str) -> str | None:
        self.asked.append((actor, question))
        count = len(self.asked)
        return self.answers[count - 1] if count <= len(self.answers) else None
