"""Prompt texts: files beside the agents, with ``{slots}``, replaceable by a user's own folder."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from wayword.core.errors import UsageError, WaywordError, suggest

_SLOT = re.compile(r"\{([a-z_]+)\}")


class Prompts:
    """The texts of one agent: ``Prompts("navgpt")["principle"]``.

    ``folder`` (the setting ``prompts=DIR``) replaces any text by the file of the same name in it.
    """

    def __init__(self, agent: str, folder: str = "") -> None:
        self._agent, self._folder = agent, folder
        if folder:
            _refuse_strangers(agent, Path(folder))

    def __getitem__(self, name: str) -> str:
        return _text(self._agent, self._folder, name)

    def get(self, name: str) -> str:
        """The text, empty where there is none of that name."""
        return self[name] if name in _shipped(self._agent) else ""

    def fill(self, name: str, **slots: str) -> str:
        """The text with its slots filled in one pass, so that a value is never read as a slot."""
        text = self[name]
        missing = set(_SLOT.findall(text)) - set(slots)
        if missing:
            raise UsageError(
                f"prompt {self._agent}/{name}.txt has unknown slots {sorted(missing)}; "
                f"there are: {', '.join(sorted(slots))}"
            )
        return _SLOT.sub(lambda match: slots[match.group(1)], text)


def _text(agent: str, folder: str, name: str) -> str:
    own = Path(folder) / f"{name}.txt"
    if folder and own.is_file():
        return _own(own, own.stat().st_mtime_ns)
    return _shipped(agent)[name]


@lru_cache(maxsize=256)
def _own(path: Path, changed: int) -> str:
    """A user's text, read again once its file has ``changed`` (nanoseconds)."""
    return path.read_text(encoding="utf-8").strip("\n")


@cache
def _shipped(agent: str) -> Mapping[str, str]:
    folder = files("wayword.agents") / "prompts" / agent
    texts = (text for text in folder.iterdir() if text.name.endswith(".txt"))
    return {t.name.removesuffix(".txt"): t.read_text(encoding="utf-8").strip("\n") for t in texts}


def _refuse_strangers(agent: str, folder: Path) -> None:
    """A misspelt file name must not leave the shipped text in place unnoticed."""
    if not folder.is_dir():
        raise UsageError(f"prompts={folder}: no such folder")
    known = list(_shipped(agent))
    for path in sorted(folder.glob("*.txt")):
        if path.stem not in known:
            raise UsageError(
                f"{path}: {agent} has no prompt of that name; {suggest(path.stem, known)}"
            )


# Several questions at once, so that they take one round trip, and none outlives the others.

A = TypeVar("A")
B = TypeVar("B")


async def both(one: Coroutine[Any, Any, A], other: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """The answers of both. Where one fails the other is cancelled, and the failure is raised.

    A bare ``gather`` would leave the other running: its tokens would be in no trajectory.
    """
    try:
        async with asyncio.TaskGroup() as group:
            first, second = group.create_task(one), group.create_task(other)
    except* WaywordError as failed:
        raise failed.exceptions[0] from None
    return first.result(), second.result()


async def everyone(questions: Sequence[Coroutine[Any, Any, A]]) -> list[A]:
    """The answers of all, in order; where one fails the rest are cancelled, as in ``both``."""
    try:
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(question) for question in questions]
    except* WaywordError as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in asked]
