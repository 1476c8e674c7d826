"""Pictures of generated towns: every landmark in words is seen, and signs can be read."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from helpers.golden import check_golden
from helpers.sampling import LONG
from wayword.core.sight import pixel_hash
from wayword.datasets.procedural.tables import Table
from wayword.datasets.procedural.towns.scene import (
    ELEVATION,
    EYE,
    VIEW_WIDTH,
    TownScene,
    kind_of_landmark,
)
from wayword.datasets.procedural.towns.town import build_town, in_sight
from wayword.render.parts import letter_runs, town_look
from wayword.render.raster import PinholeCamera, draw
from wayword.verbalize.street import MAX_BEARING

GOLDEN = Path(__file__).parents[1] / "golden" / "pictures_towns.json"
TOWNS = 6 if LONG else 1
EVERY = 5 if LONG else 53
ENOUGH = 40  # pixels of 480 x 360 that show a landmark


@cache
def scene(number: int) -> TownScene:
    return TownScene(build_town(f"test-s0-n6-{number:04d}"))


def seen_from(town: TownScene, panorama: int, heading: float) -> Counter[int]:
    """Number of a landmark -> its pixels in the view that shows it best."""
    x, y = town.town.point(panorama)
    mesh = town.around(x, y)
    best: Counter[int] = Counter()
    for turn in (-VIEW_WIDTH, 0.0, VIEW_WIDTH):
        camera = PinholeCamera((x, y, EYE), heading + turn, ELEVATION, VIEW_WIDTH)
        shown, counts = np.unique(draw(mesh, camera).ids, return_counts=True)
        for number, count in zip(shown.tolist(), counts.tolist(), strict=True):
            best[number] = max(best[number], count)
    return best


@cache
def compared() -> tuple[int, Counter[str]]:
    """The number of landmarks that words name, and those in no picture by kind."""
    named = 0
    missing: Counter[str] = Counter()
    for number in range(TOWNS):
        town = scene(number)
        sights = in_sight(town.town)
        landmarks = town.town.landmarks
        for panorama in range(0, len(town.town.xy), EVERY):
            heading = float(37 * panorama % 360)
            best = seen_from(town, panorama, heading)
            here = town.town.point(panorama)
            for sight in sights[town.town.graph.ids[panorama]]:
                turn = (sight.heading - heading + 180.0) % 360.0 - 180.0
                if abs(turn) > MAX_BEARING:
                    continue
                pixels = 0
                for index, landmark in enumerate(landmarks):
                    distance = math.dist(here, (landmark.x, landmark.y))
                    is_it = landmark.name == sight.name
                    if is_it and abs(distance - (sight.distance or 0.0)) < 1e-6:
                        pixels = best[town.numbers[index]]
                        if pixels < ENOUGH:
                            missing[kind_of_landmark(landmark)] += 1
                named += 1
    return named, missing


def test_pictures_show_98_percent_of_the_landmarks_that_words_name() -> None:
    named, missing = compared()
    assert named > 5
    assert missing.total() <= 0.02 * named, missing


def test_a_shop_between_two_streets_hides_no_landmark_of_either() -> None:
    town = scene(0)
    best = seen_from(town, 77, 329.0)
    names = {
        landmark.name
        for landmark, number in zip(town.town.landmarks, town.numbers, strict=True)
        if best[number] >= ENOUGH
    }
    assert {"Sunrise Deli", "a basketball court", "a traffic light"} <= names


def test_no_other_building_has_a_landmarks_number() -> None:
    town = scene(0)
    numbers = set(town.numbers)
    shown = set(np.unique(town.around(*town.town.point(0)).ids).tolist())
    assert shown - {0} <= numbers


def test_every_landmark_of_the_table_has_a_look_of_its_own() -> None:
    names = Table[tuple[str, ...]]("sentences", "town_names")
    shop = town_look("shop").parts
    for name in [*names["plain"], "a traffic light"]:
        assert town_look(name.removeprefix("a ")).parts != shop, name


def test_every_letter_of_a_name_can_be_drawn() -> None:
    names = Table[tuple[str, ...]]("sentences", "town_names")
    written = "".join([*names["owners"], *names["trades"]]).upper()
    assert not [letter for letter in set(written) - {" "} if not letter_runs(letter)]


def test_a_letter_covers_its_dots_once() -> None:
    covered: Counter[tuple[int, int]] = Counter()
    for left, right, top, bottom in letter_runs("R"):
        for row in range(top, bottom):
            for column in range(left, right):
                covered[row, column] += 1
    rows = ["####.", "#...#", "#...#", "####.", "#.#..", "#..#.", "#...#"]
    dots = {
        (row, column): 1
        for row, text in enumerate(rows)
        for column, dot in enumerate(text)
        if dot == "#"
    }
    assert covered == dots


def hashes(count: int = 6) -> list[str]:
    """The hashes of the view ahead at some panoramas."""
    town = scene(0)
    found = []
    for number in range(count):
        x, y = town.town.point(40 * number)
        camera = PinholeCamera((x, y, EYE), 61.0 * number, ELEVATION, VIEW_WIDTH)
        found.append(pixel_hash(draw(town.around(x, y), camera).color))
    return found


def test_six_poses_have_the_golden_pixels() -> None:
    check_golden(GOLDEN, json.dumps({"pixels": hashes()}, indent=1) + "\n")


@pytest.mark.skipif(not LONG, reason="timed: on idle cores, in the long form")
def test_a_picture_takes_at_most_30_ms() -> None:
    town = scene(0)
    x, y = town.town.point(60)
    mesh = town.around(x, y)
    best = math.inf
    for heading in range(0, 360, 90):
        began = time.process_time()
        draw(mesh, PinholeCamera((x, y, EYE), float(heading), ELEVATION, VIEW_WIDTH))
        best = min(best, time.process_time() - began)
    assert best < 0.03
