"""Nothing finished is lost: torn tails, kill -9, full disks, folders that cannot be written."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.recorded import walk
from helpers.records import forget, lines, members
from helpers.sampling import LONG
from wayword.core.errors import RecordingError
from wayword.runs import Plan, index, run
from wayword.runs.config import billed, sessions
from wayword.runs.json_lines import Appender, member, read_members
from wayword.runs.record import RunFolder, merge
from wayword.runs.reports import table

CONFIG = {"identity": {"agent": "oracle"}}


def cuts(first: int, end: int, step: int) -> Iterator[int]:
    """Where to cut a record: in its header and at its end at every ``step``, between them less
    often, where a part of the compressed text looks like any other."""
    between = step if LONG else 9 * step
    header = first + 30
    tail = end - 20
    yield from range(first, header, step)
    yield from range(header, tail, between)
    yield from range(tail, end, step)


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="holes cannot be found here")
@pytest.mark.timeout(60)
def test_a_hole_of_any_size_is_skipped_at_once(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl.gz"
    with path.open("wb") as file:
        file.write(member(b"{}"))
        file.seek(1 << 39)
        file.write(member(b"[]"))
    gaps: list[str] = []
    assert [each.line for each in read_members(path, gaps=gaps)] == [b"{}", b"[]"]
    assert len(gaps) == 1


@pytest.mark.parametrize("zeros", [0, 1, 4096])
@pytest.mark.parametrize("indexed", [True, False])
def test_a_run_resumes_after_a_cut_at_every_byte_of_its_last_record(
    tmp_path: Path, indexed: bool, zeros: int
) -> None:
    """A killed process leaves part of a record, a power cut zeros as well."""
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(walk("e0"))
        run.append(walk("e1", steps=1, said="Tür – 門"))
    file = tmp_path / "episodes.jsonl.gz"
    full = file.read_bytes()
    first = len(members(tmp_path)[0])
    for end in cuts(first, len(full), 1 if not zeros else 7):
        content = full[:end] + b"\0" * zeros
        file.write_bytes(content)
        if not indexed:
            forget()
        recorded = RunFolder.read(tmp_path)
        # The last bytes of a record may be zeros themselves
        complete = content.startswith(full)
        names = ["e0", "e1"] if complete else ["e0"]
        assert [episode for episode, _ in recorded.scores()] == names
        assert [record.episode_id for record in recorded.records()] == names
        with RunFolder.open(tmp_path, CONFIG) as run:
            assert set(run.index.ids()) == set(names)
            dropped = len(content) - (len(full) if complete else first)
            line = f"{file}: removed {dropped:,} bytes of an incomplete line"
            assert [n.split(";")[0] for n in run.notices] == ([line] if dropped else [])
            if not complete:
                run.append(walk("e1", steps=1, said="Tür – 門"))
        assert file.read_bytes() == full


def test_a_record_that_was_cut_short_does_not_make_the_index_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(walk("e0"))
        run.append(walk("e1"))
    with (tmp_path / "episodes.jsonl.gz").open("ab") as file:
        file.write(members(tmp_path)[0][:50])
    monkeypatch.setattr(
        index, "entry_of", lambda *requests: pytest.fail("a record was read again")
    )
    with RunFolder.open(tmp_path, CONFIG) as run:
        assert [name in run for name in ("e0", "e1", "e2")] == [True, True, False]
        run.append(walk("e2"))
    assert [name for name, _ in RunFolder.read(tmp_path).scores()] == ["e0", "e1", "e2"]


def test_any_part_of_a_header_and_a_few_zeros_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl.gz"
    full = member(b"x" * 900)
    for size, zeros in product(range(26), range(20)):
        path.write_bytes(full + full[:size] + bytes(zeros))
        assert [each.line for each in read_members(path)] == [b"x" * 900], (size, zeros)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 3), st.integers(0, 200_000), st.booleans())
@example(0, 13, True)
@example(2, 14, True)
def test_any_tail_that_a_crash_leaves_is_dropped(
    tmp_path_factory: pytest.TempPathFactory, episodes: int, size: int, zeros: bool
) -> None:
    """Part of a record, then zeros: all of one, all of the other, or both."""
    folder = tmp_path_factory.mktemp("tail")
    with RunFolder.open(folder, CONFIG) as run:
        for at in range(episodes):
            run.append(walk(f"e{at}"))
    full = member(b"x" * 900)
    least = len(full) - 2  # its last two bytes are zeros themselves
    tail = (full[: size % least] if size % 3 else b"") + b"\0" * (size if zeros else 0)
    for name in ("episodes.jsonl.gz", "failures.jsonl.gz"):
        with (folder / name).open("ab") as file:
            file.write(tail)
    with RunFolder.open(folder, CONFIG) as run:
        assert set(run.index.ids()) == {f"e{at}" for at in range(episodes)}
        assert len(run.notices) == (2 if tail else 0)
        assert list(run.failures()) == []


@pytest.mark.parametrize("junk", [b"x" * 500, b'{"', b"\x1f\x8b\x08\0 another tool's"])
def test_a_tail_that_no_crash_leaves_is_named(tmp_path: Path, junk: bytes) -> None:
    with RunFolder.open(tmp_path / "run", CONFIG) as run:
        run.append(walk("e0"))
    file = tmp_path / "run" / "episodes.jsonl.gz"
    with file.open("ab") as more:
        more.write(junk)
    for use in (
        lambda: RunFolder.open(tmp_path / "run", CONFIG),
        RunFolder.read(file.parent).scores,
    ):
        with pytest.raises(
            RecordingError, match="record 2: is damaged: it has no valid header"
        ):
            use()
    assert merge([tmp_path / "run"], tmp_path / "new").episodes == 1


@pytest.mark.parametrize("tail", [b"\0" * 4096, b'{"tokens":7,"dol', b'{"tok\0\0\0'])
@pytest.mark.parametrize("name", ["calls.jsonl", "sessions.jsonl"])
def test_a_run_resumes_after_a_power_cut_in_a_small_file(
    tmp_path: Path, name: str, tail: bytes
) -> None:
    plan = Plan(
        "navgpt", "houses", "scripted:first", limit=1, max_steps=2, out=tmp_path
    )
    run(plan)
    assert (tmp_path / name).read_bytes().endswith(b"\n")
    before = (billed(tmp_path), list(sessions(tmp_path)))
    with (tmp_path / name).open("ab") as file:
        file.write(tail)
    assert (billed(tmp_path), list(sessions(tmp_path))) == before
    assert table([tmp_path])
    assert run(replace(plan, limit=2)).outcome.finished == 1
    assert len(list(sessions(tmp_path))) == 2
    assert billed(tmp_path)[0] > before[0][0]
    assert b"\0" not in (tmp_path / name).read_bytes()


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from helpers.recorded import walk
from wayword.runs import RunFolder
with RunFolder.open(sys.argv[1], {"identity": {"agent": "oracle"}}) as run:
    print(len(run.index), flush=True)
    for at in range(len(run.index), 100_000):
        run.append(walk(f"e{at}", steps=40, said="a long thought " * 50))
        print(at + 1, flush=True)
"""


def test_a_writer_killed_at_random_moments_loses_nothing_it_finished(
    tmp_path: Path,
) -> None:
    rng = random.Random(7)
    for _ in range(5 if LONG else 2):
        with subprocess.Popen(
            [
                sys.executable,
                "-c",
                WRITER,
                str(tmp_path),
                str(Path(__file__).parents[1]),
            ],
            stdout=subprocess.PIPE,
            text=True,
        ) as writer:
            assert writer.stdout is not None
            started = int(writer.stdout.readline())
            # By records rather than by the clock: a busy machine writes few in a moment.
            numbers = [
                int(writer.stdout.readline()) for _ in range(rng.randrange(4, 9))
            ]
            time.sleep(rng.uniform(0.0, 0.02))
            writer.send_signal(signal.SIGKILL)
            numbers += [int(line) for line in writer.stdout.read().splitlines()]
        promised = max([started, *numbers])
        with RunFolder.open(tmp_path, CONFIG) as run:  # the dead writer's lock is gone
            assert set(run.index.ids()) == {f"e{at}" for at in range(len(run.index))}
            assert promised <= len(run.index) <= promised + 1
            assert all(len(r.trajectory.steps) == 40 for r in run.records())
            assert list(run.failures()) == []
    assert promised > 5


FULL = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from helpers.recorded import walk
from wayword.core.errors import RecordingError
from wayword.runs import RunFolder
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
with RunFolder.open(sys.argv[1], {"identity": {"agent": "oracle"}}) as run:
    try:
        for at in range(100):
            run.append(walk(f"e{at}"))
    except RecordingError as error:
        print(len(run.index), error)
"""


def test_a_line_that_the_disk_takes_only_half_of_is_rolled_back(tmp_path: Path) -> None:
    """The system's own limit on file size cuts a write short just as a full disk does."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path), str(Path(__file__).parents[1])],
        capture_output=True,
        text=True,
        check=True,
    )
    count, line = done.stdout.strip().split(" ", 1)
    assert line == (
        f"{tmp_path}/episodes.jsonl.gz: file too large; "
        "finished episodes are safe; raise the limit of file sizes (ulimit -f) and run the "
        "same command again"
    )
    content = (tmp_path / "episodes.jsonl.gz").read_bytes()
    assert 0 < len(content) < 5000
    with RunFolder.open(tmp_path, CONFIG) as run:
        assert len(run.index) == int(count) == len(lines(tmp_path)) > 0
        assert run.notices == []
        run.append(walk("after"))


def test_the_folder_goes_on_once_there_is_room(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(walk("e0"))
        size = (tmp_path / "episodes.jsonl.gz").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
        try:
            with pytest.raises(RecordingError, match="file too large"):
                run.append(walk("e1"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert (tmp_path / "episodes.jsonl.gz").stat().st_size == size
        assert "e1" not in run
        run.append(walk("e1"))
    assert len(RunFolder.read(tmp_path).scores()) == 2


def test_a_full_disk_is_one_clear_line(tmp_path: Path) -> None:
    """/dev/full takes the opening of a file and refuses every byte, as a full disk does."""
    writer = Appender(tmp_path / "calls.jsonl")
    with Path("/dev/full").open("ab", buffering=0) as full:
        regular = writer._file
        writer._file = full  # type: ignore[assignment]
        with pytest.raises(
            RecordingError, match="jsonl: no space left on device; finished episodes"
        ):
            writer.append(b"{}\n")
        writer._file = regular
    writer.close()


@pytest.mark.parametrize("inside", ["run", "deep/run", ""])
def test_a_folder_that_cannot_be_made_is_one_clear_line(
    tmp_path: Path, inside: str
) -> None:
    """Under a plain file nobody can make a folder, the superuser included."""
    (tmp_path / "file").write_text("")
    with pytest.raises(
        RecordingError, match=r"(not a directory|file exists); give a w"
    ):
        RunFolder.open(tmp_path / "file" / inside, CONFIG)


def test_a_file_system_that_cannot_be_written_is_one_clear_line() -> None:
    with pytest.raises(
        RecordingError, match=r"^/proc/1/run: .*; give a writable folder$"
    ):
        RunFolder.open("/proc/1/run", CONFIG)
    with pytest.raises(RecordingError, match="not a run folder: it contains"):
        RunFolder.open("/proc/self", CONFIG)


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    RunFolder.open(tmp_path, CONFIG).close()
    (tmp_path / "episodes.jsonl.gz").unlink()
    (tmp_path / "episodes.jsonl.gz").mkdir()
    with pytest.raises(
        RecordingError, match=r"episodes\.jsonl\.gz: is not a regular file; remove it"
    ):
        RunFolder.read(tmp_path).scores()
    with pytest.raises(RecordingError, match="is a directory; give a writable folder"):
        RunFolder.open(tmp_path, CONFIG)


def test_a_folder_deleted_under_a_run_is_noticed(tmp_path: Path) -> None:
    run = RunFolder.open(tmp_path, CONFIG)
    run.append(walk("e0"))
    os.unlink(tmp_path / "episodes.jsonl.gz")
    with pytest.raises(RecordingError, match="was deleted while the run was writing"):
        run.close()


def test_a_file_that_ends_within_a_record_is_named_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(Plan("oracle", "houses", limit=3, out=tmp_path / "run"))
    file = tmp_path / "run" / "episodes.jsonl.gz"
    assert "oracle" in table([tmp_path / "run"])
    assert not caplog.records
    file.write_bytes(file.read_bytes()[:-20])
    for _ in range(2):
        assert "oracle" in table([tmp_path / "run"])
    (record,) = caplog.records
    assert record.message == f"{file}: ends within a record; 2 of 3 episodes read"
