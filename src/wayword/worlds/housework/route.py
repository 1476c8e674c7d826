"""Routes: the low-level actions that bring a body to a thing, or into a room."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from wayword.core.angles import absolute, relative
from wayword.worlds.housework import statuses as st
from wayword.worlds.housework.body import Body
from wayword.worlds.housework.geometry import Box
from wayword.worlds.housework.house import Actor, Fail, House
from wayword.worlds.housework.lattice import Lattice, field, lattice, path, within
from wayword.worlds.housework.layout import Ints
from wayword.worlds.housework.scene import Room
from wayword.worlds.housework.sight import sees_box

TRIES = 400
"""Places tried, nearest first, for one from which a thing can be seen and reached."""


def route_to(house: House, me: Actor, i: int, box: Box | None = None) -> list[str]:
    """Verbs that bring ``me`` where it sees and reaches a thing, shortest first.

    ``box`` is where the thing is believed to be; by default where it is. Raises ``Fail`` where no
    place will do.
    """
    at = box or true_box(house, i)
    grid = lattice(house.layout, me.body, me.x, me.y, me.heading)
    ways, steps, start = _reachable(house, me, grid)
    dx = np.maximum(np.maximum(at[0] - grid.x, grid.x - at[2]), 0.0)
    dy = np.maximum(np.maximum(at[1] - grid.y, grid.y - at[3]), 0.0)
    reach = me.body.manipulation_distance - 1e-6
    goals = np.flatnonzero((steps >= 0) & (dx * dx + dy * dy <= reach * reach))
    goals = goals[np.argsort(steps[goals], kind="stable")][:TRIES]
    mid = float(house.things.mid[house.things.anchor[i]])
    shut = house.things.shut
    for goal in goals.tolist():
        x, y = (me.x, me.y) if goal == start else (float(grid.x[goal]), float(grid.y[goal]))
        panels = house.layout.panes(x, y, me.body.view_distance, me.body.eye, shut)
        for heading in _facing(me.body, grid.turn, (x, y), at):
            if sees_box(panels, me.body, (x, y, heading), at, mid):
                return _walk(me, grid, path(ways, steps, goal), heading)
    raise Fail(st.NO_PATH, place=house.name(me, i))


def route_into(house: House, me: Actor, room: Room) -> list[str]:
    """Verbs that bring ``me`` to the middle of a room's free floor. Raises ``Fail``."""
    grid = lattice(house.layout, me.body, me.x, me.y, me.heading)
    ways, steps, _ = _reachable(house, me, grid)
    inside = np.flatnonzero((steps >= 0) & within(grid.x, grid.y, room.polygon))
    if not len(inside):
        raise Fail(st.NO_PATH, place=room.name)
    x, y = grid.x[inside], grid.y[inside]
    middle = int(inside[np.argmin((x - x.mean()) ** 2 + (y - y.mean()) ** 2)])
    return _walk(me, grid, path(ways, steps, middle), None)


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
    quarters = int((parts + 1e-6) // 90)
    pans = round((parts - 90 * quarters) / body.fine_turn)
    return [f"turn_{side}"] * quarters + [f"pan_{side}"] * pans


def _reachable(house: House, me: Actor, grid: Lattice) -> tuple[Ints, Ints, int]:
    """Ways with shut doors and other bodies taken out, steps to each place, and the start."""
    ways = grid.ways.copy()
    flat = ways.ravel()
    for number in np.flatnonzero(house.things.shut).tolist():
        flat[grid.doors[number]] = -1
    start = grid.nearest(me.x, me.y)
    for _, x, y, radius in house.others(me):
        # A step between two places outside this circle keeps the bodies apart all the way.
        clear = (radius + me.body.radius) ** 2 + (me.body.step / 2) ** 2
        taken = (grid.x - x) ** 2 + (grid.y - y) ** 2 < clear
        taken[start] = False
        ways[taken[ways] & (ways >= 0)] = -1
        ways[taken] = -1
    return ways, field(ways, start), start


def _facing(body: Body, turn: float, place: tuple[float, float], box: Box) -> Iterator[float]:
    """Headings a body can take that are nearest to a box's middle, then to its nearest point."""
    x, y = place
    aims = (
        ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2),
        (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3])),
    )
    for ax, ay in aims:
        bearing = math.degrees(math.atan2(ax - x, ay - y))
        parts = round((bearing - turn) / body.fine_turn)
        yield absolute(round(turn + parts * body.fine_turn, 6))


def _walk(me: Actor, grid: Lattice, way: list[int], heading: float | None) -> list[str]:
    verbs: list[str] = []
    facing = me.heading
    for direction in way:
        ahead = absolute(grid.turn + 90.0 * direction)
        verbs += [*turns(me.body, facing, ahead), "move_ahead"]
        facing = ahead
    return verbs if heading is None else verbs + turns(me.body, facing, heading)
