"""Pictures of houses: walls, doors, furniture, and what lies on or in it, as it is now.

Every object is drawn from its box, its front and its states. Fronts are not part of a scene:
furniture faces away from the nearest wall of its room, and everything else as what holds it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from statistics import median_high
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import (
    Box,
    Floats,
    Point,
    bounding_box,
    box_around,
    box_corners,
    cut_out,
    unit,
)
from wayword.core.marks import Mark
from wayword.core.sight import Frame, Painter, PictureView
from wayword.core.visible import spaced
from wayword.core.world import World
from wayword.render.parts import (
    HOMES,
    PARTS,
    ROOMS,
    MeshBuilder,
    checksum,
    home_look,
    joined,
)
from wayword.render.raster import Mesh, draw_view
from wayword.worlds.household.builder import FLAT_HEIGHT
from wayword.worlds.household.entities import Entities
from wayword.worlds.household.house import Actor, House
from wayword.worlds.household.scene import Door, HouseObject, Room, Scene, Wall
from wayword.worlds.household.world import HouseholdWorld

# Height of doorways in metres.
DOOR_HEIGHT = 2.05
DOOR_THICKNESS = 0.05  # metres
# Least extent of an object in metres, so that a card on a table is not in the table's plane.
THINNEST = 0.012
ELEVATION = -18.0
"""Tilt of the views in degrees: what is on tables matters more than ceilings."""
FEET = -62.0
"""Tilt of the view of what is in reach, in degrees."""
FEET_WIDTH = 90.0  # degrees
AROUND = {
    0.0: "ahead",
    60.0: "right ahead",
    120.0: "right behind",
    180.0: "behind",
    240.0: "left behind",
    300.0: "left ahead",
}
"""Degrees to the right of the heading -> label, of the views of a look around."""
ABOVE = 20.0
"""Tilt of the views of what hangs higher, in degrees."""
ABOVE_WIDTH = 110.0  # degrees; at its upper corners, a tilted view is wider
SIDES = {"ahead": 0.0, "right": 90.0, "behind": 180.0, "left": 270.0}
"""Label -> degrees to the right of the heading, of these views after a look around."""
BODY = 0.25
"""Half the side in metres of the floor that is free around a place where a body can stand."""
LEVEL = 0.1
"""Largest difference in metres between the tops of a board and of what is sunk into it."""
MOST_SUNK = 0.12
"""Depth in metres below a top within which things are drawn on it: boxes are not exact."""
LOWEST_TOP = 0.4
"""Least height of a top as a share of its piece's."""
# Grid in metres on which a free place is looked for where objects overlap.
SPREAD_STEP = 0.02
HAND = (0.2, 0.45, -0.3)
"""Where a held object is seen: metres to the right, ahead, and up from the eye."""
# Most houses in memory, each with its walls; one takes about 1 MB.
MESHES = 4
# Most objects in memory, each in one state and place; one takes about 20 kB.
OBJECT_MESHES = 4096
# Share of a doorway's width that its open door takes.
SWING = 0.92


class HouseholdPainter(Painter):
    """Draws the houses of :class:`~wayword.worlds.household.world.HouseholdWorld`.

    Meshes are cached by what they show, so that only objects that changed are built
    again. Numbers in pictures are an object's index in the arrays of the house, plus 1.
    """

    has_marks = True

    tables: ClassVar[tuple[str, ...]] = (HOMES,)

    def __init__(self) -> None:
        self._walls = lru_cache(maxsize=MESHES)(room_mesh)
        self._fronts = lru_cache(maxsize=MESHES)(find_fronts)
        self._object = lru_cache(maxsize=OBJECT_MESHES)(
            partial(object_mesh, tables=self.tables)
        )
        self._mesh = lru_cache(maxsize=MESHES)(_join)

    @property
    def name(self) -> str:
        """``schematic:`` and a checksum of the tables of shapes and paints: it changes
        with the pictures, so that cached results of perception do not outlive them.
        """
        return f"schematic:{checksum(PARTS, *self.tables)}"

    def views(self, world: World, actor: str) -> Sequence[PictureView]:
        """Return the pictures that go with an observation in words.

        Six all around after a look around; else the left, middle and right third of the
        view, and what is at the actor's feet.
        """
        me = _actor(world, actor)
        # After a look around, or before the first action of a body that begins with one.
        sees_all_around = me.looked_around or (
            me.body.looks_around and not me.has_acted
        )
        if sees_all_around:
            return [
                PictureView(
                    label,
                    (me.heading + turn) % 360.0,
                    ELEVATION,
                    60.0,
                )
                for turn, label in AROUND.items()
            ]
        # The thirds that words name. One picture of the whole view would show a mug across a room
        # as a few pixels.
        third = me.body.view_angle / 3
        views = []
        for label, turn in (
            ("left", -third),
            ("ahead", 0.0),
            ("right", third),
        ):
            heading = (me.heading + turn) % 360.0
            views.append(
                PictureView(
                    label,
                    heading,
                    ELEVATION,
                    third,
                )
            )
        return [
            *views,
            PictureView(
                "at your feet",
                me.heading,
                FEET,
                FEET_WIDTH,
            ),
        ]

    def marks(self, world: World, actor: str) -> Mapping[int, Mark]:
        """Map the numbers of named objects to their marks, in the order of naming."""
        names = _actor(world, actor).names
        marks = {}
        for number, i in enumerate(names.order, start=1):
            marks[i + 1] = Mark(number, names.of[i])
        return marks

    def kinds(self, world: World) -> Mapping[int, str]:
        """Map the number of every object to its type in words."""
        entities = _house(world).entities
        return {i + 1: spaced(entities.type(i)) for i in range(entities.object_count)}

    def frame(
        self,
        world: World,
        actor: str,
        view: PictureView,
        size: tuple[int, int],
    ) -> Frame:
        """Draw a view from the actor's eye; ``size`` is rows and columns in pixels."""
        house = _house(world)
        me = house.actors[actor]
        eye = (me.x, me.y, me.body.eye)
        scene = house.layout.scene
        walls = self._walls(
            scene.rooms,
            scene.walls,
            scene.doors,
        )
        looks = tuple(self._placements(house, me))
        objects = [self._object(look) for look in looks]
        return draw_view(self._mesh((walls, *objects)), eye, view, size)

    def _placements(self, house: House, me: Actor) -> list[Placement]:
        """Return everything that can be seen, other actors and what is in the hands included."""
        t = house.entities
        scene = house.layout.scene
        placed = placements(t, scene, self._fronts(scene), self.tables)
        held = [i for i in range(t.object_count) if t.inside[i] == me.number]
        placed += [_in_hand(t, i, me) for i in held]
        others = [other for other in house.actors.values() if other is not me]
        placed += [_person(other) for other in others]
        return placed


class PublishedPainter(HouseholdPainter):
    """Draws published rooms.

    Words name what hangs above the views of :class:`HouseholdPainter`, so there are more.
    """

    tables = (ROOMS, HOMES)

    def views(self, world: World, actor: str) -> Sequence[PictureView]:
        """Return the views of homes, and what is above them: in one picture ahead, or
        in four all around."""
        views = super().views(world, actor)
        heading = _actor(world, actor).heading
        above = {"above": (0.0, ABOVE_WIDTH)}
        if len(views) == len(AROUND):
            above = {f"above, {label}": (turn, 90.0) for label, turn in SIDES.items()}
        return [
            *views,
            *(
                PictureView(label, (heading + turn) % 360.0, ABOVE, width)
                for label, (turn, width) in above.items()
            ),
        ]


@dataclass(frozen=True, slots=True)
class Placement:
    """An object in its place, as it is drawn.

    ``number`` in pictures, ``kind`` and ``states``; the middle of its ``back`` (x, y),
    its ``front`` (unit vector), its ``extents`` across, off its back and up, and the
    height of its ``underside``, in metres. ``paint``: its own, empty for that of its
    kind. Equal placements give equal meshes, which is why coordinates are rounded.
    """

    number: int
    kind: str
    states: tuple[str, ...]
    back: Point
    front: Point
    extents: tuple[float, float, float]
    underside: float
    paint: str = ""


def _house(world: World) -> House:
    """Return the house of a household world, the only kind this painter is used with."""
    assert isinstance(world, HouseholdWorld)
    return world.house


def _actor(world: World, actor: str) -> Actor:
    """Return an actor's body in a household world."""
    return _house(world).actors[actor]


def placements(
    t: Entities,
    scene: Scene,
    fronts: Mapping[int, tuple[Point, int]],
    tables: tuple[str, ...] = (HOMES,),
) -> list[Placement]:
    """Return the doors, and the objects that are not in closed containers or hands.

    ``fronts``: those of :func:`find_fronts` for a scene with the same furniture.
    """
    shifts: dict[int, tuple[float, float, float]] = {}
    tops = find_tops(scene)
    spread = spread_out(t)
    placed = []
    # Objects on a holder follow its shift, which must be known before theirs.
    for i in _holders_first(t):
        if t.is_exposed[i]:
            place = spread.get(i, t.point(i))
            placed.append(
                _placement(
                    t,
                    i,
                    place,
                    fronts,
                    shifts,
                    tops,
                    tables,
                )
            )
    boards = cut_boards(scene)
    placed = [part for each in placed for part in _in_parts(each, boards)]
    for i in range(t.object_count, t.first_actor):
        door = scene.doors[i - t.object_count]
        placed.append(_door_placement(door, i, bool(t.open[i])))
    return placed


def _in_parts(
    board: Placement, boxes: Mapping[int, Sequence[Box]]
) -> Sequence[Placement]:
    """Return a placement, or those of its parts if it is a board that was cut."""
    across = []
    for west, south, east, north in boxes.get(board.number - 1, ()):
        across.append(
            replace(
                board,
                back=_rounded((west + east) / 2, south),
                front=(0.0, 1.0),
                extents=_extents(east - west, north - south, board.extents[2]),
            )
        )
    return across or [board]


@lru_cache(maxsize=MESHES)
def find_tops(scene: Scene) -> Mapping[int, float]:
    """Return the heights in metres at which the tops of furniture are drawn, by object index.

    A published box also covers what rises above a top, such as the shelves of a desk, so the top is
    where most things on it lie. Empty for homes without a published floor.
    """
    if scene.floor is None:
        return {}
    tops = {}
    for i, each in enumerate(scene.objects):
        if each.receptacle != "on" or "pickupable" in each.affordances:
            continue
        tops[i] = each.bottom + each.height
        # The box of a board is the board.
        if each.height <= FLAT_HEIGHT:
            continue
        # What lies in the lower part lies on a shelf.
        lowest = each.bottom + LOWEST_TOP * each.height
        held = [other.bottom for other in scene.objects if other.parent == each.id]
        if raised := [height for height in held if height > lowest]:
            tops[i] = min(tops[i], median_high(raised))
    return tops


@lru_cache(maxsize=MESHES)
def cut_boards(scene: Scene) -> Mapping[int, Sequence[Box]]:
    """Return the parts of boards, such as counters: object index -> boxes from above.

    A published box around the corner of a counter also covers the floor before it and the
    basins in it. What is over floor where bodies walk, or over what is sunk into the board,
    is no part of it. Empty for homes without a published floor.
    """
    floor = scene.floor
    if floor is None:
        return {}
    walked = []
    for j, row in enumerate(floor.rows):
        for i, cell in enumerate(row):
            if cell == ".":
                x = floor.x + i * floor.spacing
                y = floor.y + j * floor.spacing
                walked.append(box_around(x, y, 2 * BODY, 2 * BODY))
    parts = {}
    for i, each in enumerate(scene.objects):
        if each.height <= FLAT_HEIGHT and "pickupable" not in each.affordances:
            sunk = [other.box for other in scene.objects if _is_sunk(other, each)]
            boxes = cut_out(each.box, [*walked, *sunk])
            if boxes != [each.box]:
                parts[i] = boxes
    return parts


def _is_sunk(piece: HouseObject, board: HouseObject) -> bool:
    """True for a basin or knob whose top is level with a board."""
    is_part = piece.receptacle == "in" or not piece.solid
    is_fixed = not piece.parent and not {"openable", "pickupable"} & piece.affordances
    above = piece.bottom + piece.height - board.bottom
    return is_part and is_fixed and piece.bottom < board.bottom and abs(above) <= LEVEL


def _holders_first(t: Entities) -> list[int]:
    """Return all objects, each after what holds it: its place depends on its holder's."""
    return sorted(range(t.object_count), key=lambda i: (len(t.holders(i)), i))


def object_mesh(look: Placement, tables: tuple[str, ...] = (HOMES,)) -> Mesh:
    """Return the mesh of an object in its place."""
    builder = MeshBuilder()
    home = home_look(look.kind, look.states, tables)
    builder.add_parts(
        look.number,
        home.parts,
        look.paint or home.paint,
        look.back,
        look.front,
        look.extents,
        look.underside,
    )
    return builder.mesh()


def _join(meshes: tuple[Mesh, ...]) -> Mesh:
    """Return one mesh; a function of its own, so that it can be cached."""
    return joined(meshes)


def _placement(
    t: Entities,
    i: int,
    place: Point,
    fronts: Mapping[int, tuple[Point, int]],
    shifts: dict[int, tuple[float, float, float]],
    tops: Mapping[int, float],
    tables: tuple[str, ...],
) -> Placement:
    """Return an object at its ``place`` (x, y) on its holder.

    ``shifts`` are how far (metres east, north, up) holders are drawn from their places
    in the world; the object's own is added, so holders have to come first. ``fronts``
    as in :func:`placements`, ``tops`` those of :func:`find_tops`.
    """
    spec = t.specs[i]
    look = home_look(spec.type, t.states(i), tables)
    holder = int(t.inside[i])
    front, body = fronts[i]
    east, north, up = shifts.get(holder, (0.0, 0.0, 0.0))
    if 0 <= holder < t.object_count:
        front = fronts[holder][0]
        lift = home_look(t.specs[holder].type, t.states(holder), tables).lift
        if lift is not None:
            drawn_at = float(t.bottom[holder]) + lift * t.specs[holder].height
            up += drawn_at - float(t.bottom[i])
        elif holder in tops and t.bottom[i] >= tops[holder] - MOST_SUNK:
            up += tops[holder] - float(t.bottom[i])
    across = spec.depth if front[0] else spec.width
    deep = spec.width if front[0] else spec.depth
    x, y = place
    if look.stands_out is not None and body >= 0:
        # Its front to the front of the piece that it is built into, and out of it.
        piece = t.specs[body]
        reach = (piece.width if front[0] else piece.depth) / 2 + look.stands_out
        ahead = (piece.x - x) * front[0] + (piece.y - y) * front[1]
        shift = ahead + reach - deep / 2
        east += shift * front[0]
        north += shift * front[1]
    moved = (place[0] - float(t.x[i]), place[1] - float(t.y[i]))
    shifts[i] = (east + moved[0], north + moved[1], up)
    x += east - front[0] * deep / 2
    y += north - front[1] * deep / 2
    bottom = float(t.bottom[i]) + up
    return Placement(
        i + 1,
        spec.type,
        t.states(i),
        _rounded(x, y),
        front,
        _extents(across, deep, tops.get(i, spec.bottom + spec.height) - spec.bottom),
        round(bottom, 6),
    )


def _extents(
    across: float,
    deep: float,
    high: float,
) -> tuple[float, float, float]:
    """Return the extents of an object as it is drawn, none below ``THINNEST``."""
    return (
        max(across, THINNEST),
        max(deep, THINNEST),
        max(high, THINNEST),
    )


def spread_out(t: Entities) -> dict[int, Point]:
    """Return places (x, y) for what lies in or on objects, so that none hides in another."""
    places: dict[int, Point] = {}
    for holder in sorted(set(t.inside[: t.object_count].tolist())):
        if 0 <= holder < t.object_count:
            places |= _spread_on(t, holder)
    return places


def _spread_on(t: Entities, holder: int) -> Mapping[int, Point]:
    """Return places (x, y) for what lies in or on an object, so that none hides in another.

    The world lets small objects overlap; here each goes to the nearest free place on
    its holder. Appliances on a counter stay, and nothing is placed within them.
    """
    base = t.specs[holder]
    boxes = []
    for i in t.contents(holder):
        spec = t.specs[i]
        is_movable = "pickupable" in spec.affordances
        boxes.append(_Box(i, *t.point(i), spec.width, spec.depth, is_movable))
    surface = _Box(holder, *t.point(holder), base.width, base.depth)
    return _spread_boxes(surface, tuple(boxes))


class _Box(NamedTuple):
    """An object from above: its number, its middle (x, y) and its extents, in metres."""

    number: int
    x: float
    y: float
    width: float
    depth: float
    is_movable: bool = False


# The pictures of a look, and of the looks after it, share the places of what was not moved.
@lru_cache(maxsize=1024)
def _spread_boxes(base: _Box, boxes: tuple[_Box, ...]) -> Mapping[int, Point]:
    """Return the places (x, y) of the movable boxes on a holder, by number."""
    x0 = base.x - base.width / 2
    y0 = base.y - base.depth / 2
    columns = max(1, round(base.width / SPREAD_STEP))
    rows = max(1, round(base.depth / SPREAD_STEP))
    taken = np.zeros((rows, columns), np.int64)
    grid_x: Floats = x0 + (np.arange(columns, dtype=np.float64) + 0.5) * SPREAD_STEP
    grid_y: Floats = y0 + (np.arange(rows, dtype=np.float64) + 0.5) * SPREAD_STEP
    places = {}
    for box in boxes:
        x = box.x
        y = box.y
        if not box.is_movable:
            # Appliances on a counter stay, and nothing is drawn within them.
            half_x = box.width / 2
            half_y = box.depth / 2
        else:
            half_x = min(box.width, base.width) / 2
            half_y = min(box.depth, base.depth) / 2
            x, y = _free_place(
                taken,
                grid_x,
                grid_y,
                (x, y),
                (half_x, half_y),
            )
            places[box.number] = (x, y)
        beside = np.abs(grid_x - x) < half_x
        along = np.abs(grid_y - y) < half_y
        taken[np.ix_(along, beside)] += 1
    return places


def _free_place(
    taken: NDArray[np.int64],
    grid_x: Floats,
    grid_y: Floats,
    place: Point,
    half: tuple[float, float],
) -> Point:
    """Return the place of an object whose box covers the fewest cells that are taken.

    Of several, the nearest to its own place. ``taken`` (H, W) counts the boxes on each
    cell of the holder, whose centers are ``grid_x`` (W,) and ``grid_y`` (H,); ``half``
    are the half extents of the box; all metres.
    """
    x, y = place
    # Sums of cells in all boxes at once, by the table of sums from the corner.
    sums = np.zeros((len(grid_y) + 1, len(grid_x) + 1), np.int64)
    sums[1:, 1:] = taken.cumsum(axis=0).cumsum(axis=1)
    wide = min(len(grid_x), max(1, round(2 * half[0] / SPREAD_STEP)))
    deep = min(len(grid_y), max(1, round(2 * half[1] / SPREAD_STEP)))
    covered = (
        sums[deep:, wide:]
        - sums[:-deep, wide:]
        - sums[deep:, :-wide]
        + sums[:-deep, :-wide]
    )
    center_x = grid_x[: covered.shape[1]] + (wide - 1) * SPREAD_STEP / 2
    center_y = grid_y[: covered.shape[0]] + (deep - 1) * SPREAD_STEP / 2
    away = (center_x[None] - x) ** 2 + (center_y[:, None] - y) ** 2
    # Rounded, so that equal distances do not depend on the last bit.
    away = np.where(covered == covered.min(), np.round(away, 6), np.inf)
    row, column = divmod(int(away.argmin()), covered.shape[1])
    return float(center_x[column]), float(center_y[row])


def _in_hand(t: Entities, i: int, me: Actor) -> Placement:
    """Return a held object at the lower right of the view."""
    spec = t.specs[i]
    ahead = _unit(me.heading)
    right = (ahead[1], -ahead[0])
    x = me.x + HAND[0] * right[0] + HAND[1] * ahead[0]
    y = me.y + HAND[0] * right[1] + HAND[1] * ahead[1]
    front = (-ahead[0], -ahead[1])
    return Placement(
        i + 1,
        spec.type,
        t.states(i),
        _rounded(x, y),
        front,
        _extents(spec.width, spec.depth, spec.height),
        me.body.eye + HAND[2],
    )


def _door_placement(
    door: Door,
    i: int,
    is_open: bool,
) -> Placement:
    """Return a door in its doorway, or swung aside at its first post; ``i`` is its index."""
    (ax, ay), (bx, by) = door.a, door.b
    width = math.dist(door.a, door.b)
    along = (_whole(bx - ax), _whole(by - ay))
    aside = (-along[1], along[0])
    if not is_open:
        middle = ((ax + bx) / 2, (ay + by) / 2)
        back = (
            middle[0] - aside[0] * DOOR_THICKNESS / 2,
            middle[1] - aside[1] * DOOR_THICKNESS / 2,
        )
        front = aside
    else:
        reach = SWING * width
        back = (ax + aside[0] * reach / 2, ay + aside[1] * reach / 2)
        front = along
        width = reach
    extents = (width, DOOR_THICKNESS, DOOR_HEIGHT)
    return Placement(
        i + 1,
        "door",
        (),
        _rounded(*back),
        front,
        extents,
        0.0,
    )


def _person(actor: Actor) -> Placement:
    """Return another actor as a figure of a person's size, its back behind its middle."""
    ahead = _unit(actor.heading)
    back = (actor.x - 0.12 * ahead[0], actor.y - 0.12 * ahead[1])
    return Placement(
        actor.number + 1,
        "person",
        (),
        _rounded(*back),
        ahead,
        (0.45, 0.24, 1.7),
        0.0,
    )


def _rounded(x: float, y: float) -> Point:
    """Return a point to the micrometre, so that equal placements are found in the cache."""
    return round(x, 6), round(y, 6)


def _unit(heading: float) -> Point:
    """Return the unit vector of a heading (degrees), the same on every machine."""
    # Rounded, because sines of C libraries differ in their last bits.
    east, north = unit(heading)
    return round(float(east), 9), round(float(north), 9)


def _whole(change: float) -> float:
    """Return the sign of a change, 0 below a nanometre: walls run along the axes."""
    return float((change > 1e-9) - (change < -1e-9))


def find_fronts(scene: Scene) -> dict[int, tuple[Point, int]]:
    """Return the front of each object, and the piece of furniture that it is built into.

    Object index -> unit vector of its front, and the index of the first solid piece
    under its middle, -1 for none. Depends only on rooms and furniture, so it is cached
    by scene.
    """
    fronts: dict[int, tuple[Point, int]] = {}
    pieces = [(i, each) for i, each in enumerate(scene.objects) if each.solid]
    for i, each in pieces:
        fronts[i] = (_away_from_wall(scene, each), -1)
    # Objects in furniture face the way it faces.
    for i, each in enumerate(scene.objects):
        if i in fronts:
            continue
        around = [
            number
            for number, piece in pieces
            if abs(each.x - piece.x) <= piece.width / 2
            and abs(each.y - piece.y) <= piece.depth / 2
        ]
        if around:
            fronts[i] = (fronts[around[0]][0], around[0])
        else:
            fronts[i] = (_away_from_wall(scene, each), -1)
    return fronts


def _away_from_wall(scene: Scene, piece: HouseObject) -> Point:
    """Return the direction away from the nearest wall of a piece's room, one of four."""
    for room in scene.rooms:
        west, south, east, north = bounding_box(room.polygon)
        if west <= piece.x <= east and south <= piece.y <= north:
            gaps = {
                (1.0, 0.0): piece.x - piece.width / 2 - west,
                (-1.0, 0.0): east - piece.x - piece.width / 2,
                (0.0, 1.0): piece.y - piece.depth / 2 - south,
                (0.0, -1.0): north - piece.y - piece.depth / 2,
            }
            return min(gaps, key=lambda side: round(gaps[side], 6))
    return (0.0, -1.0)


def room_mesh(
    rooms: tuple[Room, ...],
    walls: tuple[Wall, ...],
    doors: tuple[Door, ...],
) -> Mesh:
    """Return floors, ceilings, walls, and the walls above doors, as faces without a number."""
    builder = MeshBuilder()
    for room in rooms:
        corners = box_corners(bounding_box(room.polygon))
        # "bedroom 2" has the floor of a bedroom.
        builder.add_room(corners, room.name.rstrip(" 0123456789"))
    for wall in walls:
        builder.add_wall(wall.a, wall.b, 0.0)
    for door in doors:
        builder.add_wall(door.a, door.b, DOOR_HEIGHT)
    return builder.mesh()
