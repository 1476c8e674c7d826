"""A command without a label gets the reason of the same command with one."""

from __future__ import annotations

import pytest

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Rejection

LISTED = (
    Action("go_to", ("bed 1",)),
    Action("take", ("cd 3", "bed 1")),
    Action("move", ("cd 3", "desk 1")),
    STOP,
)
REACT = StrategyRecipe("Thought: why\nAction: what", "react")


def refusal(answer: str, earlier: tuple[Action, ...] = ()) -> tuple[str, str]:
    legal = Legal(ActionSpace(LISTED), earlier)
    decided = REACT.decision(answer, legal).outcome
    assert isinstance(decided, Rejection)
    return decided.kind, decided.reason


@pytest.mark.parametrize(
    "command",
    [
        "go to sidetable 1",
        "take cd 9 from bed 1",
        "move cd 3 to bed 2",
        "> go to fridge 1",
    ],
)
def test_a_command_without_a_label_has_the_reason_of_one_with_a_label(
    command: str,
) -> None:
    kind, reason = refusal(command)
    assert (kind, reason) == refusal(f"Action: {command.removeprefix('> ')}")
    assert "is not possible here" in reason


def test_a_command_that_was_possible_is_said_to_have_been() -> None:
    kind, reason = refusal("go to desk 1", (Action("go_to", ("desk 1",)),))
    assert kind == "illegal"
    assert "was possible earlier" in reason


def test_prose_has_no_action() -> None:
    kind, reason = refusal("I would like to see the desk first.")
    assert kind == "no_action"
    assert reason.endswith("has no line that begins with 'Action:'")
