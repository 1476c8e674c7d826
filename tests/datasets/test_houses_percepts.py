"""Percepts are true of the plan: what they name is in sight, where they say, and nothing hidden."""

from __future__ import annotations

import math
import re

import pytest

from wayword.core.geometry import relative
from wayword.core.perceiver import Perceiver
from wayword.datasets.houses import Houses
from wayword.datasets.procedural.houses.house import GeneratedHouse

HOUSES = Houses("test", None, Houses.Settings(houses=6, episodes=6, seed=2))


@pytest.fixture(params=range(6))
def house(request: pytest.FixtureRequest) -> GeneratedHouse:
    return HOUSES.house(HOUSES.scene(request.param))


def test_it_is_a_perceiver() -> None:
    assert isinstance(HOUSES.perceiver(), Perceiver)
    assert HOUSES.perceiver().name == "symbolic"


def test_eight_sectors_clockwise_from_north_each_with_a_sentence(
    house: GeneratedHouse,
) -> None:
    for viewpoint in house.graph.ids:
        percept = HOUSES.perceiver().perceive(house.scene, viewpoint)
        assert [sector.heading for sector in percept.sectors] == [
            45.0 * i for i in range(8)
        ]
        for messages in [
            *(sector.caption for sector in percept.sectors),
            percept.summary,
        ]:
            assert re.fullmatch(r"[A-Z][A-Za-z ,.']*\.", messages), messages
            assert "  " not in messages
            assert "{" not in messages


def test_every_object_named_is_in_sight_in_that_direction(
    house: GeneratedHouse,
) -> None:
    for row, place in enumerate(house.places):
        for sector in HOUSES.perceiver().perceive(house.scene, place.id).sectors:
            for number, item in enumerate(house.furniture):
                if not re.search(rf"\b{item.name}\b", sector.caption, re.IGNORECASE):
                    continue
                heading = math.degrees(math.atan2(item.x - place.x, item.y - place.y))
                assert abs(relative(heading, sector.heading)) <= 22.5
                assert house.sees_furniture[row, number]


def test_every_doorway_named_leads_there_from_this_room(house: GeneratedHouse) -> None:
    for place in house.places:
        for sector in HOUSES.perceiver().perceive(house.scene, place.id).sectors:
            match = re.search(r"doorways? to ((?:the [a-z ]+?(?:, | and |(?=[.,]| stand)))+)",
                             sector.caption, re.IGNORECASE)  # fmt: skip
            for name in re.findall(
                r"the ([a-z ]+?)(?:, | and |$)", match[1] if match else ""
            ):
                headings = [
                    math.degrees(math.atan2(door.x - place.x, door.y - place.y))
                    for door in house.plan.doors
                    if set(place.rooms) & set(door.rooms)
                    and name in {house.room_name(room) for room in door.rooms}
                ]
                assert any(
                    abs(relative(h, sector.heading)) <= 22.5 for h in headings
                ), name


def test_sightings_are_all_there_is_within_three_metres(house: GeneratedHouse) -> None:
    for row, place in enumerate(house.places):
        percept = HOUSES.perceiver().perceive(house.scene, place.id)
        reply = {
            each.name: each
            for sector in percept.sectors
            for each in sector.sightings
            if not each.name.startswith("doorway to")
        }
        expected = {
            item.name: math.dist((item.x, item.y), (place.x, place.y))
            for number, item in enumerate(house.furniture)
            if house.sees_furniture[row, number]
        }
        assert reply.keys() == {name for name, away in expected.items() if away <= 3.0}
        for name, each in reply.items():
            assert each.distance == pytest.approx(expected[name], abs=0.006)
            assert 0.0 <= each.heading < 360.0


def test_texts_are_compact(house: GeneratedHouse) -> None:
    """Some 120 words of captions at most; with ranges and sightings 250 to 400 tokens."""
    words = [
        sum(len(sector.caption.split()) for sector in percept.sectors)
        for percept in (
            HOUSES.perceiver().perceive(house.scene, v) for v in house.graph.ids
        )
    ]
    assert 50 < sum(words) / len(words) < 110
    assert max(words) < 180
