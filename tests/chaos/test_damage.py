"""A damaged run folder never shows a wrong number: its table is the true one, or one line."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from wayword.core.errors import WaywordError
from wayword.runs import Plan, reports, run
from wayword.runs.folder import RunFolder

FILES = ("episodes.jsonl", "index.jsonl", "sessions.jsonl", "config.json")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    settings = {"dataset": {"houses": 1, "episodes": 9}}
    run(Plan("random", "houses", settings=settings, max_steps=3, out=out))
    return out


def test_damage_is_noticed_or_does_not_matter(
    whole: Path,
    tmp_path: Path,
    rounds: Callable[[int, int], int],
    count: Callable[[str, int], None],
) -> None:
    true, rng = _figures(whole), random.Random(3)
    same = refused = fewer = 0
    for number in range(rounds(40, 4000)):
        folder = tmp_path / "damaged" / "run"
        shutil.copytree(whole, folder)
        told = _damage(folder / rng.choice(FILES[:2] * 3 + FILES), rng)
        try:
            found = _figures(folder)
        except WaywordError:
            refused += 1
        else:
            # half a last line is what a killed run leaves, so fewer episodes may be counted
            if len(found) < len(true):
                assert told in ("cut", "lost line"), f"round {number}: {told} made episodes vanish"
                fewer += 1
            assert found.items() <= true.items(), f"round {number}: {told} changed a number"
            same += len(found) == len(true)
        shutil.rmtree(tmp_path / "damaged")
    assert min(same, refused) > 0
    count("damaged folders: true table, refused, or fewer episodes", same + refused + fewer)


def _figures(folder: Path) -> dict[str, object]:
    """What a table is made of. Pages and exports read the whole records, which must agree."""
    reports.table([folder], "json")
    recorded = RunFolder.read(folder)
    figures: dict[str, object] = dict(recorded.scores())
    assert {record.episode_id: record.scores for record in recorded.records()} == figures
    return figures


def _damage(path: Path, rng: random.Random) -> str:
    status, raw = path.stat(), bytearray(path.read_bytes())
    way = rng.choice(["flip", "flip", "flip", "cut", "zeros", "double", "swap", "lost line"])
    lines = bytes(raw).splitlines(keepends=True)
    if way == "flip":
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    elif way == "cut":
        del raw[rng.randrange(len(raw)) :]
    elif way == "zeros":
        size = min(4096, len(raw))
        raw[len(raw) - size :] = bytes(size)
    elif way == "double":
        raw += rng.choice(lines)
    elif way == "swap":
        rng.shuffle(lines)
        raw = bytearray(b"".join(lines))
    else:
        del lines[rng.randrange(len(lines))]
        raw = bytearray(b"".join(lines))
    path.write_bytes(raw)
    later = status.st_mtime_ns + 10**9 * rng.choice([0, 5])
    os.utime(path, ns=(later, later))
    return way
