"""Interactive questions: right by the true state, even in their answers, answered by the expert."""

from __future__ import annotations

from collections import Counter

import pytest

from helpers.rehearsing import play
from wayword.core.errors import UsageError
from wayword.datasets.iqa import KINDS, InteractiveQuestions, IqaSettings
from wayword.datasets.procedural.homes.chores import plural, spoken_name
from wayword.datasets.procedural.homes.objects import OBJECTS
from wayword.worlds.household.goals import AnswerReference
from wayword.worlds.household.verbs import LOW_LEVEL
from wayword.worlds.household.world import HouseholdWorld


@pytest.fixture(scope="module")
def dataset() -> InteractiveQuestions:
    return InteractiveQuestions(settings=IqaSettings(homes=10, episodes=90))


def right(reference: object) -> AnswerReference:
    assert isinstance(reference, AnswerReference)
    return reference


def truth(world: HouseholdWorld, text: str) -> int:
    """How many of the things a question speaks of are where it asks, from words and scene alone."""
    rooms = sorted((room.name for room in world.scene.rooms), key=len, reverse=True)
    room = next(name for name in rooms if f"the {name}" in text)
    kinds = sorted(OBJECTS, key=lambda kind: len(spoken_name(kind)), reverse=True)
    words = text.split(f"the {room}")[0] + text.split(f"the {room}")[1]
    item = next(
        k for k in kinds if spoken_name(k) in words or plural(spoken_name(k)) in words
    )
    specs = {o.id: o for o in world.scene.objects}
    types = {o.type for o in specs.values() if o.receptacle} - set(OBJECTS)
    place = next(
        (
            k
            for k in sorted(types, key=len, reverse=True)
            if f"the {spoken_name(k)} in the" in text
        ),
        "",
    )
    return sum(
        o.type == item
        and world.layout.room_at(o.x, o.y) == room
        and (not place or specs[o.parent].type == place)
        for o in specs.values()
    )


def test_answers_are_true_of_the_home(dataset: InteractiveQuestions) -> None:
    for task in dataset.tasks:
        reference = right(task.reference)
        count = truth(dataset.world(task.episode), task.episode.instruction)
        text = str(count) if reference.kind == "counts" else "yes" if count else "no"
        assert reference.answer == text, task.episode


def test_the_expert_answers_all_after_seeing_what_there_is_to_see(
    dataset: InteractiveQuestions,
) -> None:
    for task in dataset.tasks[:60]:
        world = dataset.world(task.episode)
        reference = right(task.reference)
        world.reset(task.episode)
        actions = play(world, "agent", reference)
        assert {action.name for action in actions} <= set(LOW_LEVEL)
        me = world.house.actors["agent"]
        assert me.answer == reference.answer
        assert me.low_level == len(actions) - 1, "no action failed"
        items = world.house.entities
        seen = [
            i
            for i in map(world.layout.index.__getitem__, reference.look)
            if me.discovered[i]
        ]
        opened = [i for i in seen if not items.encloses[i] or items.open[i]]
        assert len(opened) >= (reference.enough or len(reference.look)), task.episode


def test_answers_are_even() -> None:
    dataset = InteractiveQuestions(settings=IqaSettings(homes=20, episodes=240))
    found = Counter(
        (right(t.reference).kind, right(t.reference).answer) for t in dataset.tasks
    )
    assert {kind for kind, _ in found} == set(KINDS)
    for kind in ("exists", "contains"):
        assert 20 <= found[kind, "yes"] <= 60  # of 80; four standard deviations are 18
    for answer in "0123":
        assert (
            5 <= found["counts", answer] <= 36
        )  # of 80; four standard deviations are 16


def test_settings_that_cannot_be_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown kind 'why'"):
        IqaSettings(kind="why")
    only = InteractiveQuestions(
        settings=IqaSettings(homes=1, episodes=4, kind="counts")
    )
    assert {right(task.reference).kind for task in only.tasks} == {"counts"}
