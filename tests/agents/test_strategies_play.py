"""The strategies at play: in every world, by either decoding, and with prompts that only grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.small_flat import Lamp, SmallFlat, play_in
from helpers.small_house import SmallHouse
from wayword.agents.strategies.agents import Act, ReAct, ReActEmMem
from wayword.agents.strategies.strategy import Strategy
from wayword.core.action import Action, Rejection
from wayword.core.agent import Toolkit
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.trajectory import Trajectory
from wayword.datasets.houses import Houses
from wayword.datasets.towns import Towns
from wayword.settings import make
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

STRATEGIES = (Act, ReAct, ReActEmMem)
STATE = "State:\n  place: kitchen\n  facing: north\n  holding: nothing\n"


def done(trajectory: Trajectory) -> list[str]:
    return [
        str(action) for step in trajectory.steps for action in _action(step.decision)
    ]


def _action(decision: Any) -> list[Action]:
    return [] if isinstance(decision, Rejection) else [decision.action]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_free_answers_walk_through_the_small_house(strategy: type[Strategy]) -> None:
    answers = ["Action: goto[b]", "Action: GoTo [ C ]\n", "Action: stop"]
    trajectory, _ = play_in(SmallHouse(), strategy, answers, decoding="free")
    assert trajectory.ended == "stopped"
    assert done(trajectory) == ["goto[b]", "goto[c]", "stop"]
    assert [p["viewpoint"] for p in trajectory.visited("agent")] == ["s", "b", "c", "c"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_constrained_answers_walk_through_the_small_house(
    strategy: type[Strategy],
) -> None:
    answers = [
        json.dumps({"action": "goto[b]"}),
        json.dumps({"action": "goto[c]"}),
        json.dumps({"action": "stop"}),
    ]
    trajectory, _ = play_in(SmallHouse(), strategy, answers)
    assert trajectory.ended == "stopped"
    assert done(trajectory) == ["goto[b]", "goto[c]", "stop"]


def test_a_thought_is_kept_with_its_action() -> None:
    answers = [
        "Thought: the hall\nlies ahead.\nAction: goto[b]",
        "I am there.\nAction: stop",
    ]
    trajectory, _ = play_in(SmallHouse(), ReAct, answers, decoding="free")
    thoughts = [step.decision.thought for step in trajectory.steps]
    assert thoughts == ["the hall lies ahead.", "I am there."]


def test_the_mug_is_brought_to_the_hall() -> None:
    answers = [
        "Action: go_grab[mug_1]",
        "Action: go_explore[hall]",
        "Action: go_put[box_1]",
        "Action: stop[in the box]",
    ]
    trajectory, model = play_in(SmallFlat(), Act, answers, decoding="free")
    assert trajectory.state["objects"]["mug|1"]["in"] == "box|1"
    assert trajectory.state["actors"]["agent"]["answer"] == "in the box"
    assert (
        "You went to mug_1 and picked it up.\nYou are in the kitchen"
        in model.prompts[1]
    )


def test_a_towns_given_step_is_taken_before_anything_is_queried() -> None:
    trajectory, model = play_in(
        Towns(), Act, ["Action: forward", "Action: stop"], decoding="free"
    )
    assert done(trajectory) == ["forward", "forward", "stop"]
    assert len(model.prompts) == 2
    assert "Observation: You face " in model.prompts[0]


def test_a_world_without_a_voice_is_reported_field_by_field() -> None:
    answers = ["Action: press", "Action: stop"]
    trajectory, model = play_in(Lamp(), ReAct, answers, decoding="free")
    assert done(trajectory) == ["press", "stop"]
    assert "in brackets\npress\nstop\n" in model.prompts[0]
    assert "Observation: Result: ok, light: True.\nlamp: on" in model.prompts[1]


def test_two_actors_talk_and_each_is_shown_who_it_is() -> None:
    pair = SmallFlat(poses={"anna": (2.0, 1.5, 0.0), "ben": (3.0, 1.5, 0.0)})
    answers = ["Action: chat[the mug, please]", "Action: goto[mug_1]", "Action: stop"]
    trajectory, model = play_in(pair, Act, answers, decoding="free")
    assert "You are anna. The others are: ben." in model.prompts[0]
    assert "You are ben. The others are: anna." in model.prompts[1]
    assert "anna says: the mug, please" in model.prompts[1]
    assert trajectory.ended == "stopped"


class Answering(SmallFlat):
    """The flat, with somebody who answers."""

    def world(self, episode: Episode) -> HouseholdWorld:
        world = super().world(episode)
        world.answerer = lambda actor, question: "To the hall."
        return world


def test_open_verbs_are_answered_with_an_argument_of_their_own() -> None:
    answers = [
        {"action": "turn_left", "argument": "not needed"},
        {"action": "ask", "argument": "where to?"},
        {"action": "ask", "argument": ""},
        {"action": "stop", "argument": "two"},
    ]
    trajectory, _ = play_in(Answering(), Act, [json.dumps(a) for a in answers])
    assert done(trajectory) == ["turn_left", "ask[where to?]", "stop[two]"]
    rejected = trajectory.steps[2].decision
    assert isinstance(rejected, Rejection)
    assert (rejected.kind, rejected.reason) == (
        "empty",
        "ask needs words: ask[what you say]",
    )


def test_only_the_verbs_of_the_body_are_reported() -> None:
    body = Body(actions=("turn_left", "go_grab", "stop"))
    _, model = play_in(SmallFlat(body=body), Act, ["Action: stop"], decoding="free")
    text = model.prompts[0].partition("in brackets\n")[2].partition("\n\n")[0]
    verbs = [line.partition(":")[0] for line in text.splitlines()]
    assert verbs == ["go_grab[object]", "turn_left", "stop[answer]"]


def test_rules_of_the_task_come_with_the_episode() -> None:
    for rules in ("Answer yes or no.", {"agent": "Answer yes or no.", "ben": "Wait."}):
        _, model = play_in(
            SmallFlat(extra={"rules": rules}), Act, ["stop"], decoding="free"
        )
        assert "\nGOAL\nAnswer yes or no.\n" in model.prompts[0]
        assert "Wait." not in model.prompts[0]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("dataset", [SmallHouse, SmallFlat, Houses, Towns])
def test_prompts_only_grow(strategy: type[Strategy], dataset: Any) -> None:
    answers = [
        "Action: goto[b]",
        "no idea",
        "Action: forward",
        "Action: turn_left",
        "Action: goto",
    ]
    _, model = play_in(dataset(), strategy, answers, max_steps=6, decoding="free")
    assert len(model.prompts) >= 5
    for shorter, longer in zip(model.prompts, model.prompts[1:], strict=False):
        assert longer.startswith(shorter)


def test_a_long_history_loses_full_steps_and_says_so() -> None:
    answers = ["Action: goto[b]", "Action: goto[s]"] * 5
    trajectory, model = play_in(
        SmallHouse(), Act, answers, decoding="free", context=430, max_tokens=20
    )
    assert {note.kind for step in trajectory.steps for note in step.notes} == {
        "history_dropped"
    }
    last = model.prompts[-1]
    assert last.count("Task: Go ahead and turn right.") == 1
    assert "steps are not shown.)\n\nObservation:" in last
    roles = [line for line in last.splitlines() if line in ("<user>", "<assistant>")]
    assert roles == ["<user>", "<assistant>"] * (len(roles) // 2) + ["<user>"]
    assert trajectory.ended != "failed"


def test_rejections_are_fed_back_and_shown_short() -> None:
    answers = [
        "Action: goto[kitchen]",
        "noise " * 20_000,
        "Action: goto[b]",
        "Action: stop",
    ]
    trajectory, model = play_in(SmallHouse(), ReAct, answers, decoding="free")
    kinds = [
        s.decision.kind for s in trajectory.steps if isinstance(s.decision, Rejection)
    ]
    assert kinds == ["unknown", "too_long"]
    assert "Not an action: goto[kitchen] is not possible here" in model.prompts[1]
    assert len(model.prompts[2]) < len(model.prompts[1]) + 2000


def test_own_state_can_be_reported_at_the_start_only() -> None:
    answers = ["Action: turn_left"] * 3
    free: dict[str, Any] = {"decoding": "free", "view": "full"}
    _, always = play_in(SmallFlat(), Act, answers, 3, **free)
    _, start = play_in(SmallFlat(), Act, answers, 3, **free, own_state="start")
    assert always.prompts[-1].count("You are in the kitchen, facing") == 3
    assert start.prompts[-1].count("You are in the kitchen, facing") == 1
    assert start.prompts[-1].count("You turned left.") == 2


@pytest.mark.parametrize("decoding", ["free", "constrained"])
def test_examples_show_actions_and_true_states_and_no_thoughts(decoding: str) -> None:
    shown = [Action("turn_left"), Action("go_grab", ("mug_1",)), Action("stop")]
    flat = SmallFlat(shown=shown)
    _, model = play_in(
        flat, ReActEmMem, ["Action: stop"], 1, shots=2, decoding=decoding
    )
    prompt = model.prompts[0]
    assert prompt.count("Task: Bring the mug to the hall.") == 3
    assert prompt.count("<assistant>") == 6
    assert prompt.count("270° (west)") == 2
    assert "Plan:" not in prompt.partition("<user>")[2]
    written = {
        "free": "Action: go_grab[mug_1]",
        "constrained": '"action": "go_grab[mug_1]"',
    }
    assert written[decoding] in prompt


def test_examples_that_do_not_fit_are_refused_and_never_dropped() -> None:
    flat = SmallFlat(shown=[Action("turn_left")] * 40 + [Action("stop")])
    trajectory, model = play_in(flat, Act, ["{}"], 1, shots=2, context=20_000)
    assert model.prompts[0].count("Task: ") == 3
    assert not trajectory.steps[0].notes
    with pytest.raises(
        UsageError, match=r"0 of 2 examples fit.* 1,000 tokens; raise context"
    ):
        play_in(flat, Act, ["{}"], 1, shots=2, context=1_000)


def test_examples_are_reported_next_to_the_usual_prompt_where_no_window_is_known() -> (
    None
):
    flat = SmallFlat(shown=[Action("turn_left")] * 200 + [Action("stop")])
    trajectory, model = play_in(flat, Act, ["{}"] * 3, 3, shots=2)
    assert model.prompts[-1].count("Task: ") == 3
    assert not [note.kind for step in trajectory.steps for note in step.notes]


def test_a_strategy_of_ones_own_is_one_text(tmp_path: Path) -> None:
    mine = tmp_path / "careful.py"
    mine.write_text(
        "from wayword.agents.strategies.strategy import Strategy\n"
        "class Careful(Strategy):\n"
        "    recipe = 'Doubt: what could go wrong\\nAction: exactly one action'\n"
        "agent = Careful\n"
    )
    from wayword.core import registry

    answers = ["Doubt: the way is long\nAction: goto[b]", "Action: stop"]
    strategy = registry.load("agent", str(mine))
    trajectory, model = play_in(SmallHouse(), strategy, answers, decoding="free")
    assert trajectory.steps[0].decision.thought == "the way is long"
    assert "Doubt: what could go wrong" in model.prompts[0]


def test_a_recipe_that_does_not_end_in_an_action_is_refused() -> None:
    class Endless(Strategy):
        recipe = "Thought: and on\nThought: and on"

    with pytest.raises(UsageError, match="must be 'Action:'"):
        Endless(Endless.Settings(), Toolkit())


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"shots": -1}, {"max_tokens": -1}, {"context": -1}):
        with pytest.raises(UsageError, match="act: setting"):
            make(Act.Settings, wrong, "act")


def test_own_texts_replace_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "agent.txt").write_text("You are a vacuum cleaner.")
    (tmp_path / "react.txt").write_text(
        "Doubt: what could go wrong\nAction: one action"
    )
    answers = ["Doubt: dust\nAction: stop"]
    trajectory, model = play_in(
        SmallHouse(), ReAct, answers, decoding="free", prompts=str(tmp_path)
    )
    assert "You are a vacuum cleaner." in model.prompts[0]
    assert trajectory.steps[0].decision.thought == "dust"
