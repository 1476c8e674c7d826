"""Eyes of discussnav, of planner and of teams, and pictures that stay in a conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from helpers.looking import answering, pictures_of, text_of
from helpers.loopback import Loopback, chat, serving
from helpers.records import records, rewrite
from wayword.core.dataset import of_ids
from wayword.core.errors import UsageError
from wayword.core.game import Game
from wayword.core.sight import Eyes, pixel_hash
from wayword.models.scripted import smallest
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.runs.verify import verify

pytestmark = pytest.mark.usefixtures("shared_data")
SIZE = "64x48"
NAMED = re.compile(r"\b[a-z_]+_[0-9]+\b")


def plan(
    agent: str, on: str, address: str, out: Path, steps: int = 3, **more: Any
) -> Plan:
    tree = {"model": {"base_url": address}, "picture_size": SIZE, **more}
    return Plan(
        agent, on, "openai:looker", tree, limit=1, max_steps=steps, out=out, retries=0
    )


def sent_hashes(server: Loopback) -> list[list[str]]:
    """The hashes of each request's pictures, all of the expected size."""
    sent = []
    for body in server.asked:
        shown = pictures_of(body)
        assert all(picture.shape == (48, 64, 3) for picture in shown)
        sent.append([pixel_hash(picture) for picture in shown])
    return sent


def drawn(chosen: Plan, parts: bool = False) -> list[tuple[str, list[str]]]:
    """The acting actor, and the hashes that the world draws, at each step of a run."""
    assert chosen.out is not None
    dataset = open_dataset(chosen)
    painter = dataset.painter()
    assert painter is not None
    assert dataset.eyes is not None
    found = []
    for record in RunFolder.read(chosen.out).records():
        (task,) = of_ids(dataset.tasks, {record.episode_id}).values()
        game = Game(dataset.world(task.episode), task.episode)
        for step in record.trajectory.steps:
            eyes = Eyes(dataset.eyes, painter, game.world, step.actor, has_parts=parts)
            found.append((step.actor, eyes.hashes()))
            game.act(step.actor, step.decision)
    return found


@contextmanager
def experts() -> Iterator[Loopback]:
    """A server that fills in every form, walks on by the first direction, and describes scenes."""

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        if schema is None:
            return 200, chat("A scene.")
        value: Any = smallest(schema)
        if "arrived" in value:
            value["arrived"] = False
        return 200, chat(json.dumps(value))

    with serving(answer) as server:
        yield server


@pytest.mark.parametrize("mode", ["pictures", "both"])
def test_discussnavs_scene_expert_sees_one_direction_at_a_time(
    tmp_path: Path, mode: str
) -> None:
    houses = {"houses": 1, "episodes": 1}
    with experts() as server:
        chosen = plan(
            "discussnav", "houses", server.address, tmp_path,
            steps=2, dataset=houses, eyes=mode, samples=1, scene_memory=False,
        )  # fmt: skip
        outcome = run(chosen).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (1, 0, "")
    seen = [hashes for hashes in sent_hashes(server) if hashes]
    assert {len(hashes) for hashes in seen} == {1}
    expected = [each for _, hashes in drawn(chosen, parts=True) for each in hashes]
    assert sorted(each for (each,) in seen) == sorted(expected)
    assert len(seen) == 2 * 12
    questions = [text_of(body) for body in server.asked if pictures_of(body)]
    worded = [text for text in questions if "(see the picture)" not in text]
    assert bool(worded) == (mode == "both")
    assert [each for _, each in verify(RunFolder.read(tmp_path))] == [""]


def test_verification_finds_a_picture_of_no_direction(tmp_path: Path) -> None:
    houses = {"houses": 1, "episodes": 1}
    with experts() as server:
        run(
            plan(
                "discussnav", "houses", server.address, tmp_path,
                steps=1, dataset=houses, eyes="pictures", samples=1,
            )
        )  # fmt: skip
    episodes = records(tmp_path)
    calls = [
        call
        for step in episodes[0]["trajectory"]["steps"]
        for call in step["calls"]
        if call["prompt"][-1].get("images")
    ]
    calls[0]["prompt"][-1]["images"][0]["pixels"] = "0" * 16
    rewrite(tmp_path, episodes)
    ((_, difference),) = verify(RunFolder.read(tmp_path))
    assert difference == "step 1: the pictures differ"


@pytest.mark.parametrize(
    "settings", [{"scene": "recorded"}, {"perception": False}, {"picture_history": 1}]
)
def test_settings_that_show_no_pictures_are_refused(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    houses = {"houses": 1, "episodes": 1}
    with experts() as server:
        chosen = plan(
            "discussnav", "houses", server.address, tmp_path,
            dataset=houses, eyes="pictures", **settings,
        )  # fmt: skip
        with pytest.raises(UsageError, match="picture"):
            run(chosen)


HOMES = {"homes": 1, "episodes": 1}


@contextmanager
def planning(plans: list[list[str]]) -> Iterator[Loopback]:
    """A server that answers with these plans in turn, and then repeats the last one."""
    left = list(plans)

    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        steps = left.pop(0) if len(left) > 1 else left[0]
        return 200, chat(json.dumps({"thought": "on", "plan": steps}))

    with serving(answer) as server:
        yield server


@pytest.mark.parametrize("mode", ["pictures", "both"])
def test_planner_sees_the_house_where_it_plans(tmp_path: Path, mode: str) -> None:
    goto = {"pictures": "goto[1]", "both": "go_explore[kitchen]"}[mode]
    with planning([["go_explore[kitchen]"], [goto], ["turn_left", "stop"]]) as server:
        chosen = plan(
            "planner", "household", server.address, tmp_path, dataset=HOMES, eyes=mode
        )
        outcome = run(chosen).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (1, 0, "")
    # A plan of one step each: a request at every step.
    assert sent_hashes(server) == [hashes for _, hashes in drawn(chosen)]
    for body in server.asked:
        words = text_of({"messages": body["messages"][1:]})
        schema = json.dumps(body["response_format"])
        assert bool(NAMED.search(words)) == (mode == "both"), words
        assert bool(NAMED.search(schema)) == (mode == "both") or mode == "both"
        assert ("find[" in text_of(body)) == (mode == "both")
        assert "image 1: " in words
    actions = [
        str(step.decision.action)
        for record in RunFolder.read(tmp_path).records()
        for step in record.trajectory.steps
    ]
    if mode == "pictures":
        # The record has the world's names.
        assert NAMED.search(actions[1])
    assert [each for _, each in verify(RunFolder.read(tmp_path))] == [""]


def test_a_plan_that_names_an_unknown_number_is_refused(tmp_path: Path) -> None:
    with planning([["goto[999]"], ["stop"]]) as server:
        run(
            plan(
                "planner", "household", server.address, tmp_path,
                dataset=HOMES, eyes="pictures",
            )
        )  # fmt: skip
    assert "goto[999] is not possible now" in text_of(server.asked[1])
    (record,) = RunFolder.read(tmp_path).records()
    assert [str(step.decision.action) for step in record.trajectory.steps] == ["stop"]


def test_planner_with_pictures_alone_must_replan(tmp_path: Path) -> None:
    with planning([["stop"]]) as server, pytest.raises(UsageError, match="replan"):
        run(
            plan(
                "planner", "household", server.address, tmp_path,
                dataset=HOMES, eyes="pictures", replan=False,
            )
        )  # fmt: skip


@pytest.mark.parametrize("mode", ["pictures", "both"])
def test_an_actor_of_a_team_sees_its_own_pictures(tmp_path: Path, mode: str) -> None:
    pairs = {"homes": 1, "episodes": 1, "task": "Coffee"}
    with answering(["chat[Where is object 3?]", "turn_left"]) as server:
        chosen = Plan(
            "team",
            "ma_household",
            "openai:looker",
            {
                "model": {"base_url": server.address},
                "dataset": pairs,
                "eyes": mode,
                "picture_size": SIZE,
            },
            actors={"follower": "react"},
            limit=1,
            max_steps=3,
            out=tmp_path,
            retries=0,
        )
        outcome = run(chosen).outcome
    assert (outcome.finished, outcome.failed, outcome.unusable) == (1, 0, "")
    expected = [hashes for actor, hashes in drawn(chosen) if actor == "follower"]
    assert sent_hashes(server) == expected
    actions = [
        str(step.decision.action)
        for record in RunFolder.read(tmp_path).records()
        for step in record.trajectory.steps
        if step.actor == "follower"
    ]
    # Others hear the names that all actors share.
    assert bool(NAMED.search(actions[0])) == (mode == "pictures")
    heard = "".join(
        text_of({"messages": body["messages"][1:]}) for body in server.asked
    )
    assert "object" in heard
    if mode == "pictures":
        assert not NAMED.search(heard.replace(actions[0], ""))
    assert [each for _, each in verify(RunFolder.read(tmp_path))] == [""]


@pytest.mark.parametrize("kept", [1, 2])
def test_the_pictures_of_earlier_looks_stay_in_the_conversation(
    tmp_path: Path, kept: int
) -> None:
    houses = {"houses": 1, "episodes": 1}
    with answering(["nonsense"]) as server:
        chosen = plan(
            "react", "houses", server.address, tmp_path,
            dataset=houses, eyes="both", picture_history=kept,
        )  # fmt: skip
        run(chosen)
    looks = [hashes for _, hashes in drawn(chosen)]
    expected = []
    for number in range(len(looks)):
        earlier = looks[max(0, number - kept) : number + 1]
        expected.append([each for look in earlier for each in look])
    assert sent_hashes(server) == expected
    last = server.asked[-1]["messages"]
    shown = [each for each in last if not isinstance(each["content"], str)]
    assert len(shown) == 1 + kept
    assert all("image 1: ahead" in each["content"][0]["text"] for each in shown)
    assert f"up to {kept} earlier turns stay" in last[0]["content"]
    assert [each for _, each in verify(RunFolder.read(tmp_path))] == [""]


def test_a_number_of_looks_is_none_below_zero() -> None:
    chosen = Plan("react", "houses", settings={"eyes": "both", "picture_history": -1})
    with pytest.raises(UsageError, match="0 or more, got -1"):
        open_dataset(chosen)
