"""What an agent is told of a home: its own body, its task's rules, and no action in vain."""

from __future__ import annotations

import re
from typing import Any

import pytest

from helpers.small_flat import SmallFlat, play_in
from wayword.agents.strategies.agents import Act, ReAct
from wayword.agents.strategies.briefing import offered
from wayword.core.action import Action, ActionSpace
from wayword.core.errors import UsageError
from wayword.core.model import Prompt, Sampling
from wayword.datasets.household import Household
from wayword.datasets.iqa import InteractiveQuestions
from wayword.datasets.ma_household import MaHousehold
from wayword.datasets.ma_wah import MaWah
from wayword.datasets.rearrangement import Rearrangement
from wayword.worlds.household.verbs import Body


def first_prompt(dataset: Any) -> str:
    """The first prompt."""
    _, model = play_in(dataset, Act, ["Action: stop"], 1, decoding="free")
    return model.prompts[0]


def test_a_body_states_its_own_limits() -> None:
    body = Body(
        focal_length=18.0,
        view_distance=3.0,
        manipulation_distance=0.8,
        step=0.5,
        pan_degrees=45.0,
        inventory_capacity=2,
    )
    prompt = first_prompt(SmallFlat(body=body))
    for words in (
        "Your view is 90° wide, centered on the direction you face, and 3 m deep",
        "You can touch what you see within 0.8 m, and hold 2 objects at a time",
        "move_ahead: go 0.5 m in the direction you face",
        "pan_left, pan_right: turn by 45°",
        "rooms: kitchen, hall",
    ):
        assert words in prompt, words
    assert "pan_left, pan_right: step aside by 0.25 m" in first_prompt(
        SmallFlat(body=Body(pan_degrees=0))
    )


def test_a_body_without_hands_is_reported_so() -> None:
    prompt = first_prompt(
        MaHousehold(settings=MaHousehold.Settings(homes=1, episodes=1))
    )
    assert "You have no hands" in prompt
    assert "You can touch" not in prompt


def test_nothing_is_offered_that_no_one_and_nothing_is_there_for() -> None:
    prompt = first_prompt(SmallFlat())
    for verb in (
        "chat[",
        "ask[",
        "wait:",
        "slice[",
        "heat[",
        "cool[",
        "clean[",
        "toggle_on[",
    ):
        assert f"\n{verb}" not in prompt, verb
    both = {"agent": (2.0, 1.5, 0.0), "other": (1.0, 1.0, 0.0)}
    prompt = first_prompt(SmallFlat(poses=both))
    assert "\nchat[" in prompt
    assert "\nwait:" in prompt


def listed(world: Any, actor: str = "agent") -> set[str]:
    return {str(action) for action in world.action_space(actor).listed}


def test_what_cannot_be_done_is_not_listed() -> None:
    dataset = SmallFlat()
    world = dataset.world(dataset.tasks[0].episode)
    world.reset(dataset.tasks[0].episode)
    assert "pick_up[mug_1]" in listed(world)
    assert not any(
        action.startswith(("drop", "put", "go_put")) for action in listed(world)
    )
    assert world.step("agent", Action("pick_up", ("mug_1",))).ok
    now = listed(world)
    assert {"drop[mug_1]", "put[mug_1, table_1]"} <= now
    assert not {"pick_up[mug_1]", "go_grab[mug_1]", "goto[mug_1]"} & now, (
        "it is in the hand"
    )
    assert world.step("agent", Action("turn_left")).ok
    assert world.step("agent", Action("turn_left")).ok
    assert "put[mug_1, table_1]" not in listed(world), "out of view is out of reach"
    assert "go_put[table_1]" in listed(world)


def test_each_task_tells_its_rules() -> None:
    described = {
        Household: "within 1.5 m",
        InteractiveQuestions: "yes, no, or a number",
        MaWah: "You share the job",
    }
    for dataset, words in described.items():
        assert words in first_prompt(
            dataset(settings=dataset.Settings(homes=1, episodes=1))
        )


def test_only_a_question_is_stopped_with_an_answer() -> None:
    requests = first_prompt(
        InteractiveQuestions(
            settings=InteractiveQuestions.Settings(homes=1, episodes=1)
        )
    )
    skill = first_prompt(Household(settings=Household.Settings(homes=1, episodes=1)))
    assert ("stop[answer]: " in requests, "\nstop: " in requests) == (True, False)
    assert ("stop[answer]: " in skill, "\nstop: " in skill) == (False, True)


def test_a_rearrangement_tells_how_everything_was_or_the_changes() -> None:
    state = Rearrangement(settings=Rearrangement.Settings(homes=1, episodes=1))
    changes = Rearrangement(
        settings=Rearrangement.Settings(homes=1, episodes=1, request="changes")
    )
    instruction, brief = (
        each.tasks[0].episode.instruction for each in (state, changes)
    )
    goals = state.tasks[0].reference.goals  # type: ignore[attr-defined]
    assert instruction.count("\n") > 10 > brief.count("\n")
    assert changes.tasks[0].reference.goals == goals  # type: ignore[attr-defined]
    assert "moved, opened or closed" in first_prompt(state)


@pytest.mark.parametrize(
    ("dataset", "count"),
    [
        (Rearrangement, 8),
        (InteractiveQuestions, 5),
        (Household, 12),
        (MaHousehold, 13),
        (MaWah, 6),
    ],
)
def test_the_papers_action_sets_have_as_many_as_table_1_counts(
    dataset: Any, count: int
) -> None:
    assert len(dataset.Settings(actions="paper").make_body().actions) == count


def test_bodies_and_actions_are_set_from_outside() -> None:
    settings = Household.Settings(
        actions="move_ahead,turn_left", body={"view_distance": 2}
    )
    body = settings.make_body()
    assert body.actions == ("move_ahead", "turn_left", "stop")
    assert body.view_distance == 2
    with pytest.raises(UsageError, match="did you mean 'move_ahead'"):
        Household.Settings(actions="move_ahed")
    with pytest.raises(UsageError, match="did you mean 'view_distance'"):
        Household.Settings(body={"view_dist": 2})


def action_fields(**settings: Any) -> list[dict[str, Any]]:
    """The schema's field ``action`` at each step of turning away from table and mug."""
    requests: list[dict[str, Any]] = []

    def answer(prompt: Prompt, sampling: Sampling) -> str:
        requests.append(dict(sampling.json_schema or {})["properties"]["action"])
        return '{"action": "turn_left"}'

    played, _ = play_in(SmallFlat(), Act, answer, 3, **settings)
    assert played.ended == "step_limit"
    return requests


def test_a_constrained_menu_lists_what_is_in_view_and_takes_the_rest_by_form() -> None:
    before, _, away = action_fields()
    assert "goto[mug_1]" in before["enum"], "the mug is in view"
    assert "enum" not in away
    assert "mug_1" not in away["pattern"], "a list would remember what is out of view"
    for action in (
        "goto[mug_1]",
        "goto[box_1]",
        "turn_left",
        "go_explore[hall]",
        "stop",
    ):
        assert re.fullmatch(away["pattern"], action), action
    assert not re.fullmatch(away["pattern"], "fly[mug_1]")
    everything = action_fields(menu="all")[-1]
    assert "goto[mug_1]" in everything["enum"]


def test_of_a_long_menu_the_shortest_are_listed() -> None:
    names = tuple(Action("goto", ("b" * n,)) for n in range(9, 0, -1))
    text = " ".join(action.arguments[0] for action in names)
    shown = offered(ActionSpace(names), text, 3)
    assert [str(action) for action in shown.listed] == [
        "goto[bbb]",
        "goto[bb]",
        "goto[b]",
    ]
    assert all(re.fullmatch(shown.forms[0], str(action)) for action in names)


def test_a_look_shows_all_that_is_in_view_and_takes_no_action() -> None:
    answers = [
        "Action: turn_left",
        "Action: turn_right",
        "Action: look",
        "Action: stop",
    ]
    played, model = play_in(SmallFlat(), ReAct, answers, decoding="free")
    assert [str(action) for action in played.actions("agent")] == [
        "turn_left",
        "turn_right",
        "stop",
    ]
    seen = "on table_1: mug_1 (dirty"
    views = [prompt.rpartition("Observation: ")[2] for prompt in model.prompts]
    assert [seen in view for view in views] == [True, False, False, True]
    twice = ["Action: look", "Action: look"]
    played, _ = play_in(SmallFlat(), ReAct, twice, 1, decoding="free")
    assert "you have just looked" in str(played.steps[0].decision)
