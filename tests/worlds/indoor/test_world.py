"""The indoor world by hand, on stairs: poses, what is legal, and what a reset forgets."""

from __future__ import annotations

import numpy as np
import pytest

from wayword.core.action import STOP, Action
from wayword.core.episode import Episode
from wayword.core.errors import DataError
from wayword.worlds.indoor.graph import ViewpointGraph, build
from wayword.worlds.indoor.world import IndoorWorld, ObjectsWorld, VisibleObject

FOOT, TOP, EAST = (Action("goto", (place,)) for place in ("foot", "top", "east"))
LAMP = VisibleObject("5", "lamp", 90.0)


def stairs() -> ViewpointGraph:
    """foot - top, 2 m north of it and 2 m up; east, 3 m east of the foot; and a lone attic."""
    names = ("attic", "foot", "top", "east")
    positions = np.array([(9, 9, 9), (0, 0, 0), (0, 2, 2), (3, 0, 0)], dtype=np.float64)
    edges = np.array([(1, 2), (1, 3), (2, 1), (3, 1)], dtype=np.int32)
    return build("stairs", names, positions, edges)


GRAPH = stairs()


def episode(**start: object) -> Episode:
    return Episode("1", "Go up.", "stairs", {"viewpoint": "foot", **start})


def test_after_a_move_the_actor_faces_the_way_it_went() -> None:
    world = IndoorWorld(GRAPH)
    world.reset(episode(heading=-90.0))
    assert world.pose("agent") == {"viewpoint": "foot", "heading": 270.0}
    up = world.step("agent", TOP)
    assert up.details == {"heading_before": 270.0, "heading": 0.0}
    seen = world.observe("agent")
    assert (seen.viewpoint, seen.heading, seen.elevation) == (
        "top",
        0.0,
        pytest.approx(45),
    )
    assert [near.viewpoint for near in seen.neighbors] == ["foot"]
    world.step("agent", FOOT)
    world.step("agent", EAST)
    assert world.state() == {"viewpoint": "east", "heading": 90.0, "stopped": False}


def test_a_reset_forgets_the_episode_before() -> None:
    world = IndoorWorld(GRAPH)
    world.reset(episode(heading=30.0))
    world.step("agent", TOP)
    world.step("agent", STOP)
    assert world.done("agent")
    world.reset(episode())
    seen = world.observe("agent")
    assert (seen.viewpoint, seen.heading, seen.elevation) == ("foot", 0.0, 0.0)
    assert not world.done("agent")


def test_a_start_that_the_scan_does_not_have_is_named() -> None:
    with pytest.raises(
        DataError, match="stairs: episode 1, field 'viewpoint': 'roof' is not in"
    ):
        IndoorWorld(GRAPH).reset(episode(viewpoint="roof"))


def test_only_neighbours_can_be_gone_to() -> None:
    world = IndoorWorld(GRAPH)
    world.reset(episode(viewpoint="top"))
    assert list(world.action_space("agent").listed) == [FOOT, STOP]
    for action in (EAST, Action("goto", ("roof",)), Action("turn_left")):
        with pytest.raises(ValueError, match="is not on the menu at top"):
            world.step("agent", action)
    assert world.pose("agent")["viewpoint"] == "top"


def test_oracles_get_the_moves_after_where_they_stand() -> None:
    world = IndoorWorld(GRAPH)
    world.reset(episode(viewpoint="top"))
    assert world.route("agent", "east") == [FOOT, EAST]
    assert world.route("agent", "top") == []
    assert world.along("agent", ["top", "foot", "east"]) == [FOOT, EAST, STOP]
    assert world.along("agent", ["top"]) == [STOP]


def test_an_object_in_view_is_named_at_the_stop() -> None:
    world = ObjectsWorld(GRAPH, lambda place: [LAMP] if place == "east" else [])
    world.reset(episode())
    named = Action("stop", ("5",))
    assert named not in world.action_space("agent"), "not in view from here"
    with pytest.raises(ValueError, match="is not on the menu at foot"):
        world.step("agent", named)
    assert not world.done("agent")
    world.step("agent", EAST)
    assert world.observe("agent").objects == (LAMP,)
    assert list(world.action_space("agent").listed) == [FOOT, STOP, named]
    world.step("agent", named)
    assert (world.state()["named"], world.done("agent")) == ("5", True)
    world.reset(episode())
    assert (world.state()["named"], world.done("agent")) == ("", False)
