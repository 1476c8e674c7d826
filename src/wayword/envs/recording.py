"""Records episodes played by external code as a run folder, for tables, pages and exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword.envs.environment import Environment
from wayword.metrics.scoring import score
from wayword.runs.active import config_of
from wayword.runs.folder import EpisodeRecord, RunFolder
from wayword.runs.parts import AgentParts
from wayword.runs.plan import Plan


@dataclass(frozen=True)
class OutsideSettings:
    """What was asked for: see :class:`~wayword.envs.environment.Options`."""

    view: str = "text"
    actions: str = "text"
    actor: str = ""
    others: str = ""
    view_settings: Mapping[str, Any] = field(default_factory=dict)


class Outside:
    """Whoever steps an environment, in place of an agent's class."""

    Settings = OutsideSettings
    sees_answer = False


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
        cast: Any = AgentParts(Outside, settings, player)  # type: ignore[arg-type]
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
