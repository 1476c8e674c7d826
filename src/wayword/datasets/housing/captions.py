"""Views as sentences: the percept of a viewpoint, worded several ways, seeded by its name."""

from __future__ import annotations

import random

from wayword.core.angles import sector
from wayword.core.perceiver import Percept, Sector, Sighting
from wayword.datasets.housing.house import House
from wayword.datasets.housing.places import Place
from wayword.datasets.housing.views import (
    SECTORS,
    Direction,
    doors_in_sight,
    leads_to,
    look_around,
    things_in_sight,
)

WITHIN = 3.0
"""Sightings reach this far, in metres, as in NavGPT's recorded observations."""

THINGS = (
    "{Things} {be} here.",
    "There {be} {things}.",
    "You see {things}.",
    "{Things} by the wall.",
    "{Things} in the {room}.",
)
DOORS = ("{Doors}.", "There {be} {doors}.", "You see {doors}.", "{Doors} {stand} open.")
BOTH = (
    "{Things}, and {doors}.",
    "{Things} beside {doors}.",
    "There {be} {things}, and {doors}.",
    "{Doors}, with {things} nearby.",
)
BEYOND = (
    " Beyond, in the {room}, {be} {things}.",
    " Further off you can make out {things} in the {room}.",
    " {Things} can be seen in the {room}.",
)
WALL = ("A bare wall of the {room}.", "Only the wall of the {room}.", "A blank {room} wall.")
SPACE = ("The {room} stretches on.", "Open floor of the {room}.", "The {room} goes on this way.")
FRAME = ("The frame of the doorway.", "The doorway's edge and a wall.")
INTO = ("The {room} opens up.", "You look into the {room}.", "The {room} lies this way.")
FAR = 3.0
"""Where nothing stands, a wall further off than this (metres) is called open floor."""

INSIDE = (
    "You are in the {room}{near}{doors}.",
    "This is the {room}{near}{doors}.",
    "You stand in the {room}{near}{doors}.",
)
BETWEEN = (
    "You are in the doorway between the {one} and the {other}.",
    "You stand in the doorway that joins the {one} and the {other}.",
    "This is the doorway from the {one} to the {other}.",
)


def percept(house: House, viewpoint: str, sectors: int = SECTORS) -> Percept:
    """What there is around a viewpoint: its sectors, sightings within 3 m, and a summary."""
    rng = random.Random(f"caption/{house.scene}/{viewpoint}")
    place = house.place(viewpoint)
    near = _sightings(house, place)
    parts = tuple(
        Sector(
            direction.heading,
            360.0 / sectors,
            _caption(rng, house, place, direction),
            tuple(each for each in near if sector(each.heading, sectors) == number),
        )
        for number, direction in enumerate(look_around(house, viewpoint, sectors))
    )
    return Percept(parts, _summary(rng, house, place))


def _sightings(house: House, place: Place) -> list[Sighting]:
    found = [
        (house.things[seen.number].name, seen) for seen in things_in_sight(house, place.id)
    ] + [
        (f"doorway to the {house.room_name(leads_to(house, place, seen.number))}", seen)
        for seen in doors_in_sight(house, place.id)
    ]
    near = [(name, seen) for name, seen in found if seen.distance <= WITHIN]
    near.sort(key=lambda pair: (pair[1].distance, pair[0]))
    return [
        Sighting(name, round(seen.heading, 2) % 360.0, round(seen.distance, 2))
        for name, seen in near
    ]


def _caption(rng: random.Random, house: House, place: Place, direction: Direction) -> str:
    things = [house.things[seen.number].name for seen in direction.things]
    doors = [house.room_name(leads_to(house, place, seen.number)) for seen in direction.doors]
    options: tuple[str, ...]
    if things or doors:
        options = BOTH if things and doors else THINGS if things else DOORS
    elif direction.room is None:
        options = FRAME
    elif place.door is not None:
        options = INTO
    else:
        options = SPACE if direction.depth > FAR else WALL
    if direction.room is None:
        options = tuple(each for each in options if "{room}" not in each)
    room = "" if direction.room is None else house.room_name(direction.room)
    said = _fill(rng.choice(options), things, doors, room)
    for seen in direction.beyond:
        thing = house.things[seen.number]
        said += _fill(rng.choice(BEYOND), [thing.name], [], house.room_name(thing.room))
    return said


def _fill(pattern: str, things: list[str], doors: list[str], room: str) -> str:
    told = listed([with_article(name) for name in things])
    ways = doorways(doors)
    several = len(things) > 1 or (not things and len(doors) > 1)
    return pattern.format(
        things=told,
        Things=capital(told),
        doors=ways,
        Doors=capital(ways),
        room=room,
        be="are" if several else "is",
        stand="stand" if several else "stands",
    )


def _summary(rng: random.Random, house: House, place: Place) -> str:
    if place.door is not None:
        one, other = (house.room_name(number) for number in place.rooms)
        return rng.choice(BETWEEN).format(one=one, other=other)
    things = [
        house.things[seen.number].name
        for seen in things_in_sight(house, place.id)
        if house.things[seen.number].room in place.rooms
    ]
    doors = [
        house.room_name(leads_to(house, place, seen.number))
        for seen in doors_in_sight(house, place.id)[:3]
    ]
    near = f", near {listed([with_article(name) for name in things[:2]])}" if things else ""
    ways = f", with {doorways(doors)}" if doors else ""
    return rng.choice(INSIDE).format(room=house.room_name(place.rooms[0]), near=near, doors=ways)


def doorways(rooms: list[str]) -> str:
    """``doorways(["kitchen", "office"])`` is ``doorways to the kitchen and the office``."""
    word = "a doorway" if len(rooms) == 1 else "doorways"
    return f"{word} to {listed([f'the {name}' for name in rooms])}"


def with_article(name: str) -> str:
    """``with_article("oak bench")`` is ``an oak bench``."""
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def listed(words: list[str]) -> str:
    """``listed(["a", "b", "c"])`` is ``a, b and c``."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def capital(words: str) -> str:
    """The words with a capital first letter."""
    return words[:1].upper() + words[1:]
