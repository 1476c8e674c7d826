"""A damaged run folder never shows a wrong number: its table is the true one, or one line."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.records import EPISODES, indexes, lines, members
from wayword.core.errors import WaywordError
from wayword.runs import Plan, reports, run
from wayword.runs.json_lines import member
from wayword.runs.record import RunFolder

FILES = (EPISODES, "failures.jsonl.gz", "sessions.jsonl", "calls.jsonl", "run.json")


@pytest.fixture(scope="module")
def full_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    settings = {"dataset": {"houses": 1, "episodes": 9}}
    run(
        Plan(
            "navgpt",
            "houses",
            "scripted:first",
            settings=settings,
            max_steps=3,
            out=out,
        )
    )
    with RunFolder.open(out, RunFolder.read(out).config) as folder:
        folder.fail("no-such-episode", "no answer")
    return out


def test_damage_is_noticed_or_does_not_matter(
    full_run: Path,
    tmp_path: Path,
    rounds: Callable[[int, int], int],
    count: Callable[[str, int], None],
) -> None:
    """With an index from before the damage, and without one."""
    true = _figures(full_run)
    rng = random.Random(3)
    same = refused = fewer = 0
    for number in range(rounds(40, 4000)):
        folder = tmp_path / "damaged" / "run"
        shutil.copytree(full_run, folder)
        for path in indexes():
            path.unlink()
        if rng.random() < 0.5:
            assert _figures(folder) == true
        damage = _damage(folder / rng.choice(FILES[:1] * 6 + FILES), rng)
        try:
            found = _figures(folder)
        except WaywordError:
            refused += 1
        else:
            # part of a last record is what a killed run leaves, so fewer episodes may be counted
            if len(found) < len(true):
                assert damage in ("cut", "lost", "zeros"), (
                    f"round {number}: {damage}: episodes gone"
                )
                fewer += 1
            assert found.items() <= true.items(), (
                f"round {number}: {damage} changed a number"
            )
            same += len(found) == len(true)
        shutil.rmtree(tmp_path / "damaged")
    assert min(same, refused, fewer) > 0
    count(
        "damaged folders: true table, refused, or fewer episodes",
        same + refused + fewer,
    )


def test_a_damaged_index_changes_no_figure(
    full_run: Path,
    tmp_path: Path,
    rounds: Callable[[int, int], int],
    count: Callable[[str, int], None],
) -> None:
    """Also one of more records, of fewer, and of another run in the same folder."""
    true = _figures(full_run)
    rng = random.Random(4)
    folder = tmp_path / "run"
    others = [
        line.replace(b'"episode":"', b'"episode":"other-', 1)
        for line in lines(full_run)
    ]
    other = b"".join(
        member(line.replace(b'"steps":', b'"calls":', 1)) for line in others
    )
    for number in range(rounds(40, 2000)):
        for path in indexes():
            path.unlink()
        shutil.copytree(full_run, folder)
        stale = rng.choice(["", "", "more", "fewer", "other"])
        raw = (folder / EPISODES).read_bytes()
        if stale == "fewer":
            (folder / EPISODES).write_bytes(
                b"".join(members(folder)[: rng.randrange(1, 9)])
            )
        elif stale:
            (folder / EPISODES).write_bytes(raw + other if stale == "more" else other)
        RunFolder.read(folder).scores()
        (folder / EPISODES).write_bytes(raw)
        damage = _damage(indexes()[0], rng) if not stale or rng.random() < 0.3 else ""
        assert _figures(folder) == true, f"round {number}: {stale} {damage}"
        shutil.rmtree(folder)
    count("lost, stale or damaged indexes", rounds(40, 2000))


def _figures(folder: Path) -> dict[str, object]:
    """All that a table is made of. Pages and exports read the whole records, which must agree."""
    reports.table([folder], "json")
    recorded = RunFolder.read(folder)
    figures: dict[str, object] = dict(recorded.scores())
    assert {
        record.episode_id: record.scores for record in recorded.records()
    } == figures
    return figures


def _damage(path: Path, rng: random.Random) -> str:
    status = path.stat()
    raw = bytearray(path.read_bytes())
    kinds = ["flip", "flip", "flip", "cut", "zeros", "double", "swap", "lost"]
    damage = rng.choice(kinds if raw else ["double"])
    if path.suffix == ".gz":
        parts = members(path.parent, path.name)
    else:
        parts = bytes(raw).splitlines(keepends=True)
    if damage == "flip":
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    elif damage == "cut":
        del raw[rng.randrange(len(raw)) :]
    elif damage == "zeros":
        size = rng.randrange(1, min(4096, len(raw)) + 1)
        raw[len(raw) - size :] = bytes(size)
    elif damage == "double":
        raw += rng.choice(parts or [b"junk"])
    elif damage == "swap":
        rng.shuffle(parts)
        raw = bytearray(b"".join(parts))
    else:
        del parts[rng.randrange(len(parts))]
        raw = bytearray(b"".join(parts))
    path.write_bytes(raw)
    later = status.st_mtime_ns + 10**9 * rng.choice([0, 5])
    os.utime(path, ns=(later, later))
    return damage
