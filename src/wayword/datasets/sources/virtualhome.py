"""VirtualHome's home graphs as household scenes, and Watch-And-Help's goals as conditions.

A graph has nodes with class, box, properties and states, and labelled edges. A goal is a set of
predicates with required counts, such as ``on_plate_137: 2`` or ``inside_apple_fridge: 1``.
VirtualHome uses Unity's frame: left-handed, y up, metres. Our x is its x, our y (north) its z, and
our height its y.

Sources: VirtualHome (Puig et al. 2018), environment graphs; github.com/xavierpuigf/virtualhome.
Watch-And-Help (Puig et al. 2021), section 3; C-WAH (Zhang et al. 2023) uses the same format.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from wayword.core.episode import Json
from wayword.core.errors import DataError
from wayword.core.files import read_field
from wayword.datasets.procedural.homes.home import Home, house_at
from wayword.datasets.procedural.tables import Table
from wayword.worlds.household.builder import FLAT_HEIGHT, HEADROOM, SceneBuilder
from wayword.worlds.household.goals import GoalCondition, Held, Inside
from wayword.worlds.household.house import Fail
from wayword.worlds.household.layout import Layout, can_stand
from wayword.worlds.household.route import Trip
from wayword.worlds.household.scene import HouseObject, Point, Preposition, Scene


@dataclass(frozen=True, slots=True)
class AxisBox:
    """An axis-aligned box in metres: centre x (east) and y (north), ``width`` and ``depth`` in the
    plan, ``bottom`` and ``height`` in the vertical."""

    x: float
    y: float
    width: float
    depth: float
    bottom: float
    height: float

    def contains(self, x: float, y: float) -> bool:
        """True if a floor-plan point is inside."""
        return abs(x - self.x) <= self.width / 2 and abs(y - self.y) <= self.depth / 2


@dataclass(frozen=True, slots=True)
class Node:
    """A graph node. ``kind`` is the published class name; ``box`` is None if unpublished."""

    id: int
    kind: str
    category: str
    box: AxisBox | None
    properties: frozenset[str]
    states: frozenset[str]

    @property
    def name(self) -> str:
        """Its id in a scene."""
        return f"{self.kind}|{self.id}"


@dataclass(frozen=True, eq=False)
class Graph:
    """A published home. ``edges``: (from, relation, to)."""

    nodes: Mapping[int, Node]
    edges: Sequence[tuple[int, str, int]]

    @cached_property
    def rooms(self) -> dict[int, int]:
        """Node -> the room it is inside (the first one listed)."""
        containing: dict[int, int] = {}
        for start, relation, end in self.edges:
            if relation == "INSIDE" and self.nodes[end].category == "Rooms":
                containing.setdefault(start, end)
        return containing

    @cached_property
    def holders(self) -> dict[int, list[tuple[str, int]]]:
        """Node -> nodes it is ON or INSIDE, except rooms, in file order."""
        supports: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for start, relation, end in self.edges:
            if relation in ("ON", "INSIDE") and self.nodes[end].category != "Rooms":
                supports[start].append((relation, end))
        return supports


def graph_of(record: Json, source: Path) -> Graph:
    """Read the graph in a JSON record. Raises ``DataError`` naming the node and field."""
    nodes: dict[int, Node] = {}
    for number, entry in enumerate(read_field(source, "graph", record, "nodes", list)):
        where = f"node {number}"
        node = Node(
            read_field(source, where, entry, "id", int),
            read_field(source, where, entry, "class_name", str).replace("_", ""),
            read_field(source, where, entry, "category", str),
            _box(entry.get("bounding_box"), source, where),
            frozenset(entry.get("properties") or ()),
            frozenset(entry.get("states") or ()),
        )
        nodes[node.id] = node
    edges = []
    for number, entry in enumerate(read_field(source, "graph", record, "edges", list)):
        where = f"edge {number}"
        start = read_field(source, where, entry, "from_id", int)
        relation = read_field(source, where, entry, "relation_type", str)
        end = read_field(source, where, entry, "to_id", int)
        if start in nodes and end in nodes:
            edges.append((start, relation, end))
    return Graph(nodes, edges)


def trimmed_of(record: Json, full: Graph, source: Path) -> Graph:
    """Complete a trimmed graph (published without boxes) from the full graph of the same home,
    which has the same node ids: boxes, classes, floors and doors."""
    trimmed_graph = graph_of(record, source)
    unknown_ids = [n for n in trimmed_graph.nodes if n not in full.nodes]
    if unknown_ids:
        problem = "has an id that is not in the full graph of its home"
        raise DataError(source, f"node {unknown_ids[0]}", problem)
    nodes: dict[int, Node] = {}
    for number, node in full.nodes.items():
        if number in trimmed_graph.nodes:
            trimmed = trimmed_graph.nodes[number]
            nodes[number] = replace(node, properties=trimmed.properties, states=trimmed.states)
        elif node.category in ("Rooms", "Floor", "Floors", "Doors"):
            nodes[number] = node
    edges = [edge for edge in full.edges if edge[0] in nodes and edge[2] in nodes]
    return Graph(nodes, edges)


def _box(record: Json, source: Path, where: str) -> AxisBox | None:
    if not record:
        return None
    try:
        (x, high, y), (width, height, depth) = record["center"], record["size"]
        return AxisBox(
            *(float(x), float(y), abs(float(width)), abs(float(depth))),
            *(float(high) - abs(float(height)) / 2, abs(float(height))),
        )
    except (KeyError, TypeError, ValueError) as error:
        problem = "must have a center and a size, three numbers each"
        raise DataError(source, f"{where}, field 'bounding_box'", problem) from error


# Properties of VirtualHome's classes in the household world: see ``virtualhome.toml``.

CLASSES = Table[frozenset[str]](
    "virtualhome", "classes", lambda names, _: frozenset(names), __package__
)
DISHES = Table[Preposition]("virtualhome", "dishes", package=__package__)
AFFORDANCES = Table[tuple[str, ...]]("virtualhome", "affordances", package=__package__)
SPOKEN = Table[str]("virtualhome", "spoken", package=__package__)


def portable(node: Node) -> bool:
    """True if a node can be carried."""
    return "GRABBABLE" in node.properties and node.kind not in CLASSES["fixed"]


def preposition(node: Node) -> Preposition:
    """Return ``on`` or ``in`` for a receptacle, else empty."""
    if portable(node):
        return DISHES.get(node.kind, "")
    if node.kind in CLASSES["surfaces"]:
        return "on"
    return "in" if node.kind in CLASSES["boxes"] | CLASSES["basins"] else ""


def affordances(node: Node) -> frozenset[str]:
    """Return a node's affordances in the household world."""
    names = set(AFFORDANCES.get(node.kind, ()))
    if portable(node):
        names.add("pickupable")
    elif node.kind in CLASSES["boxes"]:
        names.add("openable")
    if "HAS_SWITCH" in node.properties and node.kind != "fridge":
        names.add("toggleable")
    return frozenset(names)


def omission_cause(node: Node) -> str:
    """Return the reason to leave a node out of the scene; empty to keep it."""
    if node.category in CLASSES["building"]:
        return "part of the building (rooms, floors, walls, ceilings, windows, doors)"
    if node.category == "Characters":
        return "a character"
    if node.box is None:
        return "without a published bounding box"
    if portable(node) or preposition(node) or affordances(node):
        return ""
    if node.kind in CLASSES["hung"]:
        return "hanging or flat: ceiling lamps, pictures, curtains, rugs"
    if node.category in ("Furniture", "Appliances") and node.box.width * node.box.depth > 0.04:
        return ""
    return "cannot be carried, opened, switched on or used as a surface"


# Goals.

SIT = "requires sitting, which is not modeled"
UNKNOWN = "has an unknown relation"
NO_PLACE = "has a destination that is not in the home"
TOO_FEW = "requires more objects of a type than the home has"
OUT_OF_REACH = "requires an object that is out of reach"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A goal predicate. ``relation``: ``on``, ``inside``, ``holds`` or ``sit``; ``place``: a class
    name or node id, as published; ``count``: required number of objects."""

    relation: str
    item: str
    place: str
    count: int


def predicates(record: Mapping[str, Json]) -> list[Predicate]:
    """Read the predicates with a positive count, in file order."""
    result = []
    for key, count in record.items():
        parts = str(key).split("_")
        relation, item, place = parts[0], "_".join(parts[1:-1]), parts[-1]
        if len(parts) == 2:  # holds_book, sit_sofa
            item, place = parts[1], ""
        if int(count) > 0:
            result.append(Predicate(relation, item, place, int(count)))
    return result


def goal_of(predicate: Predicate, scene: Scene, place: HouseObject | None) -> GoalCondition | str:
    """Convert a predicate to a condition on the final state; return a reason if impossible."""
    items = tuple(
        o.id for o in scene.objects if o.type == predicate.item and "pickupable" in o.affordances
    )
    if predicate.relation == "sit":
        return SIT
    if predicate.relation not in ("on", "inside", "holds"):
        return UNKNOWN
    if len(items) < predicate.count:
        return TOO_FEW
    if predicate.relation == "holds":
        return Held(items)
    if place is None or not place.receptacle:
        return NO_PLACE
    return Inside(items, (place.id,), parts=predicate.count)


# Rooms from floor tiles, doorways from doors and jambs.
#
# The boxes of VirtualHome's room nodes include protruding parts (in one home a stray piece of wall
# makes a bathroom four metres too long). We use the rectangle of a room's floor tiles instead; all
# published rooms are rectangles.

BOTH_SIDES_M = 0.4
"""Distance (metres) to either side of a doorway at which a point is in one of its rooms."""
DOOR_WIDTH = 0.93
"""Width of VirtualHome's door frames, metres."""


@dataclass(frozen=True, slots=True)
class Doorway:
    """A gap from ``a`` to ``b`` between two rooms; ``door`` is its node id, 0 if there is none."""

    a: Point
    b: Point
    door: int


def rooms_of(graph: Graph, source: str) -> dict[str, AxisBox]:
    """Map room names (``kitchen``, ``living room``, ``bedroom 2``) to rectangles.

    Raises ``DataError`` for a room without floor.
    """
    rooms: dict[str, AxisBox] = {}
    count: Counter[str] = Counter()
    for number, node in graph.nodes.items():
        if node.category != "Rooms":
            continue
        tiles = [
            tile.box
            for n, tile in graph.nodes.items()
            if tile.kind == "floor" and tile.box is not None and graph.rooms.get(n) == number
        ]
        if not tiles:
            raise DataError(source, f"node {number}", f"{node.kind} has no floor tiles")
        west, south = min(t.x - t.width / 2 for t in tiles), min(t.y - t.depth / 2 for t in tiles)
        east, north = max(t.x + t.width / 2 for t in tiles), max(t.y + t.depth / 2 for t in tiles)
        words = "living room" if node.kind == "livingroom" else node.kind
        count[words] += 1
        name = words if count[words] == 1 else f"{words} {count[words]}"
        middle = (west + east) / 2, (south + north) / 2
        rooms[name] = AxisBox(*middle, east - west, north - south, 0.0, 2.5)
    return rooms


def doorways_of(graph: Graph, rooms: list[AxisBox]) -> tuple[list[Doorway], int]:
    """Return the doorways between rooms, and the number of doorways that lead out of the house."""
    places: list[tuple[float, float, int]] = []
    for number, node in graph.nodes.items():
        if node.category != "Doors" or node.box is None:
            continue
        x, y, door_id = node.box.x, node.box.y, number if node.kind == "door" else 0
        same_place = next((p for p in places if math.dist(p[:2], (x, y)) < 0.5), None)
        if same_place:
            places[places.index(same_place)] = (*same_place[:2], same_place[2] or door_id)
        else:
            places.append((x, y, door_id))

    def joins(dx: float, dy: float) -> bool:
        """True if the two sides of the doorway are in different rooms."""
        first = next((room for room in rooms if room.contains(x - dx, y - dy)), None)
        second = next((room for room in rooms if room.contains(x + dx, y + dy)), None)
        return first is not None and second is not None and first is not second

    doorways, outer_count, half_width = [], 0, DOOR_WIDTH / 2
    for x, y, door_id in places:
        if joins(BOTH_SIDES_M, 0.0):
            doorways.append(Doorway((x, y - half_width), (x, y + half_width), door_id))
        elif joins(0.0, BOTH_SIDES_M):
            doorways.append(Doorway((x - half_width, y), (x + half_width, y), door_id))
        else:
            outer_count += 1
    return doorways, outer_count


# Repairs: published boxes enclose furniture at any angle, so they often block the way.
#
# Furniture that reaches into a doorway is made passable. While a room is still unreachable, more
# furniture in it becomes passable, the largest piece first.

CLEAR_M = 0.65
"""Clearance on either side of a doorway, metres."""
TRIES = 30  # maximum number of pieces made passable per home


def clear_doorways(
    objects: list[HouseObject], doorways: list[Doorway]
) -> tuple[list[HouseObject], int]:
    """Make objects that reach into a doorway passable; return all objects and number changed."""

    def blocks(item: HouseObject, gap: Doorway) -> bool:
        """True if a piece reaches into the strip in front of a doorway."""
        (ax, ay), (bx, by) = gap.a, gap.b
        half_x, half_y = abs(bx - ax) / 2 - 0.1, CLEAR_M
        if abs(bx - ax) <= abs(by - ay):
            half_x, half_y = CLEAR_M, abs(by - ay) / 2 - 0.1
        dx, dy = abs(item.x - (ax + bx) / 2), abs(item.y - (ay + by) / 2)
        return dx < item.width / 2 + half_x and dy < item.depth / 2 + half_y

    blocking = {
        item.id for item in objects if item.solid and any(blocks(item, each) for each in doorways)
    }
    cleared = [
        replace(item, solid=False, opaque=False) if item.id in blocking else item
        for item in objects
    ]
    return cleared, len(blocking)


def connect_rooms(scene: Scene) -> tuple[Scene, Layout, tuple[Point, ...], int]:
    """Make pieces passable until all rooms are connected; return the scene, its layout, the
    standing positions, and the number of pieces changed."""
    layout = Layout(scene)
    places, missing = _reachable_places(layout)
    opened = 0
    while missing and opened < TRIES:
        blocking = [
            number
            for number, item in enumerate(scene.objects)
            if item.solid and layout.room_at(item.x, item.y) in missing
        ]
        if not blocking:
            break
        # The largest piece in an unreachable room most likely blocks it.
        objects = list(scene.objects)
        number = max(blocking, key=lambda n: objects[n].width * objects[n].depth)
        objects[number] = replace(objects[number], solid=False, opaque=False)
        scene = replace(scene, objects=tuple(objects))
        layout, opened = Layout(scene), opened + 1
        places, missing = _reachable_places(layout)
    return scene, layout, places, opened


def _reachable_places(layout: Layout) -> tuple[tuple[Point, ...], set[str]]:
    """Return the positions that connect the most rooms (doors open), and the rooms cut off."""
    west, south, east, north = layout.bounds
    middle = round((west + east) / 2 * 4) / 4, round((south + north) / 2 * 4) / 4
    house = house_at(layout, middle)
    actor = house.actors["agent"]
    grid = Trip(house, actor).grid
    unvisited = {int(p) for p in np.flatnonzero((grid.neighbors >= 0).any(axis=1))}
    rooms = {room.name for room in layout.scene.rooms}
    best: tuple[tuple[Point, ...], set[str]] = ((), rooms)
    while unvisited:
        start = min(unvisited)
        house.stand(actor, float(grid.x[start]), float(grid.y[start]))
        component = {int(p) for p in np.flatnonzero(Trip(house, actor).steps >= 0)}
        unvisited -= component | {start}
        missing = rooms - {layout.room_at(float(grid.x[p]), float(grid.y[p])) for p in component}
        if (len(missing), -len(component)) < (len(best[1]), -len(best[0])):
            spots = [(round(float(grid.x[p]), 6), round(float(grid.y[p]), 6)) for p in component]
            best = tuple(sorted(spots)), missing
    closed = [True] * len(layout.doors)
    return tuple(at for at in best[0] if can_stand(layout, actor.body.radius, at, closed)), best[1]


def reachable_objects(layout: Layout, start: Point, ids: list[str]) -> set[str]:
    """Return the objects that a body can walk to from ``start``, see and reach; doors open."""
    house = house_at(layout, start)
    trip = Trip(house, house.actors["agent"])
    reached = set()
    for name in ids:
        try:
            trip.nearest_goal(layout.index[name])
        except Fail:
            continue
        reached.add(name)
    return reached


@dataclass(frozen=True, eq=False)
class ImportedHome:
    """An imported home. ``omitted`` counts the nodes left out, by reason; ``inferred`` counts the
    repairs, such as pieces made passable."""

    home: Home
    graph: Graph
    omitted: Mapping[str, int]
    inferred: Mapping[str, int]

    def object_of(self, number: int) -> HouseObject | None:
        """Return the object of a node; None if the node was omitted."""
        node = self.graph.nodes.get(number)
        i = self.home.layout.index.get(node.name) if node else None
        return None if i is None else self.home.scene.objects[i]


def import_home(name: str, graph: Graph, source: str = "") -> ImportedHome:
    """Import the home of a graph. Raises ``DataError`` if a room has no floor."""
    rooms = rooms_of(graph, source or name)
    builder = SceneBuilder(name)
    for words, box in rooms.items():
        half_x, half_y = box.width / 2, box.depth / 2
        corners = ((-half_x, -half_y), (half_x, -half_y), (half_x, half_y), (-half_x, half_y))
        builder.room(words, [(box.x + dx, box.y + dy) for dx, dy in corners])
    doorways, outer_count = doorways_of(graph, list(rooms.values()))
    for gap in doorways:
        if gap.door:
            node = graph.nodes[gap.door]
            builder.door(f"door|{gap.door}", gap.a, gap.b, closed="CLOSED" in node.states)
        else:
            builder.opening(gap.a, gap.b)
    omitted: Counter[str] = Counter(filter(None, map(omission_cause, graph.nodes.values())))
    nodes = sorted((n for n in graph.nodes.values() if not omission_cause(n)), key=portable)
    repairs: Counter[str] = Counter()
    objects = [_object(graph, node, repairs) for node in nodes]
    objects, passable_count = clear_doorways(objects, doorways)
    for item in objects:
        builder.add(item)
    scene, layout, places, opened_count = connect_rooms(builder.build())
    inferred = {
        "doorways to the outside, left closed": outer_count,
        "pieces before a doorway made passable": passable_count,
        "pieces made passable to reach a room": opened_count,
        **repairs,
    }
    return ImportedHome(Home(name, scene, layout, places), graph, omitted, inferred)


def _object(graph: Graph, node: Node, repairs: Counter[str]) -> HouseObject:
    box, item = node.box, portable(node)
    assert box is not None, "nodes without a box are left out"
    parent = _parent(graph, node, repairs) if item else ""
    holders = [(how, graph.nodes[n]) for how, n in graph.holders.get(node.id, ())]
    on_furniture = any(  # a microwave on a counter
        how == "ON" and preposition(other) == "on" and not portable(other) for how, other in holders
    )
    return HouseObject(
        *(node.name, node.kind, box.x, box.y, box.width, box.depth),
        *(max(0.0, box.bottom), box.height, parent, affordances(node), preposition(node)),
        solid=not item and box.height > FLAT_HEIGHT and box.bottom < HEADROOM and not on_furniture,
        opaque=not item,
        open="OPEN" in node.states and node.kind in CLASSES["boxes"],
        on="ON" in node.states and "HAS_SWITCH" in node.properties and node.kind != "fridge",
        temperature="cold" if parent.startswith("fridge|") else "room",
    )


def _parent(graph: Graph, node: Node, repairs: Counter[str]) -> str:
    """Return an object's holder: the first closable box around it, else a surface or dish.

    Boxes of furniture overlap (an apple on a table is also INSIDE the adjacent sofa), so INSIDE
    counts only for furniture that opens, and ON for the rest.
    """
    options = [(graph.nodes[n], relation) for relation, n in graph.holders.get(node.id, ())]
    for kind, relation in (("in", "INSIDE"), ("on", "ON"), ("in", "ON"), ("on", "INSIDE")):
        for other, how in options:
            fits = preposition(other) == kind and how == relation and not omission_cause(other)
            is_on_box = other.kind in CLASSES["boxes"] and relation == "ON"
            if fits and not is_on_box and not (portable(other) and _rests_on(graph, other, node)):
                return other.name
    repairs["objects on top of something else, without a holder"] += bool(options)
    return ""


def _rests_on(graph: Graph, dish: Node, item: Node) -> bool:
    """True if a dish is itself in or on an item, directly or through others."""
    visited, queue = {dish.id}, [dish.id]
    while queue:
        for _, other in graph.holders.get(queue.pop(), ()):
            if other == item.id:
                return True
            if other not in visited:
                visited.add(other)
                queue.append(other)
    return False
