"""A real robot: the targets to search for are given on the command line."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from wayword.core import registry
from wayword.core.blame import make_part
from wayword.core.dataset import INDEPENDENT, Task
from wayword.core.episode import Episode, Extra, Reference
from wayword.core.errors import UsageError
from wayword.core.files import text_checksum
from wayword.core.visible import single_line
from wayword.settings import FileName, make
from wayword.worlds import objectnav
from wayword.worlds.objectnav.base import Base, methods_problem
from wayword.worlds.objectnav.guarded import GuardedBase
from wayword.worlds.objectnav.robot import (
    TOKEN_VARIABLE,
    RosBase,
    RosSettings,
    SharedRobotWorld,
)
from wayword.worlds.objectnav.rosbridge import Link
from wayword.worlds.objectnav.world import SolvableSearches


@dataclass(frozen=True)
class RobotSettings(RosSettings):
    """What to search for, and the robot: behind a rosbridge, or driven by your own file."""

    target: str = ""
    """object to search for, in any words; several are searched for in turn: ``sofa,mug``, or
    ``a big, red sofa|mug`` where a name has a comma"""
    instruction: str = ""
    """for agents that follow instructions, instead of "Find the …\""""
    base: FileName = ""
    """your own Python file that drives another robot"""
    base_settings: Mapping[str, Any] = field(default_factory=dict)
    """settings of your own base"""

    @property
    def targets(self) -> list[str]:
        """Targets of the search, one per episode."""
        # Lists have commas everywhere; the other sign is for names that have commas themselves.
        separator = "|" if "|" in self.target else ","
        names = self.target.split(separator)
        if not names[-1].strip():
            names.pop()
        if not all(name.strip() for name in names):
            raise UsageError(
                f"robot: target must have a name on each side of {separator!r}, got {self.target!r}"
            )
        return [single_line(name) for name in names]


class RobotTasks(SolvableSearches):
    """Searches with a real robot: ROS 2 and Nav2 behind a rosbridge server, or a custom base.

        wayword run lgx --on robot --model openai:gpt-5-mini \\
            --set dataset.target="cat-shaped mug" \\
            --set grounding=owlv2:google/owlv2-base-patch16-ensemble
        wayword run lgx --on robot --set dataset.base=./cart.py …

    The robot starts at its current position. Success is not judged, so runs have no success rate;
    the trajectory records where the agent stopped and why. A proxy token is read from
    ``$WAYWORD_ROBOT_TOKEN`` and never written.
    """

    Settings = RobotSettings
    family = objectnav.family
    clusters = INDEPENDENT
    splits = ("live",)
    max_steps = 200
    live = True
    settings: RobotSettings

    def open(self) -> None:
        """Check that there is a target or an instruction. Raises ``UsageError``."""
        self._drivers: list[SharedRobotWorld] = []
        if not self.settings.targets and not self.settings.instruction.strip():
            raise UsageError(
                'robot needs a target: --set dataset.target="cat-shaped mug"'
            )
        settings = self.settings
        if settings.base_settings and not settings.base:
            raise UsageError(
                "robot: base_settings are those of your own base; add --set dataset.base=FILE"
            )
        # With a base of its own, no setting of the connection would be read.
        for one in fields(RosSettings):
            # The limit of a motion holds for each base.
            if one.name == "motion":
                continue
            if settings.base and getattr(settings, one.name) != one.default:
                raise UsageError(
                    f"robot: dataset.{one.name} has no effect with dataset.base={settings.base}; "
                    f"use dataset.base_settings.{one.name} if it has this setting, or remove it"
                )

    @property
    def names_objects(self) -> bool:  # type: ignore[override]
        """True for a base of its own, which may have a detector, and without a search."""
        return bool(self.settings.base) or not self.settings.targets

    @property
    def tasks(self) -> Sequence[Task]:
        """One task per target, or a single one for an instruction.

        Named after its target, not its place in the list: runs of other lists have it in common.
        """
        tasks = []
        counts: Counter[str] = Counter()
        for target in self.settings.targets or [""]:
            name = _episode_id(target)
            counts[name] += 1
            if counts[name] > 1:
                name += f"_{counts[name]}"
            tasks.append(self._task(name, target))
        return tasks

    @property
    def files(self) -> Mapping[str, Path]:
        """The file of a custom base; empty without one."""
        if not self.settings.base or not registry.is_path(self.settings.base):
            return {}
        return {"base": registry.user_file(Path(self.settings.base))}

    def world(self, episode: Episode) -> SharedRobotWorld:
        """Return a world of the robot. Episodes share its connection; the latest drives."""
        if self.settings.base:
            base = self._custom_base
        else:
            base = RosBase(self.settings, self._link)
        return SharedRobotWorld(base, self._drivers)

    @cached_property
    def _link(self) -> Link:
        """Return the connection to the robot; its token comes from the environment,
        never from a file."""
        s = self.settings
        return Link(s.url, os.environ.get(TOKEN_VARIABLE, ""), s.patience, s.plain)

    @cached_property
    def _custom_base(self) -> Base:
        """The base named by ``base``. Raises ``UsageError``."""
        name = self.settings.base
        base_settings = self.settings.base_settings
        cls = registry.load("base", name)
        settings = getattr(cls, "Settings", None)
        if settings is None and base_settings:
            raise UsageError(
                f"base {name} has no settings, got {', '.join(base_settings)}"
            )
        if settings is None:
            base: Base = make_part(cls)
        else:
            base = make_part(cls, make(settings, base_settings, name))
        # Checked before the start: no method may turn out missing while it moves.
        if problem := methods_problem(base):
            raise UsageError(f"base {name} {problem}")
        # Behind rosbridge, each goal has the limit, of which a motion may need several.
        limit = None if isinstance(base, RosBase) else self.settings.motion
        return GuardedBase(base, limit)

    def _task(self, name: str, target: str) -> Task:
        """Return the task of a target; without one, that of the instruction."""
        text = self.settings.instruction.strip() or f"Find the {target}."
        extra: Extra = {"target": target} if target else {}
        return Task(Episode(name, text, "robot", {}, extra=extra), Reference(name))


def _episode_id(target: str) -> str:
    """Return the name of a target's episode: its words, or a checksum in another script."""
    if not target:
        return "follow"
    slug = re.sub(r"[^a-z0-9]+", "_", target.lower()).strip("_")[:40]
    return slug or text_checksum(target, 8)


dataset = RobotTasks
