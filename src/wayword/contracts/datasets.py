"""The promises of a dataset."""

from __future__ import annotations

import json
from dataclasses import fields

from wayword.core.dataset import Dataset
from wayword.core.episode import Episode, Reference


def check_dataset(dataset: Dataset, most: int = 200) -> None:
    """Episodes are whole, named apart and JSON-able, and hold no part of the answer.

    Looks at the first ``most`` tasks, and at all of the IDs.
    """
    tasks = dataset.tasks
    assert len(tasks) > 0, "a dataset has at least one episode"
    ids = [task.episode.id for task in tasks]
    assert len(set(ids)) == len(ids), "episode IDs are unique within a split"
    assert dataset.splits, "a dataset names its splits, the default first"
    assert dataset.max_steps > 0, "max_steps says when an episode is cut off"
    for task in tasks[:most]:
        episode, reference = task.episode, task.reference
        assert isinstance(reference, Reference), f"{episode.id}: the answer is a Reference"
        assert reference.episode_id == episode.id, f"{episode.id}: its reference is another's"
        assert episode.instruction.strip(), f"{episode.id}: the instruction is empty"
        assert episode.actors, f"{episode.id}: nobody acts"
        json.dumps([dict(episode.start), dict(episode.extra)])
        _holds_no_answer(episode)
    for name, path in dataset.files.items():
        assert path.is_file(), f"{name}: {path} is named for checksums but is not there"


def _holds_no_answer(episode: Episode) -> None:
    for field in fields(episode):
        value = getattr(episode, field.name)
        assert not isinstance(value, Reference), f"{episode.id}: {field.name} holds the answer"
    keys = {*episode.start, *episode.extra}
    leaked = keys & {"goal", "path", "gold", "target_viewpoint", "answer", "reference"}
    assert not leaked, f"{episode.id}: the episode itself tells {sorted(leaked)}"
