"""The step limit in prompts: stated once, counted down at every step, or hidden."""

from __future__ import annotations

import re
from typing import Any

import pytest

from helpers.reasoning_stub import worded
from helpers.small_flat import play_in
from helpers.small_house import SmallHouse
from wayword.core import registry
from wayword.core.model import Prompt, Sampling
from wayword.models.scripted import smallest

AGENTS: dict[str, dict[str, Any]] = {
    "react": {},
    "reflexion": {},
    "navgpt": {},
    "navgpt numbered": {"decoding": "numbered"},
    "mapgpt": {},
    "navcot": {},
    "discussnav": {"scene": "recorded", "analysis": False, "samples": 1},
}


def first(prompt: Prompt, sampling: Sampling) -> Any:
    """The smallest answer of the schema that is asked for; words where there is none."""
    import json

    schema = sampling.json_schema
    if schema:
        return json.dumps(worded(smallest(json.loads(json.dumps(dict(schema))))))
    return "Yes."


def decisions(name: str, **settings: Any) -> list[str]:
    """The prompts in which an action was asked for, in an episode of at most three steps."""
    agent: Any = registry.load("agent", name.split()[0])
    settings = {**AGENTS[name], **settings}
    trajectory, _ = play_in(SmallHouse(), agent, first, 3, **settings)
    assert trajectory.ended != "failed", trajectory.error
    return [
        "\n".join(message.content for message in step.calls[-1].prompt)  # type: ignore[union-attr]
        for step in trajectory.steps
    ]


@pytest.mark.parametrize("name", AGENTS)
def test_every_prompt_states_the_limit_once(name: str) -> None:
    prompts = decisions(name)
    assert prompts
    assert [len(re.findall(r"You have 3 actions", prompt)) for prompt in prompts] == [
        1
    ] * len(prompts)
    assert not any(re.search(r"(?i)\bleft[^.\n]*: \d", prompt) for prompt in prompts)


@pytest.mark.parametrize("name", AGENTS)
def test_a_counted_limit_says_how_many_are_left(name: str) -> None:
    prompts = decisions(name, step_limit="counted")
    left = [re.findall(r"(?i)\bleft[^.\n]*: (\d+)", prompt)[-1] for prompt in prompts]
    assert left == ["3", "2", "1"][: len(left)]
    assert len(left) >= 2, "one step shows no counting"


@pytest.mark.parametrize("name", AGENTS)
def test_a_hidden_limit_is_nowhere(name: str) -> None:
    assert not any(
        "You have 3" in prompt for prompt in decisions(name, step_limit="hidden")
    )
