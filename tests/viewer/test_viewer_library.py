"""The viewer's rows are the run folder's entries: checked, growing, and as the table has them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from helpers.parsed_page import Page
from helpers.recorded_run import make_run, recorded_trajectory
from helpers.records import forget, members, records, rewrite
from wayword.core.errors import RecordingError
from wayword.runs.active import PROGRESS
from wayword.runs.plan import Plan
from wayword.runs.record import RecordedRun, RunFolder
from wayword.runs.running import run
from wayword.viewer.data import Sources
from wayword.viewer.figures import duration, interval
from wayword.viewer.index import Overview, metrics_part
from wayword.viewer.library import Library, Rows, is_awaited, progress_of, select


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(
        Plan("oracle", "houses", limit=4, out=tmp_path_factory.mktemp("l") / "r")
    ).path


@pytest.fixture
def folder(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "run"))


def test_each_run_is_listed_once_and_names_are_unique(
    played: Path, tmp_path: Path
) -> None:
    def listed(*given: str) -> dict[str, str]:
        """The runs by name, each as its path below the temporary folder."""
        runs = Library([tmp_path / each for each in given]).runs()
        return {each.name: str(each.path.relative_to(tmp_path)) for each in runs}

    for name in ("a/run", "a/inner/run", "b/run"):
        shutil.copytree(played, tmp_path / name)
    both = {"inner/run": "a/inner/run", "run": "a/run"}
    assert listed("a", "a") == both, "a folder given twice"
    assert listed("a", "a/inner", "a/run") == both, "folders inside a given one"
    inner_first = {"run": "a/inner/run", "a/run": "a/run"}
    assert listed("a/inner", "a") == inner_first, "the inner folder first"
    assert listed("a", "b") == {**both, "b/run": "b/run"}, "runs of one name"
    given_runs = {"run": "a/run", "b/run": "b/run", "inner/run": "a/inner/run"}
    assert listed("a/run", "b/run", "a/inner/run") == given_runs, "given runs"


def rows(folder: Path) -> Rows:
    return Rows(RecordedRun(folder)).refresh()


def test_rows_are_what_the_table_reads(folder: Path) -> None:
    found = rows(folder)
    entries = list(RecordedRun(folder).index.entries())
    assert found.ids == [entry.episode_id for entry in entries]
    assert found.scored(found.ids[2]) == entries[2].scores
    assert found.run.record(found.ids[3]).trajectory.ended == entries[3].ended
    assert [head.scores for head in found.heads()] == [
        entry.scores for entry in entries
    ]
    assert [head.ended for head in found.heads()[1:3]] == [
        each.ended for each in entries[1:3]
    ]


@pytest.mark.parametrize("indexed", [True, False])
def test_a_damaged_record_is_refused_as_the_table_refuses_it(
    folder: Path, indexed: bool
) -> None:
    first, *others = members(folder)
    (folder / "episodes.jsonl.gz").write_bytes(
        b"".join([first[:70] + bytes([first[70] ^ 8]) + first[71:], *others])
    )
    if not indexed:
        forget()

    def looked_at() -> None:
        found = rows(folder)
        found.run.record(found.ids[0])

    with pytest.raises(RecordingError, match="record 1: is damaged"):
        looked_at()


def test_a_record_that_stands_twice_is_refused(folder: Path) -> None:
    path = folder / "episodes.jsonl.gz"
    path.write_bytes(path.read_bytes() + members(folder)[0])
    with pytest.raises(RecordingError, match="duplicate of episode"):
        rows(folder)


def test_what_is_added_is_read_and_part_of_a_record_waits(folder: Path) -> None:
    path = folder / "episodes.jsonl.gz"
    parts = members(folder)
    forget()
    path.write_bytes(b"".join(parts[:2]) + parts[2][:50])
    found = rows(folder)
    assert len(found.ids) == 2
    with path.open("ab") as file:
        file.write(parts[2][50:] + parts[3])
    assert len(found.refresh().ids) == 4
    assert found.run.record(found.ids[2]).episode_id == found.ids[2]


def test_a_file_that_was_replaced_is_read_again(folder: Path) -> None:
    found = rows(folder)
    path = folder / "episodes.jsonl.gz"
    other = folder / "other"
    other.write_bytes(b"".join(members(folder)[1:]))
    first = found.ids[0]
    other.replace(path)
    assert first not in found.refresh().ids
    assert len(found.ids) == 3


def test_filtered_and_sorted_rows_have_the_scores_of_their_own_episodes(
    tmp_path: Path,
) -> None:
    path = tmp_path / "scored"
    make_run(path, ("0",), failed={"lost": recorded_trajectory("lost", "hello")})
    (first,) = records(path)
    own = {
        f"e{n}": {"sr": float(n % 2), "ne": 10.0 - (n * 7) % 10, "steps": n}
        for n in range(10)
    }
    rewrite(path, [{**first, "episode": name, "scores": own[name]} for name in own])
    found = rows(path)

    def shown(**query: str) -> list[str]:
        keys = select(found, query, {})
        heads = found.heads(keys)
        for number, head in enumerate(heads):
            assert found.heads(keys[number : number + 1]) == [head]
            assert head.scores == own.get(head.episode_id, {})
        return [head.episode_id for head in heads]

    assert shown() == ["lost", *own]
    assert shown(sort="ne")[1:] == sorted(own, key=lambda name: own[name]["ne"])
    assert shown(sort="ne", down="1")[1:] == sorted(
        own, key=lambda name: -own[name]["ne"]
    )
    solved = ["e9", "e7", "e5", "e3", "e1"]
    assert shown(outcome="success", sort="steps", down="1") == solved
    assert shown(outcome="failure", sort="id") == ["lost", "e0", "e2", "e4", "e6", "e8"]
    assert shown(q="lost") == ["lost"]
    # Both ends of a range belong to it; an episode without the score is in none.
    within = found.index.find(ranges=[("steps", 3.0, 5.0)], sort="id")
    assert [head.episode_id for head in found.heads(within)] == ["e3", "e4", "e5"]


def test_failed_episodes_are_listed_where_no_other_cause_or_ending_is_chosen(
    tmp_path: Path,
) -> None:
    """They have neither, and are no successes; words find them like any other."""
    path = tmp_path / "run"
    make_run(path, ("0", "1"), failed={"lost": recorded_trajectory("lost", "hello")})
    found = rows(path)
    causes = {"0": ("wrong_stop",), "lost": ()}
    numbers = {head: number for number, head in enumerate(found.ids, 1)}

    def keys(**query: str) -> list[str | int]:
        return select(found, query, causes)

    assert keys() == ["lost", *numbers.values()]
    assert keys(cause="wrong_stop") == [numbers["0"]]
    assert keys(ended="stopped") == [
        number
        for name, number in numbers.items()
        if found.run.record(name).trajectory.ended == "stopped"
    ]
    assert keys(ended="failed") == keys(cause="failed") == ["lost"]
    assert keys(outcome="failure")[:1] == ["lost"]
    assert "lost" not in keys(outcome="success")
    assert keys(q="los") == ["lost"]
    assert keys(q="los", cause="wrong_stop") == []


def test_a_run_that_has_gone_on_is_read_as_it_was_listed(tmp_path: Path) -> None:
    run(Plan("random", "houses", limit=3, max_steps=2, out=tmp_path / "run"))
    rows = Rows(RunFolder.read(tmp_path / "run")).refresh()
    listed = rows.ids = rows.ids[:2]  # the index has an episode more by now
    assert set(rows.unsolved()) <= set(listed)
    assert list(rows.outcomes()) == listed


@pytest.mark.parametrize(("before", "seconds"), [(0, 100), (5, 200), (9, 1_000)])
def test_the_time_left_counts_the_episodes_of_this_start(
    folder: Path, before: int, seconds: int
) -> None:
    """Ten of twenty are done after 100 s; those of earlier starts took none of them."""
    path = folder / PROGRESS
    written = 1_000_000.0
    report = {"process": 1, "over": True, "done": 10, "total": 20}
    report |= {"began": written - 100, "before": before, "tokens": 300}
    path.write_text(json.dumps(report), encoding="utf-8")
    os.utime(path, (written, written))
    progress = progress_of(folder)
    assert progress is not None
    left = f"about {duration(seconds)} left"
    assert progress.pace == f"{left} · 3 tokens per second"
    report["before"] = 10
    path.write_text(json.dumps(report), encoding="utf-8")
    progress = progress_of(folder)
    assert progress is not None
    assert "left" not in progress.pace, "none has ended yet"


def test_a_run_is_awaited_while_any_of_its_files_is_new(folder: Path) -> None:
    """Also if its folder is older, as when it resumes; not once it has reported."""
    (folder / PROGRESS).unlink()
    rows(folder)  # which may add files of its own
    files = [*folder.iterdir()]
    assert len(files) > 1
    for path in files:
        os.utime(path, (0, 0))
    assert not is_awaited(rows(folder))
    for path in files:
        os.utime(path)
        assert is_awaited(rows(folder)), path.name
        os.utime(path, (0, 0))
    os.utime(files[0])
    complete = rows(folder)
    complete.done = complete.run.config["episodes_in_split"]
    assert not is_awaited(complete)
    (folder / PROGRESS).write_text("{}", encoding="utf-8")
    assert not is_awaited(rows(folder))


def test_equal_scores_have_an_interval_if_they_are_a_rate(tmp_path: Path) -> None:
    """None of five is not none at all; of equal distances, no interval says anything."""
    path = make_run(tmp_path / "run", ("0",))
    (first,) = records(path)
    scores = {"sr": 0.0, "ne": 3.0}
    episodes = [
        {**first, "episode": f"e{n}", "scores": {**scores, "tl": float(n)}}
        for n in range(5)
    ]
    rewrite(path, episodes)
    found = rows(path)
    run = Overview("run", found, found.row(), found.heads(), Sources(None, {}))
    shown = Page.parse(f"<body>{metrics_part(run)}</body>").text
    metrics = {metric.key: metric for metric in found.metrics}
    values = found.row()["metrics"]
    for key in ("sr", "tl"):
        assert interval(metrics[key], values[key]) in shown, key
    assert shown.count("the same in all 5 episodes") == 1
