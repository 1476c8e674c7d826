"""A person who plays or answers questions, at the terminal or in the browser.

:class:`Terminal` is the person at the keyboard. The viewer has one for the browser, and tests use
scripted ones. Control characters in texts of models and datasets are replaced, because they could
send commands to the terminal.
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
from functools import partial
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

# Key in ``Toolkit.shared`` of the person shared by all agents of a run
PERSON = "person"
Style = Literal["", "title", "good", "warning", "dim"]
_COLORS: dict[Style, str] = {"title": "1", "good": "32", "warning": "33", "dim": "2"}
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_POLL_SECONDS = 0.1  # how often a waiting question checks if it was cancelled


class PlayerLeft(BudgetExhausted):
    """Raised when the person quits: the run ends cleanly, and finished episodes are kept."""


class Person(ABC):
    """Interface to a person. All methods but ``write`` and ``ask`` have a default."""

    @abstractmethod
    def write(self, text: str, style: Style = "") -> None:
        """Show some lines."""

    @abstractmethod
    def ask(self, question: str) -> str:
        """Wait for a line of input. Raises ``EOFError`` if the input has ended."""

    def leave(self) -> None:  # noqa: B027
        """Cancel an ``ask`` that waits in another thread."""

    def show(self, situation: Situation) -> bool:
        """Show a turn with a map and buttons; return False to get it as text instead."""
        return False

    def seat(self, actor: str) -> Person:
        """Return the person for an actor: a different one if each has a browser of their own."""
        return self

    def enter(self, episode: Episode, world: World) -> None:  # noqa: B027
        """Handle the start of an episode in this world."""

    def stepped(self, step: Step) -> None:  # noqa: B027
        """Handle a turn that some actor has taken."""


@dataclass(frozen=True)
class Situation:
    """An actor's view at its turn: the text that an agent would read, and the legal actions.

    ``turn`` counts the actor's own turns from 1. ``state`` describes the actor itself and
    ``around`` its surroundings; each may be empty.
    """

    turn: int
    actor: str
    others: tuple[str, ...]
    episode: Episode
    instruction: str
    rules: str
    state: str
    around: str
    space: ActionSpace
    observation: Observation


class Terminal(Person):
    """The person at this process's terminal: input from stdin, output on stderr.

    Input is polled without a lock on stdin, so another thread can cancel a question. Without a
    terminal on stderr, output has no colors and is not wrapped; ``NO_COLOR`` also turns off colors.
    """

    def __init__(
        self,
        keyboard: int | None = None,
        screen: IO[str] | None = None,
    ) -> None:
        self._keyboard = keyboard
        self._screen = screen
        self._unread_input = b""
        self._leave_requested = threading.Event()

    def write(self, text: str, style: Style = "") -> None:
        """Write a text, wrapped to the terminal."""
        text = plain_text(text)
        if (self._screen or sys.stderr).isatty():
            columns = max(20, shutil.get_terminal_size().columns)
            text = "\n".join(wrap_line(line, columns) for line in text.split("\n"))
        self._write(text, style, end="\n")

    def ask(self, question: str) -> str:
        """Ask a question and wait for a line. Raises ``EOFError`` at the end of the input, and if
        another thread calls ``leave``."""
        self._leave_requested.clear()  # first, as the person may leave once the question is shown
        self._write(plain_text(question), "title")
        while b"\n" not in self._unread_input:
            typed = self._read()
            if not typed and not self._unread_input:
                self._write("\n")
                raise EOFError
            self._unread_input += typed or b"\n"
        line, _, self._unread_input = self._unread_input.partition(b"\n")
        return line.decode(errors="replace").strip()

    def leave(self) -> None:
        """Stop waiting for a line."""
        self._leave_requested.set()

    def _read(self) -> bytes:
        """Return the bytes typed so far; empty at the end of the input and after ``leave``."""
        if self._keyboard is None:
            try:
                self._keyboard = sys.stdin.fileno()
            except (AttributeError, OSError, ValueError):
                return b""  # stdin is missing or not a file
        while not self._leave_requested.is_set():
            if select.select([self._keyboard], [], [], _POLL_SECONDS)[0]:
                return os.read(self._keyboard, 4096)
        return b""

    def _write(self, text: str, style: Style = "", end: str = "") -> None:
        """Write a text in a color, unless colors are off."""
        screen = self._screen or sys.stderr
        if style and "NO_COLOR" not in os.environ and screen.isatty():
            text = f"\x1b[{_COLORS[style]}m{text}\x1b[0m"
        screen.write(text + end)
        screen.flush()


def wrap_line(line: str, columns: int) -> str:
    """Return a line wrapped between words; continuation lines are indented by two.

    >>> wrap_line("one two three", 9)
    'one two\\n  three'
    """
    if len(line) <= columns:
        return line
    rest = f"{line[: len(line) - len(line.lstrip())]}  "
    return textwrap.fill(
        line,
        columns,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def plain_text(text: str) -> str:
    """Return the text with control characters replaced by U+FFFD."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def person_of(shared: Shared) -> Person:
    """Return the person that a run's agents share, by default the one at the terminal."""
    return cast(Person, shared.setdefault(PERSON, Terminal()))


async def hear(person: Person, question: str) -> str:
    """Wait for a line from the person in a thread. Raises ``PlayerLeft`` at the end of input."""
    loop = asyncio.get_running_loop()
    try:
        return await loop.run_in_executor(None, person.ask, question)
    except EOFError:
        raise PlayerLeft("the player left") from None
    except asyncio.CancelledError:
        person.leave()
        raise


def answer_at_the_terminal(person: Person, actor: str, question: str) -> str | None:
    """Return the person's answer to an agent's question; None for an empty line. The wait blocks
    this process: runs in which a person answers play one episode at a time."""
    person.write(f"{actor} asks: {question}", "title")
    interrupted = threading.Event()
    previous_handler = signal.getsignal(signal.SIGINT)

    def leave(number: int, frame: FrameType | None) -> None:
        """Leave on an interrupt, and pass it on to the earlier handler."""
        interrupted.set()
        person.leave()
        if callable(previous_handler):
            previous_handler(number, frame)

    # Let Ctrl-C end the question: the event loop, which normally handles it, is blocked here.
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread:
        signal.signal(signal.SIGINT, leave)
    try:
        return person.ask("answer (empty: no answer) > ") or None
    except EOFError:
        if interrupted.is_set():  # the run's task has already been cancelled
            raise asyncio.CancelledError from None
        return None
    finally:
        if in_main_thread:
            signal.signal(signal.SIGINT, previous_handler)


class AnsweredDataset:
    """Proxy of a dataset whose worlds have a person who answers questions, and may watch."""

    def __init__(self, dataset: Dataset, person: Person) -> None:
        self._dataset = dataset
        self._person = person

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dataset, name)

    def world(self, episode: Episode) -> World:
        """Return the world with a person who answers its questions."""
        answerer = partial(answer_at_the_terminal, self._person)
        world = with_answerer(self._dataset.world(episode), answerer)
        self._person.enter(episode, world)
        return world


def with_answerer(world: World, answerer: Answerer | None) -> World:
    """Return the world, with the answerer set if there is one and the world supports it."""
    if answerer is not None:
        from wayword.worlds.household.world import (
            HouseholdWorld,
        )  # not for runs without a person

        if isinstance(world, HouseholdWorld):
            world.answerer = answerer
    return world
