"""Every record that is not as the run wrote it is noticed, whatever became of the index."""

from __future__ import annotations

import io
import json
import os
import random
import zlib
from collections.abc import Callable
from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from helpers.recorded import growing, walk
from helpers.records import forget, indexes, lines, members, rewrite
from wayword import viewer
from wayword.core.errors import DataError, RecordingError, UsageError
from wayword.models.middleware.prices import load_prices
from wayword.runs import index, reports
from wayword.runs.json_lines import member
from wayword.runs.plan import read_config
from wayword.runs.record import EpisodeRecord, RunFolder
from wayword.runs.verify import coverage

CONFIG: dict[str, Any] = {
    "identity": {
        "agent": "oracle", "dataset": "houses:test", "models": {}, "data_checksum": "", "seed": 0,
    },
    "family": "indoor",
    "episodes_in_split": 9,
}  # fmt: skip


@pytest.fixture(autouse=True)
def cache(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path_factory.mktemp("cache")))


def written(folder: Path, count: int = 4) -> Path:
    with RunFolder.open(folder, CONFIG) as run:
        for at in range(count):
            scores = {"sr": at % 2, "spl": 0.1 * at, "ne": 1.5 * at}
            run.append(EpisodeRecord(f"e{at}", scores, walk("e").trajectory))
    return folder / "episodes.jsonl.gz"


def replaced(file: Path, number: int, raw: bytes, keep_time: bool = False) -> None:
    """Put other bytes in the place of a record, as a failing disk or an editor does."""
    status = file.stat()
    found = members(file.parent)
    found[number] = raw
    file.write_bytes(b"".join(found))
    later = status.st_mtime_ns + (0 if keep_time else 10**9)
    os.utime(file, ns=(later, later))


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("at", [5, 20, 100, -6, -2])
def test_a_flipped_bit_is_named_by_table_and_resume(
    tmp_path: Path, at: int, number: int, indexed: bool
) -> None:
    file = written(tmp_path)
    if not indexed:
        forget()
    raw = bytearray(members(tmp_path)[number])
    raw[at] ^= 1
    replaced(file, number, bytes(raw))
    for read in (
        lambda: reports.table([tmp_path]),
        lambda: RunFolder.open(tmp_path, CONFIG),
    ):
        with pytest.raises(RecordingError, match=rf"record {number + 1}: is damaged: "):
            read()


def test_a_flip_that_leaves_no_trace_in_the_time_is_found_with_its_page(
    tmp_path: Path,
) -> None:
    """The table takes its figures from the index, which was made before."""
    file = written(tmp_path)
    before = reports.table([tmp_path], "json")
    raw = bytearray(members(tmp_path)[1])
    raw[100] ^= 1
    replaced(file, 1, bytes(raw), keep_time=True)
    assert reports.table([tmp_path], "json") == before
    run = RunFolder.read(tmp_path)
    for read in (
        lambda: list(run.records()),
        lambda: run.record("e1"),
        lambda: run.raw_record("e1"),
    ):
        with pytest.raises(RecordingError, match="record 2: is damaged"):
            read()
    assert run.record("e2").episode_id == "e2"


def test_a_doubled_record_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path)
    with file.open("ab") as more:
        more.write(members(tmp_path)[0])
    for _ in range(2):  # also when it is asked again
        with pytest.raises(RecordingError, match="record 5: duplicate of episode 'e0'"):
            reports.table([tmp_path])


@pytest.mark.parametrize(("key", "value"), [("sr", 250.0), ("sr", -0.5), ("ne", float("nan")),
                                            ("ne", -1.0), ("prompt_tokens", -7)])  # fmt: skip
def test_what_no_episode_can_score_is_refused(
    tmp_path: Path, key: str, value: float
) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(
            EpisodeRecord(
                "e0", {"sr": 1.0, "ne": 1.0, key: value}, walk("e").trajectory
            )
        )
    with pytest.raises(RecordingError, match=rf"episode 'e0': '{key}' cannot be"):
        reports.table([tmp_path])


def test_more_episodes_than_the_split_has_are_no_run(tmp_path: Path) -> None:
    written(tmp_path, 10)
    with pytest.raises(RecordingError, match="has 10 episodes, but the split only 9"):
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


# The index: lost, damaged, of other records or of another form, it changes no figure.


def figures(folder: Path) -> tuple[Any, ...]:
    run = RunFolder.read(folder)
    return (
        list(run.index.entries()),
        run.index.scores().pairs(),
        run.index.find(sort="ne", down=True),
        [
            run.record(entry.episode_id).scores
            for entry in list(run.index.entries())[2:]
        ],
        json.loads(reports.table([folder], "json")),
    )


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flipped(path: Path) -> None:
    """A score in it, without any other trace."""
    raw = path.read_bytes()
    at = raw.index(b"e2") + 8
    path.write_bytes(raw[:at] + bytes([raw[at] ^ 4]) + raw[at + 1 :])


def _forged(path: Path) -> None:
    """Arrays of another form, with a checksum that fits."""
    file = io.BytesIO()
    head = np.frombuffer(b'{"ids": ["e0"], "metrics": []}', np.uint8)
    ends = {"episodes.jsonl.gz": np.array([0, 9]), "failures.jsonl.gz": np.array([0])}
    np.savez(file, head=head, scores=np.zeros((0, 1)), **ends)
    image = file.getvalue()
    path.write_bytes(image + zlib.crc32(image).to_bytes(4, "little"))


@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink, _cut, _flipped, _forged,
        lambda path: path.write_bytes(b""), lambda path: path.write_bytes(b"junk" * 999),
        lambda path: path.write_bytes(path.read_bytes()[:-4] + bytes(4)),
    ],
)  # fmt: skip
def test_a_lost_or_damaged_index_changes_no_figure(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    written(tmp_path)
    before = figures(tmp_path)
    (path,) = indexes()
    damage(path)
    assert figures(tmp_path) == before
    damage(path)
    with RunFolder.open(tmp_path, CONFIG) as run:
        assert set(run.index.ids()) == {"e0", "e1", "e2", "e3"}
        run.append(EpisodeRecord("e4", {"sr": 1}, walk("e").trajectory))
    assert len(figures(tmp_path)[0]) == 5


def test_an_index_of_other_records_is_made_again(tmp_path: Path) -> None:
    """The folder was deleted, and another run of its name was played."""
    file = written(tmp_path, 6)
    figures(tmp_path)
    other = written(tmp_path / "other")
    for content in (other.read_bytes(), b"", other.read_bytes() * 1):
        file.write_bytes(content)
        assert [entry.episode_id for entry in figures(tmp_path)[0]] == [
            f"e{at}" for at in range(4 if content else 0)
        ]


def test_the_index_follows_what_is_appended(tmp_path: Path) -> None:
    watching = None
    with RunFolder.open(tmp_path, CONFIG) as run:
        for at in range(5):
            run.append(EpisodeRecord(f"e{at}", {f"m{at}": at}, walk("e").trajectory))
            watching = watching or RunFolder.read(tmp_path)
            assert watching.index.ids() == [f"e{n}" for n in range(at + 1)]
            assert watching.index.keys == [f"m{n}" for n in range(at + 1)]
            assert RunFolder.read(tmp_path).scores()[at] == (f"e{at}", {f"m{at}": at})


def test_one_index_serves_runs_and_readers_that_cannot_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "run")
    before = figures(tmp_path / "run")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "file" / "cache"))
    assert figures(tmp_path / "run") == before


def test_nothing_of_the_index_lies_in_the_run_folder(tmp_path: Path) -> None:
    written(tmp_path / "run")
    figures(tmp_path / "run")
    RunFolder.read(tmp_path / "run").index.search("door")
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "episodes.jsonl.gz", "failures.jsonl.gz", "run.json",
    ]  # fmt: skip


def test_scores_come_back_as_they_were(tmp_path: Path) -> None:
    """Whole numbers as such, fractions, endless ones, none at all; keys of any text."""
    odd: list[dict[str, float]] = [
        {"sr": 1, "ne": 0.25}, {"sr": 0, "ne": inf}, {"sr": 1, "": -inf}, {"NE": 2.0, 'x"; --': 7},
    ]  # fmt: skip
    with RunFolder.open(tmp_path, CONFIG) as run:
        for at, scores in enumerate(odd):
            run.append(EpisodeRecord(f"é{9 - at}", scores, walk("e").trajectory))
    for _ in range(2):
        found = RunFolder.read(tmp_path)
        assert [scores for _, scores in found.scores()] == odd
        assert [type(each.get("sr", "")) for _, each in found.scores()] == [
            int,
            int,
            int,
            str,
        ]
        assert found.index.scores().pairs() == list(reversed(found.scores()))
        assert found.index.find(sort="ne") == [1, 2, 3, 4]
        assert found.index.find(ranges=[("ne", 0.0, 9e9)]) == [1]
        assert found.index.find(ranges=[("ne", 0.0, inf)]) == [1, 2]
        assert found.index.find(among=["é6", "é9", "none"], sort="id") == [4, 1]
        forget()


def test_a_score_that_is_no_number_is_no_missing_one(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        for at, scores in enumerate(({"ne": 0.5}, {"ne": nan}, {"sr": 1}, {"ne": 3})):
            run.append(EpisodeRecord(f"e{at}", scores, walk("e").trajectory))
    read = [scores for _, scores in RunFolder.read(tmp_path).scores()]
    assert isnan(read[1].pop("ne"))
    assert read == [{"ne": 0.5}, {}, {"sr": 1}, {"ne": 3}]
    assert RunFolder.read(tmp_path).index.column("ne")[[0, 3]].tolist() == [0.5, 3.0]
    with pytest.raises(RecordingError, match="episode 'e1': 'ne' cannot be nan"):
        reports.table([tmp_path])


def test_numbers_too_large_for_a_float_are_endless(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        for at in range(4):
            run.append(
                EpisodeRecord(
                    f"e{at}", {"calls": 10 ** (400 * at)}, walk("e").trajectory
                )
            )
    assert [s["calls"] for _, s in RunFolder.read(tmp_path).scores()] == [
        1.0,
        *[inf] * 3,
    ]


def test_a_table_reads_no_record_that_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path)
    with file.open("ab") as more:
        more.write(member(lines(tmp_path)[0].replace(b'"e0"', b'"e9"', 1)))
    read: list[int] = []
    entry_of = index.entry_of
    monkeypatch.setattr(
        index,
        "entry_of",
        lambda path, found: read.append(found.number) or entry_of(path, found),
    )
    assert len(RunFolder.read(tmp_path).scores()) == 5
    assert len(RunFolder.read(tmp_path).scores()) == 5
    assert read == [5]


def test_the_index_of_a_writer_reads_none_of_its_own_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)
    read: list[int] = []
    entry_of = index.entry_of
    monkeypatch.setattr(
        index,
        "entry_of",
        lambda path, found: read.append(found.number) or entry_of(path, found),
    )
    with RunFolder.open(tmp_path, CONFIG) as run:
        for name in ("e4", "e5"):
            run.append(EpisodeRecord(name, {"sr": 1}, walk("e").trajectory))
            assert run.index.ids()[-1] == name
    assert len(RunFolder.read(tmp_path).scores()) == 6
    assert read == []


def test_a_writer_saves_its_index_after_growth_by_a_quarter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[int] = []
    monkeypatch.setattr(index, "keep", lambda path, write: saved.append(len(listed)))
    listed = index.Index(tmp_path)
    for number in range(1, 1600):
        entry = index.Entry(f"e{number}", {"sr": 1}, "stopped", 9 * number, 9)
        listed.add(entry, b"12345678")
    assert saved == [1001, 1252, 1566]


def test_episodes_are_found_by_their_ending_and_sorted_in_both_orders(
    tmp_path: Path,
) -> None:
    rows: list[tuple[str, str, dict[str, float]]] = [
        ("b", "stopped", {"ne": 3}), ("d", "step_limit", {"sr": 0}),
        ("a", "step_limit", {"ne": 1}), ("c", "stopped", {"ne": 2}),
    ]  # fmt: skip
    with RunFolder.open(tmp_path, CONFIG) as run:
        for name, ended, scores in rows:
            trajectory = replace(walk("e").trajectory, ended=cast(Any, ended))
            run.append(EpisodeRecord(name, scores, trajectory))
    for _ in range(2):
        found = RunFolder.read(tmp_path).index
        assert found.endings() == ["stopped", "step_limit"]
        assert found.find(ended="step_limit") == [2, 3]
        assert found.find(sort="id") == [3, 1, 4, 2]
        assert found.find(sort="id", down=True) == [2, 4, 1, 3]
        assert found.find(sort="ne") == [3, 4, 1, 2]
        assert found.find(sort="ne", down=True) == [1, 4, 3, 2]
        assert found.find(ended="stopped", ranges=[("ne", 2, 2)], sort="ne") == [4]
        assert found.failure("a") is None
        forget()


def test_a_failure_without_an_episode_is_damage(tmp_path: Path) -> None:
    written(tmp_path)
    rewrite(tmp_path, [{"episode": "e9"}], "failures.jsonl.gz")
    run = RunFolder.read(tmp_path)
    assert run.index.failed() == {"e9": ""}
    with (tmp_path / "failures.jsonl.gz").open("ab") as file:
        file.write(member(b'{"reason": "x"}'))
    with pytest.raises(RecordingError, match="record 2: field 'episode' is missing"):
        run.scores()


def test_an_index_is_read_whatever_the_bytes_of_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newlines = int.from_bytes(b"\n\n\n\n", "little")
    monkeypatch.setattr(index, "zlib", SimpleNamespace(crc32=lambda content: newlines))
    written(tmp_path)
    assert len(index.Index(tmp_path)) == 4, (
        "from the cache, before a look at the records"
    )


def test_the_latest_failure_of_an_episode_that_was_not_finished_is_listed(
    tmp_path: Path,
) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.fail("e0", "no answer")
        run.fail("e1", "no answer", walk("e1").trajectory)
        run.fail("\ud800", "half \ud800")
        run.fail("e1", "no answer again")
        run.append(walk("e0"))
    for _ in range(2):
        found = RunFolder.read(tmp_path)
        assert found.index.failed() == {
            "\ud800": "half \ud800",
            "e1": "no answer again",
        }
        assert found.record("e1").trajectory.error == "no answer again"
        assert len(list(found.failures())) == 4
        forget()


def test_deleting_the_lock_lets_no_one_else_write(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        (tmp_path / ".lock").unlink()
        with pytest.raises(RecordingError, match="is writing to this run folder"):
            RunFolder.open(tmp_path, CONFIG)
        run.append(walk("e0"))
    assert len(RunFolder.read(tmp_path).scores()) == 1


# Texts.


def test_a_search_finds_what_was_thought_queried_answered_and_instructed(
    tmp_path: Path,
) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(walk("e0", said="A door with a red handle"))
        prompts = ["Find the kitchen.", "Find the kitchen.\nYou passed the bathroom."]
        run.append(EpisodeRecord("e1", {"sr": 1}, growing(prompts)))
    found = RunFolder.read(tmp_path).index
    text_of = {"e0": "Walk to the fireplace", "e1": ""}.__getitem__
    assert found.search("RED door") == ["e0"]
    assert found.search("bathroom kitchen") == ["e1"]
    assert found.search("goto p1") == ["e1"]
    assert found.search('p1 OR "door') == []
    assert found.search("fireplace", text_of) == ["e0"], (
        "read before without instructions"
    )
    assert found.search(' " ') == found.search("") == []
    (path,) = [each for each in indexes() if "text" in each.name]
    path.write_bytes(path.read_bytes()[:5000] + b"junk" * 500)
    assert found.search("fireplace", text_of) == ["e0"]
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(walk("e2", said="another red door"))
    assert RunFolder.read(tmp_path).index.search("red door") == ["e0", "e2"]
    rewrite(tmp_path, lines(tmp_path)[1:])
    assert RunFolder.read(tmp_path).index.search("red door") == ["e2"]


@pytest.mark.parametrize("left", ["", "..wayword-pages.new", "episodes"])
def test_pages_that_were_killed_before_their_mark_are_started_again(
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
    with pytest.raises(UsageError, match="has other files"):
        viewer.write(tmp_path, tmp_path / "other")


LAUGHS = "l0: &l0 [x]\n" + "".join(
    f"l{at}: &l{at} [{', '.join([f'*l{at - 1}'] * 9)}]\n" for at in range(1, 9)
)


@pytest.mark.parametrize("text", ["&a [*a]", "a: &a {b: *a}", "[" * 1100, LAUGHS])
def test_yaml_that_contains_itself_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(
        UsageError, match=r"--config .*config\.yaml: invalid YAML: [^\n]*$"
    ):
        read_config(path)
    prices = tmp_path / "prices.yaml"
    prices.write_text(text)
    with pytest.raises(DataError, match="cannot be read as prices"):
        load_prices(prices)


def test_a_scorer_that_returns_true_is_recorded_as_1(tmp_path: Path) -> None:
    scores: dict[str, Any] = {"sr": True, "spl": np.bool_(False), "ne": 1.5, "steps": 3}
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(EpisodeRecord("e0", scores, walk("e").trajectory))
    ((_, read),) = RunFolder.read(tmp_path).scores()
    assert read == {"sr": 1, "spl": 0, "ne": 1.5, "steps": 3}
    assert not any(isinstance(value, bool) for value in read.values())


@pytest.mark.parametrize("failed", [0, 1])
@pytest.mark.parametrize("shuffle", [None, 0, 7])
@pytest.mark.parametrize("finished", [0, 3, 4])
def test_a_runs_episodes_are_all_of_its_split_or_a_part_that_is_described(
    tmp_path: Path, finished: int, shuffle: int | None, failed: int
) -> None:
    """A split of four; a seed of 0 is a sample as any other."""
    identity = {**CONFIG["identity"], "shuffle": shuffle}
    config = {**CONFIG, "identity": identity, "episodes_in_split": 4}
    with RunFolder.open(tmp_path, config) as run:
        for number in range(finished - failed):
            run.append(EpisodeRecord(f"e{number}", {"sr": 1.0}, walk("e").trajectory))
        for _ in range(failed):
            run.fail("lost", "an error")
    tried = max(0, finished - failed) + failed
    text = coverage(RunFolder.read(tmp_path))
    part = f"the first {tried} of 4 episodes"
    if shuffle is not None:
        part = f"{tried} of 4 episodes, a random sample (--shuffle {shuffle})"
    expected = "all 4 episodes of the split" if tried == 4 else part
    if failed:
        expected += "; 1 of them failed, for reasons that no replay can show"
    assert text == expected
