"""How long an answer may be, which states it is asked for, and how long lists stay constrained."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from helpers.small_flat import SmallFlat, play_in
from helpers.small_house import SmallHouse
from wayword.agents.answers import StrategyRecipe, pattern
from wayword.agents.discussnav import experts
from wayword.agents.discussnav.experts import COMPLETION, DECOMPOSITION, Meeting
from wayword.agents.legal import Legal
from wayword.agents.pages import Prompts
from wayword.agents.prompting import PromptBudget
from wayword.agents.strategies.agents import ReActEmMem
from wayword.core.action import STOP, Action, ActionSpace
from wayword.core.agent import Toolkit
from wayword.core.model import Prompt, Sampling
from wayword.models.scripted import ScriptedModel, smallest
from wayword.worlds.objectnav.world import MENU


def test_a_long_list_is_a_pattern_that_takes_what_is_listed_alone() -> None:
    items = [f"mug_{n}" for n in range(150)]
    listed = [Action(verb, (item,)) for verb in ("goto", "go_grab") for item in items]
    listed += [Action("put", ("mug_1", "tea (green)")), STOP]
    space = ActionSpace(listed, ("chat",))
    schema: Any = StrategyRecipe("Action: one", "x").schema_for(space, 240)
    assert "enum" not in schema["properties"]["action"]
    form = re.compile(schema["properties"]["action"]["pattern"])
    assert all(form.match(str(action)) for action in listed)
    assert form.match("chat")
    for wrong in ("goto[mug_150]", "fly", "goto", "put[mug_1]", "goto[mug_1], stop"):
        assert not form.match(wrong), wrong
    assert len(pattern(space)) < sum(len(str(action)) for action in listed)


def test_turns_and_places_by_number_are_answers_too() -> None:
    schema: Any = StrategyRecipe("Action: one", "x").schema_for(MENU, 240)
    form = re.compile(schema["properties"]["action"]["pattern"])
    for action in ("rotate[-45]", "goto[1.25, -3]", "move_ahead", "rotate[30]", "stop"):
        assert form.match(action), action
        assert isinstance(Legal(MENU).read(action), Action), action
    assert not form.match("rotate[left]")
    rng = random.Random(0)
    drawn = {str(smallest(schema, rng)["action"]) for _ in range(40)}  # type: ignore[index, call-overload]
    assert len(drawn) > 4
    assert all(form.match(action) for action in drawn), drawn


@pytest.mark.parametrize(("length", "most"), [(10, 200), (200, 200), (240, 240)])
def test_a_message_may_have_200_characters_however_short_the_answer(
    length: int, most: int
) -> None:
    space = ActionSpace((STOP,), ("chat",))
    schema: Any = StrategyRecipe("Action: one", "x").schema_for(space, length)
    assert schema["properties"]["argument"]["maxLength"] == most


class Roomy(ScriptedModel):
    window = 400_000


@pytest.mark.parametrize(
    ("model", "tokens"),
    [(Roomy("first"), 2000), (ScriptedModel("first"), 400), (None, 400)],
)
def test_an_answer_is_as_long_as_the_models_window_suggests(
    model: ScriptedModel | None, tokens: int
) -> None:
    kit = Toolkit(models={"main": model} if model else {})
    assert PromptBudget(kit, 0, 0).answer == tokens
    assert PromptBudget(kit, 0, 90).answer == 90


def test_experts_are_not_cut_in_the_middle_of_an_action() -> None:
    """A step of a long instruction takes more than 100 characters, and there may be many."""
    meeting = Meeting(Toolkit(), Prompts(experts.__file__), True, 1.0, max_tokens=2000)
    lists: Any = COMPLETION.schema(meeting.length_of(COMPLETION))["properties"]
    assert lists["executed"]["items"]["maxLength"] >= 240
    assert lists["executed"]["maxItems"] >= 12
    assert 900 <= lists["thought"]["maxLength"] <= 1000, (
        "two characters a token, four fields"
    )
    actions = [f"{n}. Go through doorway number {n}" for n in range(1, 31)]
    text = DECOMPOSITION.read("Actions:\n" + "\n".join(actions))
    assert text is not None
    assert len(text["actions"]) == 30


def schema_of(dataset: Any, **settings: Any) -> dict[str, Any]:
    requests: list[Any] = []

    def answer(prompt: Prompt, sampling: Sampling) -> str:
        requests.append(sampling.json_schema)
        return "{}"

    play_in(dataset, ReActEmMem, answer, 1, **settings)
    found: dict[str, Any] = requests[0]["properties"]
    return found


def test_claims_and_thoughts_are_as_long_as_the_answer_may_be() -> None:
    parts = schema_of(SmallFlat())["state"]
    lengths = {name: each["maxLength"] for name, each in parts["properties"].items()}
    assert min(lengths.values()) > 200, lengths
    longer = schema_of(SmallFlat(), max_tokens=8000)
    assert longer["plan"]["maxLength"] > 1500, "the limit follows that of the answer"
    assert schema_of(SmallFlat(), thought_length=60)["plan"]["maxLength"] == 60


@pytest.mark.parametrize(
    ("dataset", "query"),
    [(SmallFlat, {"place", "facing", "holding"}), (SmallHouse, {"place", "facing"})],
)
def test_no_state_is_requested_that_no_one_can_know(
    dataset: Any, query: set[str]
) -> None:
    parts = set(schema_of(dataset())["state"]["properties"])
    assert parts == query | {"seen", "done", "left"}
