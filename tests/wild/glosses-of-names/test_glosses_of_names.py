"""A name with its ID in brackets, and words that stand for an object."""

from __future__ import annotations

import pytest

from wayword.agents.legal import Legal, Refusal
from wayword.core.action import STOP, Action, ActionSpace

LISTED = (
    *(Action("goto", (name,)) for name in ("pot_1", "pan_1", "coffee_machine_1")),
    Action("put", ("pot_1", "stove_1")),
    STOP,
)
HOME = ActionSpace(
    LISTED, accepts=lambda each: each in LISTED or len(each.arguments) == 1
)

READINGS = {
    "goto the pot (pot_1)": "goto[pot_1]",
    "goto[the pot (pot_1)]": "goto[pot_1]",
    "goto[coffee machine (coffee_machine_1)]": "goto[coffee_machine_1]",
    "put the pot (pot_1) on the stove (stove_1)": "put[pot_1, stove_1]",
    "goto[pot_1 (on the stove)]": "goto[pot_1]",
    # The ID of another object is no gloss of a name.
    "goto pot_1 as it is near (pan_1)": "goto[pot_1]",
    "goto[it]": "unknown",
    "goto[that]": "unknown",
    "goto[them]": "unknown",
    "goto[not pot_1]": "unknown",
    "goto[unknown]": "unknown",
    "goto[pot_1 because it is near]": "unknown",
    "goto[pot_1 - near]": "several_actions",
    "goto pot_1 / pan_1": "no_action",
}


@pytest.mark.parametrize("words", READINGS)
def test_a_gloss_or_a_word_for_an_object(words: str) -> None:
    result = Legal(HOME).read(words)
    reading = result.kind if isinstance(result, Refusal) else str(result)
    assert reading == READINGS[words]


def test_a_comment_after_two_slashes_is_thought() -> None:
    assert Legal(HOME).read("goto pot_1 // near") == Action("goto", ("pot_1",))
