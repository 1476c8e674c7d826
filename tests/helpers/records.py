"""The files of a run folder, read and written without the parts that are tested."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wayword.core.files import cache_folder
from wayword.runs.json_lines import member

EPISODES = "episodes.jsonl.gz"


def lines(folder: Path, name: str = EPISODES) -> list[bytes]:
    """The lines of a compressed file, by the standard library."""
    path = folder / name
    return gzip.decompress(path.read_bytes()).splitlines() if path.is_file() else []


def records(folder: Path, name: str = EPISODES) -> list[dict[str, Any]]:
    """The objects in these lines."""
    return [json.loads(line) for line in lines(folder, name)]


def members(folder: Path, name: str = EPISODES) -> list[bytes]:
    """The gzip members of a file, by the sizes in their headers."""
    raw = (folder / name).read_bytes()
    found = []
    while raw:
        (size,) = struct.unpack_from("<I", raw, 16)
        found.append(raw[:size])
        raw = raw[size:]
    return found


def torn(folder: Path) -> list[dict[str, Any]]:
    """The objects in whole lines; what a killed writer left behind them is passed over."""
    path = folder / EPISODES
    raw = path.read_bytes() if path.is_file() else b""
    found = []
    while len(raw) >= 24:
        (size,) = struct.unpack_from("<I", raw, 16)
        if size > len(raw):
            break
        found.append(json.loads(gzip.decompress(raw[:size])))
        raw = raw[size:]
    return found


def rewrite(
    folder: Path, new: Iterable[bytes | dict[str, Any]], name: str = EPISODES
) -> None:
    """Write a compressed file of these lines."""
    texts = [
        json.dumps(each).encode() if isinstance(each, dict) else each for each in new
    ]
    (folder / name).write_bytes(b"".join(map(member, texts)))


def indexes() -> list[Path]:
    """The files of all indexes."""
    if (cache_folder() / "index").is_dir():
        return sorted((cache_folder() / "index").iterdir())
    return []


def forget() -> None:
    """Delete every index."""
    for path in indexes():
        path.unlink()
