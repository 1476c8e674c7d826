"""An argument with two names is no name, where any name may be given."""

from __future__ import annotations

import pytest

from wayword.agents.legal import Legal, Refusal
from wayword.core.action import STOP, Action, ActionSpace

LISTED = (Action("goto", ("bed_1",)), Action("goto", ("black or white chair",)), STOP)
OPEN = ActionSpace(LISTED, accepts=lambda action: len(action.arguments) == 1)


@pytest.mark.parametrize(
    "name",
    [
        "fridge_1 or sink_1",
        "either fridge_1 or sink_1",
        "fridge_1/sink_1",
        "fridge_1 | sink_1",
        "fridge_1 & sink_1",
        "fridge_1 vs sink_1",
        "fridge_1 (or sink_1)",
        "fridge_1 oder sink_1",
        "fridge_1或sink_1",
    ],
)
def test_two_names_are_refused(name: str) -> None:
    refusal = Legal(OPEN).read(f"goto[{name}]")
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "several_actions"


@pytest.mark.parametrize("name", ["fridge_1", "«fridge_1»", "black or white chair"])
def test_one_name_is_read(name: str) -> None:
    assert Legal(OPEN).read(f"goto[{name}]") == Action("goto", (name.strip("«»"),))
