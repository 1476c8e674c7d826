"""Answers kept on disk, so that a question is paid for once.

One SQLite file with JSON values; several processes may share it.
"""

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
from functools import cache
from pathlib import Path
from typing import Any

from wayword.core.episode import Json
from wayword.core.errors import DataError
from wayword.core.files import process_runs
from wayword.core.model import Answer, Choice, Completion, Model, Prompt, Sampling, Wrapper
from wayword.core.secrets import redacted

# One question to a model as a short key: equal questions, equal keys, on every machine.


def prompt_value(prompt: Prompt) -> Json:
    """The prompt as JSON values; pictures by their checksum."""
    if isinstance(prompt, str):
        return prompt
    return [
        [
            message.role,
            message.content,
            [[each.media_type, hashlib.sha256(each.data).hexdigest()] for each in message.images],
        ]
        for message in prompt
    ]


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


_TABLES = (
    "answers (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, since REAL NOT NULL)",
)
CLAIM_SECONDS = 900.0
"""Seconds after which a claim is over: longer than a call with its retries takes."""
_POLL_S = 0.05


class AnswerCache:
    """A file of JSON values by key: ``get`` and ``put`` block, for a moment.

    Write-ahead logging lets several processes read and write at once; a busy file is waited for.
    ``claim`` announces to other processes that this one is asking, so that they wait for its answer
    instead of paying for their own. A row that cannot be read is as if it were not there, and a
    file that cannot be written keeps nothing more; ``problems`` says so, once each. Raises
    ``DataError`` for a file that is no such cache.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self._owner = f"{os.getpid()} {socket.gethostname()} {secrets.token_hex(4)}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _open_database(path)
        except (OSError, sqlite3.Error) as error:
            problem = f"cannot be used as a cache: {error}"
            raise DataError(path, "", problem, "name another file") from None

    def get(self, key: str) -> Json | None:
        """The value of a key; None where there is none, or none that can be read."""
        try:
            row = self._db.execute("SELECT value FROM answers WHERE key = ?", (key,)).fetchone()
            return json.loads(row[0]) if row else None
        except (sqlite3.Error, ValueError, RecursionError, TypeError) as error:
            self.problem(f"holds an unreadable answer; the model was asked again ({error})")
            return None

    def put(self, key: str, value: Json) -> None:
        """Keep a value; the first one of a key stays, as long as it can be read."""
        text = json.dumps(value, ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError:  # half a surrogate pair, which SQLite cannot hold
            text = json.dumps(value)
        verb = "INSERT OR IGNORE" if self.get(key) is not None else "INSERT OR REPLACE"
        try:
            self._db.execute(f"{verb} INTO answers VALUES (?, ?)", (key, redacted(text)))
        except sqlite3.Error as error:
            self.problem(f"could not store an answer ({error}); the run continues without")

    def drop(self, key: str) -> None:
        """Forget a value that makes no sense."""
        with suppress(sqlite3.Error):
            self._db.execute("DELETE FROM answers WHERE key = ?", (key,))

    def claim(self, key: str) -> bool:
        """True if this process is the one to ask. A dead process's claim is over, and one that is
        older than ``CLAIM_SECONDS`` seconds."""
        now = time.time()
        try:
            insertion = self._db.execute(
                "INSERT OR IGNORE INTO claims VALUES (?, ?, ?)", (key, self._owner, now)
            )
            if insertion.rowcount:
                return True
            row = self._db.execute("SELECT owner, since FROM claims WHERE key = ?", (key,))
            owner, since = row.fetchone() or ("", 0.0)
            if owner != self._owner and _may_be_running(owner) and abs(now - since) < CLAIM_SECONDS:
                return False
            self._db.execute(
                "UPDATE claims SET owner = ?, since = ? WHERE key = ? AND owner = ?",
                (self._owner, now, key, owner),
            )
        except (sqlite3.Error, TypeError):
            return True  # better to pay twice than not to go on
        return True

    def release(self, key: str) -> None:
        """Let others ask."""
        with suppress(sqlite3.Error):
            self._db.execute("DELETE FROM claims WHERE key = ? AND owner = ?", (key, self._owner))

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def problem(self, what: str) -> None:
        """Record a problem, once per kind."""
        line = f"the answer cache {self.path} {what}"
        if not any(past.partition(" (")[0] == line.partition(" (")[0] for past in self.problems):
            self.problems.append(line)


def _open_database(path: Path) -> sqlite3.Connection:
    """The cache in that file, created if it is new. Raises ``sqlite3.Error``."""
    db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        for table in _TABLES:
            db.execute(f"CREATE TABLE IF NOT EXISTS {table} WITHOUT ROWID")
        db.execute("SELECT key, value FROM answers LIMIT 1").fetchone()
    except sqlite3.Error:
        db.close()
        raise
    return db


def _may_be_running(owner: str) -> bool:
    """True if a claim's process runs; one on another machine may."""
    number, host, *_ = [*owner.split(), "", ""]
    if host != socket.gethostname() or not number.isdecimal():
        return bool(host)
    return process_runs(int(number))


class CachedModel(Wrapper):
    """A model that is never asked the same twice.

    The key is made of the model's identity, the prompt and the whole sampling, seed included.
    Answers that chance decides (a temperature, and no seed) are numbered as they are asked, so
    that five calls still give five samples, the same five in the next run. Empty answers and calls
    of tools are neither kept nor used where an earlier version kept them: the next run asks again.
    Equal questions that are asked at once become one, also across processes. Cached
    answers are marked ``cached`` and cost nothing.
    """

    def __init__(self, inner: Model, cache: AnswerCache) -> None:
        super().__init__(inner)
        self._cache = cache
        self._counts: Counter[str] = Counter()
        self._flying: dict[str, asyncio.Lock] = {}
        # one thread, so that a file another process is writing never holds up the event loop
        self._thread = ThreadPoolExecutor(1, "wayword-cache")

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Completion:
        """The cached answer, else that of the model inside."""
        key = digest([self._inner.identity, completion_key(prompt, sampling)])
        if sampling.temperature > 0 and sampling.seed is None:
            self._counts[key] += 1
            key = digest([key, self._counts[key] - 1])
        return await self._ask_once(key, Completion, lambda: self._inner.complete(prompt, sampling))

    async def choose(self, prompt: Prompt, options: Sequence[str]) -> Choice:
        """The cached ranking, else the wrapped model's."""
        key = digest([self._inner.identity, choice_key(prompt, options)])
        return await self._ask_once(key, Choice, lambda: self._inner.choose(prompt, options))

    async def aclose(self) -> None:
        """Close the file and the model inside."""
        await asyncio.to_thread(self._thread.shutdown)
        self._cache.close()
        await super().aclose()

    @property
    def warnings(self) -> Sequence[str]:
        """The file's problems, and the inner model's warnings."""
        return (*self._cache.problems, *super().warnings)

    async def _ask_once(
        self, key: str, kind: type[Answer], ask: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        began = time.perf_counter()
        lock = self._flying.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                claimed = False
                try:
                    while True:
                        value = await self._run_off_loop(self._cache.get, key)
                        answer: Answer | None = self._parse_answer(key, value, kind)
                        if answer is not None:
                            return replace(answer, seconds=time.perf_counter() - began)
                        if claimed:  # another process may have answered before the claim
                            break
                        claimed = await self._run_off_loop(self._cache.claim, key)
                        if not claimed:
                            await asyncio.sleep(_POLL_S)  # another process is asking this question
                    answer = await ask()
                    if _is_worth_keeping(answer):
                        await self._run_off_loop(self._cache.put, key, asdict(answer))
                    return answer
                finally:
                    if claimed:
                        await asyncio.shield(self._run_off_loop(self._cache.release, key))
        finally:
            if not lock.locked():
                self._flying.pop(key, None)

    async def _run_off_loop(self, work: Callable[..., Json], *given: Any) -> Json:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *given)

    def _parse_answer(self, key: str, value: Json, kind: Any) -> Any:
        """The answer that a value holds; a value that makes no sense is dropped."""
        if value is None:
            return None
        try:
            answer = _type_adapter(kind).validate_python(value)
        except ValueError as error:
            what = "holds an unreadable answer; the model was asked again"
            self._cache.problem(f"{what} ({type(error).__name__})")
        else:
            if _is_worth_keeping(answer):
                return replace(answer, cost=0.0, cached=True)
        self._cache.drop(key)
        return None


@cache
def _type_adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _is_worth_keeping(answer: Completion | Choice) -> bool:
    """Empty answers, calls of tools and numbers that are none may be a server's bad moment."""
    if isinstance(answer, Choice):
        return all(math.isfinite(value) for value in answer.logprobs)
    has_text = all(text.strip() for text in answer.texts) and bool(answer.texts)
    return has_text and not {"tool_calls", "content_filter", "error"} & set(answer.finish)
