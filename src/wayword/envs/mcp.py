"""A world for any assistant: an MCP server with tools to look, act and ask.

    wayword mcp household --out runs/assistant

A session plays one episode after the other, each begun by the tool ``begin`` and recorded like an
episode of any run, so that ``wayword table`` and ``wayword view`` show it. The assistant is told
what the strategy ``act`` is told, and its answers are read as that one's are.
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


@dataclass(frozen=True)
class OutsideSettings:
    """What was asked for: see :class:`~wayword.envs.environment.EnvironmentOptions`."""

    view: str = "text"
    actions: str = "text"
    actor: str = ""
    others: str = ""
    view_settings: Mapping[str, Any] = field(default_factory=dict)


class Outside(Agent):
    """Whoever steps an environment, in place of an agent's class."""

    Settings = OutsideSettings


class Recorder:
    """Writes the finished episodes of an environment into a run folder, which it goes on with.

    ``player`` is the name that tables show. Raises ``RecordingError`` as run folders do.
    """

    def __init__(self, env: Environment, out: Path | str, player: str) -> None:
        options = env.options
        settings = OutsideSettings(
            options.view,
            options.actions,
            options.actor,
            options.others if env.tasks[0].episode.actors[1:] else "",
            dict(options.view_settings),
        )
        asked = options.plan
        plan = Plan(
            player, asked.on, settings=asked.settings, seed=options.seed, max_steps=env.max_steps
        )
        cast: Any = AgentParts(Outside, settings, player)  # type: ignore[type-abstract]
        self._env = env
        self._folder = RunFolder.open(out, config_of(plan, env.dataset, cast, {}))

    @property
    def path(self) -> Path:
        """The run folder."""
        return self._folder.path

    def __contains__(self, episode: str) -> bool:
        return episode in self._folder

    def next(self) -> str | None:
        """The first episode that was not played; None where all were."""
        names = (task.episode.id for task in self._env.tasks)
        return next((name for name in names if name not in self._folder), None)

    def finish(self) -> dict[str, float]:
        """Write the episode that has just ended; its scores."""
        env = self._env
        task, trajectory = env.game.task, env.trajectory()
        (scores,) = score(env.dataset, [(task, trajectory)])
        self._folder.append(EpisodeRecord(task.episode.id, scores, trajectory))
        return scores

    def drop(self, reason: str) -> None:
        """Note an episode that was left before its end."""
        trajectory = self._env.trajectory()
        trajectory.ended, trajectory.error = "failed", reason
        self._folder.fail(self._env.game.task.episode.id, reason, trajectory)

    def close(self) -> None:
        """Let others write."""
        self._folder.close()


# The server.

INSTRUCTIONS = """You act in a world that you know only from words. Call `begin` to get a task,
`act` for each action, one at a time, `actions` to see what is possible now, `look` to be told again
what you see, and `ask` to ask whoever may answer. When the task is done, act `stop`."""
SHOWN = 200
"""Legal actions that ``actions`` lists at most."""


class Sitting:
    """What the tools do: one environment, one recorder, one episode at a time."""

    def __init__(self, env: Environment, recorder: Recorder) -> None:
        self._env, self._recorder = env, recorder
        self._seen = ""
        self._playing = False

    def begin(self, episode: str = "") -> str:
        """Begin an episode: the one of that id, else the next that was not played yet. Returns the
        rules, the task and what you see."""
        self._leave("another was begun")
        name = episode or self._recorder.next()
        if name is None:
            raise UsageError("every episode was played; the run folder is complete")
        if name in self._recorder:
            raise UsageError(f"episode {name!r} was played before; begin without an id")
        seen, _ = self._env.reset(episode=name)
        self._seen, self._playing = str(seen), True
        return f"{self._env.view.rules()}\n\n{seen}"

    def look(self) -> str:
        """What you were told last, again. Costs nothing."""
        self._need()
        return self._seen

    def act(self, action: str) -> str:
        """Take one action, written as the rules say, such as goto[kitchen] or stop. Returns what
        came of it and what you see. What is no legal action costs a turn and changes nothing."""
        self._need()
        seen, _, ended, cut, info = self._env.step(action)
        self._seen = str(seen)
        if not (ended or cut):
            return self._seen
        self._playing = False
        self._recorder.finish()
        how = "You stopped" if ended else "The episode was cut off at its step limit"
        judged = "the task is done" if info["success"] else "the task is not done"
        return f"{self._seen}\n\n{how}: {judged}. Call `begin` for the next one."

    def actions(self, verb: str = "") -> str:
        """What is possible now, one action a line; with a verb, that one alone. Costs nothing."""
        self._need()
        game, actor = self._env.game, self._env.actor
        space = game.space(actor)
        found = [str(action) for action in space.listed if action.name.startswith(verb)]
        found += [f"{name}[...]" for name in space.open_verbs if name.startswith(verb)]
        more = [f"and {len(found) - SHOWN} more; name a verb"] if len(found) > SHOWN else []
        return "\n".join([*found[:SHOWN], *more]) or f"nothing with {verb!r}"

    def ask(self, question: str) -> str:
        """Ask whoever may answer: another actor, or somebody who knows. Costs a turn."""
        self._need()
        space = self._env.game.space(self._env.actor)
        verb = next((name for name in ("ask", "chat") if name in space.open_verbs), None)
        if verb is None:
            raise UsageError("nobody here can be asked; go and look")
        return self.act(f"{verb}[{' '.join(question.split())}]")

    def close(self) -> None:
        """End the sitting."""
        self._leave("the assistant left")
        self._recorder.close()
        self._env.close()

    def _leave(self, why: str) -> None:
        if self._playing:
            self._playing = False
            with suppress(WaywordError):
                self._recorder.drop(why)

    def _need(self) -> None:
        if not self._playing:
            raise UsageError("no episode is under way; call `begin` first")


def server(env: Environment, out: Path | str, player: str = "assistant") -> tuple[Any, Sitting]:
    """The server, and the sitting behind it, which is to be closed. ``server.run()`` talks on
    standard input and output."""
    if env.options.view != "text":
        raise UsageError("an assistant is told the text view; leave view out")
    sitting = Sitting(env, Recorder(env, out, player))
    made = MCPServer(f"wayword/{env.options.name}", instructions=INSTRUCTIONS, log_level="WARNING")
    for tool in (sitting.begin, sitting.look, sitting.act, sitting.actions, sitting.ask):
        made.tool(structured_output=False)(_told_why(tool))
    return made, sitting


def _told_why(tool: Callable[..., str]) -> Callable[..., str]:
    """The tool; what a user can mend is told to the assistant in one line."""

    @wraps(tool)
    def tried(*given: str, **named: str) -> str:
        try:
            return tool(*given, **named)
        except WaywordError as error:
            raise ToolError(str(error)) from None

    return tried
