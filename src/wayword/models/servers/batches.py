"""Calls sent as batches of a provider, at half the price: ``model.tier=batch``.

Calls that wait at the same time are gathered. Once no further one has come for a moment, which is
when all running episodes wait for an answer, they are sent as one batch; its answers let all of
these episodes go on. An episode of ten calls so takes ten batches, however many are played.

A batch takes minutes to hours, and is paid for even if its answers are never read. All that is
needed to read them is therefore on disk before and after each step (:class:`BatchStore`). A request
is known by its content and its episode: if a resumed run makes the same request again, it gets the
answer that an earlier session has paid for, or waits for the batch that it has sent.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from wayword.core.errors import DataError, ModelError
from wayword.core.loopback import of_domain
from wayword.core.model import Usage
from wayword.core.secrets import redacted
from wayword.models.middleware.budget import EPISODE, sending
from wayword.models.middleware.cache import digest
from wayword.models.servers.addresses import unquoted
from wayword.models.servers.batch_anthropic import AnthropicForm
from wayword.models.servers.batch_forms import (
    LOST,
    NOT_PROCESSED,
    MistralForm,
    OpenAIForm,
    Result,
)
from wayword.models.servers.batch_gemini import GeminiForm
from wayword.models.servers.connection import Connection, Missing
from wayword.models.servers.requests import Request, ServerSettings

T = TypeVar("T")

# Episodes go on within milliseconds of an answer, except for slow worlds and perceivers.
QUIET_S = 2.0

# Between two looks at a batch: at first, then with a growing pause. Batches take minutes at least.
POLL_S = 5.0
LONGEST_POLL_S = 60.0
# A server that asks for a longer pause has a wrong clock.
LONGEST_WAIT_S = 3600.0

# A batch that its provider denies for so long is gone. Anthropic's are not found at times, mostly
# after they were made: https://github.com/anthropics/anthropic-sdk-python/issues/1432
DENIED_S = 600.0

FORMS: Mapping[str, type[OpenAIForm]] = {
    "openai": OpenAIForm,
    "anthropic": AnthropicForm,
    "gemini": GeminiForm,
    "mistral": MistralForm,
}

_HOSTS = {
    "anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "gemini",
    "mistral.ai": "mistral",
}
"""Form by the domain of a host; all others have OpenAI's."""


def form_of(host: str, chosen: str) -> OpenAIForm:
    """Return the form of a server; ``chosen`` is the setting ``model.batch``."""
    for domain, name in _HOSTS.items():
        if chosen == "auto" and of_domain(host, domain):
            chosen = name
    return FORMS.get(chosen, OpenAIForm)()


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that was sent: the name of its ``batch`` and of its ``row`` in the ledger, and its
    ``result``, None while it has none."""

    batch: str
    row: str
    result: Result | None


class BatchStore:
    """Batches of a run with their requests and results, in an SQLite file; without a path, in
    memory. Each method is on disk when it returns. Raises ``DataError`` for a file of other
    content."""

    def __init__(self, path: Path | None = None) -> None:
        try:
            # The loop's thread may be another than the one that opens the model.
            self._db = sqlite3.connect(
                path or ":memory:", isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS batches (name PRIMARY KEY, id)"
            )
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS requests "
                "(name PRIMARY KEY, batch, ledger_row, status, reply)"
            )
            self._db.execute("SELECT name, batch, ledger_row FROM requests LIMIT 1")
        except sqlite3.Error as error:
            problem = f"is not a store of batches: {error}"
            raise DataError(
                path or "", "", problem, "move it out of the run folder"
            ) from None

    def begin(self, batch: str, rows: Mapping[str, str]) -> None:
        """Store that requests, with their rows in the ledger, are about to be sent."""
        # Before they are sent: a session that dies in between must not pay twice.
        entries = [(name, batch, row) for name, row in rows.items()]
        with self._writing():
            self._db.execute("INSERT INTO batches VALUES (?, NULL)", (batch,))
            self._db.executemany(
                "INSERT INTO requests VALUES (?, ?, ?, NULL, NULL)", entries
            )

    def submitted(self, batch: str, job_id: str) -> None:
        """Store the provider's ID of a batch, by which it is found again."""
        self._db.execute("UPDATE batches SET id = ? WHERE name = ?", (job_id, batch))

    def ended(self, batch: str, results: Sequence[Result], without: Result) -> int:
        """Store the results, and ``without`` for each request that has none. Returns the number of
        these."""
        rows = [
            (each.status, redacted(json.dumps(each.reply)), each.name, batch)
            for each in results
        ]
        reply = redacted(json.dumps(without.reply))
        with self._writing():
            self._db.executemany(
                "UPDATE requests SET status = ?, reply = ? WHERE name = ? AND batch = ?",
                rows,
            )
            changed = self._db.execute(
                "UPDATE requests SET status = ?, reply = ? WHERE batch = ? "
                "AND status IS NULL",
                (without.status, reply, batch),
            )
        return changed.rowcount

    def drop(self, batch: str) -> None:
        """Forget a batch that was not made: its requests may be sent again."""
        with self._writing():
            self._db.execute("DELETE FROM requests WHERE batch = ?", (batch,))
            self._db.execute("DELETE FROM batches WHERE name = ?", (batch,))

    def request(self, name: str) -> SentRequest | None:
        """Return a request that was sent, with its result if the batch has ended.

        None for one that no session of the run has sent.
        """
        found = self._db.execute(
            "SELECT batch, ledger_row, status, reply FROM requests WHERE name = ?",
            (name,),
        ).fetchone()
        if found is None:
            return None
        batch, row, status, reply = found
        result = None
        if status is not None:
            result = Result(name, int(status), json.loads(reply))
        return SentRequest(str(batch), str(row), result)

    def names(self, batch: str) -> list[str]:
        """Custom IDs of a batch's requests, in the order in which they were sent."""
        rows = self._db.execute(
            "SELECT name FROM requests WHERE batch = ? ORDER BY rowid", (batch,)
        )
        return [str(name) for (name,) in rows]

    def job_id(self, batch: str) -> str | None:
        """The provider's ID of a batch, None if it is unknown."""
        rows = self._db.execute("SELECT id FROM batches WHERE name = ?", (batch,))
        found: str | None = (rows.fetchone() or (None,))[0]
        return found

    def job_ids(self) -> list[str]:
        """Return the provider's IDs of all batches of the run that have one."""
        rows = self._db.execute("SELECT id FROM batches WHERE id IS NOT NULL")
        return [str(job_id) for (job_id,) in rows]

    def close(self) -> None:
        """Close the file. Everything is on disk already."""
        self._db.close()

    def _writing(self) -> sqlite3.Connection:
        """Return a context that commits what is executed in it at once."""
        self._db.execute("BEGIN")
        return self._db


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A request that waits for the next batch; ``row`` is that of the ledger."""

    name: str
    request: Request
    row: str


class BatchConnection(Connection):
    """A server that is asked in batches. It works as long as its event loop."""

    def __init__(self, address: str, key: str, settings: ServerSettings) -> None:
        super().__init__(address, key, settings)
        self._form = form_of(urlsplit(address).hostname or "", settings.batch)
        # A key in a header of its own is no bearer's.
        if own := self._form.headers(unquoted(key)):
            self._headers.pop("Authorization", None)
            self._headers |= own
        self._store: BatchStore | None = None  # until it is used
        self._asked: Counter[str] = Counter()
        self._gathered: dict[str, _Waiting] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._answers: dict[str, asyncio.Future[None]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def keep_in(self, file: Path) -> None:
        """Keep the batches in a file, which has those of earlier sessions."""
        if self._store is not None:
            self._store.close()
        self._store = BatchStore(file)

    @property
    def _kept(self) -> BatchStore:
        """The store of the run, or one in memory if ``keep_in`` was not called."""
        if self._store is None:
            self._store = BatchStore()
        return self._store

    async def post(self, request: Request) -> tuple[Any, Usage]:
        """Return the reply to a request and its usage, once the batch with it has ended.

        A request that an earlier session has sent is not sent, or paid, again.
        """
        name = self._name(request)
        earlier = ""
        if sent := self._kept.request(name):
            earlier = sent.row

        async def send(transfer: sending) -> Any:
            return await self._answer(name, request, transfer.row)

        return await self._billed(request, send, "batch", earlier)

    async def aclose(self) -> None:
        """Stop waiting. Batches go on at the provider, and a resumed run reads their answers."""
        if self._timer is not None:
            self._timer.cancel()
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._store is not None:
            self._store.close()
            self._store = None
        await super().aclose()

    def _name(self, request: Request) -> str:
        """Return the custom ID of a request: by its content, its episode, and its number among
        equal ones of that episode."""
        episode = EPISODE.get()
        of_episode = episode.episode if episode is not None else ""
        key = digest([self.address, of_episode, request.route, request.body])[:40]
        while True:
            self._asked[key] += 1
            name = f"{key}-{self._asked[key]}"
            sent = self._kept.request(name)
            # What the provider failed at in an earlier session is asked again.
            if sent is None or sent.result is None or not sent.result.is_failure:
                return name

    async def _answer(self, name: str, request: Request, row: str) -> Any:
        """Return the reply to a request. Raises ``ModelError``."""
        # Once the batch has ended, the next round reads the stored result.
        # If it was dropped, the next round gathers the request again.
        while True:
            sent = self._kept.request(name)
            if sent is not None and sent.result is not None:
                return self._reply(sent.result, request)
            arrival = self._answers.get(name)
            if arrival is None:
                arrival = asyncio.get_running_loop().create_future()
                self._answers[name] = arrival
            if sent is None:
                self._gather(_Waiting(name, request, row))
            # An earlier session has sent it: this one continues to wait for its batch.
            elif sent.batch not in self._tasks:
                names = self._kept.names(sent.batch)
                self._start(sent.batch, names, partial(self._follow, sent.batch))
            try:
                await arrival
            finally:
                self._answers.pop(name, None)

    def _reply(self, result: Result, request: Request) -> Any:
        """Return the reply of a result, with the tier ``batch``, by which its price is found.

        Raises ``ModelError`` for a result without one: it can be repeated if there is
        none, and an error is not billed.
        """
        if result.status in (NOT_PROCESSED, LOST):
            problem = redacted(json.dumps(result.reply))[:200]
            line = f"{self.address} has no answer to a request of a batch: {problem}"
            error = ModelError(line, retryable=True)
            if result.status == LOST:
                error.billed = self._estimate(request)
                error.lost = "error"
            raise error
        if result.status < 300 and isinstance(result.reply, dict):
            # Its price is that of batches, whatever tier the reply names.
            result.reply["service_tier"] = "batch"
        text = json.dumps(result.reply)
        try:
            return self._read(result.status, {}, text, request)
        except ModelError as error:
            if result.status >= 300:
                # Requests with an error are not billed.
                error.billed = None
                error.lost = ""
            raise

    # Gathering and sending.

    def _gather(self, waiting: _Waiting) -> None:
        """Add a request to the next batch, which is sent once no other one comes."""
        self._gathered[waiting.name] = waiting
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(QUIET_S, self._send_gathered)

    def _send_gathered(self) -> None:
        """Send the gathered requests, each route in batches of its own."""
        # Those that were canceled meanwhile are left out.
        waiting = [
            each for name, each in self._gathered.items() if name in self._answers
        ]
        self._gathered = {}
        parts: dict[str, list[_Waiting]] = {}
        sizes: Counter[str] = Counter()
        for each in waiting:
            route = each.request.route
            size = len(json.dumps(each.request.body))
            part = parts.setdefault(route, [])
            is_full = len(part) == self._form.most
            if part and (is_full or sizes[route] + size > self._form.most_bytes):
                self._start_batch(part)
                part = parts[route] = []
                sizes[route] = 0
            part.append(each)
            sizes[route] += size
        for part in parts.values():
            self._start_batch(part)

    def _start_batch(self, waiting: Sequence[_Waiting]) -> None:
        batch = secrets.token_hex(8)
        names = [each.name for each in waiting]
        self._start(batch, names, partial(self._submit, batch, waiting))

    def _start(
        self, batch: str, names: Sequence[str], work: Callable[[], Awaitable[None]]
    ) -> None:
        work_done = self._finish(batch, names, work)
        self._tasks[batch] = asyncio.ensure_future(work_done)

    async def _finish(
        self, batch: str, names: Sequence[str], work: Callable[[], Awaitable[None]]
    ) -> None:
        """Do the work of a batch, and let its requests read the results."""
        failure = None
        try:
            await work()
        except ModelError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - no call may wait forever, or be paid twice
            line = redacted(f"{type(error).__name__}: {error}")[:200]
            line = f"the batch {batch} cannot be stored or read: {line}"
            failure = ModelError(line, fatal=True)
        finally:
            del self._tasks[batch]
        for name in names:
            arrival = self._answers.get(name)
            if arrival is None or arrival.done():
                continue
            if failure is not None:
                arrival.set_exception(_copy(failure))
            else:
                arrival.set_result(None)

    async def _submit(self, batch: str, waiting: Sequence[_Waiting]) -> None:
        """Send a batch, and store its results once it has ended."""
        requests = {each.name: each.request for each in waiting}
        self._kept.begin(batch, {each.name: each.row for each in waiting})
        try:
            job_id = await self._form.submit(self, batch, requests)
        except ModelError as error:
            # The batch may have been made, and the reply with its ID lost.
            if not (error.lost and await self._find(batch)):
                self._kept.drop(batch)
                raise
        else:
            self._kept.submitted(batch, job_id)
        await self._follow(batch)

    async def _find(self, batch: str) -> bool:
        """Look for a batch whose ID was lost. Returns True if it is there."""
        names = self._kept.names(batch)
        known = self._kept.job_ids()
        await asyncio.sleep(POLL_S)  # until the provider's list has it
        ask = partial(self._form.find, self, batch, names, known)
        job_id = await self._persist(ask)
        if job_id is not None:
            self._kept.submitted(batch, job_id)
        return job_id is not None

    async def _follow(self, batch: str) -> None:
        """Wait for the end of a batch, and store its results. Raises ``ModelError`` if it was
        refused."""
        job_id = self._kept.job_id(batch)
        if job_id is None:
            # The session that sent it, or was about to, was killed.
            if await self._find(batch):
                await self._follow(batch)
            else:
                self._kept.drop(batch)
            return
        pause = POLL_S
        results: Sequence[Result] = []
        status = LOST
        problem = "the batch has no result for it"
        try:
            poll = partial(self._form.poll, self, job_id)
            while (job := await self._persist(poll)) is None:
                await asyncio.sleep(pause)
                pause = _longer(pause)
            results = await self._persist(partial(self._form.results, self, job))
        except Missing as error:
            problem = str(error)
        else:
            refusal = self._form.refusal(job)
            if refusal is not None and not results:
                self._kept.drop(batch)
                raise refusal
            status = self._form.without_result(job)
            results = self._named(batch, results)
        without = Result("", status, {"message": problem})
        count = self._kept.ended(batch, results, without)
        if count and status == LOST:
            self.problems.append(
                f"batch {job_id}: {count:,} answers are gone ({problem}); the requests are sent "
                "again, and billed twice if they had been processed: the bill has an estimate"
            )

    def _named(self, batch: str, results: Sequence[Result]) -> Sequence[Result]:
        """Return the results of a batch with the names of its requests. Raises a fatal
        ``ModelError`` if none has one: their order may be another."""
        names = self._kept.names(batch)
        if not results or not {*names}.isdisjoint(each.name for each in results):
            return results
        if len(names) == len(results) == 1:
            return [replace(results[0], name=names[0])]
        job_id = self._kept.job_id(batch)
        raise ModelError(
            f"the answers of the batch {job_id} do not name their requests, and no answer has a "
            "known request; run without batches",
            fatal=True,
        )

    async def _persist(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Return a reply about a batch, however long the server is away: it works meanwhile.

        Raises ``Missing`` once the batch has been denied for ``DENIED_S``.
        """
        pause = POLL_S
        denied = 0.0
        while True:
            try:
                return await ask()
            except Missing:
                if denied >= DENIED_S:
                    raise
                denied += pause
                await asyncio.sleep(pause)
            except ModelError as error:
                if not (error.away or error.retryable):
                    raise
                denied = 0.0
                wait = min(error.retry_after or 0.0, LONGEST_WAIT_S)
                await asyncio.sleep(max(pause, wait))
            pause = _longer(pause)


def _longer(pause: float) -> float:
    """Return the pause after one of this length, in seconds."""
    return min(LONGEST_POLL_S, 1.5 * pause)


def _copy(error: ModelError) -> ModelError:
    """Return an equal error for each call of a batch: each notes its own bill in it."""
    return ModelError(
        str(error),
        retryable=error.retryable,
        retry_after=error.retry_after,
        fatal=error.fatal,
        away=error.away,
    )
