"""Depth images and the motions between them: correct ones agree, whatever the walls are."""

from __future__ import annotations

import math
import random

import numpy as np

from wayword.core.geometry import Floats
from wayword.worlds.objectnav.observation import View, from_laser
from wayword.worlds.objectnav.view_check import ViewCheck

# Rooms of 9 x 6 m with two partitions, each with a gap: two corners per wall
WALLS = np.array([
    (0.0, 0.0, 9.0, 0.0), (9.0, 0.0, 9.0, 6.0), (9.0, 6.0, 0.0, 6.0), (0.0, 6.0, 0.0, 0.0),
    (3.5, 0.0, 3.5, 4.2), (3.5, 5.4, 3.5, 6.0), (6.5, 1.8, 6.5, 6.0), (6.5, 0.0, 6.5, 0.6),
])  # fmt: skip
BEARINGS = tuple(float(degrees) for degrees in range(-40, 41))
RADIUS = 0.2


def distances(x: float, y: float, headings: Floats) -> Floats:
    """Return metres to the nearest wall in each direction (degrees)."""
    east = np.sin(np.radians(headings))[:, None]
    north = np.cos(np.radians(headings))[:, None]
    left, low = WALLS[:, 0] - x, WALLS[:, 1] - y
    along, up = WALLS[:, 2] - WALLS[:, 0], WALLS[:, 3] - WALLS[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        cross = east * up - north * along
        metres = (left * up - low * along) / cross
        share = (left * north - low * east) / cross
    is_hit = (metres > 0) & (share >= 0) & (share <= 1)
    return np.asarray(np.where(is_hit, metres, np.inf).min(axis=1))


def problem_of_walk(seed: int, factor: float) -> str:
    """Return the problem of a random walk whose depth is ``factor`` times the metres."""
    rng = random.Random(seed)
    check = ViewCheck()
    x, y, heading = 1.5, 1.5, 0.0
    for _ in range(60):
        metres = factor * distances(x, y, heading + np.array(BEARINGS))
        depth = from_laser(metres, BEARINGS, eye=0.9, reach=5.0)
        if problem := check.problem(View("", x, y, heading, 0.9, 80.0, depth)):
            return problem
        heading = (heading + rng.choice([-60.0, -30.0, 30.0, 60.0])) % 360
        if rng.random() < 0.5:
            ahead = distances(x, y, heading + np.array([-8.0, 0.0, 8.0])).min() - RADIUS
            driven = max(0.0, min(ahead, rng.uniform(0.5, 2.5)))
            x += driven * math.sin(math.radians(heading))
            y += driven * math.cos(math.radians(heading))
    return ""


def test_correct_depth_agrees_on_both_sides_of_a_partition() -> None:
    problems = [problem_of_walk(seed, 1.0) for seed in range(40)]
    assert problems == [""] * len(problems)


def test_metres_measured_as_if_they_were_feet_are_named() -> None:
    problems = [problem_of_walk(seed, 0.3048) for seed in range(10)]
    named = [one for one in problems if "times the metres between poses" in one]
    assert len(named) >= 8
