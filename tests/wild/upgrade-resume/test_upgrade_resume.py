"""The same command after an upgrade: resumed within a series, refused in one line after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wayword
from wayword.core.errors import RecordingError
from wayword.runs import identity as plans
from wayword.runs.config import series


def upgrade(monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    installed = plans.version

    def version(name: str) -> str:
        return to if name == "wayword" else installed(name)

    monkeypatch.setattr(plans, "version", version)


@pytest.mark.parametrize(
    ("before", "after"), [("0.1.0", "0.1.4"), ("0.1.4", "0.1.2"), ("1.2.0", "1.3.1")]
)
def test_a_series_resumes_in_the_folder_that_the_command_finds(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    upgrade(monkeypatch, before)
    first = wayword.run("random", "houses", limit=2, max_steps=3)
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    upgrade(monkeypatch, after)
    second = wayword.run("random", "houses", limit=4, max_steps=3)

    assert second.path == first.path
    assert (second.resumed, second.outcome.finished) == (2, 2)


@pytest.mark.parametrize("after", ["0.2.0", "1.0.0", "0.1.4.dev2"])
def test_another_series_is_refused_with_both_versions(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade(monkeypatch, "0.1.3")
    wayword.run("random", "houses", limit=1, max_steps=3, out=tmp_path / "r")
    upgrade(monkeypatch, after)
    with pytest.raises(RecordingError, match=r"version 0\.1\.0 of wayword wrote it"):
        wayword.run("random", "houses", limit=1, max_steps=3, out=tmp_path / "r")


def test_an_identity_with_an_exact_version_is_its_series(tmp_path: Path) -> None:
    """As written before the series was recorded."""
    run = wayword.run("random", "houses", limit=1, max_steps=3, out=tmp_path / "r")
    path = run.path / "run.json"
    config = json.loads(path.read_text())
    config["identity"]["wayword"] = series(config["identity"]["wayword"])[:-1] + "7"
    path.write_text(json.dumps(config))
    again = wayword.run("random", "houses", limit=2, max_steps=3, out=tmp_path / "r")
    assert again.resumed == 1
