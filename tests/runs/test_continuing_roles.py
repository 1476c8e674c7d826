"""Continued episodes: models in two roles, actions that the task prescribes, recorded percepts."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import chat, serving
from helpers.run_folders import records
from wayword.core.action import Decision
from wayword.core.errors import UsageError
from wayword.core.model import Completion, Sampling
from wayword.core.recording import DictatedModel
from wayword.core.trajectory import ModelCall, Trajectory
from wayword.models.scripted import smallest
from wayword.runs import Plan, run

TOWN = {"towns": 1, "episodes": 2}


def recorded(path: Path) -> Trajectory:
    (record,) = records(path)
    return record.trajectory


def resume(before: Path, out: Path, agent: str, step: int, **more: Any) -> Trajectory:
    """Continue the one episode of a run, as another run."""
    at = f"{before}:{recorded(before).episode_id}:{step}"
    return recorded(run(Plan(agent, "", out=out, continues=at, **more)).path)


def actions(trajectory: Trajectory) -> list[str]:
    decisions = [step.decision for step in trajectory.steps]
    return [str(d.action) if isinstance(d, Decision) else "rejected" for d in decisions]


def prompts_of(trajectory: Trajectory, step: int) -> list[tuple[str, str]]:
    """Role and prompt of each call of a step, from 1, sorted by role."""
    calls = trajectory.steps[step - 1].calls
    texts = {call.role: call.prompt for call in calls}
    return sorted(
        (role, text if isinstance(text, str) else "\n".join(m.content for m in text))
        for role, text in texts.items()
    )


def test_each_role_hears_its_own_recorded_answers(tmp_path: Path) -> None:
    """The main model answers after the other one, so that the record's order is not the agent's."""
    summarized = threading.Event()

    def summary(
        route: str, body: Mapping[str, Any], headers: object
    ) -> tuple[int, Any]:
        summarized.set()
        return 200, chat(f"Summary number {len(body['messages'][0]['content'])}.")

    def main(route: str, body: Mapping[str, Any], headers: object) -> tuple[int, Any]:
        summarized.wait(5)
        summarized.clear()
        schema = body["response_format"]["json_schema"]["schema"]
        return 200, chat(json.dumps(smallest(schema)))

    with serving(main) as first, serving(summary) as second:
        roles = {"summary": {"name": "openai:s", "base_url": second.address}}
        tree = {
            "summaries": "online",
            "models": roles,
            "model": {"base_url": first.address},
        }
        house = {"dataset": {"houses": 1, "episodes": 1}}
        run(
            Plan(
                "navgpt",
                "houses",
                "openai:m",
                {**tree, **house},
                max_steps=4,
                out=tmp_path / "a",
            )
        )
        before = recorded(tmp_path / "a")
        assert [role for role, _ in prompts_of(before, 4)] == ["main", "summary"]
        posts = len(first.asked), len(second.asked)
        after = resume(
            tmp_path / "a", tmp_path / "b", "navgpt", 4, model="openai:m", settings=tree
        )
    assert actions(after)[:3] == actions(before)[:3]
    assert prompts_of(after, 4) == prompts_of(before, 4), (
        "the history holds the recorded summaries"
    )
    assert "Summary number" in prompts_of(after, 4)[0][1]
    assert (len(first.asked) - posts[0], len(second.asked) - posts[1]) == (1, 1)


@pytest.mark.parametrize(
    "settings", [{}, {"max_tokens": 70}], ids=["same", "other settings"]
)
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_prescribed_opening_is_taken_once(
    tmp_path: Path, settings: Mapping[str, Any], step: int
) -> None:
    """Towns prescribe a first forward; the record may hold it or not."""
    tree = {"dataset": TOWN, "shots": 0}
    plan = Plan(
        "velma",
        "towns",
        "scripted:first",
        tree,
        limit=1,
        max_steps=4,
        out=tmp_path / "a",
    )
    before = recorded(run(plan).path)
    assert [len(each.calls) for each in before.steps] == [0, 1, 1, 1]
    after = resume(
        tmp_path / "a", tmp_path / "b", "velma", step, model="scripted:first",
        settings={"shots": 0, **settings},
    )  # fmt: skip
    assert [len(each.calls) for each in after.steps[:2]] == [0, int(step <= 2)]
    assert actions(after)[:4] == actions(before)
    for number in range(max(2, step), 5):
        assert prompts_of(after, number) == prompts_of(before, number)


def test_another_walker_s_steps_are_taken_over_with_the_opening(tmp_path: Path) -> None:
    tree = {"dataset": TOWN}
    run(Plan("forward", "towns", "", tree, limit=1, max_steps=3, out=tmp_path / "a"))
    after = resume(
        tmp_path / "a", tmp_path / "b", "velma", 3, model="scripted:first",
        settings={"shots": 0}, max_steps=4,
    )  # fmt: skip
    assert [len(each.calls) for each in after.steps] == [0, 0, 1, 1]
    ((_, prompt),) = prompts_of(after, 3)
    assert prompt.endswith("3.")
    assert prompt.count("forward\n") >= 2


@pytest.mark.parametrize(
    ("agent", "model"), [("oracle", ""), ("random", ""), ("navgpt", "scripted:first")]
)
def test_recorded_percepts_stay_with_their_steps(
    tmp_path: Path, agent: str, model: str
) -> None:
    """Also where the agent that continues reads no percepts itself."""
    house = {"dataset": {"houses": 1, "episodes": 1}}
    plan = Plan(
        "navgpt", "houses", "scripted:first", house, max_steps=4, out=tmp_path / "a"
    )
    before = recorded(run(plan).path)
    assert all(step.percept is not None for step in before.steps)
    after = resume(tmp_path / "a", tmp_path / "b", agent, 4, model=model)
    assert [step.percept for step in after.steps[:3]] == [
        step.percept for step in before.steps[:3]
    ]
    assert after.steps[3].percept == (before.steps[3].percept if model else None)


def test_each_recorded_answer_is_given_once_in_the_order_of_its_role() -> None:
    calls = [
        ModelCall("main", "?", Completion(("first",))),
        ModelCall("main", "?", None),  # failed: the next attempt was answered
        ModelCall("judge", "?", Completion(("verdict",))),
        ModelCall("main", "?", Completion(("second",))),
    ]
    main = DictatedModel(calls)
    judge = main.as_role("judge")

    def ask(model: DictatedModel) -> str:
        return asyncio.run(model.complete("?", Sampling())).text

    assert [ask(main), ask(main), ask(judge)] == ["first", "second", "verdict"]
    for model in (main, judge):
        with pytest.raises(UsageError, match="that the recorded steps do not contain"):
            ask(model)
