"""The dataset of a run, if it can be opened: instructions, gold paths, worlds, maps.

See :mod:`wayword.runs.opening` for what is opened: never a file that only the run folder names.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.episode import Episode, JsonObject, PathReference
from wayword.core.errors import WaywordError
from wayword.core.files import SOURCES
from wayword.core.perceiver import Percept
from wayword.core.trajectory import Trajectory
from wayword.core.world import Family
from wayword.metrics.mistakes.causes import find_causes
from wayword.runs.config import step_limit, success_of
from wayword.runs.diagnosis import Watcher, replayed
from wayword.runs.opening import Trusted, open_plan, plan_of
from wayword.runs.pictures import drawn_again
from wayword.runs.record import RecordedRun
from wayword.runs.retelling import FILE, Retold, read_retold
from wayword.viewer.markup import Letters

_REMEDY = "set `--data FOLDER`, or see `wayword data list --published`"


@dataclass
class Sources:
    """Data that a dataset adds to a run: what its pages show beyond the record.

    If it is missing, ``notice`` gives the reason, and all methods return empty values:
    a run can be viewed without its data. Methods take an ``episode_id``; of an episode
    that is not in ``tasks`` nothing is known.
    """

    dataset: Dataset | None = None
    tasks: dict[str, Task] = field(default_factory=dict)
    notice: str = ""
    limit: int | None = None
    """The most steps of an actor in this run; None if it is not known."""
    success: str = "sr"
    """The key of the metric that says whether an episode was solved."""
    by_expert: bool = False
    """True if the expert plays every actor of the run."""
    words: bool = True
    """True if the dataset's perceiver is the run's: a file from elsewhere is never executed."""
    family_name: str = ""
    """The family of the run's worlds, which is known without the dataset."""
    letters: Letters | None = None
    """Short names of places where several pages or maps share them; else each episode's own."""
    folder: Path | None = None
    """The run's folder, whose walks may have been retold."""
    watchers: tuple[Watcher, ...] = ()
    """Further watchers of an episode that is played again, so that it is played once a page."""
    problems: list[str] = field(default_factory=list)
    """What a user's family could not draw, one sentence each; shared by copies."""
    _retold: tuple[int, dict[str, Retold]] = field(default=(-1, {}), init=False)
    """The time of the file of retold walks, and its content: pages are many, the file is one."""

    def family(self) -> Family | None:
        """Return the family of the dataset's worlds, or None."""
        if self.dataset is None:
            return None
        return self.dataset.family

    def episode(self, episode_id: str) -> Episode | None:
        """Return what the agent knew of an episode, or None."""
        task = self.tasks.get(episode_id)
        if task is None:
            return None
        return task.episode

    def instruction(self, episode_id: str) -> str:
        """Return the instruction given to all actors, or an empty text."""
        episode = self.episode(episode_id)
        if episode is None:
            return ""
        return episode.instruction

    def private_instructions(self, episode_id: str) -> dict[str, str]:
        """Return the instructions given to single actors, by actor."""
        episode = self.episode(episode_id)
        if episode is None:
            return {}
        given = episode.extra.get("instructions", {})
        return {str(actor): str(text) for actor, text in given.items()}

    def causes(
        self, episode_id: str, written: JsonObject, scores: Mapping[str, float]
    ) -> dict[str, int]:
        """Find the causes of failure of a recorded episode, each with its first step (from 1).

        ``written`` is the trajectory as the record has it.
        """
        task = self.tasks.get(episode_id)
        instruction = self.instruction(episode_id)
        return find_causes(written, scores, instruction, task, self.dataset)

    def scene(self, episode_id: str) -> str:
        """Return the name of the episode's scene, or an empty text."""
        episode = self.episode(episode_id)
        if episode is None:
            return ""
        return episode.scene

    def reference(self, episode_id: str) -> Any:
        """Return the reference of an episode (goal, gold path), or None."""
        task = self.tasks.get(episode_id)
        if task is None:
            return None
        return task.reference

    def gold(self, episode_id: str) -> tuple[str, ...]:
        """Return the places of the gold path; empty if there is none."""
        reference = self.reference(episode_id)
        if not isinstance(reference, PathReference):
            return ()
        return reference.path

    def world(self, episode_id: str) -> Any:
        """Return a new world for an episode, or None. Raises the dataset's ``WaywordError``."""
        episode = self.episode(episode_id)
        if self.dataset is None or episode is None:
            return None
        return self.dataset.world(episode)

    def played(self, trajectory: Trajectory, *watchers: Watcher) -> Any:
        """Replay an episode and return its final world.

        None if the dataset has no such task, or if the replay differs or fails: a
        record may contain anything. ``watchers`` are called before each step and after
        the last one.
        """
        task = self.tasks.get(trajectory.episode_id)
        return replayed(trajectory, self.dataset, task, *watchers, *self.watchers)

    def pictures(self, trajectory: Trajectory) -> dict[str, str]:
        """Draw again what agents saw: the hash of each picture's pixels -> its file in base64.

        Records have hashes alone, since pictures are many and follow from the actions.
        Empty for a dataset whose agents saw no pictures.
        """
        if self.dataset is None:
            return {}
        task = self.tasks.get(trajectory.episode_id)
        drawn = drawn_again(trajectory, self.dataset, task)
        return {
            pixels: base64.b64encode(image.data).decode()
            for pixels, image in drawn.items()
        }

    def retold(self, episode_id: str) -> Retold | None:
        """Return the walk as a model retold it, if one did. Raises ``RecordingError``.

        The file is read again once it has changed.
        """
        if self.folder is None:
            return None
        try:
            # Walks may be retold while pages are shown.
            changed = (self.folder / FILE).stat().st_mtime_ns
        except FileNotFoundError:
            return None
        except OSError:
            changed = -2  # reading it gives the reason
        if self._retold[0] != changed:
            self._retold = (changed, read_retold(self.folder))
        return self._retold[1].get(episode_id)

    def graph(self, scene: str) -> Any:
        """Return the scene's graph (ids, index, positions, plane, edges), or None."""
        return self._ask("graph", scene)

    def plan(self, scene: str) -> Any:
        """Return the scene's floor plan (rooms, doors), or None."""
        return getattr(self._ask("house", scene), "plan", None)

    def landmarks(self, episode_id: str) -> list[Any]:
        """Return the landmarks of an instruction (name, x, y, home), if the dataset has them."""
        episode = self.episode(episode_id)
        if episode is None:
            return []
        town = self._ask("town", episode.scene)
        named = episode.extra.get("landmarks", ())
        return [each for each in getattr(town, "landmarks", ()) if each.name in named]

    def _ask(self, name: str, scene: str) -> Any:
        """Call a method that not every dataset has; None without it, or without the scene."""
        # Graphs, houses and towns are parts of some families only.
        method = getattr(self.dataset, name, None)
        if not scene or not callable(method):
            return None
        try:
            return method(scene)
        except WaywordError:
            return None

    def percept(self, scene: str, place: str) -> Percept | None:
        """Return the description of a place by the run's perceiver, or None.

        None if the perceiver is not the run's own: its words would not be what the
        agent read.
        """
        if self.dataset is None or not self.words:
            return None
        perceiver = self.dataset.perceiver()
        if perceiver is None or not scene:
            return None
        try:
            return perceiver.perceive(scene, place)
        except WaywordError:
            return None


def open_sources(
    run: RecordedRun,
    ids: Sequence[str],
    data: Path | None,
    trusted: Trusted = (),
) -> Sources:
    """Open the dataset named in the run's config, with the tasks of ``ids``.

    Never raises a ``WaywordError``: a dataset that cannot be opened leaves a
    ``notice``. ``data`` is the data folder; files outside it are opened only if
    ``trusted`` has them.
    """
    identity = run.config["identity"]
    try:
        # Every file is checked against the paths that the caller trusts, not those that
        # the run names.
        plan = plan_of(identity, data, trusted)
        dataset = open_plan(plan, run)
        # Without the run's own perceiver its words would be another one's.
        words = bool(plan.perceiver()[0]) or not identity["perceiver"]
        sources = Sources(dataset, of_ids(dataset.tasks, ids), words=words)
    except WaywordError as error:
        # On a page one short remedy is enough.
        reason = str(error).replace(SOURCES, _REMEDY)
        sources = Sources(notice=f"Instructions and maps are not available: {reason}")
    sources.folder = run.path
    sources.success = success_of(run.config)
    sources.family_name = run.config.get("family", "")
    sources.limit = step_limit(run.config)
    sources.by_expert = run.by_expert
    return sources
