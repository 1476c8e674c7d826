"""Stand-ins for the model tests: a clock that only sleeping moves, and a server on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from wayword.models.local import LocalModel, LocalSettings
from wayword.models.middleware import budget
from wayword.models.parts.weights import located


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class Reply:
    """What the fake server does with one request."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drop: bool = False
    drop_after: bool = False


@dataclass
class FakeServer:
    """Answers requests from a list, then repeats the last entry; keeps what it was asked."""

    replies: list[Reply]
    asked: list[dict[str, Any]] = field(default_factory=list)
    routes: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    address: str = ""

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._answer(head.decode(), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        lines = head.split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        body = await reader.readexactly(int(fields.get("content-length", 0)))
        self.routes.append(lines[0].split()[1])
        self.keys.append(fields.get("authorization", ""))
        reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
        self.asked.append(json.loads(body))
        await asyncio.sleep(reply.delay)
        if reply.drop:
            writer.close()
            return
        if isinstance(reply.body, bytes):
            raw = reply.body
        else:
            raw = json.dumps(reply.body).encode()
        kind = {"content-type": "application/json", "content-length": str(len(raw))}
        fields = kind | reply.headers
        text = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{text}\r\n".encode() + raw)
        await writer.drain()
        if reply.drop_after:
            writer.close()


@asynccontextmanager
async def _serving(*replies: Reply) -> AsyncIterator[FakeServer]:
    fake = FakeServer(list(replies))
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield fake
    finally:
        server.close()


Serving = Callable[..., AbstractAsyncContextManager[FakeServer]]


@pytest.fixture
def serving() -> Serving:
    """``async with serving(Reply(…), …) as server``: a server on loopback."""
    return _serving


@pytest.fixture
def reply() -> type[Reply]:
    """The kind of reply a fake server gives."""
    return Reply


@pytest.fixture(autouse=True)
def _no_stalled_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stops for a second lets no call of a younger episode out."""
    monkeypatch.setattr(budget, "_STALL_S", 1e6)


@pytest.fixture
def clock() -> Clock:
    """A clock that only sleeping moves."""
    return Clock()


@pytest.fixture(scope="module")
def smollm2() -> Iterator[LocalModel]:
    """The embedded model, loaded once a test file."""
    model = LocalModel("smollm2", LocalSettings(slots=3, context=2048))
    yield model
    asyncio.run(model.aclose())


@pytest.fixture(scope="session")
def weights() -> Path:
    """The embedded model's file."""
    return located("smollm2")
