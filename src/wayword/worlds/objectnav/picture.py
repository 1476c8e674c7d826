"""Pictures of simulated searches: the home around the robot, where each object shows its look.

A search names its target by a look, "bright red mug", which no other object of the home has.
``looks.toml`` says how each look is painted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from wayword.core.geometry import Point, bearing
from wayword.core.sight import Frame, Painter, PictureView
from wayword.core.visible import spaced
from wayword.core.world import World
from wayword.render.parts import HOMES, LOOKS, PARTS, checksum, joined, look_paint
from wayword.render.raster import Mesh, PinholeCamera, draw, draw_view
from wayword.worlds.household.entities import Entities
from wayword.worlds.household.picture import (
    find_fronts,
    object_mesh,
    placements,
    room_mesh,
)
from wayword.worlds.household.scene import HouseObject
from wayword.worlds.objectnav.observation import Camera
from wayword.worlds.objectnav.simulated import SimulatedBase, SimulatedScene
from wayword.worlds.objectnav.world import ObjectNavWorld

ELEVATION = -20.0
"""Tilt of the views in degrees: what is on tables and on the floor."""
# Largest width of a view in degrees: wider ones show a mug across a room as a few pixels.
VIEW_WIDTH = 60.0
VIEW_SIZE = (360, 480)
"""Rows and columns of the default size, by which the rules of sight are set."""
AROUND = ("ahead", "right ahead", "right behind", "behind", "left behind", "left ahead")
"""Names of the six views of a full turn, clockwise from the heading."""
AHEAD = {
    1: ("ahead",),
    2: ("ahead on the left", "ahead on the right"),
    3: ("left", "ahead", "right"),
}
"""Names of the views that share a camera's field of view, by their number."""
# Most homes in memory; each takes about 5 MB.
MESHES = 8


def picture_camera(field_of_view: float, reach: float) -> Camera:
    """Return the camera of searches with pictures: high enough to see what lies on counters, and
    blind to what no picture of the default size shows."""
    return Camera(
        field_of_view,
        eye=1.4,
        reach=reach,
        floor=-42.0,
        top=3.0,
        least_area=2.5,
    )


class SearchPainter(Painter):
    """Draws what a robot's camera sees.

    Or all around, where the robot makes a full turn before it chooses.
    """

    @property
    def name(self) -> str:
        """``schematic:``, a checksum of the tables of shapes and paints, and the largest width
        of a view, which changes the pictures as the tables do."""
        return f"schematic:{checksum(PARTS, HOMES, LOOKS)}:{VIEW_WIDTH:g}"

    def views(self, world: World, actor: str) -> Sequence[PictureView]:
        """Return pictures side by side that together cover the camera's field of view."""
        width = _base(world).camera.field_of_view
        count = math.ceil(width / VIEW_WIDTH)
        # Views overlap: narrower ones would show less of what is low, near the robot.
        each = min(width, VIEW_WIDTH)
        heading = _base(world).pose()["heading"]
        # The direction of the first one, from the left.
        turn = (each - width) / 2
        views = []
        for label in AHEAD[count]:
            toward = (heading + turn) % 360.0
            views.append(PictureView(label, toward, ELEVATION, each))
            turn += (width - each) / max(1, count - 1)
        return views

    def around(self, world: World, actor: str) -> Sequence[PictureView]:
        """Return pictures of a full turn, beginning with the one straight ahead."""
        heading = _base(world).pose()["heading"]
        return [
            PictureView(
                label,
                (heading + number * VIEW_WIDTH) % 360.0,
                ELEVATION,
                VIEW_WIDTH,
            )
            for number, label in enumerate(AROUND)
        ]

    def frame(
        self, world: World, actor: str, view: PictureView, size: tuple[int, int]
    ) -> Frame:
        """Draw a view from the base's camera; ``size`` is rows and columns in pixels."""
        base = _base(world)
        pose = base.pose()
        eye = (pose["x"], pose["y"], base.camera.eye)
        return draw_view(scene_mesh(base.place), eye, view, size)


def seen_pixels(
    place: SimulatedScene, camera: Camera, at: Point, target: HouseObject
) -> int:
    """Return the pixels of an object in a picture from a point that faces it."""
    heading = bearing(at, (target.x, target.y))
    pinhole = PinholeCamera((*at, camera.eye), heading, ELEVATION, VIEW_WIDTH)
    number = place.scene.objects.index(target) + 1
    return int((draw(scene_mesh(place), pinhole, VIEW_SIZE).ids == number).sum())


@lru_cache(maxsize=MESHES)
def scene_mesh(place: SimulatedScene) -> Mesh:
    """Return the mesh of a home.

    Objects have the number of their place in ``Scene.objects``, from 1; doors are left
    out.
    """
    scene = place.scene
    entities = Entities(scene, 0)
    meshes = [room_mesh(scene.rooms, scene.walls, scene.doors)]
    for each in placements(entities, scene, find_fronts(scene)):
        number = each.number - 1
        # Doors are open, and no rule of sight knows of their leaves.
        if number >= entities.object_count:
            continue
        spec = scene.objects[number]
        words = place.words.get(spec.id, "")
        adjective = words.removesuffix(spaced(spec.type)).strip()
        meshes.append(object_mesh(replace(each, paint=look_paint(adjective))))
    return joined(meshes)


def _base(world: World) -> SimulatedBase:
    """Return the simulated base of a search, the only kind this painter is used with."""
    assert isinstance(world, ObjectNavWorld)
    assert isinstance(world.base, SimulatedBase)
    return world.base
