"""MCP server: any assistant plays a world with tools to look, act and ask.

    wayword mcp household --out runs/assistant
    wayword mcp household --out runs/assistant --http 8765

A session plays one episode after the other. The tool ``begin`` starts each; it is recorded like an
episode of any run, for ``wayword table`` and ``wayword view``. The assistant gets the texts of the
strategy ``act``, and its answers are parsed in the same way. Calls are carried out one at a time,
in the order in which they arrive: assistants send several in one message. Over HTTP, all clients
play the same session, at ``/mcp``: one that comes back continues its episode, and one whose episode
another client has ended gets an error before it acts in the next. With ``--set eyes=both`` results
hold what the actor sees as image content after the text.

Format: Model Context Protocol, by its package ``mcp``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from wayword.agents.answers import ARGUMENT_FIELDS
from wayword.agents.legal import REMARKS, in_order
from wayword.core.agent import Agent
from wayword.core.dataset import task_id
from wayword.core.episode import JsonObject
from wayword.core.errors import UsageError, WaywordError, suggest
from wayword.core.model import Image
from wayword.envs.environment import Environment
from wayword.metrics.scoring import score
from wayword.models.parts.written_calls import FLAT_ARGUMENTS
from wayword.runs.active import config_of
from wayword.runs.cast import AgentParts
from wayword.runs.plan import Plan
from wayword.runs.record import EpisodeRecord, RunFolder

INSTRUCTIONS = """You act in a world that you know only from {sources}. Call `begin` to get a task,
`act` for each action, one at a time, `actions` to see what is possible now, `look` to see the last
observation again, and `ask` to ask someone. When the task is done, act `stop`."""
MAX_ACTIONS = 200
"""Legal actions that the tool ``actions`` lists at most."""


_VERB = re.compile(r"\w+")
JSON_STARTS = ("{", "[", '"')
WRAPPERS = ("tool_use", "tool_call", "function", "function_call", "text")
"""Values of ``type`` around an action or a text, as messages of model interfaces have them."""
VERB_KEYS = ("action", "name", "verb", "tool", "type", "function", "act", "action_type")
ARGUMENT_KEYS = (*ARGUMENT_FIELDS, *FLAT_ARGUMENTS)
"""Keys of a verb and its arguments in an action that a client writes as an object."""
PARAMETERS = {
    "begin": ("episode", "episode_id", "id", "task"),
    "act": (
        *VERB_KEYS,
        "command",
        "cmd",
        "text",
        "input",
        "actions",
        "arguments",
        "args",
    ),
    "actions": ("verb", "action", "name"),
    "ask": ("question", "query", "message", "text"),
}
"""Tool -> the name of its one parameter, and what clients call it instead."""

NO_ARGUMENTS = {*REMARKS, "session", "request", "user", "timeout"}
"""Keys that clients add to a call, which are no argument of a tool."""


def tool_text(value: Any) -> str:
    """The text of a tool's argument. Clients also send numbers, null, JSON in a string, the
    argument within an object of its name, and an action as an object.

    >>> tool_text(3), tool_text(None), tool_text('"stop"'), tool_text({"action": "stop"})
    ('3', '', 'stop', 'stop')
    >>> tool_text({"name": "goto", "arguments": {"place": "kitchen"}})
    '{"action": "goto", "arguments": ["kitchen"]}'
    """
    # A text is taken as it is unless it looks like JSON.
    if isinstance(value, str):
        text = value.strip()
        if text[:1] not in JSON_STARTS and text != "null":
            return text
        try:
            return tool_text(json.loads(text))
        except (ValueError, RecursionError):
            return text
    if value is None:
        return ""
    # Some clients list a verb and its arguments, others wrap an argument, or several.
    if isinstance(value, list) and len(value) > 1 and _VERB.fullmatch(str(value[0])):
        value = {"action": str(value[0]), "arguments": value[1:]}
    if isinstance(value, list):
        return "\n".join(map(tool_text, value))
    if isinstance(value, Mapping):
        return _object_text(value)
    return json.dumps(value)


def _object_text(value: JsonObject) -> str:
    """The text of an object: its only value, or a verb with its arguments, or else its JSON.

    Remarks and nulls are left out; arguments are in the order of the known keys, as objects have
    none.
    """
    # The only value of an object is the argument, whatever its key: a remark's, too.
    if len(value) <= 1:
        return tool_text(next(iter(value.values()), ""))
    value = _plain_keys(value)
    own = {key: part for key, part in value.items() if key not in NO_ARGUMENTS}
    if value.get("type") in WRAPPERS:
        own = {key: part for key, part in own.items() if key not in ("type", "id")}
    if len(own) == 1:
        return _object_text(own)
    # The first key that holds a verb, in the order in which clients use them.
    verb = next((own[key] for key in VERB_KEYS if own.get(key)), None)
    # The name of the tool itself, next to its arguments, under one key or several.
    if verb == "act":
        return _object_text({key: part for key, part in own.items() if part != "act"})
    if not isinstance(verb, str):
        return json.dumps(own)
    given = [own[key] for key in ARGUMENT_KEYS if key in own]
    parts = [each for part in given for each in _listed(part)]
    arguments = [tool_text(each) for each in parts if each not in (None, "null")]
    if not arguments:
        return verb
    return json.dumps({"action": verb, "arguments": arguments})


def _listed(value: Any) -> list[Any]:
    """The entries of a list or object, also of one in a string, or the value alone."""
    # A list or object in a text is read; any other text is an argument itself.
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, Mapping):
        return in_order(_plain_keys(value).items())
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def one_argument(tool: str, given: JsonObject) -> dict[str, Any]:
    """The argument of a tool under the name of its parameter. Clients also leave it out, call it
    otherwise, add a reason, or put the arguments of an action next to its verb.

    >>> one_argument("act", {"command": "stop", "session": 1})
    {'action': 'stop'}
    >>> one_argument("act", {"action": "goto", "object": "mug_1", "reason": "it is near"})
    {'action': {'action': 'goto', 'object': 'mug_1'}}
    """
    given = _plain_keys(given)
    # The first of the known names that was given, else the only one of an action or a question.
    names = PARAMETERS.get(tool, ())
    name = next((each for each in names if given.get(each) is not None), "")
    is_alone = len(given) == 1 and not NO_ARGUMENTS & given.keys()
    if not name and is_alone and tool in ("act", "actions", "ask"):
        (name,) = given
    wrapped = [each for each in given.values() if isinstance(each, Mapping)]
    if not name and len(wrapped) == 1:  # all arguments in one: {"params": {...}}
        return one_argument(tool, wrapped[0])
    if not name:
        return dict.fromkeys(names[:1], "")
    value = given[name]
    # Arguments next to the verb are joined with it.
    others = {k: given[k] for k in ARGUMENT_KEYS if k in given and k != name}
    if tool == "act" and others and isinstance(value, str) and "[" not in value:
        value = {"action": value, **others}
    return {names[0]: value}


def _plain_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values by keys in lower case, without what clients add: ``objectId`` is ``object``,
    unless there is an ``object``."""
    plain: dict[str, Any] = {}
    longer: dict[str, Any] = {}
    for key, value in given.items():
        # Null is a field that the client left open: it must not hide an ID next to it.
        if value is None:
            continue
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key.strip()).lower()
        bare = re.sub(r"(?<=\w)_(?:id|name)$", "", snake)
        (plain if bare == snake else longer)[bare] = value
    return {**longer, **plain}


ToolText = Annotated[str, BeforeValidator(tool_text)]


@dataclass(frozen=True)
class OutsideSettings:
    """Options of the environment: see :class:`~wayword.envs.environment.EnvironmentOptions`."""

    view: str = "text"
    actions: str = "text"
    actor: str = ""
    others: str = ""
    view_settings: Mapping[str, Any] = field(default_factory=dict)


class Outside(Agent):
    """The external player of an environment, in place of an agent's class."""

    Settings = OutsideSettings


class AssistantSession:
    """State behind the tools: an environment, one episode at a time, recorded in a run folder that
    can be resumed. Raises ``RecordingError``."""

    def __init__(
        self,
        env: Environment,
        out: Path | str,
    ) -> None:
        options = env.options
        base = env.options.plan
        player = "assistant"  # its name in tables
        settings = OutsideSettings(
            options.view,
            options.actions,
            options.actor,
            # Recorded only where there are other actors, so that single-actor runs stay
            # equal.
            options.others if env.tasks[0].episode.actors[1:] else "",
            dict(options.view_settings),
        )
        plan = Plan(
            player,
            base.on,
            settings=base.settings,
            seed=options.seed or 0,
            max_steps=env.max_steps,
            episode="next",  # the assistant chooses
        )
        agent: Any = AgentParts(Outside, settings, player)  # type: ignore[type-abstract]
        self._env = env
        self._folder = RunFolder.open(out, config_of(plan, env.dataset, agent, {}))
        self._observation = ""
        self._playing = False
        self._begun = set[str]()
        self.episode = ""
        """The id of the latest episode."""

    def begin(self, episode: ToolText = "") -> str:
        """Begin an episode: the one of that id, else the next that was not played yet. Returns the
        rules, the task and what you see."""
        tasks = self._env.tasks
        ids = [task_id(tasks, number) for number in range(len(tasks))]
        # The next episode that this folder lacks, and that this session did not leave.
        fresh = (
            each for each in ids if each not in self._folder and each not in self._begun
        )
        name = episode or next(fresh, None)
        if name is None:
            raise UsageError(
                "all episodes have been played; the run folder is complete"
            )
        # A run folder holds each episode once; and a second try would know the first one's world.
        if name in self._folder or name in self._begun:
            raise UsageError(f"episode {name!r} was played before; begin without an id")
        if name not in ids:
            raise UsageError(f"no episode {name!r}; {suggest(name, ids[:2000])}")
        # An episode that was left is recorded as failed, never silently lost.
        self._abandon("another episode was started")
        observation, _ = self._env.reset(episode=name)
        self._begun.add(name)
        self.episode = name
        self._observation = str(observation)
        self._playing = True
        return f"{self._env.view.rules()}\n\n{observation}"

    def pictures(self) -> tuple[Image, ...]:
        """What the actor sees now; empty in words."""
        return self._env.pictures()

    def look(self) -> str:
        """Repeat the last observation. Costs nothing."""
        self._check_playing()
        return self._observation

    def act(self, action: ToolText) -> str:
        """Take one action, written as the rules say, such as goto[kitchen] or stop. Returns the
        result and what you see. An illegal action costs a turn and changes nothing."""
        self._check_playing()
        if not action:
            raise UsageError("act needs an action, such as goto[kitchen] or stop")
        env = self._env
        observation, _, terminated, truncated, info = env.step(action)
        self._observation = str(observation)
        if not (terminated or truncated):
            return self._observation
        # The episode is over: no further action counts, even if scoring or recording fails.
        self._playing = False
        task = env.game.task
        trajectory = env.trajectory()
        (scores,) = score(env.dataset, [(task, trajectory)])
        self._folder.append(EpisodeRecord(task.episode.id, scores, trajectory))
        # A world may also end an episode itself, as BabyAI's levels do.
        ending = "The episode is over"
        if truncated:
            ending = "The episode was cut off at its step limit"
        verdict = VERDICTS[info["success"]]
        return f"{self._observation}\n\n{ending}: {verdict}. Call `begin` for the next one."

    def actions(self, verb: ToolText = "") -> str:
        """List the possible actions, one per line; with a verb, only its own. Costs nothing."""
        self._check_playing()
        space = self._env.game.space(self._env.actor)
        prefix = re.sub(r"[\s\-]+|[\[(].*", "", verb.lower())  # "go to", "goto[mug_1]"
        # Underscores are ignored: clients write "pickup" and "pick_up".
        matches = [
            str(action)
            for action in space.listed
            if action.name.replace("_", "").startswith(prefix.replace("_", ""))
        ]
        matches += [
            f"{name}[...]"
            for name in space.open_verbs
            if name.replace("_", "").startswith(prefix.replace("_", ""))
        ]
        # A long menu is cut, with the number of actions that are hidden.
        hidden = len(matches) - MAX_ACTIONS
        more = [f"and {hidden} more; name a verb"] if hidden > 0 else []
        return (
            "\n".join([*matches[:MAX_ACTIONS], *more])
            or f"no action begins with {verb!r}"
        )

    def ask(self, question: ToolText) -> str:
        """Ask another actor, or someone who knows the answer. Costs a turn."""
        self._check_playing()
        if not question:
            raise UsageError("ask needs a question")
        space = self._env.game.space(self._env.actor)
        # Worlds have different verbs for talking.
        verb = next(
            (name for name in ("ask", "chat") if name in space.open_verbs),
            None,
        )
        if verb is None:
            raise UsageError("no one here can be asked; go and look")
        return self.act(f"{verb}[{' '.join(question.split())}]")

    def close(self) -> None:
        """Record an unfinished episode as failed, and close the run folder."""
        self._abandon("the assistant left")
        self._folder.close()
        self._env.close()

    def _abandon(self, reason: str) -> None:
        """Record an episode in progress as failed, for this reason."""
        if self._playing:
            self._playing = False
            trajectory = self._env.trajectory()
            trajectory.ended = "failed"
            trajectory.error = reason
            # A failure to record must not hide the reason for leaving.
            with suppress(WaywordError):
                self._folder.fail(self._env.game.task.episode.id, reason, trajectory)

    def _check_playing(self) -> None:
        """Raise ``UsageError`` if no episode is in progress."""
        if not self._playing:
            raise UsageError("no episode has begun; call `begin` first")


VERDICTS = {
    True: "the task is done",
    False: "the task is not done",
    None: "nothing judges the task",
}
"""Success of an episode -> what the assistant reads of it."""
READ_ONLY = ("look", "actions")
"""Tools that change nothing: an assistant's program may call them without asking its user."""
SOURCES = {"words": "words", "pictures": "pictures", "both": "words and pictures"}
"""Setting ``eyes`` -> what an assistant knows the world from."""


_LINE_BREAKS = dict.fromkeys((0x85, 0x2028, 0x2029), "\n")
"""Line breaks that JSON leaves as they are, and at which many clients cut a message off."""


def server(env: Environment, out: Path | str) -> tuple[Any, AssistantSession]:
    """The server and its session, which must be closed. ``server.run()`` talks on standard input
    and output."""
    # Importing mcp opens the metadata of every installed package.
    import anyio
    import anyio.to_thread
    from mcp.server.mcpserver import Image as ImageResult
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations

    from wayword import __version__

    class TolerantServer(MCPServer):
        """A server whose tools take their arguments in every form that clients send."""

        async def call_tool(
            self,
            name: str,
            arguments: dict[str, Any],
            context: Any = None,
        ) -> Any:
            """Call a tool, whatever name the client gave to its one argument."""
            headers = getattr(context, "headers", None) or {}
            caller.set(headers.get("mcp-session-id", ""))
            return await super().call_tool(name, one_argument(name, arguments), context)

    # Other views are not plain text.
    if env.options.view != "text":
        raise UsageError("assistants get the text view only; remove view")
    session = AssistantSession(env, out)
    app = TolerantServer(
        f"wayword/{env.options.name}",
        instructions=INSTRUCTIONS.format(sources=SOURCES[env.options.eyes]),
        version=__version__,
        log_level="WARNING",
    )

    # Threads would take a threading.Lock in any order; tasks wait for this one in a queue.
    turns = anyio.Lock()
    caller = ContextVar("caller", default="")
    # Session of a client over HTTP -> the episode that it has seen last
    seen: dict[str, str] = {}

    def result(tool: Callable[..., str], arguments: Mapping[str, str]) -> list[Any]:
        """Call a tool: its text, then what the actor sees."""
        content: list[Any] = [tool(**arguments).translate(_LINE_BREAKS)]
        if tool.__name__ != "actions":
            seen = session.pictures()
            content += [ImageResult(data=image.data, format="png") for image in seen]
        return content

    def in_turn(tool: Callable[..., str]) -> Callable[..., Any]:
        """Make a tool asynchronous: calls wait for each other, and errors are those of the
        protocol."""

        @wraps(tool)
        async def wrapped(**arguments: str) -> list[Any]:
            """Run the tool when it is its turn."""
            async with turns:
                client = caller.get()
                known = seen.get(client, session.episode)
                is_new = known != session.episode
                if is_new and tool.__name__ not in ("begin", "look"):
                    problem = (
                        f"another client ended {known} and began {session.episode}"
                    )
                    raise ToolError(f"{problem}; call `look` to join it, or `begin`")
                try:
                    call = partial(result, tool, arguments)
                    answer = await anyio.to_thread.run_sync(call)
                except WaywordError as error:  # one line of the protocol
                    problem = str(error).translate(_LINE_BREAKS)
                    raise ToolError(problem) from None
                seen[client] = session.episode
                return answer

        return wrapped

    for tool in (
        session.begin,
        session.look,
        session.act,
        session.actions,
        session.ask,
    ):
        # The world is closed: no tool reaches, or damages, anything outside the game.
        hints = ToolAnnotations(
            read_only_hint=tool.__name__ in READ_ONLY,
            destructive_hint=False,
            open_world_hint=False,
        )
        app.tool(structured_output=False, annotations=hints)(in_turn(tool))
    return app, session


def http_server(app: Any, host: str, port: int, token: str = "") -> Any:
    """Return a web server with the protocol at ``/mcp``, not yet bound to its port. Raises
    ``UsageError`` for a public address without a token."""
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    from wayword.envs.access import Access, AccessCheck, EitherSlash, check_host

    check_host(host, token)
    # The SDK's check would refuse this machine's other names, which clients with a token may use;
    # ``AccessCheck`` replaces it.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    pages = app.streamable_http_app(transport_security=unchecked)
    pages.add_middleware(EitherSlash)
    pages.add_middleware(AccessCheck, access=Access(token))
    return uvicorn.Server(uvicorn.Config(pages, host, port, log_level="warning"))
