"""Routes: the low-level actions that bring a body to a thing, or into a room."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from wayword.core.geometry import Box, Point, absolute, bearing, box_distance, relative, unit
from wayword.worlds.household import verbs as st
from wayword.worlds.household.house import Actor, Fail, House
from wayword.worlds.household.lattice import Lattice, field, lattice, path, within
from wayword.worlds.household.layout import SLACK
from wayword.worlds.household.scene import Room
from wayword.worlds.household.sight import sees_box
from wayword.worlds.household.verbs import Body

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
        self.ways = grid.ways.copy()
        self._shut(open_doors)
        self._crowd()
        self.steps = field(self.ways, self.start)

    def to_thing(self, i: int, box: Box | None) -> tuple[int, float]:
        """The nearest place from which a thing is in reach and view, and the heading there."""
        house, me, grid = self.house, self.me, self.grid
        at = box or true_box(house, i)
        dx = np.maximum(np.maximum(at[0] - grid.x, grid.x - at[2]), 0.0)
        dy = np.maximum(np.maximum(at[1] - grid.y, grid.y - at[3]), 0.0)
        reach = me.body.manipulation_distance - SLACK
        goals = np.flatnonzero((self.steps >= 0) & (dx * dx + dy * dy <= reach * reach))
        goals = goals[np.argsort(self.steps[goals], kind="stable")][:TRIES]
        mid = float(house.things.mid[house.things.anchor[i]])
        for goal in goals.tolist():
            x, y = (
                (me.x, me.y) if goal == self.start else (float(grid.x[goal]), float(grid.y[goal]))
            )
            view = me.body.view_distance
            panels = house.layout.panes(x, y, view, me.body.eye, house.things.shut)
            for heading in _facing(me.body, grid.turn, (x, y), at):
                if sees_box(panels, me.body, (x, y, heading), at, mid):
                    return goal, heading
        raise Fail(st.NO_PATH, place=house.name(me, i))

    def into_room(self, room: Room) -> int:
        """The place nearest to the middle of what one can reach of a room."""
        inside = np.flatnonzero((self.steps >= 0) & within(self.grid.x, self.grid.y, room.polygon))
        if not len(inside):
            raise Fail(st.NO_PATH, place=room.name)
        x, y = self.grid.x[inside], self.grid.y[inside]
        return int(inside[np.argmin((x - x.mean()) ** 2 + (y - y.mean()) ** 2)])

    def _shut(self, open_doors: bool) -> None:
        things, flat = self.house.things, self.ways.ravel()
        for number in np.flatnonzero(things.shut).tolist():
            if not (open_doors and things.openable[things.objects + number]):
                flat[self.grid.doors[number]] = -1

    def _crowd(self) -> None:
        """Take out the places that are too near to other bodies."""
        me, grid, ways = self.me, self.grid, self.ways
        for _, x, y, radius in self.house.others(me):
            # A step between two places outside this circle keeps the bodies apart all the way.
            clear = (radius + me.body.radius) ** 2 + (me.body.step / 2) ** 2
            taken = (grid.x - x) ** 2 + (grid.y - y) ** 2 < clear
            taken[self.start] = False
            ways[taken[ways] & (ways >= 0)] = -1
            ways[taken] = -1


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
    grid, box = trip.grid, true_box(house, r)
    dx = np.maximum(np.maximum(box[0] - grid.x, grid.x - box[2]), 0.0)
    dy = np.maximum(np.maximum(box[1] - grid.y, grid.y - box[3]), 0.0)
    reach = me.body.manipulation_distance - SLACK
    goals = np.flatnonzero((trip.steps >= 0) & (dx * dx + dy * dy <= reach * reach))
    mid = float(house.things.mid[house.things.anchor[r]])
    for goal in goals[np.argsort(trip.steps[goals], kind="stable")].tolist():
        x, y = (me.x, me.y) if goal == trip.start else (float(grid.x[goal]), float(grid.y[goal]))
        panels = house.layout.panes(x, y, me.body.view_distance, me.body.eye, house.things.shut)
        for heading in _headings(me, grid.turn):
            spot = landing(house, me, i, r, (x, y, heading))
            near = math.dist(spot[:2], at) <= within
            if near and sees_box(panels, me.body, (x, y, heading), box, mid):
                return walk(me, grid, path(trip.ways, trip.steps, goal), heading)
    raise Fail(st.NO_PATH, place=house.name(me, r))


def _headings(me: Actor, turn: float) -> Iterator[float]:
    for part in range(round(360 / me.body.fine_turn)):
        yield absolute(round(turn + part * me.body.fine_turn, 6))
