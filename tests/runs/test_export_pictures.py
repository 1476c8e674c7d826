"""Training data of runs with pictures: files of what the model saw, in the order of the prompts."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.looking import answering, drawn, pictures_of
from wayword.core.errors import UsageError
from wayword.core.sight import pixel_hash
from wayword.runs.calls import export_calls
from wayword.runs.export import Export, export, publish
from wayword.runs.plan import Plan
from wayword.runs.running import run

pillow = pytest.importorskip("PIL.Image")
pytest.importorskip("minigrid")
GRID = {"levels": "GoToLocalS8N7", "episodes": 2, "actions": "high"}
ANSWERS = ["goto[1]", "goto[2]", "nonsense"]


def plan(address: str, out: Path, agent: str = "react", **more: Any) -> Plan:
    settings = {
        "model": {"base_url": address},
        "dataset": GRID,
        "eyes": "pictures",
        "picture_size": "112x112",
        **more,
    }
    return Plan(
        agent, "grounding", "openai:looker", settings, max_steps=3, out=out, retries=0
    )


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def hashes(row: dict[str, Any], folder: Path) -> list[str]:
    """The hashes of the pixels of a row's files."""
    found = []
    for name in row["images"]:
        picture = pillow.open(io.BytesIO((folder / name).read_bytes()))
        found.append(pixel_hash(np.asarray(picture.convert("RGB"))))
    return found


def test_calls_come_with_the_files_of_their_pictures(tmp_path: Path) -> None:
    with answering(ANSWERS) as server:
        run(plan(server.address, tmp_path / "run", picture_history=1))
    card = export_calls([tmp_path / "run"], tmp_path / "calls", {}, everything=True)
    exported = rows(tmp_path / "calls" / "kto.jsonl")
    sent = [
        [pixel_hash(picture) for picture in pictures_of(body)] for body in server.asked
    ]
    assert sorted(hashes(row, tmp_path / "calls") for row in exported) == sorted(sent)
    for row in exported:
        text = "".join(message["content"] for message in row["messages"])
        assert text.count("<image>") == len(row["images"])
    # The second prompt of an episode still shows the first look.
    assert {len(row["images"]) for row in exported} == {1, 2}
    assert card.pictures == len(list((tmp_path / "calls" / "images").iterdir()))
    assert "with pictures" not in card.left_out
    info = json.loads((tmp_path / "calls" / "dataset_info.json").read_text())
    assert info["wayword_sft"]["columns"]["images"] == "images"


def test_equal_words_with_other_pictures_are_other_prompts(tmp_path: Path) -> None:
    for name, control in (("seen", ""), ("blank", "blank")):
        with answering(["goto[1]"] if control else ["turn_left"]) as server:
            more = {"picture_control": control} if control else {}
            run(plan(server.address, tmp_path / name, **more))
    runs = [tmp_path / "seen", tmp_path / "blank"]
    export_calls(runs, tmp_path / "calls", {"by": "steps"}, everything=True)
    for pair in rows(tmp_path / "calls" / "dpo.jsonl"):
        assert len(pair["images"]) == 1
    shown = {row["run"]: row["images"][0] for row in rows(tmp_path / "calls/kto.jsonl")}
    assert shown["seen"] != shown["blank"]
    assert rows(tmp_path / "calls" / "dpo.jsonl") == []


def test_a_text_that_looks_like_a_picture_is_none(tmp_path: Path) -> None:
    with answering(["goto[<image>]"]) as server:
        run(plan(server.address, tmp_path / "run"))
    export_calls([tmp_path / "run"], tmp_path / "calls", {}, everything=True)
    for row in rows(tmp_path / "calls" / "kto.jsonl"):
        text = "".join(message["content"] for message in row["messages"])
        assert text.count("<image>") == len(row["images"]) == 1


@pytest.mark.parametrize("form", ["steps", "chat"])
def test_an_experts_walk_is_labeled_in_pictures(tmp_path: Path, form: Any) -> None:
    chosen = plan("", tmp_path / "gold", "expert")
    run(
        Plan(
            "expert", "grounding", "", {**chosen.settings, "model": {}}, out=chosen.out
        )
    )
    options = Export("act", form, everything=True)
    card = export([tmp_path / "gold"], tmp_path / "train.jsonl", options)
    exported = rows(tmp_path / "train.jsonl")
    shown = [hashes(row, tmp_path) for row in exported]
    assert card.pictures == len(list((tmp_path / "train.images").iterdir())) > 1
    for row in exported:
        messages = row.get("messages") or [*row["prompt"], *row["completion"]]
        text = "".join(message["content"] for message in messages)
        assert text.count("<image>") == len(row["images"])
        # Numbers stand for the names that pictures show.
        answers = [each["content"] for each in messages if each["role"] == "assistant"]
        assert not any("_1" in answer for answer in answers)
    assert len(shown) == (card.decisions if form == "steps" else card.episodes)
    if form == "steps":
        with answering(["goto[1]"]) as server:
            seen = plan(server.address, tmp_path / "seen", "act")
            run(seen)
        first = drawn(tmp_path / "seen", seen)[0]
        assert first in shown


def test_layouts_without_pictures_refuse_them(tmp_path: Path) -> None:
    chosen = plan("", tmp_path / "gold", "expert")
    run(
        Plan(
            "expert", "grounding", "", {**chosen.settings, "model": {}}, out=chosen.out
        )
    )
    with pytest.raises(UsageError, match="use --format chat or --format steps"):
        publish([tmp_path / "gold"], tmp_path / "hub", Export("act"))
    with pytest.raises(UsageError, match="plays in words alone"):
        export([tmp_path / "gold"], tmp_path / "train.jsonl", Export("tools"))
