"""Environments behind a server, in OpenEnv's messages; and a client.

    wayword serve-env household:generated_train --port 8765

    from wayword.envs.openenv import Remote

    with Remote("http://127.0.0.1:8765") as env:
        observation, info = env.reset(seed=0)
        observation, reward, terminated, truncated, info = env.step("turn_left")

A WebSocket at ``/ws`` is one session with an environment of its own: messages ``reset``, ``step``,
``state`` and ``close``, each with its ``data``. An action is ``{"text": ...}``; an observation has
``text`` (or ``messages``) and ``metadata``, which is ``info``. A reset's ``include`` names what
infos hold besides: ``["expert_action"]``. OpenEnv's own clients work unchanged; a token goes into
the ``Authorization`` header, or before the path: ``http://127.0.0.1:8765/TOKEN``.

Format: openenv-core 0.3, ``env_server/http_server.py`` and ``env_client.py``.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from wayword.core.episode import Json
from wayword.core.errors import UsageError, WaywordError
from wayword.core.loopback import BadRequest, asked_from_here, is_loopback, json_object
from wayword.envs.environment import Environment, make
from wayword.envs.game import Info, included

MOST = 64
"""Sessions at once."""
MOST_BYTES = 2**20
"""Bytes of a request's body or a message."""


@dataclass
class OpenEnvSession:
    """One environment, asked by one client at a time."""

    env: Environment

    def reset(self, data: Mapping[str, Json]) -> dict[str, Json]:
        """Begin an episode by ``seed``, ``episode_id``, or the next."""
        include, seed, episode = (data.get(key) for key in ("include", "seed", "episode_id"))
        if not isinstance(include, list | None) or not isinstance(episode, str | int | None):
            raise UsageError('a reset is {"seed": 0, "episode_id": "ID", "include": ["NAME"]}')
        self.env.include = included(include or ())
        seen, info = self.env.reset(seed, episode)
        return self._told(seen, info, None, False)

    def step(self, action: Mapping[str, Json]) -> dict[str, Json]:
        """Say ``text``, or take number ``index`` of a menu."""
        said = action.get("text", action.get("index"))
        if not isinstance(said, str | int):
            raise UsageError('an action is {"text": "goto[kitchen]"}, or {"index": 3} of a menu')
        seen, reward, ended, cut, info = self.env.step(said)
        told = self._told(seen, info, reward, ended or cut)
        told["observation"]["metadata"]["truncated"] = cut
        return told

    def state(self) -> dict[str, Json]:
        """Which episode, and how far it is."""
        game = self.env.game
        return {
            "episode_id": game.task.episode.id,
            "step_count": game.taken[self.env.actor],
            "dataset": self.env.options.name,
            "ended": game.ended,
        }

    def _told(self, seen: Json, info: Info, reward: float | None, done: bool) -> dict[str, Json]:
        shown = {"text": seen} if isinstance(seen, str) else {"messages": seen}
        if isinstance(seen, dict):
            shown = {"fields": seen}
        told = {**shown, "metadata": info}
        return {"observation": told, "reward": reward, "done": done}


class OpenEnvServer:
    """The sessions of one server. ``options`` are those of :func:`wayword.envs.make`."""

    def __init__(self, name: str, token: str = "", most: int = MOST, **options: Any) -> None:
        self._name, self._token, self._most, self._options = name, token, most, options
        self._shared = make(name, **options).dataset
        self._open = 0

    def app(self) -> Starlette:
        """The application, for any ASGI server."""
        pages = [
            ("/schema", self._schema),
            ("/metadata", self._metadata),
            ("/health", self._health),
        ]
        routes: list[Any] = []
        for before in ("", "/{token}"):
            routes += [Route(before + at, page) for at, page in pages]
            routes.append(WebSocketRoute(f"{before}/ws", self._talk))
        return Starlette(routes=routes, exception_handlers={WaywordError: _refused})

    def session(self) -> OpenEnvSession:
        """A new session. Raises ``UsageError`` where there are too many."""
        if self._open >= self._most:
            raise UsageError(f"there are {self._most} sessions already; close one first")
        return OpenEnvSession(make(self._name, dataset=self._shared, **self._options))

    def allowed(self, connection: HTTPConnection) -> bool:
        """Whether a client has the token and is not a page of a foreign web site."""
        host, origin = connection.headers.get("host", ""), connection.headers.get("origin")
        if not asked_from_here("localhost" if self._token else host, origin):
            return False  # with a token, others may ask by whatever name this machine has
        given = connection.path_params.get("token", "")
        header = connection.headers.get("authorization", "")
        given = header.removeprefix("Bearer ").strip() or given
        if not self._token:
            return "token" not in connection.path_params
        return secrets.compare_digest(given.encode(), self._token.encode())

    async def _talk(self, socket: WebSocket) -> None:
        if not self.allowed(socket):
            await socket.close(code=1008)
            return
        await socket.accept()
        try:
            session = self.session()
        except WaywordError as error:
            await socket.send_text(_error("CAPACITY_REACHED", str(error)))
            await socket.close()
            return
        self._open += 1
        try:
            while (answer := await self._answer(session, await _received(socket))) is not None:
                await socket.send_text(answer)
            await socket.close()
        except WebSocketDisconnect:
            pass
        finally:
            self._open -= 1
            session.env.close()

    async def _answer(self, session: OpenEnvSession, text: str) -> str | None:
        """The answer to one message; None ends the session."""
        try:
            message = json_object(text)
            kind, data = message["type"], message.get("data") or {}
            if kind == "close":
                return None
            work = {"reset": session.reset, "step": session.step}.get(kind)
            if work is not None:
                found = await asyncio.to_thread(work, data)
                return json.dumps({"type": "observation", "data": found})
            if kind == "state":
                return json.dumps({"type": "state", "data": session.state()})
            return _error("UNKNOWN_TYPE", f"there is no message {kind!r}")
        except (BadRequest, KeyError, TypeError, AttributeError):
            return _error("INVALID_JSON", 'a message is {"type": "reset", "data": {}}')
        except WaywordError as error:
            return _error("EXECUTION_ERROR", str(error))

    async def _schema(self, request: Request) -> Response:
        self._check(request)
        text, known = {"text": {"type": "string"}}, {"episode_id": {"type": "string"}}
        parts = {"action": text, "observation": {**text, "metadata": {}}}
        parts["state"] = {**known, "step_count": {"type": "integer"}}
        found = {k: {"type": "object", "properties": part} for k, part in parts.items()}
        return JSONResponse(found)

    async def _metadata(self, request: Request) -> Response:
        self._check(request)
        about = f"Wayword's {self._name}, {len(self._shared.tasks):,} episodes"
        return JSONResponse({"name": f"wayword/{self._name}", "description": about})

    async def _health(self, request: Request) -> Response:
        return JSONResponse({"status": "healthy"})

    def _check(self, request: Request) -> None:
        if not self.allowed(request):
            raise Forbidden("this server asks for its token")


class Forbidden(UsageError):
    """A request without the server's token."""


def serve(
    name: str, host: str, port: int, token: str = "", most: int = MOST, **options: Any
) -> Any:
    """A server that is ready to run: ``serve(...).run()`` blocks. Raises ``UsageError`` for an
    address that others can reach where there is no token."""
    import uvicorn

    if not is_loopback(host) and not token:
        raise UsageError(
            f"--host {host}: others can reach it; set a token in $WAYWORD_ENV_TOKEN first"
        )
    app = OpenEnvServer(name, token, most, **options).app()
    config = uvicorn.Config(
        app, host, port, log_level="warning", lifespan="off", ws_max_size=MOST_BYTES
    )
    return uvicorn.Server(config)


def _error(code: str, message: str) -> str:
    return json.dumps({"type": "error", "data": {"code": code, "message": message}})


async def _received(socket: WebSocket) -> str:
    """The next message; empty for one of bytes, which is none of this server's."""
    try:
        return await socket.receive_text()
    except KeyError:
        return ""


async def _refused(request: Any, error: Exception) -> Response:
    status = getattr(error, "status", 401 if isinstance(error, Forbidden) else 400)
    return JSONResponse({"detail": str(error)}, status_code=status)


class Remote:
    """An environment on a server, with the ``reset`` and ``step`` of a local one. ``include`` names
    what infos hold besides."""

    def __init__(
        self, url: str, token: str = "", include: Sequence[str] = (), timeout: float = 60.0
    ) -> None:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect

        address = url.rstrip("/").replace("http", "ws", 1) if url.startswith("http") else url
        self._held = ExitStack()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            opened = connect(
                f"{address}/ws", additional_headers=headers, open_timeout=timeout, proxy=None
            )
            self._socket = self._held.enter_context(opened)
        except (OSError, WebSocketException) as error:
            raise UsageError(f"{url}: no environment answers there ({error})") from None
        self._include, self._timeout = list(include), timeout

    def reset(
        self, seed: int | None = None, episode: str | None = None
    ) -> tuple[Json, dict[str, Json]]:
        """Begin an episode."""
        data = {"seed": seed, "episode_id": episode, "include": self._include}
        seen, _, _, info = self._ask("reset", data)
        return seen, info

    def step(self, said: str | int) -> tuple[Json, float, bool, bool, dict[str, Json]]:
        """Say something."""
        action = {"text": said} if isinstance(said, str) else {"index": said}
        seen, reward, done, info = self._ask("step", action)
        cut = bool(info.get("truncated"))
        return seen, reward, done and not cut, cut, info

    def close(self) -> None:
        """End the session."""
        self._held.close()

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _ask(self, kind: str, data: Json) -> tuple[Json, float, bool, dict[str, Json]]:
        self._socket.send(json.dumps({"type": kind, "data": data}))
        answer = json.loads(self._socket.recv(self._timeout))
        if answer["type"] == "error":
            raise UsageError(answer["data"]["message"])
        found = answer["data"]
        told = found["observation"]
        info = told.pop("metadata")
        seen = next(iter(told.values()))
        return seen, float(found["reward"] or 0.0), bool(found["done"]), info
