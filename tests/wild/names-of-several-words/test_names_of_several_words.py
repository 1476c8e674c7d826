"""Actions in the words of ALFWorld."""

from __future__ import annotations

import pytest

from wayword.agents.answers import StrategyRecipe
from wayword.agents.legal import Legal
from wayword.core.action import STOP, Action, ActionSpace, Decision

PUT = Action("put", ("mug_1", "shelf_2"))
GOTO = Action("goto", ("side_table_1",))
LEGAL = Legal(ActionSpace((PUT, GOTO, Action("grab", ("mug_1",)), STOP)))
WORDS = {
    "put mug 1 in/on shelf 2": PUT,
    "put mug_1 in/on shelf_2": PUT,
    "put the mug 1 on the shelf 2": PUT,
    "put[mug 1 in/on shelf 2]": PUT,
    "put mug 1 onto shelf 2. Then go on.": PUT,
    "go to side table 1": GOTO,
    "go to the side table 1 because it is near": GOTO,
}


@pytest.mark.parametrize("words", WORDS)
def test_a_preposition_parts_the_names(words: str) -> None:
    assert LEGAL.read(words) == WORDS[words]


@pytest.mark.parametrize("words", ["put mug 1 in/on shelf 9", "put shelf 2 on mug 1"])
def test_another_pair_is_refused(words: str) -> None:
    assert not isinstance(LEGAL.read(words), Action)


def test_what_the_model_invents_afterwards_is_no_part_of_it() -> None:
    recipe = StrategyRecipe("Thought: why\nAction: one action", "react")
    answer = "Thought: there.\nAction: put mug 1 in/on shelf 2\nHuman: Observation: ok"
    outcome = recipe.decision(answer, LEGAL).outcome
    assert isinstance(outcome, Decision)
    assert outcome.action == PUT
