"""The viewer's rows are the run folder's own entries: sealed, growing, and in the table's words."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from wayword.core.errors import RecordingError
from wayword.runs.folder import RecordedRun
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.viewer.library import Rows


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(Plan("oracle", "houses", limit=4, out=tmp_path_factory.mktemp("l") / "r")).path


@pytest.fixture
def folder(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "run"))


def rows(folder: Path) -> Rows:
    return Rows(RecordedRun(folder)).refresh()


def test_rows_are_what_the_table_reads(folder: Path) -> None:
    found, entries = rows(folder), RecordedRun(folder).entries()
    assert found.ids == [entry.episode_id for entry in entries]
    assert found.scores(2) == entries[2].scores
    assert found.record(found.ids[3]).trajectory.ended == entries[3].ended


@pytest.mark.parametrize("indexed", [True, False])
def test_a_changed_score_is_refused_as_the_table_refuses_it(folder: Path, indexed: bool) -> None:
    path = folder / "episodes.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"sr":1.0', b'"sr":0.0', 1))
    if not indexed:
        (folder / "index.jsonl").unlink()

    def looked_at() -> None:
        found = rows(folder)
        found.record(found.ids[0])

    with pytest.raises(RecordingError, match="is not what this run wrote"):
        looked_at()


def test_a_line_that_stands_twice_is_refused(folder: Path) -> None:
    path = folder / "episodes.jsonl"
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(RecordingError, match="a second time"):
        rows(folder)


def test_what_is_added_is_read_and_half_a_line_waits(folder: Path) -> None:
    path, index = folder / "episodes.jsonl", folder / "index.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    index.unlink()
    path.write_bytes(b"".join(lines[:2]) + lines[2][:50])
    found = rows(folder)
    assert len(found.ids) == 2
    with path.open("ab") as file:
        file.write(lines[2][50:] + lines[3])
    assert len(found.refresh().ids) == 4
    assert found.record(found.ids[2]).episode_id == found.ids[2]


def test_a_file_that_was_replaced_is_read_anew(folder: Path) -> None:
    found = rows(folder)
    path = folder / "episodes.jsonl"
    beside = folder / "other"
    beside.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    (folder / "index.jsonl").unlink()
    first = found.ids[0]
    beside.replace(path)
    assert first not in found.refresh().ids
    assert len(found.ids) == 3
