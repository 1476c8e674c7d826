"""The street world: observations, what is carried out where an action cannot be, and its ends."""

from __future__ import annotations

import pytest

from wayword.core.action import STOP, Action
from wayword.core.episode import Episode
from wayword.core.errors import DataError
from wayword.core.world import World
from wayword.worlds.street.graph import StreetGraph, build
from wayword.worlds.street.moves import Navigator
from wayword.worlds.street.world import StreetWorld


def street() -> StreetGraph:
    """A dead end a, then b, then the junction c with ways to d (left) and e (right)."""
    links: list[tuple[str, float, str]] = [
        ("a", 0, "b"),
        ("b", 180, "a"),
        ("b", 0, "c"),
    ]
    links += [
        ("c", 180, "b"),
        ("c", 280, "d"),
        ("c", 70, "e"),
        ("d", 100, "c"),
        ("e", 250, "c"),
    ]
    return build("street", ["a", "b", "c", "d", "e"], links)


def episode(panorama: str = "b", heading: float = 0) -> Episode:
    return Episode("7", "Go on.", "street", {"panorama": panorama, "heading": heading})


def world(
    panorama: str = "b",
    heading: float = 0,
    transition: str = "modified",
    released: bool = False,
) -> StreetWorld:
    made = StreetWorld(
        Navigator(street(), transition), "released" if released else "open"
    )
    made.reset(episode(panorama, heading))
    return made


def test_it_is_a_world_with_five_actions_everywhere() -> None:
    made = world()
    assert isinstance(made, World)
    named = [str(action) for action in made.action_space("agent").listed]
    assert named == ["forward", "left", "right", "turn_around", "stop"]


def test_observations_say_where_and_which_routes() -> None:
    made = world()
    seen = made.observe("agent")
    assert (seen.panorama, seen.heading, seen.angles) == ("b", 0, (0, 180))
    assert seen.changed, "the first panorama counts as new"
    made.step("agent", Action("forward"))
    seen = made.observe("agent")
    assert (seen.panorama, seen.exits, seen.angles) == ("c", 3, (-80, 70, 180))
    assert seen.changed
    assert seen.step == 1
    made.step("agent", Action("right"))
    seen = made.observe("agent")
    assert (seen.panorama, seen.heading, seen.angles) == ("c", 70, (-150, 0, 110))
    assert not seen.changed
    assert made.pose("agent") == {"panorama": "c", "heading": 70}


def test_a_turn_on_a_street_segment_is_carried_out_as_forward() -> None:
    for word in ("left", "right"):
        made = world()
        feedback = made.step("agent", Action(word))
        assert feedback.status == "no_turn"
        assert feedback.details == {"executed": "forward", "moved": True}
        assert made.pose("agent")["panorama"] == "c"


def test_a_turn_at_a_junction_turns() -> None:
    feedback = world("c").step("agent", Action("left"))
    assert feedback.ok
    assert feedback.details == {"executed": "left", "moved": False}


@pytest.mark.parametrize("word", ["forward", "left", "right"])
def test_a_dead_end_stops_who_walks_into_it(word: str) -> None:
    made = world("b", 180)
    made.step("agent", Action("forward"))
    feedback = made.step("agent", Action(word))
    assert (feedback.status, feedback.details["executed"]) == ("dead_end", "stop")
    assert made.done("agent")
    assert made.state() == {"panorama": "a", "heading": 180, "stopped": True}


def test_a_dead_end_can_be_left_facing_the_way_out_unless_as_released() -> None:
    assert world("a", 0).step("agent", Action("forward")).details["moved"]
    assert world("a", 0).step("agent", Action("left")).status == "dead_end"
    assert world("a", 90).step("agent", Action("forward")).status == "dead_end"
    assert (
        world("a", 0, released=True).step("agent", Action("forward")).status
        == "dead_end"
    )


def test_turning_round_in_a_dead_end_is_never_refused() -> None:
    made = world("a", 180, released=True)
    assert made.step("agent", Action("turn_around")).ok
    assert made.pose("agent")["heading"] == 0


def test_the_original_environment_carries_out_what_is_stated() -> None:
    made = world(transition="original")
    assert made.step("agent", Action("left")).details == {
        "executed": "left",
        "moved": False,
    }
    assert made.pose("agent") == {"panorama": "b", "heading": 180}


def test_stop_ends_the_episode_and_reset_begins_it_again() -> None:
    made = world()
    made.step("agent", Action("forward"))
    made.step("agent", STOP)
    assert made.done("agent")
    made.reset(episode())
    assert not made.done("agent")
    assert (made.observe("agent").panorama, made.observe("agent").step) == ("b", 0)
    assert made.observe("agent").changed


def test_the_panorama_of_the_episode_before_is_forgotten() -> None:
    made = world()
    made.step("agent", Action("turn_around"))
    assert not made.observe("agent").changed
    made.reset(episode())
    assert made.observe("agent").changed, "the first panorama counts as new"


@pytest.mark.parametrize(
    ("given", "heading"), [(359.7, 0), (360.0, 0), (-90.0, 270), (12.4, 12)]
)
def test_a_start_faces_integer_degrees_on_the_compass(
    given: float, heading: int
) -> None:
    assert world("c", given).pose("agent") == {"panorama": "c", "heading": heading}
    plain = StreetWorld(Navigator(street()))
    plain.reset(Episode("7", "Go on.", "street", {"panorama": "c"}))
    assert plain.pose("agent")["heading"] == 0


def test_what_is_not_on_the_menu_is_refused() -> None:
    for action in (Action("jump"), Action("forward", ("twice",))):
        with pytest.raises(ValueError, match="is not on the menu"):
            world().step("agent", action)


def test_an_unknown_start_is_named() -> None:
    with pytest.raises(
        DataError, match="street: episode 7, field 'panorama': 'zz' is not in"
    ):
        world("zz")


def test_route_is_a_shortest_way() -> None:
    made = world("a", 0)
    words = [str(action) for action in made.route("agent", "e")]
    assert words == ["forward", "forward", "forward"], (
        "of two middle ways, 70 is closer than 280"
    )
    assert [str(action) for action in made.route("agent", "d")][2:] == [
        "left",
        "forward",
    ]
    for action in made.route("agent", "e"):
        made.step("agent", action)
    assert made.pose("agent")["panorama"] == "e"
    assert made.route("agent", "e") == []


def test_two_worlds_of_one_navigator_do_not_meet() -> None:
    navigator = Navigator(street())
    one = StreetWorld(navigator)
    other = StreetWorld(navigator)
    one.reset(episode())
    other.reset(episode())
    one.step("agent", Action("forward"))
    assert other.pose("agent")["panorama"] == "b"
