"""Checksums tell the data apart, read each file once, and notice a change."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from wayword.core.errors import DataError
from wayword.runs.config import Checksums


def two(folder: Path) -> dict[str, Path]:
    folder.mkdir(parents=True)
    files = {"b.json": folder / "b.json", "a.json": folder / "a.json"}
    for name, path in files.items():
        path.write_text(name)
    return files


def test_it_is_the_sha256_of_the_content(tmp_path: Path) -> None:
    files = two(tmp_path / "d")
    checksums = Checksums()
    assert checksums.of(files["a.json"]) == hashlib.sha256(b"a.json").hexdigest()
    assert list(checksums.each(files)) == ["a.json", "b.json"]


def test_the_combined_one_depends_on_names_and_content_alone(tmp_path: Path) -> None:
    here = two(tmp_path / "here")
    there = two(tmp_path / "there")
    combined = Checksums().combined(here)
    assert len(combined) == 12
    assert int(combined, 16) > 0
    assert Checksums().combined(dict(reversed(there.items()))) == combined
    assert (
        Checksums().combined({"c.json": here["a.json"], "b.json": here["b.json"]})
        != combined
    )
    there["a.json"].write_text("changed")
    assert Checksums().combined(there) != combined
    assert Checksums().combined({}) == ""


def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text("one")
    os.utime(path, ns=(0, 1))
    checksums = Checksums()
    first = checksums.of(path)
    path.write_text("two")
    os.utime(path, ns=(0, 1))
    assert checksums.of(path) == first  # same size and time: taken from memory
    os.utime(path, ns=(0, 2))
    assert checksums.of(path) == hashlib.sha256(b"two").hexdigest()


def test_a_missing_file_is_one_clear_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(
            DataError, match=r"(no such file|is a directory).*; fetch the data"
        ):
            Checksums().of(path)
