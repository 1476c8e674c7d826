"""Environments behind a server that speaks OpenEnv's messages.

    wayword serve-env household:generated_train --port 8765

    from openenv import GenericEnvClient

    with GenericEnvClient(base_url="http://127.0.0.1:8765").sync() as env:
        result = env.reset(seed=0, include=["expert_action"])
        result = env.step({"text": "turn_left"})

A WebSocket at ``/ws`` is one session with its own environment: messages ``reset``, ``step``,
``state`` and ``close``, each with its ``data``. An action is ``{"text": ...}``; an observation has
``text`` (or ``messages``), with eyes ``images`` (``image_url`` parts of a chat message), and
``metadata``, which is ``info``. A reset's ``include`` names more
keys of infos; an episode is chosen by ``seed``, ``episode_id``, or ``split`` and ``index``. A token
goes into the ``Authorization`` header, or before the path: ``http://127.0.0.1:8765/TOKEN``.

The same messages are also HTTP requests, for one session that all of them share, and the server
lists its episodes (:mod:`wayword.envs.openenv_pages`).

Format: openenv 0.10, ``core/env_server/http_server.py`` and ``core/env_client.py``.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from wayword.core.blame import CodeError
from wayword.core.errors import WaywordError
from wayword.core.loopback import BadRequest, json_object
from wayword.envs.access import Access, EitherSlash, check_host
from wayword.envs.environment import Environment, make
from wayword.envs.openenv_pages import MAX_BYTES, MESSAGES, Pages
from wayword.metrics.scoring import missing_success

MAX_SESSIONS = 64
"""Sessions at the same time."""


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
        self._access = Access(token)
        self._max_sessions = max_sessions
        self._session_count = 0
        # Opened once, to fail early and to list the episodes.
        reward = options.pop("reward", "")
        first = make(name, reward=reward or None, **options)
        self._dataset = first.dataset
        self._tasks = first.tasks
        # Clients read the last reward as the episode's score; where nothing judges, there is none.
        if not reward and not missing_success(self._dataset):
            reward = "success"
        self._options = {**options, "reward": reward or None}

    def app(self) -> Starlette:
        """The application, for any ASGI server."""
        pages = Pages(
            self._name,
            self._dataset.split,
            self._tasks,
            self._access,
            self._make,
        )
        routes: list[Any] = []
        # The second prefix is for clients that cannot send the token as a header
        for prefix in ("", "/{token}"):
            routes += pages.routes(prefix)
            routes.append(WebSocketRoute(f"{prefix}/ws", self._serve_session))
        return Starlette(routes=routes, middleware=[Middleware(EitherSlash)])

    def _make(self) -> Environment:
        """Return a new environment with the server's dataset and options."""
        return make(self._name, dataset=self._dataset, **self._options)

    async def _serve_session(self, socket: WebSocket) -> None:
        """Serve one client until it leaves.

        Refuse it without the token or over capacity.
        """
        if not self._access.admits(socket):
            await socket.close(code=1008)  # policy violation
            return
        await socket.accept()
        # Accepted before it is refused, so that the client can read why.
        if self._session_count >= self._max_sessions:
            message = (
                f"there are {self._max_sessions} sessions already; close one first"
            )
            await socket.send_text(_error("CAPACITY_REACHED", message))
            await socket.close()
            return
        self._session_count += 1
        env = self._make()
        # Until the client closes, or leaves without a word.
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
    except CodeError as error:  # also a TypeError, but none of the message
        return _error("EXECUTION_ERROR", str(error))
    except (BadRequest, KeyError, TypeError, AttributeError):
        return _error("INVALID_JSON", 'a message is {"type": "reset", "data": {}}')
    except WaywordError as error:
        return _error("EXECUTION_ERROR", str(error))


def _error(code: str, message: str) -> str:
    """Return a message of the protocol that reports an error."""
    return json.dumps({"type": "error", "data": {"code": code, "message": message}})


def serve(
    name: str,
    host: str,
    port: int,
    token: str = "",
    max_sessions: int = MAX_SESSIONS,
    **options: Any,
) -> Any:
    """A server that is ready to run: ``serve(...).run()`` blocks. Raises ``UsageError`` for a
    public address without a token."""
    import uvicorn

    check_host(host, token)
    app = OpenEnvServer(name, token, max_sessions, **options).app()
    config = uvicorn.Config(
        app,
        host,
        port,
        log_level="warning",
        lifespan="off",
        ws_max_size=MAX_BYTES,
    )
    return uvicorn.Server(config)
