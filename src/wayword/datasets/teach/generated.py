"""TEACh's tasks in generated homes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.datasets.drawn import DrawnTasks
from wayword.datasets.homes.arranging import arrange
from wayword.datasets.homes.episodes import HomesSettings, home_of, turn
from wayword.datasets.homes.home import home_name
from wayword.datasets.teach.compiling import Unfit
from wayword.datasets.teach.drawing import draw_task
from wayword.datasets.teach.kinds import CLASSES
from wayword.datasets.teach.pairs import Pair, pair
from wayword.datasets.teach.props import Stage, furnished
from wayword.datasets.teach.tasks import definitions
from wayword.worlds.rooms import RoomsWorld

TRIES = 6
"""Arrangements of a home that are tried for a task."""
HOMES = 8
"""Homes that are tried: the episode's own, then others of its stream."""


class GeneratedPairs:
    """Episodes of one stream of homes; ``kinds`` of tasks take turns.

    Where a home has no bathtub, say, another home of the stream takes its place; where none has, as
    among homes of one room, the next kind of task does. ``omissions`` counts such kinds.
    """

    files: Mapping[str, Path] = {}

    def __init__(
        self, split: str, settings: HomesSettings, kinds: Sequence[str], followers: int
    ) -> None:
        self._stream, self._settings, self._kinds = split.rpartition("_")[2], settings, kinds
        self._followers = followers
        self.tasks: Sequence[Task] = DrawnTasks(settings.episodes, self._task)

    @property
    def omissions(self) -> Mapping[str, int]:
        """Definitions that none of the first homes can have, by cause."""
        kinds = [kind for kind in self._kinds if self._made(kind, 0) is None]
        why = f"no home of {self._settings.rooms} rooms has what {{}} takes"
        return {why.format(kind): 1 for kind in kinds}

    def world(self, episode: Episode) -> RoomsWorld:
        """A fresh world; what never moves is shared."""
        start = episode.start
        made = _pair(episode.scene, start["task"], start["number"], self._settings.plenty)
        if made is None:
            raise UsageError(f"{episode.id} is no episode of this dataset")
        return made.world(self._settings.body())

    def _task(self, number: int) -> Task:
        first = self._kinds.index(turn(self._kinds, number, self._settings.homes))
        for kind in (*self._kinds[first:], *self._kinds[:first]):
            made = self._made(kind, number)
            if made is not None:
                return made.joined(self._followers)
        raise UsageError(
            f"no home of {self._settings.rooms} rooms has what {self._kinds[first]!r} takes; "
            "set dataset.rooms=5 or more"
        )

    def _made(self, kind: str, number: int) -> Pair | None:
        """The episode in its own home, or in the first other that has what it takes."""
        settings = self._settings
        for other in range(HOMES):
            home = number % settings.homes + other * settings.homes
            scene = home_name(self._stream, settings.seed, settings.rooms, home)
            made = _pair(scene, kind, number // settings.homes, settings.plenty)
            if made is not None:
                return made
        return None


@lru_cache(maxsize=256)
def _pair(scene: str, kind: str, number: int, plenty: float) -> Pair | None:
    """The task of that kind and number in that home, None where it has not what it takes."""
    tasks = definitions()
    home = home_of(scene)
    for attempt in range(TRIES):
        rng = random.Random(f"teach/{scene}/{kind}/{number}/{attempt}")
        made = arrange(rng, home, plenty)
        full = furnished(rng, made.scene(), home.starts, home.from_floor)
        try:
            drawn = draw_task(rng, tasks[kind], tasks, CLASSES, full)
        except Unfit:
            continue
        stage = Stage(full, home.starts, home.with_things, home.layout.room_at)
        name = f"{scene}_{kind.replace(' ', '_').lower()}_{number}"
        start = {"scene": scene, "task": kind, "number": number}
        return pair(rng, name, drawn, stage, start)
    return None
