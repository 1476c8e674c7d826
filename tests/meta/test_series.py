"""Versions of a series do the same: their golden files are those of its first version, so that runs
can be resumed after an upgrade (``wayword.runs.config.series``)."""

from __future__ import annotations

import hashlib
import tomllib
from importlib.metadata import version
from pathlib import Path

from wayword.runs.config import series

TESTS = Path(__file__).parents[1]
SERIES = tomllib.loads((TESTS / "meta" / "series.toml").read_text(encoding="utf-8"))


def golden_files() -> list[Path]:
    """Prompts, generated episodes, walks and scores as text."""
    folders = (TESTS / "golden", TESTS / "metrics" / "golden")
    inside = [path for folder in folders for path in folder.rglob("*")]
    listed = [*inside, *TESTS.rglob("*.golden.txt")]
    return sorted(path for path in listed if path.is_file())


def golden_digest() -> str:
    digest = hashlib.sha256()
    for path in golden_files():
        digest.update(str(path.relative_to(TESTS)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def complaint(current: str, digests: dict[str, str], digest: str) -> str:
    """The problem of a version with these golden files; empty without one."""
    first = series(current)
    if first not in digests:
        return f"series.toml has no row for {first}"
    if current == first:
        return ""
    if digests[first] != digest:
        return f"golden files differ from those of {first}: begin a series"
    return ""


def test_this_version_has_the_golden_files_of_its_series() -> None:
    assert len(golden_files()) > 50
    assert complaint(version("wayword"), SERIES, golden_digest()) == ""


def test_a_changed_golden_file_needs_another_series() -> None:
    digests = {"0.1.0": "a", "0.2.0": ""}
    assert complaint("0.1.0", digests, "b") == ""
    assert complaint("0.1.3", digests, "a") == ""
    assert "begin a series" in complaint("0.1.3", digests, "b")
    assert complaint("0.2.0", digests, "b") == ""
    assert "begin a series" in complaint("0.2.1", digests, "b")
    assert "no row for 0.3.0" in complaint("0.3.1", digests, "b")
