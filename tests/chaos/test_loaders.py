"""Broken data end in one line: mutated files of every kind, through each dataset's door."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import alfred_files
from helpers.mutations import mutate
from wayword.core.errors import DataError, UsageError
from wayword.core.files import read_json
from wayword.runs import Plan
from wayword.runs.opening import open_dataset

NODES = "p0,0,40.0,-74.0\np1,90,40.0005,-74.0\np2,180,40.001,-74.0\n"
LINKS = "p0,0,p1\np1,180,p0\np1,0,p2\np2,180,p1\n"


def _alfred(folder: Path) -> list[str]:
    task = alfred_files.trajectory("pick_and_place_simple", object_target="Mug",
                                   parent_target="SideTable")  # fmt: skip
    alfred_files.write(folder, task, {**task, "task_id": "trial_2"})
    return ["household:train"]


def _street(folder: Path) -> list[str]:
    route = {
        "id": 1, "navigation_text": "Go.", "route_panoids": ["p0", "p1", "p2"], "start_heading": 0,
        "instructions_id": 1,
    }  # fmt: skip
    for name in ("map2seq", "touchdown"):
        graph = folder / name / "graph"
        graph.mkdir(parents=True)
        (graph / "nodes.txt").write_text(NODES)
        (graph / "links.txt").write_text(LINKS)
    split = folder / "map2seq" / "unseen" / "dev.json"
    split.parent.mkdir(parents=True)
    split.write_text(json.dumps(route) + "\n")
    return ["map2seq:unseen_dev"]


SOURCES = {"alfred": _alfred, "street": _street}


@pytest.mark.parametrize("source", SOURCES)
def test_a_mutated_file_is_read_or_refused_in_one_line(
    source: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rounds: Callable[[int, int], int],
    count: Callable[[str, int], None],
) -> None:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    names = SOURCES[source](tmp_path / "whole")
    assert all(_load(name, tmp_path / "whole") == "read" for name in names)
    files = sorted(path for path in (tmp_path / "whole").rglob("*") if path.is_file())
    rng = random.Random(7)
    read = 0
    refused = 0
    for number in range(rounds(25, 1000)):
        # Another each time: readers remember by the path
        folder = tmp_path / f"broken{number}"
        shutil.copytree(tmp_path / "whole", folder)
        path = folder / rng.choice(files).relative_to(tmp_path / "whole")
        text = mutate(path, rng)
        for name in names:
            outcome = _load(name, folder)
            assert "\n" not in outcome, (
                f"round {number}, {path.name}, {text}: {outcome}"
            )
            read = read + (outcome == "read")
            refused = refused + (outcome != "read")
        shutil.rmtree(folder)
    assert refused > 0
    count(f"mutated loads of {source}", read + refused)


def _load(name: str, folder: Path) -> str:
    """``read``, or the one line of a refusal; anything else that is raised fails the test."""
    try:
        dataset = open_dataset(Plan("random", name, data=folder))
        for task in list(dataset.tasks)[:3]:
            dataset.world(task.episode).reset(task.episode)
    except (DataError, UsageError) as error:
        return str(error)
    return "read"


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "split.json.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(40):
            file.write(b" " * (1 << 20))
    with pytest.raises(
        DataError, match=r"split\.json\.gz: unzips to more than 16 MiB, more than"
    ):
        read_json(path)


@pytest.mark.parametrize("text", ["NaN", "[1, Infinity]", '{"a": -Infinity}'])
def test_what_is_no_number_is_no_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(
        DataError, match=r"is not valid JSON \(-?\w+ is not valid in JSON\)"
    ):
        read_json(tmp_path / "a.json")


def test_a_split_without_episodes_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    (name,) = _street(tmp_path / "whole")
    split = tmp_path / "whole" / "map2seq" / "unseen" / "dev.json"
    split.write_text("\n")
    assert (
        _load(name, tmp_path / "whole")
        == f"{split}: contains no episodes; fetch it again"
    )
