"""The expert's mark is written, or the task file stays as it is."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from wayword.core.errors import DataError
from wayword.datasets.sources import example, own

write_text = Path.write_text


def test_a_full_disk_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(example(), encoding="utf-8")

    def fill(self: Path, text: str, **options: Any) -> None:
        write_text(self, text[:100], **options)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fill)
    with pytest.raises(
        DataError, match=r"No space left .* the file is as it was"
    ) as error:
        own.accept(path)
    assert "\n" not in str(error.value)
    assert path.read_text(encoding="utf-8") == example()
    assert [each.name for each in tmp_path.iterdir()] == ["task.yaml"]


def test_a_private_file_stays_private(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(example(), encoding="utf-8")
    path.chmod(0o600)
    own.accept(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text(example(), encoding="utf-8")
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    own.accept(link)
    assert link.is_symlink()
    assert "accepted:" in path.read_text(encoding="utf-8")
