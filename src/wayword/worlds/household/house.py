"""House: a scene in which bodies act: who is where, sees what, and knows what by which name."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import Json
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.observation import (
    Answerer,
    Direction,
    HeldObject,
    HouseholdObservation,
    Mailbox,
    SeenActor,
    SeenDoor,
    SeenObject,
)
from wayword.worlds.household.scene import TEMPERATURES
from wayword.worlds.household.sight import NOTHING, Sight, VisibleThings
from wayword.worlds.household.things import Things
from wayword.worlds.household.verbs import VERBS, Body

# Names: ``type_n`` in the order in which things are first seen.


class ObjectNames:
    """The names one actor (or a group that shares them) has for things.

    The first apple seen is ``apple_1``, whichever apple of the house it is. Actors go by their own
    names.
    """

    def __init__(self, types: list[str], actors: Iterable[str]) -> None:
        self._types = types
        self._counts: dict[str, int] = {}
        self.order: list[int] = []
        """Things in the order in which they were named."""
        self.of: list[str] = [""] * len(types) + list(actors)
        """Thing -> its name, empty where it has none yet."""
        self.thing: dict[str, int] = {name: i for i, name in enumerate(self.of) if name}
        """Name -> thing."""

    def learn(self, seen: Iterable[int]) -> None:
        """Name whatever has no name yet, in the given order."""
        for i in seen:
            if not self.of[i]:
                kind = self._types[i]
                number = self._counts[kind] = self._counts.get(kind, 0) + 1
                self.of[i] = f"{kind}_{number}"
                self.thing[self.of[i]] = i
                self.order.append(i)

    def forget(self, length: int) -> None:
        """Back to when ``length`` things had names."""
        for i in self.order[length:]:
            del self.thing[self.of[i]]
            self.of[i] = ""
            self._counts[self._types[i]] -= 1
        del self.order[length:]


class Fail(Exception):
    """Why an action cannot be done: a status, and what fills its sentence."""

    def __init__(self, status: str, **details: Json) -> None:
        super().__init__(status)
        self.status, self.details = status, details


@dataclass(slots=True, eq=False)
class Actor:
    """One body: place (metres), heading (degrees), hands, and what it has seen.

    ``number`` is its own among the things. ``known``, ``seen_x``, ``seen_y``, ``seen_in`` (M,) say
    what it has seen, and where and in which enclosing receptacle it last did.
    """

    name: str
    number: int
    body: Body
    x: float
    y: float
    heading: float
    names: ObjectNames
    known: NDArray[np.bool_]
    seen_x: NDArray[np.float64]
    seen_y: NDArray[np.float64]
    seen_in: NDArray[np.int32]
    hands: list[int] = field(default_factory=list)
    view: VisibleThings = NOTHING
    room: str = ""
    actions: int = 0
    low_level: int = 0
    stopped: bool = False
    answer: str | None = None


class House:
    """The state that actions change. Built by the world at every reset."""

    def __init__(
        self,
        layout: Layout,
        bodies: Mapping[str, Body],
        poses: Mapping[str, tuple[float, float, float]],
        answerer: Answerer | None = None,
        shared_names: bool = False,
        named: bool = False,
    ) -> None:
        self.layout = layout
        self.things = Things(layout.scene, len(bodies))
        self.sight = Sight(layout, self.things)
        self.mailbox = Mailbox({name: [] for name in bodies})
        self.answerer, self.named = answerer, named
        self.actors: dict[str, Actor] = {}
        size, first = self.things.size, self.things.first_actor
        types = [self.things.type(i) for i in range(first)]
        common = ObjectNames(types, bodies)
        if named:
            common.learn(range(first))
        for number, (name, body) in enumerate(bodies.items(), first):
            names = common if shared_names or named else ObjectNames(types, bodies)
            x, y, heading = poses[name]
            seen = np.zeros((2, size))
            self.actors[name] = Actor(
                *(name, number, body, x, y, heading, names),
                *(np.zeros(size, np.bool_), seen[0], seen[1], np.zeros(size, np.int32)),
            )
            self.things.half_x[number] = self.things.half_y[number] = body.radius
            self.things.inset_x[number] = self.things.inset_y[number] = min(0.05, body.radius)
            self.stand(self.actors[name], x, y)
        self.refresh()
        self.pointless = self._pointless()
        """Verbs that nothing in this house, and nobody, is there for."""

    def _pointless(self) -> frozenset[str]:
        there = {each for spec in self.things.specs for each in spec.affordances}
        there |= {"openable"} if self.things.openable.any() else set()
        found = {verb.name for verb in VERBS.values() if verb.needs and verb.needs not in there}
        if "slicer" not in there:
            found.add("slice")
        if len(self.actors) == 1:
            found |= {"wait", "chat"}
        return frozenset(found)

    def stand(self, me: Actor, x: float, y: float) -> None:
        """Put a body at a place."""
        me.x, me.y = round(x, 9), round(y, 9)
        self.things.x[me.number], self.things.y[me.number] = me.x, me.y
        self.things.rebox(me.number)
        me.room = self.layout.room_at(me.x, me.y)

    def refresh(self, only: Actor | None = None) -> None:
        """Look again: everybody, or one whose turn alone cannot have shown others anything."""
        for me in (only,) if only else self.actors.values():
            if not me.stopped:
                self._look(me)

    def _look(self, me: Actor) -> None:
        things = self.things
        me.view = self.sight.look(me.body, (me.x, me.y, me.heading), me.number)
        seen = me.view.things
        if seen:
            me.names.learn(seen)
            which = np.array(seen)
            me.known[which] = True
            me.seen_x[which] = things.x[which]
            me.seen_y[which] = things.y[which]
            me.seen_in[which] = things.anchor[which]

    def name(self, me: Actor, i: int) -> str:
        """What an actor calls a thing: its name, else its type."""
        return me.names.of[i] or self.things.type(i)

    def others(self, me: Actor) -> list[tuple[int, float, float, float]]:
        """The other bodies, for collisions; one without a radius meets nobody."""
        return [
            (a.number, a.x, a.y, a.body.radius)
            for a in self.actors.values()
            if a is not me and a.body.radius and me.body.radius
        ]

    def holder(self, i: int) -> int:
        """The actor (its number) in whose hands a thing is, however deep, or -1."""
        at = i
        while at >= 0 and at < self.things.first_actor:
            at = int(self.things.inside[at])
        return at

    def distance(self, me: Actor, i: int) -> float:
        """Metres to the nearest point of a thing, or of what encloses it; 0 in the hands."""
        if self.holder(i) == me.number:
            return 0.0
        t, a = self.things, int(self.things.anchor[i])
        dx = max(t.west[a] - me.x, 0.0, me.x - t.east[a])
        dy = max(t.south[a] - me.y, 0.0, me.y - t.north[a])
        return math.hypot(dx, dy)

    def attempt(self, deed: Callable[[], dict[str, Json]]) -> dict[str, Json]:
        """Do several things or none: all is as before where one of them fails."""
        things, people = (
            self.things.snapshot(),
            [
                (
                    *(a.x, a.y, a.heading, list(a.hands), a.view, a.room, a.low_level),
                    *(a.known.copy(), a.seen_x.copy(), a.seen_y.copy(), a.seen_in.copy()),
                    len(a.names.order),
                )
                for a in self.actors.values()
            ],
        )
        try:
            return deed()
        except Fail:
            self.things.restore(things)
            for a, record in zip(self.actors.values(), people, strict=True):
                a.x, a.y, a.heading, a.hands, a.view, a.room, a.low_level = record[:7]
                a.known, a.seen_x, a.seen_y, a.seen_in = record[7:11]
                a.names.forget(record[11])
            raise


# From a view to the observation an actor is given.

NOWHERE = ("", "")


def observation(house: House, me: Actor) -> HouseholdObservation:
    """What an actor perceives now, by the names it has for things."""
    things, names, view = house.things, me.names.of, me.view
    third = me.body.view_angle / 6
    objects: list[SeenObject] = []
    doors: list[SeenDoor] = []
    others: list[SeenActor] = []
    inside = things.inside[view.things].tolist() if view.things else []
    there = set(view.things)
    rows = sorted(zip(view.distance, view.things, view.bearing, inside, strict=True))
    for away, i, bearing, holder in rows:
        side: Direction = "left" if bearing < -third else "right" if bearing > third else "middle"
        # To a tenth of a degree and a centimetre; several times as fast as round().
        bearing, away = (int(bearing * 10 + 3600.5) - 3600) / 10, int(away * 100 + 0.5) / 100
        if i < things.objects:
            preposition, container = NOWHERE
            if holder in there:
                preposition, container = things.specs[holder].receptacle, names[holder]
            states = things.states(i)
            objects.append(
                SeenObject(names[i], side, bearing, away, preposition, container, states)
            )
        elif i < things.first_actor:
            rooms = house.layout.scene.doors[i - things.objects].rooms
            doors.append(SeenDoor(names[i], side, bearing, away, bool(things.open[i]), rooms))
        else:
            other = house.actors[names[i]]
            carried = tuple(house.name(me, k) for k in other.hands)
            others.append(SeenActor(names[i], side, bearing, away, carried))
    return HouseholdObservation(
        me.name,
        me.room,
        me.heading,
        tuple(_held(house, me, i) for i in me.hands),
        tuple(objects),
        tuple(doors),
        tuple(others),
        tuple(house.mailbox.inbox[me.name]),
    )


def _held(house: House, me: Actor, i: int) -> HeldObject:
    shows = not house.things.encloses[i] or house.things.open[i]
    contents = tuple(house.name(me, k) for k in house.things.contents(i)) if shows else ()
    return HeldObject(house.name(me, i), house.things.states(i), contents)


# Report: the whole true state of a house in JSON values, for judges and recordings.

FLAGS = (
    *("open", "on", "dirty", "sliced", "filled", "cooked"),
    *("heated", "cooled", "cleaned", "coffee", "boiled"),
)
"""The states that hold or do not."""


def report(house: House) -> dict[str, Json]:
    """``objects``: id -> x, y, bottom, ``in`` (the id of its receptacle, or ""), ``held`` (the
    actor that holds it, itself or in something, or ""), room, open, on, dirty, sliced, filled,
    cooked, temperature, whether it was ever heated, cooled, cleaned, and whether it is filled with
    coffee, or was boiled. ``doors``: id -> open.
    ``actors``: name -> room, x, y, heading, holding (ids, oldest first), actions, low_level,
    stopped, answer, names (name -> id), sees (ids of the objects and doors in view at the end, or
    when it stopped -> metres to the nearest point).
    ``messages``: [sender, recipients, text] in order of sending."""
    things = house.things
    doors = house.layout.scene.doors
    return {
        "scene": house.layout.scene.name,
        "objects": dict(zip(house.layout.ids, _objects(house, 0, things.objects), strict=False)),
        "doors": {d.id: bool(things.open[i]) for i, d in enumerate(doors, things.objects)},
        "actors": {a.name: _actor(house, a) for a in house.actors.values()},
        "messages": [[sender, list(to), text] for sender, to, text in house.mailbox.log],
    }


class _LazyRecords(Mapping[str, Json]):
    """Records by name, each made when it is looked up."""

    def __init__(self, names: Collection[str], make: Callable[[str], Json]) -> None:
        self._names, self._make = names, make

    def __getitem__(self, name: str) -> Json:
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def records(house: House) -> dict[str, Json]:
    """The objects, doors and actors of :func:`report`, each record made when it is looked up."""
    layout, things = house.layout, house.things
    return {
        "objects": _LazyRecords(
            layout.ids[: things.objects],
            lambda name: next(_objects(house, layout.index[name], layout.index[name] + 1)),
        ),
        "doors": _LazyRecords(
            layout.ids[things.objects :], lambda name: bool(things.open[layout.index[name]])
        ),
        "actors": _LazyRecords(house.actors, lambda name: _actor(house, house.actors[name])),
    }


def _objects(house: House, first: int, last: int) -> Iterator[dict[str, Json]]:
    """The records of some objects, by their numbers. Each array is read once for all of them."""
    things, part = house.things, slice(first, last)
    actors = {actor.number: actor for actor in house.actors.values()}
    flags = zip(*(getattr(things, flag)[part].tolist() for flag in FLAGS), strict=True)
    numbers = (things.x, things.y, things.bottom, things.inside, things.temperature)
    rows = zip(*(array[part].tolist() for array in numbers), flags, strict=True)
    for i, (x, y, bottom, holder, temperature, own) in enumerate(rows, first):
        actor = actors.get(house.holder(i)) if holder >= 0 else None
        x, y = (actor.x, actor.y) if actor else (x, y)
        yield {
            "x": round(x, 6),
            "y": round(y, 6),
            "bottom": round(bottom, 6),
            "in": things.specs[holder].id if 0 <= holder < things.objects else "",
            "held": actor.name if actor else "",
            "room": house.layout.room_at(x, y),
            **dict(zip(FLAGS, own, strict=True)),
            "temperature": TEMPERATURES[temperature],
        }


def _actor(house: House, a: Actor) -> dict[str, Json]:
    named = {a.names.of[i]: house.layout.ids[i] for i in a.names.order}
    return {
        "room": a.room,
        "x": a.x,
        "y": a.y,
        "heading": a.heading,
        "holding": [house.layout.ids[i] for i in a.hands],
        "actions": a.actions,
        "low_level": a.low_level,
        "stopped": a.stopped,
        "answer": a.answer,
        "names": named,
        "sees": {
            house.layout.ids[i]: round(away, 3)
            for i, away in zip(a.view.things, a.view.distance, strict=True)
            if i < house.things.first_actor
        },
    }
