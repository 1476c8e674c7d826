"""Field by field: a changed setting is another run, and how a run is carried out is not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from helpers.run_folders import episodes, records
from helpers.small_scan import write_scan
from helpers.two_in_a_flat import named
from wayword.core import registry
from wayword.core.errors import RecordingError, WaywordError
from wayword.runs import Plan, run

SMALL = {"houses": 2, "episodes": 6, "rooms": 6}
LABELED = {"settings": {"dataset": SMALL}, "limit": 1, "max_steps": 2}


def changed(plan: Plan, settings: Mapping[str, Any]) -> Plan:
    """The plan with these settings on top of its own, group by group."""
    merged = dict(plan.settings)
    for key, value in settings.items():
        own = merged.get(key, {})
        merged[key] = {**own, **value} if isinstance(value, dict) else value
    return replace(plan, settings=merged)


def refused(plan: Plan, field: str) -> None:
    """The plan's folder contains another run, which differs in the field."""
    assert plan.out is not None
    before = episodes(plan.out)
    with pytest.raises(RecordingError, match=rf"another run: '[\w.]*{field}[\w.]*'"):
        run(plan)
    assert episodes(plan.out) == before


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A random walker's run."""
    plan = Plan(
        "random", "houses", out=tmp_path_factory.mktemp("random") / "run", **LABELED
    )
    run(plan)
    return plan


@pytest.fixture(scope="module")
def two_role_plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A run of NavGPT with models in two roles."""
    out = tmp_path_factory.mktemp("navgpt") / "run"
    plan = Plan("navgpt", "houses", "scripted:first", out=out, **LABELED)
    plan = changed(
        plan, {"summaries": "online", "models": {"summary": "scripted:echo"}}
    )
    run(plan)
    return plan


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"agent": "forward"}, "agent"),
        ({"on": "houses:train"}, "dataset"),
        ({"on": "towns"}, "dataset"),
        ({"seed": 1}, "seed"),
        ({"max_steps": 3}, "max_steps"),
        ({"max_steps": None}, "max_steps"),
        ({"shuffle": 1}, "shuffle"),
        ({"first": True}, "shuffle"),
        ({"shard": "1/2"}, "shard"),
        ({"ask": "terminal"}, "ask"),
        ({"actors": {"agent": "forward"}}, "actors"),
        ({"model": "scripted:first"}, "models"),
    ],
    ids=str,
)
def test_each_option_is_part_of_the_run(
    played: Plan, more: Mapping[str, Any], field: str
) -> None:
    if more.get("on") == "towns":
        played = replace(played, settings={})
    refused(replace(played, **more), field)


def test_fields_that_a_run_lacks_are_left_out_of_its_identity(played: Plan) -> None:
    """Runs that were recorded before a field existed keep their folder and resume."""
    assert played.out is not None
    recorded = json.loads((played.out / "run.json").read_text(encoding="utf-8"))
    assert set(recorded["identity"]) == {
        *("agent", "agent_checksum", "prompts_checksum", "settings"),
        *("dataset", "dataset_settings", "data_checksum"),
        *("models", "model_identity", "seed", "max_steps", "shard", "shuffle"),
        "wayword",
    }


OTHERS: Mapping[str, Any] = {
    "steps": 3,
    "step_limit": "hidden",
    "history": False,
    "houses": 3,
    "wording": 1,
    "episodes": 5,
    "rooms": 7,
    "length": 8,
    "views": 36,
    "slopes": False,
    "seed": 1,
    "decoding": "free",
    "summaries": "recorded",
    "endings": "any",
    "captions": False,
    "objects": False,
    "distances": False,
    "context": 3000,
    "thought_length": 90,
    "max_tokens": 99,
    "temperature": 0.5,
}
"""Another value for every setting of the agents and the dataset played here."""


def test_each_setting_of_the_agent_and_the_dataset_is_part_of_the_run(
    played: Plan, two_role_plan: Plan
) -> None:
    agents = [
        (plan, registry.load("agent", plan.agent).Settings)
        for plan in (played, two_role_plan)
    ]
    names = [(plan, field.name) for plan, kind in agents for field in fields(kind)]
    assert len(names) > 12
    for plan, name in names:
        if name != "prompts":
            refused(changed(plan, {name: OTHERS[name]}), name)
    for field in fields(registry.load("dataset", "houses").Settings):
        refused(
            changed(played, {"dataset": {field.name: OTHERS[field.name]}}), field.name
        )


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"models": {"summary": "scripted:first"}}, "summary"),
        ({"models": {"summary": {"name": "scripted:echo", "length": 9}}}, "summary"),
        ({"model": {"seed": 1}}, "main"),
        ({"model": {"length": 9}}, "main"),
        ({"model": {"repeat": True}}, "main"),
    ],
    ids=str,
)
def test_each_model_and_its_settings_are_part_of_the_run(
    two_role_plan: Plan, settings: Mapping[str, Any], field: str
) -> None:
    refused(changed(two_role_plan, settings), field)


def test_the_answers_in_a_script_are_part_of_the_run(tmp_path: Path) -> None:
    script = tmp_path / "answers.jsonl"
    script.write_text(json.dumps("Thought: enough.\nAction: Final Answer: done"))
    plan = Plan(
        "navgpt", "houses", f"scripted:{script}", out=tmp_path / "run", **LABELED
    )
    plan = changed(plan, {"decoding": "free", "model": {"repeat": True}})
    run(plan)
    run(plan)
    script.write_text(json.dumps("Thought: further.\nAction: Final Answer: done"))
    refused(plan, "main")


def test_an_actor_s_agent_settings_and_model_are_part_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named(monkeypatch)
    bob = {"steps": 2}
    plan = Plan(
        "random", "flat", settings={"actors": {"bob": bob}},
        actors={"bob": "random"}, limit=1, max_steps=2, out=tmp_path / "run",
    )  # fmt: skip
    run(plan)
    run(plan)
    refused(changed(plan, {"actors": {"bob": {"steps": 3}}}), "bob")
    refused(replace(plan, settings={}, actors={"bob": "expert"}), "bob")
    refused(changed(plan, {"models": {"bob": "scripted:first"}}), "bob")


def test_what_a_run_continues_from_is_part_of_it(played: Plan, tmp_path: Path) -> None:
    assert played.out is not None
    name = episodes(played.out)[0]
    plan = Plan("random", "", continues=f"{played.out}:{name}:2", out=tmp_path / "on")
    run(plan)
    run(plan)
    refused(replace(plan, continues=f"{played.out}:{name}:1"), "continues")


@pytest.mark.parametrize(
    "more",
    [
        {"concurrency": 1},
        {"max_tokens": 10**9},
        {"max_dollars": 9.0},
        {"rpm": 10.0**6},
        {"retries": 0},
        {"workers": 2},
        {"max_steps": 2},
        {"on": "houses:test"},
    ],
    ids=str,
)
def test_how_a_run_is_carried_out_is_no_part_of_it(
    two_role_plan: Plan, more: Mapping[str, Any]
) -> None:
    result = run(replace(two_role_plan, **more))
    assert (result.resumed, result.outcome.finished) == (1, 0)


def test_more_episodes_and_a_cache_are_the_same_run(
    two_role_plan: Plan, tmp_path: Path
) -> None:
    result = run(replace(two_role_plan, limit=2, cache=tmp_path / "cache.db"))
    assert (result.resumed, result.outcome.finished) == (1, 1)


def test_a_written_out_default_is_the_same_run(tmp_path: Path) -> None:
    most = registry.load("dataset", "houses").max_steps
    tree = {"dataset": {**SMALL, "length": 0}, "steps": 1}
    plan = Plan("random", "houses", "", tree, limit=1, out=tmp_path / "run")
    run(replace(plan, settings={"dataset": SMALL, "steps": 1}))
    assert run(replace(plan, max_steps=most, seed=0)).resumed == 1


def test_the_same_data_in_another_folder_is_the_same_run_and_changed_data_is_not(
    tmp_path: Path,
) -> None:
    for place in ("here", "there"):
        write_scan(tmp_path / place)
    plan = Plan("random", "r2r:val_seen", data=tmp_path / "here", out=tmp_path / "run")
    run(plan)
    assert run(replace(plan, data=tmp_path / "there")).resumed == 3
    annotations = tmp_path / "there" / "r2r" / "annotations" / "R2R_val_seen.json"
    annotations.write_text(annotations.read_text().replace("Walk north.", "Walk on."))
    refused(replace(plan, data=tmp_path / "there"), "data_checksum")


def test_a_refused_start_changes_nothing(played: Plan) -> None:
    assert played.out is not None
    before = {
        path: path.read_bytes() for path in played.out.rglob("*") if path.is_file()
    }
    with pytest.raises(WaywordError):
        run(replace(played, seed=9))
    assert {
        path: path.read_bytes() for path in played.out.rglob("*") if path.is_file()
    } == before
    assert len(records(played.out)) == 1
