"""A person at the keyboard: told things, asked for a line, free to leave.

A test gives a :class:`Person` of its own; :class:`Terminal` is the real one. What models and
datasets say is shown as text: control characters, which could drive a terminal, are taken out.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import IO, Any, Literal, Protocol, cast

from wayword.core.agent import Shared
from wayword.core.dataset import Dataset
from wayword.core.episode import Episode
from wayword.core.errors import BudgetExhausted
from wayword.core.world import World
from wayword.worlds.household.observation import Answerer
from wayword.worlds.household.world import HouseholdWorld

PERSON = "person"
"""Where ``Toolkit.shared`` keeps the one that all agents of a run talk to."""
Style = Literal["", "title", "good", "warning", "dim"]
_COLOURS: dict[Style, str] = {"title": "1", "good": "32", "warning": "33", "dim": "2"}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_POLL = 0.1
"""Seconds after which a waiting question looks whether it is still wanted."""


class Left(BudgetExhausted):
    """The person has had enough: the run ends in order, and finished episodes stay."""


class Person(Protocol):
    """Somebody to talk to."""

    def tell(self, text: str, style: Style = "") -> None:
        """Show some lines."""
        ...

    def ask(self, question: str) -> str:
        """Wait for a line. Raises ``EOFError`` when nobody is there any more."""
        ...

    def leave(self) -> None:
        """End an ``ask`` that waits on another thread."""
        ...


class Terminal:
    """The person at this process's terminal: read from stdin, told on stderr.

    Lines are read without a lock on stdin and with a look at the clock, so that a question can be
    given up from another thread. Colours are left out where stderr is no terminal, and for
    ``NO_COLOR``.
    """

    def __init__(self, keyboard: int | None = None, screen: IO[str] | None = None) -> None:
        self._keyboard, self._screen = keyboard, screen
        self._held = b""
        self._left = threading.Event()

    def tell(self, text: str, style: Style = "") -> None:
        self._write(self._painted(plain_text(text), style) + "\n")

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
        keyboard = self._descriptor()
        while keyboard is not None and not self._left.is_set():
            if select.select([keyboard], [], [], _POLL)[0]:
                return os.read(keyboard, 4096)
        return b""

    def _descriptor(self) -> int | None:
        if self._keyboard is None:
            try:
                self._keyboard = sys.stdin.fileno()
            except (AttributeError, OSError, ValueError):
                return None  # there is no stdin, or it is no file
        return self._keyboard

    def _write(self, text: str) -> None:
        screen = self._screen or sys.stderr
        screen.write(text)
        screen.flush()

    def _painted(self, text: str, style: Style) -> str:
        screen = self._screen or sys.stderr
        if not style or "NO_COLOR" in os.environ or not screen.isatty():
            return text
        return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m"


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
        with _interruptible(self._person) as interrupted:
            try:
                return self._person.ask("answer (nothing: no answer) > ") or None
            except EOFError:
                if interrupted.is_set():  # the run's own task has been cancelled already
                    raise asyncio.CancelledError from None
                return None


@contextmanager
def _interruptible(person: Person) -> Iterator[threading.Event]:
    """Let Ctrl-C end a question too: the event loop, which has its own way with it, waits here."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    before = signal.getsignal(signal.SIGINT)

    def leave(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        person.leave()
        if callable(before):
            before(number, frame)

    signal.signal(signal.SIGINT, leave)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


# Who answers when an agent asks: a dataset whose worlds have an answerer.
#
# Datasets make their own worlds, and know nothing of who sits at the terminal. So the dataset of a
# run is handed on with a ``world`` that sets the answerer of worlds that take one.


def answered_by(dataset: Dataset, person: Person) -> Dataset:
    """The dataset, with a person who answers in its worlds."""
    return cast(Dataset, Answered(dataset, AnswersAtTheTerminal(person)))


class Answered:
    """A dataset like the given one; ``answerer`` answers in its worlds."""

    def __init__(self, dataset: Dataset, answerer: Answerer) -> None:
        self._dataset, self._answerer = dataset, answerer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def world(self, episode: Episode) -> World:
        """A fresh world for the episode."""
        return answered(self._dataset.world(episode), self._answerer)


def answered(world: World, answerer: Answerer | None) -> World:
    """The world, with the answerer where there is one and the world takes one."""
    if answerer is not None and isinstance(world, HouseholdWorld):
        world.answerer = answerer
    return world
