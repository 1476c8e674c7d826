"""House: the full state of an episode, the actors' observations of it, and its report to judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import Json, JsonObject
from wayword.core.geometry import Bools, Floats, Point, box_distance, relative
from wayword.worlds.household.entities import FLAGS, FLOOR, INSET, Entities
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.observation import (
    Answerer,
    Direction,
    HeardMessage,
    HeldObject,
    HouseholdObservation,
    SeenActor,
    SeenDoor,
    SeenObject,
)
from wayword.worlds.household.scene import TEMPERATURES
from wayword.worlds.household.sight import EMPTY_VIEW, Sight, VisibleEntities
from wayword.worlds.household.verbs import VERBS, Body


class ObjectNames:
    """Names of objects, ``type_n`` in the order of first sight, for one actor or a group.

    ``of``: object index -> name, empty if unnamed; ``index``: name -> object index; ``order``:
    object indices in the order of naming. Actors have names from the start.
    """

    def __init__(self, types: list[str], actors: Iterable[str]) -> None:
        self._types = types
        self._counts: dict[str, int] = {}
        self.order: list[int] = []
        self.of: list[str] = [""] * len(types) + list(actors)
        self.index: dict[str, int] = {name: i for i, name in enumerate(self.of) if name}

    def assign(self, objects: Iterable[int]) -> None:
        """Name every unnamed object, in the given order: that order decides the numbers."""
        # Empty names are unnamed, so they must not be looked up.
        of = self.of
        for i in objects:
            if not of[i]:
                kind = self._types[i]
                # Numbers count within a type, as a person would: mug_1, mug_2, table_1.
                number = self._counts[kind] = self._counts.get(kind, 0) + 1
                of[i] = f"{kind}_{number}"
                self.index[of[i]] = i
                self.order.append(i)

    def forget(self, length: int) -> None:
        """Undo all naming after the first ``length`` objects."""
        # Backwards through the order of naming, so that numbers are free again.
        for i in self.order[length:]:
            del self.index[self.of[i]]
            self.of[i] = ""
            self._counts[self._types[i]] -= 1
        del self.order[length:]


class Fail(Exception):
    """Raised when an action fails: a status, and values for its message."""

    def __init__(self, status: str, **details: Json) -> None:
        super().__init__(status)
        self.status = status
        self.details = details


@dataclass(slots=True, eq=False)
class Actor:
    """A body: position (metres), heading (degrees), hands, and memory.

    ``number`` is its index in the arrays of ``Entities``. ``discovered`` (M,) marks the entities it
    has seen; ``last_x`` and ``last_y`` (M,) are where it saw each last, and ``last_box`` (M,) is
    the enclosing receptacle there, or the entity itself.
    """

    name: str
    number: int
    body: Body
    x: float
    y: float
    heading: float
    names: ObjectNames
    discovered: Bools
    last_x: Floats
    last_y: Floats
    last_box: NDArray[np.int32]
    hands: list[int] = field(default_factory=list)
    view: VisibleEntities = EMPTY_VIEW
    room: str = ""
    actions: int = 0
    has_acted: bool = False
    looked_around: bool = False
    """Its last action ended with a look around."""
    low_level: int = 0
    stopped: bool = False
    answer: str | None = None
    verbs: tuple[str, ...] = ()
    """Its body's verbs that have an object or addressee in this house."""
    open_verbs: tuple[str, ...] = ()
    """Those of them that take free text."""
    unasked_verbs: tuple[str, ...] = ()
    """``open_verbs`` without ``ask``, for a house without an answerer."""

    def snapshot(self) -> ActorSnapshot:
        """Return a copy of everything that a failed action has to leave as it was."""
        fields = {name: getattr(self, name) for name in RESTORED_FIELDS}
        # Hands are a list that changes in place, so they are copied.
        fields["hands"] = list(self.hands)
        memory = tuple(array.copy() for array in self._memory)
        return ActorSnapshot(fields, memory, len(self.names.order))

    def restore(self, snapshot: ActorSnapshot) -> None:
        """Return to the state of a snapshot."""
        for name, value in snapshot.fields.items():
            setattr(self, name, value)
        # In place: other parts hold these arrays, too.
        for array, before in zip(self._memory, snapshot.memory, strict=True):
            array[:] = before
        self.names.forget(snapshot.names)

    @property
    def _memory(self) -> tuple[NDArray[Any], ...]:
        """Arrays of what the actor has seen, and where."""
        return self.discovered, self.last_x, self.last_y, self.last_box


RESTORED_FIELDS = (
    "x",
    "y",
    "heading",
    "hands",
    "view",
    "room",
    "low_level",
)
"""Fields of an actor that a failed action leaves as they were."""


class ActorSnapshot(NamedTuple):
    """The state of an actor that a failed action has to leave as it was.

    ``fields`` are the values of ``RESTORED_FIELDS``, ``memory`` the arrays of its
    memory, and ``names`` the number of objects that have a name.
    """

    fields: dict[str, Any]
    memory: tuple[NDArray[Any], ...]
    names: int


def _without(pointless: set[str], verbs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the verbs except the pointless ones."""
    return tuple(verb for verb in verbs if verb not in pointless)


class House:
    """The state that actions change; a reset creates a new one.

    ``bodies`` and ``poses`` (x and y in metres, heading in degrees) are by actor, in
    turn order. ``shared_names``: all actors use the same names for objects. ``named``:
    every object has its name from the start. ``has_spots``: positions on long furniture
    are described.
    """

    def __init__(
        self,
        layout: Layout,
        bodies: Mapping[str, Body],
        poses: Mapping[str, tuple[float, float, float]],
        answerer: Answerer | None = None,
        shared_names: bool = False,
        named: bool = False,
        has_spots: bool = False,
    ) -> None:
        self.layout = layout
        self.has_spots = has_spots
        # With one actor, a shared list and its own are the same.
        self.shared_names = shared_names and len(bodies) > 1
        self.entities = Entities(layout.scene, len(bodies))
        self.sight = Sight(layout, self.entities)
        # Kept until something moves: every step describes the same furniture.
        self._spots: dict[int, tuple[float, float] | None] = {}
        self._spots_version = self.entities.version
        self.inbox: dict[str, list[HeardMessage]] = {name: [] for name in bodies}
        self.messages: list[tuple[str, list[str], str]] = []  # sender, recipients, text
        self.answerer = answerer
        self.named = named
        self.actors: dict[str, Actor] = {}
        size = self.entities.size
        first = self.entities.first_actor
        types = [self.entities.type(i) for i in range(first)]
        # One list for all if names are shared or given from the start.
        shared = ObjectNames(types, bodies)
        if named:
            shared.assign(range(first))
        # Actors are numbered after objects and doors, as in the arrays.
        for number, (name, body) in enumerate(bodies.items(), first):
            names = shared if shared_names or named else ObjectNames(types, bodies)
            x, y, heading = poses[name]
            actor = Actor(
                name,
                number,
                body,
                x,
                y,
                heading,
                names,
                discovered=np.zeros(size, np.bool_),
                last_x=np.zeros(size),
                last_y=np.zeros(size),
                last_box=np.zeros(size, np.int32),
            )
            self.actors[name] = actor
            # A body smaller than the inset keeps a point.
            inset = min(INSET, body.radius)
            self.entities.half_x[number] = body.radius
            self.entities.half_y[number] = body.radius
            self.entities.inset_x[number] = inset
            self.entities.inset_y[number] = inset
            self.stand(actor, x, y)
        # All actors look around before the first action, so that the first observation
        # has names.
        self.refresh()
        pointless = self._pointless_verbs()
        for actor in self.actors.values():
            body = actor.body
            actor.verbs = _without(pointless, body.actions)
            actor.open_verbs = _without(pointless, body.open_verbs)
            actor.unasked_verbs = _without({"ask"}, actor.open_verbs)

    def _pointless_verbs(self) -> set[str]:
        """Return the verbs without an object or addressee in this house."""
        affordances = set[str]()
        for spec in self.entities.specs:
            affordances |= spec.affordances
        if self.entities.openable.any():  # doors have no spec
            affordances.add("openable")
        # A verb that needs an affordance which no object has can never succeed.
        pointless = {
            verb.name
            for verb in VERBS.values()
            if verb.needs and verb.needs not in affordances
        }
        # Slicing takes two objects, so it needs both to exist.
        if "slicer" not in affordances:
            pointless.add("slice")
        # Alone, there is no one to wait for or talk to.
        if len(self.actors) == 1:
            pointless |= {"wait", "chat"}
        return pointless

    def stand(self, me: Actor, x: float, y: float) -> None:
        """Move a body to a point (metres). Checks nothing: the caller knows that the
        point is free.
        """
        # Rounded, so that sums of steps do not depend on their order.
        me.x = round(x, 9)
        me.y = round(y, 9)
        self.entities.x[me.number] = me.x
        self.entities.y[me.number] = me.y
        self.entities.update_box(me.number)
        me.room = self.layout.room_at(me.x, me.y)

    def refresh(self, actor: Actor | None = None) -> None:
        """Update what all actors see, or one actor if its action cannot have changed the others.

        New objects in view get names, and the memory of where objects are is brought up
        to date.
        """
        entities = self.entities
        for me in (actor,) if actor else self.actors.values():
            # An actor that has stopped sees nothing new.
            if me.stopped:
                continue
            me.view = self.sight.look(me.body, (me.x, me.y, me.heading), me.number)
            # LangSuitE's bodies look around once before they start.
            if me.body.looks_around and not me.has_acted:
                me.view = self._with_furniture(me)
            if me.view.entities:
                me.names.assign(me.view.entities)
                visible = me.view.indices
                # What it sees now replaces what it remembers.
                me.discovered[visible] = True
                me.last_x[visible] = entities.x[visible]
                me.last_y[visible] = entities.y[visible]
                me.last_box[visible] = entities.anchor[visible]

    def _with_furniture(self, me: Actor) -> VisibleEntities:
        """Return an actor's view with all furniture of its room; what is in it is not added.

        Used until the first action of a body that ``looks_around``, as LangSuitE's agents with
        skills see all furniture of their room.
        """
        entities = self.entities
        # Entity -> its bearing (degrees) and distance (metres).
        directions = zip(me.view.bearing, me.view.distance, strict=True)
        rows = dict(zip(me.view.entities, directions, strict=True))
        for i in range(entities.object_count):
            # A seen piece keeps the bearing and distance of its visible part.
            if i in rows:
                continue
            # Furniture stands on the floor: a bowl on the table is a receptacle, too.
            if not entities.is_receptacle(i) or entities.inside[i] != FLOOR:
                continue
            x, y = entities.point(i)
            if self.layout.room_at(x, y) == me.room:
                # The bearing to its center, the distance to its nearest point.
                direction = math.degrees(math.atan2(x - me.x, y - me.y))
                rows[i] = (relative(direction, me.heading), self.distance(me, i))
        listed = sorted(rows)
        return VisibleEntities(
            listed,
            [rows[i][0] for i in listed],
            [rows[i][1] for i in listed],
        )

    def name(self, me: Actor, i: int) -> str:
        """Return the actor's name for an object, or its type if unnamed."""
        return me.names.of[i] or self.entities.type(i)

    def others(self, me: Actor) -> list[tuple[int, float, float, float]]:
        """Return the other bodies, for collisions; bodies without a radius are left out."""
        return [
            (a.number, a.x, a.y, a.body.radius)
            for a in self.actors.values()
            # Without a radius a body is a ghost: it meets no one.
            if a is not me and a.body.radius and me.body.radius
        ]

    def holder(self, i: int) -> int:
        """Return the index of the actor that holds an object, directly or in another;
        -1 if none.
        """
        # Up through everything that contains it: an actor ends the chain, the floor
        # gives -1.
        while 0 <= i < self.entities.first_actor:
            i = int(self.entities.inside[i])
        return i

    def distance(self, me: Actor, i: int) -> float:
        """Return the distance (metres) to an object or its receptacle; 0 if held."""
        if self.holder(i) == me.number:
            return 0.0
        t = self.entities
        # An object in a closed drawer is as far as the drawer.
        a = int(self.entities.anchor[i])
        return box_distance(me.x, me.y, (t.west[a], t.south[a], t.east[a], t.north[a]))

    def spot(self, i: int) -> tuple[float, float] | None:
        """Return where an object is on long furniture: its offset from the furniture's center.

        Metres east and north, rounded to 1 cm. None elsewhere, and in worlds without
        spots.
        """
        if self._spots_version != self.entities.version:
            self._spots.clear()
            self._spots_version = self.entities.version
        if i not in self._spots:
            self._spots[i] = self._find_spot(i)
        return self._spots[i]

    def _find_spot(self, i: int) -> tuple[float, float] | None:
        """Return :meth:`spot` from the current positions."""
        t = self.entities
        r = int(self.entities.inside[i])
        # On small furniture everything is within reach, so a spot would say nothing.
        if not (self.has_spots and 0 <= r < t.object_count and t.specs[r].is_long):
            return None
        return round(float(t.x[i] - t.x[r]), 2), round(float(t.y[i] - t.y[r]), 2)

    def attempt(self, act: Callable[[], dict[str, Json]]) -> dict[str, Json]:
        """Carry out several actions atomically: restore the state if one of them fails.

        Returns what ``act`` returns. Raises its ``Fail`` after everything is as it was.
        """
        # A copy of everything costs less than undoing actions one by one.
        snapshot = self.entities.snapshot()
        actors = [(actor, actor.snapshot()) for actor in self.actors.values()]
        try:
            return act()
        except Fail:
            self.entities.restore(snapshot)
            for actor, before in actors:
                actor.restore(before)
            raise


def observation(house: House, me: Actor) -> HouseholdObservation:
    """Return the observation of an actor, with the actor's names for objects.

    Objects, doors and other actors in view, each nearest first: bearings are degrees to the right
    of the heading, rounded to 0.1, and distances metres, rounded to 0.01.
    """
    entities = house.entities
    object_count = entities.object_count
    first_actor = entities.first_actor
    names = me.names.of
    view = me.view
    side_angle = me.body.view_angle / 6  # half of the middle third
    objects: list[SeenObject] = []
    doors: list[SeenDoor] = []
    others: list[SeenActor] = []
    inside = entities.inside[view.indices].tolist()
    # A holder outside of the view is not named: the actor need not know it.
    visible = set(view.entities)
    # Nearest first, then by index: the order of a description never depends on a hash.
    rows = sorted(zip(view.distance, view.entities, view.bearing, inside, strict=True))
    for metres, i, bearing, holder in rows:
        side: Direction = "left" if bearing < 0 else "right"
        if -side_angle <= bearing <= side_angle:
            side = "middle"
        # Rounded to 0.1 degrees and 1 cm by integer arithmetic, several times as fast as round();
        # 3600 tenths of a degree make the argument of int() positive.
        bearing = (int(bearing * 10 + 3600.5) - 3600) / 10
        metres = int(metres * 100 + 0.5) / 100
        if i < object_count:
            if holder >= first_actor:
                # Another actor has picked it up since this actor stopped looking.
                continue
            preposition = ""
            container = ""
            if holder in visible:
                preposition = entities.specs[holder].receptacle
                container = names[holder]
            # A spot is an offset from the furniture, so it needs one in view.
            spot = None
            if container and house.has_spots:
                spot = house.spot(i)
            objects.append(
                SeenObject(
                    names[i],
                    side,
                    bearing,
                    metres,
                    preposition,
                    container,
                    entities.states(i),
                    spot,
                )
            )
        elif i < first_actor:
            rooms = house.layout.scene.doors[i - object_count].rooms
            doors.append(
                SeenDoor(names[i], side, bearing, metres, bool(entities.open[i]), rooms)
            )
        else:
            other = house.actors[names[i]]
            carried = tuple(house.name(me, k) for k in other.hands)
            others.append(SeenActor(names[i], side, bearing, metres, carried))
    holding: list[HeldObject] = []
    for i in me.hands:
        # A held box hides what is in it until it is opened.
        visible_inside = () if entities.closed(i) else entities.contents(i)
        contents = tuple(house.name(me, k) for k in visible_inside)
        holding.append(HeldObject(house.name(me, i), entities.states(i), contents))
    return HouseholdObservation(
        me.name,
        me.room,
        me.heading,
        tuple(holding),
        tuple(objects),
        tuple(doors),
        tuple(others),
        tuple(house.inbox[me.name]),
    )


# The true state of a house as JSON values, for judges and recordings.


def report(house: House) -> dict[str, Json]:
    """Return the true state.

    ``objects``: id -> x, y, bottom, ``in`` (id of its receptacle or ""), ``held`` (name of the
    actor that holds it, directly or not, or ""), room, temperature, and the ``FLAGS``. ``doors``:
    id -> open. ``actors``: name -> room, x, y, heading, holding (ids, oldest first), actions,
    low_level, stopped, answer, names (name -> id), sees (id -> metres to the nearest point, for
    objects and doors in view). ``messages``: [sender, recipients, text] in order of sending.
    """
    current = records(house)
    state: dict[str, Json] = {
        "scene": house.layout.scene.name,
        "objects": {name: dict(fields) for name, fields in current["objects"].items()},
        "doors": dict(current["doors"]),
        "actors": dict(current["actors"]),
    }
    state["messages"] = [
        [sender, [*recipients], text] for sender, recipients, text in house.messages
    ]
    return state


def _bearer(house: House, i: int) -> Actor | None:
    """Return the actor that holds an object in a hand, or inside an object in a hand."""
    holder = house.holder(i)
    return next((a for a in house.actors.values() if a.number == holder), None)


def _position(house: House, i: int) -> Point:
    """Return where an object is (metres); a held one is where the body is."""
    actor = _bearer(house, i)
    if actor is not None:
        return actor.x, actor.y
    return house.entities.point(i)


def _receptacle(house: House, i: int) -> str:
    """Return the id of the object that it is in or on, else an empty text."""
    # It may also be the floor (negative) or an actor (a number after the objects').
    entities = house.entities
    inside = int(entities.inside[i])
    return entities.specs[inside].id if 0 <= inside < entities.object_count else ""


def _held_by(house: House, i: int) -> str:
    """Return the name of the actor that bears an object, else an empty text."""
    actor = _bearer(house, i)
    return "" if actor is None else actor.name


def _flag(name: str) -> Callable[[House, int], Json]:
    """Return the field of an object's record that reads one of ``FLAGS``, as a bool."""
    return lambda house, i: bool(getattr(house.entities, name)[i])


_OBJECT_FIELDS: Mapping[str, Callable[[House, int], Json]] = {
    "x": lambda house, i: round(_position(house, i)[0], 6),
    "y": lambda house, i: round(_position(house, i)[1], 6),
    "bottom": lambda house, i: round(float(house.entities.bottom[i]), 6),
    "in": _receptacle,
    "held": _held_by,
    "room": lambda house, i: house.layout.room_at(*_position(house, i)),
    **{flag: _flag(flag) for flag in FLAGS},
    "temperature": lambda house, i: TEMPERATURES[house.entities.temperature[i]],
}
"""The fields of an object's record, in the order of recordings."""


class _LazyRecords(Mapping[str, Json]):
    """Records by name, each created on access."""

    def __init__(
        self,
        names: Collection[str],
        make_record: Callable[[str], Json],
    ) -> None:
        self._names = names
        self._make_record = make_record

    def __getitem__(self, name: str) -> Json:
        return self._make_record(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def records(house: House) -> dict[str, JsonObject]:
    """Return objects, doors and actors of :func:`report`, each record created on access.

    A record shows the house at the time of access, not at the time of this call.
    """
    entities = house.entities
    ids = house.layout.ids
    index = house.layout.index

    def object_record(name: str) -> JsonObject:
        """Return the state of an object, each field computed on access: a goal asks for few."""
        i = index[name]
        return _LazyRecords(
            _OBJECT_FIELDS, lambda field: _OBJECT_FIELDS[field](house, i)
        )

    def actor_record(name: str) -> dict[str, Json]:
        """Return the state of an actor."""
        a = house.actors[name]
        in_view = zip(a.view.entities, a.view.distance, strict=True)
        # The order of the fields is that of recordings.
        return {
            "room": a.room,
            "x": a.x,
            "y": a.y,
            "heading": a.heading,
            "holding": [ids[i] for i in a.hands],
            "actions": a.actions,
            "low_level": a.low_level,
            "stopped": a.stopped,
            "answer": a.answer,
            "names": {a.names.of[i]: ids[i] for i in a.names.order},
            "sees": {
                ids[i]: round(metres, 3)
                for i, metres in in_view
                if i < entities.first_actor
            },
        }

    return {
        "objects": _LazyRecords(ids[: entities.object_count], object_record),
        "doors": _LazyRecords(
            ids[entities.object_count :], lambda name: bool(entities.open[index[name]])
        ),
        "actors": _LazyRecords(house.actors, actor_record),
    }
