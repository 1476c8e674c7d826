"""REVERIE in its published format: where an episode succeeds, what is named, who can play it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from helpers.small_scan import SCAN, write_scan
from wayword.core.action import STOP, Action, Decision
from wayword.core.trajectory import Step, Trajectory
from wayword.core.world import Feedback
from wayword.datasets.r2r import R2RSettings, Reverie
from wayword.metrics.scoring import score
from wayword.runs.catalog import data_check
from wayword.runs.plan import Plan
from wayword.runs.record import RunFolder
from wayword.runs.running import run
from wayword.verbalize import indoor
from wayword.verbalize.generic import verbalizer
from wayword.worlds.indoor.world import ObjectReference


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lamp (5) in view from c and d, a chair (9) from s; one published record, two sentences."""
    folder = tmp_path_factory.mktemp("data")
    write_scan(folder)
    record = {
        "distance": 6.0,
        "scan": SCAN,
        "id": "7_5",
        "path_id": 7,
        "path": ["s", "a", "b", "c"],
        "heading": 0.0,
        "objId": 5,
        "instructions": ["Dust the lamp in the far room.", "Bring me the lamp."],
    }
    lamp, chair = ({"name": n, "visible_pos": v, "bbox2d": []} for n, v in _SEEN)
    hidden = {"name": "rug", "visible_pos": [], "bbox2d": []}
    boxes = {
        "s": {"s": {"9": chair}},
        "c": {"c": {"5": lamp, "11": hidden}},
        "d": {"d": {"5": lamp}},
    }
    for name, content in {
        "REVERIE_val_seen.json": [record],
        f"bbox_by_scan/{SCAN}.json": boxes,
    }.items():
        path = folder / "reverie" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""),
        ({"objId": None}, "field 'objId': must be a text or a whole number"),
        ({"objId": 77}, "field 'objId': is not an object in view from a viewpoint of"),
        ({"id": None, "path_id": True}, "field 'path_id': must be a whole number"),
        ({"path": ["s", "c"]}, "field 'path': 's' and 'c' are not adjacent"),
        ({"instructions": []}, "record 0, field 'instructions': is empty"),
        ({"scan": "zz"}, "record 0, field 'scan': is not a Matterport3D scan: 'zz'"),
    ],
)
def test_ones_own_annotations_must_name_an_object_of_the_scan(
    data: Path, tmp_path: Path, change: dict[str, Any], problem: str
) -> None:
    published = data / "reverie" / "REVERIE_val_seen.json"
    (record,) = json.loads(published.read_text())
    own = tmp_path / "own.json"
    own.write_text(json.dumps([{**record, **change}]))
    settings = {"dataset": {"annotations": str(own)}}
    report, is_valid = data_check("reverie:val_seen", data, settings)
    assert is_valid == (not problem), report
    assert problem in report
    assert not problem or report.endswith(": 1 bad record")
    # Also next to a valid record, which is played.
    own.write_text(json.dumps([{**record, **change}, {**record, "id": "8_5"}]))
    if problem:
        report, _ = data_check("reverie:val_seen", data, settings)
        assert problem in report
        assert report.endswith(": 1 bad record")
    del record["objId"]  # as in R2R's format
    own.write_text(json.dumps([record]))
    report, _ = data_check("reverie:val_seen", data, settings)
    assert report.startswith(f"{own}: record 0, field 'objId': is missing")


_SEEN = (("desk#lamp", [12, 13]), ("chair", [15]))


def reverie(data: Path) -> Reverie:
    return Reverie("val_seen", data, R2RSettings())


def walked(data: Path, *actions: Action) -> dict[str, float]:
    dataset = reverie(data)
    task = dataset.tasks[0]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    trajectory = Trajectory(task.episode.id, start={"agent": world.pose("agent")})
    for action in actions:
        assert action in world.action_space("agent")
        seen = world.observe("agent")
        feedback = world.step("agent", action)
        trajectory.steps.append(
            Step("agent", seen, Decision(action), feedback, world.pose("agent"))
        )
    (found,) = score(dataset, [(task, trajectory)])
    return found


def test_records_are_read_as_published(data: Path) -> None:
    tasks = reverie(data).tasks
    assert [task.episode.id for task in tasks] == ["7_5_0", "7_5_1"]
    reference = tasks[0].reference
    assert isinstance(reference, ObjectReference)
    assert (reference.object_id, reference.visible_from) == ("5", {"c", "d"})
    assert "stop[ID]" in tasks[0].episode.extra["rules"]
    assert len(reverie(data).files) == 6


def test_an_episode_succeeds_where_the_object_is_in_view(data: Path) -> None:
    go = [Action("goto", (place,)) for place in "abcd"]
    named = Action("stop", ("5",))
    other = Action("stop", ("9",))
    there = walked(data, *go[:3], named)
    assert (there["sr"], there["rgs"], there["spl_gold"], there["rgspl"]) == (
        1,
        1,
        1,
        1,
    )
    beyond = walked(data, *go, named)  # 8 m for 6 m
    assert (beyond["sr"], beyond["rgs"]) == (1, 1)
    assert beyond["rgspl"] == beyond["spl"] == pytest.approx(0.75)
    mute = walked(data, *go[:3], STOP)
    assert (mute["sr"], mute["rgs"], mute["rgspl"]) == (1, 0, 0)
    near = walked(data, *go[:2], STOP)  # 2 m away, and not in view
    assert (near["sr"], near["osr"], near["ne"]) == (0, 0, 2.0)
    wrong = walked(data, other)
    assert (wrong["sr"], wrong["rgs"]) == (0, 0)
    passed = walked(data, *go[:3], Action("goto", ("b",)), STOP)
    assert (passed["sr"], passed["osr"]) == (0, 1)


def test_only_objects_in_view_can_be_named_and_are_reported(data: Path) -> None:
    dataset = reverie(data)
    world = dataset.world(dataset.tasks[0].episode)
    world.reset(dataset.tasks[0].episode)
    assert Action("stop", ("9",)) in world.action_space("agent")
    assert Action("stop", ("5",)) not in world.action_space("agent")
    seen = world.observe("agent")
    assert indoor.objects(seen) == "9 chair (right 90°)"
    text = verbalizer(seen).around(seen, dataset.perceiver())
    assert "In view, to be named at the stop: 9 chair (right 90°)." in text
    with pytest.raises(ValueError, match="not on the menu"):
        world.step("agent", Action("stop", ("5",)))
    assert world.step("agent", Action("stop", ("9",))) == Feedback()
    assert world.state()["named"] == "9"


@pytest.mark.parametrize(
    ("agent", "model", "settings"),
    [
        ("gold", "", {}),
        ("oracle", "", {}),
        ("navgpt", "scripted", {}),
        ("mapgpt", "scripted", {}),
        ("react", "scripted", {}),
    ],
)
def test_agents_find_and_name_it(
    agent: str, model: str, settings: dict[str, Any], data: Path, tmp_path: Path
) -> None:
    """The scripts walk north and name the lamp."""
    answers = tmp_path / "answers.jsonl"
    there = {"thought": "there", "arrived": True, "action": None}
    reply: dict[str, list[Any]] = {
        "navgpt": [{"thought": "on", "arrived": False, "action": p} for p in "abc"],
        "react": [{"thought": "on", "action": f"goto[{p}]"} for p in "abc"],
        "mapgpt": [{"plan": "on", "action": f"goto[place {n}]"} for n in (1, 2, 3)],
    }
    ends = {
        "navgpt": [there, "5"],
        "react": [{"thought": "there", "action": "stop[5]"}],
    }
    ends["mapgpt"] = ends["react"]
    spoken = [*reply.get(agent, ()), *ends.get(agent, ())]
    texts = [line if isinstance(line, str) else json.dumps(line) for line in spoken]
    answers.write_text("\n".join(map(json.dumps, texts)))
    name = f"scripted:{answers}" if model else ""
    plan = Plan(
        agent,
        "reverie:val_seen",
        name,
        settings,
        limit=1,
        data=data,
        out=tmp_path / "r",
    )
    folder = RunFolder.read(run(plan).path)
    ((_, scores),), (record,) = folder.scores(), folder.records()
    if agent == "navgpt":
        *_, last = record.trajectory.calls()
        assert "5 desk lamp (right 15°)" in last.prompt[0].content  # type: ignore[union-attr]
    assert (scores["sr"], scores["rgs"], scores["rgspl"]) == (1.0, 1.0, 1.0)
    for call in list(record.trajectory.calls())[:1]:
        rules = call.prompt[0].content  # type: ignore[union-attr]
        assert re.search(
            r"names (an object|the object, which is) in another part", rules
        )
        assert not re.search(
            r"whole route|is a route|stop within 3", rules, re.IGNORECASE
        )
