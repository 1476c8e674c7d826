"""MA-WAH: household jobs that two or more actors do together, talking to each other."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from wayword.core.agent import Demonstration
from wayword.core.dataset import Task
from wayword.core.episode import Episode, Json
from wayword.core.errors import UsageError, suggest
from wayword.datasets.homes.arranging import arrange
from wayword.datasets.homes.episodes import (
    GENERATED,
    Actions,
    Case,
    Generated,
    HomesSettings,
    Source,
    SourcedTasks,
    check_split,
    home_of,
    turn,
)
from wayword.datasets.homes.goals import RoomsReference
from wayword.datasets.homes.home import Home
from wayword.datasets.homes.jobs import KINDS, draw_job, goals_of, say_job
from wayword.worlds.housework.body import Body
from wayword.worlds.rooms import RoomsWorld

TRIES = 50
APART = 1.0
"""Metres between two starts, at the least."""


@dataclass(frozen=True)
class MaWahSettings(HomesSettings):
    """``agents`` act together, from one (to compare with) to four. ``kind`` limits the jobs to one
    of C-WAH's, for example ``put_fridge``. Each has two hands."""

    episodes: int = 100
    plenty: float = 1.5
    actions: Actions = "high"
    agents: int = 2
    kind: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.agents <= 4:
            raise UsageError(f"ma_wah: agents={self.agents} must lie between 1 and 4")
        if self.kind and self.kind not in KINDS:
            raise UsageError(f"ma_wah: no kind {self.kind!r}; {suggest(self.kind, list(KINDS))}")

    def body(self) -> Body:
        return Body(actions=super().body().actions, inventory_capacity=2)


class MaWah(SourcedTasks):
    """Jobs for several in one home: lay the table, fill the fridge, gather the dishes …

        >>> jobs = MaWah(settings=MaWah.Settings(homes=1, episodes=5, agents=3))
        >>> jobs.tasks[0].episode.actors
        ('agent_1', 'agent_2', 'agent_3')

    Each actor sees its own view alone and hears what the others say; things have the same names for
    all, so that they can be talked about. The goals are C-WAH's: so many things of a type in or on
    one piece of furniture, and a book in somebody's hands. An episode counts as solved by the final
    state, whoever did what.
    """

    Settings: ClassVar[type[MaWahSettings]] = MaWahSettings
    family: ClassVar[str] = "rooms"
    splits: ClassVar[tuple[str, ...]] = GENERATED
    max_steps: ClassVar[int] = 150

    def __init__(
        self,
        split: str = GENERATED[0],
        folder: Path | None = None,
        settings: MaWahSettings | None = None,
    ) -> None:
        check_split("ma_wah", split, self.splits)
        self.split, self.settings = split, settings or MaWahSettings()
        self._source = _generated(split, self.settings)

    def demonstrations(self, count: int, seed: int) -> Sequence[Demonstration]:
        """There are none: no actor's part makes sense without the others'."""
        raise UsageError("ma_wah has no examples for a single actor; set shots=0")


class Together(Generated):
    """Generated episodes in which things have one name for all."""

    def __init__(
        self, split: str, settings: MaWahSettings, arrangement: Callable[[int], str]
    ) -> None:
        agents = settings.agents

        def case(scene: str, arranged: str, plenty: float) -> Case:
            return _case(scene, arranged, plenty, agents)

        super().__init__(split, settings, arrangement, case)
        self._make = case

    def world(self, episode: Episode) -> RoomsWorld:
        """A fresh world."""
        case = self._make(episode.scene, episode.start["arrangement"], self.settings.plenty)
        layout = case.home.with_things(case.scene)
        return RoomsWorld(case.scene, self.settings.body(), shared_names=True, layout=layout)


def _generated(split: str, settings: MaWahSettings) -> Source:
    kinds = (settings.kind,) if settings.kind else KINDS

    def arrangement(number: int) -> str:
        return f"{turn(kinds, number, settings.homes)}/{number // settings.homes}"

    return Together(split, settings, arrangement)


def actors_of(agents: int) -> tuple[str, ...]:
    """Their names, in turn order."""
    return tuple(f"agent_{number}" for number in range(1, agents + 1))


@lru_cache(maxsize=256)
def _case(scene: str, arrangement: str, plenty: float, agents: int) -> Case:
    """The episode of that arrangement (kind of job, number) in that home."""
    kind = arrangement.partition("/")[0]
    for attempt in range(TRIES):
        rng = random.Random(f"ma_wah/{scene}/{arrangement}/{attempt}")
        made = arrange(rng, home_of(scene), plenty)
        job = draw_job(rng, made, kind)
        if job is None:
            continue
        name = f"{scene}_{arrangement.replace('/', '_')}"
        actors = actors_of(agents)
        start = {"scene": scene, "arrangement": arrangement, "poses": poses(rng, made.home, actors)}
        text = say_job(rng, job, made.room(job.place), actors)
        episode = Episode(name, text, scene, start, actors)
        reference = RoomsReference(name, job.kind, goals_of(job, made))
        return Case(Task(episode, reference), made.home, made.scene())
    raise UsageError(f"{scene} has nothing for a job of kind {kind}; ask for more things (plenty)")


def poses(rng: random.Random, home: Home, actors: Sequence[str]) -> Mapping[str, Json]:
    """A free place for each, apart from the others', and one of twelve headings."""
    chosen: list[tuple[float, float]] = []
    places = list(home.starts)
    while len(chosen) < len(actors):
        x, y = rng.choice(places)
        chosen.append((x, y))
        far = [p for p in places if (p[0] - x) ** 2 + (p[1] - y) ** 2 >= APART**2]
        places = far or places
    return {
        actor: {"x": x, "y": y, "heading": 30.0 * rng.randrange(12)}
        for actor, (x, y) in zip(actors, chosen, strict=True)
    }


dataset = MaWah
