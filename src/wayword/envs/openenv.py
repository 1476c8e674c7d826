"""Environments behind a server that speaks OpenEnv's messages.

    wayword serve-env household:generated_train --port 8765

    from openenv import GenericEnvClient

    with GenericEnvClient(base_url="http://127.0.0.1:8765").sync() as env:
        result = env.reset(seed=0, include=["expert_action"])
        result = env.step({"text": "turn_left"})

A WebSocket at ``/ws`` is one session with its own environment: messages ``reset``, ``step``,
``state`` and ``close``, each with its ``data``. An action is ``{"text": ...}``; an observation has
``text`` (or ``messages``) and ``metadata``, which is ``info``. A reset's ``include`` names more
keys of infos. A token goes into the ``Authorization`` header, or before the path:
``http://127.0.0.1:8765/TOKEN``.

Format: openenv-core 0.3, ``env_server/http_server.py`` and ``env_client.py``.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from wayword.core.episode import Json
from wayword.core.errors import UsageError, WaywordError
from wayword.core.loopback import BadRequest, is_local_request, is_loopback, json_object
from wayword.envs.environment import Environment, make
from wayword.envs.game import Info, check_include

MAX_SESSIONS = 64
"""Sessions at the same time."""
MAX_BYTES = 2**20
"""Longest message."""


def reset(env: Environment, data: Mapping[str, Json]) -> dict[str, Json]:
    """Begin an episode by ``seed`` or ``episode_id``, or in a new scene by ``options``."""
    keys = ("include", "seed", "episode_id", "options")
    include, seed, episode, options = (data.get(key) for key in keys)
    valid = isinstance(include, list | None) and isinstance(episode, str | int | None)
    if not (valid and isinstance(options, dict | None)):
        raise UsageError(
            'a reset is {"seed": 0, "episode_id": "ID", "include": ["NAME"]}'
        )
    env.include = check_include(include or ())
    observation, info = env.reset(seed, episode, options)
    return _result(observation, info, None, False)


def step(env: Environment, action: Mapping[str, Json]) -> dict[str, Json]:
    """Play ``text``, or entry ``index`` of a menu."""
    answer = action.get("text", action.get("index"))
    if not isinstance(answer, str | int):
        raise UsageError(
            'an action is {"text": "goto[kitchen]"}, or {"index": 3} of a menu'
        )
    observation, reward, terminated, truncated, info = env.step(answer)
    return _result(
        observation, {**info, "truncated": truncated}, reward, terminated or truncated
    )


def state(env: Environment, data: Mapping[str, Json]) -> dict[str, Json]:
    """The current episode and its step count."""
    game = env.game
    return {
        "episode_id": game.task.episode.id,
        "step_count": game.taken[env.actor],
        "dataset": env.options.name,
        "ended": game.ended,
    }


MESSAGES = {
    "reset": ("observation", reset),
    "step": ("observation", step),
    "state": ("state", state),
}
"""Message -> the reply's type, and what computes its data."""


def _result(
    view: Json, info: Info, reward: float | None, done: bool
) -> dict[str, Json]:
    key = "text" if isinstance(view, str) else "fields"
    key = "messages" if isinstance(view, list) else key
    return {
        "observation": {key: view, "metadata": info},
        "reward": reward,
        "done": done,
    }


class OpenEnvServer:
    """Sessions of one server. ``options`` are those of :func:`wayword.envs.make`."""

    def __init__(
        self,
        name: str,
        token: str = "",
        max_sessions: int = MAX_SESSIONS,
        **options: Any,
    ) -> None:
        self._name = name
        self._token = token
        self._options = options
        self._max_sessions = max_sessions
        self._session_count = 0
        self._dataset = make(name, **options).dataset

    def app(self) -> Starlette:
        """The application, for any ASGI server."""
        text = {"text": {"type": "string"}}
        episode = {"episode_id": {"type": "string"}}
        parts = {"action": text, "observation": {**text, "metadata": {}}}
        parts["state"] = {**episode, "step_count": {"type": "integer"}}
        about = f"Wayword's {self._name}, {len(self._dataset.tasks):,} episodes"
        pages = {
            "schema": {
                key: {"type": "object", "properties": part}
                for key, part in parts.items()
            },
            "metadata": {"name": f"wayword/{self._name}", "description": about},
            "health": {"status": "healthy"},
        }

        async def respond(request: Request) -> Response:
            name = request.url.path.rpartition("/")[2]
            if name == "health" or self.allowed(request):
                return JSONResponse(pages[name])
            return JSONResponse(
                {"detail": "this server needs its token"}, status_code=401
            )

        routes: list[Any] = []
        for prefix in ("", "/{token}"):
            routes += [Route(f"{prefix}/{name}", respond) for name in pages]
            routes.append(WebSocketRoute(f"{prefix}/ws", self._serve_session))
        return Starlette(routes=routes)

    def allowed(self, connection: HTTPConnection) -> bool:
        """True if a client has the token and is not a page of another website."""
        host = connection.headers.get("host", "")
        origin = connection.headers.get("origin")
        # With a token, clients may call this machine by any name.
        if not is_local_request("localhost" if self._token else host, origin):
            return False
        path_token = connection.path_params.get("token", "")
        if not self._token:
            return not path_token
        header = connection.headers.get("authorization", "")
        token = header.removeprefix("Bearer ").strip() or path_token
        return secrets.compare_digest(token.encode(), self._token.encode())

    async def _serve_session(self, socket: WebSocket) -> None:
        if not self.allowed(socket):
            await socket.close(code=1008)  # policy violation
            return
        await socket.accept()
        if self._session_count >= self._max_sessions:
            message = (
                f"there are {self._max_sessions} sessions already; close one first"
            )
            await socket.send_text(_error("CAPACITY_REACHED", message))
            await socket.close()
            return
        self._session_count += 1
        env = make(self._name, dataset=self._dataset, **self._options)
        try:
            while (reply := await _reply(env, socket)) is not None:
                await socket.send_text(reply)
            await socket.close()
        except WebSocketDisconnect:
            pass
        finally:
            self._session_count -= 1
            env.close()


async def _reply(env: Environment, socket: WebSocket) -> str | None:
    """The reply to the next message; None ends the session."""
    try:
        message = json_object(await socket.receive_text())  # KeyError if it is binary
        kind = message["type"]
        data = message.get("data") or {}
        if kind == "close":
            return None
        if kind not in MESSAGES:
            return _error("UNKNOWN_TYPE", f"there is no message {kind!r}")
        reply_type, compute = MESSAGES[kind]
        result = await asyncio.to_thread(compute, env, data)
        return json.dumps({"type": reply_type, "data": result})
    except (BadRequest, KeyError, TypeError, AttributeError):
        return _error("INVALID_JSON", 'a message is {"type": "reset", "data": {}}')
    except WaywordError as error:
        return _error("EXECUTION_ERROR", str(error))


def _error(code: str, message: str) -> str:
    return json.dumps({"type": "error", "data": {"code": code, "message": message}})


def serve(
    name: str, host: str, port: int, token: str = "", max_sessions: int = MAX_SESSIONS,
    **options: Any,
) -> Any:  # fmt: skip
    """A server that is ready to run: ``serve(...).run()`` blocks. Raises ``UsageError`` for a
    public address without a token."""
    import uvicorn

    if not is_loopback(host) and not token:
        raise UsageError(
            f"--host {host} is reachable by other machines; set a token in $WAYWORD_ENV_TOKEN"
        )
    app = OpenEnvServer(name, token, max_sessions, **options).app()
    config = uvicorn.Config(
        app, host, port, log_level="warning", lifespan="off", ws_max_size=MAX_BYTES
    )
    return uvicorn.Server(config)
