"""Game: one turn mechanism for recorded decisions, lists, plans and agents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from helpers.small_flat import SmallFlat
from helpers.small_hall import Hall, Halls
from helpers.small_house import SmallHouse
from wayword.core.action import STOP, Action, ActionSpace, Decision, Rejection
from wayword.core.agent import Demonstration
from wayword.core.episode import Episode
from wayword.core.game import (
    ActionPlan,
    Game,
    PlanningFailed,
    ReasonedPlan,
    ReplayDiffers,
)
from wayword.core.trajectory import Step
from wayword.core.world import Feedback, Observation, World

HOUSE = SmallHouse()
TASK = HOUSE.tasks[0]
B = Action("goto", ("b",))
C = Action("goto", ("c",))


def started(max_steps: int | None = None) -> Game:
    return Game(HOUSE.world(TASK.episode), TASK.episode, max_steps)


def acted(*decisions: Action | Rejection) -> list[Step]:
    game = started()
    for each in decisions:
        game.act("agent", Decision(each) if isinstance(each, Action) else each)
    return game.trajectory.steps


def places(steps: list[Step]) -> list[str]:
    return [step.pose["viewpoint"] for step in steps]


def test_the_world_is_reset_once_and_an_observation_is_computed_once_a_turn() -> None:
    game = started()
    assert game.trajectory.start["agent"]["viewpoint"] == "s"
    first = game.observation("agent")
    assert game.observation("agent") is first
    assert game.space("agent") is game.space("agent")
    step = game.act("agent", Decision(B))
    assert step.observation is first
    assert game.observation("agent") is not first
    assert Game(game.world).trajectory.start["agent"]["viewpoint"] == "b", (
        "no episode, no reset"
    )


def test_what_is_not_legal_is_a_rejection_and_changes_nothing() -> None:
    steps = acted(C, B, STOP, C)
    assert places(steps) == ["s", "b", "b", "b"]
    kinds = [
        s.decision.kind if isinstance(s.decision, Rejection) else "" for s in steps
    ]
    assert kinds == ["illegal", "", "", "illegal"]
    assert steps[0].feedback.status == "rejected"
    assert steps[0].feedback.details["reason"] == "goto[c] is not a legal action here"


@pytest.mark.parametrize("answer", ["stop", None, STOP, Decision("stop")])
def test_what_is_no_decision_about_an_action_says_so(answer: Any) -> None:
    with pytest.raises(
        TypeError, match=r"act must return Decision\(Action.* or a Rejection, got"
    ):
        started().act("agent", answer)


def test_a_world_without_feedback_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    game = started()
    monkeypatch.setattr(game.world, "step", lambda actor, action: None)
    with pytest.raises(TypeError, match=r"step must return Feedback\(…\), got None"):
        game.act("agent", Decision(B))


def test_a_rejection_stays_one_and_costs_a_turn() -> None:
    empty = Rejection("empty", "nothing was said")
    steps = acted(empty, B)
    assert steps[0].decision == empty
    assert steps[0].feedback.details == {"kind": "empty", "reason": "nothing was said"}
    assert places(steps) == ["s", "b"]
    game = started(max_steps=1)
    game.act("agent", empty)
    assert (game.active("agent"), game.ended) == (False, "step_limit")
    assert game.finished().state == game.world.state()


def test_actors_take_turns_in_rounds_also_after_an_uneven_start() -> None:
    world = Hall(ends=3)
    game = Game(world, Halls().tasks[0].episode, max_steps=4)
    for _ in range(2):
        game.act("ann", Decision(Action("on")))
    order = []
    for actor in game.turns():
        order.append(actor)
        stops = actor == "bob" and len(order) == 4
        game.act(actor, Decision(STOP if stops else Action("on")))
    assert order == ["bob", "bob", "ann", "bob"], "ann is done after three, bob stopped"
    assert game.ended == "stopped"


def test_the_limit_ends_an_episode_and_does_not_stop_a_longer_recording() -> None:
    game = started(max_steps=1)
    game.act("agent", Decision(B))
    assert (list(game.turns()), game.ended) == ([], "step_limit")
    assert game.act("agent", Decision(C)).pose["viewpoint"] == "c"
    assert list(started(max_steps=0).turns()) == []


def test_a_replay_yields_each_step_before_it_is_carried_out() -> None:
    recorded = acted(B, Rejection("empty", "no"), C)
    game = started()
    before = [game.world.pose("agent")["viewpoint"] for _ in game.replay(recorded)]
    assert before == ["s", "b", "b"]
    assert game.world.pose("agent")["viewpoint"] == "c"
    assert game.trajectory.steps == []
    with pytest.raises(
        ReplayDiffers, match="step 1 cannot be replayed: the world now returns ok"
    ):
        list(
            started().replay([Step("agent", {}, Decision(B), acted(C)[0].feedback, {})])
        )


def test_a_clone_goes_on_by_itself() -> None:
    game = started(max_steps=5)
    game.act("agent", Decision(B))
    other = game.clone()
    other.act("agent", Decision(STOP))
    assert (other.ended, game.ended) == ("stopped", None)
    assert (len(other.trajectory.steps), len(game.trajectory.steps)) == (2, 1)
    assert (other.taken, game.taken) == ({"agent": 2}, {"agent": 1})
    game.act("agent", Decision(C))
    assert other.world.pose("agent")["viewpoint"] == "b"


def test_a_plan_gets_the_feedback_of_each_action_and_ends_with_its_actor() -> None:
    heard: list[str] = []

    def plan() -> ActionPlan:
        heard.append((yield B).status)
        heard.append((yield Action("goto", ("nowhere",))).status)
        yield STOP
        raise AssertionError("asked after its actor was done")

    game = started()
    statuses = [feedback.status for _, feedback in game.follow("agent", plan())]
    assert statuses == ["ok", "rejected", "ok"]
    assert heard == ["ok", "rejected"]
    assert game.taken == {"agent": 3}
    assert started().actions("agent", plan()) == (B, STOP)


def test_a_plan_may_end_before_its_actor_does_or_fail() -> None:
    def short() -> ActionPlan:
        yield B

    def stuck() -> ActionPlan:
        yield B
        raise PlanningFailed("a wall")

    assert started().actions("agent", short()) == (B,)
    with pytest.raises(PlanningFailed, match="a wall"):
        started().actions("agent", stuck())


def test_a_plan_may_give_a_reason_for_each_action() -> None:
    reasons: list[str] = []

    def plan() -> ActionPlan:
        reasons.append("b is on the way")
        yield B
        reasons.append("this is it")
        yield STOP

    def thoughts(given: ActionPlan) -> list[str]:
        return [decision.thought for decision, _ in started().follow("agent", given)]

    assert thoughts(ReasonedPlan(plan(), lambda: reasons[-1])) == [
        "b is on the way",
        "this is it",
    ]
    assert thoughts(plan()) == ["", ""], "no reasons, no thoughts"


def test_a_demonstration_is_played_by_everybody_or_by_the_first_actor() -> None:
    flat = SmallFlat(poses={"ann": (1.0, 1.5, 0.0), "bob": (3.0, 1.5, 180.0)})
    episode = flat.tasks[0].episode
    left = Action("turn_left")
    alone = Demonstration(episode, (left,), lambda: flat.world(episode))
    assert alone.decisions() == [("ann", Decision(left))]
    both = Demonstration(episode, (), alone.world, (("bob", left), ("ann", left)))
    game = both.game()
    assert [game.act(*turn).actor for turn in both.decisions()] == ["bob", "ann"]


def test_a_record_keeps_what_a_world_gave_at_each_step() -> None:
    """A world of a user's may hand out its own list, and go on to change it."""

    @dataclass(frozen=True)
    class Trail(Observation):
        places: list[int]

    class Growing(World):
        def reset(self, episode: Episode) -> None:
            self.places = [0]
            self.at: dict[str, int] = {"x": 0}

        def observe(self, actor: str) -> Observation:
            return Trail(self.places)

        def action_space(self, actor: str) -> ActionSpace:
            return ActionSpace((B,))

        def step(self, actor: str, action: Action) -> Feedback:
            self.places.append(len(self.places))
            self.at["x"] += 1
            return Feedback()

        def done(self, actor: str) -> bool:
            return False

        def pose(self, actor: str) -> dict[str, int]:
            return self.at

    game = Game(Growing(), Episode("walk", "Walk.", "line", {}))
    steps = [game.act("agent", Decision(B)) for _ in range(3)]
    assert [step.pose["x"] for step in steps] == [1, 2, 3]
    seen = [cast("Trail", step.observation).places for step in steps]
    assert seen == [[0], [0, 1], [0, 1, 2]]
    assert game.trajectory.start == {"agent": {"x": 0}}
