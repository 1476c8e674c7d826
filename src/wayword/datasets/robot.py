"""A robot of one's own: what to look for is typed on the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from wayword.core.dataset import Task
from wayword.core.episode import Episode, Extra, Reference
from wayword.core.errors import UsageError
from wayword.core.world import Family
from wayword.worlds import objectnav
from wayword.worlds.objectnav.robot import TOKEN, RosBase, RosSettings
from wayword.worlds.objectnav.rosbridge import Link
from wayword.worlds.objectnav.world import ObjectNavWorld, SolvableSearches


@dataclass(frozen=True)
class RobotSettings(RosSettings):
    """``target`` is what to look for, in any words; several, divided by ``|``, are looked for one
    after the other. ``instruction`` is told instead of "Find the …", for agents that follow one.

    The rest says how to reach the robot: ``url``, topics, actions, the camera, limits in seconds.
    """

    target: str = ""
    instruction: str = ""

    @property
    def targets(self) -> list[str]:
        return [" ".join(text.split()) for text in self.target.split("|") if text.strip()]


class RobotTasks(SolvableSearches):
    """Searches with a real robot: ROS 2 and Nav2 behind a rosbridge server.

        wayword run lgx --on robot --concurrency 1 --model openai:gpt-5-mini \\
            --set dataset.target="cat-shaped mug" --set grounding=owlv2:google/owlv2-base-patch16

    The robot starts where it stands. Nobody judges whether the thing was found, so that runs have
    no success rate; the trajectory says where the agent stopped and why. A token for a proxy is
    read from ``$WAYWORD_ROBOT_TOKEN`` and written nowhere.
    """

    Settings: ClassVar[type[RobotSettings]] = RobotSettings
    family: ClassVar[Family] = objectnav.family
    splits: ClassVar[tuple[str, ...]] = ("live",)
    max_steps: ClassVar[int] = 200
    caveats: tuple[str, ...] = ()

    def __init__(
        self, split: str = "live", folder: Path | None = None, settings: RobotSettings | None = None
    ) -> None:
        if split not in self.splits:
            raise UsageError(f"robot has no split {split!r}; there is: live")
        self.split, self.settings = split, settings or RobotSettings()
        if not self.settings.targets and not self.settings.instruction.strip():
            raise UsageError('robot: say what to look for: --set dataset.target="cat-shaped mug"')

    @property
    def tasks(self) -> Sequence[Task]:
        return [self._task(n, text) for n, text in enumerate(self.settings.targets or [""], 1)]

    @property
    def files(self) -> Mapping[str, Path]:
        """None: the world itself is read."""
        return {}

    def world(self, episode: Episode) -> ObjectNavWorld:
        """The robot. All episodes share one connection: who starts last drives."""
        given = {f.name: getattr(self.settings, f.name) for f in fields(RosSettings)}
        return ObjectNavWorld(RosBase(RosSettings(**given), self._link))

    def perceiver(self) -> None:
        """Agents bring their own detectors."""

    @cached_property
    def _link(self) -> Link:
        s = self.settings
        return Link(s.url, os.environ.get(TOKEN, ""), s.patience, s.plain)

    def _task(self, number: int, target: str) -> Task:
        plain = re.sub(r"[^a-z0-9]+", "_", target.lower()).strip("_")[:40]
        name = f"{number}_{plain or 'follow'}"
        told = self.settings.instruction.strip() or f"Find the {target}."
        extra: Extra = {"target": target} if target else {}
        return Task(Episode(name, told, "robot", {}, extra=extra), Reference(name))


dataset = RobotTasks
