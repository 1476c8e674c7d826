"""TRL: whole plans rewarded until a tiny network has learnt, and the tools of a rollout."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import Any

import pytest
from transformers.utils import get_json_schema

from wayword.envs.trl import environment_factory, episode_reward, plan_reward, prompts

EXAMPLE = Path(__file__).parents[3] / "examples" / "training" / "grpo_pick_up.py"


@pytest.mark.parametrize("tools", [False, True])
def test_grpo_raises_success_in_generated_homes(tools: bool, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("grpo_pick_up", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    curve = example.train(80, str(tmp_path), tools)
    parts = [sum(curve[n : n + 10]) / 10 for n in range(0, 80, 10)]
    how = "tools" if tools else "plans"
    print(f"{how}: success by tens of steps:", [round(part, 2) for part in parts])  # noqa: T201
    assert parts[-1] > parts[0] + 0.2


def test_a_rollouts_tools_are_what_the_trainer_reads() -> None:
    factory = environment_factory("two_phase", reward="conditions")
    first = factory()
    second = factory()
    names = [name for name, _ in inspect.getmembers(type(first), inspect.isfunction)]
    assert [name for name in names if not name.startswith("_")] == ["act", "reset"]
    schema = get_json_schema(first.act)["function"]
    assert schema["parameters"]["required"] == ["action"]
    row = prompts("two_phase", 1)[0]
    assert first.reset(**row) is None
    assert "Task:" in str(second.reset())
    assert "hallway" in first.act("go[hallway]")
    assert episode_reward([first, second]) == [0.5, 0.0]


def test_success_needs_the_policys_own_stop() -> None:
    stays = environment_factory(
        "houses", settings={"houses": 1, "episodes": 4}, max_steps=60
    )()
    stays.reset()
    while action := stays._env.game.expert_action("agent"):
        if action == "stop":
            break
        stays.act(action)
    assert episode_reward([stays]) == [0.0]
    stays.act("stop")
    assert episode_reward([stays]) == [1.0]


def test_a_rollout_begins_where_its_prompt_ends() -> None:
    opening = ["go[hallway]"]
    (row,) = prompts("two_phase", 1, opening)
    rollout = environment_factory("two_phase", opening)()
    rollout.reset(**row)
    rollout.act("go[fridge]")
    assert episode_reward([rollout]) == [1.0]


def test_a_plan_is_carried_out_line_by_line() -> None:
    rows = prompts("two_phase", 2)
    paid = plan_reward("two_phase")
    plans = [
        "go[hallway]\ngo[fridge]",
        [{"role": "assistant", "content": "go[hallway]"}],
    ]
    assert paid(completions=plans, episode=[row["episode"] for row in rows]) == [
        1.0,
        0.0,
    ]
    assert paid.__name__ == "success"
