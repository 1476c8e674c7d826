"""Rewards over several steps: each term pays for what changed, to the actor that it belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from wayword.envs import Environment, make
from wayword.envs.game import TaskGame

HOUSE: dict[str, Any] = {"houses": 1, "episodes": 4}
SHARED: dict[str, Any] = {"homes": 1, "episodes": 1, "task": "Coffee"}
TOLD = ("distance", "expert_action")
TERMS = {"success": 1.0, "progress": 2.0, "cost": 0.1, "rejected": 0.5}


@pytest.fixture(scope="module")
def shared() -> Environment:
    """The second of two actors; the first one plays along."""
    terms = {"success": 1.0, "cost": 0.25, "rejected": 0.5}
    return make("ma_household", actor="follower", max_steps=40, reward=terms, settings=SHARED)


def test_progress_pays_the_way_covered_by_each_step_and_a_way_back_costs_it() -> None:
    env = make("houses", settings=HOUSE, reward=TERMS, max_steps=60, include=TOLD)
    _, info = env.reset(episode=0)
    whole = left = info["distance"]
    start, paid, over = env.game.world.pose("agent")["viewpoint"], [], False
    said = [info["expert_action"], "sing", f"goto[{start}]"]
    while not over:
        words = said.pop(0) if said else info["expert_action"]
        _, reward, ended, cut, info = env.step(words)
        over, terms = ended or cut, info["reward_terms"]
        assert terms["progress"] == pytest.approx(2.0 * (left - info["distance"]) / whole)
        assert terms["cost"] == -0.1
        assert terms["rejected"] == (-0.5 if words == "sing" else 0.0)
        assert terms["success"] == float(over)
        assert reward == pytest.approx(sum(terms.values()))
        left = info["distance"]
        paid.append(terms["progress"])
    assert paid[0] > 0 == paid[1]
    assert paid[2] == pytest.approx(-paid[0]), "back at the start"
    assert sum(paid) == pytest.approx(2.0)


def test_conditions_pay_when_they_come_to_hold_and_no_second_time() -> None:
    env = make("household", settings={"homes": 1, "episodes": 2}, reward="conditions", include=TOLD)
    _, info = env.reset(episode=0)
    share, over, gained = 0.0, False, 0
    while not over:
        _, reward, ended, cut, info = env.step(info["expert_action"])
        over, standing = ended or cut, env.game.standing()
        assert standing is not None
        assert reward == pytest.approx(standing.met / standing.parts - share)
        gained += reward > 0
        share = standing.met / standing.parts
    assert share == 1.0
    assert gained >= 1


def test_an_actor_pays_for_its_own_turns_alone(shared: Environment) -> None:
    shared.reset(episode=0)
    for number, words in enumerate(("turn_left", "dance", "turn_left", "turn_right"), 1):
        _, reward, _, _, info = shared.step(words)
        rejected = -0.5 if words == "dance" else 0.0
        assert info["reward_terms"] == {"success": 0.0, "cost": -0.25, "rejected": rejected}
        assert reward == pytest.approx(rejected - 0.25)
        assert info["steps"] == number
        assert len(shared.game.trajectory.steps) == 2 * number + 1, "the other one is a turn ahead"


def test_a_clone_is_paid_from_where_it_was_made() -> None:
    env = make("houses", settings=HOUSE, reward={"progress": 1.0}, include=TOLD)
    _, info = env.reset(episode=0)
    env.step(info["expert_action"])
    other, words = env.clone(), env.game.expert_action("agent")
    assert words is not None
    assert other.step(words)[1] == pytest.approx(env.step(words)[1])


def test_the_experts_remaining_length_is_that_of_a_game_played_afresh(shared: Environment) -> None:
    """Whoever moved last, and whether or not the expert was followed."""
    shared.reset(episode=0)
    for words in ("turn_left", "turn_left", shared.game.expert_action("follower") or "turn_left"):
        shared.step(words)
        game = shared.game
        afresh = TaskGame(game.dataset, game.task, 40)
        for step in game.trajectory.steps:
            afresh.act(step.actor, step.decision)
        for actor in game.world.actors:
            assert game.remaining(actor) == afresh.remaining(actor) is not None
