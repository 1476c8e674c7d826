"""What hides an object, and what a held one shows, whatever lies in what."""

from __future__ import annotations

import random

import pytest

from helpers.rooms_scenes import act, flat, seen, start
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.entities import FLOOR, Entities
from wayword.worlds.household.house import observation
from wayword.worlds.household.verbs import Body


def by_definition(entities: Entities, i: int) -> tuple[int, bool, bool]:
    """An object's anchor, and if it is exposed and a root, from all that it is in."""
    holders = entities.holders(i)
    enclosing = [
        h for h in holders if h < entities.object_count and entities.encloses[h]
    ]
    is_held = any(holder >= entities.first_actor for holder in holders)
    anchor = [i, *enclosing][-1]
    is_exposed = not is_held and all(entities.open[holder] for holder in enclosing)
    return anchor, is_exposed, is_exposed and anchor == i


@pytest.mark.parametrize("seed", range(3))
def test_an_object_is_hidden_by_any_closed_receptacle_around_it_and_by_a_hand(
    seed: int,
) -> None:
    rng = random.Random(seed)
    dataset = open_dataset(Plan("expert", "household"))
    task = dataset.tasks[seed]
    world = dataset.world(task.episode)
    world.reset(task.episode)
    entities = world.house.entities  # type: ignore[attr-defined]
    closable = [i for i in range(entities.object_count) if entities.encloses[i]]
    holders = [*closable, *closable, FLOOR, entities.first_actor]
    deepest = 0
    for _ in range(60):
        moved = rng.randrange(entities.object_count)
        holder = rng.choice(holders)
        if holder not in entities.with_contents(moved):
            entities.move(moved, holder)
        i = rng.choice(closable)
        entities.set_open(i, not entities.open[i])
        for each in range(entities.object_count):
            deepest = max(deepest, len(entities.holders(each)))
            found = (
                int(entities.anchor[each]),
                bool(entities.is_exposed[each]),
                bool(entities.is_root[each]),
            )
            assert found == by_definition(entities, each)
    assert deepest > 2, "objects in objects in objects"


def test_a_held_receptacle_shows_what_is_in_it_once_it_is_open() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    house = world.house
    entities = house.entities
    (me,) = house.actors.values()
    act(world, "pick_up mug_1")
    (held,) = me.hands
    knife = [entities.type(i) for i in range(entities.object_count)].index("knife")
    entities.move(knife, held)

    def shown() -> int:
        (carried,) = observation(house, me).holding
        return len(carried.contents)

    assert shown() == 1, "a mug hides nothing"
    entities.encloses[held] = entities.openable[held] = True
    for is_open in (False, True, False):
        entities.set_open(held, is_open)
        assert shown() == is_open


def test_what_a_held_receptacle_holds_is_in_reach_only_while_it_is_open() -> None:
    house = SceneBuilder("room")
    house.room("room", [(0, 0), (4, 0), (4, 3), (0, 3)])
    fields = {"receptacle": "in", "open": True, "height": 0.3, "name": "box"}
    box = house.item("box", "openable", x=2.0, y=2.0, **fields)
    house.item("apple", parent=box, name="apple")
    world = start(house.build(), (2.0, 1.5, 0.0), body=Body(inventory_capacity=2))
    assert seen(world) == {"box", "apple"}
    assert act(world, "pick_up box_1").ok
    assert act(world, "close box_1").ok
    refused = act(world, "pick_up apple_1")
    assert refused.status == "closed"
    assert refused.details["receptacle"] == "box_1"
    assert act(world, "open box_1").ok
    assert act(world, "pick_up apple_1").ok


def test_what_is_directly_in_or_on_a_receptacle_counts_against_its_capacity() -> None:
    world = start(flat(), (2.0, 1.5, 0.0))
    entities = world.house.entities
    number = {entities.type(i): i for i in range(entities.object_count)}
    table = number["table"]
    assert entities.specs[table].capacity == 3
    on_table = len(entities.contents(table))
    assert on_table == 2
    assert not entities.full(table)
    # An apple in a mug on the table is no third object on it.
    entities.move(number["apple"], number["mug"])
    assert not entities.full(table)
    entities.move(number["bowl"], table)
    assert entities.full(table)
    assert not entities.full(number["cabinet"]), "no limit"
