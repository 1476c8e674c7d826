"""Runs of an agent through a server on loopback, for cases of model servers."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.loopback import Answerer, Loopback, chat, serving
from helpers.reasoning_stub import answer_to
from wayword.core.errors import WaywordError
from wayword.core.model import Completion, Sampling, user
from wayword.core.rollout import Outcome
from wayword.core.trajectory import ModelCall
from wayword.models.parts.opening import open_model
from wayword.runs import Plan, run
from wayword.runs.record import RunFolder


@dataclass
class Served:
    """A finished run: its outcome and notices, its server, and the calls of its episodes."""

    outcome: Outcome
    notices: list[str]
    server: Loopback
    calls: list[ModelCall]
    out: Path


def good(body: dict[str, Any]) -> tuple[int, Any]:
    """A legal answer to a request."""
    return 200, chat(answer_to(body))


def played(answer: Answerer, out: Path, models: Any = None, **options: Any) -> Served:
    """Three short episodes of NavGPT in generated houses, one after the other."""
    name = options.pop("model", "mine")
    plan: dict[str, Any] = {"limit": 3, "first": True, "max_steps": 2, "concurrency": 1}
    plan |= {"retries": options.pop("retries", 0)}
    with serving(answer, models) as server:
        settings = {"base_url": server.address, **options.pop("settings", {})}
        tree = {"model": settings, "dataset": {"houses": 1, "episodes": 3}, **options}
        result = run(Plan("navgpt", "houses", f"openai:{name}", tree, out=out, **plan))
    calls = [
        call
        for record in RunFolder.read(out).records()
        for call in record.trajectory.calls()
    ]
    return Served(result.outcome, list(result.notices), server, calls, out)


@contextmanager
def raw_server(
    reply: bytes, family: Any = socket.AF_INET
) -> Iterator[tuple[str, list[str]]]:
    """A server that sends the same bytes to each request: its address, and the paths asked for."""
    host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
    listening = socket.socket(family)
    listening.bind((host, 0))
    listening.listen(20)
    paths: list[str] = []

    def answer() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                data = b""
                while b"\r\n\r\n" not in data:
                    data += connection.recv(65536)
                head, _, rest = data.partition(b"\r\n\r\n")
                paths.append(head.split(b" ")[1].decode())
                lines = head.lower().split(b"\r\n")
                lengths = [
                    x.split(b":")[1] for x in lines if x.startswith(b"content-l")
                ]
                while len(rest) < int(lengths[0]):
                    rest += connection.recv(65536)
                connection.sendall(reply)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    shown = f"[{host}]" if ":" in host else host
    try:
        yield f"http://{shown}:{listening.getsockname()[1]}/v1", paths
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def send_request(address: str, **settings: Any) -> Completion | WaywordError:
    """The answer of a server to one request, or its error."""

    async def go() -> Completion:
        model = open_model("openai:mine", {"base_url": address, **settings})
        try:
            return await model.complete([user("hello")], Sampling(0.5, seed=1))
        finally:
            await model.aclose()

    try:
        return asyncio.run(go())
    except WaywordError as error:
        return error


def http(body: bytes, head: str = "HTTP/1.1 200 OK", **headers: str) -> bytes:
    """The bytes of a reply."""
    fields = {"Connection": "close", "Content-Type": "application/json", **headers}
    lines = [head, *(f"{k.replace('_', '-')}: {v}" for k, v in fields.items()), "", ""]
    return "\r\n".join(lines).encode() + body
