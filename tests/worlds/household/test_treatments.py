"""What is done to objects: which marks an action sets, keeps and takes away, by tables."""

from __future__ import annotations

import pytest

from helpers.rooms_scenes import act, flat, start
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.entities import FLAGS, Entities
from wayword.worlds.household.motions import run_appliance

LIQUIDS = {"none": (), "water": ("filled",), "coffee": ("filled", "coffee")}
DONE = ("heated", "cooled", "cleaned")


def on_a(*affordances: str, is_open: bool = False) -> Entities:
    """A pot in an appliance that is on, and an egg in the pot."""
    house = SceneBuilder("kitchen")
    house.room("kitchen", [(0, 0), (4, 0), (4, 4), (0, 4)])
    device = house.furniture(
        *("device", 2.0, 2.0, 0.6, 0.6, 0.9, *affordances),
        receptacle="in",
        open=is_open,
        on=True,
    )
    pot = house.item("pot", "fillable", parent=device, receptacle="in")
    house.item("egg", "cookable", "sliceable", parent=pot)
    return Entities(house.build(), 0)


def marks(entities: Entities, i: int) -> set[str]:
    """The flags of an object, other than what is switched and opened."""
    return {flag for flag in FLAGS if getattr(entities, flag)[i]} - {"on", "open"}


@pytest.mark.parametrize("liquid", LIQUIDS)
def test_what_is_cooked_is_boiled_in_water_alone(liquid: str) -> None:
    entities = on_a("heater", "toggleable")
    for flag in LIQUIDS[liquid]:
        entities.set_state(1, flag, True)
    run_appliance(entities, 0)
    boiled = {"boiled"} if liquid == "water" else set()
    assert marks(entities, 2) == {"cooked"} | boiled
    assert marks(entities, 1) == {*LIQUIDS[liquid]}, "a pot is not cooked"


@pytest.mark.parametrize("liquid", LIQUIDS)
def test_each_appliance_leaves_its_own_marks(liquid: str) -> None:
    # Of a pot that holds the liquid, and of the egg in it.
    had = {*LIQUIDS[liquid]}
    drunk = had - {"filled"} if liquid == "water" else had
    expected = {
        "cooler": (had | {"cooled"}, {"cooled"}),
        "cleaner": (had | {"cleaned"}, {"cleaned"}),
        "filler": ({"filled"}, set[str]()),
        "brewer": ({"filled", "coffee"}, set[str]()),
        "drinker": (drunk, set[str]()),
        "toggleable": (had, set[str]()),
    }
    for affordance, (of_pot, of_egg) in expected.items():
        entities = on_a(affordance)
        for flag in had:
            entities.set_state(1, flag, True)
        run_appliance(entities, 0)
        assert (marks(entities, 1), marks(entities, 2)) == (of_pot, of_egg), affordance
        waters = affordance == "drinker" and liquid == "water"
        assert bool(entities.filled[0]) == waters, affordance


def test_what_opens_works_on_its_contents_only_while_closed() -> None:
    for affordance, mark in (("heater", "heated"), ("cooler", "cooled")):
        for is_open in (False, True):
            entities = on_a(affordance, "openable", is_open=is_open)
            run_appliance(entities, 0)
            assert (mark in marks(entities, 2)) == (not is_open), (affordance, is_open)


def test_slices_keep_every_mark_but_those_of_treatments() -> None:
    """In AI2-THOR slices are new objects: what was done to the whole one does not count."""
    world = start(flat(fridge_open=True), (2.0, 1.5, 0.0))
    entities = world.house.entities
    apple = world.layout.index["apple"]
    for _ in range(4):
        act(world, "turn_right")
    for action in ("go_grab knife_1", "goto apple_1"):
        assert act(world, action).ok, action
    kept = {"dirty", "filled", "cooked", "coffee", "boiled"}
    for flag in (*kept, *DONE):
        entities.set_state(apple, flag, True)
    assert act(world, "slice apple_1").ok
    assert marks(entities, apple) == kept | {"sliced"}
