"""Response cache: one SQLite file with JSON values, which several processes may share."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import secrets
import socket
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import DataError
from wayword.core.files import make_parent, process_runs, text_checksum
from wayword.core.model import (
    Answer,
    Choice,
    Completion,
    Model,
    Prompt,
    Sampling,
    Wrapper,
)
from wayword.core.secrets import redacted
from wayword.settings import type_adapter

# Keys: equal calls have equal keys on every machine.


def _prompt_value(prompt: Prompt) -> Json:
    """Return the prompt as JSON values, with checksums in place of pictures."""
    if isinstance(prompt, str):
        return prompt
    values = []
    for message in prompt:
        # Drawn pictures by their pixels: a record has no bytes, and zlib's releases differ.
        images = [
            [i.media_type, i.pixels or hashlib.sha256(i.data).hexdigest()]
            for i in message.images
        ]
        value: list[Json] = [message.role, message.content, images]
        # Only of conversations with tools: the keys of all others are those of earlier releases.
        if message.calls or message.call_id:
            calls = [[call.id, call.name, call.arguments] for call in message.calls]
            value += [calls, message.verbatim, message.call_id, message.tool]
        values.append(value)
    return values


def completion_key(prompt: Prompt, sampling: Sampling) -> str:
    """Return the key of a ``complete`` call, including all sampling parameters."""
    parameters = asdict(sampling)
    # Calls without tools keep the keys that they had before there were tools.
    for name in ("tools", "parallel_calls"):
        if not parameters[name]:
            del parameters[name]
    return digest(["complete", _prompt_value(prompt), parameters])


def choice_key(prompt: Prompt, options: Sequence[str]) -> str:
    """Return the key of a ``choose`` call."""
    return digest(["choose", _prompt_value(prompt), list(options)])


def digest(value: Json) -> str:
    """Return the SHA-256 of a value's canonical JSON text."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text_checksum(text)


_TABLES = (
    "answers (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, since REAL NOT NULL)",
)
# A claim expires after this time, longer than a call with its retries.
CLAIM_SECONDS = 900.0

# Pause between checks for an answer that another process is waiting for, in seconds.
_POLL_S = 0.05


class AnswerCache:
    """JSON values by key in an SQLite file. Methods block briefly.

    Write-ahead logging lets several processes read and write at once. With ``claim``, a
    process announces that it is making a call, so that others wait for its answer
    instead of paying for another. Unreadable values are treated as missing, and answers
    that cannot be written are not cached; ``problems`` reports each such problem once.
    Raises ``DataError`` if the file is not a cache.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self._owner = f"{os.getpid()} {socket.gethostname()} {secrets.token_hex(4)}"
        # Opening creates the file; reading from it finds out if it is a cache.
        try:
            make_parent(path)
            self._db = sqlite3.connect(
                path, timeout=30, isolation_level=None, check_same_thread=False
            )
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                self._db.execute("PRAGMA synchronous=NORMAL")
                for table in _TABLES:
                    self._db.execute(
                        f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID"
                    )
                self._db.execute("SELECT key, value FROM answers LIMIT 1").fetchone()
            except sqlite3.Error:
                self._db.close()
                raise
        except (OSError, sqlite3.Error) as error:
            problem = f"cannot be used as a cache: {error}"
            raise DataError(path, "", problem, "name another file") from None

    def get(self, key: str) -> Json | None:
        """Return the value of a key, None if there is none or it cannot be read."""
        try:
            row = self._db.execute(
                "SELECT value FROM answers WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            return json.loads(row[0])
        except (sqlite3.Error, ValueError, RecursionError, TypeError) as error:
            self.problem(
                f"has an unreadable answer; the model was asked again ({error})"
            )
            return None

    def put(self, key: str, value: Json) -> None:
        """Store a value, with secrets redacted. An earlier readable one stays."""
        text = json.dumps(value, ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError:
            # SQLite cannot store unpaired surrogates: escape them
            text = json.dumps(value)
        # The first answer stays, because other processes have read it, unless it is unreadable.
        verb = "INSERT OR REPLACE"
        if self.get(key) is not None:
            verb = "INSERT OR IGNORE"
        try:
            self._db.execute(
                f"{verb} INTO answers VALUES (?, ?)", (key, redacted(text))
            )
        except sqlite3.Error as error:
            self.problem(
                f"could not store an answer ({error}); the run continues without it"
            )

    def drop(self, key: str) -> None:
        """Delete a value that turned out to be of no use."""
        with suppress(sqlite3.Error):
            self._db.execute("DELETE FROM answers WHERE key = ?", (key,))

    def claim(self, key: str) -> bool:
        """Return True if this process should make the call.

        Claims end with their process, and after ``CLAIM_SECONDS``.
        """
        now = time.time()
        try:
            insertion = self._db.execute(
                "INSERT OR IGNORE INTO claims VALUES (?, ?, ?)", (key, self._owner, now)
            )
            if insertion.rowcount:
                return True
            row = self._db.execute(
                "SELECT owner, since FROM claims WHERE key = ?", (key,)
            )
            owner, since = row.fetchone() or ("", 0.0)
            # A process of this machine is known to run or not; one of another machine may run.
            number, host, *_ = [*str(owner).split(), "", ""]
            may_run = bool(host)
            if host == socket.gethostname() and number.isdecimal():
                may_run = process_runs(int(number))
            if owner != self._owner and may_run and abs(now - since) < CLAIM_SECONDS:
                return False
            # Of several processes that see an expired claim, the first to write gets it.
            taken = self._db.execute(
                "UPDATE claims SET owner = ?, since = ? WHERE key = ? AND owner = ?",
                (self._owner, now, key, owner),
            )
            return taken.rowcount > 0
        except (sqlite3.Error, TypeError):
            return True  # paying twice is better than stopping

    def release(self, key: str) -> None:
        with suppress(sqlite3.Error):
            self._db.execute(
                "DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._owner)
            )

    def close(self) -> None:
        self._db.close()

    def problem(self, text: str) -> None:
        """Report a problem, once per text up to its first parenthesis."""
        line = f"the response cache {self.path} {text}"
        known = {past.partition(" (")[0] for past in self.problems}
        if line.partition(" (")[0] not in known:
            self.problems.append(line)


class CachedModel(Wrapper):
    """A model with a response cache.

    The key consists of the model's identity, the prompt and all sampling parameters. Calls with a
    temperature but no seed are numbered: five equal calls give five samples, and the next run gets
    the same five. Concurrent equal calls become one, also across processes. Cached answers are
    marked ``cached`` and cost nothing.
    """

    def __init__(self, inner: Model, cache: AnswerCache) -> None:
        super().__init__(inner)
        self._cache = cache
        self._counts: Counter[str] = Counter()
        self._flying: dict[str, asyncio.Lock] = {}
        # in a thread, because a file that another process is writing would block the event loop
        self._thread = ThreadPoolExecutor(1, "wayword-cache")

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        key = digest([self._inner.identity, completion_key(prompt, sampling)])
        if sampling.temperature > 0 and sampling.seed is None:
            self._counts[key] += 1
            key = digest([key, self._counts[key] - 1])
        return await self._ask_once(
            key, Completion, lambda: self._inner.complete(prompt, sampling)
        )

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        key = digest([self._inner.identity, choice_key(prompt, options)])
        return await self._ask_once(
            key, Choice, lambda: self._inner.choose(prompt, options)
        )

    async def aclose(self) -> None:
        await asyncio.to_thread(self._thread.shutdown)
        self._cache.close()
        await super().aclose()

    @property
    def warnings(self) -> Sequence[str]:
        return (*self._cache.problems, *super().warnings)

    async def _ask_once(
        self, key: str, answer_type: type[Answer], ask: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        began = time.perf_counter()
        lock = self._flying.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                claimed = False
                try:
                    while True:
                        value = await self._run_off_loop(self._cache.get, key)
                        answer: Answer | None = self._parse_answer(
                            key, value, answer_type
                        )
                        if answer is not None:
                            return replace(answer, seconds=time.perf_counter() - began)
                        # Read again, as another process may have answered meanwhile
                        if claimed:
                            break
                        claimed = await self._run_off_loop(self._cache.claim, key)
                        if not claimed:
                            # Another process is making this call
                            await asyncio.sleep(_POLL_S)
                    answer = await ask()
                    if _is_cacheable(answer):
                        await self._run_off_loop(self._cache.put, key, asdict(answer))
                    return answer
                finally:
                    if claimed:
                        await asyncio.shield(
                            self._run_off_loop(self._cache.release, key)
                        )
        finally:
            if not lock.locked():
                self._flying.pop(key, None)

    async def _run_off_loop(self, work: Callable[..., Json], *arguments: Any) -> Json:
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, work, *arguments
        )

    def _parse_answer(self, key: str, value: Json, answer_type: Any) -> Any:
        if value is None:
            return None
        try:
            answer = type_adapter(answer_type).validate_python(value)
            if _is_cacheable(answer):
                return replace(answer, cost=0.0, cached=True)
        except ValueError as error:
            problem = "has an unreadable answer; the model was asked again"
            self._cache.problem(f"{problem} ({type(error).__name__})")
        self._cache.drop(key)
        return None


def _is_cacheable(answer: Completion | Choice) -> bool:
    """True unless an answer is empty, a tool call without tools or NaN: these may be transient
    server errors."""
    if isinstance(answer, Choice):
        return all(math.isfinite(value) for value in answer.logprobs)
    if answer.calls:
        return True
    has_text = all(text.strip() for text in answer.texts) and bool(answer.texts)
    return has_text and not {"tool_calls", "content_filter", "error"} & set(
        answer.finish
    )
