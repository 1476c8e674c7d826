"""MCP server: any assistant plays a world with tools to look, act and ask.

    wayword mcp household --out runs/assistant

A session plays one episode after the other. The tool ``begin`` starts each; it is recorded like an
episode of any run, for ``wayword table`` and ``wayword view``. The assistant gets the texts of the
strategy ``act``, and its answers are parsed in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from wayword.core.agent import Agent
from wayword.core.errors import UsageError, WaywordError
from wayword.envs.environment import Environment
from wayword.metrics.scoring import score
from wayword.runs.active import config_of
from wayword.runs.plan import AgentParts, Plan
from wayword.runs.record import EpisodeRecord, RunFolder

INSTRUCTIONS = """You act in a world that you know only from words. Call `begin` to get a task,
`act` for each action, one at a time, `actions` to see what is possible now, `look` to see the last
observation again, and `ask` to ask someone. When the task is done, act `stop`."""
MAX_ACTIONS = 200
"""Legal actions that the tool ``actions`` lists at most."""


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
    can be resumed. ``player`` is the name in tables. Raises ``RecordingError``."""

    def __init__(
        self, env: Environment, out: Path | str, player: str = "assistant"
    ) -> None:
        options, base = env.options, env.options.plan
        settings = OutsideSettings(
            options.view,
            options.actions,
            options.actor,
            options.others if env.tasks[0].episode.actors[1:] else "",
            dict(options.view_settings),
        )
        plan = Plan(
            player,
            base.on,
            settings=base.settings,
            seed=options.seed,
            max_steps=env.max_steps,
        )
        agent: Any = AgentParts(Outside, settings, player)  # type: ignore[type-abstract]
        self._env = env
        self._folder = RunFolder.open(out, config_of(plan, env.dataset, agent, {}))
        self._observation = ""
        self._playing = False

    def begin(self, episode: str = "") -> str:
        """Begin an episode: the one of that id, else the next that was not played yet. Returns the
        rules, the task and what you see."""
        self._abandon("another episode was started")
        ids = [task.episode.id for task in self._env.tasks]
        name = episode or next((each for each in ids if each not in self._folder), None)
        if name is None:
            raise UsageError(
                "all episodes have been played; the run folder is complete"
            )
        if name in self._folder:
            raise UsageError(f"episode {name!r} was played before; begin without an id")
        observation, _ = self._env.reset(episode=name)
        self._observation, self._playing = str(observation), True
        return f"{self._env.view.rules()}\n\n{observation}"

    def look(self) -> str:
        """Repeat the last observation. Costs nothing."""
        self._check_playing()
        return self._observation

    def act(self, action: str) -> str:
        """Take one action, written as the rules say, such as goto[kitchen] or stop. Returns the
        result and what you see. An illegal action costs a turn and changes nothing."""
        self._check_playing()
        env = self._env
        observation, _, terminated, truncated, info = env.step(action)
        self._observation = str(observation)
        if not (terminated or truncated):
            return self._observation
        self._playing = False
        task, trajectory = env.game.task, env.trajectory()
        (scores,) = score(env.dataset, [(task, trajectory)])
        self._folder.append(EpisodeRecord(task.episode.id, scores, trajectory))
        ending = (
            "You stopped" if terminated else "The episode was cut off at its step limit"
        )
        verdict = "the task is done" if info["success"] else "the task is not done"
        return f"{self._observation}\n\n{ending}: {verdict}. Call `begin` for the next one."

    def actions(self, verb: str = "") -> str:
        """List the possible actions, one per line; with a verb, only its own. Costs nothing."""
        self._check_playing()
        space = self._env.game.space(self._env.actor)
        matches = [
            str(action) for action in space.listed if action.name.startswith(verb)
        ]
        matches += [
            f"{name}[...]" for name in space.open_verbs if name.startswith(verb)
        ]
        hidden = len(matches) - MAX_ACTIONS
        more = [f"and {hidden} more; name a verb"] if hidden > 0 else []
        return (
            "\n".join([*matches[:MAX_ACTIONS], *more])
            or f"no action begins with {verb!r}"
        )

    def ask(self, question: str) -> str:
        """Ask another actor, or someone who knows the answer. Costs a turn."""
        self._check_playing()
        space = self._env.game.space(self._env.actor)
        verb = next(
            (name for name in ("ask", "chat") if name in space.open_verbs), None
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
        if self._playing:
            self._playing = False
            trajectory = self._env.trajectory()
            trajectory.ended, trajectory.error = "failed", reason
            with suppress(WaywordError):
                self._folder.fail(self._env.game.task.episode.id, reason, trajectory)

    def _check_playing(self) -> None:
        if not self._playing:
            raise UsageError("no episode has begun; call `begin` first")


def server(env: Environment, out: Path | str) -> tuple[Any, AssistantSession]:
    """The server and its session, which must be closed. ``server.run()`` talks on standard input
    and output."""
    if env.options.view != "text":
        raise UsageError("assistants get the text view only; remove view")
    session = AssistantSession(env, out)
    app = MCPServer(
        f"wayword/{env.options.name}", instructions=INSTRUCTIONS, log_level="WARNING"
    )

    def with_errors(tool: Callable[..., str]) -> Callable[..., str]:
        @wraps(tool)
        def wrapped(*args: str, **kwargs: str) -> str:
            try:
                return tool(*args, **kwargs)
            except WaywordError as error:  # one line of the protocol
                raise ToolError(str(error)) from None

        return wrapped

    for tool in (
        session.begin,
        session.look,
        session.act,
        session.actions,
        session.ask,
    ):
        app.tool(structured_output=False)(with_errors(tool))
    return app, session
