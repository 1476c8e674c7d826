"""Pictures of recorded prompts: drawn again from the recorded actions, and written as files.

A record keeps the hashes of drawn pictures. An exported message has ``<image>`` where a picture
was shown, and its row lists their files, in order.

Source: LLaMA-Factory, ``data/README.md``, multimodal data in the ShareGPT format.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.model import Image, Message
from wayword.core.sight import Eyes
from wayword.core.trajectory import Trajectory
from wayword.core.world import World
from wayword.models.parts.calling import wire_message
from wayword.runs.diagnosis import replayed
from wayword.runs.opening import dataset_of
from wayword.runs.record import EpisodeRecord, RecordedRun

PLACEHOLDER = "<image>"
IN_TEXT = "< image>"
"""Replaces the placeholder in texts: trainers count placeholders, and refuse another number."""
SUFFIXES = {"image/jpeg": "jpg", "image/png": "png", "image/webp": "webp"}
"""Media type -> ending of a file. A record may name any type, which must not become a path."""


def drawn_again(
    trajectory: Trajectory, dataset: Dataset, task: Task | None
) -> dict[str, Image]:
    """Draw again what the agents of an episode saw.

    Returns pictures by the hashes of their pixels. Empty for a dataset whose agents saw
    no pictures, incomplete if the replay differs from the record.
    """
    settings = dataset.eyes
    painter = dataset.painter()
    drawn: dict[str, Image] = {}
    if settings is None or painter is None:
        return drawn

    def watch(world: World, number: int, actor: str) -> None:
        if not actor:
            return  # the last call comes after the end
        calls = list(trajectory.steps[number - 1].calls)
        if number == 1:
            calls += trajectory.opening_calls
        needed = {pixels for call in calls for pixels in call.pixels}
        ahead = Eyes(settings, painter, world, actor)
        # The kind of view is not recorded: kinds are drawn until all hashes fit.
        for eyes in (ahead, ahead.turning(), ahead.in_parts()):
            if needed <= drawn.keys():
                return
            drawn.update((image.pixels, image) for _, image in eyes.look())

    replayed(trajectory, dataset, task, watch)
    return drawn


class Redrawing:
    """Draws pictures of recorded episodes; ``data`` and ``trusted`` open the runs' datasets.

    A dataset is opened with the first picture of its run. Raises ``UsageError`` for data that
    differ from the run's.
    """

    def __init__(self, data: Path | None, trusted: Sequence[Path]) -> None:
        self._source = data, trusted
        self._opened: dict[RecordedRun, tuple[Dataset, Mapping[str, Task]]] = {}

    def pictures(self, run: RecordedRun, record: EpisodeRecord) -> dict[str, Image]:
        """Return the drawn pictures of an episode by the hashes of their pixels."""
        trajectory = record.trajectory
        if not any(call.pixels for call in trajectory.calls()):
            return {}
        if run not in self._opened:
            opened = dataset_of(run, *self._source)
            known = of_ids(opened.tasks, run.index.ids())
            self._opened[run] = opened, known
        dataset, tasks = self._opened[run]
        return drawn_again(trajectory, dataset, tasks.get(record.episode_id))


def without_placeholder(text: str) -> str:
    """Return a text in which nothing stands for a picture."""
    return text.replace(PLACEHOLDER, IN_TEXT)


def with_pictures(
    prompt: Sequence[Message], drawn: Mapping[str, Image]
) -> list[Message] | None:
    """Return a recorded prompt with the files of its pictures; None if one is not ``drawn``."""
    messages = []
    for message in prompt:
        images = []
        for image in message.images:
            shown = image if image.data else drawn.get(image.pixels)
            if shown is None:
                return None
            images.append(shown)
        messages.append(replace(message, images=tuple(images)))
    return messages


class PictureFolder:
    """A folder of pictures, each written once under the hash of its file.

    The folder is made with its first picture. ``count`` is the number of files.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: dict[str, str] = {}

    @property
    def count(self) -> int:
        """Number of pictures written so far."""
        return len(self._names)

    def add(self, image: Image) -> str:
        """Write a picture, and return its path from the folder's parent."""
        digest = hashlib.sha256(image.data).hexdigest()[:16]
        if digest not in self._names:
            name = f"{digest}.{SUFFIXES.get(image.media_type, 'bin')}"
            self._path.mkdir(parents=True, exist_ok=True)
            (self._path / name).write_bytes(image.data)
            self._names[digest] = f"{self._path.name}/{name}"
        return self._names[digest]

    def exported(
        self, messages: Sequence[Message]
    ) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
        """Return messages in the chat format, and the row's column ``images``.

        There is no column, and no text changes, if no message has a picture.
        """
        rows = list(map(wire_message, messages))
        shown = [image for message in messages for image in message.images]
        if not shown:
            return rows, {}
        for row, message in zip(rows, messages, strict=True):
            if message.content:
                text = without_placeholder(message.content)
                row["content"] = text + PLACEHOLDER * len(message.images)
        return rows, {"images": [self.add(image) for image in shown]}
