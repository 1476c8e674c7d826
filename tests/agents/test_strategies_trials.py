"""Trials: what an agent that reflects is told, asks, keeps, and does with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from helpers.playing import Scripted
from helpers.small_flat import SmallFlat, play_in
from helpers.small_house import SmallHouse
from wayword.agents.strategies.agents import (
    LESSON_LENGTH,
    ReAct,
    Reflexion,
    ReflexionEmMem,
    read_reflection,
)
from wayword.core.agent import Toolkit
from wayword.core.errors import UsageError
from wayword.core.model import Message, Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Trajectory, Verdict
from wayword.datasets.towns import Towns
from wayword.metrics.scoring import judge, score
from wayword.settings import make

LESSON = "At b I went to a; the instruction says right, so next time goto[c]."
AGENTS = (Reflexion, ReflexionEmMem)


def never(task: Any, trial: Trajectory) -> bool:
    """A judge whom nothing pleases."""
    return False


def learner(lesson: str = LESSON) -> Callable[[Prompt, Sampling], str]:
    """Goes wrong at b, unless a lesson in its prompt tells otherwise. Labels and all."""

    def answer(prompt: Prompt, sampling: Sampling) -> str:
        assert not isinstance(prompt, str)
        opening = prompt[1].content
        now = prompt[-1].content
        if "look back on this trial" in now:
            return f"Lesson: {lesson}"
        if 'at viewpoint "s"' in now:
            return "Action: goto[b]"
        if 'at viewpoint "b"' in now:
            if "goto[c]" in opening.partition("After trial")[2]:
                return "Action: goto[c]"
            return "Action: goto[a]"
        return "Action: stop"

    return answer


@pytest.mark.parametrize("agent", AGENTS)
def test_a_lesson_changes_how_the_second_trial_ends(agent: type[Reflexion]) -> None:
    house = SmallHouse()
    trajectory, model = play_in(
        house, agent, learner(), decoding="free", judge=judge(house)
    )
    (first,) = trajectory.earlier
    assert [str(action) for action in first.actions("agent")] == [
        "goto[b]",
        "goto[a]",
        "stop",
    ]
    assert [str(action) for action in trajectory.actions("agent")] == [
        "goto[b]",
        "goto[c]",
        "stop",
    ]
    assert first.verdict == Verdict(0, 3, False, "stopped", 3)
    assert trajectory.verdict == Verdict(1, 3, True, "stopped", 3)
    assert [note.kind for note in first.closing_notes] == ["lesson"]
    (scores,) = score(house, [(house.tasks[0], trajectory)])
    assert (scores["sr"], scores["sr_first"]) == (1.0, 0.0)
    assert (scores["trials"], scores["verdicts"]) == (2, 2)
    assert (scores["calls"], scores["steps"]) == (len(model.prompts), 6) == (7, 6)
    assert scores["tl"] == pytest.approx(4.0)  # of the last trial alone


def test_the_lesson_stands_below_the_task_and_prompts_grow_within_a_trial() -> None:
    house = SmallHouse()
    _, model = play_in(house, Reflexion, learner(), decoding="free", judge=judge(house))
    one = model.prompts[:3]
    reflection = model.prompts[3]
    two = model.prompts[4:]
    for shorter, longer in zip(
        [*one[:-1], *two[:-1]], [*one[1:], *two[1:]], strict=True
    ):
        assert longer.startswith(shorter)
    assert reflection.startswith(one[-1])
    task = "Task: Go ahead and turn right."
    text = f"Your notes:\nAfter trial 1: {LESSON}\n\nObservation: You are at"
    assert text in two[0].partition(task)[2]
    assert two[0].partition(task)[0] == one[0].partition(task)[0], (
        "what comes before is reused"
    )
    assert "After trial" not in "".join(one)
    assert reflection.endswith(
        "You stopped.\n"
        "The trial is over: you stopped. Actions taken: 3.\n"
        "It failed: the task is not done.\n"
        "You can try the same task again from the same start. Do not act now; look back on "
        "this trial. In a few sentences, say where it went wrong and why, and what you will do "
        "differently. Name actions, places and objects as they are named here.\n"
        'Answer with these sentences on one line that begins with "Lesson:".'
    )


def test_who_succeeds_at_once_is_queried_nothing_and_it_is_counted() -> None:
    house = SmallHouse()
    answers = ["Action: goto[b]", "Action: goto[c]", "Action: stop"]
    trajectory, _ = play_in(
        house, Reflexion, answers, decoding="free", judge=judge(house)
    )
    assert (trajectory.earlier, trajectory.closing_calls) == ([], [])
    (scores,) = score(house, [(house.tasks[0], trajectory)])
    assert (scores["sr"], scores["sr_first"], scores["trials"]) == (1.0, 1.0, 1)
    assert scores["verdicts"] == 1, "being told that one is done is being told"


def test_one_trial_is_an_episode_like_any_other() -> None:
    house = SmallHouse()
    one, _ = play_in(
        house, Reflexion, learner(), decoding="free", trials=1, judge=judge(house)
    )
    plain, _ = play_in(house, ReAct, learner(), decoding="free", judge=judge(house))
    assert (one.earlier, one.verdict) == ([], None)
    assert [step.calls[0].prompt for step in one.steps] == [
        s.calls[0].prompt for s in plain.steps
    ]
    (scores,) = score(house, [(house.tasks[0], one)])
    assert not {"sr_first", "trials", "verdicts"} & set(scores)


def test_a_model_that_judges_itself_is_shown_nothing_and_ends_its_trials() -> None:
    house = SmallHouse()
    answers = [
        *("Action: goto[b]", "Action: goto[a]", "Action: stop"),
        "Verdict: failed\nLesson: a is wrong.",
        *("Action: goto[b]", "Action: stop"),
        "Verdict: **Solved**\nLesson: none is needed.",
    ]
    trajectory, model = play_in(
        house, Reflexion, answers, decoding="free", verdict="self", trials=5
    )
    assert len(trajectory.trials()) == 2
    assert trajectory.verdict == Verdict(1, 5, None, "stopped", 2)
    assert "You do not learn if it succeeded." in model.prompts[3]
    assert [note.kind for note in trajectory.notes()] == ["lesson", "self_judged"]
    (scores,) = score(house, [(house.tasks[0], trajectory)])
    assert (scores["trials"], scores["verdicts"], scores["sr_first"]) == (2, 0, 0.0)


def test_who_is_shown_nothing_and_does_not_judge_uses_up_its_trials() -> None:
    house = SmallHouse()
    right = [
        "Action: goto[b]",
        "Action: goto[c]",
        "Action: stop",
        "Lesson: fine, I think",
    ] * 3
    trajectory, model = play_in(
        house, Reflexion, right, decoding="free", verdict="none"
    )
    assert len(trajectory.trials()) == 3
    assert sum("look back" in prompt for prompt in model.prompts) == 2
    (scores,) = score(house, [(house.tasks[0], trajectory)])
    assert (scores["sr_first"], scores["verdicts"]) == (1.0, 0)


def test_an_agent_that_is_not_to_be_shown_is_not_shown_even_where_there_is_a_judge() -> (
    None
):
    answers = ["Action: stop", "Verdict: failed\nLesson: on"]
    _, model = play_in(
        SmallHouse(), Reflexion, answers, decoding="free", verdict="self", judge=never
    )
    assert "You do not learn if" in model.prompts[1]


def test_the_last_three_lessons_are_kept_short_and_on_one_line() -> None:
    lessons = iter(f"Number {n}:\n" + "so it is. " * 100 for n in range(1, 6))

    def answer(prompt: Prompt, sampling: Sampling) -> str:
        if "look back" in str(prompt[-1]):
            return f"Lesson: {next(lessons)}"
        return "Action: stop"

    trajectory, model = play_in(
        SmallHouse(), Reflexion, answer, decoding="free", trials=6, judge=never
    )
    lines = [
        line
        for line in model.prompts[-1].splitlines()
        if line.startswith("After trial")
    ]
    assert [line.split(":")[:2] for line in lines] == [
        [f"After trial {n}", f" Number {n}"] for n in (3, 4, 5)
    ]
    assert max(map(len, lines)) <= LESSON_LENGTH + len("After trial 1: ")
    assert len(trajectory.trials()) == 6


@pytest.mark.parametrize("decoding", ["free", "constrained"])
@pytest.mark.parametrize("verdict", ["judge", "self", "none"])
@pytest.mark.parametrize(
    "noise", ["", "{", "[" * 9000, "[1]", "Lesson:", '{"lesson": 3}', "\x00"]
)
def test_a_reflection_that_cannot_be_read_is_noted_and_breaks_nothing(
    decoding: str, verdict: str, noise: str
) -> None:
    trajectory, _ = play_in(
        SmallHouse(), Reflexion, [noise], 2, never, decoding=decoding, verdict=verdict
    )
    assert trajectory.ended != "failed", trajectory.error
    assert len(trajectory.trials()) == 3
    kinds = {note.kind for note in trajectory.notes()}
    unread = decoding == "constrained" or verdict == "self"
    # Half an object is no lesson, odd signs are one
    rejected = unread or noise != "\x00"
    assert ("reflection_rejected" in kinds) is rejected
    for note in trajectory.notes():
        assert len(json.dumps(note.details)) < 4000


def test_a_lesson_that_repeats_the_question_is_none() -> None:
    def answer(prompt: Prompt, sampling: Sampling) -> str:
        assert isinstance(prompt[-1], Message)
        has_question = "look back" in prompt[-1].content
        return (
            f"Lesson: {prompt[-1].content[-300:]}" if has_question else "Action: stop"
        )

    trajectory, model = play_in(
        SmallHouse(), Reflexion, answer, judge=never, decoding="free"
    )
    assert {note.kind for note in trajectory.notes()} == {"reflection_rejected"}
    assert "After trial" not in model.prompts[-1]


def test_a_constrained_reflection_is_one_object() -> None:
    def answer(prompt: Prompt, sampling: Sampling) -> str:
        fields = dict(sampling.json_schema or {})["properties"]
        if "lesson" not in fields:
            return json.dumps({"thought": "on", "action": "stop"})
        assert fields["verdict"]["enum"] == ["failed", "solved"]
        return json.dumps({"verdict": "failed", "lesson": "look twice"})

    trajectory, model = play_in(
        SmallHouse(), Reflexion, answer, verdict="self", trials=2
    )
    assert "After trial 1: look twice" in model.prompts[-1]
    assert [note.details["lesson"] for note in trajectory.notes()] == ["look twice"]


def test_a_long_trial_is_cut_to_fit_before_it_is_reflected_on() -> None:
    answers = ["Action: goto[b]", "Action: goto[s]"] * 5
    trajectory, model = play_in(
        SmallHouse(), Reflexion, answers, 4, never,
        decoding="free", trials=2, context=470, max_tokens=20,
    )  # fmt: skip
    (first,) = trajectory.earlier
    assert "history_dropped" in {note.kind for note in first.closing_notes}
    assert "steps are not shown.)" in model.prompts[4]
    assert "Task: Go ahead and turn right." in model.prompts[4]


def test_reflections_go_to_a_model_of_their_own_where_there_is_one() -> None:
    main = Scripted(["Action: stop"])
    other = Scripted(["Lesson: stay"])
    house = SmallHouse()
    settings = Reflexion.Settings(decoding="free", trials=2)
    setup = Setup(
        house, lambda toolkit, actor: Reflexion(settings, toolkit),
        {"main": main, "reflection": other}, trials=2, judge=never,
    )  # fmt: skip
    trajectory = asyncio.run(rollout(house.tasks[0], setup))
    assert (len(main.prompts), len(other.prompts)) == (2, 1)
    assert [call.role for call in trajectory.calls()] == ["main", "reflection", "main"]


def test_the_world_restarts_and_given_steps_are_given_again() -> None:
    answers = ["Action: go_grab[mug_1]", "Action: stop", "Lesson: no"]
    trajectory, model = play_in(
        SmallFlat(), Reflexion, answers, judge=never, decoding="free", trials=2
    )
    assert trajectory.start == trajectory.earlier[0].start
    assert model.prompts[3].count(", holding nothing.") == 1
    answers = ["Action: stop", "Lesson: no", "Action: stop"]
    town, model = play_in(
        Towns(), Reflexion, answers, judge=never, decoding="free", trials=2
    )
    assert [str(trial.steps[0].decision.action) for trial in town.trials()] == [
        "forward"
    ] * 2
    assert len(model.prompts) == 3


def test_each_of_two_actors_reflects_on_its_own() -> None:
    pair = SmallFlat(poses={"anna": (2.0, 1.5, 0.0), "ben": (5.0, 1.5, 90.0)})

    def answer(prompt: Prompt, sampling: Sampling) -> str:
        assert isinstance(prompt[0], Message)
        who = "anna" if "You are anna" in prompt[0].content else "ben"
        if "look back" in str(prompt[-1]):
            return f"Lesson: {who} was slow"
        return "Action: stop"

    trajectory, model = play_in(
        pair, Reflexion, answer, judge=never, decoding="free", trials=2
    )
    assert [note.details["actor"] for note in trajectory.notes()] == ["anna", "ben"]
    assert trajectory.earlier[0].verdict == Verdict(0, 2, False, "stopped", 2)
    for prompt, who in zip(model.prompts[-2:], ("anna", "ben"), strict=True):
        assert [n for n in ("anna", "ben") if f"{n} was slow" in prompt] == [who]


@pytest.mark.parametrize("agent", AGENTS)
def test_they_say_that_they_learn(agent: type[Reflexion]) -> None:
    made = agent(agent.Settings(), Toolkit())
    assert made.learns
    assert not ReAct.learns
    with pytest.raises(UsageError, match="trials must be at least 1"):
        make(agent.Settings, {"trials": 0}, "reflexion")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Lesson: go right", (None, "go right")),
        ("I was\nwrong.", (None, "I was wrong.")),
        (
            "**Verdict:** failed\n**Lesson:** **go  right**",
            (False, "go right"),
        ),
        ("Verdict: not solved, failed\nLesson: x", (None, "x")),
        ("verdict: SOLVED.\n- lesson: done", (True, "done")),
        ("Verdict: perhaps", (None, "")),
        ("", (None, "")),
    ],
)
def test_free_reflections(text: str, read: tuple[bool | None, str]) -> None:
    assert read_reflection(text, must_be_labeled=False) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"verdict": "solved", "lesson": " a  b "}', (True, "a b")),
        ('{"lesson": "a"}', (None, "a")),
        ('{"verdict": 1, "lesson": ["a"]}', (None, "")),
        ("{}", (None, "")),
        ("[]", (None, "")),
        ("no", (None, "")),
    ],
)
def test_constrained_reflections(text: str, read: tuple[bool | None, str]) -> None:
    assert read_reflection(text, must_be_labeled=True) == read
