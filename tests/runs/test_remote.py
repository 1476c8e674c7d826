"""A run folder in a store: segments, lease, resuming elsewhere, merging."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import fsspec
import pytest

from wayword.core.errors import RecordingError, UsageError
from wayword.runs import Plan, RunFolder, remote, run
from wayword.runs.merging import merge
from wayword.runs.reports import table

DATASET = {"dataset": {"houses": 1, "episodes": 8}}
URL = "memory://bucket/run"


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fsspec.AbstractFileSystem]:
    """An empty store in memory, and a machine with an empty cache."""
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "machine"))
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield files
    files.store.clear()


def _plan(out: Path | str, **more: object) -> Plan:
    given = {"settings": DATASET, "max_steps": 4, "concurrency": 2, **more}
    return Plan("random", "houses", out=Path(out), **given)  # type: ignore[arg-type]


def _scores(path: Path | str) -> dict[str, dict[str, float]]:
    found = RunFolder.read(path).scores()
    assert len(found) == len(dict(found))
    return {name: {k: v for k, v in s.items() if k != "seconds"} for name, s in found}


def _another_machine(tmp_path: Path) -> None:
    """All that was only here is gone."""
    shutil.rmtree(tmp_path / "machine", ignore_errors=True)


def _killed(plan: Plan, monkeypatch: pytest.MonkeyPatch, after: int, sends: bool) -> None:
    """Play until so many episodes are finished, then die: nothing more is sent, the lease stays."""

    def told(done: int, total: int, scores: Mapping[str, float]) -> None:
        if done == after:
            raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(remote.Store, "_release", lambda store: None)
        if not sends:
            patch.setattr(remote.Store, "_send", lambda store: None)
        with pytest.raises(RuntimeError, match="killed"):
            run(plan, told)


def _expire(store: fsspec.AbstractFileSystem, root: str = "/bucket/run") -> None:
    lease = json.loads(store.cat_file(f"{root}/lease.json"))
    lease["at"] -= remote.EXPIRED + 1
    store.pipe_file(f"{root}/lease.json", json.dumps(lease).encode())


def test_a_run_in_a_store_is_the_run_it_is_on_disk(
    tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    run(_plan(tmp_path / "here"))
    result = run(_plan(URL))
    assert store.exists("/bucket/run/episodes.jsonl/000000000000")
    assert not store.exists("/bucket/run/lease.json")
    _another_machine(tmp_path)
    assert _scores(URL) == _scores(tmp_path / "here")
    assert "8" in table([Path(URL)], "markdown")
    assert remote.url_of(result.path) == URL


def test_it_goes_on_on_another_machine_segment_by_segment(
    tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    run(_plan(URL, limit=3))
    _another_machine(tmp_path)
    result = run(_plan(URL))
    assert result.resumed == 3
    assert len(store.ls("/bucket/run/episodes.jsonl")) == 2
    _another_machine(tmp_path)
    assert len(_scores(URL)) == 8


def test_shards_with_a_writer_killed_are_resumed_elsewhere_and_merged(
    tmp_path: Path, store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_plan(tmp_path / "whole"))
    run(_plan("memory://bucket/s1", shard="1/2"))
    _killed(_plan("memory://bucket/s2", shard="2/2"), monkeypatch, 2, sends=True)
    _another_machine(tmp_path)
    with pytest.raises(RecordingError, match="is writing to this run folder"):
        run(_plan("memory://bucket/s2", shard="2/2"))
    _expire(store, "/bucket/s2")
    run(_plan("memory://bucket/s2", shard="2/2"))
    merge([Path("memory://bucket/s1"), Path("memory://bucket/s2")], tmp_path / "merged")
    assert _scores(tmp_path / "merged") == _scores(tmp_path / "whole")


def test_what_a_killed_writer_had_not_sent_goes_up_from_its_own_machine(
    tmp_path: Path, store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_plan(URL, limit=2))
    _killed(_plan(URL), monkeypatch, 5, sends=False)
    _expire(store)
    result = run(_plan(URL))
    assert result.resumed == 5
    _another_machine(tmp_path)
    assert len(_scores(URL)) == 8


def test_a_copy_that_the_store_has_overtaken_is_given_up(
    tmp_path: Path, store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_plan(URL, limit=2))
    _killed(_plan(URL), monkeypatch, 5, sends=False)
    _expire(store)
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "other"))
    run(_plan(URL, limit=4))
    theirs = _scores(URL)
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "machine"))
    assert _scores(URL) == theirs


def test_two_writers_at_one_byte_are_told_apart_by_the_store(
    tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    first = remote.Store(URL)
    first.begin()
    (first.copy / "config.json").write_text("{}")
    (first.copy / "episodes.jsonl").write_text("{}\n")
    store.makedirs("/bucket/run/episodes.jsonl", exist_ok=True)
    store.pipe_file("/bucket/run/episodes.jsonl/000000000000", b'{"other": 1}\n')
    with pytest.raises(RecordingError, match="another process is writing to this run folder"):
        first.end()


def test_a_lease_that_another_has_taken_stops_the_writer(
    store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "EVERY", 0.01)
    mine = remote.Store(URL)
    mine.begin()
    lease = {"owner": "other:1:abc", "at": time.time()}
    store.pipe_file("/bucket/run/lease.json", json.dumps(lease).encode())
    for _ in range(500):
        if mine._problem:
            break
        time.sleep(0.01)
    with pytest.raises(RecordingError, match="other:1 is writing"):
        mine.check()
    with pytest.raises(RecordingError, match="other:1 is writing"):
        mine.end()


def test_a_store_with_a_segment_missing_is_refused(
    tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    run(_plan(URL, limit=2))
    run(_plan(URL))
    store.rm_file("/bucket/run/episodes.jsonl/000000000000")
    _another_machine(tmp_path)
    with pytest.raises(RecordingError, match="lacks the bytes 0 to"):
        RunFolder.read(URL)


@pytest.mark.parametrize(
    ("out", "said"),
    [("nostore://bucket/run", "no store is called 'nostore'"), ("memory://none/at-all", "")],
)
def test_addresses_that_lead_nowhere_are_one_line(out: str, said: str) -> None:
    with pytest.raises((UsageError, RecordingError), match=said or "is no run folder"):
        RunFolder.read(out)


def test_merging_into_a_store_is_refused() -> None:
    with pytest.raises(UsageError, match="a folder on this machine"):
        merge([Path(URL)], Path("memory://bucket/whole"))
