"""A person who plays or answers: told things, asked for a line, free to leave.

A test gives a :class:`Person` of its own; :class:`Terminal` is the one at the keyboard, and the
viewer has one in the browser. What models and datasets say is shown as text: control characters,
which could drive a terminal, are taken out.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import shutil
import signal
import sys
import textwrap
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Literal, cast

from wayword.core.action import ActionSpace
from wayword.core.agent import Shared
from wayword.core.dataset import Dataset
from wayword.core.episode import Episode
from wayword.core.errors import BudgetExhausted
from wayword.core.trajectory import Step
from wayword.core.world import Observation, World

if TYPE_CHECKING:
    from wayword.worlds.household.observation import Answerer

PERSON = "person"
"""Where ``Toolkit.shared`` keeps the one that all agents of a run talk to."""
Style = Literal["", "title", "good", "warning", "dim"]
_COLOURS: dict[Style, str] = {"title": "1", "good": "32", "warning": "33", "dim": "2"}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_POLL = 0.1
"""Seconds after which a waiting question looks whether it is still wanted."""


class Left(BudgetExhausted):
    """The person has had enough: the run ends in order, and finished episodes stay."""


class Person(ABC):
    """Someone to talk to. All but ``tell`` and ``ask`` have a default."""

    @abstractmethod
    def tell(self, text: str, style: Style = "") -> None:
        """Show some lines."""

    @abstractmethod
    def ask(self, question: str) -> str:
        """Wait for a line. Raises ``EOFError`` when nobody is there any more."""

    def leave(self) -> None:  # noqa: B027
        """End an ``ask`` that waits on another thread."""

    def show(self, situation: Situation) -> bool:
        """Show a turn as it is, with a map and buttons; False to be told it as lines."""
        return False

    def seat(self, actor: str) -> Person:
        """The person who plays an actor: another one where several share no keyboard."""
        return self

    def enter(self, episode: Episode, world: World) -> None:  # noqa: B027
        """An episode begins in this world."""

    def stepped(self, step: Step) -> None:  # noqa: B027
        """Some actor has taken a turn."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What an actor is shown at its turn: the words that an agent would read, and what is legal.

    ``turn`` counts the actor's own turns from 1. ``others`` are the other actors' names. ``own``
    is what the actor knows of itself and ``around`` what it perceives, either one maybe empty.
    """

    turn: int
    actor: str
    others: tuple[str, ...]
    episode: Episode
    instruction: str
    rules: str
    own: str
    around: str
    space: ActionSpace
    observation: Observation


class Terminal(Person):
    """The person at this process's terminal: read from stdin, told on stderr.

    Lines are read without a lock on stdin and with a look at the clock, so that a question can be
    given up from another thread. Colours are left out where stderr is no terminal, and for
    ``NO_COLOR``; there, lines are not wrapped at words either.
    """

    def __init__(self, keyboard: int | None = None, screen: IO[str] | None = None) -> None:
        self._keyboard, self._screen = keyboard, screen
        self._held = b""
        self._left = threading.Event()

    def tell(self, text: str, style: Style = "") -> None:
        text = plain_text(text)
        if (self._screen or sys.stderr).isatty():
            wide = max(20, shutil.get_terminal_size().columns)
            text = "\n".join(wrapped(line, wide) for line in text.split("\n"))
        self._write(self._painted(text, style) + "\n")

    def ask(self, question: str) -> str:
        self._left.clear()  # before the question is shown: who sees it may leave at once
        self._write(self._painted(plain_text(question), "title"))
        while b"\n" not in self._held:
            more = self._read()
            if not more and not self._held:
                self._write("\n")
                raise EOFError
            self._held += more or b"\n"
        line, _, self._held = self._held.partition(b"\n")
        return line.decode(errors="replace").strip()

    def leave(self) -> None:
        self._left.set()

    def _read(self) -> bytes:
        """What was typed, empty at the end of the input."""
        if self._keyboard is None:
            try:
                self._keyboard = sys.stdin.fileno()
            except (AttributeError, OSError, ValueError):
                return b""  # there is no stdin, or it is no file
        while not self._left.is_set():
            if select.select([self._keyboard], [], [], _POLL)[0]:
                return os.read(self._keyboard, 4096)
        return b""

    def _write(self, text: str) -> None:
        screen = self._screen or sys.stderr
        screen.write(text)
        screen.flush()

    def _painted(self, text: str, style: Style) -> str:
        screen = self._screen or sys.stderr
        if not style or "NO_COLOR" in os.environ or not screen.isatty():
            return text
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m"


def wrapped(line: str, wide: int) -> str:
    """A line broken between words; what follows is indented by two.

    >>> wrapped("one two three", 9)
    'one two\\n  three'
    """
    if len(line) <= wide:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, wide, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False
    )


def plain_text(text: str) -> str:
    """The text without what could drive a terminal; a mark stands where something was."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def person_of(shared: Shared) -> Person:
    """The person that a run's agents share; the one at the terminal where none was given."""
    return cast(Person, shared.setdefault(PERSON, Terminal()))


async def hear(person: Person, question: str) -> str:
    """A line from the person; others go on meanwhile. Raises ``Left`` where nobody is there."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(None, person.ask, question)
    except EOFError:
        raise Left("the player left") from None
    except asyncio.CancelledError:
        person.leave()
        raise


class AnswersAtTheTerminal:
    """An answerer of the household world: whatever an agent asks, a person is asked.

    The world waits for the answer, and with it everybody in this process, so that runs in which a
    person answers play one episode at a time. An empty line is no answer.
    """

    def __init__(self, person: Person) -> None:
        self._person = person

    def __call__(self, actor: str, question: str) -> str | None:
        self._person.tell(f"{actor} asks: {question}", "title")
        interrupted = threading.Event()
        before = signal.getsignal(signal.SIGINT)

        def leave(number: int, frame: FrameType | None) -> None:
            interrupted.set()
            self._person.leave()
            if callable(before):
                before(number, frame)

        # Let Ctrl-C end the question: the event loop, which has its own way with it, waits here.
        main = threading.current_thread() is threading.main_thread()
        if main:
            signal.signal(signal.SIGINT, leave)
        try:
            return self._person.ask("answer (nothing: no answer) > ") or None
        except EOFError:
            if interrupted.is_set():  # the run's own task has been cancelled already
                raise asyncio.CancelledError from None
            return None
        finally:
            if main:
                signal.signal(signal.SIGINT, before)


class Answered:
    """A dataset like the given one, with a person who answers in its worlds, and may watch them.

    Datasets make their own worlds, and know nothing of who sits at the terminal.
    """

    def __init__(self, dataset: Dataset, person: Person) -> None:
        self._dataset, self._person = dataset, person

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def world(self, episode: Episode) -> World:
        world = answered(self._dataset.world(episode), AnswersAtTheTerminal(self._person))
        self._person.enter(episode, world)
        return world


def answered_by(dataset: Dataset, person: Person) -> Dataset:
    """The dataset, with a person who answers in its worlds."""
    return cast(Dataset, Answered(dataset, person))


def answered(world: World, answerer: Answerer | None) -> World:
    """The world, with the answerer where there is one and the world takes one."""
    if answerer is not None:
        from wayword.worlds.household.world import HouseholdWorld  # not for runs without a person

        if isinstance(world, HouseholdWorld):
            world.answerer = answerer
    return world
