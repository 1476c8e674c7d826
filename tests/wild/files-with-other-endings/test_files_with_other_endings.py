"""Folders of prompts and of tasks whose files have other endings."""

from __future__ import annotations

from pathlib import Path

import pytest

from wayword.core import registry
from wayword.core.errors import UsageError
from wayword.datasets.sources import own
from wayword.runs import Plan, run


@pytest.mark.parametrize("name", ["", "system.md", "system.TXT", "notes.md"])
def test_a_folder_without_prompts_is_refused(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    if name:
        (folder / name).write_text("Go.", encoding="utf-8")
    settings = {"prompts": str(folder)}
    plan = Plan(
        "act", "houses", "scripted:first", settings, limit=1, out=tmp_path / "r"
    )
    with pytest.raises(
        UsageError, match=r"each is a file such as system\.txt"
    ) as error:
        run(plan)
    assert "\n" not in str(error.value)


def test_a_refused_file_is_named_alone(tmp_path: Path) -> None:
    for name in ("system.txt", "user.md"):
        (tmp_path / name).write_text("Go.", encoding="utf-8")
    settings = {"prompts": str(tmp_path)}
    plan = Plan("act", "houses", "scripted:first", settings, out=tmp_path / "r")
    with pytest.raises(UsageError, match=r"contains user\.md; each"):
        run(plan)


def test_notes_next_to_a_prompt_are_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    (folder / "system.txt").write_text("Go.", encoding="utf-8")
    (folder / "README.md").write_text("Mine.", encoding="utf-8")
    (folder / "system.txt~").write_text("Went.", encoding="utf-8")
    settings = {"prompts": str(folder)}
    run(Plan("act", "houses", "scripted:first", settings, limit=1, out=tmp_path / "r"))


def test_endings_in_capitals_are_endings(tmp_path: Path) -> None:
    for name in ("a.YAML", "b.yaml", "c.YML", "d.txt"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert [path.name for path in own._files_in(tmp_path)] == [
        "a.YAML",
        "b.yaml",
        "c.YML",
    ]
    assert registry.is_described(f"{tmp_path}/")
