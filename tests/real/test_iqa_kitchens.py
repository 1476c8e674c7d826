"""IQUAD's questions in iTHOR's kitchens: answers are as published, and true of the kitchen."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from helpers.rehearsing import rehearse
from wayword.core.dataset import Task
from wayword.core.errors import DataError, UsageError
from wayword.datasets.iqa import UNSEEN, InteractiveQuestions, read_questions
from wayword.worlds.household.goals import AnswerReference
from wayword.worlds.household.world import HouseholdWorld

pytestmark = pytest.mark.real


def answer_reference(task: Task) -> AnswerReference:
    assert isinstance(task.reference, AnswerReference)
    return task.reference


def true_answer(world: HouseholdWorld, kind: str, item: str, place: str) -> str:
    """The answer by the true state, found without the reference."""
    state = world.state()["objects"]
    types = {o.id: o.type for o in world.scene.objects}
    found = [i for i, kind_ in types.items() if kind_ == item]
    if place:
        found = [i for i in found if types.get(state[i]["in"]) == place]
    if kind == "counts":
        return str(len(found))
    return "yes" if found else "no"


@pytest.mark.parametrize("split", ["val_seen", "train", "unseen_kitchens"])
def test_published_answers_are_true_of_the_kitchen(data: Path, split: str) -> None:
    dataset = InteractiveQuestions(split, data)
    questions = read_questions(data, split)
    assert len(dataset.tasks) == len(questions) == (76800 if split == "train" else 2400)
    step = len(questions) // 30 + 1
    for number in range(0, len(questions), step):
        task = dataset.tasks[number]
        question = questions[number]
        world = dataset.world(task.episode)
        world.reset(task.episode)
        item = question.item.lower()
        place = {"GarbageCan": "garbage_can"}.get(
            question.place, question.place.lower()
        )
        assert answer_reference(task).answer == question.answer
        assert true_answer(world, question.kind, item, place) == question.answer


def test_the_expert_sees_what_it_answers(data: Path) -> None:
    dataset = InteractiveQuestions("val_seen", data)
    questions = read_questions(data, "val_seen")
    for number in range(0, 2400, 111):
        task = dataset.tasks[number]
        question = questions[number]
        world = dataset.world(task.episode)
        actions = rehearse(world, task.episode, answer_reference(task))
        assert actions[-1].arguments == (question.answer,)
        assert len(actions) <= dataset.max_steps
        me = world.house.actors["agent"]
        types = [
            world.house.entities.type(i)
            for i in range(world.house.entities.object_count)
        ]
        known = sum(
            me.discovered[i]
            for i, kind in enumerate(types)
            if kind == question.item.lower()
        )
        if question.kind == "counts":
            assert known == int(question.answer)


def test_answers_balance_as_published_and_kitchens_are_those_of_the_split(
    data: Path,
) -> None:
    questions = read_questions(data, "val_seen")
    answers = Counter((question.kind, question.answer) for question in questions)
    assert {answers["exists", a] for a in ("yes", "no")} == {400}
    assert {answers["contains", a] for a in ("yes", "no")} == {400}
    assert {answers["counts", a] for a in "0123"} == {200}
    assert {question.scene for question in questions} == {
        f"FloorPlan{n}" for n in range(6, 31)
    }
    redrawn = read_questions(data, "unseen_kitchens")
    assert {question.scene for question in redrawn} == set(UNSEEN)


def test_the_same_question_has_the_same_kitchen(data: Path) -> None:
    one, other = (InteractiveQuestions("val_seen", data) for _ in range(2))
    task = one.tasks[7]
    assert task == other.tasks[7]
    assert one.world(task.episode).scene == other.world(task.episode).scene


def test_kinds_and_missing_files_are_named(data: Path) -> None:
    settings = InteractiveQuestions.Settings(kind="counts")
    dataset = InteractiveQuestions("val_seen", data, settings)
    assert len(dataset.tasks) == 800
    assert {answer_reference(task).kind for task in dataset.tasks[:5]} == {"counts"}
    assert next(iter(dataset.files)).endswith("data_counting/combined.csv.gz")
    with pytest.raises(UsageError, match="needs its data"):
        InteractiveQuestions("train")
    if not (data / "iqa" / "questions" / "val" / "unseen_scenes").exists():
        with pytest.raises(DataError, match="unseen_kitchens: other questions"):
            InteractiveQuestions("val_unseen", data)
