"""A full step in a house of words at 30, 80, 300 and 1,000 objects, against plain shapely.

A step is what a run pays for each: is the action on the menu, carry it out (with its collisions),
observe, and put the feedback and the observation into words. Both versions walk the same way,
action for action, in the same houses (rooms of 4 m, about ten objects in each), and must see the
same objects at every step.

The plain version is written the way such testbeds are written: an object at a time, a shapely
geometry each (made once), a line of sight built for every object in the cone, and every wall, door
and tall box in range asked whether it crosses. It takes a third of the time at 80 objects, and a
tenth at 1,000, of one that asks everything in the house: about as long as LangSuitE's own step.

Times are the best of several rounds over the same steps, in this process, so that a busy machine
blurs both alike. ``python -m benchmarks.rooms`` prints the ratios and exits with 1 under a bound:
0.15 ms at 80 objects, at most twice as long at 1,000 as at 30, and the plain version's 12th part
at 80 objects and 22nd at 1,000. The bounds leave room for a busy machine.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks._rows import Rows, in_loops
from wayword.core.action import Action
from wayword.core.episode import Episode
from wayword.core.geometry import unit
from wayword.verbalize.household import describe, feedback
from wayword.worlds.household.builder import SceneBuilder
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.household.world import HouseholdWorld

SIZES = (30, 80, 300, 1000)
STEPS = 200
ROUNDS = 15
PLAIN_STEPS = {30: 40, 80: 40, 300: 40, 1000: 40}
MOVES = ("move_ahead", "move_ahead", "turn_left", "turn_right", "pan_left", "pan_right")
TABLES = ("counter", "table", "shelf", "cabinet")
SMALL_OBJECTS = ("apple", "mug", "knife", "bowl", "book")
ROOM = 4.0


def house(objects: int) -> Scene:
    """Rooms in a square grid, doors between neighbours (one in four shut), ten objects a room:
    three pieces of furniture along the walls, one of them tall, and what is in or on them."""
    rng = random.Random(objects)
    rooms = max(2, objects // 10)
    wide = math.ceil(math.sqrt(rooms))
    made = SceneBuilder(f"house-{objects}")
    cells = [(n % wide, n // wide) for n in range(rooms)]
    for n, (i, j) in enumerate(cells):
        x = ROOM * i
        y = ROOM * j
        made.room(
            f"room_{n}", [(x, y), (x + ROOM, y), (x + ROOM, y + ROOM), (x, y + ROOM)]
        )
    for i, j in cells:
        x = ROOM * i
        y = ROOM * j
        if (i + 1, j) in cells:
            a = (x + ROOM, y + 1.5)
            b = (x + ROOM, y + 2.5)
            made.door(f"door|{i}|{j}|e", a, b, closed=rng.random() < 0.25)
        if (i, j + 1) in cells:
            a = (x + 1.5, y + ROOM)
            b = (x + 2.5, y + ROOM)
            made.door(f"door|{i}|{j}|n", a, b, closed=rng.random() < 0.25)
    for n in range(objects):
        i, j = cells[n // 10 % rooms]
        x = ROOM * i
        y = ROOM * j
        if n % 10 < 3:
            tall = n % 10 == 0
            kind = "fridge" if tall else rng.choice(TABLES)
            at = ((x + 0.5, y + 0.5), (x + 3.4, y + 0.4), (x + 0.5, y + 3.5))[n % 10]
            size = (0.8, 0.7, 1.9 if tall else 0.8)
            affordances = ("openable",) if tall else ()
            holder = made.furniture(
                *(kind, *at, *size, *affordances),
                receptacle="in" if tall else "on",
                open=rng.random() < 0.5,
            )
        elif n % 10 < 8:
            spread = {
                "x": at[0] + rng.uniform(-0.3, 0.3),
                "y": at[1] + rng.uniform(-0.2, 0.2),
            }
            made.item(rng.choice(SMALL_OBJECTS), parent=holder, **spread)
        else:
            made.item(
                rng.choice(SMALL_OBJECTS),
                x=x + rng.uniform(1, 3),
                y=y + rng.uniform(1, 3),
            )
    return made.build()


def walk() -> list[Action]:
    """The steps that both versions take."""
    rng = random.Random(7)
    return [Action(rng.choice(MOVES)) for _ in range(STEPS)]


def start(scene: Scene) -> HouseholdWorld:
    """A world with one body in the middle of the house's middle room."""
    middle = scene.rooms[len(scene.rooms) // 2].polygon[0]
    pose = {"x": middle[0] + ROOM / 2, "y": middle[1] + ROOM / 2, "heading": 0.0}
    world = HouseholdWorld(scene)
    world.reset(Episode("bench", "", scene.name, {"poses": {"agent": pose}}))
    return world


def full_step(world: HouseholdWorld, action: Action) -> str:
    """What a run pays for a step."""
    if action not in world.action_space("agent"):
        raise ValueError(str(action))
    result = world.step("agent", action)
    return f"{feedback(result)}\n{describe(world.observe('agent'))}"


class Plain:
    """The same rules, an object at a time, with shapely.

    Geometries are made once, and what is out of range by its bounds is dropped first.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.objects = {item.id: item for item in scene.objects}
        from shapely.geometry import LineString, box

        lines = [(w.a, w.b) for w in scene.walls] + [
            (d.a, d.b) for d in scene.doors if not d.open
        ]
        self.barriers = [(line, line.bounds) for line in map(LineString, lines)]
        shapes = {
            o.id: box(
                o.x - o.width / 2,
                o.y - o.depth / 2,
                o.x + o.width / 2,
                o.y + o.depth / 2,
            )
            for o in scene.objects
        }
        self.solid = [shapes[o.id].bounds for o in scene.objects if o.solid]
        self.eye = 1.5
        self.range = 6.0
        self.radius = 0.2
        self.step_length = 0.25
        self.tall = [
            (o, shapes[o.id], shapes[o.id].bounds)
            for o in scene.objects
            if o.opaque
            and "pickupable" not in o.affordances
            and o.bottom + o.height > self.eye
        ]
        self.targets = [(o.id, *self._target(o)) for o in scene.objects]
        self.names: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        middle = scene.rooms[len(scene.rooms) // 2].polygon[0]
        self.x = middle[0] + ROOM / 2
        self.y = middle[1] + ROOM / 2
        self.heading = 0.0
        self.angle = 2 * math.degrees(math.atan(18 / 10))

    def full_step(self, action: Action) -> str:
        """Act, look, and say it."""
        turn = {"turn_left": -90, "turn_right": 90, "pan_left": -30, "pan_right": 30}
        outcome = "Done."
        if action.name == "move_ahead":
            outcome = "Done." if self._move() else "The way is blocked."
        else:
            self.heading = (self.heading + turn[action.name]) % 360
        return f"{outcome}\n{self._describe()}"

    def seen(self) -> dict[str, float]:
        """Objects and doors in view, with their distances."""
        from shapely.geometry import Polygon

        fan = [(self.x, self.y)]
        bend = self.range / math.cos(math.radians(self.angle / 80))
        for k in range(41):
            east, north = unit(self.heading + self.angle * (k / 40 - 0.5))
            fan.append((self.x + bend * east, self.y + bend * north))
        self.cone = Polygon(fan)
        self.near_by = [
            line for line, bounds in self.barriers if self._in_range(bounds)
        ]
        self.tall_by = [each[:2] for each in self.tall if self._in_range(each[2])]
        found: dict[str, float] = {}
        for name, target, hidden in self.targets:
            if hidden:
                continue
            level = target.bottom + target.height / 2
            near = self._nearest(
                (target.x, target.y), (target.width / 2, target.depth / 2)
            )
            if math.dist(near, (self.x, self.y)) > self.range:
                continue
            if self._clear((target.x, target.y), level) or self._clear(near, level):
                found[name] = math.dist(near, (self.x, self.y))
        for door in self.scene.doors:
            center = (door.a[0] + door.b[0]) / 2, (door.a[1] + door.b[1]) / 2
            half = abs(door.b[0] - door.a[0]) / 2, abs(door.b[1] - door.a[1]) / 2
            near = self._nearest(center, half)
            if math.dist(near, (self.x, self.y)) > self.range:
                continue
            if self._clear(center, 1.0) or self._clear(near, 1.0):
                found[door.id] = math.dist(near, (self.x, self.y))
        return found

    def _in_range(
        self, bounds: tuple[float, float, float, float], reach: float = 6.0
    ) -> bool:
        west, south, east, north = bounds
        across = west <= self.x + reach and east >= self.x - reach
        return across and south <= self.y + reach and north >= self.y - reach

    def _move(self) -> bool:
        from shapely.geometry import LineString, box

        east, north = unit(self.heading)
        end = self.x + self.step_length * east, self.y + self.step_length * north
        way = LineString([(self.x, self.y), end])
        grow = self.radius - 1e-6
        reach = self.step_length + self.radius
        for line, bounds in self.barriers:
            if self._in_range(bounds, reach) and line.distance(way) < grow:
                return False
        for bounds in self.solid:
            if self._in_range(bounds, reach):
                w, s, e, n = bounds
                grown = box(w - grow, s - grow, e + grow, n + grow)
                if grown.intersects(way) and not grown.touches(way):
                    return False
        self.x = round(end[0], 9)
        self.y = round(end[1], 9)
        return True

    def _target(self, item: HouseObject) -> tuple[HouseObject, bool]:
        target = item
        hidden = False
        at = item.parent
        while at:
            holder = self.objects[at]
            if "openable" in holder.affordances:
                target = holder
                hidden = hidden or not holder.open
            at = holder.parent
        return target, hidden

    def _nearest(
        self, center: tuple[float, float], half: tuple[float, float]
    ) -> tuple[float, float]:
        wide = half[0] - min(0.05, half[0])
        deep = half[1] - min(0.05, half[1])
        return (
            max(center[0] - wide, min(self.x, center[0] + wide)),
            max(center[1] - deep, min(self.y, center[1] + deep)),
        )

    def _clear(self, aim: tuple[float, float], level: float) -> bool:
        from shapely.geometry import LineString, Point

        eye = (self.x, self.y)
        if math.dist(eye, aim) > self.range or not self.cone.covers(Point(aim)):
            return False
        line = LineString([eye, aim])
        short = LineString([eye, _towards(eye, aim, 1 - 1e-9)])
        if any(barrier.intersects(short) for barrier in self.near_by):
            return False
        return not any(self._hides(*each, line, aim, level) for each in self.tall_by)

    def _hides(
        self,
        other: HouseObject,
        shape: Any,
        line: Any,
        aim: tuple[float, float],
        level: float,
    ) -> bool:
        from shapely.geometry import Point

        if not shape.intersects(line) or shape.covers(Point(aim)):
            return False
        if shape.covers(Point(self.x, self.y)):
            return False
        crossing = shape.exterior.intersection(line)
        length = max(math.dist(aim, (self.x, self.y)), 1e-12)
        for point in getattr(crossing, "geoms", [crossing]):
            if not point.is_empty:
                t = point.distance(Point(self.x, self.y)) / length
                if (
                    other.bottom
                    <= self.eye + t * (level - self.eye)
                    <= other.bottom + other.height
                ):
                    return True
        return False

    def _describe(self) -> str:
        parts = []
        for name, away in sorted(self.seen().items(), key=lambda pair: pair[1]):
            if name not in self.names:
                kind = self.objects[name].type if name in self.objects else "door"
                self.counts[kind] = self.counts.get(kind, 0) + 1
                self.names[name] = f"{kind}_{self.counts[kind]}"
            parts.append(f"{self.names[name]} ({away:.1f} m)")
        return "You see " + (", ".join(parts) or "nothing") + "."


def _towards(
    a: tuple[float, float], b: tuple[float, float], share: float
) -> tuple[float, float]:
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


@dataclass(frozen=True)
class Row:
    """Milliseconds a step, ours and plain, and how many objects were in view on average."""

    objects: int
    ours: float
    plain: float
    seen: float


def agree(scene: Scene, steps: list[Action]) -> float:
    """Raises where the two versions see different things; the mean number in view else."""
    world = start(scene)
    plain = Plain(scene)
    total = 0
    for action in steps:
        full_step(world, action)
        plain.full_step(action)
        view = world.observe("agent")
        names = [o.name for o in view.objects] + [door.name for door in view.doors]
        ours = {world.object_id("agent", name) for name in names}
        if ours != set(plain.seen()):
            raise AssertionError(
                f"{scene.name}: the versions differ: {ours ^ set(plain.seen())}"
            )
        total += len(ours)
    return total / len(steps)


def best(
    begin: Callable[[], Callable[[Action], str]], steps: list[Action], rounds: int
) -> float:
    """Milliseconds a step: for each step the best of the rounds, then the mean."""
    times = [math.inf] * len(steps)
    for _ in range(rounds):
        step = begin()
        for n, action in enumerate(steps):
            began = time.perf_counter()
            step(action)
            times[n] = min(times[n], time.perf_counter() - began)
    return 1000 * sum(times) / len(times)


def measure(objects: int) -> Row:
    """One size, both versions."""
    scene = house(objects)
    steps = walk()
    short = steps[: PLAIN_STEPS[objects]]
    seen = agree(scene, short)

    def ours() -> Callable[[Action], str]:
        # A new world each round: nothing is remembered from the last one
        world = start(scene)
        return lambda action: full_step(world, action)

    fast = best(ours, steps, ROUNDS)
    slow = best(lambda: Plain(scene).full_step, short, ROUNDS)
    return Row(objects, fast, slow, seen)


def main() -> int:
    """Print the table; 1 where a bound is missed."""
    rows = [measure(size) for size in SIZES]
    print("objects  in view   ours ms   plain ms   ratio")
    for row in rows:
        ratio = row.plain / row.ours
        print(
            f"{row.objects:7d} {row.seen:8.1f} {row.ours:9.3f} {row.plain:10.2f} {ratio:7.0f}"
        )
    by_size = {row.objects: row for row in rows}
    verdicts = Rows("rooms")
    steps = 1 / in_loops(by_size[80].ours / 1e3)
    verdicts.add("steps_in_a_loop_at_80", steps, at_least=50)
    growth = by_size[1000].ours / by_size[30].ours
    verdicts.add("growth_from_30_to_1000", growth, at_most=2)
    verdicts.add("step_at_80", by_size[80].plain / by_size[80].ours, at_least=15)
    verdicts.add("step_at_1000", by_size[1000].plain / by_size[1000].ours, at_least=22)
    return verdicts.exit_code()


if __name__ == "__main__":
    sys.exit(main())
