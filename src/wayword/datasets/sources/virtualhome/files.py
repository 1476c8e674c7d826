"""What C-WAH publishes: home graphs, and goals as predicates.

A graph has nodes with class, box, properties and states, and edges by relation. A goal is a set of
predicates, such as ``on_plate_137: 2`` or ``inside_apple_fridge: 1``, and how often each must hold.

Sources: VirtualHome (Puig et al. 2018), environment graphs; github.com/xavierpuigf/virtualhome.
Watch-And-Help (Puig et al. 2021), section 3; C-WAH (Zhang et al. 2023) keeps its form.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from wayword.core.episode import Json
from wayword.core.errors import DataError
from wayword.worlds.household.goals import GoalCondition, Held, Inside
from wayword.worlds.household.scene import HouseObject, Preposition, Scene


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
PLURALS = {"glass": "glasses"}


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


def spoken(kind: str) -> str:
    """A class as people say it."""
    return SPOKEN.get(kind, kind)


def counted(kind: str, number: int) -> str:
    """``two water glasses``."""
    words = spoken(kind)
    if number == 1:
        return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
    head, of, rest = words.partition(" of ")
    front, _, last = head.rpartition(" ")
    many = f"{front} {PLURALS.get(last, last + 's')}".strip() + of + rest
    return f"{_NUMBERS.get(number, str(number))} {many}"


_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
