"""Answers from public reports, each with its reading."""

from __future__ import annotations

import tomllib
from pathlib import Path

from wayword.agents.answers import StrategyRecipe, read_choice
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection

CASES = tomllib.loads(
    (Path(__file__).parent / "cases.toml").read_text(encoding="utf-8")
)["case"]
LISTED = (
    *(Action("goto", (name,)) for name in ("pot_1", "pan_1")),
    Action("put", ("pot_1", "stove_1")),
    STOP,
)
REACT = StrategyRecipe("Thought: why\nAction: what", "react")


def reading(reader: str, answer: str) -> str:
    if reader == "react":
        decided = REACT.decision(answer, Legal(ActionSpace(LISTED))).outcome
        return decided.kind if isinstance(decided, Rejection) else str(decided.action)
    chosen = read_choice(answer, ["v1", "v2"])
    if isinstance(chosen, Rejection):
        return chosen.kind
    return chosen.choice or "stop"


def test_answers_of_public_reports_have_their_readings() -> None:
    wrong = {}
    for case in CASES:
        result = reading(case["reader"], case["answer"])
        if result != case["reads"]:
            wrong[case["name"]] = (result, case["reads"])
    assert not wrong
