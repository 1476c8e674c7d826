"""The grid world as a world: one for the same seed, whole under any play, ended by the level."""

from __future__ import annotations

import json
import random
import sys

import pytest

from helpers.sampling import LONG
from wayword.core.action import STOP, Action
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.world import Feedback
from wayword.datasets.grounding import LEVELS
from wayword.verbalize.babyai import describe, feedback
from wayword.worlds.babyai.world import LOW_LEVEL, Actions, BabyAIWorld

STEPS = 10_000 if LONG else 2_500


def started(
    level: str = "GoToObj", seed: int = 0, actions: Actions = "low"
) -> BabyAIWorld:
    world = BabyAIWorld(level, actions)
    world.reset(Episode("1", "?", level, {"seed": seed}))
    return world


def object_counts(world: BabyAIWorld) -> tuple[int, ...]:
    """Things are neither lost nor doubled: walls, doors and the rest, boxes with what they hold."""
    there = [item for item in world.level.env.grid.grid if item is not None]
    held = world.level.carried
    loose = [
        t
        for t in [*there, *([held] if held else [])]
        if t.type in ("key", "ball", "box")
    ]
    assert len({id(item) for item in loose}) == len(loose)
    assert held is None or held not in there
    at = world.level.at(*world.level.place)
    assert at is None or at.can_overlap()
    return sum(t.type == "wall" for t in there), sum(t.type == "door" for t in there)


@pytest.mark.parametrize("actions", ["low", "high"])
def test_random_steps_keep_the_world_intact(actions: Actions) -> None:
    rng = random.Random(actions)
    world = started()
    taken = 0
    draws = 0
    fixed: tuple[int, ...] = ()
    while taken < STEPS:
        if not taken or world.done("agent"):
            world = started(LEVELS[draws % len(LEVELS)], draws, actions)
            fixed = object_counts(world)
            draws = draws + 1
        listed = [
            action for action in world.action_space("agent").listed if action != STOP
        ]
        answer = world.step("agent", listed[rng.randrange(len(listed))])
        taken += 1
        assert feedback(answer)
        assert describe(world.observe("agent"))
        assert object_counts(world) == fixed
        assert world.pose("agent")["heading"] in (0.0, 90.0, 180.0, 270.0)


@pytest.mark.parametrize("actions", ["low", "high"])
def test_a_replay_is_the_same_to_the_byte(actions: Actions) -> None:
    def record(choices: list[Action] | None) -> tuple[str, list[Action]]:
        world = started("Synth", 3, actions)
        rng = random.Random(1)
        lines = []
        taken = []
        for n in range(80):
            if world.done("agent"):
                break
            listed = [
                action
                for action in world.action_space("agent").listed
                if action != STOP
            ]
            action = choices[n] if choices else rng.choice(listed)
            answer = world.step("agent", action)
            taken.append(action)
            lines.append(
                json.dumps(
                    [answer.status, dict(answer.details), dict(world.pose("agent"))]
                )
            )
            lines.append(describe(world.observe("agent")))
        return "\n".join([*lines, json.dumps(world.state())]), taken

    first, actions_taken = record(None)
    assert record(actions_taken)[0] == first
    assert len(actions_taken) > 20


def test_the_level_ends_the_episode_and_says_whether_it_is_solved() -> None:
    world = started()  # the key is two steps ahead and one to the right
    for verb in ("move_ahead", "move_ahead", "turn_right"):
        assert not world.done("agent")
        answer = world.step("agent", Action(verb))
    assert answer == Feedback("ok", {"action": "turn_right", "succeeded": True})
    assert feedback(answer) == "You turned right. The task is done."
    assert world.done("agent")
    state = world.state()
    assert state["success"]
    assert state["reward"] == pytest.approx(1 - 0.9 * 3 / 64)
    with pytest.raises(ValueError, match="not on the menu"):
        world.step("agent", Action("turn_left"))


def test_the_levels_own_step_limit_ends_it_unsolved() -> None:
    world = started("GoToObjS4", 1)
    limit = world.state()["most_steps"]
    for _ in range(limit):
        assert not world.done("agent")
        answer = world.step("agent", Action("drop"))
    assert world.done("agent")
    assert answer.details["succeeded"] is False
    assert feedback(answer) == "Your hands are empty. The task is over."
    assert not world.state()["success"]


def test_stopping_early_is_no_success() -> None:
    world = started()
    world.step("agent", STOP)
    assert world.done("agent")
    assert not world.state()["success"]


def test_low_verbs_are_the_levels_actions_and_skills_are_on_the_other_menu() -> None:
    low = started()
    high = started(actions="high")
    assert (
        tuple(action.name for action in low.action_space("agent").listed) == LOW_LEVEL
    )
    assert Action("goto", ("green_key_1",)) in high.action_space("agent").listed
    assert Action("move_ahead") not in high.action_space("agent").listed
    assert Action("goto") not in high.action_space("agent").listed


def test_what_cannot_be_played_is_refused_in_one_line() -> None:
    with pytest.raises(
        UsageError, match=r"no level 'GoToObjj'; did you mean 'GoToObj'\?"
    ):
        BabyAIWorld("GoToObjj")
    with pytest.raises(UsageError, match="must be 'low' or 'high'"):
        BabyAIWorld("GoToObj", "all")  # type: ignore[arg-type]
    world = BabyAIWorld("GoToObj")
    with pytest.raises(ValueError, match=r"call reset\(\) first"):
        world.observe("agent")
    with pytest.raises(DataError, match="field 'seed'"):
        world.reset(Episode("1", "?", "GoToObj", {"seed": -1}))
    with pytest.raises(DataError, match="must be 'GoToObj', this world's level"):
        world.reset(Episode("1", "?", "Pickup", {"seed": 1}))
    world.reset(Episode("1", "?", "GoToObj", {"seed": 1}))
    with pytest.raises(ValueError, match="unknown actor"):
        world.observe("me")


def test_without_the_package_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "minigrid", None)
    with pytest.raises(UsageError, match=r"extra-babyai"):
        BabyAIWorld("GoToObj")


def test_parts_of_an_instruction_are_counted_and_what_they_mean_is_marked() -> None:
    world = started("GoToObj")
    (meant,) = world.level.target_squares()
    assert world.level.at(*meant).type == "key", "the instruction: go to the green key"
    assert world.level.met() == (0, 1)
    two = started("GoToSeq", 4)
    met, parts = two.level.met()
    assert (met, parts) == (0, two.level.mission.count("go to"))
    assert parts > 1
    assert len(two.level.target_squares()) >= 1
