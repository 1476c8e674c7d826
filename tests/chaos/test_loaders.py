"""Broken data end in one line: mutated files of every kind, through each dataset's door."""

from __future__ import annotations

import copy
import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers import alfred_files
from wayword.core.errors import DataError, UsageError
from wayword.core.files import read_json
from wayword.runs import Plan
from wayword.runs.parts import open_dataset

NODES = "p0,0,40.0,-74.0\np1,90,40.0005,-74.0\np2,180,40.001,-74.0\n"
LINKS = "p0,0,p1\np1,180,p0\np1,0,p2\np2,180,p1\n"
ODD: list[Any] = [
    None, True, -1, 0, 10**30, 1e308, float("nan"), float("inf"), "", "x" * 5000, "\ud800", [], {},
    [[]], [None], {"": 0}, "../../etc/passwd", -0.5,
]  # fmt: skip


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
    rng, read, refused = random.Random(7), 0, 0
    for number in range(rounds(25, 1000)):
        folder = tmp_path / "broken"
        shutil.copytree(tmp_path / "whole", folder)
        path = folder / rng.choice(files).relative_to(tmp_path / "whole")
        told = mutate(path, rng)
        for name in names:
            outcome = _load(name, folder)
            assert "\n" not in outcome, f"round {number}, {path.name}, {told}: {outcome}"
            read, refused = read + (outcome == "read"), refused + (outcome != "read")
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


def mutate(path: Path, rng: random.Random) -> str:
    """Break the file somehow, and say how."""
    zipped, raw = path.suffix == ".gz", path.read_bytes()
    text = gzip.decompress(raw) if zipped else raw
    way = rng.choice(["value", "value", "value", "cut", "flip", "zeros", "empty", "zip"])
    if way == "value":
        lines = text.split(b"\n")
        at = rng.randrange(len(lines))
        try:
            tree = json.loads(lines[at] if len(lines) > 1 else text)
        except ValueError:
            way = "flip"
        else:
            lines[at] = json.dumps(_changed(tree, rng)).encode(errors="surrogatepass")
            text = b"\n".join(lines)
    if way == "cut":
        text = text[: rng.randrange(len(text) + 1)]
    if way == "flip" and text:
        at = rng.randrange(len(text))
        text = text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
    if way == "zeros":
        text = b"\0" * 4096 + text[4096:]
    if way == "empty":
        text = rng.choice([b"", b"[]", b"{}", b"null", b"\n"])
    content = gzip.compress(text) if zipped else text
    if way == "zip":
        content = content[: rng.randrange(len(content))] if zipped else gzip.compress(text)
    path.write_bytes(content)
    return way


def _changed(tree: Any, rng: random.Random) -> Any:
    """The tree with one value gone or odd, at any depth."""
    tree = copy.deepcopy(tree)
    places = list(_places(tree))
    if not places:
        return rng.choice(ODD)
    holder, key = rng.choice(places)
    if rng.random() < 0.35:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD))
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "split.json.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(40):
            file.write(b" " * (1 << 20))
    with pytest.raises(DataError, match=r"split\.json\.gz: unzips to more than 16 MiB, which no"):
        read_json(path)


@pytest.mark.parametrize("text", ["NaN", "[1, Infinity]", '{"a": -Infinity}'])
def test_what_is_no_number_is_no_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=r"is not valid JSON \(-?\w+ is no number\)"):
        read_json(tmp_path / "a.json")


def test_a_split_without_episodes_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    (name,) = _street(tmp_path / "whole")
    split = tmp_path / "whole" / "map2seq" / "unseen" / "dev.json"
    split.write_text("\n")
    assert _load(name, tmp_path / "whole") == f"{split}: holds no episodes; fetch it again"
