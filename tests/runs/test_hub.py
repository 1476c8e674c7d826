"""Runs in the Hugging Face layout."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image as Pillow

from helpers.records import records, rewrite
from helpers.tours import walked_tour
from helpers.two_in_a_flat import named
from wayword.core.errors import RecordingError, UsageError
from wayword.runs import Plan, run
from wayword.runs.export import Export, publish
from wayword.runs.opening import dataset_of
from wayword.runs.record import RunFolder


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = {"dataset": {"houses": 1, "episodes": 3}}
    out = tmp_path_factory.mktemp("hub") / "gold"
    return run(Plan("gold", "houses:train", settings=settings, out=out)).path


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_card_names_the_tables_and_they_are_there(
    played: Path, tmp_path: Path
) -> None:
    out = tmp_path / "made"
    card = publish([played], out, Export())
    text = (out / "README.md").read_text(encoding="utf-8")
    about = yaml.safe_load(text.split("---\n")[1])
    assert [one["config_name"] for one in about["configs"]] == [
        "chat",
        "completion",
        "steps",
    ]
    files = [out / one["data_files"][0]["path"] for one in about["configs"]]
    chat, completion, steps = map(rows, files)
    assert len(chat) == card.episodes == 3
    assert len(completion) == card.decisions == len(steps)
    assert steps[0]["status"] == "ok"
    assert str(steps[0]["action"]).startswith("goto[")
    assert "| gold |" in text
    assert sorted(path.name for path in (out / "data").iterdir()) == sorted(
        f.name for f in files
    )


def test_a_folder_with_something_in_it_is_left_alone(
    played: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RecordingError, match="give a new folder"):
        publish([played], tmp_path, Export())


@pytest.mark.skipif(
    importlib.util.find_spec("duckdb") is not None, reason="duckdb is there"
)
def test_parquet_without_duckdb_says_what_to_install(
    played: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"extra-parquet"):
        publish([played], tmp_path / "made", Export(), parquet=True)


def test_pictures_are_a_table_of_their_own(tmp_path: Path) -> None:
    out = tmp_path / "made"
    run = walked_tour(tmp_path)
    publish([run], out, Export(trusted=[tmp_path / "tour"]))
    table = rows(out / "data" / "trajectory.jsonl")
    assert [row["action"] for row in table] == ["goto[lab]", "stop"]
    assert {row["instruction"] for row in table} == {"Go to the lab."}
    # Red in the hall, blue in the lab
    for row, channel in zip(table, (0, 2), strict=True):
        pixels = np.asarray(Pillow.open(out / str(row["image"])))
        assert pixels.mean(axis=(0, 1)).argmax() == channel
    assert "| `trajectory` | 2 |" in (out / "README.md").read_text(encoding="utf-8")


def test_a_picture_is_the_view_of_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the place, the heading and the elevation that the actor had before it."""
    path = walked_tour(tmp_path)
    looks = [("hall", 90.0, 30.0), ("lab", 180.0, -15.0)]
    changed = records(path)
    for step, (place, heading, elevation) in zip(
        changed[0]["trajectory"]["steps"], looks, strict=True
    ):
        assert step["observation"]["viewpoint"] == place
        step["observation"] |= {"heading": heading, "elevation": elevation}
    rewrite(path, changed)
    trusted = [tmp_path / "tour"]
    camera: Any = dataset_of(RunFolder.read(path), trusted=trusted).perceiver()
    taken = []
    picture = type(camera).picture

    def watched(
        self: Any, scene: str, place: str, heading: float, width: float, up: float
    ) -> Any:
        taken.append((place, heading, up))
        return picture(self, scene, place, heading, width, up)

    monkeypatch.setattr(type(camera), "picture", watched)
    publish([path], tmp_path / "made", Export(trusted=trusted))
    assert taken == looks


@pytest.mark.parametrize("actors", [(), ("ann",), ("bob",), ("ann", "bob")])
def test_a_step_has_its_number_in_the_episode_also_if_others_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, actors: tuple[str, ...]
) -> None:
    named(monkeypatch)
    path = run(Plan("random", "flat", limit=1, max_steps=4, out=tmp_path / "run")).path
    publish([path], tmp_path / "made", Export(everything=True, actors=actors))
    (record,) = RunFolder.read(path).records()
    expected = [
        (number, step.actor, step.feedback.status)
        for number, step in enumerate(record.trajectory.steps, 1)
        if not actors or step.actor in actors
    ]
    table = rows(tmp_path / "made" / "data" / "steps.jsonl")
    assert [(row["step"], row["actor"], row["status"]) for row in table] == expected


def test_without_pictures_there_is_no_such_table(played: Path, tmp_path: Path) -> None:
    publish([played], tmp_path / "made", Export())
    assert not (tmp_path / "made" / "images").exists()
    assert "trajectory" not in (tmp_path / "made" / "README.md").read_text(
        encoding="utf-8"
    )
