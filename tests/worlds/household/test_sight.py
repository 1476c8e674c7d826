"""What hides and what does not, one case at a time, and a ray-caster that agrees on all of it."""

from __future__ import annotations

import random

import pytest

from helpers.rooms_raycaster import visible
from helpers.rooms_scenes import Pose, act, flat, free_poses, random_house, seen, start
from helpers.sampling import LONG, some
from helpers.two_in_a_flat import TwoInAFlat
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.scene import Scene
from wayword.worlds.household.sight import Sight
from wayword.worlds.household.verbs import Body


def room_with(*, tall: bool = False, hung: bool = False, apple: bool = True) -> Scene:
    """A cupboard at (2, 2), and an apple behind it when looked at from the south."""
    house = SceneBuilder("room")
    house.room("room", [(0, 0), (4, 0), (4, 5), (0, 5)])
    height, bottom = (2.0, 0.0) if tall else (0.8, 0.0)
    if hung:
        height = 0.6
        bottom = 1.45
    house.furniture("cupboard", 2, 2, 1.0, 0.5, height, bottom=bottom, name="cupboard")
    if apple:
        house.item("apple", x=2.0, y=3.0, name="apple")
    return house.build()


def test_a_wall_hides() -> None:
    assert "cabinet" not in seen(start(flat(), (3.0, 2.3, 90.0)))
    assert "cabinet" in seen(start(flat(), (5.0, 1.5, 90.0)))


def test_a_body_that_looks_around_sees_the_furniture_until_it_acts() -> None:
    away = (1.0, 1.5, 150.0)
    near = Body(view_distance=0.5)
    around = Body(view_distance=0.5, looks_around=True)
    assert "fridge" not in seen(start(flat(), away, body=near))
    world = start(flat(), away, body=around)
    assert "fridge" in seen(world)  # behind it
    assert "apple" not in seen(world)  # in the fridge
    assert "cabinet" not in seen(world)  # in the other room
    assert act(world, "turn_left").ok
    assert "fridge" not in seen(world)
    assert (
        world.name("agent", "fridge") == "fridge_1"
    )  # and it can be named from then on


def test_a_body_that_looks_around_is_shown_no_bowl_behind_it() -> None:
    house = SceneBuilder("room")
    house.room("room", [(0, 0), (4, 0), (4, 5), (0, 5)])
    table = house.furniture("table", 2, 1, 1.0, 0.6, 0.8, receptacle="on", name="table")
    house.item("bowl", parent=table, name="bowl", receptacle="in")
    house.furniture("shelf", 2, 4, 1.0, 0.3, 0.8, receptacle="on", name="shelf")
    scene = house.build()
    around = Body(view_distance=0.5, looks_around=True)
    assert seen(start(scene, (2.0, 2.5, 0.0), body=around)) == {"table", "shelf"}
    toward_it = start(scene, (2.0, 2.5, 180.0), body=Body(view_distance=3.0))
    assert {"table", "bowl"} <= seen(toward_it)


def test_one_sees_through_an_open_door_and_not_through_a_closed_one() -> None:
    through = start(flat(), (3.0, 1.5, 90.0))
    closed = start(flat(shut=True), (3.0, 1.5, 90.0))
    assert {"door", "cabinet"} <= seen(through)
    assert "door" in seen(closed)
    assert "cabinet" not in seen(closed)


def test_a_door_that_is_closed_in_play_hides_from_then_on() -> None:
    world = start(flat(), (3.0, 1.5, 90.0))
    assert act(world, "close door_1").ok
    assert "cabinet" not in seen(world)
    assert act(world, "open door_1").ok
    assert "cabinet" in seen(world)


def test_a_closed_fridge_hides_what_is_in_it_and_an_open_one_shows_it() -> None:
    world = start(flat(), (1.0, 1.5, 330.0))
    assert "fridge" in seen(world)
    assert "apple" not in seen(world)
    assert act(world, "open fridge_1").details["contents"] == ["apple_1"]
    assert "apple" in seen(world)
    apple = next(o for o in world.observe("agent").objects if o.name == "apple_1")
    assert (apple.preposition, apple.container) == ("in", "fridge_1")


def test_what_is_in_an_open_fridge_is_not_seen_without_the_fridge() -> None:
    assert "apple" not in seen(start(flat(fridge_open=True), (1.0, 1.5, 150.0)))


def test_a_bowl_in_a_closed_fridge_hides_its_contents_too() -> None:
    house = SceneBuilder("room")
    house.room("room", [(0, 0), (4, 0), (4, 4), (0, 4)])
    fridge = house.furniture("fridge", 2, 3, 0.8, 0.8, 1.8, "openable", receptacle="in")
    bowl = house.item("bowl", parent=fridge, receptacle="in", name="bowl")
    house.item("egg", parent=bowl, name="egg")
    world = start(house.build(), (2.0, 1.5, 0.0))
    assert seen(world) == {"fridge|1"}
    act(world, "open fridge_1")
    assert seen(world) == {"fridge|1", "bowl", "egg"}


def test_a_tall_cupboard_hides_and_a_low_one_does_not() -> None:
    below: Pose = (2.0, 0.5, 0.0)
    assert seen(start(room_with(tall=True), below)) == {"cupboard"}
    assert seen(start(room_with(), below)) == {"cupboard", "apple"}


def test_a_hung_cupboard_is_looked_under() -> None:
    assert seen(start(room_with(hung=True), (2.0, 0.5, 0.0))) == {"cupboard", "apple"}


def test_a_taller_body_looks_over() -> None:
    world = start(room_with(tall=True), (2.0, 0.5, 0.0), body=Body(eye=2.1))
    assert seen(world) == {"cupboard", "apple"}


def test_what_stands_within_a_cupboards_box_is_not_hidden_by_it() -> None:
    house = SceneBuilder("room")
    house.room("room", [(0, 0), (4, 0), (4, 5), (0, 5)])
    house.furniture("shelves", 2, 3, 1.0, 0.5, 2.0, receptacle="on", name="shelves")
    house.item("book", parent="shelves", name="book")
    assert seen(start(house.build(), (2.0, 1.0, 0.0))) == {"shelves", "book"}


@pytest.mark.parametrize(
    ("focal", "angle"), [(10.0, 121.89), (18.0, 90.0), (36.0, 53.13)]
)
def test_the_focal_length_sets_the_view_angle(focal: float, angle: float) -> None:
    assert Body(focal_length=focal).view_angle == pytest.approx(angle, abs=0.01)


def test_the_cone_and_the_range_bound_the_view() -> None:
    scene = room_with(apple=True)
    assert seen(start(scene, (2.0, 0.5, 180.0))) == set()
    assert seen(start(scene, (2.0, 0.5, 0.0), body=Body(view_distance=1.5))) == {
        "cupboard"
    }
    narrow = Body(focal_length=60.0)
    assert "cupboard" not in seen(start(scene, (0.5, 0.5, 0.0), body=narrow))


def test_thirds_of_the_view_are_left_middle_and_right() -> None:
    world = start(room_with(), (2.0, 0.5, 0.0))
    for verb, side in (
        ("pan_left", "right"),
        ("pan_right", "middle"),
        ("pan_right", "left"),
    ):
        act(world, verb)
        apple = next(o for o in world.observe("agent").objects if o.name == "apple_1")
        assert apple.direction == side
    assert apple.distance == pytest.approx(2.5, abs=0.06)


@pytest.mark.parametrize("heading", [0.0, 90.0, 210.0])
def test_an_object_at_the_eye_is_straight_ahead(heading: float) -> None:
    view = start(room_with(), (2.0, 3.0, heading)).observe("agent")
    apple = next(each for each in view.objects if each.name == "apple_1")
    assert (apple.bearing, apple.direction, apple.distance) == (0.0, "middle", 0.0)


def test_others_are_seen_with_what_they_carry_and_hide_nothing() -> None:
    world = start(room_with(), (2.0, 0.5, 0.0), (2.0, 1.3, 180.0))
    first = world.observe("agent_1")
    assert [other.name for other in first.others] == ["agent_2"]
    assert {o.name for o in first.objects} == {"cupboard_1", "apple_1"}
    # Each sees only its own view: the second looks the other way.
    assert world.observe("agent_2").objects == ()


def test_the_ray_caster_agrees_on_random_poses() -> None:
    poses = count = 0
    for seed in some(range(50), 4):
        scene = random_house(seed, rooms=4, things=28)
        world = start(scene, free_poses(scene, 1, seed)[0])
        rng = random.Random(seed)
        me = world.house.actors["agent"]
        west, south, east, north = world.layout.bounds
        state = world.state()
        for n in range(200):
            body = Body(
                focal_length=(5.0, 10.0, 30.0)[n % 3], view_distance=(3.0, 6.0)[n % 2]
            )
            pose = (
                rng.uniform(west, east),
                rng.uniform(south, north),
                rng.uniform(0, 360),
            )
            view = world.house.sight.look(body, pose, me.number)
            found = {world.layout.ids[i] for i in view.entities}
            assert found == visible(scene, state, body, pose), (seed, pose)
            poses += 1
            count += len(found)
    assert poses == (10_000 if LONG else 2_600)
    assert count > poses


def test_what_is_kept_while_a_body_turns_is_looked_at_again_once_anything_moves() -> (
    None
):
    task = TwoInAFlat().tasks[0]
    world = TwoInAFlat().world(task.episode)
    world.reset(task.episode)
    house = world.house
    rng = random.Random(0)
    shown = set()
    for _ in range(100):
        actor = rng.choice(world.actors)
        listed = [
            action
            for action in world.action_space(actor).listed
            if action.name != "stop"
        ]
        world.step(actor, rng.choice(listed))
        for me in house.actors.values():
            place = (me.x, me.y, me.heading)
            fresh = Sight(house.layout, house.entities).look(me.body, place, me.number)
            assert (me.view.entities, me.view.bearing, me.view.distance) == (
                fresh.entities,
                fresh.bearing,
                fresh.distance,
            )
            shown.add(tuple(fresh.entities))
    assert len(shown) > 6


@pytest.mark.parametrize("count", [2, 3])
def test_who_stands_still_sees_every_other_body_where_it_is_now(count: int) -> None:
    poses = [(2.0, 0.4, 0.0), (1.6, 1.2, 90.0), (2.6, 1.2, 270.0)]
    world = start(room_with(), *poses[:count])

    def distances() -> dict[str, float]:
        view = world.observe("agent_1")
        return {other.name: other.distance for other in view.others}

    for number in range(2, count + 1):
        name = f"agent_{number}"
        for _ in range(2):  # along both axes
            before = distances()
            assert act(world, "move_ahead", name).ok
            moved = {each for each in before if distances()[each] != before[each]}
            assert moved == {name}
            act(world, "turn_left", name)
