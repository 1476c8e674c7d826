"""Calls that a sentence quotes, in answers as text and of agents with tools."""

from __future__ import annotations

import tomllib
from pathlib import Path

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection
from wayword.models.parts.calling import calls_in

CASES = tomllib.loads(
    Path(__file__).with_name("cases.toml").read_text(encoding="utf-8")
)["case"]
SPACE = ActionSpace((*(Action("goto", (name,)) for name in ("pot_1", "pan_1")), STOP))
REACT = StrategyRecipe("Thought: why\nAction: what", "react")


def test_a_quoted_call_is_part_of_the_thought() -> None:
    wrong = {}
    for case in CASES:
        outcome = REACT.decision(case["answer"], Legal(SPACE)).outcome
        if isinstance(outcome, Rejection):
            found = outcome.kind
        else:
            found = str(outcome.action)
        if found != case["reads"]:
            wrong[case["name"]] = (found, case["reads"])
    assert not wrong


def test_an_agent_with_tools_makes_no_quoted_call() -> None:
    wrong = {}
    for case in CASES:
        answer = case["answer"].replace('"action"', '"tool"')
        found = calls_in(answer, ["goto", "goto[pot_1]", "goto[pan_1]", "stop"])
        if len(found) != case["calls"]:
            wrong[case["name"]] = found
    assert not wrong
