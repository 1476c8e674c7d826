"""What the pages show of an episode: its line in the table, and what the dataset adds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword.agents.person import answered
from wayword.core import registry
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.episode import Episode, PathReference
from wayword.core.errors import UsageError, WaywordError
from wayword.core.game import Game, ReplayDiffers
from wayword.core.perceiver import Percept
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family
from wayword.runs.config import Checksums, success_of
from wayword.runs.plan import Plan, open_dataset
from wayword.runs.replaying import recorded_answers
from wayword.viewer.letters import Letters

# The dataset behind a run, where it can be opened: instructions, gold paths, maps.
#
# A run folder may come from another person, so only datasets that are part of this installation are
# opened, never a file that the folder names; and only when the data are the run's own.


Layout = Mapping[str, tuple[float, float]]
"""Places on paper: metres to the east and north, by name."""


Watcher = Callable[[Any, int, str], None]
"""Is shown a world before a step (from 1), and whose turn it is; nobody's after the last one."""


@dataclass(slots=True)
class Sources:
    """What the dataset adds to a run. Without one, ``notice`` says why."""

    dataset: Dataset | None = None
    tasks: dict[str, Task] = field(default_factory=dict)
    notice: str = ""
    success: str = "sr"
    """The key of the metric that says whether an episode was solved."""
    words: bool = True
    """Whether the dataset's perceiver is the run's: a file from elsewhere is never executed."""
    layouts: dict[str, Layout] = field(default_factory=dict)
    """Each scene's places on paper, worked out once: a city has tens of thousands."""
    letters: Letters | None = None
    """Short names of places where several pages or maps share them; else each episode's own."""
    watchers: tuple[Watcher, ...] = ()
    """Who else looks on when an episode is played again, so that it is played once a page."""

    def family(self) -> Family | None:
        """The family of the dataset's worlds."""
        return self.dataset.family if self.dataset else None

    def episode(self, episode_id: str) -> Episode | None:
        """What the agent was told, or None where that is not known."""
        task = self.tasks.get(episode_id)
        return task.episode if task else None

    def instruction(self, episode_id: str) -> str:
        """The episode's instruction, or empty."""
        told = self.episode(episode_id)
        return told.instruction if told else ""

    def told_alone(self, episode_id: str) -> dict[str, str]:
        """What single actors were told, by actor."""
        told = self.episode(episode_id)
        given = told.extra.get("instructions", {}) if told else {}
        return {str(actor): str(text) for actor, text in given.items()}

    def gold(self, episode_id: str) -> tuple[str, ...]:
        """The gold path's places, or none."""
        reference = self.reference(episode_id)
        return reference.path if isinstance(reference, PathReference) else ()

    def scene(self, episode_id: str) -> str:
        """The episode's scene, or empty."""
        told = self.episode(episode_id)
        return told.scene if told else ""

    def reference(self, episode_id: str) -> Any:
        """What was right, or None where that is not known."""
        task = self.tasks.get(episode_id)
        return task.reference if task else None

    def world(self, episode_id: str) -> Any:
        """A fresh world for an episode, or None. Raises ``WaywordError`` as the dataset does."""
        told = self.episode(episode_id)
        return self.dataset.world(told) if self.dataset and told else None

    def played(self, told: Trajectory, *watchers: Watcher) -> Any:
        """The world at the end of an episode that is played again; None where the dataset has none
        or it answers otherwise than it did. Raises what the dataset raises."""
        world = self.world(told.episode_id)
        if world is None:
            return None
        everybody = (*watchers, *self.watchers)
        game = Game(answered(world, recorded_answers(told)), self.tasks[told.episode_id].episode)
        try:
            for number, step in enumerate(game.replay(told.steps), 1):
                if step.actor not in world.actors:
                    return None
                for watch in everybody:
                    watch(world, number, step.actor)
        except ReplayDiffers:
            return None
        for watch in everybody:
            watch(world, len(told.steps) + 1, "")
        return world

    def graph(self, scene: str) -> Any:
        """The scene's graph (ids, index, positions, edges), or None."""
        return self._ask("graph", scene)

    def layout(self, scene: str, laid_out: Callable[[], Layout]) -> Layout:
        """The scene's places on paper, as ``laid_out`` gives them the first time."""
        if scene not in self.layouts:
            self.layouts[scene] = laid_out()
        return self.layouts[scene]

    def plan(self, scene: str) -> Any:
        """The scene's floor plan (rooms, doors), or None."""
        return getattr(self._ask("house", scene), "plan", None)

    def percept(self, scene: str, place: str) -> Percept | None:
        """What there is around a place, in the words of the run's perceiver."""
        perceiver = self.dataset.perceiver() if self.dataset and self.words else None
        if perceiver is None or not scene:
            return None
        try:
            return perceiver.perceive(scene, place)
        except WaywordError:
            return None

    def _ask(self, name: str, scene: str) -> Any:
        method = getattr(self.dataset, name, None)
        if not callable(method) or not scene:
            return None
        try:
            return method(scene)
        except WaywordError:
            return None


def open_sources(
    config: Mapping[str, Any], ids: Sequence[str], data: Path | None, trusted: Path | None = None
) -> Sources:
    """The dataset that the run's config names, with the tasks of ``ids``."""
    try:
        found = _opened(config, ids, data, trusted)
    except WaywordError as error:
        found = Sources(notice=f"Instructions and maps are left out: {error}")
    found.success = success_of(config)
    return found


def _opened(
    config: Mapping[str, Any], ids: Sequence[str], data: Path | None, trusted: Path | None
) -> Sources:
    identity = config["identity"]
    name = str(identity.get("dataset", ""))
    part = name.partition(":")[0]
    if trusted is not None and Checksums().of(trusted) == identity.get("dataset_checksum"):
        name = f"{trusted}:{name.partition(':')[2]}"
    elif part not in registry.names("dataset") and not registry.is_described(part):  # is code
        raise UsageError(
            f"no dataset {name!r} here. If that is a file of yours, unchanged since the run, name "
            "it: --with FILE" + (f" ({trusted} is another, or has changed)" if trusted else "")
        )
    settings = {"dataset": identity.get("dataset_settings") or {}}
    seer = identity.get("perceiver") or {}
    shipped = seer.get("name") in registry.names("perceiver")
    if shipped:
        settings["perceiver"] = {"name": seer["name"], **(seer.get("settings") or {})}
    dataset = open_dataset(Plan("view", name, settings=settings, data=data))
    found, had = Checksums().combined(dataset.files), identity.get("data_checksum")
    if found != had:
        raise UsageError(f"the data here are not the run's ({found}, and the run had {had}).")
    return Sources(dataset, of_ids(dataset.tasks, set(ids)), words=shipped or not seer)
