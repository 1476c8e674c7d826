"""Strategies with ``eyes``: each request shows what the world draws, and no word names it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from helpers.looking import answering, drawn, pictures_of, text_of
from wayword.core.errors import UsageError
from wayword.core.sight import pixel_hash
from wayword.runs.config import read_config
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.runs.verify import verify

pytestmark = pytest.mark.usefixtures("shared_data")
WORLDS: dict[str, tuple[dict[str, Any], int, list[str]]] = {
    "grounding": (
        {"levels": "GoToLocalS8N7,Pickup", "episodes": 2, "actions": "high"},
        1,
        ["goto[1]", "go_grab[2]", "go_explore", "goto[3]", "nonsense"],
    ),
    "household": (
        {"homes": 1, "episodes": 2},
        4,
        [
            "go_explore[kitchen]",
            "goto[1]",
            "go_check[4]",
            "pick_up[99]",
            "go_grab[2]",
            "turn_left",
        ],
    ),
    "towns": ({"towns": 1, "episodes": 2, "size": 3}, 3, ["forward", "left"]),
    "apartments:paintable": (
        {"homes": 1, "episodes": 2, "rooms": 4},
        2,
        ["rotate[90]", "move_ahead", "goto[1, 2]"],
    ),
    "houses": ({"houses": 1, "episodes": 2}, 4, ["stop"]),
}
"""Dataset -> its settings, pictures of a look, and the model's answers."""


def plan(on: str, address: str, out: Path, agent: str = "react", **more: Any) -> Plan:
    settings, _, _ = WORLDS[on]
    tree = {"model": {"base_url": address}, "dataset": settings, **more}
    if more.get("eyes", "words") != "words":
        tree.setdefault("picture_size", "96x72")
    return Plan(
        agent, on, "openai:looker", tree, limit=2, max_steps=3, out=out, retries=0
    )


@pytest.mark.parametrize("on", WORLDS)
@pytest.mark.parametrize("mode", ["pictures", "both"])
def test_each_request_shows_what_the_world_draws(
    tmp_path: Path, on: str, mode: str
) -> None:
    _, count, answers = WORLDS[on]
    with answering(answers) as server:
        chosen = plan(on, server.address, tmp_path, eyes=mode)
        outcome = run(chosen).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (2, 0, "")
    sent = []
    for body in server.asked:
        shown = pictures_of(body)
        # Six after a look around.
        assert len(shown) == count or (on == "household" and len(shown) == 6)
        assert all(picture.shape == (72, 96, 3) for picture in shown)
        sent.append([pixel_hash(picture) for picture in shown])
    assert sorted(sent) == sorted(drawn(tmp_path, chosen))
    assert [each for _, each in verify(RunFolder.read(tmp_path))] == ["", ""]


@pytest.mark.parametrize("on", ["grounding", "household"])
def test_only_marks_name_objects_in_pictures(tmp_path: Path, on: str) -> None:
    _, _, answers = WORLDS[on]
    found = {}
    for mode in ("words", "pictures", "both"):
        with answering(answers) as server:
            run(plan(on, server.address, tmp_path / mode, eyes=mode))
        # Without the rules and the task, which are the same in all conditions.
        found[mode] = [
            text_of({"messages": body["messages"][1:]})
            + json.dumps(body.get("response_format", {}))
            for body in server.asked
        ]
    named = re.compile(r"\b[a-z_]+_[0-9]+\b")
    assert any(named.search(text) for text in found["words"])
    assert any(named.search(text) for text in found["both"])
    assert not [text for text in found["pictures"] if named.search(text)]
    # Results and states speak of numbers.
    assert any("object 1" in text for text in found["pictures"])


def test_actions_of_a_record_have_the_worlds_names(tmp_path: Path) -> None:
    with answering(["goto[1]"]) as server:
        run(plan("grounding", server.address, tmp_path, eyes="pictures"))
    (first, _) = RunFolder.read(tmp_path).records()
    action = first.trajectory.steps[0].decision.action
    assert action.name == "goto"
    assert re.fullmatch(r"[a-z]+_[a-z]+_1", action.arguments[0])


def test_examples_in_words_are_refused_with_pictures(tmp_path: Path) -> None:
    with answering(["stop"]) as server, pytest.raises(UsageError, match="set shots=0"):
        run(plan("grounding", server.address, tmp_path, eyes="both", shots=1))


@pytest.mark.parametrize("mode", ["pictures", "both"])
def test_velma_looks_for_intersections_and_landmarks(tmp_path: Path, mode: str) -> None:
    with answering(["forward", "left", "forward", "forward"]) as server:
        chosen = plan(
            "towns", server.address, tmp_path, "velma", eyes=mode, decoding="reasoned"
        )
        outcome = run(chosen).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (2, 0, "")
    sent = []
    for body in server.asked:
        shown = pictures_of(body)
        assert len(shown) == 3
        sent.append([pixel_hash(picture) for picture in shown])
        text = text_of(body)
        # The walk, without the task and the instruction.
        walk = text.rpartition("Action Sequence:")[2].partition("You see now")[0]
        named = re.search(r"You see |intersection", walk) is not None
        if mode == "pictures":
            assert not named, walk
            assert text.count("Action Sequence:") == 1
        assert "image 1: left; image 2: ahead; image 3: right" in text
    assert sorted(sent) == sorted(drawn(tmp_path, chosen))
    assert [each for _, each in verify(RunFolder.read(tmp_path))] == ["", ""]
    caveats = read_config(tmp_path)["caveats"]
    assert not [each for each in caveats if "no image" in each]


def test_velma_sees_no_pictures_where_it_chooses_words(tmp_path: Path) -> None:
    with (
        answering(["forward"]) as server,
        pytest.raises(UsageError, match="needs decoding=reasoned"),
    ):
        run(
            plan(
                "towns",
                server.address,
                tmp_path,
                "velma",
                eyes="pictures",
                decoding="choose",
            )
        )
