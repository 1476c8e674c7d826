"""Routes: the low-level actions that bring a body to a thing, or into a room.

They lead over a lattice, the places a body gets to by whole steps, which is anchored at a body's
own place and heading, so that every way on it is a list of turns and steps that the body can carry
out. It is kept with the layout: a body that only turns and steps stays on one lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import (
    Box,
    Point,
    Segment,
    absolute,
    bearing,
    box_distance,
    grid_lookup,
    relative,
    segment_distances,
    unit,
)
from wayword.worlds.household import verbs as st
from wayword.worlds.household.house import Actor, Fail, House
from wayword.worlds.household.layout import DOORWAY, SLACK, Floats, Ints, Layout
from wayword.worlds.household.scene import Floor, Room
from wayword.worlds.household.sight import sees_box
from wayword.worlds.household.verbs import Body

MARGIN = -0.5 * SLACK
"""Ways keep half the slack of a step, so that rounding never makes a planned step fail."""
DIRECTIONS = ((0, 1), (1, 0), (0, -1), (-1, 0))
"""Ahead, right, back, left of the lattice's own north, as (i, j)."""


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """``x``, ``y`` (P,) places; ``ways`` (P, 4) the place a step leads to in each direction, -1
    for none. Direction k has the heading ``turn + 90 k``. ``doors`` gives, for each door, the
    (place, direction) pairs, flat indices into ``ways``, that it stops when shut."""

    turn: float
    wide: int
    x: Floats
    y: Floats
    ways: Ints
    doors: tuple[NDArray[np.intp], ...]

    def nearest(self, x: float, y: float) -> int:
        """The place nearest to a point."""
        return int(np.argmin((self.x - x) ** 2 + (self.y - y) ** 2))


def lattice(layout: Layout, body: Body, x: float, y: float, heading: float) -> Lattice:
    """The lattice through a body's place, its directions reached by whole pans and turns."""
    # Headings add up from many turns: round them, so that equal lattices share one key.
    turn = heading % body.fine_turn
    turn = 0.0 if turn < 1e-6 or body.fine_turn - turn < 1e-6 else round(turn, 6)
    east, north = unit(turn)
    offset = [_offset(x * north - y * east, body.step), _offset(x * east + y * north, body.step)]
    key = (turn, *offset, body.step, body.radius)
    found = layout.lattices.get(key)
    if not isinstance(found, Lattice):
        if len(layout.lattices) >= 64:
            layout.lattices.clear()
        found = layout.lattices[key] = _build(layout, body, turn, offset)
    return found


def field(ways: Ints, start: int) -> Ints:
    """(P,) steps from ``start`` to every place, -1 where there is no way."""
    # Lists: an array operation for each ring of places costs more than the rings of a home hold.
    flat = ways.ravel().tolist()
    steps = [-1] * len(ways)
    steps.append(0)  # where the way -1 leads: taken
    steps[start] = count = 0
    front = [start]
    while front:
        count += 1
        reached = []
        for here in front:
            for there in flat[4 * here : 4 * here + 4]:
                if steps[there] < 0:
                    steps[there] = count
                    reached.append(there)
        front = reached
    return np.array(steps[:-1], dtype=np.int32)


def path(ways: Ints, steps: Ints, goal: int) -> list[int]:
    """The directions of a shortest way to ``goal`` in a field of steps, with few turns."""
    found: list[int] = []
    here, last = goal, -1
    while steps[here] > 0:
        # Ways go both directions, so the way back from here names the place before.
        back = ways[here].tolist()
        options = [k for k in range(4) if back[k] >= 0 and steps[back[k]] == steps[here] - 1]
        last = last if last in options else options[0]
        found.append((last + 2) % 4)
        here = back[last]
    return found[::-1]


def _offset(value: float, step: float) -> float:
    return round(value - step * round(value / step), 6)


def _build(layout: Layout, body: Body, turn: float, offset: list[float]) -> Lattice:
    east, north = unit(turn)
    west_, south_, east_, north_ = layout.bounds
    corners = [(cx, cy) for cx in (west_, east_) for cy in (south_, north_)]
    us = [cx * north - cy * east for cx, cy in corners]
    vs = [cx * east + cy * north for cx, cy in corners]
    step = body.step
    i = np.arange(math.floor(min(us) / step) - 1, math.ceil(max(us) / step) + 2)
    j = np.arange(math.floor(min(vs) / step) - 1, math.ceil(max(vs) / step) + 2)
    u, v = np.meshgrid(i * step + offset[0], j * step + offset[1])  # (high, wide)
    x, y = (u * north + v * east).ravel(), (v * north - u * east).ravel()
    high, wide = u.shape
    free = _Ways(x, y, (high, wide), step)
    if layout.scene.floor is not None:
        free.pave(layout.scene.floor)
    else:
        free.keep(free.indoors(layout.scene.rooms))
        for wall in layout.walls:
            free.cut(free.close_to(wall, body.radius))
        for _, box in layout.boxes:
            free.cut(free.through(box, body.radius))
    doors = tuple(free.flat(free.close_to(leaf, body.radius)) for leaf in layout.doors)
    return Lattice(turn, wide, x, y, free.ways(), doors)


def within(x: Floats, y: Floats, polygon: tuple[Point, ...]) -> NDArray[np.bool_]:
    """(P,) which points are inside a polygon (even-odd rule)."""
    inside = np.zeros(len(x), dtype=np.bool_)
    ax, ay = polygon[-1]
    for bx, by in polygon:
        if by != ay:
            inside ^= ((ay > y) != (by > y)) & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
        ax, ay = bx, by
    return inside


class _Ways:
    """The steps of a lattice under construction, cut one obstacle at a time.

    Only steps ahead and to the right are held (``open`` (2, P)); the others are their mirrors.
    """

    def __init__(self, x: Floats, y: Floats, shape: tuple[int, int], step: float) -> None:
        self.x, self.y, self.step = x, y, step
        high, wide = shape
        number = np.arange(high * wide).reshape(shape)
        ahead, right = np.full((2, high, wide), -1)
        ahead[:-1], right[:, :-1] = number[1:], number[:, 1:]
        self.to = np.stack([ahead.ravel(), right.ravel()])
        self.open = self.to >= 0
        self.order = np.argsort(x, kind="stable")
        self.sorted_x = x[self.order]

    def keep(self, free: NDArray[np.bool_]) -> None:
        """Cut every step that leaves or enters a place that is not free."""
        self.open &= free & free[self.to]

    def indoors(self, rooms: tuple[Room, ...]) -> NDArray[np.bool_]:
        """(P,) which places are in a room, or in a doorway beside one."""
        inside = np.zeros(len(self.x), dtype=np.bool_)
        for room in rooms:
            inside |= within(self.x, self.y, room.polygon)
            corners = room.polygon
            for a, b in zip(corners, corners[1:] + corners[:1], strict=True):
                box = (min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))
                near = self._around(box, DOORWAY)
                away = segment_distances(self.x[near], self.y[near], *a, *b)
                inside[near[away < DOORWAY + MARGIN]] = True
        return inside

    def pave(self, floor: Floor) -> None:
        """Cut every step without floor under it, looked at every half cell."""
        count, cells = max(1, math.ceil(2 * self.step / floor.spacing)), floor_cells(floor)
        for k in range(2):
            for n in range(count + 1):
                x = self.x + (self.x[self.to[k]] - self.x) * n / count
                y = self.y + (self.y[self.to[k]] - self.y) * n / count
                self.open[k] &= grid_lookup(cells, x, y, (floor.x, floor.y), floor.spacing)

    def cut(self, found: tuple[NDArray[np.intp], NDArray[np.bool_]]) -> None:
        near, hit = found
        for k in range(2):
            self.open[k, near[hit[k]]] = False

    def flat(self, found: tuple[NDArray[np.intp], NDArray[np.bool_]]) -> NDArray[np.intp]:
        """Both directions of the steps found, as flat indices into ``ways``."""
        near, hit = found
        pairs: list[NDArray[np.intp]] = []
        for k in range(2):
            start = near[hit[k]]
            start = start[self.to[k, start] >= 0]
            pairs += [start * 4 + k, self.to[k, start] * 4 + k + 2]
        return np.concatenate(pairs)

    def ways(self) -> Ints:
        """(P, 4) as in ``Lattice``."""
        ways = np.full((len(self.x), 4), -1, dtype=np.int32)
        for k in range(2):
            start = np.flatnonzero(self.open[k])
            end = self.to[k, start]
            ways[start, k], ways[end, k + 2] = end, start
        return ways

    def close_to(self, wall: Segment, radius: float) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The places around a wall, and which of their steps come closer to it than a radius."""
        (ax, ay), (bx, by) = wall
        box = (min(ax, bx), min(ay, by), max(ax, bx), max(ay, by))
        near = self._around(box, radius + self.step)
        px, py = self.x[near], self.y[near]
        hit = np.zeros((2, len(near)), dtype=np.bool_)
        for k in range(2):
            qx, qy = self.x[self.to[k, near]], self.y[self.to[k, near]]
            hit[k] = _segments((px, py), (qx, qy), wall) < radius + MARGIN
        return near, hit

    def through(self, box: Box, radius: float) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The places around a box, and which of their steps enter it, grown by a radius."""
        near = self._around(box, radius + self.step)
        grown = radius + MARGIN
        low, high = (box[0] - grown, box[1] - grown), (box[2] + grown, box[3] + grown)
        hit = np.zeros((2, len(near)), dtype=np.bool_)
        for k in range(2):
            first, last = np.zeros(len(near)), np.ones(len(near))
            for axis, values in enumerate((self.x, self.y)):
                start, step = values[near], values[self.to[k, near]] - values[near]
                # A step along the other axis: any tiny number keeps the slab test free of 0 / 0.
                step = np.where(np.abs(step) < 1e-9, 1e-9, step)
                one, two = (low[axis] - start) / step, (high[axis] - start) / step
                first = np.maximum(first, np.minimum(one, two))
                last = np.minimum(last, np.maximum(one, two))
            hit[k] = first <= last
        return near, hit

    def _around(self, box: Box, by: float) -> NDArray[np.intp]:
        """The places within a box grown by so much."""
        left = int(np.searchsorted(self.sorted_x, box[0] - by))
        right = int(np.searchsorted(self.sorted_x, box[2] + by, side="right"))
        near = self.order[left:right]
        y = self.y[near]
        return near[(y >= box[1] - by) & (y <= box[3] + by)]


def floor_cells(floor: Floor) -> NDArray[np.bool_]:
    """(H, W) which cells of a floor are walkable."""
    wide = max(len(row) for row in floor.rows)
    return np.asarray(np.array([list(row.ljust(wide, "#")) for row in floor.rows]) == ".")


Line = tuple[Floats, Floats]


def _segments(p: Line, q: Line, wall: Segment) -> Floats:
    """Distances from segments p–q to a wall, 0 where they cross."""
    a, b = wall
    rx, ry, sx, sy = q[0] - p[0], q[1] - p[1], b[0] - a[0], b[1] - a[1]
    turn = rx * sy - ry * sx
    dx, dy = a[0] - p[0], a[1] - p[1]
    safe = np.where(turn == 0, 1.0, turn)
    t, u = (dx * sy - dy * sx) / safe, (dx * ry - dy * rx) / safe
    cross = (turn != 0) & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
    away = np.minimum.reduce(
        [
            segment_distances(*p, *a, *b),
            segment_distances(*q, *a, *b),
            segment_distances(*a, *p, *q),
            segment_distances(*b, *p, *q),
        ]
    )
    return np.where(cross, 0.0, away)


TRIES = 400
"""Places tried, nearest first, for one from which a thing can be seen and reached. Each costs a
sight test, so the number bounds the cost of a thing that cannot be seen from anywhere."""


def route_to(house: House, me: Actor, i: int, box: Box | None = None) -> list[str]:
    """Verbs that bring ``me`` where it sees and reaches a thing, shortest first.

    ``box`` is where the thing is believed to be; by default where it is. Raises ``Fail`` where no
    place will do.
    """
    trip = Trip(house, me)
    goal, heading = trip.to_thing(i, box)
    return walk(me, trip.grid, path(trip.ways, trip.steps, goal), heading)


def route_into(house: House, me: Actor, room: Room) -> list[str]:
    """Verbs that bring ``me`` to the middle of a room's free floor. Raises ``Fail``."""
    trip = Trip(house, me)
    return walk(me, trip.grid, path(trip.ways, trip.steps, trip.into_room(room)), None)


def shut_doors(house: House, me: Actor, to: int | Room) -> list[int]:
    """The doors one must open, in order, on the shortest way to a thing or into a room: numbers of
    things. Doors that do not open count as walls. Raises ``Fail`` where there is no way."""
    trip = Trip(house, me, open_doors=True)
    goal = trip.into_room(to) if isinstance(to, Room) else trip.to_thing(to, None)[0]
    shut = np.flatnonzero(house.things.shut).tolist()
    stopped = {flat: n for n in shut for flat in trip.grid.doors[n].tolist()}
    found: dict[int, None] = {}
    here = trip.start
    for direction in path(trip.ways, trip.steps, goal):
        number = stopped.get(here * 4 + direction)
        if number is not None:
            found[number + house.things.objects] = None
        here = int(trip.ways[here, direction])
    return list(found)


class Trip:
    """What is within a body's reach on foot: the lattice, its open ways, and the steps to each
    place. With ``open_doors``, as if the doors that open stood open."""

    def __init__(self, house: House, me: Actor, open_doors: bool = False) -> None:
        self.house, self.me = house, me
        self.grid = grid = lattice(house.layout, me.body, me.x, me.y, me.heading)
        self.start = grid.nearest(me.x, me.y)
        self.ways = ways = grid.ways.copy()
        things, flat = house.things, ways.ravel()
        for number in np.flatnonzero(things.shut).tolist():
            if not (open_doors and things.openable[things.objects + number]):
                flat[grid.doors[number]] = -1
        for _, x, y, radius in house.others(me):
            # A step between two places outside this circle keeps the bodies apart all the way.
            clear = (radius + me.body.radius) ** 2 + (me.body.step / 2) ** 2
            taken = (grid.x - x) ** 2 + (grid.y - y) ** 2 < clear
            taken[self.start] = False
            ways[taken[ways] & (ways >= 0)] = -1
            ways[taken] = -1
        self.steps = field(ways, self.start)

    def near(self, box: Box, reach: float) -> NDArray[np.bool_]:
        """(P,) which places are within reach (metres) of a box."""
        dx = np.maximum(np.maximum(box[0] - self.grid.x, self.grid.x - box[2]), 0.0)
        dy = np.maximum(np.maximum(box[1] - self.grid.y, self.grid.y - box[3]), 0.0)
        found: NDArray[np.bool_] = dx * dx + dy * dy <= reach * reach
        return found

    def views(
        self,
        i: int,
        box: Box,
        headings: Callable[[Point], Iterable[float]],
        tries: int | None = None,
    ) -> Iterator[tuple[int, float]]:
        """Places within reach of a thing believed to be in ``box``, nearest first, each with those
        of the headings there from which the thing is in view."""
        house, me, grid = self.house, self.me, self.grid
        near = self.near(box, me.body.manipulation_distance - SLACK)
        goals = np.flatnonzero((self.steps >= 0) & near)
        mid = float(house.things.mid[house.things.anchor[i]])
        for goal in goals[np.argsort(self.steps[goals], kind="stable")][:tries].tolist():
            start = goal == self.start
            x, y = (me.x, me.y) if start else (float(grid.x[goal]), float(grid.y[goal]))
            panels = house.layout.panes(x, y, me.body.view_distance, me.body.eye, house.things.shut)
            for heading in headings((x, y)):
                if sees_box(panels, me.body, (x, y, heading), box, mid):
                    yield goal, heading

    def to_thing(self, i: int, box: Box | None) -> tuple[int, float]:
        """The nearest place from which a thing is in reach and view, and the heading there."""
        at, me = box or true_box(self.house, i), self.me
        found = self.views(i, at, lambda place: _facing(me.body, self.grid.turn, place, at), TRIES)
        for goal, heading in found:
            return goal, heading
        raise Fail(st.NO_PATH, place=self.house.name(me, i))

    def into_room(self, room: Room) -> int:
        """The place nearest to the middle of what one can reach of a room."""
        inside = np.flatnonzero((self.steps >= 0) & within(self.grid.x, self.grid.y, room.polygon))
        if not len(inside):
            raise Fail(st.NO_PATH, place=room.name)
        x, y = self.grid.x[inside], self.grid.y[inside]
        return int(inside[np.argmin((x - x.mean()) ** 2 + (y - y.mean()) ** 2)])


def believed_box(house: House, me: Actor, i: int) -> Box:
    """Where an actor takes a thing to be: where it sees it, or last saw it. Raises ``Fail``."""
    if house.holder(i) == me.number:
        return (me.x, me.y, me.x, me.y)
    if i in me.view.things:
        return true_box(house, i)
    if not me.known[i]:
        raise Fail(st.NOT_VISIBLE, object=house.name(me, i))
    things, a = house.things, int(me.seen_in[i])
    wide = float(things.half_x[a] - things.inset_x[a])
    deep = float(things.half_y[a] - things.inset_y[a])
    x, y = float(me.seen_x[a]), float(me.seen_y[a])
    return (x - wide, y - deep, x + wide, y + deep)


def true_box(house: House, i: int) -> Box:
    """Where a thing is, or what encloses it."""
    t, a = house.things, int(house.things.anchor[i])
    return float(t.west[a]), float(t.south[a]), float(t.east[a]), float(t.north[a])


def turns(body: Body, start: float, end: float) -> list[str]:
    """The fewest turns and pans from one heading to another, as near as they get."""
    gap = relative(end, start)
    side = "right" if gap > 0 else "left"
    parts = round(abs(gap) / body.fine_turn) * body.fine_turn
    # The margin makes 89.9999999 a quarter turn instead of a series of pans.
    quarters = int((parts + 1e-6) // 90)
    pans = round((parts - 90 * quarters) / body.fine_turn)
    return [f"turn_{side}"] * quarters + [f"pan_{side}"] * pans


def _facing(body: Body, turn: float, place: tuple[float, float], box: Box) -> Iterator[float]:
    """Headings a body can take that are nearest to a box's middle, then to its nearest point."""
    x, y = place
    aims = (
        ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2),
        (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])),
    )
    for ax, ay in aims:
        parts = round((bearing(place, (ax, ay)) - turn) / body.fine_turn)
        yield absolute(round(turn + parts * body.fine_turn, 6))


def walk(me: Actor, grid: Lattice, way: list[int], heading: float | None) -> list[str]:
    """The verbs of a way on the lattice, and of a turn to a heading at its end."""
    verbs: list[str] = []
    facing = me.heading
    for direction in way:
        ahead = absolute(grid.turn + 90.0 * direction)
        verbs += [*turns(me.body, facing, ahead), "move_ahead"]
        facing = ahead
    return verbs if heading is None else verbs + turns(me.body, facing, heading)


# Landing: where a thing comes to lie that a hand puts in or on a receptacle, and from where a body
# must put it so that it lies near a given point.

AHEAD = 0.3
"""How far beyond the edge of a receptacle a hand puts things, metres."""
ARM = 0.6
"""How far ahead one puts things who stands within the box, in the bend of a counter; metres."""
Pose = tuple[float, float, float]
"""x, y (metres) and heading (degrees)."""


def landing(house: House, me: Actor, i: int, r: int, at: Pose) -> tuple[float, float, float]:
    """Where a thing ``i`` lies that one who stands ``at`` a pose puts in or on ``r``: ahead, within
    its edges and one's reach. x, y and underside (metres)."""
    t = house.things
    wide, deep = max(t.half_x[r] - t.half_x[i], 0.0), max(t.half_y[r] - t.half_y[i], 0.0)
    east, north = unit(at[2])
    ahead = AHEAD
    if house.holder(r) != me.number:
        away = box_distance(at[0], at[1], true_box(house, r))
        ahead = ARM if away == 0 else ahead + away
    spot = (0.0, 0.0)
    for forward in (ahead, 0.0):
        x, y = at[0] + forward * east, at[1] + forward * north
        spot = (
            float(min(max(x, t.x[r] - wide), t.x[r] + wide)),
            float(min(max(y, t.y[r] - deep), t.y[r] + deep)),
        )
        if math.dist(spot, at[:2]) ** 2 <= me.body.manipulation_distance**2:
            break
    rise = t.height[r] if t.specs[r].receptacle == "on" else t.height[r] / 2
    return (*spot, float(t.bottom[r] + rise))


def route_to_put(house: House, me: Actor, i: int, r: int, at: Point, within: float) -> list[str]:
    """Verbs that bring ``me`` where a thing ``i`` put in or on ``r`` comes to lie within a distance
    (metres) of a point, by the fewest steps. Raises ``Fail`` where no place will do."""
    trip = Trip(house, me)

    def lands(place: Point) -> Iterator[float]:
        for part in range(round(360 / me.body.fine_turn)):
            heading = absolute(round(trip.grid.turn + part * me.body.fine_turn, 6))
            if math.dist(landing(house, me, i, r, (*place, heading))[:2], at) <= within:
                yield heading

    for goal, heading in trip.views(r, true_box(house, r), lands):
        return walk(me, trip.grid, path(trip.ways, trip.steps, goal), heading)
    raise Fail(st.NO_PATH, place=house.name(me, r))
