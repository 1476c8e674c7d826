"""A run folder in a store: segments, resuming elsewhere, merging."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import fsspec
import pytest

from wayword.core.errors import RecordingError, UsageError
from wayword.runs import Plan, RunFolder, remote, run
from wayword.runs.json_lines import member
from wayword.runs.record import drop, merge
from wayword.runs.reports import table

DATASET = {"dataset": {"houses": 1, "episodes": 8}}
URL = "memory://bucket/run"


@pytest.fixture(autouse=True)
def store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[fsspec.AbstractFileSystem]:
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


def _killed(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, after: int, sends: bool
) -> None:
    """Play until so many episodes are finished, then die: nothing more is sent, or all of it."""

    def text_of(done: int, total: int, scores: Mapping[str, float]) -> None:
        if done == after:
            raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        if not sends:
            patch.setattr(remote.Store, "_send", lambda store: None)
        with pytest.raises(RuntimeError, match="killed"):
            run(plan, on_progress=text_of)


def test_a_run_in_a_store_is_the_run_it_is_on_disk(
    tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    run(_plan(tmp_path / "here"))
    result = run(_plan(URL))
    assert store.exists("/bucket/run/episodes.jsonl.gz/000000000000")
    _another_machine(tmp_path)
    assert _scores(URL) == _scores(tmp_path / "here")
    there, here = (
        table([Path(each)], "json").replace(str(each), "")
        for each in (URL, tmp_path / "here")
    )
    assert json.loads(there)["rows"][0]["n"] == json.loads(here)["rows"][0]["n"] == 8
    assert remote.url_of(result.path) == URL


def test_it_goes_on_on_another_machine_segment_by_segment(
    tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    run(_plan(URL, limit=3))
    _another_machine(tmp_path)
    result = run(_plan(URL))
    assert result.resumed == 3
    assert len(store.ls("/bucket/run/episodes.jsonl.gz")) == 2
    _another_machine(tmp_path)
    assert len(_scores(URL)) == 8


def test_shards_with_a_writer_killed_are_resumed_elsewhere_and_merged(
    tmp_path: Path, store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_plan(tmp_path / "whole"))
    run(_plan("memory://bucket/s1", shard="1/2"))
    _killed(_plan("memory://bucket/s2", shard="2/2"), monkeypatch, 2, sends=True)
    _another_machine(tmp_path)
    assert len(_scores("memory://bucket/s2")) == 2
    run(_plan("memory://bucket/s2", shard="2/2"))
    merge([Path("memory://bucket/s1"), Path("memory://bucket/s2")], tmp_path / "merged")
    assert _scores(tmp_path / "merged") == _scores(tmp_path / "whole")


def test_what_a_killed_writer_had_not_sent_goes_up_from_its_own_machine(
    tmp_path: Path, store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_plan(URL, limit=2))
    _killed(_plan(URL), monkeypatch, 5, sends=False)
    result = run(_plan(URL))
    assert result.resumed == 5
    _another_machine(tmp_path)
    assert len(_scores(URL)) == 8


def test_a_copy_that_the_store_has_overtaken_is_given_up(
    tmp_path: Path, store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_plan(URL, limit=2))
    _killed(_plan(URL), monkeypatch, 5, sends=False)
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "other"))
    run(_plan(URL, limit=4))
    theirs = _scores(URL)
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "machine"))
    assert _scores(URL) == theirs


@pytest.mark.parametrize("every", [0.01, 3600])
def test_of_two_writers_the_store_refuses_one_and_keeps_the_other(
    tmp_path: Path,
    store: fsspec.AbstractFileSystem,
    monkeypatch: pytest.MonkeyPatch,
    every: float,
) -> None:
    """Found at the next upload, or at the end."""
    monkeypatch.setattr(remote, "EVERY", every)
    other = member(b'{"episode":"x"}')
    key = "/bucket/run/episodes.jsonl.gz/000000000000"

    def elsewhere(done: int, total: int, scores: Mapping[str, float]) -> None:
        if not store.exists(key):
            store.makedirs(key.rpartition("/")[0], exist_ok=True)
            store.pipe_file(key, other)
        if done and every < 1:
            time.sleep(0.05)

    with pytest.raises(
        RecordingError, match="another process is writing to this run folder"
    ):
        run(_plan(URL), on_progress=elsewhere)
    assert store.cat_file(key) == other


def test_only_complete_records_go_up(
    tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    run(_plan(URL, limit=2))
    sending = remote.Store(URL)
    sending.begin()
    full = (sending.copy / "episodes.jsonl.gz").read_bytes()
    with (sending.copy / "episodes.jsonl.gz").open("ab") as file:
        file.write(member(b"{}") + member(b"{}")[:-3])
    sending.end()
    sent = [
        store.cat_file(each["name"])
        for each in store.ls("/bucket/run/episodes.jsonl.gz")
    ]
    assert b"".join(sent) == full + member(b"{}")


def test_a_store_with_a_segment_missing_is_refused(
    tmp_path: Path, store: fsspec.AbstractFileSystem
) -> None:
    run(_plan(URL, limit=2))
    run(_plan(URL))
    store.rm_file("/bucket/run/episodes.jsonl.gz/000000000000")
    _another_machine(tmp_path)
    with pytest.raises(RecordingError, match="bytes 0 to"):
        RunFolder.read(URL)


@pytest.mark.parametrize(
    ("out", "message"),
    [("nostore://bucket/run", "unknown store 'nostore'"), ("memory://none/at-all", "")],
)
def test_addresses_that_lead_nowhere_are_one_line(out: str, message: str) -> None:
    with pytest.raises(
        (UsageError, RecordingError), match=message or "not a run folder"
    ):
        RunFolder.read(out)


def test_merging_into_a_store_is_refused() -> None:
    with pytest.raises(UsageError, match="a folder on this machine"):
        merge([Path(URL)], Path("memory://bucket/whole"))


def test_records_in_a_store_are_removed_from_a_copy_of_the_run(tmp_path: Path) -> None:
    run(_plan(URL))
    before = _scores(URL)
    redo = (next(iter(before)),)
    with pytest.raises(UsageError, match=rf"{URL}: .* `wayword merge {URL} --out NEW`"):
        run(_plan(URL, redo=redo))
    with pytest.raises(UsageError, match="never removed"):
        drop(Path(URL), redo)
    assert _scores(URL) == before
    merge([Path(URL)], tmp_path / "new")
    assert run(_plan(tmp_path / "new", redo=redo)).resumed == 7
    assert _scores(tmp_path / "new") == before


def test_a_listing_that_fails_is_no_empty_one(
    store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_plan(URL, limit=2))

    def denied(*requests: object, **more: object) -> None:
        raise PermissionError("access denied")

    monkeypatch.setattr(type(store), "ls", denied)
    with pytest.raises(RecordingError, match=r"memory://bucket/run: access denied"):
        RunFolder.read(URL)


def test_failures_in_a_store_are_work_that_no_other_run_replaces(
    tmp_path: Path,
) -> None:
    copy = remote.Store(URL).copy
    for folder in (copy, tmp_path / "here"):
        with RunFolder.open(folder, {"identity": {"agent": "one"}}) as held:
            held.fail("e1", "no such model")
    RunFolder.open(tmp_path / "here", {"identity": {"agent": "two"}}).close()
    with pytest.raises(RecordingError, match="contains another run"):
        RunFolder.open(copy, {"identity": {"agent": "two"}})


def test_a_copy_of_a_deleted_run_is_replaced_but_not_its_lock(
    store: fsspec.AbstractFileSystem,
) -> None:
    store.pipe_file("/bucket/run/run.json", b"{}")
    opened = remote.Store(URL)
    opened.fetch()
    for name in (".lock", ".progress.json", "failures.jsonl.gz"):
        (opened.copy / name).write_text("{}")
    store.rm("/bucket/run", recursive=True)
    opened.begin()
    assert [path.name for path in opened.copy.iterdir()] == [".lock"]


def test_a_run_deleted_from_the_store_begins_again(
    store: fsspec.AbstractFileSystem,
) -> None:
    run(_plan(URL, limit=2))
    store.rm("/bucket/run", recursive=True)
    assert run(_plan(URL, limit=2)).resumed == 0


@pytest.fixture
def copy(store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working copy of a run that was never uploaded, as the store refused to be written."""

    def denied(*requests: object, **more: object) -> None:
        raise PermissionError("access denied")

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "pipe_file", denied)
        with pytest.raises(RecordingError, match="the same command uploads it"):
            run(_plan(URL))
    return remote.Store(URL).copy


def test_a_run_that_was_never_uploaded_is_kept_and_sent(
    copy: Path, tmp_path: Path
) -> None:
    assert run(_plan(URL)).resumed == 8
    _another_machine(tmp_path)
    assert not copy.exists()
    assert len(_scores(URL)) == 8


@pytest.mark.parametrize("more", [{"seed": 1}, {"limit": 3}])
def test_a_run_that_was_never_uploaded_is_not_replaced_by_another(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, int]
) -> None:
    """Neither by one with other settings, nor by other episodes of the same one."""
    with monkeypatch.context() as patch:
        patch.setenv("WAYWORD_CACHE", str(tmp_path / "elsewhere"))
        run(_plan(URL, **more))
    with pytest.raises(RecordingError, match=rf"`wayword merge {copy} --out NEW`"):
        run(_plan(URL))
    merge([copy], tmp_path / "saved")
    assert len(_scores(tmp_path / "saved")) == 8


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("uploads", range(4))
def test_a_writer_killed_between_two_uploads_leaves_a_run_to_resume(
    tmp_path: Path,
    store: fsspec.AbstractFileSystem,
    monkeypatch: pytest.MonkeyPatch,
    uploads: int,
    kept: bool,
) -> None:
    """It resumes on this machine, and on another one without the working copy."""
    create = type(store).pipe_file

    def killed(*request: object, **more: object) -> None:
        if len(store.find("/bucket")) == uploads:
            raise KeyboardInterrupt
        create(*request, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "pipe_file", killed)
        with suppress(KeyboardInterrupt):
            run(_plan(URL))
    assert len(store.find("/bucket")) == min(uploads, 3)
    if not kept:
        _another_machine(tmp_path)
    run(_plan(URL))
    _another_machine(tmp_path)
    assert len(_scores(URL)) == 8


def _writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[remote.Store, remote.Store]:
    """Two writers of one run, each on a machine of its own."""
    writers = []
    for machine in ("machine", "other"):
        monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / machine))
        writers.append(remote.Store(URL))
        writers[-1].begin()
    return writers[0], writers[1]


@pytest.mark.parametrize("name", remote.SMALL)
@pytest.mark.parametrize("earlier", [b"", b'{"tokens": 1}\n'])
def test_small_files_of_another_writer_are_not_overwritten(
    tmp_path: Path,
    store: fsspec.AbstractFileSystem,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    earlier: bytes,
) -> None:
    """A writer without a finished episode is found by them."""
    key = f"/bucket/run/{name}"
    store.pipe_file("/bucket/run/run.json", b"{}")
    if earlier:
        store.pipe_file(key, earlier)
    first, second = _writers(tmp_path, monkeypatch)
    (first.copy / name).write_bytes(earlier + b'{"tokens": 2}\n')
    (second.copy / name).write_bytes(earlier + b'{"tokens": 3}\n')
    first.end()
    with pytest.raises(RecordingError, match="another process is writing"):
        second.end()
    assert store.cat_file(key) == earlier + b'{"tokens": 2}\n'


def test_a_shortened_bill_replaces_the_one_that_was_fetched(
    store: fsspec.AbstractFileSystem,
) -> None:
    """Its lines are summed up, so the new file does not begin like the stored one."""
    store.pipe_file("/bucket/run/run.json", b"{}")
    store.pipe_file("/bucket/run/calls.jsonl", b'{"tokens": 1}\n{"tokens": 2}\n')
    writer = remote.Store(URL)
    writer.begin()
    (writer.copy / "calls.jsonl").write_bytes(b'{"tokens": 3}\n')
    writer.end()
    assert store.cat_file("/bucket/run/calls.jsonl") == b'{"tokens": 3}\n'


def test_a_small_file_is_uploaded_when_it_has_changed(
    store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.pipe_file("/bucket/run/run.json", b"{}")
    writer = remote.Store(URL)
    writer.fetch()
    uploads: list[str] = []
    upload = writer._files.pipe_file

    def counted(key: str, content: bytes, **options: str) -> None:
        uploads.append(key.rpartition("/")[2])
        upload(key, content, **options)

    monkeypatch.setattr(writer._files, "pipe_file", counted)
    for content in (b"long\n", b"long\n", b"long\nlonger\n", b"short\n"):
        (writer.copy / "calls.jsonl").write_bytes(content)
        writer._send()
    assert uploads == ["calls.jsonl"] * 3
    assert store.cat_file("/bucket/run/calls.jsonl") == b"short\n"


def test_the_bill_in_the_store_includes_the_episodes_in_the_store(
    store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Episodes finish, and are paid for, while earlier ones are uploaded."""
    store.pipe_file("/bucket/run/run.json", b"{}")
    writer = remote.Store(URL)
    writer.fetch()
    bill = writer.copy / "calls.jsonl"
    bill.write_bytes(b"")
    append = writer._append

    def finished(name: str) -> None:
        with bill.open("ab") as file:
            file.write(b'{"tokens": 1}\n')
        with (writer.copy / name).open("ab") as file:
            file.write(member(b'{"id": "e"}'))
        append(name)

    monkeypatch.setattr(writer, "_append", finished)
    for upload in range(1, 3):
        writer._send()
        segments = store.ls("/bucket/run/episodes.jsonl.gz")
        assert len(segments) == upload
        paid = store.cat_file("/bucket/run/calls.jsonl").splitlines()
        assert len(paid) == upload * len(remote.GROWING)


def test_an_upload_whose_response_was_lost_is_no_other_writer(
    store: fsspec.AbstractFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = type(store).pipe_file
    store.pipe_file("/bucket/run/run.json", b"{}")
    store.pipe_file("/bucket/run/calls.jsonl", b'{"tokens": 1}\n')
    writer = remote.Store(URL)
    writer.begin()

    def lost(*request: object, **more: object) -> None:
        upload(*request, **more)  # type: ignore[arg-type]
        raise TimeoutError

    # The bill is shortened, sent without a response, and grows.
    bill = writer.copy / "calls.jsonl"
    bill.write_bytes(b'{"tokens": 3}\n')
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "pipe_file", lost)
        with pytest.raises(TimeoutError):
            writer._send()
    bill.write_bytes(b'{"tokens": 3}\n{"tokens": 4}\n')
    writer.end()
    assert store.cat_file("/bucket/run/calls.jsonl") == bill.read_bytes()
