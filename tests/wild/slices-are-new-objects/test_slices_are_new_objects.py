"""A treatment before slicing does not count; after slicing it does."""

from __future__ import annotations

import pytest

from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.world import HouseholdWorld

SLICE = (("go_grab", "knife_1"), ("goto", "potato_1"), ("slice", "potato_1"))
PUT_DOWN = (("go_put", "counter_1"),)
WASH = (("go_grab", "potato_1"), ("clean", "potato_1", "sink_1"))


def potato_after(*steps: tuple[str, ...]) -> tuple[bool, bool]:
    """Whether the potato counts as sliced and as cleaned after the steps."""
    scene = SceneBuilder("flat")
    scene.room("kitchen", [(0, 0), (5, 0), (5, 4), (0, 4)])
    counter = scene.furniture(
        "counter", 2, 3.6, 2.5, 0.6, 0.9, receptacle="on", capacity=20
    )
    sink = ("cleaner", "toggleable")
    scene.furniture("sink", 0.4, 3.6, 0.6, 0.6, 0.9, *sink, receptacle="in", capacity=6)
    scene.item("potato", "sliceable", parent=counter, x=1.2)
    scene.item("knife", "slicer", parent=counter, x=2.8)
    world = HouseholdWorld(scene.build())
    pose = {"agent": {"x": 2.0, "y": 1.5, "heading": 0.0}}
    world.reset(Episode("1", "x", "flat", {"poses": pose}))
    world.observe("agent")
    for verb, *arguments in steps:
        feedback = world.step("agent", Action(verb, tuple(arguments)))
        assert feedback.ok, (verb, feedback)
        world.observe("agent")
    objects = world.state()["objects"]
    (potato,) = (state for name, state in objects.items() if "potato" in name)
    return potato["sliced"], potato["cleaned"]


@pytest.mark.parametrize(
    ("steps", "sliced", "cleaned"),
    [
        (WASH, False, True),
        ((*WASH, *PUT_DOWN, *SLICE), True, False),
        ((*SLICE, *PUT_DOWN, *WASH), True, True),
        ((*WASH, *PUT_DOWN, *SLICE, *PUT_DOWN, *WASH), True, True),
    ],
    ids=["washed", "washed, sliced", "sliced, washed", "washed, sliced, washed"],
)
def test_slices_have_not_been_washed(
    steps: tuple[tuple[str, ...], ...], sliced: bool, cleaned: bool
) -> None:
    assert potato_after(*steps) == (sliced, cleaned)
