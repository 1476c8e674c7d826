"""HTTP routes of a server that speaks OpenEnv's messages.

    curl -X POST localhost:8765/reset -d '{"seed": 0}'
    curl -X POST localhost:8765/step -d '{"action": {"text": "turn_left"}}'
    curl localhost:8765/state

All HTTP requests share one session, one request at a time; a client that needs a session of its
own uses the WebSocket. ``/mcp`` offers the same three messages as tools of the Model Context
Protocol. ``/{dataset}/splits`` and ``/{dataset}/tasks`` list the episodes that are served, which a
reset takes as ``split`` and ``index``. ``/schema`` and ``/openapi.json`` describe the messages.

Format: openenv 0.10, ``core/env_server/http_server.py`` and ``core/env_server/interfaces.py``;
``openenv validate --url`` tests it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from wayword.core.dataset import Task
from wayword.core.episode import Json, JsonObject
from wayword.core.errors import UsageError, WaywordError, suggest
from wayword.core.loopback import BadRequest, read_object
from wayword.core.model import image_parts
from wayword.envs.access import Access
from wayword.envs.environment import Environment
from wayword.envs.game import Info, check_include

MAX_BYTES = 2**20
"""Longest message."""
MAX_LISTED = 10_000
"""Most episodes in one list: about 1 MB. ``num_tasks`` counts all."""

# Codes of JSON-RPC 2.0, which the Model Context Protocol uses
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602


def _first_of(data: JsonObject, *keys: str) -> Json:
    """Return the first value that is given. Clients send null for fields that they leave out."""
    return next((data[key] for key in keys if data.get(key) is not None), None)


RESET_KEYS = ("seed", "episode_id", "episode", "index", "split", "include", "options")
ACTION_KEYS = ("text", "index", "metadata")
"""Keys of messages; ``metadata`` is in OpenEnv's base class of actions."""


def _check_keys(kind: str, data: JsonObject, known: Sequence[str]) -> None:
    """Raise ``UsageError`` for a key that a message does not have: a misspelled seed would go
    unseen."""
    for key in data:
        if key not in known:
            raise UsageError(f"a {kind} has no {key!r}; {suggest(key, known)}")


def reset(env: Environment, data: JsonObject) -> dict[str, Json]:
    """Begin an episode by ``seed``, ``episode_id`` or ``index``; ``options`` make a new scene."""
    _check_keys("reset", data, RESET_KEYS)
    # All keys are optional, so each is checked where it is given.
    keys = ("include", "seed", "options")
    include, seed, options = (data.get(key) for key in keys)
    episode = _first_of(data, "episode_id", "episode", "index")
    valid = isinstance(include, list | None) and isinstance(episode, str | int | None)
    if not (valid and isinstance(options, dict | None)):
        raise UsageError(
            'a reset is {"seed": 0, "episode_id": "ID", "include": ["NAME"]}'
        )
    # One server has one split: another one is a mistake of the client.
    split = env.dataset.split
    if _first_of(data, "split") not in (None, split):
        raise UsageError(f"this server has the split {split!r}, not {data['split']!r}")
    env.include = check_include(include or ())
    observation, info = env.reset(seed, episode, options)
    return _result(env, observation, info, None, False)


def step(env: Environment, action: JsonObject) -> dict[str, Json]:
    """Play ``text``, or entry ``index`` of a menu."""
    _check_keys("step's action", action, ACTION_KEYS)
    # Clients send null for a key that they leave out; of two answers, neither is chosen.
    given = [action.get("text"), action.get("index")]
    answers = [each for each in given if each is not None]
    if len(answers) != 1 or not isinstance(answers[0], str | int):
        raise UsageError(
            'an action is {"text": "goto[kitchen]"}, or {"index": 3} of a menu'
        )
    observation, reward, terminated, truncated, info = env.step(answers[0])
    return _result(
        env,
        observation,
        {**info, "truncated": truncated},
        reward if env.reward.weights else None,
        terminated or truncated,
    )


def state(env: Environment, data: JsonObject) -> dict[str, Json]:
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
    env: Environment,
    view: Json,
    info: Info,
    reward: float | None,
    done: bool,
) -> dict[str, Json]:
    """Return a result of a step as JSON: the view under the name of its form, with pictures as
    parts of a chat message, reward and end."""
    # Views are a text, a list of messages, or fields.
    key = "text" if isinstance(view, str) else "fields"
    key = "messages" if isinstance(view, list) else key
    observation: dict[str, Json] = {key: view, "metadata": info}
    images = env.pictures()
    if images:
        observation["images"] = image_parts(images)
    return {
        "observation": observation,
        "reward": reward,
        "done": done,
    }


TEXT = {"type": "string"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "reset": {
        "type": "object",
        "properties": {
            "seed": {"type": "integer"},
            "episode_id": TEXT,
            "split": TEXT,
            "index": {"type": "integer"},
            "include": {"type": "array", "items": TEXT},
            "options": {"type": "object"},
        },
    },
    "action": {
        "type": "object",
        "properties": {
            "text": {**TEXT, "description": "the agent's answer, such as turn_left"},
            "index": {
                "type": "integer",
                "description": "in place of a text, an entry of the menu, from 0",
            },
        },
    },
    "observation": {
        "type": "object",
        "properties": {
            "text": TEXT,
            "images": {"type": "array", "items": {"type": "object"}},
            "metadata": {"type": "object"},
        },
    },
    "state": {
        "type": "object",
        "properties": {"episode_id": TEXT, "step_count": {"type": "integer"}},
    },
}
"""JSON schemas of what clients send and receive."""

TOOLS = {
    "begin": ("reset", "Begin an episode: the first observation.", SCHEMAS["reset"]),
    "act": ("step", "Play one turn: what follows it.", SCHEMAS["action"]),
    "status": ("state", "The episode and its step count.", {"type": "object"}),
}
"""Tool at ``/mcp`` -> message, description and arguments. OpenEnv reserves the messages' names."""


def kind_of_split(split: str) -> str:
    """OpenEnv's type of a split: ``train``, ``validation`` or ``test``.

    >>> kind_of_split("generated_train"), kind_of_split("val_seen"), kind_of_split("test_std")
    ('train', 'validation', 'test')
    """
    # By the names that splits have in published datasets.
    if "train" in split:
        return "train"
    return "test" if "test" in split else "validation"


class Pages:
    """The HTTP routes of one server. ``make_env`` opens the environment of their session."""

    def __init__(
        self,
        name: str,
        split: str,
        tasks: Sequence[Task],
        access: Access,
        make_env: Callable[[], Environment],
    ) -> None:
        self._name = name
        self._dataset_name = name.partition(":")[0]
        self._split = split
        self._tasks = tasks
        self._access = access
        # Opened with the first message: a server that only lists episodes needs none.
        self._make_env = make_env
        self._env: Environment | None = None
        self._turn = asyncio.Lock()

    def routes(self, prefix: str) -> list[Route]:
        """All routes, below a prefix of the path."""
        fixed = {
            "metadata": {
                "name": f"wayword/{self._name}",
                "description": f"Wayword's {self._name}, {len(self._tasks):,} episodes",
            },
            "schema": {key: SCHEMAS[key] for key in ("action", "observation", "state")},
            "openapi.json": self._openapi(),
            "list_environments": [self._dataset_name],
        }
        # Health needs no token, as monitors have none.
        routes = [Route(f"{prefix}/health", _respond_healthy)]
        for page, content in fixed.items():
            routes.append(Route(f"{prefix}/{page}", self._guard(_constant(content))))
        routes.append(Route(f"{prefix}/state", self._guard(self._state)))
        splits = self._guard(self._splits)
        routes.append(Route(f"{prefix}/{{dataset}}/splits", splits))
        for page, respond in self._posts().items():
            guarded = self._guard(respond)
            routes.append(Route(f"{prefix}/{page}", guarded, methods=["POST"]))
        return routes

    def _posts(self) -> dict[str, Callable[[Request], Awaitable[Json]]]:
        """Path -> what answers a POST request there."""
        return {
            "reset": self._reset,
            "step": self._step,
            "mcp": self._mcp,
            "{dataset}/tasks": self._list_tasks,
            "{dataset}/num_tasks": self._count_tasks,
            "{dataset}/task": self._one_task,
            "{dataset}/task_range": self._task_range,
        }

    def _guard(
        self,
        respond: Callable[[Request], Awaitable[Json]],
    ) -> Callable[[Request], Awaitable[Response]]:
        """Answer only clients that may enter; an error is one line with its status."""

        async def guarded(request: Request) -> Response:
            """Answer a request that has the token; errors become refusals."""
            # The token first: a stranger learns nothing about pages or episodes.
            if not self._access.admits(request):
                return _refusal("this server needs its token", 401)
            try:
                return JSONResponse(await respond(request))
            except BadRequest as error:
                return _refusal(str(error), error.status)
            except (WaywordError, IndexError) as error:
                return _refusal(str(error), 400)

        return guarded

    async def _play(self, message: str, data: JsonObject) -> dict[str, Json]:
        """Send a message to the session of all HTTP requests."""
        _, compute = MESSAGES[message]
        # One message at a time, in order of arrival.
        async with self._turn:
            if self._env is None:
                self._env = self._make_env()
            return await asyncio.to_thread(compute, self._env, data)

    async def _reset(self, request: Request) -> Json:
        """Begin an episode, with the fields of the request."""
        return await self._play("reset", await _body(request))

    async def _step(self, request: Request) -> Json:
        """Take a step. Raises ``BadRequest`` for a request without an action."""
        action = (await _body(request)).get("action")
        if not isinstance(action, dict):
            raise BadRequest('a step is {"action": {"text": "goto[kitchen]"}}', 422)
        return await self._play("step", action)

    async def _state(self, request: Request) -> Json:
        """Return the state of the session of all HTTP requests."""
        return await self._play("state", {})

    async def _mcp(self, request: Request) -> Json:
        """Answer a JSON-RPC request: errors, too, are answers with status 200."""
        try:
            call = await _body(request)
        except BadRequest as error:
            return _rpc_error(None, INVALID_REQUEST, str(error))
        number = call.get("id")
        method = call.get("method")
        if not isinstance(method, str):
            return _rpc_error(number, INVALID_REQUEST, "a request needs its method")
        # Listing the tools needs no session.
        if method == "tools/list":
            listed = [
                {"name": name, "description": about, "inputSchema": schema}
                for name, (_, about, schema) in TOOLS.items()
            ]
            return _rpc_result(number, {"tools": listed})
        if method != "tools/call":
            return _rpc_error(number, METHOD_NOT_FOUND, f"there is no {method!r}")
        return await self._call_tool(number, call.get("params"))

    async def _call_tool(self, number: Json, params: Json) -> Json:
        """Call a tool of an episode by the rules of JSON-RPC."""
        if not isinstance(params, dict):
            params = {}
        tool = params.get("name")
        arguments = params.get("arguments") or {}
        if tool not in TOOLS or not isinstance(arguments, dict):
            return _rpc_error(
                number,
                INVALID_PARAMS,
                f"the tools are {', '.join(TOOLS)}",
            )
        # An error of the tool is a result that the model reads, not an error of the
        # protocol.
        try:
            message, _, _ = TOOLS[str(tool)]
            result = await self._play(message, arguments)
        except WaywordError as error:
            content = {"type": "text", "text": str(error)}
            return _rpc_result(number, {"content": [content], "isError": True})
        parts = [{"type": "text", "text": _readable(result)}, *_mcp_images(result)]
        answer = {"content": parts, "structuredContent": result, "isError": False}
        return _rpc_result(number, answer)

    async def _splits(self, request: Request) -> Json:
        """Answer with the served split."""
        self._check_dataset(request)
        return [{"name": self._split, "type": kind_of_split(self._split)}]

    async def _list_tasks(self, request: Request) -> Json:
        """Answer with the first tasks of a split."""
        await self._split_request(request)
        listed = [self._task(i) for i in range(min(MAX_LISTED, len(self._tasks)))]
        return {"tasks": listed, "env_name": self._dataset_name}

    async def _count_tasks(self, request: Request) -> Json:
        """Answer with the number of tasks of a split."""
        await self._split_request(request)
        return {"num_tasks": len(self._tasks)}

    async def _one_task(self, request: Request) -> Json:
        """Answer with a task by its number. Raises ``BadRequest`` for one outside of the split."""
        index = (await self._split_request(request)).get("index")
        # Numbers count from 0.
        if not isinstance(index, int) or not 0 <= index < len(self._tasks):
            raise BadRequest(f"index must be from 0 to {len(self._tasks) - 1}")
        return {"task": self._task(index)}

    async def _task_range(self, request: Request) -> Json:
        """Answer with a range of tasks, as in a slice of Python."""
        given = await self._split_request(request)
        start = given.get("start")
        stop = given.get("stop")
        if not isinstance(start, int | None) or not isinstance(stop, int | None):
            raise BadRequest("start and stop must be whole numbers")
        # At most ``MAX_LISTED``: a client asks for the rest by another range.
        chosen = range(len(self._tasks))[start:stop][:MAX_LISTED]
        return {"tasks": [self._task(index) for index in chosen]}

    async def _split_request(self, request: Request) -> dict[str, Json]:
        """The body of a request for episodes. Raises ``BadRequest`` for those not served here."""
        self._check_dataset(request)
        given = await _body(request)
        if given.get("split") != self._split:
            raise BadRequest(f"this server has the split {self._split!r}")
        return given

    def _check_dataset(self, request: Request) -> None:
        """Raise ``BadRequest`` for another dataset than the served one."""
        if request.path_params["dataset"] != self._dataset_name:
            raise BadRequest(f"this server has {self._dataset_name!r}", 404)

    def _task(self, index: int) -> dict[str, Json]:
        """Return an episode as clients list it."""
        episode = self._tasks[index].episode
        return {
            "index": index,
            "id": episode.id,
            "instruction": episode.instruction,
        }

    def _openapi(self) -> Json:
        """A description of the requests that control the session."""
        from wayword import __version__

        answers = {"200": {"description": "an observation, its reward, and done"}}
        step_body = {"type": "object", "properties": {"action": SCHEMAS["action"]}}
        bodies = {"reset": SCHEMAS["reset"], "step": step_body}
        paths: dict[str, Json] = {
            f"/{name}": {
                "post": {
                    "requestBody": {"content": {"application/json": {"schema": body}}},
                    "responses": answers,
                }
            }
            for name, body in bodies.items()
        }
        found = {"200": {"description": "a JSON object"}}
        for name in ("state", "health", "metadata", "schema"):
            paths[f"/{name}"] = {"get": {"responses": found}}
        return {
            "openapi": "3.1.0",
            "info": {"title": f"wayword/{self._name}", "version": __version__},
            "paths": paths,
        }


def _constant(content: Json) -> Callable[[Request], Awaitable[Json]]:
    """Return a page that always answers the same."""

    async def respond(request: Request) -> Json:
        """Return the content."""
        return content

    return respond


async def _respond_healthy(request: Request) -> Response:
    """The only page without a token: it tells nothing but that the server runs."""
    return JSONResponse({"status": "healthy"})


async def _body(request: Request) -> dict[str, Json]:
    """Return the JSON object in a request's body. Raises ``BadRequest``."""
    return await read_object(request.stream(), MAX_BYTES)


def _readable(result: JsonObject) -> str:
    """What a model reads of a result: the observation's text, or the whole result."""
    # A model reads the observation's text; other results as JSON.
    text = result.get("observation", {}).get("text")
    if isinstance(text, str):
        return text
    return json.dumps(result, ensure_ascii=False)


def _mcp_images(result: JsonObject) -> list[dict[str, Json]]:
    """The pictures of a result as content of the Model Context Protocol."""
    content: list[dict[str, Json]] = []
    for part in result.get("observation", {}).get("images", ()):
        header, _, data = part["image_url"]["url"].partition(";base64,")
        media_type = header.removeprefix("data:")
        content.append({"type": "image", "data": data, "mimeType": media_type})
    return content


def _refusal(detail: str, status: int) -> Response:
    """Return the answer to a request that is refused, with its HTTP status."""
    return JSONResponse({"detail": detail}, status_code=status)


def _rpc_result(number: Json, result: Json) -> Json:
    """Return the answer to a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _rpc_error(number: Json, code: int, message: str) -> Json:
    """Return a JSON-RPC answer that reports an error."""
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
