"""ProcTHOR: find a thing in one of its published houses, for those who have the file."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode, Extra
from wayword.core.errors import UsageError, suggest
from wayword.core.solving import Training
from wayword.datasets.sources.procthor import house_lines, scene_of
from wayword.worlds.objectnav.ground import length
from wayword.worlds.objectnav.observation import Camera
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.world import (
    ObjectNavReference,
    ObjectNavWorld,
    SolvableSearches,
    places_to_see,
)

NEAREST = 2.0
"""The shortest way to a target is at least this long, metres."""
WITHIN = 1.0
TRIES = 60


@dataclass(frozen=True)
class ProcthorSettings:
    """``houses`` is how many of the file's houses are used, 0 for all; episodes take them in turn.
    ``episodes`` and ``seed`` say what is drawn: no episodes are published with the houses.
    """

    houses: int = 100
    episodes: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        if self.houses < 0 or self.episodes < 1:
            raise UsageError("procthor: houses must be 0 or more, episodes at least 1")


class Procthor(SolvableSearches):
    """Object-goal navigation in ProcTHOR's houses (Deitke et al. 2022): "Find the alarm clock."

    Reads ``procthor/train.jsonl``, ``val.jsonl`` or ``test.jsonl`` (``.gz`` is fine) as published.
    Walls, doors and floors are the file's own; sizes of things are typical ones of their types, as
    the assets are not in the file. Targets are types that can be carried, any instance counts, and
    the nearest place that has one in sight within 1 m lies at least 2 m away. Raises ``DataError``
    for a file that is missing or malformed.
    """

    Settings: ClassVar[type[ProcthorSettings]] = ProcthorSettings
    family: ClassVar[str] = "objectnav"
    splits: ClassVar[tuple[str, ...]] = ("val", "train", "test")
    max_steps: ClassVar[int] = 500
    caveats: tuple[str, ...] = ("ProcTHOR's file holds no sizes of things: typical ones are used",)

    def __init__(
        self, split: str, folder: Path | None, settings: ProcthorSettings | None = None
    ) -> None:
        if split not in self.splits:
            raise UsageError(
                f"procthor has no split {split!r}; {suggest(split, list(self.splits))}"
            )
        if folder is None:
            raise UsageError("procthor needs its data: give --data FOLDER or set WAYWORD_DATA")
        self.split, self.settings = split, settings or ProcthorSettings()
        self.folder = folder / "procthor" if (folder / "procthor").is_dir() else folder
        self._place = lru_cache(maxsize=64)(self._make_place)

    @property
    def tasks(self) -> Sequence[Task]:
        """Every episode with its reference, drawn when it is looked at."""
        return DrawnTasks(self.settings.episodes, self._task)

    @property
    def files(self) -> Mapping[str, Path]:
        return {"houses": self._houses[0]}

    def world(self, episode: Episode) -> ObjectNavWorld:
        """A fresh search in the episode's house."""
        return ObjectNavWorld(SimulatedBase(self.place(episode.scene)))

    def place(self, scene: str) -> SimulatedScene:
        """A house with its ground and surfaces, worked out once."""
        return self._place(scene)

    def perceiver(self) -> None:
        """Agents bring their own detectors."""

    def training(self) -> Training:
        """There is none: searching agents are zero-shot."""
        raise UsageError("procthor has no solved examples to show; set shots=0")

    @cached_property
    def _houses(self) -> tuple[Path, int]:
        path, houses = self._lines
        return path, min(len(houses), self.settings.houses or len(houses))

    @cached_property
    def _lines(self) -> tuple[Path, list[Mapping[str, object]]]:
        return house_lines(self.folder, self.split)

    def _make_place(self, scene: str) -> SimulatedScene:
        path, houses = self._lines
        return SimulatedScene(scene_of(path, scene, houses[int(scene.rpartition("_")[2])]), {})

    def _task(self, number: int) -> Task:
        house, turn = number % self._houses[1], number // self._houses[1]
        scene = f"{self.split}_{house}"
        place, camera = self.place(scene), Camera()
        kinds: dict[str, list[str]] = {}
        for thing in place.surfaces.things:
            if "pickupable" in thing.affordances:
                kinds.setdefault(thing.type, []).append(thing.id)
        cells = np.argwhere(place.ground.free)
        for attempt in range(TRIES):
            if not kinds or not len(cells):
                break
            rng = random.Random(f"procthor/{self.settings.seed}/{scene}/{turn}/{attempt}")
            kind = rng.choice(sorted(kinds))
            j, i = cells[rng.randrange(len(cells))].tolist()
            start = place.ground.point(j * place.ground.free.shape[1] + i)
            goals = places_to_see(place, camera, kinds[kind], WITHIN)
            way = place.ground.way(start, goals)
            if way is not None and length(way) >= NEAREST:
                middles = tuple(
                    (o.x, o.y) for o in place.surfaces.things if o.id in set(kinds[kind])
                )
                name, words = f"{scene}_{turn}", kind.replace("_", " ")
                at = {"x": start[0], "y": start[1], "heading": 30.0 * rng.randrange(12)}
                extra: Extra = {"target": words, "kind": words}
                episode = Episode(name, f"Find the {words}.", scene, at, extra=extra)
                reference = ObjectNavReference(
                    name, frozenset(kinds[kind]), tuple(way), round(length(way), 4), WITHIN, middles
                )
                return Task(episode, reference)
        raise UsageError(f"procthor: house {house} of {self.split} has nothing to look for")


dataset = Procthor
