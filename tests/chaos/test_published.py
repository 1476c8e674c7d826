"""Mutated copies of published files, through each dataset's door: read, or refused in one line."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.mutations import mutate
from wayword.core.errors import DataError, UsageError
from wayword.runs import Plan
from wayword.runs.opening import open_dataset
from wayword.verbalize import generic

SPLITS = (
    *("household:valid_seen", "iqa:val_seen", "ma_household:valid_seen", "ma_wah:logs"),
    *("ma_wah:homes", "map2seq:unseen_dev", "r2r:val_seen"),
    *(
        "rearrangement:2021_val",
        "reverie:val_seen",
        "robothor:debug",
        "touchdown:unseen_dev",
    ),
)
_OPENED: list[set[str]] = []
"""The files that a load opens are noted in the last of these."""


def _note(event: str, given: tuple[Any, ...]) -> None:
    if _OPENED and event == "open" and isinstance(given[0], str):
        _OPENED[-1].add(given[0])


@pytest.mark.real
@pytest.mark.parametrize("split", SPLITS)
def test_a_mutated_published_file_is_read_or_refused_in_one_line(
    split: str,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rounds: Callable[[int, int], int],
    count: Callable[[str, int], None],
) -> None:
    number = rounds(0, 60)
    if not number:
        pytest.skip("the long form alone")
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    files = opened_by(split, data)
    rng = random.Random(split)
    refused = 0
    for n in range(number):
        monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / f"cache{n}"))
        path = rng.choice(files)
        # Another each time: readers remember by the path
        folder = tmp_path / f"broken{n}"
        how = mutate(linked(data, folder, path), rng)
        outcome = load(split, folder)
        assert "\n" not in outcome, f"round {n}, {path}, {how}: {outcome}"
        refused += outcome != "read"
        shutil.rmtree(folder)
    count(f"mutated loads of {split}, {refused} of them refused", number)


def opened_by(split: str, data: Path) -> list[Path]:
    """The files below ``data`` that its first episodes are read from."""
    sys.addaudithook(_note)
    _OPENED.append(set())
    try:
        outcome = load(split, data)
    finally:
        found = {Path(name) for name in _OPENED.pop()}
    assert outcome == "read", outcome
    return sorted(path.relative_to(data) for path in found if path.is_relative_to(data))


def linked(data: Path, folder: Path, changed: Path) -> Path:
    """A folder that links to the published data but for one file, which is a copy."""
    folder.mkdir()
    for entry in data.iterdir():
        if entry.name != changed.parts[0]:
            (folder / entry.name).symlink_to(entry)
    inner = Path(*changed.parts[1:])
    if not inner.parts:
        shutil.copyfile(data / changed, folder / changed.name)
        return folder / changed.name
    return linked(data / changed.parts[0], folder / changed.parts[0], inner)


def load(name: str, folder: Path) -> str:
    """``read``, or the line of a refusal; anything else that is raised fails the test."""
    try:
        dataset = open_dataset(Plan("random", name, data=folder))
        for task in [dataset.tasks[n] for n in range(min(2, len(dataset.tasks)))]:
            world = dataset.world(task.episode)
            world.reset(task.episode)
            seen = world.observe(world.actors[0])
            generic.verbalizer(seen).around(seen, dataset.perceiver())
    except (DataError, UsageError) as error:
        return str(error)
    return "read"
