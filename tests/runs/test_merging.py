"""Shards played apart become the run that was played in one piece."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import RecordingError, UsageError
from wayword.runs import Plan, reports, run
from wayword.runs.config import SPENDING, Spending
from wayword.runs.folder import RunFolder
from wayword.runs.merging import merge

PLAN = Plan("random", "houses", settings={"dataset": {"houses": 1, "episodes": 9}}, max_steps=3)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("shards")
    for at in (1, 2, 3):
        run(replace(PLAN, shard=f"{at}/3", out=top / str(at)))
    return [top / str(at) for at in (1, 2, 3)]


def _row(path: Path) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(reports.table([path], "json"))["rows"][0]
    row["metrics"].pop("seconds")
    row.pop("totals", None)
    return row | {"run": ""} if "run" in row else row | {"name": ""}


def test_the_merged_table_is_that_of_one_piece(shards: list[Path], tmp_path: Path) -> None:
    whole = run(replace(PLAN, out=tmp_path / "whole")).path
    merged = merge(shards, tmp_path / "merged")
    assert (merged.episodes, merged.notices) == (9, ())
    assert _row(merged.path) == _row(whole)
    assert len(list(RunFolder.read(merged.path).records())) == 9
    again = run(replace(PLAN, out=merged.path))  # the same command without --shard goes on
    assert (again.resumed, again.outcome.finished) == (9, 0)


def test_a_shard_that_is_missing_is_said_and_played_later(
    shards: list[Path], tmp_path: Path
) -> None:
    merged = merge(shards[:2], tmp_path / "merged")
    assert merged.notices == ("not among them: shard 3/3",)
    assert run(replace(PLAN, out=merged.path)).outcome.finished == 3


def test_what_the_shards_spent_is_the_whole_runs(shards: list[Path], tmp_path: Path) -> None:
    for at, path in enumerate(shards[:2]):
        bill = Spending(path, (0, 0.0))
        bill.add(10 + at, 0.5)
        bill.close()
    assert Spending(merge(shards, tmp_path / "m").path, (0, 0.0)).tokens == 21
    for path in shards[:2]:
        (path / SPENDING).unlink()


def test_what_does_not_belong_together_is_refused(shards: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    other = run(replace(PLAN, seed=1, shard="2/3", out=tmp_path / "other")).path
    with pytest.raises(UsageError, match="is another run: 'seed' is 1, not 0"):
        merge([shards[0], other], out)
    with pytest.raises(UsageError, match=r"episode '\S+' is in .*/1 and .*/1"):
        merge([shards[0], shards[0]], out)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match="holds something"):
        merge(shards, tmp_path / "full")
    lines = (other / "episodes.jsonl").read_bytes()
    (other / "episodes.jsonl").write_bytes(
        lines.replace(b'"houses', b'"hauses').replace(b":0.0", b":0.5")
    )
    with pytest.raises(RecordingError, match="is not what this run wrote"):
        merge([other], out)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["full", "other"]
