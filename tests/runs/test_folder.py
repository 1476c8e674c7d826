"""A run folder is created, resumed, read and refused as it should be."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from helpers.recorded import walk
from helpers.records import forget, lines, members, records, rewrite
from wayword.core.errors import RecordingError, UsageError
from wayword.core.trajectory import Note
from wayword.models.middleware.ledger import LedgerRow
from wayword.runs import config as configs
from wayword.runs.config import Session, Spending, add_session, sessions
from wayword.runs.differences import compare
from wayword.runs.record import EpisodeRecord, Line, RunFolder, merge
from wayword.runs.reports import table

CONFIG: dict[str, Any] = {
    "identity": {
        "agent": "oracle",
        "settings": {"shots": 0, "history": "window"},
        "seed": 0,
    },
    "versions": {"wayword": "0.1.0"},
    "files": {"a": Path("a.json")},
}


def written(folder: Path, episodes: int = 3) -> Path:
    """A finished run of so many episodes."""
    with RunFolder.open(folder, CONFIG) as run:
        for at in range(episodes):
            run.append(walk(f"e{at}"))
    return folder


def test_what_was_written_is_read(tmp_path: Path) -> None:
    run = RunFolder.read(written(tmp_path / "deep" / "run"))
    assert run.config.items() >= {"files": {"a": "a.json"}}.items()
    assert run.config["identity"].items() >= CONFIG["identity"].items()
    records = list(run.records())
    assert [r.episode_id for r in records] == ["e0", "e1", "e2"]
    assert records[0].scores == {"sr": 1.0, "ne": 0.25}
    assert records[0].trajectory.actions("agent") == walk("e0").trajectory.actions(
        "agent"
    )
    assert run.scores() == [(f"e{at}", {"sr": 1.0, "ne": 0.25}) for at in range(3)]
    assert list(run.failures()) == []


def test_every_episode_can_be_read_as_soon_as_it_ended(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        for at in range(3):
            run.append(walk(f"e{at}"))
            assert len(RunFolder.read(tmp_path).scores()) == at + 1


def test_a_resumed_run_knows_what_is_finished(tmp_path: Path) -> None:
    with RunFolder.open(
        written(tmp_path), {**CONFIG, "versions": {"wayword": "newer"}}
    ) as run:
        assert set(run.index.ids()) == {"e0", "e1", "e2"}
        assert "e1" in run
        assert "e3" not in run
        assert run.notices == []
        run.append(walk("e3"))
        assert run.config["versions"] == {"wayword": "0.1.0"}
    assert [episode for episode, _ in RunFolder.read(tmp_path).scores()] == [
        "e0",
        "e1",
        "e2",
        "e3",
    ]


def test_no_episode_is_recorded_twice(tmp_path: Path) -> None:
    with RunFolder.open(written(tmp_path), CONFIG) as run:
        with pytest.raises(RecordingError, match="episode 'e1' is already finished"):
            run.append(walk("e1"))
        run.append(walk("e9"))
        with pytest.raises(RecordingError, match="episode 'e9' is already finished"):
            run.append(walk("e9"))
    assert len(lines(tmp_path)) == 4


def test_a_failed_episode_is_kept_apart_and_played_again(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.fail("e0", "the server said 500", walk("e0").trajectory)
        run.fail("e1", "no answer")
    with RunFolder.open(tmp_path, CONFIG) as run:
        assert set(run.index.ids()) == frozenset()
        run.append(walk("e0"))
    failures = list(RunFolder.read(tmp_path).failures())
    assert [(f.episode_id, f.reason) for f in failures] == [
        ("e0", "the server said 500"),
        ("e1", "no answer"),
    ]
    assert failures[0].trajectory is not None
    assert len(failures[0].trajectory.steps) == 2
    assert failures[1].trajectory is None


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"seed": 1}, "'seed' was 0 and is now 1"),
        (
            {"settings": {"shots": 0, "history": "sum"}},
            "'settings.history' was 'window' and is now",
        ),
        ({"limit": 5}, "'limit' was '(absent)' and is now 5"),
        (
            {"settings": {"shots": 0}},
            "'settings.history' was 'window' and is now '(absent)'",
        ),
    ],
)
def test_another_run_is_refused_by_its_first_difference(
    tmp_path: Path, change: dict[str, Any], line: str
) -> None:
    written(tmp_path)
    before = lines(tmp_path)
    config = {**CONFIG, "identity": {**CONFIG["identity"], **change}}
    with pytest.raises(RecordingError) as refused:
        RunFolder.open(tmp_path, config)
    assert line in str(refused.value)
    assert "give another folder or, to resume that run" in str(refused.value)
    assert lines(tmp_path) == before
    RunFolder.open(tmp_path, CONFIG).close()  # and the lock was let go


OTHER = {**CONFIG, "identity": {**CONFIG["identity"], "agent": "forward"}}


def test_a_run_that_played_and_spent_nothing_is_replaced(tmp_path: Path) -> None:
    """A mistyped model is noticed when it is asked: the folder has its config by then."""
    written(tmp_path, episodes=0)
    add_session(tmp_path, Session("now", 5.0, 0))
    with RunFolder.open(tmp_path, OTHER) as run:
        assert "replaced an earlier run, which had no results" in run.notices[0]
        run.append(walk("e0"))
    assert RunFolder.read(tmp_path).config["identity"]["agent"] == "forward"
    assert list(sessions(tmp_path)) == []
    with pytest.raises(
        RecordingError, match="'agent' was 'forward' and is now 'oracle'"
    ):
        RunFolder.open(tmp_path, CONFIG)


def test_a_run_whose_every_episode_failed_at_no_cost_is_replaced(
    tmp_path: Path,
) -> None:
    written(tmp_path, episodes=0)
    rewrite(tmp_path, [{"episode": "e0", "reason": "no answer"}], "failures.jsonl.gz")
    settled = '{"tokens":9,"dollars":0,"call":"a","open":true}\n{"tokens":0,"dollars":0,"call":"a"}'
    (tmp_path / "calls.jsonl").write_text(f"{settled}\n")
    with RunFolder.open(tmp_path, OTHER) as run:
        assert "replaced an earlier run, which had no results" in run.notices[0]
        assert run.index.failed() == {}
        run.append(walk("e0"))
    assert list(RunFolder.read(tmp_path).failures()) == []


@pytest.mark.parametrize("failed", [False, True])
def test_a_run_that_spent_is_not_replaced(tmp_path: Path, failed: bool) -> None:
    written(tmp_path, episodes=0)
    (tmp_path / "calls.jsonl").write_text('{"tokens":1}\n')
    if failed:
        rewrite(
            tmp_path, [{"episode": "e0", "reason": "no answer"}], "failures.jsonl.gz"
        )
    with pytest.raises(RecordingError, match="contains another run"):
        RunFolder.open(tmp_path, OTHER)


def test_a_damaged_run_hides_no_other_in_the_table(tmp_path: Path) -> None:
    from wayword.runs import Plan, run

    for name in ("a", "b"):
        run(Plan("oracle", "houses", limit=2, out=tmp_path / name))
    (tmp_path / "b" / "run.json").write_text("{")
    left_out: list[str] = []
    assert "oracle" in table([tmp_path], notice=left_out.append)
    assert len(left_out) == 1
    assert left_out[0].startswith(
        f"left out: {tmp_path / 'b' / 'run.json'}: is not JSON"
    )
    with pytest.raises(RecordingError, match="is not JSON"):
        table([tmp_path])
    with pytest.raises(RecordingError, match="is not JSON"):
        table([tmp_path / "b"], notice=left_out.append)


@pytest.mark.parametrize("field", ["family", "models"])
def test_a_run_without_a_field_does_not_hide_the_others(
    tmp_path: Path, field: str
) -> None:
    from wayword.runs import Plan, run

    for name in "ab":
        run(Plan("oracle", "houses", limit=1, out=tmp_path / name))
    file = tmp_path / "b" / "run.json"
    left_out = list[str]()
    config = json.loads(file.read_text())
    del (config if field in config else config["identity"])[field]
    file.write_text(json.dumps(config))
    assert "oracle" in table([tmp_path], notice=left_out.append)
    assert left_out == [
        f"left out: {file}: field '{field}': is missing; give another folder"
    ]


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(RecordingError, match=r"contains 'thesis.tex' but no run.json"):
        RunFolder.open(tmp_path, CONFIG)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_episodes_without_a_config_are_left_alone(tmp_path: Path) -> None:
    (written(tmp_path) / "run.json").unlink()
    with pytest.raises(RecordingError, match=r"no run\.json"):
        RunFolder.open(tmp_path, CONFIG)
    assert len(lines(tmp_path)) == 3


def test_a_start_that_was_killed_before_its_config_starts_again(tmp_path: Path) -> None:
    (tmp_path / ".lock").write_text("1\n")
    (tmp_path / "episodes.jsonl.gz").touch()
    (tmp_path / ".run.json.new").write_text('{"form')
    RunFolder.open(tmp_path, CONFIG).close()
    assert RunFolder.read(tmp_path).scores() == []


@pytest.mark.parametrize("number", [0, 1, 3, None])
def test_a_folder_of_another_format_is_refused(
    tmp_path: Path, number: int | None
) -> None:
    config = json.loads((written(tmp_path) / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**config, "format": number}))
    for use in (RunFolder.read, lambda path: RunFolder.open(path, CONFIG)):
        with pytest.raises(RecordingError, match=f"format {number} is not supported"):
            use(tmp_path)


@pytest.mark.parametrize(
    "content", ["", "{", "[1]", "{}", "\0\0", '{"identity": 3}', "[" * 9999]
)
def test_a_corrupt_config_is_one_clear_line(tmp_path: Path, content: str) -> None:
    (written(tmp_path) / "run.json").write_text(content)
    with pytest.raises(
        RecordingError, match=r"run\.json: (is not JSON|not a run's config)"
    ):
        RunFolder.read(tmp_path)


def test_malformed_fields_of_a_config_are_one_clear_line(tmp_path: Path) -> None:
    path = written(tmp_path) / "run.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "caveats": [{"$float": "x"}]}))
    with pytest.raises(RecordingError, match=r"run\.json: "):
        RunFolder.read(tmp_path)
    path.write_text(json.dumps({**config, "versions": {"$float": "x"}}))
    with pytest.raises(RecordingError, match=r"run\.json: has a malformed value"):
        RunFolder.read(tmp_path)
    with pytest.raises(RecordingError, match="field 'metrics' is malformed"):
        configs.metrics_of({"metrics": [{"key": "sr", "colour": "red"}]})
    own = {"identity": {"dataset": "mine.py:all"}, "clusters": {"colour": "red"}}
    with pytest.raises(RecordingError, match="field 'clusters' is malformed"):
        configs.clusters_of(own)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"episode":"e1","sc', "is not JSON"),
        (b"", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b'{"episode":"e1","scores":{}}', "field 'trajectory' is missing"),
        (b'{"episode":1,"scores":{},"trajectory":{}}', "field 'episode' is missing"),
        (
            b'{"episode":"e1","scores":{"$float":"x"},"trajectory":{}}',
            "field 'scores' has invalid values",
        ),
        (
            b'{"episode":"e","scores":{"sr":"1"},"trajectory":{}}',
            "field 'scores' has invalid values",
        ),
        (None, "duplicate of episode 'e0'"),
    ],
)
def test_a_corrupt_record_is_named_and_the_others_can_be_copied(
    tmp_path: Path, content: bytes | None, problem: str
) -> None:
    folder = written(tmp_path / "run")
    first, _, third = lines(folder)
    rewrite(folder, [first, first if content is None else content, third])
    for use in (
        lambda: RunFolder.open(folder, CONFIG),
        lambda: RunFolder.read(folder).scores(),
    ):
        with pytest.raises(RecordingError) as refused:
            use()
        assert f"{folder}/episodes.jsonl.gz: record 2: {problem}" in str(refused.value)
        assert f"`wayword merge {folder} --out NEW` copies the intact records" in str(
            refused.value
        )
        assert "\n" not in str(refused.value)
    merged = merge([folder], tmp_path / "new")
    assert merged.episodes == 2
    (notice,) = merged.notices
    assert notice.startswith(f"left out: {folder}/episodes.jsonl.gz: record 2: ")
    with RunFolder.open(tmp_path / "new", CONFIG) as run:
        assert set(run.index.ids()) == {"e0", "e2"}


@pytest.mark.parametrize("at", [0, 3, 17, 21, 24, 60, -9, -3])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_damaged_byte_is_named_and_every_other_record_is_copied(
    tmp_path: Path, at: int, number: int
) -> None:
    """In the first, a middle and the last record: header, size, text, checksum."""
    folder = written(tmp_path / "run")
    forget()
    found = members(folder)
    damaged = bytearray(found[number])
    damaged[at] ^= 0x10
    found[number] = bytes(damaged)
    (folder / "episodes.jsonl.gz").write_bytes(b"".join(found))
    for use in (
        lambda: RunFolder.open(folder, CONFIG),
        lambda: RunFolder.read(folder).scores(),
        lambda: list(RunFolder.read(folder).records()),
    ):
        with pytest.raises(
            RecordingError, match=rf"record {number + 1}: is damaged: [^\n]*$"
        ):
            use()
    merged = merge([folder], tmp_path / "new")
    left = [f"e{each}" for each in range(3) if each != number]
    assert [name for name, _ in RunFolder.read(tmp_path / "new").scores()] == left
    assert f"record {number + 1} is damaged" in merged.notices[0]


def test_a_record_that_was_replaced_by_one_of_the_same_size_is_noticed(
    tmp_path: Path,
) -> None:
    found = members(written(tmp_path))
    assert len(found[0]) == len(found[1])
    time.sleep(0.02)  # file systems note times in ticks
    (tmp_path / "episodes.jsonl.gz").write_bytes(found[0] + found[0] + found[2])
    with pytest.raises(RecordingError, match="record 2: duplicate of episode 'e0'"):
        RunFolder.read(tmp_path).scores()


def test_a_corrupt_trajectory_is_named_when_it_is_read(tmp_path: Path) -> None:
    first, second, third = lines(written(tmp_path))
    second = second.replace(b'"pose"', b'"poes"', 1)
    rewrite(tmp_path, [first, second, third])
    read = RunFolder.read(tmp_path).records()
    assert next(read).episode_id == "e0"
    with pytest.raises(
        RecordingError, match=r"record 2: field 'trajectory' is not a trajectory"
    ):
        next(read)


def test_scores_are_read_from_lines_that_another_tool_rewrote(tmp_path: Path) -> None:
    scores = RunFolder.read(written(tmp_path)).scores()
    rewrite(
        tmp_path,
        [dict(sorted(each.items(), reverse=True)) for each in records(tmp_path)],
    )
    assert RunFolder.read(tmp_path).scores() == scores


def test_scores_hold_awkward_names_and_numbers(tmp_path: Path) -> None:
    scores = {'a","trajectory":{': math.inf, "trajectory": 0.5, "$x": 1.0}
    with RunFolder.open(tmp_path, CONFIG) as run:
        run.append(EpisodeRecord('"},\n', scores, walk("e").trajectory))
        run.append(EpisodeRecord("\ud800", {"ne": math.nan}, walk("e").trajectory))
    recorded = RunFolder.read(tmp_path)
    (first, second) = recorded.scores()
    assert first == ('"},\n', scores)
    assert second[0] == "\ud800"
    assert math.isnan(second[1]["ne"])
    assert [r.episode_id for r in recorded.records()] == ['"},\n', "\ud800"]


def test_what_cannot_be_written_leaves_no_trace(tmp_path: Path) -> None:
    record = walk("e1")
    record.trajectory.steps[0].pose = {"place": object()}
    with RunFolder.open(tmp_path, CONFIG) as run:
        with pytest.raises(
            RecordingError, match=r"episode 'e1': a value of type 'builtins\.object'"
        ):
            run.append(record)
        run.append(walk("e1"))
    assert len(lines(tmp_path)) == 1


def test_a_failed_trajectory_is_not_taken_for_a_finished_one(tmp_path: Path) -> None:
    record = walk("e1")
    record.trajectory.ended = "failed"
    with RunFolder.open(tmp_path, CONFIG) as run:
        with pytest.raises(RecordingError, match="episode 'e1' failed; record it"):
            run.append(record)
        assert "e1" not in run


def test_a_closed_folder_takes_no_more(tmp_path: Path) -> None:
    run = RunFolder.open(tmp_path, CONFIG)
    run.close()
    run.close()
    with pytest.raises(RecordingError, match="the run folder is closed"):
        run.append(walk("e0"))


def test_a_second_writer_is_shown_who_the_first_is(tmp_path: Path) -> None:
    program = (
        "import sys; from wayword.runs import RunFolder; "
        "run = RunFolder.open(sys.argv[1], {'identity': {}}); "
        "print('ready', flush=True); sys.stdin.read(); run.close()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(
            RecordingError,
            match=rf"process {other.pid} on \S+ is writing to this run folder",
        ):
            RunFolder.open(tmp_path, {"identity": {}})
        assert RunFolder.read(tmp_path).scores() == []  # readers need no lock
        other.stdin.close()
    RunFolder.open(tmp_path, {"identity": {}}).close()


def test_two_writers_in_one_process_are_refused_too(tmp_path: Path) -> None:
    with (
        RunFolder.open(tmp_path, CONFIG),
        pytest.raises(RecordingError, match="is writing to this"),
    ):
        RunFolder.open(tmp_path, CONFIG)


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "HF_TOKEN", "MY_SECRET", "my_token"]
)
@pytest.mark.parametrize(
    "config",
    [
        {"identity": {"model": {"key": "hunter2-hunter2"}}},
        {"identity": {}, "models": ["x", "https://host/?key=hunter2-hunter2"]},
        {"identity": {"hunter2-hunter2": 1}},
    ],
)
def test_a_secret_is_refused_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, config: dict[str, Any]
) -> None:
    monkeypatch.setenv(name, "hunter2-hunter2")
    with pytest.raises(
        RecordingError, match=rf"contains the secret \${name}"
    ) as refused:
        RunFolder.open(tmp_path / "run", config)
    assert "hunter2-hunter2" not in str(refused.value)
    assert not (tmp_path / "run").exists()


def test_a_short_secret_is_refused_as_a_value_and_allowed_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", "or")
    config = {"identity": {"agent": "oracle", "prompt": "left or right"}}
    RunFolder.open(tmp_path / "words", config).close()
    config["identity"]["prompt"] = "or"
    with pytest.raises(
        RecordingError, match=r"'identity\.prompt' of the config contains"
    ):
        RunFolder.open(tmp_path / "value", config)


def test_a_writer_without_a_name_is_unknown(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path, CONFIG):
        (tmp_path / ".lock").write_text("\n")
        with pytest.raises(RecordingError, match=r"process \(unknown\) is writing"):
            RunFolder.open(tmp_path, CONFIG)


def test_a_damaged_failure_is_named_by_its_number(tmp_path: Path) -> None:
    written(tmp_path)
    rows = [{"episode": "e8", "reason": "x"}, {"episode": "e9", "trajectory": {}}]
    rewrite(tmp_path, rows, "failures.jsonl.gz")
    run = RunFolder.read(tmp_path)
    assert run.record("e8").trajectory.error == "x"
    with pytest.raises(RecordingError, match=r"failures.*record 2: field 'trajectory'"):
        run.record("e9")


def test_an_encoded_episode_states_its_steps_and_notes() -> None:
    record = walk("e0", steps=3)
    record.trajectory.steps[1].notes.append(Note("cut_off", {}))
    line = Line.of(record)
    assert (line.episode_id, line.ended, line.steps) == ("e0", "stopped", 3)
    assert line.notes == {"cut_off"}


def test_a_config_without_an_identity_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RecordingError, match="must have a mapping in the field 'identity'"
    ):
        RunFolder.open(tmp_path, {"agent": "oracle"})


def test_reading_what_is_no_run_folder(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "run.json").write_text("{}")
    (tmp_path / "learning.jsonl").write_text("{}")
    cases = {
        tmp_path: "not a run folder: it has no run.json; name one of the runs in it: inside",
        tmp_path / "none": "none: no such folder",
        tmp_path / "inside" / "run.json": "a file, not a run folder",
        tmp_path
        / "learning.jsonl": "lines of JSON; `wayword plot --kind curve` draws training logs",
    }
    for path, message in cases.items():
        with pytest.raises(RecordingError, match=re.escape(message)):
            RunFolder.read(path)


def test_a_stranger_can_read_it_as_plain_json(tmp_path: Path) -> None:
    """What the package's docstring shows for jq holds for any JSON reader."""
    first = json.loads(lines(written(tmp_path))[0])
    assert list(first) == ["episode", "scores", "trajectory"]
    step = first["trajectory"]["steps"][0]
    assert step["decision"] == {"action": "goto", "arguments": ["p1"]}
    assert step["pose"] == {"place": "p1"}
    config = json.loads((tmp_path / "run.json").read_text())
    assert config["identity"] == CONFIG["identity"]
    assert config["format"] == 2


def test_a_run_without_a_finished_episode_cannot_be_compared(tmp_path: Path) -> None:
    for name, episodes in (("one", 2), ("none", 0)):
        with RunFolder.open(tmp_path / name, {**CONFIG, "family": "indoor"}) as run:
            for at in range(episodes):
                run.append(walk(f"e{at}"))
    with pytest.raises(UsageError, match="none has no finished episodes"):
        compare([tmp_path / "one", tmp_path / "none"], keys=["sr"])


@pytest.mark.parametrize("name", ["failures.jsonl.gz", "sessions.jsonl", "calls.jsonl"])
def test_a_replaced_run_leaves_no_file_to_the_next(tmp_path: Path, name: str) -> None:
    written(tmp_path, episodes=0)
    if name == "failures.jsonl.gz":
        rewrite(tmp_path, [{"episode": "e0", "reason": "no answer"}], name)
    elif name == "sessions.jsonl":
        add_session(tmp_path, Session("now", 5.0, 0))
    else:
        (tmp_path / name).write_text('{"tokens":0,"dollars":0}\n')
    with RunFolder.open(tmp_path, OTHER):
        file = tmp_path / name
        assert not file.exists() or not file.stat().st_size


def test_failures_are_listed_in_the_order_of_their_latest(tmp_path: Path) -> None:
    written(tmp_path, episodes=0)
    rows = [
        {"episode": name, "reason": reason}
        for name, reason in (("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"))
    ]
    rewrite(tmp_path, rows, "failures.jsonl.gz")
    index = RunFolder.read(tmp_path).index
    assert list(index.failed().items()) == [("b", "2"), ("a", "3"), ("c", "4")]
    assert index.tried() == {"a", "b", "c"}
    found = [(name, index.failure(name)) for name in ("a", "b", "x")]
    assert [(name, place and place[0]) for name, place in found] == [
        ("a", 3), ("b", 2), ("x", None)
    ]  # fmt: skip


def test_a_finished_record_whose_trajectory_failed_is_refused(tmp_path: Path) -> None:
    failed = walk("e0")
    failed.trajectory.ended = "failed"
    with RunFolder.open(tmp_path, CONFIG) as run:
        with pytest.raises(RecordingError, match=r"record it with fail\(\)"):
            run.append(failed)
        run.fail("e0", "an error", failed.trajectory)
        assert run.index.ids() == []
        assert run.index.failed() == {"e0": "an error"}


RESULTS: dict[str, Any] = {
    "nothing": lambda run: None,
    "a session": lambda run: add_session(run.path, Session("", 1.0, 0)),
    "an episode": lambda run: run.append(walk("e0")),
    "a failure": lambda run: run.fail("e0", "no connection"),
    "a bill": lambda run: billed(run.path, LedgerRow(7, 0.25)),
    "tokens without a price": lambda run: billed(run.path, LedgerRow(7, None)),
}


def billed(folder: Path, row: LedgerRow) -> None:
    with closing(Spending(folder)) as spending:
        spending.write(row)


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("error", [None, UsageError, RecordingError, KeyboardInterrupt])
def test_only_a_new_folder_of_a_refused_run_without_results_is_removed(
    tmp_path: Path, error: type[BaseException] | None, is_new: bool, result: str
) -> None:
    path = tmp_path / "run"
    if not is_new:
        path.mkdir()
    with suppress(*filter(None, [error])), RunFolder.open(path, CONFIG) as run:
        RESULTS[result](run)
        if error is not None:
            raise error("wrong")
    is_empty = result in ("nothing", "a session")
    assert path.exists() == (not (is_new and is_empty and error is UsageError))
