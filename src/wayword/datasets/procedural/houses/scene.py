"""Generated houses as meshes: walls, doorways, floors, and furniture along the walls.

Furniture of a house is a point with clearances, so that no piece blocks a path. Pieces therefore
get the extents of their kind, limited by the free space around the point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from wayword.core.geometry import Point
from wayword.core.sight import Frame, Painter, PictureView, surround
from wayword.core.world import World
from wayword.datasets.procedural.floorplans import PlanDoor, PlanRoom
from wayword.datasets.procedural.houses.house import GeneratedHouse, PlacedFurniture
from wayword.render.parts import MeshBuilder, checksum, paint_of
from wayword.render.raster import Mesh, draw_view
from wayword.worlds.indoor.graph import ViewpointGraph

DOOR_HEIGHT = 2.1
"""Height of doorways in metres."""
BORDER = 0.12
"""Width of the border around a doorway in metres."""
FLUSH = 0.005
"""Distance of that border from the wall in metres, so that it never lies in the wall's plane."""
GAP = 0.01
"""Distance of a piece's back from the wall in metres, so that it never lies in the wall's plane."""
SPACING = 0.95
"""Share of the distance to the next piece along the wall that a piece may fill."""
SAME_WALL = 1.0
"""Pieces up to this far off a wall, in metres, stand along it or in the way of what does."""
STANDING_ROOM = 0.3
"""Clear floor in front of a viewpoint in metres: the depth of a person."""
EYE_ELEVATION = -15.0
"""Elevation of the views in degrees: furniture stands on the floor."""
MESHES = 4
"""Most meshes in memory: each takes about 3 MB."""
NARROWEST = 0.3
"""Smallest extent of a piece in metres; its kind must stay recognizable."""


@dataclass(frozen=True, eq=False)
class HouseMesh:
    """A house's ``mesh``, and the object number of each piece of furniture and of each doorway."""

    mesh: Mesh
    furniture: tuple[int, ...]
    doors: tuple[int, ...]


def house_mesh(house: GeneratedHouse) -> HouseMesh:
    """Build the mesh of a house."""
    builder = MeshBuilder()
    _add_rooms(builder, house)
    doors = []
    for door in house.plan.doors:
        number = builder.add_name("doorway")
        _add_frame(builder, door, number)
        doors.append(number)
    numbers = []
    for piece in house.furniture:
        room = house.plan.rooms[piece.room]
        back, front = _against_wall(room, piece)
        limits = _free_space(house, piece, back, front)
        numbers.append(
            builder.add_object(
                piece.name,
                piece.kind,
                back,
                front,
                limits,
            )
        )
    return HouseMesh(builder.mesh(), tuple(numbers), tuple(doors))


def _add_rooms(builder: MeshBuilder, house: GeneratedHouse) -> None:
    """Add floors, ceilings and walls, with openings at the doorways."""
    for room in house.plan.rooms:
        builder.add_room(room.corners, room.name)
    for line, low, high in house.walls.vertical.tolist():
        builder.add_wall((line, low), (line, high), 0.0)
    for line, low, high in house.walls.horizontal.tolist():
        builder.add_wall((low, line), (high, line), 0.0)
    for door in house.plan.doors:
        builder.add_wall(*door.ends, DOOR_HEIGHT)


def _add_frame(builder: MeshBuilder, door: PlanDoor, number: int) -> None:
    """Add a border around a doorway on both sides of its wall, as object ``number`` of the mesh.

    It is flush with the wall: a viewpoint in the doorway sees along the wall, and must see what
    stands there, as the words say.
    """
    paint = paint_of("frame", "building")
    half = door.width / 2
    top = DOOR_HEIGHT + BORDER
    # Along the wall from the middle of the doorway, and up: left post, lintel, right post.
    borders = [
        (-half - BORDER, -half, 0.0),
        (-half, half, DOOR_HEIGHT),
        (half, half + BORDER, 0.0),
    ]
    for side in (-FLUSH, FLUSH):
        for first, last, bottom in borders:
            corners = []
            for along, z in (
                (first, bottom),
                (last, bottom),
                (last, top),
                (first, top),
            ):
                if door.vertical:
                    corners.append((door.x + side, door.y + along, z))
                else:
                    corners.append((door.x + along, door.y + side, z))
            builder.add_face(corners, paint, number)
            builder.add_face(corners[::-1], paint, number)


def _against_wall(room: PlanRoom, piece: PlacedFurniture) -> tuple[Point, Point]:
    """Return the middle of a piece's back, on the nearest wall, and the direction it faces."""
    walls = {
        (1.0, 0.0): piece.x - room.x0,
        (-1.0, 0.0): room.x1 - piece.x,
        (0.0, 1.0): piece.y - room.y0,
        (0.0, -1.0): room.y1 - piece.y,
    }
    front = min(walls, key=lambda side: walls[side])
    distance = walls[front] - GAP
    return (piece.x - front[0] * distance, piece.y - front[1] * distance), front


def _free_space(
    house: GeneratedHouse,
    piece: PlacedFurniture,
    back: Point,
    front: Point,
) -> Point:
    """Return the largest extents along and off the wall (metres) that a piece may fill.

    They leave other pieces, corners and viewpoints free. ``back`` is the middle of its
    back on the wall, ``front`` the unit vector it faces.
    """
    room = house.plan.rooms[piece.room]

    def along(x: float, y: float) -> float:
        """Return the distance (metres) of a point from the axis of the piece."""
        return abs((x - back[0]) * front[1] - (y - back[1]) * front[0])

    def off(x: float, y: float) -> float:
        """Return the distance (metres) of a point along that axis."""
        return (x - back[0]) * front[0] + (y - back[1]) * front[1]

    # Along the wall: half the gap to each neighbor on both sides, and the corners of the room.
    width = math.inf
    for other in house.furniture:
        is_neighbor = other is not piece and other.room == piece.room
        if is_neighbor and off(other.x, other.y) < SAME_WALL:
            width = min(width, SPACING * along(other.x, other.y))
    for x, y in ((room.x0, room.y0), (room.x1, room.y1)):
        width = min(width, 2 * (along(x, y) - GAP))
    width = max(NARROWEST, width)

    # Off the wall: up to the nearest viewpoint in front of the piece.
    depth = math.inf
    for place in house.places:
        beside = along(place.x, place.y) - width / 2
        ahead = off(place.x, place.y)
        if piece.room in place.rooms and ahead > 0.0 and beside < STANDING_ROOM:
            depth = min(depth, ahead - STANDING_ROOM)
    return width, max(NARROWEST, depth)


class HousePainter(Painter):
    """Draws generated houses. ``house`` returns the house of a scene."""

    def __init__(self, house: Callable[[str], GeneratedHouse]) -> None:
        self._house = house
        self._meshes = lru_cache(maxsize=MESHES)(self._build)

    @property
    def name(self) -> str:
        """Name in records: the checksum of the table of looks."""
        return f"schematic:{checksum()}"

    def _build(self, scene: str) -> HouseMesh:
        """Return the mesh of a house, with the numbers of its furniture."""
        return house_mesh(self._house(scene))

    def kinds(self, world: World) -> Mapping[int, str]:
        """Map the numbers of pieces of furniture to their kinds."""
        scan = vars(world)["graph"].scan
        numbers = self._meshes(scan).furniture
        pieces = self._house(scan).furniture
        return {
            number: piece.kind for number, piece in zip(numbers, pieces, strict=True)
        }

    def views(self, world: World, actor: str) -> Sequence[PictureView]:
        """Return the views all around the actor, the first one ahead."""
        heading = float(world.pose(actor)["heading"])
        return surround(heading, EYE_ELEVATION)

    def frame(
        self,
        world: World,
        actor: str,
        view: PictureView,
        size: tuple[int, int],
    ) -> Frame:
        """Return the picture of a view (rows, columns, 3) from the actor's viewpoint."""
        graph: ViewpointGraph = vars(world)["graph"]
        viewpoint = str(world.pose(actor)["viewpoint"])
        x, y, z = graph.positions[graph.index[viewpoint]].tolist()
        return draw_view(self._meshes(graph.scan).mesh, (x, y, z), view, size)
