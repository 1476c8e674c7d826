"""Home tasks as examples: the expert's plan, followed or made anew, answers the questions."""

from __future__ import annotations

import pytest
from recipes.language.batches import cropped

from helpers.training_walks import played
from wayword.core.action import Action, Decision
from wayword.core.errors import UsageError
from wayword.core.game import ActionPlan, PlanningFailed
from wayword.core.world import Feedback
from wayword.datasets.household import Household
from wayword.training.examples import UNKNOWN, PlanGuide

WALK = {"layout": "walk"}


@pytest.fixture(scope="module")
def household() -> Household:
    return Household("generated_train", None, Household.Settings(homes=1, episodes=7))


def test_the_experts_walk_labels_the_lines(household: Household) -> None:
    task = next(t for t in household.tasks if "clean" in t.reference.kind)
    example = played("act", WALK, household, task)
    assert example.success
    assert {choice.taken for choice in example.choices[:-1]} == {""}, "weighed, not written down"
    lines = [example.text[: choice.at].splitlines()[-1] for choice in example.choices]
    yes = [line for line, c in zip(lines, example.choices, strict=True) if c.label == " yes"]
    assert yes[-1] == "stop: all done, next?"
    assert any(line.startswith("go_put ") for line in yes)
    verbs = [str(action).partition("[")[0] for action in household.solve(task, "errands")]
    went = [line.split()[1] for line in example.text.splitlines() if line.startswith("Did ")]
    assert went == verbs[:-1]


def test_a_walk_of_its_own_is_labelled_by_the_expert(household: Household) -> None:
    example = played("act", WALK, household, household.tasks[0], ["no"], "dagger")
    assert not example.success
    assert " yes" in {choice.label for choice in example.choices}


def test_answers_that_are_only_weighed_are_no_labels_of_their_own(household: Household) -> None:
    with pytest.raises(UsageError, match="only weighed"):
        played("act", WALK, household, household.tasks[0], ["no"], "rbl")


def test_of_a_text_that_is_begun_anew_the_first_is_the_example(
    household: Household, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = played("act", WALK, household, household.tasks[0])
    monkeypatch.setattr("wayword.agents.household.walk.LONGEST", 700)
    example = played("act", WALK, household, household.tasks[0])
    assert whole.text.startswith(example.text.rpartition(" ")[0]), "its last answer is written down"
    assert 700 < len(example.text) < len(whole.text)
    assert example.choices[:-1] == whole.choices[: len(example.choices) - 1]


def test_pieces_begin_where_a_turn_does(household: Household) -> None:
    example = played("act", WALK, household, household.tasks[0])
    pieces = cropped(example)
    assert len(pieces) > 1
    assert all(piece.text.startswith("Now: ") for piece in pieces)
    assert sum(len(piece.choices) for piece in pieces) == len(example.choices)


class Plans:
    """Plans that are counted."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self, how: str) -> ActionPlan:
        assert how == "errands"
        self.made += 1
        return self.plan()

    def plan(self) -> ActionPlan:
        yield Action("go_explore", ("kitchen",))
        feedback = yield Action("go_grab", ("mug_1",))
        if not feedback.ok:
            raise PlanningFailed("it is gone")


def test_a_plan_goes_on_while_it_is_followed_and_is_made_anew_after() -> None:
    plans = Plans()
    guide = PlanGuide(plans)
    first = guide.best("")
    guide.took(Decision(first), Feedback())
    assert guide.best("") == Action("go_grab", ("mug_1",))
    assert plans.made == 1
    guide.took(Decision(Action("go_check", ("fridge_1",))), Feedback())
    assert guide.best("") == first
    assert plans.made == 2


def test_where_the_expert_is_stuck_nothing_is_labelled() -> None:
    guide = PlanGuide(Plans())
    guide.took(Decision(guide.best("")), Feedback())
    guide.took(Decision(guide.best("")), Feedback("no_path"))
    assert guide.best("") == UNKNOWN
