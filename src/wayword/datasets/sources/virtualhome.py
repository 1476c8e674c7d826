"""VirtualHome's home graphs as household scenes, and Watch-And-Help's goals as conditions.

A goal is a set of predicates with required counts, such as ``on_plate_137: 2`` or
``inside_apple_fridge: 1``. VirtualHome uses Unity's frame: left-handed, y up, metres. Our x is its
x, our y (north) its z, and our height its y.

Sources: VirtualHome (Puig et al. 2018), environment graphs; github.com/xavierpuigf/virtualhome.
Watch-And-Help (Puig et al. 2021), section 3; C-WAH (Zhang et al. 2023) uses the same format.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wayword.core.episode import Json, JsonObject
from wayword.core.errors import DataError
from wayword.core.files import read_field
from wayword.core.geometry import Point, box_around, box_corners
from wayword.datasets.procedural.homes.home import Home, house_at
from wayword.datasets.procedural.tables import Table
from wayword.worlds.household.builder import FLAT_HEIGHT, HEADROOM, SceneBuilder
from wayword.worlds.household.goals import GoalCondition, Held, Inside
from wayword.worlds.household.house import Fail
from wayword.worlds.household.layout import Layout, can_stand
from wayword.worlds.household.route import Trip
from wayword.worlds.household.scene import HouseObject, Preposition, Scene


@dataclass(frozen=True, slots=True)
class AxisBox:
    """An axis-aligned box in metres.

    ``x`` (east) and ``y`` (north): its center. ``width`` and ``depth``: its sides in the plan.
    ``bottom`` and ``height``: its underside and its vertical side.
    """

    x: float
    y: float
    width: float
    depth: float
    bottom: float
    height: float

    def contains(self, x: float, y: float) -> bool:
        """True if a point of the plan is inside, or on the edge."""
        return abs(x - self.x) <= self.width / 2 and abs(y - self.y) <= self.depth / 2


@dataclass(frozen=True, slots=True)
class Node:
    """A graph node.

    ``kind`` is the published class name, ``name`` its object's id in a scene; ``box``
    is None if unpublished.
    """

    id: int
    kind: str
    category: str
    box: AxisBox | None
    properties: frozenset[str]
    states: frozenset[str]

    @property
    def name(self) -> str:
        """Id of the node's object in a scene: class and number."""
        return f"{self.kind}|{self.id}"


@dataclass(frozen=True, eq=False)
class Graph:
    """A published home: ``nodes`` by id, and ``edges`` (from, relation, to) between them."""

    nodes: Mapping[int, Node]
    edges: Sequence[tuple[int, str, int]]

    @cached_property
    def room_by_node(self) -> dict[int, int]:
        """Node -> the room it is inside (the first one listed)."""
        containing: dict[int, int] = {}
        for start, relation, end in self.edges:
            # The first room listed, as boxes of rooms overlap.
            if relation == "INSIDE" and self.nodes[end].category == "Rooms":
                containing.setdefault(start, end)
        return containing

    @cached_property
    def holders(self) -> dict[int, list[tuple[str, int]]]:
        """Node -> nodes it is ON or INSIDE, except rooms, in file order."""
        supports: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for start, relation, end in self.edges:
            # Only ON and INSIDE carry objects; NEAR and FACING do not.
            if relation in ("ON", "INSIDE") and self.nodes[end].category != "Rooms":
                supports[start].append((relation, end))
        return supports


def graph_of(record: Json, source: Path) -> Graph:
    """Read the graph in a JSON record. Raises ``DataError`` naming the node and field."""
    nodes: dict[int, Node] = {}
    for number, entry in enumerate(read_field(source, "graph", record, "nodes", list)):
        where = f"node {number}"
        read = partial(read_field, source, where, entry)
        box = None
        node_id = read("id", int)
        # Underscores separate the parts of a goal, so names have none.
        name = read("class_name", str).replace("_", "")
        category = read("category", str)
        if raw := entry.get("bounding_box"):
            try:
                box = _read_box(raw)
            except (KeyError, TypeError, ValueError) as error:
                problem = "must have a center and a size, three numbers each"
                raise DataError(
                    source,
                    f"{where}, field 'bounding_box'",
                    problem,
                ) from error
        properties = frozenset(entry.get("properties") or ())
        states = frozenset(entry.get("states") or ())
        nodes[node_id] = Node(
            node_id,
            name,
            category,
            box,
            properties,
            states,
        )

    # Edges of nodes that are not listed are left out.
    edges = []
    for number, entry in enumerate(read_field(source, "graph", record, "edges", list)):
        read = partial(read_field, source, f"edge {number}", entry)
        start = read("from_id", int)
        relation = read("relation_type", str)
        end = read("to_id", int)
        if start in nodes and end in nodes:
            edges.append((start, relation, end))
    return Graph(nodes, edges)


def _read_box(raw: Json) -> AxisBox:
    """Convert a box from Unity's frame, in which y points up. The sign of a size has no meaning.

    Raises ``KeyError``, ``TypeError`` or ``ValueError`` for another form.
    """
    x, up, y = (float(value) for value in raw["center"])
    width, height, depth = (abs(float(value)) for value in raw["size"])
    return AxisBox(x, y, width, depth, up - height / 2, height)


def trimmed_of(record: Json, full: Graph, source: Path) -> Graph:
    """Complete a trimmed graph (published without boxes) from the full graph of the same home.

    Both have the same node ids. Boxes, classes, floors and doors come from the full
    one. Raises ``DataError`` for an id that it does not have.
    """
    trimmed_nodes = graph_of(record, source).nodes
    nodes = dict[int, Node]()
    # An unknown id means that the two graphs belong to different homes.
    if unknown := sorted(trimmed_nodes.keys() - full.nodes):
        problem = "has an id that is not in the full graph of its home"
        raise DataError(source, f"node {unknown[0]}", problem)
    for number, node in full.nodes.items():
        if trimmed := trimmed_nodes.get(number):
            nodes[number] = replace(
                node,
                properties=trimmed.properties,
                states=trimmed.states,
            )
        # Building parts come from the full graph, which alone has their boxes.
        elif node.category in (
            "Rooms",
            "Floor",
            "Floors",
            "Doors",
        ):
            nodes[number] = node
    edges = [edge for edge in full.edges if edge[0] in nodes and edge[2] in nodes]
    return Graph(nodes, edges)


# Properties of VirtualHome's classes in the household world: see ``virtualhome.toml``.

CLASSES = Table[frozenset[str]](
    "virtualhome", "classes", lambda names, _: frozenset(names), __package__
)
"""Sets of classes with a common property."""
DISHES = Table[Preposition]("virtualhome", "dishes", package=__package__)
"""Portable class that holds others -> its preposition."""
AFFORDANCES = Table[tuple[str, ...]]("virtualhome", "affordances", package=__package__)
"""Class -> affordances that its properties do not give."""
SPOKEN = Table[str]("virtualhome", "spoken", package=__package__)
"""Class -> its name in an instruction, if it is not the class itself."""


def portable(node: Node) -> bool:
    """True if a node can be carried."""
    return "GRABBABLE" in node.properties and node.kind not in CLASSES["fixed"]


def preposition(node: Node) -> Preposition:
    """Return ``on`` or ``in`` for a receptacle, else empty."""
    # Dishes hold others although they can be carried.
    if portable(node):
        return DISHES.get(node.kind, "")
    if node.kind in CLASSES["surfaces"]:
        return "on"
    if node.kind in CLASSES["boxes"] or node.kind in CLASSES["basins"]:
        return "in"
    return ""


def affordances(node: Node) -> frozenset[str]:
    """Return a node's affordances in the household world, those of its class and its properties."""
    names = set(AFFORDANCES.get(node.kind, ()))
    if portable(node):
        names.add("pickupable")
    elif node.kind in CLASSES["boxes"]:
        names.add("openable")
    # A fridge has a switch in the data and cools without it.
    if "HAS_SWITCH" in node.properties and node.kind != "fridge":
        names.add("toggleable")
    return frozenset(names)


def is_object(node: Node) -> bool:
    """True if a node becomes an object of the scene.

    It has a box and a use, or is large furniture. Excluded are the building,
    characters, and flat or hanging objects (lamps, pictures, rugs).
    """
    # Without a box there is no place.
    if node.box is None or node.category in CLASSES["building"] | {"Characters"}:
        return False
    if portable(node) or preposition(node) or affordances(node):
        return True
    if node.category not in ("Furniture", "Appliances"):
        # Only furniture large enough to be in the way.
        return False
    is_large = node.box.width * node.box.depth > 0.04  # m²
    return is_large and node.kind not in CLASSES["hung"]


# Goals. These reasons why a goal is impossible also name the omissions of a dataset.

SIT = "requires sitting, which is not modeled"
UNKNOWN = "has an unknown relation"
NO_PLACE = "has a destination that is not in the home"
TOO_FEW = "requires more objects of a type than the home has"
OUT_OF_REACH = "requires an object that is out of reach"
NO_GOAL = "has no goal that can be played"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A goal predicate.

    ``relation``: ``on``, ``inside``, ``holds`` or ``sit``; ``place``: a class name or
    node id, as published; ``count``: required number of objects.
    """

    relation: str
    item: str
    place: str
    count: int


def predicates(record: JsonObject) -> list[Predicate]:
    """Read the predicates with a positive count, in file order."""
    result = []
    for key, count in record.items():
        # The last part is the place; a name in the middle may have several parts.
        relation, *item = str(key).split("_")
        place = item.pop() if len(item) > 1 else ""  # holds_book and sit_sofa have none
        # Goals with a count of 0 are met by doing nothing.
        if int(count) > 0:
            result.append(
                Predicate(
                    relation,
                    "_".join(item),
                    place,
                    int(count),
                )
            )
    return result


def goal_of(
    predicate: Predicate,
    scene: Scene,
    place: HouseObject | None,
) -> GoalCondition | str:
    """Convert a predicate to a condition on the final state.

    ``place`` is the object that the predicate names, None if the scene lacks it.
    Returns a reason if the goal is impossible: one of the texts above.
    """
    items = tuple(
        o.id
        for o in scene.objects
        if o.type == predicate.item and "pickupable" in o.affordances
    )
    # What cannot be modeled comes first, as it explains more than a count.
    if predicate.relation == "sit":
        return SIT
    if predicate.relation not in ("on", "inside", "holds"):
        return UNKNOWN
    # Too few objects make any count impossible.
    if len(items) < predicate.count:
        return TOO_FEW
    if predicate.relation == "holds":
        return Held(items)
    if place is None or not place.receptacle:
        return NO_PLACE
    return Inside(items, (place.id,), parts=predicate.count)


# Rooms from floor tiles, doorways from doors and jambs.
#
# The boxes of VirtualHome's room nodes include protruding parts, such as a stray piece of wall. We
# use the rectangle of a room's floor tiles instead; all published rooms are rectangles.

BOTH_SIDES_M = 0.4
"""Distance (metres) to either side of a doorway at which a point is in one of its rooms."""
DOOR_WIDTH = 0.93
"""Width of VirtualHome's door frames, metres."""
SAME_DOOR_M = 0.5
"""Maximum distance (metres) between the boxes of a door and of its jamb."""
ROOM_HEIGHT = 2.5
"""Height of a room in metres; the plan alone is used."""


class Doorway(NamedTuple):
    """A gap from ``a`` to ``b`` between two rooms; ``door`` is its node id, 0 if there is none."""

    a: Point
    b: Point
    door: int


def rooms_of(graph: Graph, source: str) -> dict[str, AxisBox]:
    """Map room names (``bedroom 2``) to the rectangles of their floor tiles.

    Raises ``DataError`` for a room without floor.
    """
    rooms: dict[str, AxisBox] = {}
    count: Counter[str] = Counter()  # rooms of a name
    for number, node in graph.nodes.items():
        if node.category != "Rooms":
            continue
        # Floor tiles bound a room better than its own box.
        tiles = [
            tile.box
            for n, tile in graph.nodes.items()
            if tile.kind == "floor"
            and tile.box is not None
            and graph.room_by_node.get(n) == number
        ]
        if not tiles:
            raise DataError(source, f"node {number}", f"{node.kind} has no floor tiles")
        west = min(t.x - t.width / 2 for t in tiles)
        south = min(t.y - t.depth / 2 for t in tiles)
        east = max(t.x + t.width / 2 for t in tiles)
        north = max(t.y + t.depth / 2 for t in tiles)
        # The second bedroom is "bedroom 2"; the first keeps the plain name.
        words = "living room" if node.kind == "livingroom" else node.kind
        count[words] += 1
        name = words if count[words] == 1 else f"{words} {count[words]}"
        rooms[name] = AxisBox(
            x=(west + east) / 2,
            y=(south + north) / 2,
            width=east - west,
            depth=north - south,
            bottom=0.0,
            height=ROOM_HEIGHT,
        )
    return rooms


def doorways_of(graph: Graph, rooms: list[AxisBox]) -> list[Doorway]:
    """Return the doorways between two of the ``rooms``.

    Those that lead out of the house are left out: they stay closed.
    """
    # Doors and jambs are nodes of their own: those close to each other are one doorway.
    places: dict[Point, int] = {}  # center -> node id of the door, 0 if there is none
    for number, node in graph.nodes.items():
        if node.category != "Doors" or node.box is None:
            continue
        center = (node.box.x, node.box.y)
        # A door and its frame share a place.
        same = (other for other in places if math.dist(other, center) < SAME_DOOR_M)
        center = next(same, center)
        if not places.setdefault(center, 0) and node.kind == "door":
            places[center] = number

    def joins(dx: float, dy: float) -> bool:
        """True if the two sides of the doorway are in different rooms."""
        first = next((room for room in rooms if room.contains(x - dx, y - dy)), None)
        second = next((room for room in rooms if room.contains(x + dx, y + dy)), None)
        return first is not None and second is not None and first is not second

    doorways = []
    half_width = DOOR_WIDTH / 2
    for (x, y), door_id in places.items():
        # Across first, then along: no doorway does both.
        if joins(BOTH_SIDES_M, 0.0):
            doorways.append(Doorway((x, y - half_width), (x, y + half_width), door_id))
        elif joins(0.0, BOTH_SIDES_M):
            doorways.append(Doorway((x - half_width, y), (x + half_width, y), door_id))
    return doorways


CLEAR_M = 0.65
"""Clearance on either side of a doorway, metres."""
POST_M = 0.1
"""Length at each end of a doorway (metres) that furniture may cover."""


def blocks(item: HouseObject, gap: Doorway) -> bool:
    """True if the box of a piece reaches into the strip in front of a doorway.

    Published boxes enclose furniture at any angle, so such a piece is made passable.
    """
    ax, ay = gap.a
    bx, by = gap.b
    # The strip: half its sides, along and across the doorway.
    # Furniture may cover the posts, but not the passage.
    half_x = abs(bx - ax) / 2 - POST_M
    half_y = CLEAR_M
    if abs(bx - ax) <= abs(by - ay):
        half_x = CLEAR_M
        half_y = abs(by - ay) / 2 - POST_M
    dx = abs(item.x - (ax + bx) / 2)
    dy = abs(item.y - (ay + by) / 2)
    return dx < item.width / 2 + half_x and dy < item.depth / 2 + half_y


def standing_places(layout: Layout) -> tuple[Point, ...]:
    """Return the positions in the largest connected part of the floor, with all doors open.

    Positions (metres) in which a body may stand when all doors are closed, sorted.
    """
    west, south, east, north = layout.bounds
    # Rounded to 0.25 m, as the lattice of positions begins here.
    middle_x = round((west + east) / 2 * 4) / 4
    middle_y = round((south + north) / 2 * 4) / 4
    # Bodies stand on the lattice, so its parts are the parts of the floor.
    house = house_at(layout, (middle_x, middle_y))
    actor = house.actors["agent"]
    grid = Trip(house, actor).grid
    unvisited = {int(p) for p in np.flatnonzero((grid.neighbors >= 0).any(axis=1))}
    largest = set[int]()

    # The largest component; of two equal ones, the one with the lowest cell.
    while unvisited:
        start = min(unvisited)
        house.stand(actor, *grid.point(start))
        component = {int(p) for p in np.flatnonzero(Trip(house, actor).steps >= 0)}
        unvisited -= component | {start}
        # ``max`` keeps the first of equal size.
        largest = max(largest, component, key=len)
    spots = sorted(
        (round(float(grid.x[p]), 6), round(float(grid.y[p]), 6)) for p in largest
    )
    # With closed doors, so that nobody starts in a doorway.
    closed = [True] * len(layout.doors)
    return tuple(at for at in spots if can_stand(layout, actor.body.radius, at, closed))


def reachable_objects(layout: Layout, start: Point, ids: list[str]) -> set[str]:
    """Return the objects that a body can walk to from ``start``, see and reach; doors open."""
    house = house_at(layout, start)
    trip = Trip(house, house.actors["agent"])
    reached = set()
    # A missing path is an answer here, not an error.
    for name in ids:
        try:
            trip.nearest_goal(layout.index[name])
        except Fail:
            continue
        reached.add(name)
    return reached


@dataclass(frozen=True, eq=False)
class ImportedHome:
    """A home and the graph it was imported from."""

    home: Home
    graph: Graph

    def object_of(self, number: int) -> HouseObject | None:
        """Return the object of a node; None if the node was omitted."""
        node = self.graph.nodes.get(number)
        if node is None or node.name not in self.home.layout.index:
            return None
        return self.home.scene.objects[self.home.layout.index[node.name]]


def import_home(name: str, graph: Graph, source: str = "") -> ImportedHome:
    """Import the home of a graph. Raises ``DataError`` if a room has no floor."""
    rooms = rooms_of(graph, source or name)
    builder = SceneBuilder(name)
    for words, area in rooms.items():
        box = box_around(area.x, area.y, area.width, area.depth)
        builder.room(words, box_corners(box))

    doorways = doorways_of(graph, list(rooms.values()))
    for a, b, door in doorways:
        if door:
            builder.door(
                # The state of a door is that of its node.
                f"door|{door}",
                a,
                b,
                closed="CLOSED" in graph.nodes[door].states,
            )
        else:
            builder.opening(a, b)

    # Furniture first, so that scenes that differ only in small objects can share a layout.
    for node in sorted(filter(is_object, graph.nodes.values()), key=portable):
        item = _object_of(graph, node)
        # Furniture that covers a doorway is seen through and walked through.
        if item.solid and any(blocks(item, gap) for gap in doorways):
            item = replace(item, solid=False, opaque=False)
        builder.add(item)
    scene = builder.build(is_published=True)
    layout = Layout(scene)
    return ImportedHome(
        Home(
            name,
            scene,
            layout,
            standing_places(layout),
        ),
        graph,
    )


def _object_of(graph: Graph, node: Node) -> HouseObject:
    """Convert a node with a box to an object of the scene."""
    box = node.box
    assert box is not None, "nodes without a box are left out"
    is_item = portable(node)
    parent = _parent(graph, node) if is_item else ""
    # A body walks over flat objects and under high ones, and a microwave stands on a counter.
    is_in_the_way = box.height > FLAT_HEIGHT and box.bottom < HEADROOM
    has_switch = "HAS_SWITCH" in node.properties and node.kind != "fridge"
    return HouseObject(
        node.name,
        node.kind,
        x=box.x,
        y=box.y,
        width=box.width,
        depth=box.depth,
        # Some boxes reach below the floor.
        bottom=max(0.0, box.bottom),
        height=box.height,
        parent=parent,
        affordances=affordances(node),
        receptacle=preposition(node),
        solid=is_in_the_way and not is_item and not _is_raised(graph, node),
        opaque=not is_item,
        open="OPEN" in node.states and node.kind in CLASSES["boxes"],
        on="ON" in node.states and has_switch,
        # What is in the fridge is cold from the start.
        temperature="cold" if parent.startswith("fridge|") else "room",
    )


def _is_raised(graph: Graph, node: Node) -> bool:
    """True if a node is on furniture with a surface."""
    for relation, number in graph.holders.get(node.id, ()):
        holder = graph.nodes[number]
        is_surface = preposition(holder) == "on" and not portable(holder)
        if relation == "ON" and is_surface:
            return True
    return False


def _parent(graph: Graph, node: Node) -> str:
    """Return the id of an object's holder, empty if it is on the floor.

    The first closable box around it, else a surface or dish. Boxes of furniture overlap
    (an apple on a table is also INSIDE the adjacent sofa), so INSIDE counts only for
    furniture that opens, and ON for the rest.
    """
    options = [
        (graph.nodes[number], relation)
        for relation, number in graph.holders.get(node.id, ())
    ]
    # Pairs of preposition and relation, the most reliable first.
    for kind, relation in (
        ("in", "INSIDE"),
        ("on", "ON"),
        ("in", "ON"),
        ("on", "INSIDE"),
    ):
        for holder, how in options:
            if how != relation or preposition(holder) != kind or not is_object(holder):
                continue
            # "On" a closed cupboard is really in it.
            is_on_box = relation == "ON" and holder.kind in CLASSES["boxes"]
            is_cycle = portable(holder) and _rests_on(graph, holder, node)
            # A dish in a pot must not hold that pot.
            if not is_on_box and not is_cycle:
                return holder.name
    return ""


def _rests_on(graph: Graph, dish: Node, item: Node) -> bool:
    """True if a dish is itself in or on an item, directly or through others."""
    holders = set[int]()
    queue = [dish.id]
    while queue:
        # Each holder is followed once, so a circle ends.
        new = {other for _, other in graph.holders.get(queue.pop(), ())} - holders
        holders |= new
        queue += new
    return item.id in holders
