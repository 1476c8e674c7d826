"""The step that lost an episode, and advice beside its steps, by replays of the record."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.two_in_a_flat import TwoInAFlat
from wayword.core.action import STOP, Action, Decision
from wayword.core.dataset import Dataset, Task, of_ids
from wayword.core.game import Game, PlanningFailed
from wayword.core.trajectory import Ending, Step, Trajectory
from wayword.datasets.household import Household
from wayword.datasets.houses import Houses
from wayword.datasets.towns import Towns
from wayword.metrics.household import has_stopped
from wayword.metrics.mistakes import Mistake
from wayword.runs import diagnosis
from wayword.runs.diagnosis import advise, diagnose, find_lost
from wayword.runs.plan import Plan
from wayword.runs.running import run

FAILED = {"sr": 0.0}


def played(
    dataset: Dataset,
    task: Task,
    actor: str,
    *actions: Action,
    ended: Ending = "stopped",
) -> Trajectory:
    """An episode in which one actor took these actions."""
    world = dataset.world(task.episode)
    world.reset(task.episode)
    start = {name: world.pose(name) for name in world.actors}
    walked = Trajectory(task.episode.id, start, ended=ended)
    for action in actions:
        seen = world.observe(actor)
        feedback = world.step(actor, action)
        pose = world.pose(actor)
        walked.steps.append(Step(actor, seen, Decision(action), feedback, pose))
    walked.state = dict(world.state())
    return walked


def mistake_of(walked: Trajectory, dataset: Dataset, task: Task) -> Mistake:
    found = diagnose(walked, FAILED, dataset, task).mistake
    assert found is not None
    return found


@pytest.fixture(scope="module")
def house() -> tuple[Houses, Task]:
    dataset = Houses("test", None, Houses.Settings(houses=1, episodes=4))
    return dataset, dataset.tasks[0]


def test_a_stop_while_the_goal_was_in_reach_is_the_mistake_and_a_detour_is_none(
    house: tuple[Houses, Task],
) -> None:
    dataset, task = house
    gold = [str(place) for place in task.reference.path]  # type: ignore[attr-defined]
    graph = dataset.graph(task.episode.scene)
    around = [each.viewpoint for each in graph.neighbors(gold[1])]
    off = max(set(around) - {*gold}, key=lambda place: graph.distance(place, gold[-1]))

    def found(*places: str) -> Mistake:
        moves = [Action("goto", (place,)) for place in places]
        return mistake_of(played(dataset, task, "agent", *moves, STOP), dataset, task)

    astray = found(gold[1], off)
    assert (astray.lost, astray.departed) == (3, 2)
    assert astray.text.startswith(f"Step 2: went from {gold[1]} to {off}")
    assert f"Step 3: stopped at {off}, " in astray.text
    assert astray.step == 2
    back = found(gold[1], off, gold[1], gold[2])
    assert (back.step, back.departed) == (5, 0), "it came nearer again"
    passed = found(*gold[1:], *gold[-2::-1])
    assert passed.cause == "passed_goal"
    assert "A stop after step " in passed.text


def test_a_street_walk_that_reached_the_goal_and_went_on_passed_it() -> None:
    dataset = Towns("test", None, Towns.Settings(towns=1, episodes=2))
    task = dataset.tasks[0]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    path = task.reference.path  # type: ignore[attr-defined]
    to_goal = world.along("agent", path)[:-1]
    beyond = [Action("turn_around"), *[Action("forward")] * 5, STOP]
    walked = played(dataset, task, "agent", *to_goal, *beyond)
    found = diagnose(walked, {"tc": 0.0}, dataset, task)
    assert next(iter(found.causes)) == "passed_goal"
    assert found.causes["passed_goal"] > len(to_goal), "the step that left the goal"
    assert "stopped_early" not in found.causes


def test_the_step_limit_lost_what_an_expert_could_no_longer_reach(
    house: tuple[Houses, Task],
) -> None:
    dataset, task = house
    gold = [str(place) for place in task.reference.path]  # type: ignore[attr-defined]
    length = len(gold)  # the moves and the stop
    there_and_back = [gold[1], gold[0], *gold[1:]][: length - 1]
    moves = [Action("goto", (place,)) for place in there_and_back]
    walked = played(dataset, task, "agent", *moves, ended="step_limit")
    found = mistake_of(walked, dataset, task)
    assert not found.limit
    assert 0 < found.lost < len(walked.steps)
    assert "an expert needed" in found.text
    short = played(dataset, task, "agent", *moves[:1], ended="step_limit")
    assert mistake_of(short, dataset, task).limit


def test_the_first_sentence_is_about_the_departure_and_a_later_one_about_the_last_chance(
    house: tuple[Houses, Task],
) -> None:
    dataset, task = house
    gold = [str(place) for place in task.reference.path]  # type: ignore[attr-defined]
    back = [*gold[1:], *gold[-2::-1]]
    moves = [Action("goto", (place,)) for place in back]
    walked = played(dataset, task, "agent", *moves, ended="step_limit")
    found = mistake_of(walked, dataset, task)
    head, rest = found.sentences()
    assert found.departed == len(gold), "the step that left the goal"
    assert found.departed < found.lost
    assert head == (
        f"Step {found.departed}: walked on from the goal {gold[-1]} instead of stopping."
    )
    assert f"After step {found.lost} it was too late: an expert needed " in rest


@pytest.mark.parametrize("one_by_one", [2.0, -1.0])
def test_the_last_chance_counts_where_an_expert_fails_before_it(
    house: tuple[Houses, Task], monkeypatch: pytest.MonkeyPatch, one_by_one: float
) -> None:
    """An expert's plan need not be the shortest: a step may bring success into its reach."""
    dataset, task = house
    gold = [str(place) for place in task.reference.path]  # type: ignore[attr-defined]
    moves = [Action("goto", (place,)) for place in [gold[1], gold[0]] * 4]
    walked = played(dataset, task, "agent", *moves, ended="step_limit")

    def can_succeed(episode: object, game: Game) -> bool:
        return sum(game.taken.values()) in (1, 5)

    monkeypatch.setattr(diagnosis._Episode, "can_succeed", can_succeed)
    monkeypatch.setattr(diagnosis, "_ONE_BY_ONE", one_by_one)
    lost = find_lost(walked, dataset, task)
    assert lost is not None
    # Without the time to try every step, any step after which success is lost may be found.
    assert lost.step == 6 if one_by_one > 0 else lost.step in (2, 6)


def in_a_flat(*actions: Action, ended: Ending = "stopped") -> tuple[int, str]:
    """Step and words of the mistake of Ann, who is to put the apple into the box."""
    dataset = TwoInAFlat()
    (task, *_) = dataset.tasks
    walked = played(dataset, task, "ann", *actions, ended=ended)
    found = mistake_of(walked, dataset, task)
    return found.lost, found.text


class OneExpertGivesUp(TwoInAFlat):
    """Bob's expert waits until Ann has stopped, and then fails."""

    def plan(self, task: Task, world: Any, actor: str, how: str = "expert") -> Any:
        if actor == "ann":
            return super().plan(task, world, actor, how)
        return self._wait(world)

    def _wait(self, world: Any) -> Any:
        while not has_stopped(world.state()):
            yield Action("wait")
        raise PlanningFailed("nothing is left to do")


def test_an_expert_that_cannot_go_on_does_not_undo_what_another_one_did() -> None:
    dataset = OneExpertGivesUp()
    (task, *_) = dataset.tasks
    walked = played(dataset, task, "ann", Action("turn_left"), STOP)
    walked.steps.append(replace(walked.steps[-1], actor="bob"))
    found = mistake_of(walked, dataset, task)
    assert (found.lost, found.limit) == (2, False)
    assert found.text.startswith("Step 2: ann stopped; ann had seen apple 1 at step 1 ")
    assert "bob stopped" not in found.text.lower(), "the first stop lost it"


def test_an_object_that_was_left_alone_or_dropped_is_named() -> None:
    away = (Action("turn_right"), Action("turn_right"))
    looked = (Action("goto", ("table_1",)), *away)
    step, text = in_a_flat(*looked, STOP)
    assert step == 4
    assert text.startswith(
        "Step 4: ann stopped; it had seen apple 1 at step 1 and never picked it up."
    )
    step, text = in_a_flat(Action("go_grab", ("apple_1",)), *away, STOP)
    assert step == 4
    assert (
        "nothing was done with apple 1 after step 1 (ann: go to apple 1 and pick it up)"
        in text
    )


@pytest.mark.parametrize(
    ("agent", "on"), [("expert", "iqa"), ("expert", "grounding"), ("oracle", "towns")]
)
def test_an_expert_agrees_with_its_own_solved_episodes(
    agent: str, on: str, tmp_path: Path
) -> None:
    result = run(Plan(agent, on, limit=4, out=tmp_path / "run"))
    records = list(result.recorded.records())
    tasks = of_ids(result.dataset.tasks, {record.episode_id for record in records})
    for record in records:
        task = tasks[record.episode_id]
        advice = list(advise(record.trajectory, result.dataset, task))
        assert len(advice) == len(record.trajectory.steps)
        assert all(each.same for each in advice), record.episode_id


def test_no_advice_is_an_action_that_fails() -> None:
    """Plans of skills walk against closed doors to find them."""
    dataset = Household("generated_test", None, Household.Settings(homes=6, episodes=2))
    tried = 0
    for task in dataset.tasks:
        with suppress(PlanningFailed):
            plan = dataset.solve(task, "skills")
            walked = played(dataset, task, task.episode.actors[0], *plan)
            went = [step.feedback.ok for step in walked.steps]
            if False not in went:
                continue
            # The agent tries what has failed once more, and then stops.
            number = went.index(False) + 1
            did = [*plan[:number], plan[number - 1], STOP]
            walked = played(dataset, task, task.episode.actors[0], *did)
            *_, first, again, last = advise(walked, dataset, task)
            assert first.same, "the plan tries it, too"
            assert not again.same
            assert {again.words, last.words} == {str(plan[number])}
            tried += 1
    assert tried


def test_a_step_back_is_worse_than_the_experts_and_the_path_never_is(
    house: tuple[Houses, Task],
) -> None:
    dataset, task = house
    gold = [str(place) for place in task.reference.path]  # type: ignore[attr-defined]
    moves = [Action("goto", (place,)) for place in gold[1:]]
    walked = played(dataset, task, "agent", *moves, STOP)
    assert all(each.as_good for each in advise(walked, dataset, task))
    back = played(dataset, task, "agent", moves[0], Action("goto", (gold[0],)))
    first, second = advise(back, dataset, task)
    assert first.as_good
    assert second.as_good is False


def test_a_result_diagnoses_its_records(tmp_path: Path) -> None:
    result = run(Plan("random", "houses", limit=4, max_steps=4, out=tmp_path / "run"))
    for record in result.failures():
        found: Any = result.diagnose(record)
        assert found.mistake.text == found.text
        assert found.mistake.cause == next(iter(found.causes))


@pytest.mark.parametrize("copies", [1, 2, 3, 500])
def test_a_long_episode_is_searched_from_a_few_copies_of_its_game(
    house: tuple[Houses, Task], monkeypatch: pytest.MonkeyPatch, copies: int
) -> None:
    """Between two copies, steps are carried out again; the lost step stays the same."""
    dataset, task = house
    gold = [str(place) for place in task.reference.path]  # type: ignore[attr-defined]
    there_and_back = [gold[1], gold[0], gold[1], gold[0], gold[1]]
    moves = [Action("goto", (place,)) for place in there_and_back]
    walked = played(dataset, task, "agent", *moves, ended="step_limit")
    expected = find_lost(walked, dataset, task)
    monkeypatch.setattr(diagnosis, "_MOST_COPIES", copies)
    assert find_lost(walked, dataset, task) == expected
    games = diagnosis._Games(diagnosis._Episode(walked, dataset, task), None)
    assert games.count == len(moves)
    assert len(games._copies) <= copies + 1
    for _ in range(2):  # a copy that was played on is not given again
        for number, place in enumerate([gold[0], *there_and_back[:-1]]):
            game = games.before(number)
            assert game.world.pose("agent")["viewpoint"] == place
            game.carry_out("agent", Decision(STOP))
