"""Routes: low-level actions that bring a body to an object or into a room.

Routes follow a lattice: the positions that a body can reach in whole steps from its position and
heading. It is cached with the layout, as a body stays on it as long as it only turns and steps.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wayword.core import geometry as geo
from wayword.core.geometry import Bools, Box, Floats, Point, Segment
from wayword.worlds.household.house import Actor, Fail, House
from wayword.worlds.household.layout import DOORWAY_MARGIN, SLACK, Ints, Layout
from wayword.worlds.household.scene import Floor, Room
from wayword.worlds.household.sight import sees_box
from wayword.worlds.household.verbs import Body

PLANNING_MARGIN = -0.5 * SLACK
"""Metres added to a radius: half the overlap of a step, so that rounding fails no planned step."""
MOST_LATTICES = 64
"""Of a layout: bounds the memory of bodies with many step sizes. Chosen without measurement."""


@dataclass(frozen=True, slots=True, eq=False)
class Lattice:
    """Positions that a body can reach in whole steps.

    ``x``, ``y`` (P,): the positions, metres. ``neighbors`` (P, 4): the position after a step in
    each direction (ahead, right, back, left), -1 for none. Direction k has the heading ``turn + 90
    k``. ``doors``: for each door, the steps that it blocks when closed, as flat indices into
    ``neighbors``.
    """

    turn: float
    x: Floats
    y: Floats
    neighbors: Ints
    doors: tuple[NDArray[np.intp], ...]

    def point(self, i: int) -> Point:
        """Return a position, metres."""
        return float(self.x[i]), float(self.y[i])


def find_lattice(
    layout: Layout,
    body: Body,
    x: float,
    y: float,
    heading: float,
) -> Lattice:
    """Return the lattice through a body's position, aligned with its possible headings.

    ``heading`` is in degrees. The lattice is cached with the layout, so callers must
    not change its arrays: all episodes in the house share them.
    """
    # Rounded, so that lattices that differ by accumulated rounding errors share one key.
    turn = heading % body.fine_turn
    if min(turn, body.fine_turn - turn) < 1e-6:
        turn = 0.0
    turn = round(turn, 6)
    # Position in the rotated frame: u to the right, v ahead. What is left of whole
    # steps identifies the lattice.
    east, north = geo.unit(turn)
    step = body.step
    coordinates = (x * north - y * east, x * east + y * north)
    offset = [round(value - step * round(value / step), 6) for value in coordinates]
    key = (turn, *offset, step, body.radius)
    cached = layout.lattices.get(key)
    if isinstance(cached, Lattice):
        return cached
    # A lattice of a house has thousands of positions; old ones are dropped together.
    if len(layout.lattices) >= MOST_LATTICES:
        layout.lattices.clear()

    # All positions within the bounds, in the rotated frame (u to the right, v ahead).
    corners = geo.box_corners(layout.bounds)
    us = [cx * north - cy * east for cx, cy in corners]
    vs = [cx * east + cy * north for cx, cy in corners]
    # One step beyond the bounds on every side, so that doorways in outer walls are
    # included.
    first_i = math.floor(min(us) / step) - 1
    first_j = math.floor(min(vs) / step) - 1
    i = np.arange(first_i, math.ceil(max(us) / step) + 2)
    j = np.arange(first_j, math.ceil(max(vs) / step) + 2)
    u, v = np.meshgrid(i * step + offset[0], j * step + offset[1])  # (high, wide)
    xs = (u * north + v * east).ravel()
    ys = (v * north - u * east).ravel()
    steps = _Steps(xs, ys, u.shape, step)

    # The steps that stay on the published floor, or indoors and clear of walls and furniture.
    # A published floor contains walls and furniture already.
    if layout.scene.floor is not None:
        steps.keep_floor(layout.scene.floor)
    else:
        free = steps.indoors(layout.scene.rooms)
        steps.is_open &= free & free[steps.targets]
        for wall in layout.walls:
            steps.remove(*steps.near_wall(wall, body.radius))
        for _, box in layout.boxes:
            steps.remove(*steps.through_box(box, body.radius))
    # Doors may open and close, so their steps are listed apart and kept in the lattice.
    doors = tuple(
        steps.door_edges(*steps.near_wall(leaf, body.radius)) for leaf in layout.doors
    )
    lattice = Lattice(
        turn,
        steps.x,
        steps.y,
        steps.neighbors(),
        doors,
    )
    layout.lattices[key] = lattice
    return lattice


def step_counts(neighbors: Ints, start: int) -> Ints:
    """Return (P,) the number of steps from ``start`` to every position, -1 without a path.

    ``neighbors`` (P, 4) as in :class:`Lattice`. The result is read-only, since it is
    cached.
    """
    # Bytes can be hashed, so the same walkable steps share one search, also after a
    # copy.
    return _step_counts(neighbors.tobytes(), start)


@functools.lru_cache(maxsize=32)  # an expert plans several trips from one position
def _step_counts(neighbors: bytes, start: int) -> Ints:
    """Return :func:`step_counts` for neighbors as bytes, which can be cached."""
    # Plain lists: frontiers in a home are too small for array operations to pay off.
    flat = np.frombuffer(neighbors, dtype=np.int32).tolist()
    steps = [-1] * (len(flat) // 4)
    steps.append(0)  # index -1, for missing neighbors: counts as reached
    steps[start] = 0
    count = 0
    frontier = [start]
    while frontier:
        # Breadth first: all steps have the same length.
        count += 1
        reached = []
        for place in frontier:
            for neighbor in flat[4 * place : 4 * place + 4]:
                if steps[neighbor] < 0:
                    steps[neighbor] = count
                    reached.append(neighbor)
        frontier = reached
    counts = np.array(steps[:-1], dtype=np.int32)
    # Shared by the cache, so nobody may write to it.
    counts.setflags(write=False)
    return counts


def path_directions(
    neighbors: Ints,
    steps: Ints,
    goal: int,
) -> list[int]:
    """Return the directions of a shortest path to ``goal``, with few turns.

    ``steps`` are the :func:`step_counts` of the same ``neighbors``; ``goal`` must be
    reachable. Directions are 0 to 3 as in :class:`Lattice`, from the start to the goal.
    """
    directions: list[int] = []
    place = goal
    direction = -1
    while steps[place] > 0:
        # Steps are reversible, so stepping back from here gives the previous position.
        before = neighbors[place].tolist()
        options = [
            k
            for k in range(4)
            if before[k] >= 0 and steps[before[k]] == steps[place] - 1
        ]
        # Straight on where it costs nothing: turns are actions and count.
        if direction not in options:  # else straight on
            direction = options[0]
        directions.append((direction + 2) % 4)
        place = before[direction]
    # Collected from the goal, so reversed at the end.
    return directions[::-1]


def is_inside_polygon(
    x: Floats,
    y: Floats,
    polygon: tuple[Point, ...],
) -> Bools:
    """Return a (P,) mask of the points inside a polygon (even-odd rule).

    Points on an edge may count as inside or outside: callers that need them add a
    margin.
    """
    is_inside = np.zeros(len(x), dtype=np.bool_)
    ax, ay = polygon[-1]
    for bx, by in polygon:
        # A horizontal edge is crossed by no horizontal ray.
        if by != ay:
            # Each crossing of a ray to the east changes the side.
            is_inside ^= ((ay > y) != (by > y)) & (
                x < (bx - ax) * (y - ay) / (by - ay) + ax
            )
        ax = bx
        ay = by
    return is_inside


class _Steps:
    """The steps of a lattice under construction, between P positions in rows and columns.

    Only those ahead and to the right are stored: ``is_open`` (2, P) says if the step is
    possible, and ``targets`` (2, P) is the position after it, -1 beyond the grid. The
    others are their reverse.
    """

    def __init__(
        self,
        x: Floats,
        y: Floats,
        shape: tuple[int, ...],
        step: float,
    ) -> None:
        self.x = x
        self.y = y
        self.step = step
        # Neighbors by index: the row above is ahead, the column to the right is right.
        number = np.arange(len(x)).reshape(shape)
        ahead, right = np.full((2, *shape), -1)
        ahead[:-1] = number[1:]
        right[:, :-1] = number[:, 1:]
        self.targets = np.stack([ahead.ravel(), right.ravel()])
        self.is_open = self.targets >= 0
        # Sorted by x once: every wall and box looks up its strip by bisection.
        self.order = np.argsort(x, kind="stable")
        self.sorted_x = x[self.order]

    def indoors(self, rooms: tuple[Room, ...]) -> Bools:
        """Return a (P,) mask of positions in a room or in a doorway next to one."""
        inside = np.zeros(len(self.x), dtype=np.bool_)
        for room in rooms:
            inside |= is_inside_polygon(self.x, self.y, room.polygon)
            for a, b in geo.sides(room.polygon):
                near = self._around(geo.bounding_box((a, b)), DOORWAY_MARGIN)
                away = geo.segment_distances(
                    self.x[near],
                    self.y[near],
                    *a,
                    *b,
                )
                inside[near[away < DOORWAY_MARGIN + PLANNING_MARGIN]] = True
        return inside

    def keep_floor(self, floor: Floor) -> None:
        """Remove every step that leaves the floor, checked every half cell."""
        # Half a cell: no blocked cell can lie between two samples.
        count = max(1, math.ceil(2 * self.step / floor.spacing))
        cells = floor_cells(floor)
        # A step beyond the grid has the target -1: it reads the last position, and is closed.
        for n in range(count + 1):
            x = self.x + (self.x[self.targets] - self.x) * n / count
            y = self.y + (self.y[self.targets] - self.y) * n / count
            self.is_open &= geo.grid_lookup(
                cells,
                x,
                y,
                (floor.x, floor.y),
                floor.spacing,
            )

    def remove(
        self,
        near: NDArray[np.intp],
        is_hit: Bools,
    ) -> None:
        """Remove the hit steps (2, N) of positions (N,)."""
        self.is_open[:, near] &= ~is_hit

    def door_edges(
        self,
        near: NDArray[np.intp],
        is_hit: Bools,
    ) -> NDArray[np.intp]:
        """Return both directions of the hit steps, as flat indices into ``neighbors``.

        ``near`` (N,) and ``is_hit`` (2, N) are those of :meth:`near_wall` for a door's
        leaf.
        """
        pairs: list[NDArray[np.intp]] = []
        # Direction k from the start is direction k + 2 from the target.
        for k in range(2):
            start = near[is_hit[k]]
            start = start[self.targets[k, start] >= 0]
            pairs += [start * 4 + k, self.targets[k, start] * 4 + k + 2]
        return np.concatenate(pairs)

    def neighbors(self) -> Ints:
        """Return the positions (P, 4) after a step ahead, right, back and left, -1 for none."""
        # Steps are symmetric: what blocks a step blocks its reverse.
        neighbors = np.full((len(self.x), 4), -1, dtype=np.int32)
        for k in range(2):  # ahead and right, as in ``targets``
            start = np.flatnonzero(self.is_open[k])
            end = self.targets[k, start]
            neighbors[start, k] = end
            neighbors[end, k + 2] = start  # the reverse step
        return neighbors

    def near_wall(
        self,
        wall: Segment,
        radius: float,
    ) -> tuple[NDArray[np.intp], Bools]:
        """Return positions near a wall, and a (2, N) mask of their steps that meet it.

        A step meets the wall if it crosses it or comes within ``radius`` (metres) of
        it.
        """
        (ax, ay), (bx, by) = wall
        # A step can only touch the wall from within its own length.
        near = self._around(geo.bounding_box(wall), radius + self.step)
        targets = self.targets[:, near]
        px = self.x[near]
        py = self.y[near]
        qx = self.x[targets]  # (2, N)
        qy = self.y[targets]

        # Where the line of a step crosses that of the wall: t along the step, u along the wall.
        rx = qx - px
        ry = qy - py
        sx = bx - ax
        sy = by - ay
        dx = ax - px
        dy = ay - py
        turn = rx * sy - ry * sx
        # A product of zero means parallel lines; 1 keeps the division quiet and is
        # masked out below.
        safe = np.where(turn == 0, 1.0, turn)
        t = (dx * sy - dy * sx) / safe
        u = (dx * ry - dy * rx) / safe
        crosses = turn != 0
        crosses &= (t >= 0) & (t <= 1)
        crosses &= (u >= 0) & (u <= 1)

        # Segments that do not cross are closest at an endpoint of one of them.
        distances = (
            geo.segment_distances(px, py, ax, ay, bx, by),
            geo.segment_distances(qx, qy, ax, ay, bx, by),
            geo.segment_distances(ax, ay, px, py, qx, qy),
            geo.segment_distances(bx, by, px, py, qx, qy),
        )
        away = functools.reduce(np.minimum, distances)
        away = np.where(crosses, 0.0, away)
        return near, away < radius + PLANNING_MARGIN

    def through_box(
        self,
        box: Box,
        radius: float,
    ) -> tuple[NDArray[np.intp], Bools]:
        """Return positions around a box, and a (2, N) mask of their steps that enter it.

        The box is grown by ``radius`` (metres) on all sides.
        """
        near = self._around(box, radius + self.step)
        # The point against a grown box, as collisions of the household world are
        # judged.
        grown = radius + PLANNING_MARGIN
        entry = np.zeros((2, len(near)))
        exit_ = np.ones((2, len(near)))
        for axis, values in enumerate((self.x, self.y)):
            start = values[near]
            step = values[self.targets[:, near]] - start
            # For a step along the other axis, a tiny number avoids 0 / 0 in the slab test.
            step = np.where(np.abs(step) < 1e-9, 1e-9, step)
            low = box[axis] - grown
            high = box[axis + 2] + grown
            one = (low - start) / step
            two = (high - start) / step
            entry = np.maximum(entry, np.minimum(one, two))
            exit_ = np.minimum(exit_, np.maximum(one, two))
        return near, entry <= exit_

    def _around(self, box: Box, by: float) -> NDArray[np.intp]:
        """Return positions within a box enlarged by a distance."""
        # Bisection on x, then a test of the few on y.
        left = int(np.searchsorted(self.sorted_x, box[0] - by))
        right = int(np.searchsorted(self.sorted_x, box[2] + by, side="right"))
        near = self.order[left:right]
        y = self.y[near]
        is_inside = (y >= box[1] - by) & (y <= box[3] + by)
        return near[is_inside]


def floor_cells(floor: Floor) -> Bools:
    """Return an (H, W) mask of a floor's walkable cells."""
    # Short rows are filled up as blocked.
    columns = max(len(row) for row in floor.rows)
    rows = [row.ljust(columns, "#") for row in floor.rows]
    marks = np.frombuffer("".join(rows).encode("ascii", "replace"), "S1")
    return np.asarray(marks.reshape(len(rows), columns) == b".")


# Positions to test for a view of an object, which may be visible from nowhere.
MAX_TRIES = 400


def closed_doors_to(
    house: House,
    me: Actor,
    target: int | Room,
) -> list[int]:
    """Return the indices of the doors to open on the shortest path to a target, in order.

    The target is an object's index or a room. Doors that cannot be opened count as
    walls. Raises ``Fail("no_path")`` without a path.
    """
    trip = Trip(house, me, open_doors=True)
    goal, _ = trip.nearest_goal(target)
    # Step, as a flat index into the neighbors -> the closed door that it passes through.
    door_at: dict[int, int] = {}
    for number in np.flatnonzero(house.entities.closed_doors).tolist():
        door_at |= dict.fromkeys(trip.grid.doors[number].tolist(), number)
    # Each door once, in the order of the path: a dictionary keeps it.
    doors: dict[int, None] = {}
    place = trip.start
    for direction in path_directions(trip.neighbors, trip.steps, goal):
        door = door_at.get(place * 4 + direction)
        if door is not None:
            doors[door + house.entities.object_count] = None
        place = int(trip.neighbors[place, direction])
    return list(doors)


class Trip:
    """Positions a body can walk to from where it stands, by open ``neighbors``, and the
    ``steps`` to each.

    Planned on the true state at the time of creation: make a new one after any change.
    ``open_doors``: treat openable doors as open. ``within``: maximum distance (metres)
    of goals from their object, if less than the body's reach.
    """

    def __init__(
        self,
        house: House,
        me: Actor,
        open_doors: bool = False,
        within: float = math.inf,
    ) -> None:
        self.house = house
        self.me = me
        # Just within reach, so that rounding at the goal cannot make the object too
        # far.
        self.reach = min(within, me.body.manipulation_distance) - SLACK
        grid = find_lattice(
            house.layout,
            me.body,
            me.x,
            me.y,
            me.heading,
        )
        self.grid = grid
        # The nearest position, at most a rounding error away.
        self.start = int(np.argmin((grid.x - me.x) ** 2 + (grid.y - me.y) ** 2))
        # A copy: the lattice is shared by all episodes with this layout.
        neighbors = grid.neighbors.copy()
        self.neighbors = neighbors

        # Without the steps through closed doors, and those close to other bodies.
        entities = house.entities
        flat = neighbors.ravel()
        # A closed door stops every step through it, unless the plan may open it.
        for number in np.flatnonzero(entities.closed_doors).tolist():
            if not (open_doors and entities.openable[entities.object_count + number]):
                flat[grid.doors[number]] = -1
        for _, x, y, radius in house.others(me):
            # A step between two positions outside this circle never brings the bodies into contact.
            # The closest point of a step is at most half a step from one of its ends.
            contact = radius + me.body.radius
            half_step = me.body.step / 2
            clear = contact**2 + half_step**2
            taken = (grid.x - x) ** 2 + (grid.y - y) ** 2 < clear
            # A body can always leave its own place.
            taken[self.start] = False
            neighbors[taken[neighbors] & (neighbors >= 0)] = -1
            neighbors[taken] = -1
        self.steps = step_counts(neighbors, self.start)

    def verbs(self, goal: int, heading: float | None) -> list[str]:
        """Return verbs for a shortest path to ``goal`` and a final turn to ``heading`` if given.

        ``goal`` is a reachable position of the lattice, ``heading`` in degrees.
        """
        verbs: list[str] = []
        facing = self.me.heading
        for direction in path_directions(self.neighbors, self.steps, goal):
            # Turn, then step: routes only walk ahead, never backwards or sideways.
            ahead = geo.absolute(self.grid.turn + 90.0 * direction)
            verbs += [*turn_verbs(self.me.body, facing, ahead), "move_ahead"]
            facing = ahead
        if heading is None:
            return verbs
        return verbs + turn_verbs(self.me.body, facing, heading)

    def near(self, box: Box, reach: float) -> Bools:
        """Return a (P,) mask of positions within reach (metres) of a box."""
        dx = np.maximum(np.maximum(box[0] - self.grid.x, self.grid.x - box[2]), 0.0)
        dy = np.maximum(np.maximum(box[1] - self.grid.y, self.grid.y - box[3]), 0.0)
        is_near: Bools = dx * dx + dy * dy <= reach * reach
        return is_near

    def views(
        self,
        i: int,
        box: Box,
        headings: Callable[[Point], Iterable[float]],
        max_tries: int | None = None,
    ) -> Iterator[tuple[int, float]]:
        """Yield positions within reach of an object, nearest first, with each heading
        from which it is visible.

        The object ``i`` is assumed to be in ``box``, at its true height. ``headings``
        gives the headings (degrees) to try at a position; ``max_tries`` limits the
        positions tried.
        """
        house = self.house
        me = self.me
        grid = self.grid
        # Reach first: it costs one comparison, sight costs many.
        near = self.near(box, self.reach)
        goals = np.flatnonzero((self.steps >= 0) & near)
        mid_height = float(house.entities.mid_height[house.entities.anchor[i]])
        # Nearest by walking; of equal ones the first in the lattice, so that routes
        # repeat exactly.
        nearest_first = goals[np.argsort(self.steps[goals], kind="stable")]
        eye = me.body.eye
        closed = house.entities.closed_doors
        for goal in nearest_first[:max_tries].tolist():
            x, y = grid.point(goal)
            if goal == self.start:  # which the lattice has only to 1e-6 m
                x = me.x
                y = me.y
            panels = house.layout.panels_near(
                x,
                y,
                me.body.view_distance,
                eye,
                closed,
            )
            for heading in headings((x, y)):
                if sees_box(
                    panels,
                    me.body,
                    (x, y, heading),
                    box,
                    mid_height,
                ):
                    yield goal, heading

    def nearest_goal(
        self,
        target: int | Room,
        box: Box | None = None,
        aim: Point | None = None,
    ) -> tuple[int, float | None]:
        """Return the nearest position from which an object is visible and within reach,
        and the heading (degrees) to face it. For a room: its most central position,
        and None.

        ``box`` is the assumed box of the object, by default its true one. With ``aim``,
        that point on the object must be within reach, too. Raises ``Fail("no_path")``.
        """
        if isinstance(target, Room):
            inside = (self.steps >= 0) & is_inside_polygon(
                self.grid.x,
                self.grid.y,
                target.polygon,
            )
            places = np.flatnonzero(inside)
            if not len(places):
                raise Fail("no_path", place=target.name)
            x = self.grid.x[places]
            y = self.grid.y[places]
            # The position nearest to the mean of all: away from walls and doors.
            central = np.argmin((x - x.mean()) ** 2 + (y - y.mean()) ** 2)
            return int(places[central]), None
        turn = self.grid.turn
        fine = self.me.body.fine_turn
        box = box or true_box(self.house, target)
        west, south, east, north = box

        def headings(place: Point) -> Iterator[float]:
            """Yield headings closest to the object's center, then to its nearest point."""
            if aim and math.dist(place, aim) > self.reach:
                return
            # The center first: an object in the middle of the view is described as
            # such.
            center = ((west + east) / 2, (south + north) / 2)
            near = (min(max(place[0], west), east), min(max(place[1], south), north))
            # A body turns in fine steps, so the heading is rounded to one that it can
            # take.
            for point in (center, near):
                exact = geo.bearing(place, point)
                parts = round((exact - turn) / fine)
                yield geo.absolute(round(turn + parts * fine, 6))

        # Few positions reach a point on the object, so all of them are tried.
        max_tries = None if aim else MAX_TRIES
        for goal, heading in self.views(
            target,
            box,
            headings,
            max_tries,
        ):
            return goal, heading
        raise Fail("no_path", place=self.house.name(self.me, target))


def believed_box(house: House, me: Actor, i: int) -> Box:
    """Return the box where an actor sees or last saw an object.

    A held object has an empty box at the body. The box may be wrong: objects move.
    Raises ``Fail("not_visible")`` for an object that the actor has never seen.
    """
    # What is held is wherever the body is.
    if house.holder(i) == me.number:
        return (me.x, me.y, me.x, me.y)
    if i in me.view.entities:
        return true_box(house, i)
    # An actor may only go where it has seen the object, even if that has moved since.
    if not me.discovered[i]:
        raise Fail("not_visible", object=house.name(me, i))
    entities = house.entities
    a = int(me.last_box[i])
    half_width = float(entities.half_x[a] - entities.inset_x[a])
    half_depth = float(entities.half_y[a] - entities.inset_y[a])
    x = float(me.last_x[a])
    y = float(me.last_y[a])
    return (
        x - half_width,
        y - half_depth,
        x + half_width,
        y + half_depth,
    )


def true_box(house: House, i: int) -> Box:
    """Return the inset box of an object or of the receptacle that encloses it."""
    t = house.entities
    a = int(house.entities.anchor[i])
    return (
        float(t.west[a]),
        float(t.south[a]),
        float(t.east[a]),
        float(t.north[a]),
    )


def turn_verbs(
    body: Body,
    start: float,
    end: float,
) -> list[str]:
    """Return the fewest turns and pans from one heading to another (degrees), as close as possible.

    Pans turn by ``body.fine_turn``; what is left is less than half of it.
    """
    turn = geo.relative(end, start)
    side = "right" if turn > 0 else "left"
    degrees = round(abs(turn) / body.fine_turn) * body.fine_turn
    # Large turns first: fewest actions.
    # The margin turns 89.9999999 degrees by a quarter turn instead of a series of pans.
    quarters = int((degrees + 1e-6) // 90)
    pans = round((degrees - 90 * quarters) / body.fine_turn)
    return [f"turn_{side}"] * quarters + [f"pan_{side}"] * pans


HAND_REACH = 0.3  # metres past the near edge of a receptacle at which objects are put
# Metres from the body instead, if it is inside the box, as in a counter's bend.
ARM_LENGTH = 0.6
Pose = tuple[float, float, float]
"""x, y (metres) and heading (degrees)."""


def landing_spot(
    house: House,
    me: Actor,
    i: int,
    r: int,
    pose: Pose,
    aim: Point | None = None,
) -> tuple[float, float, float]:
    """Return x, y and underside (metres) of an object ``i`` put in or on ``r`` from a pose.

    The spot is within the edges of ``r``: at ``aim`` if given, else ahead of the body
    within its reach. Only a spot given by ``aim`` may be out of reach: the caller
    checks that.
    """
    t = house.entities
    # The object stays within the edges, unless it is larger than they are.
    room_x = max(t.half_x[r] - t.half_x[i], 0.0)
    room_y = max(t.half_y[r] - t.half_y[i], 0.0)
    east, north = geo.unit(pose[2])
    # Something held is reached by bending the arm, so no distance is added.
    ahead = HAND_REACH
    if house.holder(r) != me.number:
        distance = geo.box_distance(pose[0], pose[1], true_box(house, r))
        ahead = ARM_LENGTH if distance == 0 else ahead + distance

    # The aim, else a point ahead; if that is out of reach, the nearest point of the receptacle.
    points = [
        (pose[0] + forward * east, pose[1] + forward * north)
        for forward in (ahead, 0.0)
    ]
    # An aim is exact: no second guess.
    if aim is not None:
        points = [aim]
    low_x = t.x[r] - room_x
    low_y = t.y[r] - room_y
    high_x = t.x[r] + room_x
    high_y = t.y[r] + room_y
    spot = (0.0, 0.0)
    for x, y in points:
        spot = (
            float(min(max(x, low_x), high_x)),
            float(min(max(y, low_y), high_y)),
        )
        if math.dist(spot, pose[:2]) ** 2 <= me.body.manipulation_distance**2:
            break
    # On top, or halfway up inside.
    offset = t.height[r]
    if t.specs[r].receptacle != "on":
        offset = t.height[r] / 2
    return (*spot, float(t.bottom[r] + offset))


def route_to_put(
    house: House,
    me: Actor,
    i: int,
    r: int,
    point: Point,
    within: float,
) -> list[str]:
    """Return the fewest verbs to a pose from which a put object lands near a point.

    The object ``i`` is held, and put in or on ``r`` without an aim; near is within a
    distance of ``within`` metres of ``point``. Raises ``Fail("no_path")`` without such
    a pose.
    """
    trip = Trip(house, me)

    def lands(place: Point) -> Iterator[float]:
        """Yield the headings from which the object lands near enough."""
        for part in range(round(360 / me.body.fine_turn)):
            heading = geo.absolute(round(trip.grid.turn + part * me.body.fine_turn, 6))
            x, y, _ = landing_spot(
                house,
                me,
                i,
                r,
                (*place, heading),
            )
            if math.dist((x, y), point) <= within:
                yield heading

    # In order of steps, so the first pose that works is the shortest.
    for goal, heading in trip.views(r, true_box(house, r), lands):
        return trip.verbs(goal, heading)
    raise Fail("no_path", place=house.name(me, r))
