"""Prompts: texts with slots, several questions at once, and chats that only grow.

Texts are files in a folder ``prompts`` next to the agent, with ``{slots}``, replaceable by a
user's own folder.

Prompts that extend each other let a server or the local model reuse what it has already read, so
a step is written once and never rewritten. Where the token budget forces a cut, whole steps go from
the far end, half of them at once: the next cut, and with it the next loss of the shared prefix, is
then far away.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from wayword.core.agent import Toolkit
from wayword.core.errors import UsageError, WaywordError, suggest
from wayword.core.model import Message, system, user

_SLOT = re.compile(r"\{([a-z_]+)\}")


class Prompts:
    """The texts of one agent, in the folder next to its module: ``Prompts(__file__)["principle"]``.

    ``folder`` (the setting ``prompts=DIR``) replaces any text by the file of the same name in it.
    """

    def __init__(self, module: str, folder: str = "", shipped: str = "prompts") -> None:
        self._shipped, self._folder = Path(module).parent / shipped, folder
        if folder and not Path(folder).is_dir():
            raise UsageError(f"prompts={folder}: no such folder")
        known = list(_texts(self._shipped))
        for path in sorted(Path(folder).glob("*.txt")) if folder else ():
            if path.stem not in known:  # misspelt, it would leave the shipped text in place
                raise UsageError(
                    f"{path}: {self._shipped.parent.name} has no prompt of that name; "
                    f"{suggest(path.stem, known)}"
                )

    def __getitem__(self, name: str) -> str:
        custom = Path(self._folder) / f"{name}.txt"
        if self._folder and custom.is_file():
            return _custom(custom, custom.stat().st_mtime_ns)
        return _texts(self._shipped)[name]

    def get(self, name: str) -> str:
        """The text, empty where there is none of that name."""
        return self[name] if name in _texts(self._shipped) else ""

    def fill(self, name: str, **slots: str) -> str:
        """The text with its slots filled in one pass, so that a value is never read as a slot."""
        text = self[name]
        missing = set(_SLOT.findall(text)) - set(slots)
        if missing:
            agent = self._shipped.parent.name
            raise UsageError(
                f"prompt {agent}/{name}.txt has unknown slots {sorted(missing)}; "
                f"there are: {', '.join(sorted(slots))}"
            )
        return _SLOT.sub(lambda match: slots[match.group(1)], text)


@lru_cache(maxsize=256)
def _custom(path: Path, changed: int) -> str:
    """A user's text, read again once its file has ``changed`` (nanoseconds)."""
    return path.read_text(encoding="utf-8").strip("\n")


@cache
def _texts(folder: Path) -> Mapping[str, str]:
    return {t.stem: t.read_text(encoding="utf-8").strip("\n") for t in folder.glob("*.txt")}


def quotable(text: str) -> str:
    """A text on one line, its quotes not to be confused with the ones around it."""
    return " ".join(text.split()).replace('"', "'")


# Several questions at once, so that they take one round trip, and none outlives the others.

A = TypeVar("A")
B = TypeVar("B")


async def both(one: Coroutine[Any, Any, A], other: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """The answers of both, as in ``everyone``."""
    return cast("tuple[A, B]", tuple(await everyone([one, other])))


async def everyone(questions: Sequence[Coroutine[Any, Any, A]]) -> list[A]:
    """The answers of all, in order. Where one fails the rest are cancelled, and it is raised.

    A bare ``gather`` would leave them running: their tokens would be in no trajectory.
    """
    try:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(question) for question in questions]
    except* WaywordError as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in asked]


# The past of an episode, and how many tokens a prompt and an answer may take.

USUAL_CONTEXT = 7000
"""Tokens of a prompt where neither a setting nor the model says how many."""
ROOMY_ANSWER = 2000
"""Tokens of an answer that is enough for any thought; models of a large window get no more."""


class History:
    """The past of one episode as text blocks, oldest first."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self.dropped = 0

    def add(self, block: str) -> None:
        self._blocks.append(block)

    @property
    def blocks(self) -> list[str]:
        return self._blocks[self.dropped :]

    def fit(self, characters: int) -> int:
        """Drop the oldest steps until the rest has at most ``characters``; how many went."""
        before = self.dropped
        while self.blocks and sum(map(len, self.blocks)) > characters:
            self.dropped += max(1, len(self.blocks) // 2)
        return self.dropped - before


class TokenRate:
    """Characters a token, learnt from what the model itself counted; 3 until it has counted."""

    def __init__(self) -> None:
        self.characters_per_token = 3.0

    def learn(self, characters: int, tokens: int) -> None:
        if tokens > 0 and characters > 0:
            self.characters_per_token = characters / tokens


def context_tokens(given: int, toolkit: Toolkit, usual: int = USUAL_CONTEXT) -> int:
    """Tokens that a prompt may take: the setting, else by the main model's window.

    An eighth of the window is left free for the answer, and because tokens are only estimated
    before the model has counted some.
    """
    return given or _window(toolkit) * 7 // 8 or usual


def answer_tokens(given: int, toolkit: Toolkit, usual: int) -> int:
    """Tokens that an answer may take: the setting, else a 32nd of the main model's window, but at
    least ``usual`` and at most ``ROOMY_ANSWER``."""
    return given or max(usual, min(ROOMY_ANSWER, _window(toolkit) // 32))


def window_known(given: int, toolkit: Toolkit) -> bool:
    """Whether a setting or the model itself says how many tokens a prompt may take."""
    return bool(given or _window(toolkit))


def _window(toolkit: Toolkit) -> int:
    main = toolkit.models.get("main")
    return main.window if main is not None else 0


# The same as a chat.

Turn = tuple[str, str]
"""What the agent was told, and what it answered."""

FRAME = 24
"""Characters that a chat template adds to a message, about."""


def assistant(content: str) -> Message:
    """A message of the agent's own."""
    return Message("assistant", content)


class Conversation:
    """One episode as messages: system, turns of examples, the opening, one turn a step.

    ``opening`` stands before the oldest turn that is still told, in the same message, so that the
    roles always take turns.
    """

    def __init__(self, fixed: str, opening: str, examples: Sequence[Turn] = ()) -> None:
        self._fixed, self._opening = fixed, opening
        self.examples = list(examples)
        self.turns: list[Turn] = []
        self._history = History()

    def add(self, told: str, said: str) -> None:
        self.turns.append((told, said))
        self._history.add(told + said + " " * (2 * FRAME))

    @property
    def dropped(self) -> int:
        return self._history.dropped

    def fit(self, characters: int, now: str) -> int:
        """Drop steps until the prompt that ends in ``now`` fits; how many went."""
        shown = sum(len(told) + len(said) + 2 * FRAME for told, said in self.examples)
        around = len(self._fixed) + len(self._opening) + len(now) + shown + 3 * FRAME
        return self._history.fit(max(0, characters - around))

    def messages(self, now: str, gap: str = "") -> list[Message]:
        """The prompt. ``gap`` says that steps were left out, where they were."""
        turns = self.turns[self.dropped :]
        told = [*(told for told, _ in turns), now]
        said = [said for _, said in turns]
        told[0] = "\n\n".join(part for part in (self._opening, gap, told[0]) if part)
        chat = [system(self._fixed)]
        for shown, answer in self.examples:
            chat += [user(shown), assistant(answer)]
        for here, answer in zip(told[:-1], said, strict=True):
            chat += [user(here), assistant(answer)]
        return [*chat, user(told[-1])]
