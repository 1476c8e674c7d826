"""A result of a run, and one read from a folder, are the same from any folder."""

from __future__ import annotations

from pathlib import Path

import pytest

import wayword


@pytest.mark.parametrize("opened", ["run", "read"])
def test_a_result_does_not_depend_on_the_current_folder(
    opened: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tmp_path / "start"
    start.mkdir()
    monkeypatch.chdir(start)
    result = wayword.run("random", "houses", limit=2, max_steps=3, out="r")
    if opened == "read":
        result = wayword.RunResult.read("r")
    before = result.table(["sr"])
    monkeypatch.chdir(tmp_path)

    assert len(result.episodes) == 2
    assert result.table(["sr"]) == before
    assert len(result.to_dataframe()) == 2
    assert "2 shared episodes" in result.compare(result)


def test_a_run_finishes_in_its_folder_if_the_program_changes_folders_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tmp_path / "start"
    start.mkdir()
    monkeypatch.chdir(start)
    result = wayword.run(
        "random",
        "houses",
        limit=3,
        max_steps=3,
        out="r",
        cache="answers.jsonl",
        on_progress=lambda done, total, scores: monkeypatch.chdir(tmp_path),
    )

    assert result.path == start / "r"
    assert [path.name for path in tmp_path.iterdir()] == ["start"]
    assert len(wayword.RunResult.read(start / "r").episodes) == 3
