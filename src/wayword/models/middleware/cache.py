"""Answers kept on disk, so that a question is paid for once.

One SQLite file with JSON values; several processes may share it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import TypeVar

from wayword.core.episode import Json
from wayword.core.errors import DataError, RecordingError
from wayword.core.model import (
    Choice,
    Completion,
    Message,
    Model,
    Prompt,
    Sampling,
    TokenLogprob,
    Usage,
    Wrapper,
    identity_of,
)
from wayword.core.secrets import redacted

# One question to a model as a short key: equal questions, equal keys, on every machine.


def prompt_value(prompt: Prompt) -> Json:
    """The prompt as JSON values; pictures by their checksum."""
    if isinstance(prompt, str):
        return prompt
    return [_message_value(message) for message in prompt]


def completion_key(prompt: Prompt, sampling: Sampling) -> str:
    """Key of a ``complete`` call, all of its sampling included."""
    return digest(["complete", prompt_value(prompt), asdict(sampling)])


def choice_key(prompt: Prompt, options: Sequence[str]) -> str:
    """Key of a ``choose`` call."""
    return digest(["choose", prompt_value(prompt), list(options)])


def digest(value: Json) -> str:
    """SHA-256 of the value's canonical JSON text."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _message_value(message: Message) -> Json:
    pictures = [
        [image.media_type, hashlib.sha256(image.data).hexdigest()] for image in message.images
    ]
    return [message.role, message.content, pictures]


_REMEDY = "delete it, or name another file"
_Answer = TypeVar("_Answer", Completion, Choice)


class AnswerCache:
    """A file of JSON values by key: ``get`` and ``put`` block, for a moment.

    Write-ahead logging lets several processes read and write at once; a busy file is waited for.
    Raises ``DataError`` for a file that is no such cache, ``RecordingError`` when it fails later.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
                " WITHOUT ROWID"
            )
            self._db.execute("SELECT key, value FROM answers LIMIT 1").fetchone()
        except (OSError, sqlite3.Error) as error:
            raise DataError(path, "", f"cannot be used as a cache: {error}", _REMEDY) from None

    def get(self, key: str) -> Json | None:
        """The value of a key, or None."""
        try:
            row = self._db.execute("SELECT value FROM answers WHERE key = ?", (key,)).fetchone()
            return json.loads(row[0]) if row else None
        except (sqlite3.Error, ValueError) as error:
            raise self._broken(error) from None

    def put(self, key: str, value: Json) -> None:
        """Keep a value; the first one of a key stays."""
        text = redacted(json.dumps(value, ensure_ascii=False))
        try:
            self._db.execute("INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, text))
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _broken(self, error: Exception) -> RecordingError:
        return RecordingError(f"{self.path}: the answer cache failed: {error}; {_REMEDY}")


class CachedModel(Wrapper):
    """A model that is never asked the same twice.

    The key is made of the model's identity, the prompt and the whole sampling, seed included.
    Answers that chance decides (a temperature, and no seed) are numbered as they are asked, so
    that five calls still give five samples, the same five in the next run. Empty answers and calls
    of tools are not kept: the next run asks again. Equal questions that
    are in the air at once become one. Found answers are marked ``cached`` and cost nothing.
    """

    def __init__(self, inner: Model, cache: AnswerCache) -> None:
        super().__init__(inner)
        self._cache = cache
        self._asked: Counter[str] = Counter()
        self._flying: dict[str, asyncio.Lock] = {}
        # one thread, so that a file another process is writing never holds up the event loop
        self._thread = ThreadPoolExecutor(1, "wayword-cache")

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """The kept answer, else that of the model inside."""
        key = self._key(completion_key(prompt, sampling))
        if sampling.temperature > 0 and sampling.seed is None:
            self._asked[key] += 1
            key = digest([key, self._asked[key] - 1])
        return await self._once(key, _completion, lambda: self._inner.complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """The kept ranking, else that of the model inside."""
        key = self._key(choice_key(prompt, options))
        return await self._once(key, _choice, lambda: self._inner.choose(prompt, options))

    async def aclose(self) -> None:
        """Close the file and the model inside."""
        await asyncio.to_thread(self._thread.shutdown)
        self._cache.close()
        await super().aclose()

    def _key(self, question: str) -> str:
        return digest([identity_of(self._inner), question])

    async def _once(
        self, key: str, read: Callable[[Json], _Answer], ask: Callable[[], Awaitable[_Answer]]
    ) -> _Answer:
        began = time.perf_counter()
        lock = self._flying.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                kept = await self._off_loop(lambda: self._cache.get(key))
                if kept is not None:
                    seconds = time.perf_counter() - began
                    return replace(self._read(kept, read), seconds=seconds)
                answer = await ask()
                if _worth_keeping(answer):
                    value = asdict(answer)
                    await self._off_loop(lambda: self._cache.put(key, value))
                return answer
        finally:
            if not lock.locked():
                self._flying.pop(key, None)

    async def _off_loop(self, work: Callable[[], Json]) -> Json:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _read(self, kept: Json, read: Callable[[Json], _Answer]) -> _Answer:
        try:
            return read(kept)
        except (KeyError, TypeError, AttributeError) as error:
            where, what = self._cache.path, f"holds an unreadable answer ({error!r})"
            raise RecordingError(f"{where}: {what}; {_REMEDY}") from None


def _worth_keeping(answer: Completion | Choice) -> bool:
    """Empty answers, calls of tools and numbers that are none may be a server's bad moment."""
    if isinstance(answer, Choice):
        return all(math.isfinite(value) for value in answer.logprobs)
    whole = all(text.strip() for text in answer.texts) and bool(answer.texts)
    return whole and not {"tool_calls", "content_filter", "error"} & set(answer.finish)


def _completion(value: Json) -> Completion:
    return Completion(
        texts=tuple(value["texts"]),
        finish=tuple(value["finish"]),
        usage=Usage(**value["usage"]),
        logprobs=tuple(TokenLogprob(**entry) for entry in value["logprobs"]),
        cost=0.0,
        cached=True,
        reasoning=tuple(value.get("reasoning", ())),
    )


def _choice(value: Json) -> Choice:
    return Choice(
        options=tuple(value["options"]),
        logprobs=tuple(value["logprobs"]),
        usage=Usage(**value["usage"]),
        cost=0.0,
        cached=True,
        picked=bool(value.get("picked", False)),
        reasoning=tuple(value.get("reasoning", ())),
    )
