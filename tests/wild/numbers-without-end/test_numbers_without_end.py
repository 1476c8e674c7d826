"""Answers that are a number of thousands of digits: Python refuses to convert them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.loopback import chat, serving
from wayword.agents.answers import read_choice, read_pick
from wayword.agents.human import parse_input
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection
from wayword.runs import Plan, run

DIGITS = "9" * 5_000
FORMS = (
    "{}",
    "Exit {}",
    "Action: {}",
    "Thought: on.\nAction Input: {}",
    '{{"action": {}}}',
    '{{"thought": "on", "arrived": false, "action": {}}}',
    '```json\n{{"prediction": [{}]}}\n```',
    "3{}.0",
    "-{}",
)
WORLDS: dict[str, tuple[str, dict[str, Any]]] = {
    "indoor": ("houses", {"houses": 1, "episodes": 1}),
    "street": ("towns", {"towns": 1, "episodes": 3}),
    "household": ("household", {"homes": 1, "episodes": 1}),
    "objectnav": ("apartments", {"homes": 1, "episodes": 1, "rooms": 3}),
}
"""Family -> a dataset without files, and its settings."""
SPACE = ActionSpace((Action("goto", ("1",)), Action("goto", ("3",)), STOP))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("digits", [DIGITS, "0" * 5_000, "٣" * 5_000])
def test_a_number_of_thousands_of_digits_is_no_option(form: str, digits: str) -> None:
    answer = form.format(digits)
    assert isinstance(read_choice(answer, ["1", "3"]), Rejection)
    assert isinstance(read_pick(answer, ["1", "3"]), Rejection)
    assert not isinstance(Legal(SPACE).read(answer), Action)


def test_a_person_may_hold_a_key() -> None:
    assert "must be between 1 and 3" in str(parse_input(DIGITS, SPACE))


@pytest.mark.parametrize(
    ("agent", "family"),
    [
        ("navgpt", "indoor"),
        ("mapgpt", "indoor"),
        ("discussnav", "indoor"),
        ("velma", "street"),
        ("lgx", "objectnav"),
        ("react", "household"),
    ],
)
def test_an_episode_of_such_answers_is_played_to_its_end(
    tmp_path: Path, agent: str, family: str
) -> None:
    def answer(
        route: str, body: dict[str, Any], headers: dict[str, str]
    ) -> tuple[int, Any]:
        form = FORMS[len(server.asked) % len(FORMS)]
        return 200, chat(form.format(DIGITS))

    on, settings = WORLDS[family]
    with serving(answer) as server:
        tree = {"model": {"base_url": server.address}, "dataset": settings}
        plan = Plan(
            agent, on, "openai:any", tree, limit=1, max_steps=6, out=tmp_path / "run"
        )
        outcome = run(plan).outcome
    assert (outcome.finished, outcome.failed) == (1, 0), outcome
