"""LGX: the seven questions to the letter, what counts as an answer, and what stands in for none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.golden import check_golden
from wayword.agents.search.lgx import LGX, LGXSettings, read_pick
from wayword.core.action import Decision, Rejection
from wayword.core.agent import Toolkit
from wayword.core.errors import UsageError
from wayword.core.model import Prompt, Sampling
from wayword.core.rollout import Setup, rollout
from wayword.core.trajectory import Note, Trajectory
from wayword.datasets.apartments import Apartments
from wayword.metrics.objectnav import scorer
from wayword.models.scripted import ScriptedModel
from wayword.settings import make

GOLDEN = Path(__file__).parent.parent / "golden" / "lgx_questions.txt"
PROMPTS = (
    "robot", "i", "third_person", "objects_first", "closest", "one_word_first", "captions",
)  # fmt: skip
NAMES = ("coffee table", "bed", "table")
CAPTIONS = {
    "Front": "a sofa and a lamp", "Right": "an empty wall", "Behind": "a bed", "Left": "a door",
}  # fmt: skip
SMALL = Apartments(settings=Apartments.Settings(homes=2, episodes=8, rooms=3))
FAR = {"quality": {"recall": 0.0}, "resolution": 60.0, "turns": 3}
"""Nothing is ever grounded, so that every turn ends in a question."""


class Listener(ScriptedModel):
    """A scripted model that keeps what it was asked, and how."""

    def __init__(self, reply: str | Callable[[Prompt, Sampling], str]) -> None:
        answer = reply if callable(reply) else lambda prompt, sampling: reply
        super().__init__(answers=answer)
        self.prompts: list[str] = []
        self.samplings: list[Sampling] = []

    async def complete(self, prompt: Prompt, sampling: Sampling) -> Any:
        self.prompts.append(prompt if isinstance(prompt, str) else prompt[-1].content)
        self.samplings.append(sampling)
        return await super().complete(prompt, sampling)


def play(model: Listener, number: int = 0, **changes: Any) -> Trajectory:
    settings = make(LGXSettings, {**FAR, **changes}, "lgx")
    setup = Setup(
        SMALL, lambda toolkit, _: LGX(settings, toolkit), {"main": model}, max_steps=150
    )
    trajectory = asyncio.run(rollout(SMALL.tasks[number], setup))
    assert trajectory.ended == "stopped", trajectory.error
    return trajectory


def question_notes(trajectory: Trajectory) -> list[Note]:
    return [note for note in trajectory.notes() if note.kind == "asked"]


def fallbacks(trajectory: Trajectory) -> list[Rejection]:
    decided = [step.decision for step in trajectory.steps]
    return [
        d.fallback_for for d in decided if isinstance(d, Decision) and d.fallback_for
    ]


def first_choice(prompt: Prompt, sampling: Sampling) -> str:
    return (sampling.choices or ("",))[0]


def test_the_seven_questions_are_the_golden_ones() -> None:
    rendered = []
    for name in PROMPTS:
        model = Listener("bed")
        questions = LGX(
            make(LGXSettings, {"prompt": name}, "lgx"), Toolkit({"main": model})
        )
        questions.captions = CAPTIONS
        questions.target = "cat-shaped mug"
        asyncio.run(questions.pick(NAMES))
        rendered.append(f"{name}\n{model.prompts[0]}\n")
    text = "\n".join(rendered)
    check_golden(GOLDEN, text)


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("coffee table", "coffee table"),
        ("The Coffee-Table.", "coffee table"),
        ("\n  a bed\nbecause it is soft", "bed"),
        ("It should go to the table.", "table"),
        ("Towards the coffee table!", "coffee table"),
        ('"bed"', "bed"),
        ("I would look around\nbed", "bed"),
        ("There is no sofa here, so go to the bed.", "bed"),
        ("<think>table or bed?</think>\n**Answer:** bed", "bed"),
        ('```json\n{"answer": "bed"}\n```', "bed"),
    ],
)
def test_what_counts_as_an_answer(reply: str, name: str) -> None:
    assert read_pick(reply, NAMES) == name


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("sofa", "unknown"),
        ("bedroom", "unknown"),
        ("tables", "unknown"),
        ("nothing", "unknown"),
        ("I would look around", "unknown"),
        ("Do not go to the bed. Never the bed.", "no_action"),
        ("bed? No.", "no_action"),
        ("bed\ntable", "several_actions"),
        ("bed or table", "several_actions"),
        ("the coffee table, then the table", "several_actions"),
        ("x" * 10_000, "too_long"),
    ],
)
def test_what_does_not(reply: str, kind: str) -> None:
    refused = read_pick(reply, NAMES)
    assert isinstance(refused, Rejection)
    assert refused.kind == kind
    assert refused.reason
    assert len(refused.said) <= 500


def test_constrained_it_can_only_name_what_was_listed() -> None:
    model = Listener(first_choice)
    trajectory = play(model)
    notes = question_notes(trajectory)
    assert notes
    assert all(note.details["valid"] for note in notes)
    for note, sampling in zip(notes, model.samplings, strict=True):
        assert list(sampling.choices or ()) == note.details["listed"]
        assert note.details["answer"] == note.details["listed"][0]
        assert len(set(note.details["listed"])) == len(note.details["listed"])
    assert not fallbacks(trajectory)
    assert scorer.score(SMALL, [(SMALL.tasks[0], trajectory)])[0]["psr"] == 1.0


def test_the_temperature_reaches_the_model_and_draws_its_seeds() -> None:
    model = Listener(first_choice)
    play(model, temperature=0.7, max_tokens=50)
    assert {(s.temperature, s.max_tokens) for s in model.samplings} == {(0.7, 50)}
    assert all(sampling.seed is not None for sampling in model.samplings)
    with pytest.raises(UsageError, match="temperature must be at most 10"):
        make(LGXSettings, {"temperature": 11}, "lgx")


def test_a_free_answer_that_names_nothing_sends_it_anywhere_and_is_kept() -> None:
    model = Listener("Nothing here is of use.")
    trajectory = play(model, decoding="free")
    assert all(sampling.choices is None for sampling in model.samplings)
    kept = fallbacks(trajectory)
    assert [one.said for one in kept] == ["Nothing here is of use."] * len(
        question_notes(trajectory)
    )
    assert kept
    assert scorer.score(SMALL, [(SMALL.tasks[0], trajectory)])[0]["psr"] == 0.0
    again = play(Listener("Nothing here is of use."), decoding="free")
    assert [step.decision for step in again.steps] == [
        step.decision for step in trajectory.steps
    ]


def test_it_goes_towards_what_is_named() -> None:
    """The first run of the way leads nearer to the direction of the named thing than away."""
    model = Listener(first_choice)
    trajectory = play(model, number=1)
    gone = [step for step in trajectory.steps if getattr(step.decision, "thought", "")]
    assert any(
        isinstance(step.decision, Decision)
        and step.decision.thought.startswith("Towards the ")
        for step in gone
    )


def test_captions_tell_four_directions_and_are_answered_by_one() -> None:
    model = Listener("Behind")
    trajectory = play(model, prompt="captions", resolution=0.0, decoding="free")
    notes = question_notes(trajectory)
    assert [note.details["answer"] for note in notes] == ["Behind"] * len(notes)
    assert notes[0].details["listed"] == ["Front", "Right", "Behind", "Left"]
    turns = [
        step
        for step in trajectory.steps
        if str(getattr(step.decision, "action", "")) == "rotate[90]"
    ]
    assert len(turns) >= 3, "a turn of captions has four captures, 90 degrees apart"
    odd = play(Listener("Up"), prompt="captions", decoding="free")
    assert all(not note.details["valid"] for note in question_notes(odd))
    assert len(fallbacks(odd)) == len(question_notes(odd)) > 0


def test_as_many_turns_as_requested_each_with_one_question() -> None:
    """The paper's five; nothing is grounded here, so that none is cut short."""
    for turns in (3, 5):
        trajectory = play(Listener(first_choice), turns=turns)
        assert [
            note.details["answer"] in note.details["listed"]
            for note in question_notes(trajectory)
        ] == [True] * turns


def test_with_nothing_listed_no_question_is_queried() -> None:
    model = Listener("bed")
    trajectory = play(model, scene_quality={"recall": 0.0, "false_alarms": 0.0})
    assert not model.prompts
    assert not question_notes(trajectory)
    assert any(note.kind == "nothing_listed" for note in trajectory.notes())
    assert not fallbacks(trajectory)
    assert "psr" not in scorer.score(SMALL, [(SMALL.tasks[0], trajectory)])[0]


def test_a_text_of_ones_own_replaces_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "robot.txt").write_text("{objects}? For {target}.\n")
    model = Listener("bed")
    settings = make(LGXSettings, {"prompts": str(tmp_path)}, "lgx")
    lgx = LGX(settings, Toolkit({"main": model}))
    lgx.target = "mug"
    asyncio.run(lgx.pick(NAMES))
    assert model.prompts == ["coffee table, bed, table? For mug."]


def test_the_resolution_is_the_papers_unless_it_is_set() -> None:
    assert LGXSettings().captures == 12
    assert LGXSettings(prompt="captions").captures == 4
    assert LGXSettings(prompt="captions", resolution=30.0).captures == 12
    with pytest.raises(UsageError, match="no detector is called"):
        LGXSettings(scene="yollo")
    with pytest.raises(UsageError, match="max_tokens must be at least 1, got 0"):
        make(LGXSettings, {"max_tokens": 0}, "lgx")
