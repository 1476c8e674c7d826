"""Shards played apart become the run that was played in one piece."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.records import members
from wayword.core.errors import RecordingError, UsageError
from wayword.models.middleware.ledger import LedgerRow
from wayword.runs import Plan, reports, run
from wayword.runs.config import CALLS, Spending, billed
from wayword.runs.json_lines import member
from wayword.runs.record import RunFolder, merge

pytestmark = pytest.mark.usefixtures("shared_data")

PLAN = Plan(
    "random", "houses", settings={"dataset": {"houses": 1, "episodes": 9}}, max_steps=3
)


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


def test_the_merged_table_is_that_of_one_piece(
    shards: list[Path], tmp_path: Path
) -> None:
    full = run(replace(PLAN, out=tmp_path / "whole")).path
    merged = merge(shards, tmp_path / "merged")
    assert (merged.episodes, merged.notices) == (9, ())
    assert _row(merged.path) == _row(full)
    assert len(list(RunFolder.read(merged.path).records())) == 9
    # The same command without --shard goes on
    again = run(replace(PLAN, out=merged.path))
    assert (again.resumed, again.outcome.finished) == (9, 0)


def test_a_shard_that_is_missing_is_stated_and_played_later(
    shards: list[Path], tmp_path: Path
) -> None:
    merged = merge(shards[:2], tmp_path / "merged")
    assert merged.notices == ("missing: shard 3/3",)
    assert run(replace(PLAN, out=merged.path)).outcome.finished == 3


def test_what_the_shards_spent_is_the_full_runs(
    shards: list[Path], tmp_path: Path
) -> None:
    for at, path in enumerate(shards[:2]):
        bill = Spending(path)
        bill.write(LedgerRow(10 + at, 0.5))
        bill.close()
    totals = Spending(merge(shards, tmp_path / "m").path).totals
    assert (totals.tokens, totals.dollars) == (21, 1.0)
    for path in shards[:2]:
        (path / CALLS).unlink()


def test_what_does_not_belong_together_is_refused(
    shards: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    other = run(replace(PLAN, seed=1, shard="2/3", out=tmp_path / "other")).path
    with pytest.raises(
        UsageError, match=r"not a shard of the same run: 'seed' is 1, and in .* 0"
    ):
        merge([shards[0], other], out)
    copy = Path(shutil.copytree(shards[0], tmp_path / "copy"))
    with pytest.raises(UsageError, match=r"episode '\S+' is in .*/1 and .*/copy"):
        merge([shards[0], copy], out)
    # A folder, not an episode, is what was named twice.
    (tmp_path / "link").symlink_to(shards[0])
    for again in (shards[0], shards[1] / ".." / "1", tmp_path / "link"):
        with pytest.raises(UsageError, match=r"/1: is given twice; name each"):
            merge([shards[0], shards[1], again], out)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        merge(shards, tmp_path / "full")
    hurt = Path(shutil.copytree(shards[1], tmp_path / "hurt"))
    found = members(hurt)
    found[1] = found[1][:-8] + bytes([found[1][-8] ^ 1]) + found[1][-7:]
    (hurt / "episodes.jsonl.gz").write_bytes(b"".join(found))
    with pytest.raises(RecordingError, match="record 2: is damaged"):
        merge([shards[0], hurt], out)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "copy",
        "full",
        "hurt",
        "link",
        "other",
    ]


def test_of_a_single_folder_what_can_be_read_is_copied(
    shards: list[Path], tmp_path: Path
) -> None:
    """And the copy is the same run, which plays what was left out."""
    plan = replace(PLAN, shard="2/3", out=tmp_path / "copy")
    raw = shards[1] / "episodes.jsonl.gz"
    full = raw.read_bytes()
    found = members(shards[1])
    try:
        damaged = bytearray(found[1])
        damaged[40] ^= 1  # another byte, whatever it was
        raw.write_bytes(found[0] + damaged + found[2])
        with pytest.raises(RecordingError, match="record 2: is damaged"):
            run(replace(plan, out=shards[1]))
        merged = merge([shards[1]], tmp_path / "copy")
    finally:
        raw.write_bytes(full)
    assert merged.episodes == 2
    assert merged.notices == (
        f"left out: {raw}: record 2 is damaged: it cannot be decompressed (bytes "
        f"{len(found[0]):,} to {len(found[0]) + len(found[1]):,})",
    )
    again = run(plan)
    assert (again.resumed, again.outcome.finished) == (2, 1)
    assert _row(tmp_path / "copy") == _row(shards[1])


@pytest.mark.parametrize("tokens", [0, 7])
@pytest.mark.parametrize("dollars", [0.0, 0.25])
def test_bills_are_kept_in_tokens_and_in_dollars_whichever_there_are(
    shards: list[Path], tmp_path: Path, tokens: int, dollars: float
) -> None:
    """A model without a price has tokens alone."""
    copies = []
    for shard in shards:
        copies.append(Path(shutil.copytree(shard, tmp_path / shard.name)))
        bill = Spending(copies[-1])
        bill.write(LedgerRow(tokens, dollars))
        bill.close()
    merged = merge(copies, tmp_path / "merged").path
    assert billed(merged) == (3 * tokens, 3 * dollars)


@pytest.mark.parametrize("numbers", [(1, 2), (1, 3), (2, 3), (3, 1), (1, 2, 3)])
def test_every_shard_that_is_missing_is_named(
    shards: list[Path], tmp_path: Path, numbers: tuple[int, ...]
) -> None:
    merged = merge([shards[number - 1] for number in numbers], tmp_path / "merged")
    missing = sorted({1, 2, 3} - set(numbers))
    assert merged.notices == tuple(f"missing: shard {number}/3" for number in missing)


@pytest.mark.parametrize("field", ["wayword", "note"])
@pytest.mark.parametrize("owner", [0, 1])
def test_a_field_that_one_of_two_identities_lacks_is_a_difference(
    shards: list[Path], tmp_path: Path, owner: int, field: str
) -> None:
    copies = [Path(shutil.copytree(each, tmp_path / each.name)) for each in shards[:2]]
    for number, copy in enumerate(copies):
        config = json.loads((copy / "run.json").read_text())
        config["identity"].pop(field, None)
        if number == owner:
            config["identity"][field] = "mine"
        (copy / "run.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match=f"not a shard of the same run: '{field}' is"):
        merge(copies, tmp_path / "out")


def test_a_doubled_record_of_a_single_folder_is_left_out(
    shards: list[Path], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(shards[0], tmp_path / "copy"))
    found = members(copy)
    with (copy / "episodes.jsonl.gz").open("ab") as file:
        file.write(found[0])
    merged = merge([copy], tmp_path / "out")
    assert merged.episodes == len(found)
    (notice,) = merged.notices
    assert f"record {len(found) + 1}: duplicate of episode" in notice
    assert len(members(merged.path)) == len(found)


def test_a_merge_of_several_folders_is_complete_or_missing(
    shards: list[Path], tmp_path: Path
) -> None:
    copies = [Path(shutil.copytree(each, tmp_path / each.name)) for each in shards]
    damaged = copies[1] / "episodes.jsonl.gz"
    with damaged.open("ab") as file:
        file.write(member(b'{"episode": "e", "scores": {}}'))
    out = tmp_path / "out"
    with pytest.raises(RecordingError, match="field 'trajectory' is missing"):
        merge(copies, out)
    damaged.unlink()  # a shard that was never begun
    with pytest.raises(UsageError, match="name the run folders to merge"):
        merge([], out)
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match="give a writable folder"):
        merge(copies, tmp_path / "file" / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "3", "file"]
    merged = merge(copies, out)
    assert merged.episodes == len(members(copies[0])) + len(members(copies[2]))
    assert merged.notices == ()
