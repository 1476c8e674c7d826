"""A plan of one's own rooms with a mistake is refused, with the line of the part."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.docs_pages import ROOT, blocks
from wayword.core import registry
from wayword.core.errors import DataError, UsageError
from wayword.runs.plan import Plan
from wayword.runs.running import run
from wayword.testing import check_dataset
from wayword.worlds.household.builder import SceneBuilder

KITCHEN = [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0)]
HALL = [(4.0, 0.0), (7.0, 0.0), (7.0, 3.0), (4.0, 3.0)]
FILE = re.escape(Path(__file__).name)


def two_rooms() -> SceneBuilder:
    house = SceneBuilder("flat")
    house.room("kitchen", KITCHEN)
    house.room("hall", HALL)
    house.door("door", (4, 1), (4, 2))
    return house


MISTAKES: dict[str, Callable[[SceneBuilder], object]] = {
    "door 'out': from (2, 1) to (2, 2) is on no wall": lambda house: house.door(
        "out", (2, 1), (2, 2)
    ),
    "the opening from (2, 1) to (2, 2): from (2, 1) to (2, 2) is on no wall": (
        lambda house: house.opening((2, 1), (2, 2))
    ),
    "object 'table|1': at (9, 1) is outside every room": lambda house: house.furniture(
        "table", 9, 1, 1, 1, 1
    ),
    "room 'bath': overlaps room 'hall'": lambda house: house.room(
        "bath", [(6.8, 1), (9, 1), (9, 2), (6.8, 2)]
    ),
}


@pytest.mark.parametrize("problem", MISTAKES)
def test_a_mistake_in_a_plan_is_named_with_its_line(problem: str) -> None:
    house = two_rooms()
    MISTAKES[problem](house)
    with pytest.raises(DataError, match=rf"{FILE}:\d+: {re.escape(problem)}; "):
        house.build()
    assert house.build(is_published=True)


PARTS: dict[str, Callable[[SceneBuilder], object]] = {
    "object 'table|1': has the receptacle 'onto'; must be one of '', 'on', 'in'": (
        lambda house: house.furniture("table", 2, 2, 1, 1, 1, receptacle="onto")
    ),
    "object 'mug|1': has the parent 'desk', which is no object's id; did you mean 'desk|1'?": (
        lambda house: (
            house.furniture("desk", 2, 2, 1, 1, 1, receptacle="on"),
            house.item("mug", parent="desk"),
        )
    ),
    "object 'mug|1': has the temperature 'warm'; must be one of 'room', 'hot', 'cold'": (
        lambda house: house.item("mug", x=1, y=1, temperature="warm")
    ),
    "room 'den': must have at least three corners, got 2; give": (
        lambda house: house.room("den", [(7, 0), (9, 2)])
    ),
    "room 'den': is 500 m long: corners are in metres; divide by 100": (
        lambda house: house.room("den", [(0, 0), (500, 0), (500, 300), (0, 300)])
    ),
}


@pytest.mark.parametrize("problem", PARTS)
def test_the_part_with_the_mistake_is_named_and_not_what_follows_from_it(
    problem: str,
) -> None:
    house = two_rooms()
    PARTS[problem](house)
    # Inside of the room with a mistake
    house.item("cup", x=8, y=1)
    with pytest.raises(DataError, match=rf"{FILE}:\d+: {re.escape(problem)}"):
        house.build()


def test_a_hall_of_a_hundred_metres_and_a_room_of_three_corners_are_built() -> None:
    house = SceneBuilder("works")
    house.room("hall", [(0, 0), (100, 0), (100, 30), (0, 30)])
    house.room("den", [(100, 0), (110, 0), (100, 10)])
    table = house.furniture("table", 2, 2, 1, 1, 1, receptacle="on")
    house.item("mug", parent=table)
    assert len(house.build().rooms) == 2


@pytest.mark.parametrize(
    ("add", "problem"),
    [
        (
            lambda house: house.room("den", [("0", "9")]),
            "room 'den': a point must be two",
        ),
        (lambda house: house.room("den", "abc"), "room 'den': a point must be two"),
        (
            lambda house: house.room("den", [(1, 2, 3)]),
            "room 'den': a point must be two",
        ),
        (
            lambda house: house.door("in", ("4", 1), (4, 2)),
            "door 'in': a point must be",
        ),
        (lambda house: house.opening(4, (4, 2)), "a point must be two numbers"),
        (
            lambda house: house.furniture("table", "1", 1, 1, 1, 1),
            "object 'table|1': x must be a number of metres, got '1'",
        ),
    ],
)
def test_texts_in_place_of_numbers_are_named_with_their_line(
    add: Callable[[SceneBuilder], object], problem: str
) -> None:
    with pytest.raises(DataError, match=rf"{FILE}:\d+: .*{re.escape(problem)}"):
        add(two_rooms())


def test_rooms_that_share_an_edge_and_a_door_in_a_gap_are_accepted() -> None:
    house = two_rooms()
    house.opening((4, 1), (4, 2))
    assert len(house.build().doors) == 1


TARGET = 'extra={"target": MUG}'
SHORTEST = "shortest=3.73"
DOOR = '        house.door("door", (4, 1), (4, 2))\n'
SEARCHES = {
    (TARGET, "extra={}"): "extra has no 'target'",
    (TARGET, 'extra={"target": "cup"}'): "no target is called 'cup', as extra says",
    (SHORTEST, "shortest=-1"): "shortest must be metres of a path, or None, got -1",
    (
        SHORTEST,
        "shortest=9.0",
    ): "shortest is 9 m, but the shortest path of its world is 3.73 m",
    (
        SHORTEST,
        "shortest=2.0",
    ): "shortest is 2 m, but the shortest path of its world is 3.73 m",
    (SHORTEST, "path=((1, 1.5), (4, 1.5)), shortest=9.0"): (
        "shortest is 9 m, but the path of its reference is 3.00 m"
    ),
    ("frozenset(self.words)", 'frozenset({"mug|2"})'): "the target 'mug|2' is not in",
    ("(4, 1), (4, 2))", "(3, 1), (3, 2))"): "door 'door': from (3, 1)",
    (DOOR, ""): "the target cannot be reached from the start: no free floor",
    (
        SHORTEST,
        f"{SHORTEST}, within=0.1",
    ): "the target cannot be seen from any free floor",
    ('receptacle="on"', 'receptacle="onto"'): "has the receptacle 'onto'; must be",
}
"""A change of the documentation's flat -> the problem."""


@pytest.mark.parametrize("change", SEARCHES)
def test_a_search_that_nobody_could_solve_is_refused_when_it_is_opened(
    change: tuple[str, str], tmp_path: Path
) -> None:
    page = blocks(ROOT / "docs" / "finding.md")
    [text] = [block.text for block in page if block.title == "flat.py"]
    assert change[0] in text
    file = tmp_path / "flat.py"
    file.write_text(text.replace(*change))
    expected = rf"{re.escape(str(file))}:\d+: .*{re.escape(SEARCHES[change])}"
    # A file that cannot be opened has no dataset to check.
    if not SEARCHES[change].startswith(("door", "has the receptacle")):
        dataset = registry.load("dataset", str(file))("all", None, None)
        with pytest.raises(AssertionError, match=expected):
            check_dataset(dataset)
    with pytest.raises((UsageError, DataError), match=expected):
        run(Plan("oracle", str(file), out=tmp_path / "run"))


def test_a_search_without_a_length_needs_a_place_that_sees_its_target(
    tmp_path: Path,
) -> None:
    page = blocks(ROOT / "docs" / "finding.md")
    [text] = [block.text for block in page if block.title == "flat.py"]
    file = tmp_path / "flat.py"
    file.write_text(text.replace(SHORTEST, "shortest=None, within=0.1"))
    check_dataset(registry.load("dataset", str(file))())
    file.write_text(text.replace(SHORTEST, "shortest=None").replace(DOOR, ""))
    with pytest.raises(AssertionError, match="the target cannot be reached"):
        check_dataset(registry.load("dataset", str(file))())


def test_a_shortest_length_near_that_of_the_world_is_accepted(tmp_path: Path) -> None:
    page = blocks(ROOT / "docs" / "finding.md")
    [text] = [block.text for block in page if block.title == "flat.py"]
    file = tmp_path / "flat.py"
    for length in ("3.5", "4.3", "None"):
        file.write_text(text.replace(SHORTEST, f"shortest={length}"))
        check_dataset(registry.load("dataset", str(file))("all", None, None))
