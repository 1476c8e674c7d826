"""An object that moves takes along what is in or on it, in all three dimensions."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.rooms_scenes import act, flat, start
from wayword.runs.opening import open_dataset
from wayword.runs.plan import Plan


def test_contents_move_with_their_holder_and_nothing_else_does() -> None:
    dataset = open_dataset(Plan("expert", "household"))
    moved = 0
    for task in dataset.tasks[:2]:
        world = dataset.world(task.episode)
        world.reset(task.episode)
        entities = world.house.entities
        for holder in range(entities.object_count):
            members = entities.with_contents(holder)
            if len(members) < 2:
                continue
            moved += 1
            before = np.stack([entities.x, entities.y, entities.bottom]).copy()
            x, y, bottom = before[:, holder] + (1.0, -2.0, 0.5)
            entities.place(holder, x, y, bottom)
            after = np.stack([entities.x, entities.y, entities.bottom])
            shift = np.zeros_like(before)
            shift[:, members] = np.array([[1.0], [-2.0], [0.5]])
            assert after == pytest.approx(before + shift)
            middles = entities.bottom[members] + entities.height[members] / 2
            assert entities.mid_height[members] == pytest.approx(middles)
            entities.place(holder, *before[:, holder])
    assert moved > 10


def test_what_an_actor_holds_is_at_its_place_and_no_other_object_is() -> None:
    world = start(flat(), (2.0, 1.5, 0.0), (5.0, 1.5, 0.0))
    house = world.house
    holder, other = house.actors.values()
    act(world, "pick_up mug_1", "agent_1")
    (held,) = holder.hands
    knife = [house.entities.type(i) for i in range(house.entities.object_count)].index(
        "knife"
    )
    house.entities.move(knife, held)  # now in the mug
    for turn in ("turn_left", "move_ahead", "move_ahead"):
        act(world, turn, "agent_1")
        for i in range(house.entities.object_count):
            is_held = i in (held, knife)
            assert (house.holder(i) == holder.number) == is_held
            assert (house.distance(holder, i) == 0.0) == is_held, world.layout.ids[i]
            assert house.distance(other, i) > 0.0
