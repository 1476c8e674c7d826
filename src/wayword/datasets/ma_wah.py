"""MA-WAH: household jobs that two or more actors do together, talking to each other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError, suggest
from wayword.core.files import remembered
from wayword.datasets.procedural.homes.episodes import (
    GENERATED,
    Case,
    EpisodeSource,
    Generated,
    HomesSettings,
    SourcedTasks,
    home_of,
    in_turn,
)
from wayword.datasets.procedural.homes.jobs import KINDS, draw_job, goals_of, poses, say_job
from wayword.datasets.procedural.homes.objects import arrange
from wayword.datasets.sources.virtualhome.episodes import Drawn, Files, Logs
from wayword.worlds.household.goals import HouseholdReference
from wayword.worlds.household.world import HouseholdWorld

TRIES = 50
PAPER = ("go_explore", "go_check", "go_grab", "go_put", "chat", "stop")
"""LangSuitE's Table 1 counts six actions and does not name them."""


@dataclass(frozen=True)
class MaWahSettings(HomesSettings):
    """``agents`` act together, from one (to compare with) to four. ``kind`` limits the jobs to one
    of C-WAH's, for example ``put_fridge``. Each has two hands."""

    hands: ClassVar[int] = 2
    paper: ClassVar[tuple[str, ...]] = PAPER

    episodes: int = 100
    plenty: float = 1.5
    agents: int = 2
    kind: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.agents <= 4:
            raise UsageError(f"ma_wah: agents={self.agents} must lie between 1 and 4")
        if self.kind and self.kind not in KINDS:
            raise UsageError(f"ma_wah: no kind {self.kind!r}; {suggest(self.kind, list(KINDS))}")


class MaWah(SourcedTasks[MaWahSettings]):
    """Jobs for several in one home: lay the table, fill the fridge, gather the dishes …

        >>> jobs = MaWah(settings=MaWah.Settings(homes=1, episodes=5, agents=3))
        >>> jobs.tasks[0].episode.actors
        ('agent_1', 'agent_2', 'agent_3')

    Each actor sees its own view alone and hears what the others say; things have the same names for
    all, so that they can be talked about. The goals are C-WAH's: so many things of a type in or on
    one piece of furniture, and a book in somebody's hands. An episode counts as solved by the final
    state, whoever did what.
    """

    name: ClassVar[str] = "ma_wah"
    Settings: ClassVar[type[MaWahSettings]] = MaWahSettings
    splits: ClassVar[tuple[str, ...]] = (*GENERATED, "logs", "homes")
    published_train: ClassVar[str] = GENERATED[1]
    max_steps: ClassVar[int] = 1000

    def source(self, split: str) -> EpisodeSource:
        """Generated homes, or VirtualHome's."""
        if split in GENERATED:
            return Together(split, self.settings)
        return PublishedHomes(split, self.folder, self.settings)


class PublishedHomes:
    """Episodes in VirtualHome's homes: the logged ones, or C-WAH's goals in each of them."""

    def __init__(self, split: str, folder: Path | None, settings: MaWahSettings) -> None:
        self.settings = settings
        self._files, actors = Files(folder), actors_of(settings.agents)
        made: Logs | Drawn
        if split == "logs":
            made = Logs(self._files, actors)
        else:
            made = Drawn(self._files, actors, settings.episodes, settings.seed)
        self._made, self._split = made, split
        self._case = lru_cache(maxsize=256)(self._make)

    def _make(self, number: int) -> Case:
        case = self._made.case(number, Counter())
        assert case is not None, "its number is known to be playable"
        return case

    @cached_property
    def _known(self) -> Mapping[str, Any]:
        """``playable``: id, kind and number of each episode; ``omissions``. To know them, all
        episodes are made; later starts on the same files remember them."""
        with suppress(DataError):  # reading the episodes says it, after what else they say
            self._made.look()
        given = self.settings
        name = f"ma_wah-1-{self._split}-{given.agents}-{given.episodes}-{given.seed}"
        return remembered(name, self._files.read.values(), self._survey)  # type: ignore[no-any-return]

    def _survey(self) -> dict[str, Any]:
        causes: Counter[str] = Counter()
        made = [(number, self._made.case(number, causes)) for number in range(self._made.count)]
        playable = [
            (case.task.episode.id, getattr(case.task.reference, "kind", ""), number)
            for number, case in made
            if case is not None
        ]
        return {"playable": playable, "omissions": causes}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Id -> number of each episode of the kind that is wanted."""
        wanted = self.settings.kind
        return {n: number for n, kind, number in self._known["playable"] if wanted in ("", kind)}

    @property
    def omissions(self) -> Mapping[str, int]:
        """How many predicates and episodes are left out, by cause."""
        found: Mapping[str, int] = self._known["omissions"]
        return found

    @property
    def tasks(self) -> Sequence[Task]:
        """Every episode that can be played, made when it is looked at."""
        ids, numbers = list(self._numbers), list(self._numbers.values())
        return DrawnTasks(
            len(ids), lambda number: self._case(numbers[number]).task, ids.__getitem__
        )

    @property
    def files(self) -> Mapping[str, Path]:
        """The files it read."""
        return self._files.read if self._numbers else {}

    def world(self, episode: Episode) -> HouseholdWorld:
        """A fresh world."""
        return _world(self._case(self._numbers[episode.id]), self.settings)


def _world(case: Case, settings: HomesSettings) -> HouseholdWorld:
    layout = case.home.with_things(case.scene)
    return HouseholdWorld(case.scene, settings.make_body(), shared_names=True, layout=layout)


class Together(Generated):
    """Generated episodes in which things have one name for all."""

    def __init__(self, split: str, settings: MaWahSettings) -> None:
        agents = settings.agents

        def case(scene: str, arranged: str, plenty: float) -> Case:
            return _case(scene, arranged, plenty, agents)

        arrangement = in_turn(KINDS, settings.kind, settings.homes)
        super().__init__(split, settings, arrangement, case)
        self._make = case

    def world(self, episode: Episode) -> HouseholdWorld:
        """A fresh world."""
        case = self._make(episode.scene, episode.start["arrangement"], self.settings.plenty)
        return _world(case, self.settings)


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
        reference = HouseholdReference(name, job.kind, goals_of(job, made))
        return Case(Task(episode, reference), made.home, made.scene())
    raise UsageError(f"{scene} has nothing for a job of kind {kind}; ask for more things (plenty)")


dataset = MaWah
