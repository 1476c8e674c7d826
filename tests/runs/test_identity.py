"""What makes a run another run: files and models behind names, not only the names."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.small_scan import write_scan
from wayword.core.errors import RecordingError, UsageError
from wayword.runs import config as configs
from wayword.runs.config import pictures_checksum
from wayword.runs.identity import _files_checksum, identity, shown_split
from wayword.runs.opening import model_choices, open_agent, open_dataset, open_models
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run

MINE = "from wayword.agents.baselines.simple import RandomAgent\nagent = RandomAgent\n"


def test_an_edited_agent_file_is_another_run(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    plan = Plan(str(mine), "houses", limit=1, out=tmp_path / "run")
    run(plan)
    run(plan)
    mine.write_text(f"{MINE}# edited\n")
    with pytest.raises(RecordingError, match=r"mine\.py has been edited"):
        run(plan)


def test_an_edited_dataset_file_is_another_run(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("from wayword.datasets.houses import Houses\ndataset = Houses\n")
    plan = Plan("random", str(mine), limit=1, out=tmp_path / "run")
    run(plan)
    run(plan)
    mine.write_text(mine.read_text() + "# edited\n")
    with pytest.raises(RecordingError, match=r"mine\.py has been edited"):
        run(plan)


MODEL = """
from dataclasses import dataclass
from wayword.models.scripted import ScriptedModel

@dataclass(frozen=True)
class Settings:
    loud: bool = False

class Mine(ScriptedModel):
    Settings = Settings

    def __init__(self, name, settings):
        super().__init__(name)

model = Mine
"""


def test_an_edited_model_file_or_another_setting_of_it_is_another_run(
    tmp_path: Path,
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(MODEL)
    plan = Plan(
        "act",
        "houses",
        model=f"{mine}:first",
        limit=1,
        max_steps=1,
        out=tmp_path / "run",
    )
    run(plan)
    run(plan)
    with pytest.raises(RecordingError, match=r"model_identity.*loud=False.*loud=True"):
        run(replace(plan, settings={"model": {"loud": True}}))
    mine.write_text(f"{MODEL}# edited\n")
    with pytest.raises(RecordingError, match=r"model_identity.*its settings and files"):
        run(plan)


SEER = """
from dataclasses import dataclass

from wayword.core.perceiver import Percept, Perceiver


@dataclass(frozen=True)
class Settings:
    texts: str = ""


class Blank(Perceiver):
    Settings = Settings
    name = "blank"

    def __init__(self, settings, own):
        self.own = own.name

    def perceive(self, scene, place):
        return Percept((), f"{self.own} is hidden.")


perceiver = Blank
"""


def test_a_perceiver_of_ones_own_replaces_the_datasets(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    words = tmp_path / "words.txt"
    mine.write_text(SEER)
    words.write_text("one")
    settings = {"perceiver": {"name": str(mine), "texts": str(words)}}
    plan = Plan("random", "houses", settings=settings, limit=1, out=tmp_path / "run")
    seen = open_dataset(plan).perceiver()
    assert seen is not None
    assert seen.perceive("house_0", "anywhere").summary == "symbolic is hidden."
    run(plan)
    config = RunFolder.read(tmp_path / "run").config
    assert config["perception"] == "blank"
    assert config["identity"]["perceiver"]["settings"] == {"texts": str(words)}
    mine.write_text(f"{SEER}# edited\n")
    with pytest.raises(RecordingError, match=r"perceiver\.checksum"):
        run(plan)
    mine.write_text(SEER)
    run(plan)
    words.write_text("two")
    with pytest.raises(RecordingError, match=r"perceiver\.data_checksum"):
        run(plan)


def test_what_is_no_perceiver_is_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("class Duck:\n    pass\n\n\nperceiver = Duck\n")
    with pytest.raises(UsageError, match="must be a subclass of wayword"):
        open_dataset(Plan("random", "houses", settings={"perceiver": str(mine)}))
    with pytest.raises(UsageError, match=r"perceiver\.name"):
        open_dataset(Plan("random", "houses", settings={"perceiver": {"words": 3}}))


def test_an_edited_prompt_is_another_run(tmp_path: Path) -> None:
    texts = tmp_path / "prompts"
    texts.mkdir()
    (texts / "principle.txt").write_text("Walk.")
    plan = Plan(
        "navgpt", "houses", "scripted:first", {"prompts": str(texts)},
        limit=1, max_steps=1, out=tmp_path / "run",
    )  # fmt: skip
    run(plan)
    (texts / "principle.txt").write_text("Walk on.")
    with pytest.raises(RecordingError, match="prompts_checksum"):
        run(plan)


def test_another_server_is_another_run_and_another_port_of_this_machine_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def identity_at(address: str) -> object:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        plan = Plan("navgpt", "houses", "openai:m")
        dataset = open_dataset(plan)
        agent = open_agent(plan, dataset)
        models = open_models(plan, model_choices(plan, agent))
        return identity(plan, dataset, agent, models, "")["model_identity"]

    here = identity_at("http://127.0.0.1:8000/v1")
    for host in ("127.0.0.1", "localhost", "[::1]"):
        assert identity_at(f"http://{host}:9000/v1") == here
    for address in ("https://models.example/v1", "http://localhost.example:8000/v1"):
        assert identity_at(address) != here


def test_a_server_of_this_machine_that_moved_is_named() -> None:
    before = {"servers": {"main": "localhost:1", "judge": "localhost:2", "old": "x:3"}}
    now = {"servers": {"main": "localhost:9", "judge": "localhost:2", "new": "x:4"}}
    (notice,) = configs.moved_servers(before, now)
    assert "the role 'main' was at 'localhost:1'" in notice
    assert "is at 'localhost:9' now" in notice
    for without in ({}, {"servers": None}):
        assert configs.moved_servers(without, now) == []
        assert configs.moved_servers(before, without) == []


@pytest.mark.parametrize(
    ("recorded", "current", "difference"),
    [
        ({"a": 1}, {"a": 1, "b": {"c": 2}}, ("b.c", configs.ABSENT, 2)),
        ({"a": 1, "b": {"c": 2}}, {"a": 1}, ("b.c", 2, configs.ABSENT)),
        ({"a": 1, "b": {}, "c": "", "d": None}, {"a": 1}, None),
        ({"a": 0}, {}, ("a", 0, configs.ABSENT)),
        ({"b": 2, "a": 1}, {"a": 3, "b": 4}, ("a", 1, 3)),
        ({"a": [1]}, {"a": [1, 2]}, ("a", [1], [1, 2])),
        ({"wayword": "0.1.0"}, {"wayword": "0.1.4"}, None),
        ({"wayword": "0.1.0"}, {"wayword": "0.2.0"}, ("wayword", "0.1.0", "0.2.0")),
        ({"version": "0.1.0"}, {"version": "0.1.4"}, ("version", "0.1.0", "0.1.4")),
    ],
)
def test_identities_differ_in_a_field_that_either_states(
    recorded: Any, current: Any, difference: Any
) -> None:
    found = configs.difference({"identity": recorded}, {"identity": current})
    assert found == difference


@pytest.mark.parametrize(
    ("stated", "limit"), [(None, None), (0, None), (-3, None), (7, 7)]
)
def test_a_limit_of_steps_is_positive_or_unknown(
    stated: int | None, limit: int | None
) -> None:
    assert configs.step_limit({"identity": {"max_steps": stated}}) == limit


def test_a_mistyped_model_leaves_no_folder_behind(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(UsageError, match="local:smolm2"):
        run(Plan("navgpt", "houses", "local:smolm2", out=out))
    assert not out.exists()


def test_a_mistyped_second_model_leaves_no_cache_open(tmp_path: Path) -> None:
    plan = Plan("navgpt", "houses", cache=tmp_path / "c.db")
    with pytest.raises(UsageError, match="local:smolm2"):
        open_models(
            plan, {"main": ("scripted:first", {}), "summary": ("local:smolm2", {})}
        )
    assert not (tmp_path / "c.db").exists()


def test_roles_have_models_and_settings_of_their_own(tmp_path: Path) -> None:
    summary = {"name": "scripted:noise", "length": 9}
    settings = {"summaries": "online", "models": {"summary": summary}}
    plan = Plan(
        "navgpt", "houses", "scripted:first", settings,
        limit=1, max_steps=2, out=tmp_path / "run",
    )  # fmt: skip
    (record,) = RunFolder.read(run(plan).path).records()
    roles = [call.role for call in record.trajectory.calls()]
    assert roles[:2] == ["main", "summary"]
    with pytest.raises(UsageError, match="did you mean 'summary'"):
        run(
            Plan(
                "navgpt",
                "houses",
                "scripted:first",
                {"models": {"sumary": "scripted:first"}},
            )
        )


def test_what_agents_note_is_shown_at_the_end(tmp_path: Path) -> None:
    plan = Plan(
        "navgpt", "houses", "scripted:first", {"context": 700},
        limit=2, max_steps=8, out=tmp_path / "run",
    )  # fmt: skip
    output = run(plan).notices
    assert any("history dropped" in line for line in output)


SCORED = """
from dataclasses import dataclass

from wayword.agents.baselines.simple import RandomAgent


@dataclass(frozen=True)
class Settings:
    scores_file: str = ""
    steps: int = 2


class Scored(RandomAgent):
    Settings = Settings


agent = Scored
"""


def test_an_edited_file_that_a_setting_names_is_another_run(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    scores = tmp_path / "scores.jsonl"
    mine.write_text(SCORED)
    scores.write_text("1\n")
    settings = {"scores_file": str(scores)}
    plan = Plan(str(mine), "houses", settings=settings, limit=1, out=tmp_path / "run")
    run(plan)
    run(plan)
    scores.write_text("2\n")
    with pytest.raises(RecordingError, match="files_checksum"):
        run(plan)


def test_a_split_is_shown_with_the_file_that_replaces_it_and_its_perturbations() -> (
    None
):
    replaced: Any = SimpleNamespace(replaced_by="mine.json", split="train")
    usual: Any = SimpleNamespace(replaced_by="", split="train")
    plan = Plan("random", "r2r:test")
    assert shown_split(plan, usual) == "r2r:test"
    assert shown_split(Plan("random", "r2r"), usual) == "r2r:train"
    assert shown_split(plan, replaced) == "r2r:mine.json"
    rates = {"perturb": {"captions_wrong": 0.5}}
    perturbed = Plan("random", "r2r:test", settings=rates)
    assert shown_split(perturbed, replaced) == "r2r:mine.json, captions_wrong=0.5"


def test_files_are_identified_by_the_setting_that_names_them(tmp_path: Path) -> None:
    for name, text in (("one", "1"), ("two", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "scores.json").write_text(text)
    one = str(tmp_path / "one" / "scores.json")
    two = str(tmp_path / "two" / "scores.json")
    checksum = _files_checksum({"first": one, "second": two})
    assert checksum != _files_checksum({"first": two, "second": one})
    assert checksum != _files_checksum({"first": two, "second": two})
    assert checksum != _files_checksum({"first": one})
    assert _files_checksum({"first": one}) != _files_checksum({"second": one})
    assert checksum == _files_checksum({"first": one, "second": two, "word": "robot"})
    assert _files_checksum({"first": one}, except_="first") == ""
    assert _files_checksum({"long": "x" * 5000, "number": 3, "none": None}) == ""


def test_pictures_drawn_again_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    scan = tmp_path / "pictures" / "scan"
    scan.mkdir(parents=True)
    one = scan / "a.jpg"
    other = scan / "b.jpg"
    one.write_bytes(bytes(30_000))
    before = pictures_checksum(scan, [one])
    assert before == pictures_checksum(scan, [one]) != ""
    # The same size, another middle
    one.write_bytes(bytes(15_000) + b"x" + bytes(14_999))
    changed = pictures_checksum(scan, [one])
    assert changed != before
    one.rename(other)
    assert pictures_checksum(scan, [other]) not in (
        before,
        changed,
        pictures_checksum(scan, []),
    )


def test_a_folder_of_pictures_is_identified_by_a_checksum_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    write_scan(tmp_path / "data")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "a.jpg").write_bytes(b"x")

    def found(**settings: str) -> dict[str, object]:
        plan = Plan(
            "random", "r2r", settings={"dataset": settings}, data=tmp_path / "data"
        )
        dataset = open_dataset(plan)
        return identity(plan, dataset, open_agent(plan, dataset), {}, "")

    shown = found(pictures=str(pictures))
    assert shown["pictures_checksum"]
    assert "dataset_files" not in shown, "they are not read twice"
    assert "pictures_checksum" not in found()


def test_pictures_that_stay_as_they_are_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    picture = tmp_path / "a.jpg"
    picture.write_bytes(b"before")
    os.utime(picture, (1_000, 1_000))
    before = pictures_checksum(tmp_path, [picture])

    def refuse(path: Path) -> str:
        raise AssertionError(f"{path} is read again")

    monkeypatch.setattr("wayword.runs.config.sha256", refuse)
    assert pictures_checksum(tmp_path, [picture]) == before
    os.utime(picture, (2_000, 2_000))
    with pytest.raises(AssertionError, match="read again"):
        pictures_checksum(tmp_path, [picture])


def test_pictures_that_were_written_just_now_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another write within a tick of the file system leaves size and time as they are."""
    monkeypatch.setenv("WAYWORD_CACHE", str(tmp_path / "cache"))
    picture = tmp_path / "a.jpg"
    picture.write_bytes(b"one")
    first = picture.stat().st_mtime_ns
    before = pictures_checksum(tmp_path, [picture])
    picture.write_bytes(b"two")
    os.utime(picture, ns=(first, first))
    assert pictures_checksum(tmp_path, [picture]) != before
