"""Every line that is not as the run wrote it is noticed, and what is finished is found fast."""

from __future__ import annotations

import json
import os
import random
import re
import time
from math import inf
from pathlib import Path
from typing import Any

import pytest

from helpers.recorded import walk
from wayword import viewer
from wayword.core.errors import DataError, RecordingError, UsageError
from wayword.models.middleware.prices import load_prices
from wayword.runs import columns, lease, records, reports
from wayword.runs.folder import EpisodeRecord, RunFolder
from wayword.runs.names import Names
from wayword.runs.plan import read_config
from wayword.runs.records import INDEX

CONFIG: dict[str, Any] = {
    "identity": {
        "agent": "oracle", "dataset": "houses:test", "models": {}, "data_checksum": "", "seed": 0,
    },
    "family": "indoor",
    "episodes_in_split": 9,
}  # fmt: skip


def written(folder: Path, count: int = 4, seed: int = 0) -> Path:
    config = {**CONFIG, "identity": {**CONFIG["identity"], "seed": seed}}
    with RunFolder.open(folder, config) as run:
        for at in range(count):
            scores = {"sr": at % 2, "spl": 0.1 * at, "ne": 1.5 * at}
            run.append(EpisodeRecord(f"e{at}", scores, walk("e").trajectory))
    return folder / "episodes.jsonl"


def rewritten(file: Path, *changes: tuple[bytes, bytes], keep_time: bool = False) -> None:
    """Change the file in place, as a flipped bit or an editor does."""
    status = file.stat()
    text = file.read_bytes()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file.write_bytes(text)
    later = status.st_mtime_ns + (0 if keep_time else 10**9)
    os.utime(file, ns=(later, later))


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"sr":1', b'"sr":0'), (b'"e1"', b'"x1"'), (b'"p1"', b'"p7"'), (b'"sum":"', b'"sun":"')],
)
def test_a_flipped_character_is_named_by_table_and_resume(
    tmp_path: Path, old: bytes, new: bytes, index: bool
) -> None:
    file = written(tmp_path)
    if not index:
        (tmp_path / INDEX).unlink()
    rewritten(file, (old, new))
    for read in (lambda: reports.table([tmp_path]), lambda: RunFolder.open(tmp_path, CONFIG)):
        with pytest.raises(RecordingError, match=r"line \d: is not what this run wrote: it was"):
            read()


def test_a_flip_that_leaves_no_trace_in_the_time_is_found_with_its_page(tmp_path: Path) -> None:
    """The table takes its figures from the index, which is sealed too."""
    file = written(tmp_path)
    before = reports.table([tmp_path], "json")
    rewritten(file, (b'"sr":1', b'"sr":0'), keep_time=True)
    assert reports.table([tmp_path], "json") == before
    with pytest.raises(RecordingError, match="line 2: is not what"):
        list(RunFolder.read(tmp_path).records())


def test_a_line_of_another_run_is_foreign(tmp_path: Path) -> None:
    file = written(tmp_path / "one")
    other = written(tmp_path / "two", 6, seed=1).read_bytes().splitlines(keepends=True)
    with file.open("ab") as more:
        more.write(other[5])
    with pytest.raises(RecordingError, match=r"line 5: is not what .* comes from another run"):
        reports.table([tmp_path / "one"])


def test_a_doubled_line_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    first = file.read_bytes().split(b"\n")[0]
    with file.open("ab") as more:
        more.write(first + b"\n")
    with pytest.raises(RecordingError, match="line 5: holds episode 'e0' a second time"):
        reports.table([tmp_path])


@pytest.mark.parametrize("size", [1, 4096])
def test_zeros_of_a_power_cut_do_not_pass_for_half_a_line(tmp_path: Path, size: int) -> None:
    file = written(tmp_path)
    with file.open("r+b") as damaged:
        damaged.truncate(file.stat().st_size - 300)
        damaged.seek(0, os.SEEK_END)
        damaged.write(b"\0" * size)
    for read in (
        lambda: reports.table([tmp_path]),
        lambda: list(RunFolder.read(tmp_path).records()),
    ):
        with pytest.raises(RecordingError, match=f"line 4: ends in {size:,} zero bytes"):
            read()
    with RunFolder.open(tmp_path, CONFIG) as run:
        assert run.finished == {"e0", "e1", "e2"}
        assert "dropped" in run.notices[0]
    assert '"n": 3' in reports.table([tmp_path], "json")


@pytest.mark.parametrize(("key", "value"), [("sr", 250.0), ("sr", -0.5), ("ne", float("nan")),
                                            ("ne", -1.0), ("prompt_tokens", -7)])  # fmt: skip
def test_what_no_episode_can_score_is_refused(tmp_path: Path, key: str, value: float) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(EpisodeRecord("e0", {"sr": 1.0, "ne": 1.0, key: value}, walk("e").trajectory))
    with pytest.raises(RecordingError, match=rf"episode 'e0': '{key}' cannot be"):
        reports.table([tmp_path])


def test_what_is_out_of_place_may_be_more_than_at_the_start(tmp_path: Path) -> None:
    """Also in a folder whose config calls the measure a rate, as it did once."""
    metric = {"key": "misplaced", "label": "Misplaced", "kind": "rate", "better": "lower"}
    config = {**CONFIG, "family": "household", "metrics": [metric | {"doc": ""}]}
    with RunFolder.open(tmp_path, config) as run:
        run.append(EpisodeRecord("e0", {"misplaced": 1.25}, walk("e").trajectory))
    assert "1.25" in reports.table([tmp_path], "markdown")


def test_more_episodes_than_the_split_has_are_no_run(tmp_path: Path) -> None:
    written(tmp_path, 10)
    with pytest.raises(RecordingError, match="holds 10 episodes of a split of 9"):
        reports.table([tmp_path])


def test_a_table_does_not_depend_on_which_episode_ended_first(tmp_path: Path) -> None:
    tables = []
    for seed in range(3):
        order = list(range(9))
        random.Random(seed).shuffle(order)
        with RunFolder.open(tmp_path / str(seed) / "run", CONFIG) as run:
            for at in order:
                scores = {"sr": at % 2, "ne": 0.1 + at / 7}
                run.append(EpisodeRecord(f"e{at}", scores, walk("e").trajectory))
        tables.append(reports.table([tmp_path / str(seed) / "run"], "json"))
    assert tables[0] == tables[1] == tables[2]


def test_the_index_tells_what_the_lines_tell(tmp_path: Path) -> None:
    written(tmp_path)
    run = RunFolder.read(tmp_path)
    told = run.entries()
    whole = (tmp_path / INDEX).read_bytes()
    for content in (None, b"", whole[:-9], whole.replace(b'"at":0', b'"at":1'), b"junk\n", b"\0\n"):
        if content is None:
            (tmp_path / INDEX).unlink()
        else:
            (tmp_path / INDEX).write_bytes(content)
        assert run.entries() == told
    with RunFolder.open(tmp_path, CONFIG):
        assert (tmp_path / INDEX).read_bytes() == whole
    assert [r.episode_id for r in run.pick(told[2:])] == ["e2", "e3"]


def test_lines_from_before_there_were_sums_are_read(tmp_path: Path) -> None:
    file = written(tmp_path)
    file.write_bytes(re.sub(rb',"sum":"\w+"\}', b"}", file.read_bytes()))
    with pytest.raises(RecordingError, match="line 1: is not what this run wrote"):
        RunFolder.read(tmp_path).scores()
    config = json.loads((tmp_path / "config.json").read_text())
    del config["sums"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / INDEX).unlink()
    assert len(RunFolder.read(tmp_path).scores()) == 4
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(walk("e4"))
    assert len(list(RunFolder.read(tmp_path).records())) == 5


def test_deleting_the_lock_lets_nobody_else_write(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        (tmp_path / ".lock").unlink()
        with pytest.raises(RecordingError, match="is writing to this run folder"):
            RunFolder.open(tmp_path, CONFIG)
        with pytest.raises(RecordingError, match=r"\.lock: was deleted or taken over"):
            run.append(walk("e0"))
    assert RunFolder.read(tmp_path).scores() == []


@pytest.mark.parametrize(("age", "refused"), [(5.0, True), (lease.EXPIRED + 1, False)])
def test_the_lease_of_another_machine_is_honoured_for_a_minute(
    tmp_path: Path, age: float, refused: bool
) -> None:
    RunFolder.open(tmp_path, CONFIG).close()
    (tmp_path / ".lock").write_text("77\nelsewhere a1b2\n")
    then = time.time() - age
    os.utime(tmp_path / ".lock", (then, then))
    if refused:
        with pytest.raises(RecordingError, match="process 77 on elsewhere is writing"):
            RunFolder.open(tmp_path, CONFIG)
    else:
        RunFolder.open(tmp_path, CONFIG).close()


@pytest.mark.parametrize("left", ["", "..wayword-pages.new", "episodes"])
def test_pages_that_were_killed_before_their_mark_are_begun_again(
    tmp_path: Path, left: str
) -> None:
    written(tmp_path)
    pages = tmp_path / "pages"
    pages.mkdir()
    if left == "episodes":
        (pages / left).mkdir()
    elif left:
        (pages / left).write_text("half")
    assert viewer.write(tmp_path).is_file()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        viewer.write(tmp_path, tmp_path / "other")


LAUGHS = "l0: &l0 [x]\n" + "".join(
    f"l{at}: &l{at} [{', '.join([f'*l{at - 1}'] * 9)}]\n" for at in range(1, 9)
)


@pytest.mark.parametrize("text", ["&a [*a]", "a: &a {b: *a}", "[" * 1100, LAUGHS])
def test_yaml_that_contains_itself_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"--config .*config\.yaml: is not valid YAML: [^\n]*$"):
        read_config(path)
    prices = tmp_path / "prices.yaml"
    prices.write_text(text)
    with pytest.raises(DataError, match="cannot be read as prices"):
        load_prices(prices)


@pytest.fixture
def blocks_of_three(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "BLOCK", 3)


@pytest.mark.usefixtures("blocks_of_three")
class TestColumns:
    def written(self, folder: Path) -> Path:
        """Eight episodes, two blocks of three: whole, broken, odd and missing scores."""
        odd = [{"sr": 1, "ne": 0.25}, {"sr": 0, "ne": float("inf")}, {"sr": 1}, {"ne": 2.0, "x": 7}]
        with RunFolder.open(folder, CONFIG) as run:
            for at, scores in enumerate(odd * 2):
                run.append(EpisodeRecord(f"é{9 - at}", scores, walk("e").trajectory))
        return folder / columns.FILE

    def test_they_tell_what_the_index_tells(self, tmp_path: Path) -> None:
        file, run = self.written(tmp_path), RunFolder.read(tmp_path)
        told, text, content = run.entries(), reports.table([tmp_path], "json"), file.read_bytes()
        assert [type(e.scores.get("sr")) for e in told[:4]] == [int, int, int, type(None)]
        first = len(columns.read(file, run.seal.mark)[0])
        assert first == 6
        file.unlink()
        assert (run.entries(), reports.table([tmp_path], "json")) == (told, text)
        with RunFolder.open(tmp_path, CONFIG):
            assert file.read_bytes() == content, "made again from the index"

    @pytest.mark.parametrize("at", [0, 9, 200, -1])
    def test_from_a_damaged_block_on_the_index_is_read(self, tmp_path: Path, at: int) -> None:
        file = self.written(tmp_path)
        told, content = RunFolder.read(tmp_path).entries(), file.read_bytes()
        for damaged in (content[:at], content[:at] + bytes([content[at] ^ 1]) + content[at:][1:]):
            file.write_bytes(damaged)
            assert RunFolder.read(tmp_path).entries() == told
            with RunFolder.open(tmp_path, CONFIG) as run:
                assert len(run.finished) == 8
            assert file.read_bytes() == content

    def test_a_table_reads_the_lines_behind_the_blocks_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.written(tmp_path)
        read: list[int] = []
        entry = records._entry
        monkeypatch.setattr(
            records, "_entry", lambda *given: read.append(given[1]) or entry(*given)
        )
        assert len(RunFolder.read(tmp_path).scores()) == 8
        assert read == [7, 8]

    def test_a_score_that_is_no_number_is_no_missing_one(self, tmp_path: Path) -> None:
        with RunFolder.open(tmp_path, CONFIG) as run:
            for at in range(3):
                score = float("nan") if at == 1 else 0.5
                run.append(EpisodeRecord(f"e{at}", {"ne": score}, walk("e").trajectory))
        assert (tmp_path / columns.FILE).is_file()
        with pytest.raises(RecordingError, match="episode 'e1': 'ne' cannot be nan"):
            reports.table([tmp_path])

    def test_changed_lines_are_refused_as_without_them(self, tmp_path: Path) -> None:
        self.written(tmp_path)
        rewritten(tmp_path / "episodes.jsonl", (b'"ne":0.25', b'"ne":0.75'))
        with pytest.raises(RecordingError, match="line 1: is not what this run wrote"):
            reports.table([tmp_path])
        with pytest.raises(RecordingError, match="line 1: is not what this run wrote"):
            RunFolder.open(tmp_path, CONFIG)

    def test_numbers_too_large_for_a_float_are_endless(self, tmp_path: Path) -> None:
        with RunFolder.open(tmp_path, CONFIG) as run:
            for at in range(4):
                run.append(
                    EpisodeRecord(f"e{at}", {"calls": 10 ** (400 * at)}, walk("e").trajectory)
                )
        assert [s["calls"] for _, s in RunFolder.read(tmp_path).scores()] == [1.0, *[inf] * 3]


def test_names_sort_as_their_text_does_and_know_whether_one_repeats() -> None:
    names = Names()
    told = ["b_1", "é", "b", "", "a" * 20, "\ud800", "𝄞", "b_10"]
    names.extend(told)
    assert (names == told, len(names), names[-2], names[1:3]) == (True, 8, "𝄞", ["é", "b"])
    assert [names[n] for n in names.order()] == sorted(told)
    assert not names.may_repeat()
    names.append("x" * 99)  # too wide for an array
    assert [names[n] for n in names.order()] == sorted([*told, "x" * 99])
    names.append("b")
    assert names.may_repeat()
    with pytest.raises(IndexError):
        names[10]
