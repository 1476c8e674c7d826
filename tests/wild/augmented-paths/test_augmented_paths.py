"""Augmented paths that list only start and goal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.small_scan import SCAN, write_scan
from wayword.core.errors import DataError
from wayword.datasets.r2r import R2R, R2RSettings

RECORD: dict[str, Any] = {"path_id": 1, "scan": SCAN, "heading": 0.0, "path": ["s", "a"],
                          "distance": 2.0, "instructions": ["Walk out."]}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_scan(tmp_path / "data")
    return tmp_path / "data"


def _read(data: Path, raw: bytes) -> R2R:
    path = data.parent / "own.json"
    path.write_bytes(raw)
    dataset = R2R("val_seen", data, R2RSettings(annotations=str(path)))
    assert dataset.tasks[0].episode.instruction
    return dataset


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"path": ["s", "d"]}, "adjacent"),
        ({"heading": None}, "heading"),
        ({"instructions": ["Walk out.", "", "  "]}, "instruction"),
    ],
)
def test_what_is_missing_is_named(
    data: Path, changes: dict[str, Any], words: str
) -> None:
    record = {k: v for k, v in (RECORD | changes).items() if v is not None}
    with pytest.raises(DataError, match=words) as caught:
        _read(data, json.dumps([record]).encode())
    assert "own.json" in str(caught.value)


def test_another_encoding_is_named(data: Path) -> None:
    raw = json.dumps([RECORD | {"instructions": ["the caf\u00e9"]}], ensure_ascii=False)
    with pytest.raises(DataError, match="own"):
        _read(data, raw.encode("latin-1"))


@pytest.mark.parametrize("kind", ["bom", "crlf", "one place"])
def test_what_can_be_read_is_read(data: Path, kind: str) -> None:
    record = RECORD | ({"path": ["s"], "distance": 0.0} if kind == "one place" else {})
    raw = json.dumps([record], indent=1).encode()
    if kind == "bom":
        raw = b"\xef\xbb\xbf" + raw
    if kind == "crlf":
        raw = raw.replace(b"\n", b"\r\n")
    assert len(_read(data, raw).tasks) == 1
