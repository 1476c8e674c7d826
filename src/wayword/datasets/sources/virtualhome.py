"""VirtualHome's home graphs as household scenes, and Watch-And-Help's goals as conditions on them.

A graph has nodes with class, box, properties and states, and edges by relation. A goal is a set of
predicates, such as ``on_plate_137: 2`` or ``inside_apple_fridge: 1``, and how often each must hold.
VirtualHome's frame is Unity's: left-handed, y up, metres. Here x is its x, y (north) its z, and
heights are its y.

Sources: VirtualHome (Puig et al. 2018), environment graphs; github.com/xavierpuigf/virtualhome.
Watch-And-Help (Puig et al. 2021), section 3; C-WAH (Zhang et al. 2023) keeps its form.
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
from wayword.datasets.procedural.homes.home import Home
from wayword.worlds.household.builder import FLAT, HEADROOM, SceneBuilder
from wayword.worlds.household.goals import GoalCondition, Held, Inside
from wayword.worlds.household.house import Fail, House
from wayword.worlds.household.layout import Layout, fits
from wayword.worlds.household.route import Trip
from wayword.worlds.household.scene import HouseObject, Point, Preposition, Scene
from wayword.worlds.household.verbs import Body


@dataclass(frozen=True, slots=True)
class AxisBox:
    """An axis-aligned box by centre and extents, metres: x east, y north, ``bottom`` and
    ``height`` up."""

    x: float
    y: float
    width: float
    depth: float
    bottom: float
    height: float

    def holds(self, x: float, y: float) -> bool:
        """Whether a point of the plan is inside."""
        return abs(x - self.x) <= self.width / 2 and abs(y - self.y) <= self.depth / 2


@dataclass(frozen=True, slots=True)
class Node:
    """``kind`` is the published class name, ``box`` None where none is published."""

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
    """One home. ``edges``: (from, relation, to)."""

    nodes: Mapping[int, Node]
    edges: Sequence[tuple[int, str, int]]

    @cached_property
    def rooms(self) -> dict[int, int]:
        """Node -> the room it is inside, the first one listed."""
        found: dict[int, int] = {}
        for start, relation, end in self.edges:
            if relation == "INSIDE" and self.nodes[end].category == "Rooms":
                found.setdefault(start, end)
        return found

    @cached_property
    def holders(self) -> dict[int, list[tuple[str, int]]]:
        """Node -> what it is ON or INSIDE of, rooms aside, in file order."""
        found: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for start, relation, end in self.edges:
            if relation in ("ON", "INSIDE") and self.nodes[end].category != "Rooms":
                found[start].append((relation, end))
        return found


def graph_of(record: Mapping[str, Json], source: Path | str) -> Graph:
    """The graph in a JSON record. Raises ``DataError`` naming the node and field."""
    nodes: dict[int, Node] = {}
    for number, entry in enumerate(_field(record, "nodes", source, "")):
        where = f"node {number}"
        node = Node(
            int(_field(entry, "id", source, where)),
            str(_field(entry, "class_name", source, where)).replace("_", ""),
            str(_field(entry, "category", source, where)),
            _box(entry.get("bounding_box"), source, where),
            frozenset(entry.get("properties") or ()),
            frozenset(entry.get("states") or ()),
        )
        nodes[node.id] = node
    edges = []
    for number, entry in enumerate(_field(record, "edges", source, "")):
        edge = tuple(
            _field(entry, key, source, f"edge {number}")
            for key in ("from_id", "relation_type", "to_id")
        )
        if edge[0] in nodes and edge[2] in nodes:
            edges.append((int(edge[0]), str(edge[1]), int(edge[2])))
    return Graph(nodes, edges)


def trimmed_of(record: Mapping[str, Json], full: Graph, source: Path | str) -> Graph:
    """A trimmed graph, which publishes no boxes, with the boxes and classes of the full graph of
    the same home, whose node ids it keeps, and with the rooms' own floors and doors."""
    slim = graph_of(record, source)
    strange = [n for n in slim.nodes if n not in full.nodes]
    if strange:
        problem = f"has the id {strange[0]}, which the full graph of that home lacks"
        raise DataError(source, f"node {strange[0]}", problem)
    frame = ("Rooms", "Floor", "Floors", "Doors")
    nodes = {
        number: node
        for number, node in full.nodes.items()
        if number in slim.nodes or node.category in frame
    }
    for number, node in slim.nodes.items():
        same = full.nodes[number]
        nodes[number] = Node(
            number, same.kind, same.category, same.box, node.properties, node.states
        )
    edges = [edge for edge in full.edges if edge[0] in nodes and edge[2] in nodes]
    return Graph(nodes, edges)


def _field(record: Mapping[str, Json], key: str, source: Path | str, where: str) -> Json:
    if not isinstance(record, Mapping) or key not in record:
        raise DataError(source, where, f"has no field {key!r}", "fetch the file again")
    return record[key]


def _box(record: Json, source: Path | str, where: str) -> AxisBox | None:
    if not record:
        return None
    try:
        (x, high, y), (width, height, depth) = record["center"], record["size"]
        return AxisBox(
            *(float(x), float(y), abs(float(width)), abs(float(depth))),
            *(float(high) - abs(float(height)) / 2, abs(float(height))),
        )
    except (KeyError, TypeError, ValueError) as error:
        problem = "needs a centre and a size of three numbers each"
        raise DataError(source, f"{where}, field 'bounding_box'", problem) from error


# What each class of VirtualHome node is in the household world.
#
# Properties are VirtualHome's own; where the releases differ (a bookshelf that opens in one and
# not in the other), the classes below decide. They follow C-WAH's lists of surfaces and
# containers.

FRAME = ("Rooms", "Floor", "Floors", "Walls", "Ceiling", "Windows", "Doors")
"""Categories that make the house, not what is in it."""
SURFACES = frozenset(
    (
        *("bathroomcounter", "bed", "bench", "bookshelf", "chair", "coffeetable", "desk"),
        *("kitchencounter", "kitchentable", "nightstand", "shelf", "sofa", "towelrack"),
        *("tvstand", "wallshelf"),
    )
)
BOXES = frozenset(
    (
        *("bathroomcabinet", "cabinet", "closet", "dishwasher", "fridge", "garbagecan"),
        *("kitchencabinets", "microwave", "stove", "toilet", "washingmachine"),
    )
)
"""Classes that things are in, behind a door or lid."""
BASINS = frozenset(("sink", "bathtub"))
"""Classes that things are in, open at the top."""
DISHES: dict[str, Preposition] = {"plate": "on", "dishbowl": "in"}
"""Things that other things are in or on."""
FIXED = frozenset(("chair", "coatrack", "rug", "towelrack", "wallpictureframe"))
"""Classes that VirtualHome lets a body take, and that stay where they are here: too big for a hand,
or part of the room."""
HUNG = frozenset(("curtains", "wallpictureframe", "rug", "ceilinglamp", "walllamp", "ceilingfan"))
WORKS: dict[str, tuple[str, ...]] = {
    "fridge": ("cooler",),
    "microwave": ("heater",),
    "stove": ("heater",),
    "dishwasher": ("cleaner",),
    "washingmachine": ("cleaner",),
    "cutleryknife": ("slicer",),
}
"""Class -> what it does; VirtualHome's graphs do not say."""


def is_thing(node: Node) -> bool:
    """Whether a hand takes it."""
    return "GRABBABLE" in node.properties and node.kind not in FIXED


def preposition(node: Node) -> Preposition:
    """How things are at it: ``on``, ``in`` or not at all."""
    if is_thing(node):
        return DISHES.get(node.kind, "")
    if node.kind in SURFACES:
        return "on"
    return "in" if node.kind in BOXES | BASINS else ""


def affordances(node: Node) -> frozenset[str]:
    """What it can do or have done to it."""
    found = set(WORKS.get(node.kind, ()))
    if is_thing(node):
        found.add("pickupable")
    elif node.kind in BOXES:
        found.add("openable")
    if "HAS_SWITCH" in node.properties and node.kind != "fridge":
        found.add("toggleable")
    return frozenset(found)


def left_out(node: Node) -> str:
    """Why a node is no object of the scene; empty where it is one."""
    if node.category in FRAME:
        return "part of the building (rooms, floors, walls, ceilings, windows, doors)"
    if node.category == "Characters":
        return "a character"
    if node.box is None:
        return "no bounding box is published"
    if is_thing(node) or preposition(node) or affordances(node):
        return ""
    if node.kind in HUNG:
        return "hung or laid out: lamps overhead, pictures, curtains, rugs"
    if node.category in ("Furniture", "Appliances") and node.box.width * node.box.depth > 0.04:
        return ""
    return "cannot be taken, opened, switched or stood on"


# Goals.

SIT = "a sit predicate: nobody sits down in this world"
UNKNOWN = "a predicate of no known form"
NO_PLACE = "its place is not in the home"
TOO_FEW = "fewer things of the type than it asks for"
OUT_OF_REACH = "something it asks for is out of reach"

SPOKEN = {
    "coffeepot": "coffee pot",
    "coffeetable": "coffee table",
    "cutleryfork": "fork",
    "kitchentable": "kitchen table",
    "waterglass": "water glass",
    "wineglass": "wine glass",
    "juice": "bottle of juice",
    "wine": "bottle of wine",
}
"""Classes whose everyday name is not the class itself."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """``relation`` is ``on``, ``inside``, ``holds`` or ``sit``; ``place`` a class name or a node's
    id, as published; ``count`` is how often it must hold."""

    relation: str
    thing: str
    place: str
    count: int


def predicates(record: Mapping[str, Json]) -> list[Predicate]:
    """Those that must hold at least once, in file order."""
    found = []
    for key, count in record.items():
        parts = str(key).split("_")
        relation, thing, place = parts[0], "_".join(parts[1:-1]), parts[-1]
        if len(parts) == 2:  # holds_book, sit_sofa
            thing, place = parts[1], ""
        if int(count) > 0:
            found.append(Predicate(relation, thing, place, int(count)))
    return found


def condition(predicate: Predicate, scene: Scene, place: HouseObject | None) -> GoalCondition | str:
    """What a predicate asks of a final state, its place being given; or why it asks nothing."""
    things = tuple(
        o.id for o in scene.objects if o.type == predicate.thing and "pickupable" in o.affordances
    )
    if predicate.relation == "sit":
        return SIT
    if predicate.relation not in ("on", "inside", "holds"):
        return UNKNOWN
    if len(things) < predicate.count:
        return TOO_FEW
    if predicate.relation == "holds":
        return Held(things)
    if place is None or not place.receptacle:
        return NO_PLACE
    return Inside(things, (place.id,), parts=predicate.count)


def class_words(kind: str) -> str:
    """A class as people say it."""
    return SPOKEN.get(kind, kind)


# Rooms from floor tiles, doorways from doors and jambs.
#
# VirtualHome's room nodes have boxes that include what sticks out of them (in one home a stray
# piece of wall makes a bathroom four metres too long), so a room is the rectangle that its floor
# tiles fill: all rooms published are such.

APART = 0.4
"""Metres to either side of a doorway at which one is in the rooms it joins."""
WIDTH = 0.93
"""Width of VirtualHome's door frames, metres."""


@dataclass(frozen=True, slots=True)
class Doorway:
    """A gap from ``a`` to ``b`` between two rooms; ``door`` is a door node's id, 0 for none."""

    a: Point
    b: Point
    door: int


def rooms_of(graph: Graph, source: str) -> dict[int, tuple[str, AxisBox]]:
    """Room node -> its name and rectangle. Names are ``kitchen``, ``living room``, ``bedroom 2``.

    Raises ``DataError`` for a room without floor.
    """
    found: dict[int, tuple[str, AxisBox]] = {}
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
        found[number] = name, AxisBox(*middle, east - west, north - south, 0.0, 2.5)
    return found


def doorways_of(graph: Graph, rooms: list[AxisBox]) -> tuple[list[Doorway], int]:
    """The doorways between rooms, and how many others lead out of the house."""
    places: list[tuple[float, float, int]] = []
    for number, node in graph.nodes.items():
        if node.category != "Doors" or node.box is None:
            continue
        x, y, leaf = node.box.x, node.box.y, number if node.kind == "door" else 0
        twin = next((p for p in places if math.dist(p[:2], (x, y)) < 0.5), None)
        if twin:
            places[places.index(twin)] = (*twin[:2], twin[2] or leaf)
        else:
            places.append((x, y, leaf))
    found, outer = [], 0
    for x, y, leaf in places:
        half = WIDTH / 2
        if _joins(rooms, (x - APART, y), (x + APART, y)):
            found.append(Doorway((x, y - half), (x, y + half), leaf))
        elif _joins(rooms, (x, y - APART), (x, y + APART)):
            found.append(Doorway((x - half, y), (x + half, y), leaf))
        else:
            outer += 1
    return found, outer


def _joins(rooms: list[AxisBox], one: Point, other: Point) -> bool:
    """Whether two points are in two different rooms."""
    first = next((room for room in rooms if room.holds(*one)), None)
    second = next((room for room in rooms if room.holds(*other)), None)
    return first is not None and second is not None and first is not second


# Mending: published boxes are boxes around furniture at any angle, and often too big to get past.
#
# What is inferred: a piece that reaches into a doorway is walked past; and where a room is still
# out of reach, so is one piece after another, the one that opens most floor first.

CLEAR = 0.65
"""Metres kept free on either side of a doorway."""
TRIES = 30


def clear_doorways(
    objects: list[HouseObject], doorways: list[Doorway]
) -> tuple[list[HouseObject], int]:
    """The objects, those before a doorway made passable; and how many those are."""
    made, count = [], 0
    for thing in objects:
        if thing.solid and any(_before(thing, way) for way in doorways):
            thing = replace(thing, solid=False, opaque=False)
            count += 1
        made.append(thing)
    return made, count


def connect(scene: Scene) -> tuple[Scene, Layout, tuple[Point, ...], int]:
    """A scene all of whose rooms are within reach of each other on foot, its layout, the places
    to stand, and how many pieces were made passable for it."""
    opened = 0
    layout = Layout(scene)
    places, missing = _reach(layout)
    while missing and opened < TRIES:
        tried = [
            (len(missing), len(places), number)
            for number, thing in enumerate(scene.objects)
            if thing.solid and layout.room_at(thing.x, thing.y) in missing
        ]
        if not tried:
            break
        # The widest piece in a room that is cut off is the likeliest to be what cuts it off.
        number = max((n for *_, n in tried), key=lambda n: _area(scene.objects[n]))
        objects = list(scene.objects)
        objects[number] = replace(objects[number], solid=False, opaque=False)
        scene = replace(scene, objects=tuple(objects))
        layout, opened = Layout(scene), opened + 1
        places, missing = _reach(layout)
    return scene, layout, places, opened


def _area(thing: HouseObject) -> float:
    return thing.width * thing.depth


def _reach(layout: Layout) -> tuple[tuple[Point, ...], set[str]]:
    """The places from which most rooms are within reach, all doors open, and the other rooms."""
    body = Body()
    west, south, east, north = layout.bounds
    x, y = round((west + east) / 2 * 4) / 4, round((south + north) / 2 * 4) / 4
    house = House(layout, {"agent": body}, {"agent": (x, y, 0.0)})
    me = house.actors["agent"]
    for door in range(house.things.objects, house.things.first_actor):
        house.things.swing(door, True)
    grid = Trip(house, me).grid
    left = {int(p) for p in np.flatnonzero((grid.ways >= 0).any(axis=1))}
    rooms = {room.name for room in layout.scene.rooms}
    best: tuple[tuple[Point, ...], set[str]] = ((), rooms)
    while left:
        start = min(left)
        house.stand(me, float(grid.x[start]), float(grid.y[start]))
        steps = Trip(house, me).steps
        part = {int(p) for p in np.flatnonzero(steps >= 0)}
        left -= part | {start}
        missing = set(rooms)
        for p in part:
            missing.discard(layout.room_at(float(grid.x[p]), float(grid.y[p])))
        if (len(missing), -len(part)) < (len(best[1]), -len(best[0])):
            spots = [(round(float(grid.x[p]), 6), round(float(grid.y[p]), 6)) for p in part]
            best = tuple(sorted(spots)), missing
    shut = [True] * len(layout.doors)
    return tuple(at for at in best[0] if fits(layout, body.radius, at, shut)), best[1]


def reachable(layout: Layout, start: Point, ids: list[str]) -> set[str]:
    """Which objects a body at a place gets to, sees and reaches, all doors open."""
    house = House(layout, {"agent": Body()}, {"agent": (*start, 0.0)})
    for door in range(house.things.objects, house.things.first_actor):
        house.things.swing(door, True)
    trip = Trip(house, house.actors["agent"])
    found = set()
    for name in ids:
        try:
            trip.to_thing(layout.index[name], None)
        except Fail:
            continue
        found.add(name)
    return found


def _before(thing: HouseObject, way: Doorway) -> bool:
    """Whether a piece reaches into the strip that leads through a doorway."""
    (ax, ay), (bx, by) = way.a, way.b
    along_x = abs(bx - ax) > abs(by - ay)
    wide, deep = (abs(bx - ax) / 2 - 0.1, CLEAR) if along_x else (CLEAR, abs(by - ay) / 2 - 0.1)
    x, y = (ax + bx) / 2, (ay + by) / 2
    over_x = abs(thing.x - x) < thing.width / 2 + wide
    over_y = abs(thing.y - y) < thing.depth / 2 + deep
    return over_x and over_y


@dataclass(frozen=True, eq=False)
class Imported:
    """A published home. ``left`` counts the nodes left out by cause, ``inferred`` what was made
    passable or otherwise supplied."""

    home: Home
    graph: Graph
    left: Mapping[str, int]
    inferred: Mapping[str, int]

    def thing(self, number: int) -> HouseObject | None:
        """The object of a node, None for one that was left out."""
        node = self.graph.nodes.get(number)
        by_id = self.home.layout.index
        i = by_id.get(node.name) if node else None
        return None if i is None else self.home.scene.objects[i]


def import_home(name: str, graph: Graph, source: str = "") -> Imported:
    """The home of a graph. Raises ``DataError`` where a room has no floor."""
    rooms = rooms_of(graph, source or name)
    builder = SceneBuilder(name)
    for words, box in rooms.values():
        builder.room(words, _corners(box))
    ways, outer = doorways_of(graph, [box for _, box in rooms.values()])
    for way in ways:
        if way.door:
            node = graph.nodes[way.door]
            builder.door(f"door|{way.door}", way.a, way.b, shut="CLOSED" in node.states)
        else:
            builder.opening(way.a, way.b)
    left: Counter[str] = Counter(filter(None, map(left_out, graph.nodes.values())))
    kept = [node for node in graph.nodes.values() if not left_out(node)]
    kept.sort(key=is_thing)
    loose: Counter[str] = Counter()
    made = [_object(graph, node, loose) for node in kept]
    made, passable = clear_doorways(made, ways)
    for thing in made:
        builder.add(thing)
    scene, layout, places, opened = connect(builder.build())
    inferred = {
        "doorways out of the house left walled up": outer,
        "pieces before a doorway made passable": passable,
        "pieces made passable to reach a room": opened,
        **loose,
    }
    return Imported(Home(name, scene, layout, places), graph, left, inferred)


def _corners(box: AxisBox) -> list[tuple[float, float]]:
    wide, deep = box.width / 2, box.depth / 2
    return [
        (box.x - wide, box.y - deep),
        (box.x + wide, box.y - deep),
        (box.x + wide, box.y + deep),
        (box.x - wide, box.y + deep),
    ]


def _object(graph: Graph, node: Node, loose: Counter[str]) -> HouseObject:
    box = node.box
    assert box is not None, "nodes without a box are left out"
    thing = is_thing(node)
    parent = _parent(graph, node, loose) if thing else ""
    stands = not thing and box.height > FLAT and box.bottom < HEADROOM
    return HouseObject(
        *(node.name, node.kind, box.x, box.y, box.width, box.depth),
        *(max(0.0, box.bottom), box.height, parent, affordances(node), preposition(node)),
        solid=stands and not _on_furniture(graph, node),
        opaque=not thing,
        open="OPEN" in node.states and node.kind in BOXES,
        on="ON" in node.states and "HAS_SWITCH" in node.properties and node.kind != "fridge",
        temperature="cold" if parent.startswith("fridge|") else "room",
    )


def _parent(graph: Graph, node: Node, loose: Counter[str]) -> str:
    """What a thing is in or on: the first box it is inside of, else the first surface or dish.

    Boxes around furniture overlap (an apple on a table is also INSIDE the sofa round the corner),
    so INSIDE counts for things that open, ON for the rest.
    """
    options = [(graph.nodes[n], relation) for relation, n in graph.holders.get(node.id, ())]
    wanted: tuple[tuple[Preposition, str], ...] = (("in", "INSIDE"), ("on", "ON"), ("in", "ON"))
    for kind, relation in (*wanted, ("on", "INSIDE")):
        for other, how in options:
            dish = is_thing(other)
            suits = preposition(other) == kind and how == relation and not left_out(other)
            boxed = other.kind in BOXES and relation == "ON"
            if suits and not boxed and not (dish and _rests_on(graph, other, node)):
                return other.name
    loose["things on top of something else, without a holder"] += bool(options)
    return ""


def _rests_on(graph: Graph, dish: Node, thing: Node) -> bool:
    """Whether a dish is itself in or on a thing, by some chain."""
    seen, queue = {dish.id}, [dish.id]
    while queue:
        for _, other in graph.holders.get(queue.pop(), ()):
            if other == thing.id:
                return True
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return False


def _on_furniture(graph: Graph, node: Node) -> bool:
    """Whether a piece stands on another (a microwave on a counter)."""
    return any(
        how == "ON" and preposition(graph.nodes[n]) == "on" and not is_thing(graph.nodes[n])
        for how, n in graph.holders.get(node.id, ())
    )
