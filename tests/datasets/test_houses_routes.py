"""What instructions say is true of the geometry: turns, sides, doors, landmarks, where to stop."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from helpers.looping import for_each
from wayword.core.geometry import relative
from wayword.datasets.houses import Houses
from wayword.datasets.procedural.houses.house import GeneratedHouse
from wayword.datasets.procedural.houses.routes import Route, Stretch, turn_word
from wayword.datasets.procedural.houses.views import named_furniture

SIZES = Houses.Settings(houses=30, episodes=270, seed=6)
HOUSES = Houses("train", None, SIZES)
CASES = [(HOUSES.scene(number), path) for number in range(30) for path in range(3)]


in_every_house = for_each(
    "case",
    lambda: [(HOUSES.house(scene), HOUSES.route(scene, path)) for scene, path in CASES],
    lambda case: f"{case[0].scene} {case[1].path}",
)


def headings(house: GeneratedHouse, route: Route) -> list[float]:
    """The start's heading, then that of each step."""
    spots = [house.place(viewpoint) for viewpoint in route.path]
    steps = itertools.pairwise(spots)
    return [
        route.heading,
        *(math.degrees(math.atan2(b.x - a.x, b.y - a.y)) for a, b in steps),
    ]


@in_every_house
def test_stretches_cover_the_path(case: tuple[GeneratedHouse, Route]) -> None:
    _, route = case
    ends = [0, *(stretch.end for stretch in route.stretches)]
    assert ends[-1] == len(route.path) - 1
    assert [stretch.start for stretch in route.stretches] == ends[:-1]
    assert all(a < b for a, b in itertools.pairwise(ends))


@in_every_house
def test_turns_agree_with_the_geometry(case: tuple[GeneratedHouse, Route]) -> None:
    house, route = case
    facing = headings(house, route)
    for stretch in route.stretches:
        angle = relative(facing[stretch.start + 1], facing[stretch.start])
        assert stretch.angle == pytest.approx(angle)
        word = turn_word(angle)
        if "left" in word:
            assert -155 <= angle < -25
        elif "right" in word:
            assert 25 < angle <= 155
        else:
            assert abs(angle) <= 25 if word == "straight" else abs(angle) > 155


@in_every_house
def test_doors_lead_where_they_are_stated_to(
    case: tuple[GeneratedHouse, Route],
) -> None:
    house, route = case
    for stretch in route.stretches:
        if stretch.door is None:
            continue
        assert house.place(route.path[stretch.end]).door == stretch.door
        assert set(house.plan.doors[stretch.door].rooms) == {stretch.room, stretch.to}
        if stretch.end + 1 < len(route.path):
            assert stretch.to in house.place(route.path[stretch.end + 1]).rooms


@in_every_house
def test_landmarks_are_named_where_they_are_mentioned_and_are_unambiguous(
    case: tuple[GeneratedHouse, Route],
) -> None:
    house, route = case
    names = [item.name for item in house.furniture]
    for stretch in route.stretches:
        for number in landmarks(stretch):
            assert number in named_furniture(house, route.path[stretch.start])
            assert names.count(names[number]) == 1


def landmarks(stretch: Stretch) -> list[int]:
    past = [stretch.past[0]] if stretch.past else []
    return past + ([stretch.piece] if stretch.piece is not None else [])


@in_every_house
def test_what_is_passed_lies_on_the_side_that_is_reported(
    case: tuple[GeneratedHouse, Route],
) -> None:
    house, route = case
    for stretch in route.stretches:
        if stretch.past is None:
            continue
        item = house.furniture[stretch.past[0]]
        side = stretch.past[1]
        spots = [house.place(v) for v in route.path[stretch.start : stretch.end + 1]]
        sides = set()
        for a, b in itertools.pairwise(spots):
            way = math.degrees(math.atan2(b.x - a.x, b.y - a.y))
            before = relative(math.degrees(math.atan2(item.x - a.x, item.y - a.y)), way)
            after = relative(math.degrees(math.atan2(item.x - b.x, item.y - b.y)), way)
            if abs(before) < 90 < abs(after):
                sides.add("right" if before > 0 else "left")
        assert side in sides


@in_every_house
def test_one_stops_next_to_the_object_or_in_the_doorway(
    case: tuple[GeneratedHouse, Route],
) -> None:
    house, route = case
    last = route.stretches[-1]
    goal = house.place(route.path[-1])
    if last.door is not None:
        assert goal.door == last.door
        return
    assert last.piece is not None
    item = house.furniture[last.piece]
    column = house.sees_furniture[:, last.piece]
    away = {
        place.id: math.dist((place.x, place.y), (item.x, item.y))
        for row, place in enumerate(house.places)
        if column[row]
    }
    assert min(away, key=lambda name: away[name]) == goal.id
    assert away[goal.id] <= 1.9


def test_instructions_are_clean_and_varied() -> None:
    instructions = [task.episode.instruction for task in HOUSES.tasks]
    assert all(re.fullmatch(r"[A-Z][A-Za-z ,.:'-]+\.", each) for each in instructions)
    assert not any(re.search(r"  |\.\.|,,|\{|None", each) for each in instructions)
    assert len(set(instructions)) == len(instructions)
    words = {
        word for each in instructions for word in re.findall(r"[a-z]+", each.lower())
    }
    assert len(words) > 150
    assert 20 < sum(len(each.split()) for each in instructions) / len(instructions) < 45
