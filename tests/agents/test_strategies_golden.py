"""The prompts to the letter: each strategy's second prompt, in a building and in a house."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.golden import check_golden
from helpers.small_flat import SmallFlat, play_in
from helpers.small_house import SmallHouse
from wayword.core import registry

GOLDEN = Path(__file__).parent.parent / "golden"
THOUGHTS = {
    "act": "",
    "react": "Thought: This is the way on.\n",
    "react_emmem": (
        "State:\n  place: where I began\n  facing: north\n  holding: nothing\n"
        "  seen: what is before me\n  done: nothing yet\n  left: everything\n"
        "Plan: This is the way on.\n"
    ),
}
WORLDS = {"house": (SmallHouse, "goto[b]"), "flat": (SmallFlat, "go_grab[mug_1]")}


@pytest.mark.parametrize("strategy", THOUGHTS)
@pytest.mark.parametrize("place", WORLDS)
def test_the_second_prompt_is_the_golden_one(strategy: str, place: str) -> None:
    dataset, action = WORLDS[place]
    answers = [f"{THOUGHTS[strategy]}Action: {action}", "Action: stop"]
    agent: Any = registry.load("agent", strategy)
    trajectory, model = play_in(dataset(), agent, answers, decoding="free")
    assert trajectory.ended == "stopped"
    check_golden(GOLDEN / f"strategies_{strategy}_{place}.txt", model.prompts[1] + "\n")


@pytest.mark.parametrize("strategy", THOUGHTS)
def test_the_constrained_system_message_is_the_golden_one(strategy: str) -> None:
    agent: Any = registry.load("agent", strategy)
    _, model = play_in(SmallFlat(), agent, ["{}"], max_steps=1)
    check_golden(
        GOLDEN / f"strategies_{strategy}_constrained.txt", model.prompts[0] + "\n"
    )
