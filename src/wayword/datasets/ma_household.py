"""MA-Household: TEACh's tasks, for a commander who knows and a follower who acts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wayword.core.errors import UsageError, suggest
from wayword.datasets.procedural.homes.episodes import (
    CARRY,
    GENERATED,
    WALK,
    EpisodeSource,
    HomesSettings,
    SourcedTasks,
)
from wayword.datasets.sources.teach.definitions import definitions
from wayword.datasets.sources.teach.episodes import SPLITS, FloorPairs, GeneratedPairs


@dataclass(frozen=True)
class MaHouseholdSettings(HomesSettings):
    """``task`` limits the episodes to one of TEACh's, by its name: ``Coffee``, ``Salad`` …

    ``followers`` do the work, one as in TEACh, or up to three. ``homes``, ``rooms`` and ``plenty``
    are about generated homes alone.
    """

    useless: ClassVar[tuple[str, ...]] = ()
    paper: ClassVar[tuple[str, ...]] = (
        *(*WALK, *CARRY, "drop", "toggle_on", "toggle_off", "slice", "chat", "stop"),
    )

    task: str = ""
    followers: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.followers <= 3:
            raise UsageError(f"ma_household: followers={self.followers} must lie between 1 and 3")
        if self.task and self.task not in definitions():
            hint = suggest(self.task, list(definitions()))
            raise UsageError(f"ma_household: no task {self.task!r}; {hint}")

    def kinds(self) -> tuple[str, ...]:
        """The tasks that take turns."""
        return (self.task,) if self.task else tuple(definitions())


class MaHousehold(SourcedTasks[MaHouseholdSettings]):
    """A commander tells a follower what to do: coffee, toast, a salad, a tidy desk …

        >>> pairs = MaHousehold(settings=MaHousehold.Settings(homes=1, episodes=2))
        >>> pairs.tasks[0].episode.actors
        ('commander', 'follower')

    The commander alone is told the task and where things are; it floats, looks and talks. The
    follower acts on what it sees and hears. Everything has one name for both. The tasks are TEACh's
    twenty-five definitions, read from its files for iTHOR's rooms (splits ``train``, ``valid_seen``
    … are TEACh's lists of floors) and restated here for generated homes. TEACh's games are not
    read: which task with which parameters, and the state a room starts in, is drawn by seed.
    ``omissions`` counts the definitions that no room of a split can have, by cause.
    """

    name: ClassVar[str] = "ma_household"
    Settings: ClassVar[type[MaHouseholdSettings]] = MaHouseholdSettings
    splits: ClassVar[tuple[str, ...]] = (*GENERATED, *SPLITS)
    published_train: ClassVar[str] = SPLITS[0]
    redrawn: ClassVar[str] = (
        "TEACh's games are not read: parameters and the rooms' first state are drawn by seed"
    )
    max_steps: ClassVar[int] = 1000

    def source(self, split: str) -> EpisodeSource:
        """Generated homes, or iTHOR's rooms."""
        kinds = self.settings.kinds()
        if split in GENERATED:
            return GeneratedPairs(split, self.settings, kinds, self.settings.followers)
        if self.folder is None:
            raise UsageError(f"ma_household:{split} needs the data folder; name it with --data")
        return FloorPairs(split, self.folder, self.settings, kinds, self.settings.followers)


dataset = MaHousehold
