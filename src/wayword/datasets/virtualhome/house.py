"""A home graph as a scene of the rooms world, with counts of what was left out and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from wayword.datasets.homes.home import Home
from wayword.datasets.virtualhome.graph import Box, Graph, Node
from wayword.datasets.virtualhome.kinds import (
    BOXES,
    affordances,
    is_thing,
    left_out,
    preposition,
)
from wayword.datasets.virtualhome.mending import clear_doorways, connect
from wayword.datasets.virtualhome.plan import doorways_of, rooms_of
from wayword.worlds.housework.builder import FLAT, HEADROOM, SceneBuilder
from wayword.worlds.housework.scene import HouseObject, Preposition


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


def _corners(box: Box) -> list[tuple[float, float]]:
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
