"""Two people in a two-room flat: the smallest dataset in which actors differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from wayword.core import registry
from wayword.core.dataset import Task
from wayword.core.episode import Episode
from wayword.core.world import Family
from wayword.worlds import household
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.expert import SolvableHousehold
from wayword.worlds.household.goals import HouseholdReference, Inside
from wayword.worlds.household.scene import Scene
from wayword.worlds.household.world import HouseholdWorld


def flat() -> Scene:
    """A kitchen with a table and an apple on it, a shut door to the east, a hall with a box."""
    house = SceneBuilder("flat")
    house.room("kitchen", [(0, 0), (4, 0), (4, 3), (0, 3)])
    house.room("hall", [(4, 0), (7, 0), (7, 3), (4, 3)])
    house.door("door", (4, 1), (4, 2), closed=True)
    table = house.furniture("table", 2.0, 2.6, 1.0, 0.6, 0.8, receptacle="on")
    house.item("apple", parent=table)
    house.furniture("box", 6.5, 2.5, 0.4, 0.4, 0.3, "openable", receptacle="in")
    return house.build()


@dataclass(frozen=True)
class NoSettings:
    """Nothing to set."""


class TwoInAFlat(SolvableHousehold):
    """Ann is in the kitchen, Bob in the hall; the apple should be in the box."""

    Settings: ClassVar[type[Any]] = NoSettings
    family: ClassVar[Family] = household.family
    splits: ClassVar[tuple[str, ...]] = ("all",)
    max_steps: ClassVar[int] = 60
    caveats: tuple[str, ...] = ()
    files: Mapping[str, Path] = {}

    def __init__(
        self, split: str = "all", folder: Any = None, settings: Any = None
    ) -> None:
        self.tasks: Sequence[Task] = [
            self._task(f"apple_{number}", number) for number in (1, 2)
        ]

    def _task(self, name: str, number: int) -> Task:
        poses = {
            "ann": {"x": 1.0, "y": 0.5 * number, "heading": 0.0},
            "bob": {"x": 5.0, "y": 0.5, "heading": 270.0},
        }
        episode = Episode(
            name, "Put the apple in the box.", "flat", {"poses": poses}, ("ann", "bob")
        )
        return Task(episode, HouseholdReference(name, "pick_and_place", goals()))

    def world(self, episode: Episode) -> HouseholdWorld:
        return HouseholdWorld(flat(), shared_names=True)

    def perceiver(self) -> None:
        return None


def goals() -> tuple[Inside, ...]:
    """The apple in the box, by their ids in the scene."""
    ids = {obj.type: obj.id for obj in flat().objects}
    return (Inside((ids["apple"],), (ids["box"],)),)


def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the flat a dataset that can be asked for by name."""
    load = registry.load
    names = registry.names

    def loaded(kind: registry.Kind, name: str) -> Any:
        return TwoInAFlat if (kind, name) == ("dataset", "flat") else load(kind, name)

    def listed(kind: registry.Kind) -> list[str]:
        return [*names(kind), "flat"] if kind == "dataset" else names(kind)

    monkeypatch.setattr(registry, "load", loaded)
    monkeypatch.setattr(registry, "names", listed)
