"""A rule-based reader follows the instructions from their text alone.

It knows a regular-expression grammar of the language, the captions and sightings of the place it
stands at, and the ways out: nothing of the floor plan, the route or the gold path. If it finds
the goals, the instructions are correct and sufficient.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from helpers.sampling import LONG, some
from wayword.core.action import Action
from wayword.core.dataset import Task
from wayword.core.episode import PathReference
from wayword.core.geometry import relative
from wayword.core.perceiver import Percept
from wayword.datasets.houses import Houses
from wayword.worlds.indoor.graph import Neighbor
from wayword.worlds.indoor.world import IndoorObservation

END = r"(?= and\b|,|\.| on your| now|$)"
GRAMMAR = re.compile(
    "|".join(
        [
            r"(?P<around>turn (?:all the way )?around|make a U-turn)",
            r"(?:turn|make a|bear|veer|take a) ?(?P<how>slightly|sharply|sharp)? ?"
            r"(?P<side>left|right)",
            r"(?P<straight>go straight ahead|continue straight|head straight on)",
            r"(?:past|pass) the (?P<past>[a-z ]+?)" + END,
            r"(?:doorway to|door into) the (?P<door>[a-z ]+?)" + END,
            r"(?:walk to|go over to|as far as|head for|stop beside|stop next to|wait by|are beside)"
            r" the (?!doorway)(?P<thing>[a-z ]+?)" + END,
            r"(?P<step>few steps|little way)",
        ]
    ),
    re.IGNORECASE,
)
ANGLES = {"slightly": 45.0, "": 90.0, "sharply": 135.0, "sharp": 135.0}

FAR = 6.0
"""How far off (metres) the reader takes something to be that only a caption mentions."""

TOLD = 0.02
"""Metres that a degree off the told direction weighs."""

Spot = tuple[float, float]
"""Metres to the east and north of where one stands."""


@dataclass(frozen=True)
class Order:
    """One thing to do: after a turn (None: none told), reach a door, a thing, or take a step."""

    kind: str
    name: str
    turn: float | None


def read(text: str) -> list[Order]:
    """The instruction as orders; whatever the grammar does not know is passed over."""
    orders: list[Order] = []
    turn: float | None = None
    for match in GRAMMAR.finditer(text):
        said = match.groupdict()
        if said["around"]:
            turn = 180.0
        elif said["straight"]:
            turn = 0.0
        elif said["side"]:
            soft = match[0].lower().startswith(("bear", "veer"))
            size = ANGLES["slightly" if soft else (said["how"] or "").lower()]
            turn = size if said["side"].lower() == "right" else -size
        elif not said["past"]:
            kind = "step" if said["step"] else "thing" if said["thing"] else "door"
            orders.append(Order(kind, said["door"] or said["thing"] or "", turn))
            turn = None
    return orders


class Follower:
    """Carries out orders in a world, looking only at percepts and ways."""

    def __init__(self, dataset: Houses, task: Task) -> None:
        self.world = dataset.world(task.episode)
        self.world.reset(task.episode)
        self.eyes = dataset.perceiver()
        self.scene = task.episode.scene

    @property
    def here(self) -> IndoorObservation:
        return self.world.observe("agent")

    @property
    def seen(self) -> Percept:
        return self.eyes.perceive(self.scene, self.here.viewpoint)

    def follow(self, text: str) -> str:
        """Walk as told; the viewpoint one ends at. Where no turn is told, straight on is meant."""
        for order in read(text):
            turn: float | None = order.turn or 0.0
            been = {self.here.viewpoint}
            if order.kind == "step":
                self._go(self._turned(order.turn or 0.0))
                continue
            while not self._arrived(order):
                fresh = [
                    way for way in self.here.neighbors if way.viewpoint not in been
                ]
                spot = self._spot(order, turn)
                if not fresh or spot is None:
                    break
                self._go(min(fresh, key=lambda way: self._cost(way, spot, turn)))
                been.add(self.here.viewpoint)
                turn = None
        return self.here.viewpoint

    def _go(self, way: Neighbor) -> None:
        self.world.step("agent", Action("goto", (way.viewpoint,)))

    def _turned(self, turn: float) -> Neighbor:
        wanted = self.here.heading + turn
        return min(
            self.here.neighbors, key=lambda way: abs(relative(way.heading, wanted))
        )

    def _arrived(self, order: Order) -> bool:
        if order.kind == "door":
            between = re.match(r"(?:You|This).* the doorway .*", self.seen.summary)
            return bool(between and re.search(rf"the {order.name}\b", between[0]))
        near = self._near(order)
        return bool(near) and all(
            _left(way, near[0]) > math.hypot(*near[0]) for way in self.here.neighbors
        )

    def _cost(self, way: Neighbor, spot: Spot, turn: float | None) -> float:
        """Metres left after the way, dearer the more it departs from the turn that was told."""
        off = abs(relative(way.heading, self.here.heading + (turn or 0.0)))
        return _left(way, spot) + (0.0 if turn is None else TOLD * max(0.0, off - 25.0))

    def _spot(self, order: Order, turn: float | None) -> Spot | None:
        """Where the target may be; of several, the one nearest the direction that was told."""
        spots = self._near(order) or self._far(order)
        wanted = self.here.heading + (turn or 0.0)
        return min(
            spots,
            key=lambda s: abs(relative(math.degrees(math.atan2(s[0], s[1])), wanted)),
            default=None,
        )

    def _near(self, order: Order) -> list[Spot]:
        """From the sightings, which have a distance."""
        name = f"doorway to the {order.name}" if order.kind == "door" else order.name
        sightings = [each for sector in self.seen.sectors for each in sector.sightings]
        return [
            _from_here(each.heading, each.distance)
            for each in sightings
            if each.distance is not None and f" {each.name}".endswith(f" {name}")
        ]

    def _far(self, order: Order) -> list[Spot]:
        """From the captions, which tell a direction only: as if somewhat beyond the sightings."""
        door = rf"doorways? to (?:the [a-z ]+, |the [a-z ]+ and )*the {order.name}\b"
        pattern = door if order.kind == "door" else rf"\b{order.name}\b"
        return [
            _from_here(sector.heading, FAR)
            for sector in self.seen.sectors
            if re.search(pattern, sector.caption, re.IGNORECASE)
        ]


def _from_here(heading: float, distance: float) -> Spot:
    angle = math.radians(heading)
    return distance * math.sin(angle), distance * math.cos(angle)


def _left(way: Neighbor, spot: Spot) -> float:
    """Metres from a way's end to a spot."""
    return math.dist(_from_here(way.heading, way.distance), spot)


def outcome(dataset: Houses, task: Task) -> tuple[bool, bool]:
    """Whether the reader ends within 3 m of the goal, and whether on it."""
    assert isinstance(task.reference, PathReference)
    end = Follower(dataset, task).follow(task.episode.instruction)
    away = dataset.graph(task.episode.scene).distance(end, task.reference.goal)
    return away < 3.0, away == 0.0


def test_a_reader_of_the_text_alone_reaches_the_goal() -> None:
    """At least 95 of 100 episodes, over both splits and houses of five to fourteen rooms."""
    kinds = [("test", 9), ("train", 9), ("test", 5), ("train", 14)]
    results = []
    for split, rooms in kinds:
        sizes = Houses.Settings(houses=40, episodes=360, seed=5, rooms=rooms)
        dataset = Houses(split, None, sizes)
        results += [outcome(dataset, task) for task in some(dataset.tasks, 4)]
    success = sum(near for near, _ in results) / len(results)
    exact = sum(there for _, there in results) / len(results)
    assert len(results) == (1440 if LONG else 360)
    assert success >= 0.95, f"success {success:.3f}, exact {exact:.3f}"
    assert exact >= 0.95, f"success {success:.3f}, exact {exact:.3f}"


def test_the_reader_needs_the_words() -> None:
    """With another path's instruction it fails: the goals are not found by luck."""
    dataset = Houses("test", None, Houses.Settings(houses=20, episodes=180, seed=5))
    tasks = list(dataset.tasks)
    shuffled = [
        Follower(dataset, task).follow(other.episode.instruction)
        for task, other in zip(tasks, tasks[60:] + tasks[:60], strict=True)
    ]
    near = 0
    for task, end in zip(tasks, shuffled, strict=True):
        assert isinstance(task.reference, PathReference)
        near += (
            dataset.graph(task.episode.scene).distance(end, task.reference.goal) < 3.0
        )
    assert near / len(tasks) < 0.3


def test_every_order_of_an_instruction_is_read() -> None:
    """The grammar finds one order for each stretch of the route, in all three wordings."""
    dataset = Houses("test", None, Houses.Settings(houses=20, episodes=180, seed=5))
    for task in dataset.tasks:
        scene, path, _ = task.episode.id.rsplit("_", 2)
        stretches = dataset.route(scene, int(path)).stretches
        assert len(read(task.episode.instruction)) == len(stretches), (
            task.episode.instruction
        )
