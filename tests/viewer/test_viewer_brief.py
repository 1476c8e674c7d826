"""The head of an episode's page and what many model calls come to: found at a glance."""

from __future__ import annotations

import math

import pytest

from helpers.parsed_page import Page, check_safe
from helpers.recorded_run import SCORES
from helpers.shown import episode_page
from wayword.core.action import Action, Decision
from wayword.core.episode import JsonObject
from wayword.core.model import Choice, Usage
from wayword.core.trajectory import ModelCall, Note, Step, Trajectory
from wayword.core.world import Feedback
from wayword.datasets.household import Household
from wayword.datasets.two_phase import TwoPhase
from wayword.metrics import accounting
from wayword.metrics.mistakes import EpisodeFacts, find_mistake
from wayword.metrics.mistakes.causes import find_causes
from wayword.metrics.scoring import scorer
from wayword.runs.record import EpisodeRecord
from wayword.viewer.data import Sources
from wayword.viewer.document import expert_advice
from wayword.viewer.episode import Links


def shown(trajectory: Trajectory) -> Page:
    record = EpisodeRecord("one", SCORES, trajectory)
    return Page.parse(episode_page(record, (), Sources(), "run", Links()))


def walk(*words: str, actors: tuple[str, ...] = ("agent",)) -> Trajectory:
    """An episode of these actions, each actor's in turn."""
    trajectory = Trajectory("one", {actor: {"x": 0, "y": 0} for actor in actors})
    for number, word in enumerate(words):
        actor = actors[number % len(actors)]
        decision = Decision(Action(word))
        trajectory.steps.append(
            Step(actor, {}, decision, Feedback("ok"), {"x": 0, "y": 0})
        )
    return trajectory


def question_walk(*questions: tuple[str, float]) -> Trajectory:
    trajectory = walk("stop")
    trajectory.steps[0].calls = [
        ModelCall(
            "main",
            f"the walk\n{q}",
            Choice(("no", "yes"), (-1.0, logprob), Usage(9, 1, 3)),
        )
        for q, logprob in questions
    ]
    return trajectory


def test_many_questions_of_yes_or_no_are_a_table() -> None:
    page = shown(
        question_walk(
            ("here. Done?", -3.0), ("to the left?", -0.1), ("back?", float("nan"))
        )
    )
    check_safe(page)
    (table,) = page.all("table", class_="weighed")
    assert table.text == "questionyeshere. Done?5.0%to the left?90.5%back?0.0%"
    assert page.all("tr", class_="taken")[0].text == "to the left?90.5%"
    assert "27 tokens, 9 of them reused" in page.text
    assert len(page.all("div", class_="call")) == 3, (
        "the calls themselves are folded below"
    )
    assert not shown(question_walk(("Done?", -3.0), ("left?", -0.1))).all(
        "table", class_="weighed"
    )


@pytest.mark.parametrize("verb", ["go_explore", "turn_left"])
def test_an_expert_speaks_of_skills_to_those_who_run_them(verb: str) -> None:
    dataset = Household(
        "generated_train", None, Household.Settings(homes=1, episodes=2)
    )
    task = dataset.tasks[0]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    (actor,) = world.actors
    action = next(
        each for each in world.action_space(actor).listed if each.name == verb
    )
    episode = Trajectory(task.episode.id, {actor: world.pose(actor)})
    feedback = world.step(actor, action)
    episode.steps = [Step(actor, {}, Decision(action), feedback, world.pose(actor))]
    ((words, *_),) = expert_advice(episode, Sources(dataset, {task.episode.id: task}))
    assert words.startswith(("go_", "goto[")) == (verb == "go_explore"), words


def test_the_expert_of_a_two_phase_test_goes_on_from_where_one_is() -> None:
    dataset = TwoPhase()
    task = next(
        each for each in dataset.tasks if each.episode.id == "silver_pen_from_bedroom_0"
    )
    world = dataset.world(task.episode)
    world.reset(task.episode)
    episode = Trajectory(task.episode.id, {"agent": world.pose("agent")})
    for item in ("hallway", "tv"):
        seen = world.observe("agent")
        action = Action("go", (item,))
        feedback = world.step("agent", action)
        step = Step("agent", seen, Decision(action), feedback, world.pose("agent"))
        episode.steps.append(step)
    (first, second) = expert_advice(episode, Sources(dataset, {task.episode.id: task}))
    assert first == ("go[hallway]", True, True)
    assert second[0] in ("go[desk]", "go[computer]")
    assert not second[1]


def test_long_lists_are_folded_away() -> None:
    trajectory = walk("look")
    trajectory.steps[0].feedback = Feedback(
        "ok", {"seen": [f"mug_{n}" for n in range(13)]}
    )
    assert "13" in [each.text for each in shown(trajectory).all("summary")]
    trajectory.steps[0].feedback = Feedback(
        "ok", {"seen": [f"mug_{n}" for n in range(12)]}
    )
    assert "12" not in [each.text for each in shown(trajectory).all("summary")]


def test_what_was_never_in_view_is_a_sign() -> None:
    written = {
        "steps": [{"actor": "a", "decision": {"action": "stop"}}],
        "ended": "stopped",
    }
    assert "never_seen" in find_causes(written, {"ever_seen": 0.0})
    assert "never_seen" not in find_causes(written, {"ever_seen": 1.0})
    assert "never_seen" not in find_causes(written, {})


def test_a_failed_search_shows_its_zeros_next_to_what_it_reached() -> None:
    scores = {
        "success_grounded": 0.0,
        "success_visible": 0.0,
        "success_released": 1.0,
        "calls": 0.0,
    }
    record = EpisodeRecord("one", scores, walk("left", "stop"))
    metrics = [*scorer("objectnav").metrics, *accounting.METRICS]
    page = Page.parse(episode_page(record, metrics, Sources(), "run", Links()))
    (shown, *_) = page.all("dl", class_="scores")
    parts = str(shown.text).split("%")
    assert parts[0].endswith("(SR grounded)0")
    assert parts[1].endswith("(SR visible)0")
    assert parts[2].endswith("(SR released)100")


@pytest.mark.parametrize("scores", [{"sr": 0.0}, {"sr": 0.0, "osr": 0.0}])
def test_a_world_without_a_goal_to_reach_is_not_stated_to_have_one(
    scores: dict[str, float],
) -> None:
    record = EpisodeRecord("one", scores, walk("left", "stop"))
    page = Page.parse(episode_page(record, (), Sources(), "run", Links()))
    (cause,) = [each.attributes["title"] for each in page.all("b", class_="cause")]
    # Without its path, nothing tells on which side of the goal a walk stopped.
    walked = "osr" in scores
    assert (
        cause
        == f"stopped {'away from the goal' if walked else 'before the task was done'}"
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"place": 3, "door_open": False}, "At the end: place 3, door open no."),
        (
            {"viewpoint": "v", "heading": 267.27543747145995, "stopped": True},
            "At the end: viewpoint v, heading 267°.",
        ),
        ({"heading": 359.7, "x": 1.23456}, "At the end: heading 0°, x 1.23."),
        ({"heading": math.inf}, "At the end: heading inf."),
        ({"stopped": True}, ""),
        ({"objects": {}}, ""),
        ({"text": "x" * 99}, ""),
        ({}, ""),
    ],
)
def test_a_world_of_ones_own_is_explained_by_its_final_state(
    state: JsonObject, words: str
) -> None:
    trajectory = walk("left", "stop")
    trajectory.state = state
    causes = {"stopped_early": 2}
    found = find_mistake(EpisodeFacts(trajectory, {"sr": 0.0}, causes))
    assert found is not None
    assert found.text == f"Step 2: stopped before the task was done. {words}".strip()


def test_fields_of_records_have_words_for_people() -> None:
    trajectory = walk("left")
    trajectory.steps[0].feedback = Feedback("ok", {"metres": 0.0, "mine_too": 1})
    page = shown(trajectory)
    names = [each.text for each in page.all("dt")]
    texts = dict(zip(names, [each.text for each in page.all("dd")], strict=True))
    assert texts["moved"] == "0 m"
    assert texts["mine too"] == "1", "a field without words is shown as it is"


def test_what_is_stated_of_oneself_stands_next_to_the_truth() -> None:
    trajectory = walk("left", "left")
    trajectory.start["agent"] = {"room": "kitchen", "heading": 90.0}
    for step in trajectory.steps:
        step.observation = {"holding": [{"name": "mug_1"}]}
        step.pose = {"room": "hall", "heading": 0.0}
        described = {"place": "in the kitchen", "heading": 100.0, "holding": []}
        step.notes = [Note("state", described)]
    page = shown(trajectory)
    check_safe(page)
    first, second = page.all("table", class_="claims")
    assert (
        first.text
        == "heading100° east✓ rightholdingnothing✗ mug_1placein the kitchen✓ right"
    )
    assert (
        second.text
        == "heading100° east✗ 0° northholdingnothing✗ mug_1placein the kitchen✗ hall"
    )
    assert "Notes" not in page.text
    trajectory.steps[0].notes = [Note("state", ["kitchen"])]  # type: ignore[arg-type]
    (heading, *_) = shown(trajectory).all("table", class_="claims")
    assert heading.text.startswith("headingnot stated✗ 90° east")
