"""SimulatedBase: a base in a scene of the rooms world.

It goes in steps of 0.25 m and turns in steps of 30 degrees, which are counted as single motions,
as RoboTHOR counts them; the last step of a motion may be shorter. Odometry is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wayword.core.angles import absolute, relative
from wayword.core.episode import Episode, Json
from wayword.core.errors import DataError
from wayword.worlds.housework.geometry import Point
from wayword.worlds.housework.scene import Scene
from wayword.worlds.search.base import Moved, Odometer
from wayword.worlds.search.camera import Camera, DepthImage
from wayword.worlds.search.ground import Ground, ground_of
from wayword.worlds.search.observation import Shown, View
from wayword.worlds.search.surfaces import Surfaces, apparent, surfaces_of

STEP = 0.25
TURN = 30.0


@dataclass(frozen=True, eq=False)
class Place:
    """A scene with what was worked out of it, shared by all episodes in it.

    ``words`` maps an object's id to how a person would call it, where that is more than its type.
    """

    scene: Scene
    words: Mapping[str, str]
    radius: float = 0.2

    @cached_property
    def ground(self) -> Ground:
        """Where a body's centre may be."""
        return ground_of(self.scene, self.radius)

    @cached_property
    def surfaces(self) -> Surfaces:
        """What stops looks."""
        return surfaces_of(self.scene)

    def seen_from(self, camera: Camera, x: float, y: float, heading: float) -> tuple[Shown, ...]:
        """What a camera at a place that faces ``heading`` truly sees, nearest first."""
        surfaces = self.surfaces
        which = self._in_view(camera, x, y, heading)
        fractions = surfaces.fractions(np.array((x, y, camera.eye)), which)
        found = []
        for i, fraction in zip(which.tolist(), fractions.tolist(), strict=True):
            if fraction > 0:
                found.append(self._shown(i, fraction, camera, (x, y, heading)))
        return tuple(sorted(found, key=lambda one: (one.distance, one.id)))

    def sees(self, camera: Camera, x: float, y: float, number: int) -> bool:
        """Whether a camera at a place sees a thing (by its number) once it faces it."""
        thing = self.surfaces.things[number]
        heading = math.degrees(math.atan2(thing.x - x, thing.y - y))
        return number in self._in_view(camera, x, y, heading) and bool(
            self.surfaces.fractions(np.array((x, y, camera.eye)), np.array([number]))[0] > 0
        )

    def _in_view(self, camera: Camera, x: float, y: float, heading: float) -> NDArray[np.intp]:
        """The things whose middle is within the camera's angles and sight."""
        middles = self.surfaces.points[:, 0]
        dx, dy, dz = middles[:, 0] - x, middles[:, 1] - y, middles[:, 2] - camera.eye
        away = np.hypot(dx, dy)
        off = np.abs((np.degrees(np.arctan2(dx, dy)) - heading + 180) % 360 - 180)
        up = np.degrees(np.arctan2(dz, np.maximum(away, 1e-6)))
        inside = (off <= camera.field_of_view / 2 + 1e-9) & (away <= camera.sight)
        return np.flatnonzero(inside & (up >= camera.floor) & (up <= camera.top))

    def _shown(
        self, i: int, fraction: float, camera: Camera, at: tuple[float, float, float]
    ) -> Shown:
        thing = self.surfaces.things[i]
        x, y, heading = at
        away = math.hypot(thing.x - x, thing.y - y)
        wide = max(abs(thing.x - x) - thing.width / 2, 0.0)
        deep = max(abs(thing.y - y) - thing.depth / 2, 0.0)
        width, height = apparent(thing, away, camera.eye)
        middle = thing.bottom + thing.height / 2 - camera.eye
        return Shown(
            thing.id,
            thing.type,
            self.words.get(thing.id, thing.type.replace("_", " ")),
            round(relative(math.degrees(math.atan2(thing.x - x, thing.y - y)), heading), 2),
            round(math.degrees(math.atan2(middle, max(away, 1e-6))), 2),
            round(math.hypot(wide, deep), 3),
            round(away, 3),
            round(width, 2),
            round(height, 2),
            round(fraction, 3),
        )


class SimulatedBase:
    """A disc-shaped body with an RGB-D camera in a scene.

    Its start is ``Episode.start``: ``{"x", "y", "heading"}``.
    """

    def __init__(self, place: Place, camera: Camera | None = None) -> None:
        self.place, self.camera = place, camera or Camera()
        self._at: Point = (0.0, 0.0)
        self._heading = 0.0
        self._done = Odometer()

    def start(self, episode: Episode) -> None:
        try:
            x, y = float(episode.start["x"]), float(episode.start["y"])
            heading = float(episode.start.get("heading", 0.0))
        except (KeyError, TypeError, ValueError) as error:
            problem = "needs numbers x and y (and heading)"
            raise DataError(f"episode {episode.id}", "field 'start'", problem) from error
        if not self.place.ground.at(x, y):
            problem = f"({x:g}, {y:g}) is in a wall, in furniture or outside"
            where = f"in scene {self.place.scene.name}, field 'start'"
            raise DataError(f"episode {episode.id}", where, problem)
        self._at, self._heading = (x, y), absolute(heading)
        self._done = Odometer()

    def capture(self) -> View:
        camera, (x, y) = self.camera, self._at
        eye = np.array((x, y, camera.eye))
        metres = self.place.surfaces.ranges(eye, camera.rays(self._heading), camera.reach)
        shape = len(camera.rows), len(camera.bearings)
        depth = DepthImage.of(metres.reshape(shape), camera.bearings, camera.rows, camera.reach)
        shown = self.place.seen_from(camera, x, y, self._heading)
        name = self.place.scene.name
        fov = camera.field_of_view
        return View(name, x, y, self._heading, camera.eye, fov, depth, shown)

    def rotate(self, degrees: float) -> Moved:
        self._done.turns += math.ceil(abs(degrees) / TURN - 1e-9)
        self._heading = absolute(round(self._heading + degrees, 6))
        return Moved()

    def go_to(self, x: float, y: float) -> Moved:
        away = math.dist(self._at, (x, y))
        if away < 1e-9:
            return Moved()
        way = math.degrees(math.atan2(x - self._at[0], y - self._at[1]))
        self.rotate(relative(way, self._heading))
        end = self.place.ground.stop_before(self._at, (x, y))
        gone = math.dist(self._at, end)
        self._at = (round(end[0], 6), round(end[1], 6))
        self._done.metres += gone
        self._done.moves += max(1, math.ceil(gone / STEP - 1e-9))
        if gone < away - 1e-6:
            self._done.bumps += 1
            return Moved("blocked", round(gone, 4), "something is in the way")
        return Moved("ok", round(gone, 4))

    def where(self) -> Mapping[str, Json]:
        return {"x": self._at[0], "y": self._at[1], "heading": self._heading}

    def report(self) -> Mapping[str, Json]:
        shown = self.place.seen_from(self.camera, *self._at, self._heading)
        return self._done.report(shown)

    def stop(self) -> None:
        """A simulated body stands still by itself."""
