"""Pictures of apartments: what a search names is seen, and each target's look can be drawn."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

from helpers.golden import check_golden
from helpers.sampling import LONG
from wayword.core.sight import Eyes, EyesSettings
from wayword.datasets.apartments import LEAST_PIXELS, LOOKS, PAINTABLE, Apartments
from wayword.render.parts import look_paint, paint_of
from wayword.worlds.objectnav.base import goto, rotate
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.world import ObjectNavReference, ObjectNavWorld

GOLDEN = Path(__file__).parents[1] / "golden" / "pictures_apartments.json"
HOMES = 10 if LONG else 1
POSES = 6 if LONG else 2  # of each home
ENOUGH = 40  # pixels of 480 x 360 that show an object


@cache
def apartments(count: int) -> Apartments:
    settings = Apartments.Settings(homes=count, episodes=count)
    return Apartments(PAINTABLE, settings=settings)


def looking(number: int) -> tuple[ObjectNavWorld, Eyes]:
    """The world of an episode at its start, and the robot's eyes."""
    homes = apartments(HOMES)
    episode = homes.tasks[number].episode
    world = homes.world(episode)
    world.reset(episode)
    painter = homes.painter()
    assert painter is not None
    return world, Eyes(EyesSettings("both"), painter, world, "agent", True)


def place_of(world: ObjectNavWorld) -> SimulatedScene:
    assert isinstance(world.base, SimulatedBase)
    return world.base.place


def walk(world: ObjectNavWorld, rng: random.Random) -> None:
    """Go towards some point of the home, through a doorway or up to an obstacle."""
    room = rng.choice(place_of(world).scene.rooms)
    corners = random.Random(room.name).sample(room.polygon, 2)
    x = (corners[0][0] + corners[1][0]) / 2
    y = (corners[0][1] + corners[1][1]) / 2
    world.step("agent", goto(round(x, 2), round(y, 2)))
    world.step("agent", rotate(30.0 * rng.randrange(1, 12)))


def pixels(eyes: Eyes) -> Counter[int]:
    """Number of an object -> its pixels in the picture that shows it best."""
    best: Counter[int] = Counter()
    for _, frame in eyes.frames():
        shown, counts = np.unique(frame.ids, return_counts=True)
        for number, count in zip(shown.tolist(), counts.tolist(), strict=True):
            best[number] = max(best[number], count)
    return best


@cache
def compared() -> tuple[Counter[str], Counter[str]]:
    """Counts by kind: all that words name in a full turn, and what is in no picture."""
    named: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    rng = random.Random(0)
    for home in range(HOMES):
        world, eyes = looking(home)
        place = place_of(world)
        for _ in range(POSES):
            walk(world, rng)
            shown = pixels(eyes)
            in_words = set()
            for _ in range(12):
                view = world.observe("agent")
                in_words |= {each.id for each in view.shown or ()}
                world.step("agent", rotate(30.0))
            for number, each in enumerate(place.scene.objects, 1):
                if each.id in in_words:
                    named[each.type] += 1
                    missing[each.type] += shown[number] < ENOUGH
                else:
                    named["not in sight"] += 1
                    missing["not in sight"] += shown[number] >= LEAST_PIXELS
    return named, missing


def test_pictures_show_92_percent_of_what_words_name() -> None:
    named, missing = compared()
    kinds = [kind for kind in named if kind != "not in sight"]
    total = sum(named[kind] for kind in kinds)
    assert total > 30
    lost = {kind: missing[kind] for kind in kinds if missing[kind]}
    assert sum(lost.values()) <= 0.08 * total, lost


def test_pictures_show_little_that_words_do_not_name() -> None:
    named, missing = compared()
    assert named["not in sight"] > 100
    assert missing["not in sight"] <= 0.05 * named["not in sight"]


def test_the_end_of_the_shortest_path_shows_the_target() -> None:
    world, eyes = looking(0)
    reference = apartments(HOMES).tasks[0].reference
    assert isinstance(reference, ObjectNavReference)
    actions, problem = world.find(reference.targets, reference.within)
    assert not problem
    for action in actions:
        world.step("agent", action)
    objects = place_of(world).scene.objects
    (target,) = reference.targets
    (number,) = [i for i, each in enumerate(objects, 1) if each.id == target]
    assert pixels(eyes)[number] >= LEAST_PIXELS


def test_every_target_has_a_look_that_can_be_drawn() -> None:
    for task in apartments(HOMES).tasks:
        target = str(task.episode.extra["target"])
        adjective = target.removesuffix(str(task.episode.extra["kind"])).strip()
        assert look_paint(adjective), target


def test_looks_differ_in_color() -> None:
    colors = {}
    for adjective in LOOKS["paintable"]:
        shades, _ = paint_of(look_paint(adjective))
        # The second color of a pattern is its own; the first may be white.
        colors[adjective] = np.array(shades[min(1, len(shades) - 1)])
    for one, other in combinations(colors, 2):
        assert np.abs(colors[one] - colors[other]).sum() > 60, (one, other)


def test_other_splits_draw_no_pictures() -> None:
    assert Apartments().painter() is None
    assert Apartments("train").painter() is None


def test_six_poses_have_the_golden_pixels() -> None:
    rng = random.Random(1)
    found = []
    world, eyes = looking(0)
    for _ in range(6):
        found.append(eyes.hashes()[0])
        walk(world, rng)
    values = {"painter": eyes.painter.name, "pixels": found}
    check_golden(GOLDEN, json.dumps(values, indent=1) + "\n")
