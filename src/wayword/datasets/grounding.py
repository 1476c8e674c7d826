"""Instruction grounding: levels of BabyAI, drawn by the package ``minigrid``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import ClassVar

from wayword.core.dataset import DrawnTasks, Task, Training
from wayword.core.episode import Episode, Reference
from wayword.core.errors import UsageError, suggest
from wayword.core.world import Family
from wayword.worlds import babyai
from wayword.worlds.babyai.expert import SolvableLevels, expert_length
from wayword.worlds.babyai.level import Level
from wayword.worlds.babyai.world import Actions, BabyAIWorld

# The levels of BabyAI that instruction grounding is tested on.
#
# Source: LangSuitE's list of tasks (babyai_task_list.txt: a level and a number each). The numbers
# are listed as facts; which draw of a level each stood for was not published.

LEVEL_NUMBERS: dict[str, tuple[int, ...]] = {
    "1RoomS20": (1, 9), "BossLevelNoUnlock": (9,), "FindObjS6": (7,), "GoToLocalS5N2": (5,),
    "GoToLocalS6N2": (2,), "GoToLocalS6N4": (8,), "GoToLocalS8N4": (1,), "GoToLocalS8N5": (1,),
    "GoToLocalS8N7": (0, 8), "GoToObj": (0, 1, 9), "GoToObjDoor": (2,),
    "GoToObjMaze": (1, 5, 7, 8), "GoToObjMazeS4": (5,), "GoToObjMazeS7": (4,), "GoToObjS4": (4,),
    "GoToOpen": (8,), "GoToRedBlueBall": (2, 4), "GoToSeqS5R2": (3,), "KeyCorridorS3R3": (4,),
    "KeyInBox": (4, 8), "MoveTwoAcrossS5N2": (0,), "Pickup": (3,), "PickupAbove": (6,),
    "PickupDist": (0,), "PutNextLocalS6N4": (0, 3), "PutNextS4N1": (3, 6), "PutNextS5N2": (4,),
    "Synth": (7,), "TestGoToBlocked": (8,), "TestPutNextToCloseToDoor2": (7, 9),
    "TestPutNextToIdentical": (0,), "TestUnblockingLoop": (9,), "UnblockPickup": (8, 9),
    "UnlockLocalDist": (3, 9), "UnlockPickup": (7,), "UnlockPickupDist": (6,),
}  # fmt: skip
"""Level -> its numbers, in the published order."""

NEW_NAMES = {"1RoomS20": "OneRoomS20"}
"""Level -> the package's name for it, where they differ."""
MISSING_LEVELS = frozenset(
    ("TestGoToBlocked", "TestPutNextToCloseToDoor2", "TestPutNextToIdentical", "TestUnblockingLoop")
)
"""Levels that the package does not have: hand-made tests of the original repository."""

LEVELS = tuple(NEW_NAMES.get(name, name) for name in LEVEL_NUMBERS if name not in MISSING_LEVELS)
"""Those that can be played, by the package's names."""

STREAMS = ("test", "train")
"""Even numbers draw test episodes, odd ones train episodes."""
TRAINING_POOL = 500
"""Episodes that there are at least to draw examples from, however few are played."""
TRIES = 1_000
"""Draws of a level among which one of a given length is looked for."""
SEED_STRIDE = 1_000_000
"""Episodes of a level that a seed has numbers for."""


def level_seed(stream: str, seed: int, number: int) -> int:
    """The number that the package draws an episode by. No two streams or seeds share one."""
    return len(STREAMS) * (SEED_STRIDE * seed + number) + STREAMS.index(stream)


@lru_cache(maxsize=4096)
def mission(level: str, seed: int) -> str:
    """The instruction of a level as drawn by ``seed``."""
    instance = _cached_level(level)
    instance.start(seed)
    return instance.mission


@lru_cache(maxsize=64)
def _cached_level(level: str) -> Level:
    return Level(level)


@dataclass(frozen=True)
class GroundingSettings:
    """``levels`` names levels of BabyAI, all of the list's where empty; they take turns.

    ``actions``: ``low`` for the level's own actions, ``high`` for skills. ``length``: the actions
    of the level's own that the expert takes, to an eighth, 2 to 128; 0: as drawn.
    """

    levels: tuple[str, ...] | str = ()
    episodes: int = 500
    seed: int = 0
    actions: Actions = "low"
    length: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.episodes <= SEED_STRIDE:
            raise UsageError(f"grounding: episodes={self.episodes} must be 1 to {SEED_STRIDE:,}")
        if self.length and not 2 <= self.length <= 128:
            raise UsageError(f"grounding: length={self.length} must be 2 to 128, or 0")
        if self.seed < 0:
            raise UsageError(f"grounding: seed={self.seed} must be at least 0")
        for name in self.level_names():
            if name in MISSING_LEVELS:
                raise UsageError(f"grounding: the package minigrid has no level {name!r}")
            if not name.isalnum():
                raise UsageError(f"grounding: no level {name!r}; {suggest(name, list(LEVELS))}")

    def level_names(self) -> tuple[str, ...]:
        """The levels, by the package's names."""
        listed_names = self.levels.split(",") if isinstance(self.levels, str) else self.levels
        names = [name.strip() for name in listed_names if name.strip()]
        return tuple(NEW_NAMES.get(name, name) for name in names) or LEVELS


class Grounding(SolvableLevels):
    """Instructions such as "put a blue ball next to the red door" on a grid of rooms.

        >>> grounding = Grounding(settings=Grounding.Settings(levels="GoToObj", episodes=2))
        >>> [task.episode.instruction for task in grounding.tasks]
        ['go to the green key', 'go to the green ball']

    The levels are those of LangSuitE's list that the package has (32 of 36), and any other of its
    levels by name. Success, reward and step limit are the level's own. Test and train episodes are
    drawn by different numbers. Needs the extra ``wayword[babyai]``, and no data.
    """

    Settings: ClassVar[type[GroundingSettings]] = GroundingSettings
    family: ClassVar[Family] = babyai.family
    splits: ClassVar[tuple[str, ...]] = STREAMS
    max_steps: ClassVar[int] = 500
    settings: GroundingSettings

    def world(self, episode: Episode) -> BabyAIWorld:
        return BabyAIWorld(episode.scene, self.settings.actions)

    def training(self) -> Training:
        settings = replace(self.settings, episodes=max(self.settings.episodes, TRAINING_POOL))
        source = self if self.split == "train" else Grounding("train", settings=settings)
        return Training(source, source.tasks)

    @cached_property
    def tasks(self) -> Sequence[Task]:
        """Every episode, its level drawn when it is looked at; levels take turns."""
        levels, seed, stream = self.settings.level_names(), self.settings.seed, self.split

        def name_of(number: int) -> str:
            drawn, length = number // len(levels), self.settings.length
            suffix = f"-l{length}" if length else ""
            return f"{levels[number % len(levels)]}-{stream}-s{seed}{suffix}-{drawn:04d}"

        def task(number: int) -> Task:
            level, name = levels[number % len(levels)], name_of(number)
            drawn = number // len(levels)
            if self.settings.length:
                drawn = self._draw_of_length(level, drawn)
            code = level_seed(stream, seed, drawn)
            episode = Episode(
                name, mission(level, code), level, {"seed": code}, extra=self.budget()
            )
            return Task(episode, Reference(name))

        return DrawnTasks(self.settings.episodes, task, name_of)

    def _draw_of_length(self, level: str, number: int) -> int:
        """The number of the first draw, of those set aside for an episode, that the expert solves
        in about ``length`` actions."""
        length, first = self.settings.length, number * TRIES
        for drawn in range(first, min(first + TRIES, SEED_STRIDE)):
            code = level_seed(self.split, self.settings.seed, drawn)
            solved = self._lengths.get(f"{level} {code}", partial(expert_length, level, code))
            if solved and abs(solved - length) <= length / 8:
                return drawn
        raise UsageError(f"grounding: no draw of {level} has length={length}; name another level")


dataset = Grounding
