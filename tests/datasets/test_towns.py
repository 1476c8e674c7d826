"""Generated towns: well-formed, the same every time, and lazy."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from helpers.gold_actions import gold_actions
from wayword.core.dataset import of_ids
from wayword.core.errors import UsageError
from wayword.core.geometry import relative
from wayword.datasets.procedural.towns.town import (
    SPACING,
    STREET_ANGLE,
    Town,
    build_town,
    scene_name,
)
from wayword.datasets.towns import Towns, TownsSettings
from wayword.worlds.street.moves import Navigator

TOWNS = [build_town(scene_name("test", seed, 6, seed)) for seed in range(6)]


@pytest.fixture(params=TOWNS, ids=lambda town: town.scene)
def town(request: pytest.FixtureRequest) -> Town:
    made: Town = request.param
    return made


def test_every_way_leads_back_and_nothing_is_cut_off(town: Town) -> None:
    graph = town.graph
    everywhere = np.arange(len(graph))
    assert np.isfinite(graph.hops(everywhere, 0)).all()
    for here in range(len(graph)):
        for _, there in graph.exits(here):
            assert here in [back for _, back in graph.exits(there)]
    assert min(graph.degree(here) for here in range(len(graph))) == 2, (
        "no street ends blindly"
    )


def test_routes_lead_where_their_headings_say(town: Town) -> None:
    for here in range(len(town.graph)):
        for heading, there in town.graph.exits(here):
            across, up = town.xy[there] - town.xy[here]
            assert (
                abs(relative(float(np.degrees(np.arctan2(across, up))), heading))
                <= 0.51
            )
            assert 0.6 * SPACING <= float(np.hypot(across, up)) <= 2.5 * SPACING


def test_streets_leave_a_junction_well_apart(town: Town) -> None:
    for corner in range(town.corners):
        exits = sorted(heading for heading, _ in town.graph.exits(corner))
        gaps = [(b - a) % 360 for a, b in pairwise([*exits, exits[0]])]
        assert min(gaps) >= STREET_ANGLE - 1


def test_towns_have_junctions_of_three_four_and_five_routes_and_bends() -> None:
    degrees: Counter[int] = Counter()
    bent = 0
    for town in TOWNS:
        degrees.update(town.graph.degree(corner) for corner in range(town.corners))
        bent += sum(len(street.points) == 3 for street in town.streets.streets)
    assert set(degrees) == {2, 3, 4, 5}
    assert min(degrees.values()) >= 5
    assert bent >= 30


def test_a_name_means_one_place_but_for_the_lights(town: Town) -> None:
    names = Counter(landmark.name for landmark in town.landmarks)
    lights = names.pop("a traffic light")
    assert lights == len(town.lights) >= 3
    assert set(names.values()) == {1}


def test_the_same_name_makes_the_same_town(town: Town) -> None:
    again = build_town(town.scene)
    assert again.landmarks == town.landmarks
    assert again.graph.names == town.graph.names
    assert np.array_equal(again.graph.headings, town.graph.headings)


def test_episodes_do_not_depend_on_how_many_there_are_or_on_the_order() -> None:
    few = Towns("test", None, TownsSettings(towns=2, episodes=8))
    many = Towns("test", None, TownsSettings(towns=4, episodes=20))
    backwards = {
        few.tasks[number].episode.id: few.tasks[number] for number in range(7, -1, -1)
    }
    shared = [task for task in many.tasks if task.episode.id in backwards]
    assert len(shared) == 8
    assert all(backwards[task.episode.id] == task for task in shared)


def test_a_town_is_built_when_it_is_looked_at() -> None:
    towns = Towns("test", None, TownsSettings(towns=500, episodes=5000))
    assert len(towns.tasks) == 5000
    assert towns.tasks[-1].episode.scene == "test-s0-n6-0499"
    assert towns._cached_town.cache_info().currsize == 1


def test_splits_share_no_town() -> None:
    names = [{Towns(split).scene(n) for n in range(20)} for split in Towns.splits]
    assert not names[0] & names[1]
    one, other = (build_town(min(scenes)) for scenes in names)
    assert one.landmarks != other.landmarks


def test_demonstrations_are_solved_episodes_of_the_train_split_drawn_by_seed() -> None:
    towns = Towns()
    drawn = towns.demonstrations(3, 5)
    assert [d.episode for d in drawn] == [
        d.episode for d in Towns().demonstrations(3, 5)
    ]
    assert [d.episode for d in drawn] != [d.episode for d in towns.demonstrations(3, 6)]
    solved = of_ids(Towns("train").tasks, [d.episode.id for d in drawn])
    assert len(solved) == 3
    for demonstration in drawn:
        assert demonstration.episode.scene.startswith("train-")
        world = demonstration.world()
        world.reset(demonstration.episode)
        for action in demonstration.actions:
            assert not world.done("agent")
            assert world.step("agent", action).ok
        assert world.done("agent")
        assert (
            world.pose("agent")["panorama"]
            == solved[demonstration.episode.id].reference.goal
        )  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="lower shots"):
        towns.demonstrations(201, 0)


def test_gold_paths_are_walked_under_the_original_function_too() -> None:
    towns = Towns(
        "test", None, TownsSettings(towns=3, episodes=12, transition="original")
    )
    for task in towns.tasks:
        path = task.reference.path  # type: ignore[attr-defined]
        graph = towns.graph(task.episode.scene)
        heading = task.episode.start["heading"]
        navigator = Navigator(graph, "original")
        state = navigator.start(graph.index[path[0]], heading)
        for word in gold_actions(graph, path, heading, "original"):
            state = navigator.step(state, word)
        assert graph.ids[navigator.stand(state).panorama] == path[-1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"towns": 0}, "at least 1"),
        ({"size": 2}, "size must be at least 3, got 2"),
        (
            {"towns": 1, "episodes": 41},
            "episodes must be at most 40 in 1 towns, got 41",
        ),
    ],
)
def test_impossible_settings_end_in_one_line(
    settings: dict[str, int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        TownsSettings(**settings)  # type: ignore[arg-type]


def test_unknown_splits_and_scenes_end_in_one_line() -> None:
    with pytest.raises(UsageError, match="no split 'tset'; did you mean 'test'"):
        Towns("tset")
    with pytest.raises(UsageError, match="is not a generated town"):
        build_town("Manhattan")


@pytest.mark.parametrize("size", [3, 4, 9])
def test_small_and_large_towns_have_routes(size: int) -> None:
    towns = Towns("test", None, TownsSettings(towns=2, episodes=20, size=size))
    assert len({task.episode.id for task in towns.tasks}) == 20
