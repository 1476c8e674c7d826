"""Controls of sight: blank pictures, and those of another place, in place of what an actor sees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.looking import answering, drawn, pictures_of, text_of
from wayword.core.errors import UsageError
from wayword.core.sight import pixel_hash
from wayword.runs.config import read_config
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.runs.verify import verify

pytestmark = pytest.mark.usefixtures("shared_data")
DATASETS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "grounding": (
        {"levels": "GoToLocalS8N7", "episodes": 3},
        ["go_explore", "goto[1]"],
    ),
    "houses": ({"houses": 2, "episodes": 4}, ["stop"]),
}


def plan(on: str, address: str, out: Path, control: str) -> Plan:
    tree = {
        "model": {"base_url": address},
        "dataset": DATASETS[on][0],
        "eyes": "pictures",
        "picture_size": "96x72",
    }
    if control:
        tree["picture_control"] = control
    return Plan(
        "react", on, "openai:looker", tree, limit=2, max_steps=3, out=out, retries=0
    )


@pytest.mark.parametrize("on", DATASETS)
@pytest.mark.parametrize("control", ["blank", "elsewhere"])
def test_requests_differ_in_their_pixels_alone(
    tmp_path: Path, on: str, control: str
) -> None:
    texts = {}
    shown = {}
    for each in ("", control):
        with answering(DATASETS[on][1]) as server:
            chosen = plan(on, server.address, tmp_path / (each or "own"), each)
            outcome = run(chosen).outcome
        assert (outcome.finished, outcome.failed) == (2, 0)
        assert {
            each for _, each in verify(RunFolder.read(tmp_path / (each or "own")))
        } == {""}
        texts[each] = [text_of(body) for body in server.asked]
        shown[each] = [pictures_of(body) for body in server.asked]
    # Later texts differ, because a number's object does.
    assert sorted(texts[""])[0] == sorted(texts[control])[0]
    assert len(shown[""][0]) == len(shown[control][0])
    own = {pixel_hash(each) for pictures in shown[""] for each in pictures}
    other = {pixel_hash(each) for pictures in shown[control] for each in pictures}
    assert len(own & other) <= len(other) // 2
    if control == "blank":
        assert all(
            np.ptp(each) == 0 for pictures in shown[control] for each in pictures
        )
    config = read_config(tmp_path / control)
    assert config["identity"]["eyes"]["picture_control"] == control
    assert config["identity"]["eyes"]["painter"].startswith(f"{control}:")
    assert any(control in caveat for caveat in config["caveats"])
    assert sorted(
        [pixel_hash(each) for each in pictures] for pictures in shown[control]
    ) == sorted(drawn(tmp_path / control, chosen))
    assert "picture_control" not in read_config(tmp_path / "own")["identity"]["eyes"]


def test_a_single_place_has_no_other() -> None:
    settings = {
        "eyes": "pictures",
        "picture_control": "elsewhere",
        "dataset": {"levels": "GoToLocalS8N7", "episodes": 1},
    }
    dataset = open_dataset(Plan("react", "grounding", "scripted:x", settings))
    painter = dataset.painter()
    assert painter is not None
    world = dataset.world(dataset.tasks[0].episode)
    world.reset(dataset.tasks[0].episode)
    (view,) = painter.views(world, "agent")
    assert np.ptp(painter.frame(world, "agent", view, (72, 96)).color) == 0


def test_a_control_without_pictures_is_refused() -> None:
    chosen = Plan("react", "houses", settings={"picture_control": "blank"})
    with pytest.raises(UsageError, match=re.escape("no effect in words")):
        open_dataset(chosen)
