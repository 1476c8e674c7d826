"""Rerun recordings: what is logged of an episode, and where; with a stand-in for the library."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wayword.core.errors import UsageError
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.viewer.pages import write_rerun as record


class Stream:
    def __init__(self, name: str) -> None:
        self.name, self.step = name, 0
        self.logged: list[tuple[str, int, Any]] = []
        self.ended = False

    def save(self, path: str) -> None:
        Path(path).write_bytes(b"rrd")

    def set_time(self, timeline: str, *, sequence: int) -> None:
        assert timeline == "step"
        self.step = sequence

    def log(self, path: str, what: Any, static: bool = False) -> None:
        self.logged.append((path, -1 if static else self.step, what))

    def flush(self) -> None: ...

    def disconnect(self) -> None:
        self.ended = True


class Rerun(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(
            MediaType=SimpleNamespace(MARKDOWN="md"),
            TextLogLevel=SimpleNamespace(WARN="WARN", INFO="INFO"),
        )
        self.streams: list[Stream] = []

    def RecordingStream(self, name: str) -> Stream:
        self.streams.append(Stream(name))
        return self.streams[-1]

    def __getattr__(self, kind: str) -> Any:
        return lambda *given, **named: (kind, given, named)


@pytest.fixture
def rerun(monkeypatch: pytest.MonkeyPatch) -> Rerun:
    library = Rerun()
    monkeypatch.setitem(sys.modules, "rerun", library)  # type: ignore[arg-type]
    return library


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "walked"
    run(Plan("oracle", "houses", limit=2, out=out))
    return out


def test_an_episode_has_its_map_its_walk_and_its_log(
    walked: Path, rerun: Rerun, tmp_path: Path
) -> None:
    first = next(iter(RunFolder.read(walked).records()))
    assert record(walked, tmp_path / "new" / "one.rrd", [first.episode_id]) == 1
    (stream,) = rerun.streams
    assert stream.ended
    steps = len(first.trajectory.steps)
    by_path = {path: [s for p, s, _ in stream.logged if p == path] for path, *_ in stream.logged}
    assert by_path["log/agent"] == list(range(1, steps + 1))
    assert by_path["map/agent/at"][0] == 0
    assert by_path["map/rooms"] == by_path["map/gold"] == by_path["episode"] == [-1]
    (way,) = [what[1][0][0] for path, s, what in stream.logged if path == "map/agent/way"][-1:]
    (gold,) = [what[1][0][0] for path, _, what in stream.logged if path == "map/gold"]
    assert way[0] == gold[0]
    assert way[-1] == gold[-1]  # the oracle ends where the gold path does


def test_several_episodes_lie_apart(walked: Path, rerun: Rerun, tmp_path: Path) -> None:
    assert record(walked, tmp_path / "all.rrd") == 2
    tops = {path.partition("/")[0] for path, *_ in rerun.streams[0].logged}
    assert tops == {each.episode_id for each in RunFolder.read(walked).records()}


def test_an_unknown_episode_and_a_missing_library(
    walked: Path, rerun: Rerun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="has no finished episode nobody"):
        record(walked, tmp_path / "none.rrd", ["nobody"])
    monkeypatch.setitem(sys.modules, "rerun", None)
    with pytest.raises(UsageError, match=r"pip install 'wayword\[rerun\]'"):
        record(walked, tmp_path / "none.rrd")
