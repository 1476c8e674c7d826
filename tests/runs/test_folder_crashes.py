"""Nothing finished is lost: torn tails, kill -9, full disks, folders that cannot be written."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.recorded import walk
from wayword.core.errors import RecordingError
from wayword.runs import records
from wayword.runs.folder import RunFolder

CONFIG = {"identity": {"agent": "oracle"}}


def test_a_run_resumes_after_a_cut_at_every_byte_of_its_last_line(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(walk("e0"))
        run.append(walk("e1", steps=1, said="Tür – 門"))
    file = tmp_path / "episodes.jsonl"
    whole = file.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole)):
        file.write_bytes(whole[:end])
        assert [episode for episode, _ in RunFolder.read(tmp_path).scores()] == ["e0"]
        with RunFolder.open(tmp_path, CONFIG) as run:
            assert run.finished == {"e0"}
            told = f"{file}: dropped {end - first} bytes of a half-written last line"
            assert [n.split(";")[0] for n in run.notices] == ([told] if end > first else [])
            run.append(walk("e1", steps=1, said="Tür – 門"))
        assert file.read_bytes() == whole


def test_half_a_line_does_not_make_the_index_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(walk("e0"))
        run.append(walk("e1"))
    with (tmp_path / "episodes.jsonl").open("ab") as file:
        file.write(b'{"episode":"e2","sc')
    later = (tmp_path / "index.jsonl").stat().st_mtime_ns + 10**9
    os.utime(tmp_path / "episodes.jsonl", ns=(later, later))
    monkeypatch.setattr(records, "_quick", lambda *asked: pytest.fail("a line was read again"))
    with RunFolder.open(tmp_path, CONFIG) as run:
        assert run.finished == {"e0", "e1"}
        run.append(walk("e2"))
    assert [name for name, _ in RunFolder.read(tmp_path).scores()] == ["e0", "e1", "e2"]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 3), st.integers(0, 200_000), st.sampled_from([b"\0", b"x", b'{"']))
def test_any_tail_without_a_newline_is_dropped(
    tmp_path_factory: pytest.TempPathFactory, episodes: int, size: int, junk: bytes
) -> None:
    folder = tmp_path_factory.mktemp("tail")
    with RunFolder.open(folder, CONFIG) as run:
        for at in range(episodes):
            run.append(walk(f"e{at}"))
    for name in ("episodes.jsonl", "failures.jsonl"):
        with (folder / name).open("ab") as file:
            file.write(junk * size)
    with RunFolder.open(folder, CONFIG) as run:
        assert run.finished == {f"e{at}" for at in range(episodes)}
        assert len(run.notices) == (2 if size else 0)
        assert list(run.failures()) == []


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from helpers.recorded import walk
from wayword.runs import RunFolder
with RunFolder.open(sys.argv[1], {"identity": {"agent": "oracle"}}) as run:
    print(len(run.finished), flush=True)
    for at in range(len(run.finished), 100_000):
        run.append(walk(f"e{at}", steps=40, said="a long thought " * 50))
        print(at + 1, flush=True)
"""


def test_a_writer_killed_at_random_moments_loses_nothing_it_finished(tmp_path: Path) -> None:
    rng = random.Random(7)
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(Path(__file__).parents[1])],
            stdout=subprocess.PIPE,
            text=True,
        ) as writer:
            assert writer.stdout is not None
            started = int(writer.stdout.readline())
            time.sleep(rng.uniform(0.01, 0.2))
            writer.send_signal(signal.SIGKILL)
            said = [int(line) for line in writer.stdout.read().splitlines()]
        promised = max([started, *said])
        with RunFolder.open(tmp_path, CONFIG) as run:  # the dead writer's lock is gone
            assert run.finished == {f"e{at}" for at in range(len(run.finished))}
            assert promised <= len(run.finished) <= promised + 1
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
        print(len(run.finished), error)
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
        f"{tmp_path}/episodes.jsonl: file too large; "
        "finished episodes are safe; make room and run the same command again"
    )
    content = (tmp_path / "episodes.jsonl").read_bytes()
    assert content.endswith(b'"}\n')
    assert 0 < len(content) < 5000
    with RunFolder.open(tmp_path, CONFIG) as run:
        assert len(run.finished) == int(count) == content.count(b"\n") > 0
        assert run.notices == []
        run.append(walk("after"))


def test_the_folder_goes_on_once_there_is_room(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(walk("e0"))
        size = (tmp_path / "episodes.jsonl").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, before[1]))
        try:
            with pytest.raises(RecordingError, match="file too large"):
                run.append(walk("e1"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert (tmp_path / "episodes.jsonl").stat().st_size == size
        assert "e1" not in run
        run.append(walk("e1"))
    assert len(RunFolder.read(tmp_path).scores()) == 2


def test_a_full_disk_is_one_clear_line() -> None:
    """/dev/full takes the opening of a file and refuses every byte, as a full disk does."""
    from wayword.runs.jsonl import LineWriter

    writer = LineWriter(Path("/dev/full"))
    with pytest.raises(
        RecordingError, match="/dev/full: no space left on device; finished episodes"
    ):
        writer.append(b"{}")


@pytest.mark.parametrize("inside", ["run", "deep/run", ""])
def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path, inside: str) -> None:
    """Under a plain file nobody can make a folder, the superuser included."""
    (tmp_path / "file").write_text("")
    with pytest.raises(
        RecordingError, match=r"(not a directory|file exists); give a folder that c"
    ):
        RunFolder.open(tmp_path / "file" / inside, CONFIG)


def test_a_file_system_that_cannot_be_written_is_one_clear_line() -> None:
    with pytest.raises(
        RecordingError, match=r"^/proc/1/run: .*; give a folder that can be written$"
    ):
        RunFolder.open("/proc/1/run", CONFIG)
    with pytest.raises(RecordingError, match="holds files"):
        RunFolder.open("/proc/self", CONFIG)


def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    RunFolder.open(tmp_path, CONFIG).close()
    (tmp_path / "episodes.jsonl").unlink()
    (tmp_path / "episodes.jsonl").mkdir()
    with pytest.raises(RecordingError, match=r"episodes\.jsonl: is a directory"):
        RunFolder.read(tmp_path).scores()
    with pytest.raises(RecordingError, match="is a directory; give a folder that can be written"):
        RunFolder.open(tmp_path, CONFIG)


def test_a_folder_deleted_under_a_run_is_noticed(tmp_path: Path) -> None:
    run = RunFolder.open(tmp_path, CONFIG)
    run.append(walk("e0"))
    os.unlink(tmp_path / "episodes.jsonl")
    with pytest.raises(RecordingError, match="was deleted while the run was writing"):
        run.close()
