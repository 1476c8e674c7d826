"""State of all objects, doors and bodies as arrays, including containment."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from wayword.core.geometry import Point
from wayword.worlds.household.scene import TEMPERATURES, HouseObject, Scene

START_FLAGS = ("open", "on", "dirty", "sliced", "filled", "cooked")
"""Boolean states that an object of a scene may have at the start."""
FLAGS = (*START_FLAGS, "heated", "cooled", "cleaned", "coffee", "boiled")
"""The boolean states. Heated, cooled and cleaned stay true once this has happened, until the object
is sliced: ALFRED treats slices as new objects."""
INSET = 0.05  # metres; boxes are shrunk for sight, else a fridge is seen through the wall behind it
# Negative, so that it can never be the index of an entity.
FLOOR = -1  # value of ``inside`` for objects on the floor
# Metres. The middles of bodies and doors are visible over low furniture.
ACTOR_HEIGHT = 1.7
DOOR_HEIGHT = 2.0


class Entities:
    """Arrays (M,) over objects (N), then doors (D), then actors (A): M = N + D + A.

    Shape (metres): ``x``, ``y`` are centers, ``half_x``, ``half_y`` half extents, ``bottom``
    the underside, ``height`` the extent upwards. ``west`` … ``north`` are the sides of boxes
    shrunk by ``INSET``; ``mid_height`` is the height of the middle.

    State: ``temperature`` is an index into TEMPERATURES; ``coffee``: filled with coffee, not
    water; ``boiled``: cooked in water; ``heated``, ``cooled``, ``cleaned``: true once done.

    Relations: ``inside`` is the index of the object or actor that holds an object, ``FLOOR``
    for none. ``anchor`` is the index of the entity that determines an object's visibility:
    its outermost enclosing receptacle, or itself. ``is_exposed`` is false for enclosed and
    held objects; ``is_root`` is true for exposed ones that are their own anchor.

    Change arrays through ``place``, ``move``, ``set_open`` and ``set_state`` only: they keep
    boxes, anchors and cached texts consistent. ``version`` increases whenever an object or a
    door moves, opens or closes, so a cache of views is valid while it stays the same;
    ``state_version`` with all other changes of objects.
    """

    def __init__(self, scene: Scene, actors: int) -> None:
        objects = scene.objects
        doors = scene.doors
        self.specs: tuple[HouseObject, ...] = objects
        self.object_count = len(objects)
        self.door_count = len(doors)
        self.actor_count = actors
        self.size = size = self.object_count + self.door_count + actors
        self.first_actor = self.object_count + self.door_count
        listed = slice(0, self.object_count)  # of the objects in an array

        # Shapes. Poses and radii of actors are set when they are placed.
        # Views of one array: the rows can be filled together and read by name.
        shapes = np.zeros((6, size))
        (
            self.x,
            self.y,
            self.half_x,
            self.half_y,
            self.bottom,
            self.height,
        ) = shapes
        columns = [
            (
                o.x,
                o.y,
                o.width / 2,
                o.depth / 2,
                o.bottom,
                o.height,
            )
            for o in objects
        ]
        shapes[:, listed] = np.array(columns).reshape(-1, 6).T
        self.height[self.first_actor :] = ACTOR_HEIGHT
        # A door has no box of its own: the one around its leaf stands for it.
        for i, door in enumerate(doors, self.object_count):
            ax, ay = door.a
            bx, by = door.b
            self.x[i] = (ax + bx) / 2
            self.y[i] = (ay + by) / 2
            self.half_x[i] = abs(bx - ax) / 2
            self.half_y[i] = abs(by - ay) / 2
            self.height[i] = DOOR_HEIGHT
        # Never more than half the extent, so that thin things keep a box.
        self.inset_x = np.minimum(self.half_x, INSET)
        self.inset_y = np.minimum(self.half_y, INSET)
        boxes = np.zeros((5, size))
        (
            self.west,
            self.south,
            self.east,
            self.north,
            self.mid_height,
        ) = boxes

        # States.
        # One byte a flag and entity, in the order of ``FLAGS``; a snapshot of a house copies all.
        states = np.zeros((len(FLAGS), size), dtype=np.bool_)
        (
            self.open,
            self.on,
            self.dirty,
            self.sliced,
            self.filled,
            self.cooked,
            self.heated,
            self.cooled,
            self.cleaned,
            self.coffee,
            self.boiled,
        ) = states
        for flag, row in zip(START_FLAGS, states, strict=False):
            row[listed] = [getattr(o, flag) for o in objects]
        for i, door in enumerate(doors, self.object_count):
            self.open[i] = door.open
        self.temperature = np.zeros(size, dtype=np.int8)
        self.temperature[listed] = [TEMPERATURES.index(o.temperature) for o in objects]

        # Relations: receptacles, and switches in both directions.
        index = {o.id: i for i, o in enumerate(objects)}
        # The floor is every object's parent by default.
        parents = index | {"": FLOOR}
        self.inside = np.full(size, FLOOR, dtype=np.int32)
        self.inside[listed] = [parents[o.parent] for o in objects]
        self.controls: list[tuple[int, ...]] = []
        self.switches: dict[int, tuple[int, ...]] = {}
        # Switches are looked up from both sides: toggling needs the targets, an expert
        # needs the switch.
        for switch, o in enumerate(objects):
            targets = tuple(index[target] for target in o.controls)
            self.controls.append(targets)
            for i in targets:
                self.switches[i] = (*self.switches.get(i, ()), switch)

        # Openness and visibility.
        self.openable, self.encloses = np.zeros((2, size), dtype=np.bool_)
        self.openable[listed] = ["openable" in o.affordances for o in objects]
        self.openable[self.object_count : self.first_actor] = [
            d.openable for d in doors
        ]
        self.encloses[listed] = [o.receptacle == "in" for o in objects]
        # A shelf holds things, too, but only what can be closed hides them.
        self.encloses &= self.openable
        self.anchor = np.arange(size, dtype=np.int32)
        self.is_exposed, self.is_root = np.ones((2, size), dtype=np.bool_)
        self.closed_doors = np.logical_not(
            self.open[self.object_count : self.first_actor]
        )
        self.version = 0
        self.state_version = 0
        # Texts of states are built when asked for, and dropped when a state changes.
        self._states: list[tuple[str, ...] | None] = [None] * size
        self.update_box(slice(None))
        # Only contained objects can be seen by another entity's box.
        for i in (self.inside != FLOOR).nonzero()[0].tolist():
            self._update_anchor(i)

    def affordances(self, i: int) -> Collection[str]:
        """Return the affordances of an object or a door; actors have none."""
        if i < self.object_count:
            return self.specs[i].affordances
        return ("openable",) if self.openable[i] else ()

    def has_affordance(self, i: int, affordance: str) -> bool:
        """True if an object or door has an affordance."""
        return affordance in self.affordances(i)

    def is_receptacle(self, i: int) -> bool:
        """True if objects go in or on it."""
        return i < self.object_count and bool(self.specs[i].receptacle)

    def fits(self, i: int, r: int) -> bool:
        """True if a receptacle takes objects of that type, full or not.

        ``r`` must be an object: doors and actors have no types that they accept.
        """
        accepts = self.specs[r].accepts
        return not accepts or self.type(i) in accepts

    def full(self, r: int) -> bool:
        """True if a receptacle takes no more objects; never for one without a capacity."""
        capacity = self.specs[r].capacity
        # Contents lie in it or on it; both count against its capacity.
        return bool(capacity) and len(self.contents(r)) >= capacity

    def closed(self, i: int) -> bool:
        """True if it encloses its contents and is closed."""
        return bool(self.encloses[i]) and not self.open[i]

    def is_ajar(self, i: int) -> bool:
        """True if it encloses its contents when closed, and is open."""
        return bool(self.encloses[i] and self.open[i])

    def type(self, i: int) -> str:
        """Return an object's type, ``door`` for doors."""
        return self.specs[i].type if i < self.object_count else "door"

    def contents(self, i: int) -> list[int]:
        """Return the objects directly in, on or held by an entity, in scene order."""
        contents: list[int] = (self.inside == i).nonzero()[0].tolist()
        return contents

    def with_contents(self, i: int) -> list[int]:
        """Return an object and everything in or on it, at any depth, itself first."""
        # The list grows while it is read, so that contents of contents are reached.
        members = [i]
        for member in members:
            members += self.contents(member)
        return members

    def point(self, i: int) -> Point:
        """Return the point (metres) in the plan at which an entity is."""
        return float(self.x[i]), float(self.y[i])

    def holders(self, i: int) -> list[int]:
        """Return everything that holds an object, innermost first.

        These are the receptacles that it is in or on, then the actor that holds them, if any.
        Empty for an object on the floor.
        """
        holders: list[int] = []
        i = int(self.inside[i])
        while i != FLOOR:
            holders.append(i)
            i = int(self.inside[i])
        return holders

    def update_box(self, i: int | slice) -> None:
        """Recompute the inset boxes of one or several entities whose ``x``, ``y`` or
        shape changed.
        """
        half_width = self.half_x[i] - self.inset_x[i]
        half_depth = self.half_y[i] - self.inset_y[i]
        self.west[i] = self.x[i] - half_width
        self.east[i] = self.x[i] + half_width
        self.south[i] = self.y[i] - half_depth
        self.north[i] = self.y[i] + half_depth
        self.mid_height[i] = self.bottom[i] + self.height[i] / 2

    def place(
        self,
        i: int,
        x: float,
        y: float,
        bottom: float,
    ) -> None:
        """Move an object and its contents to a point (metres); ``bottom`` is its new underside.

        What holds it stays the same: call ``move`` as well if that changes.
        """
        self.version += 1
        # Contents keep their offset: a plate carries its apple along.
        dx = x - self.x[i]
        dy = y - self.y[i]
        dz = bottom - self.bottom[i]
        for member in self.with_contents(i):
            self.x[member] += dx
            self.y[member] += dy
            self.bottom[member] += dz
            self.update_box(member)

    def move(self, i: int, holder: int) -> None:
        """Transfer an object and its contents to another holder: an index, or ``FLOOR``.

        Coordinates stay as they are: call ``place`` as well if the object changes its position.
        """
        self.version += 1
        self.inside[i] = holder
        for member in self.with_contents(i):
            # Anything inside changes its visibility with the object that holds it.
            self._update_anchor(member)

    def set_open(self, i: int, opened: bool) -> None:
        """Open or close an object or a door. What it encloses becomes visible or hidden."""
        self.version += 1
        self.open[i] = opened
        self.closed_doors = np.logical_not(
            self.open[self.object_count : self.first_actor]
        )
        self._states[i] = None
        for member in self.with_contents(i):
            self._update_anchor(member)

    def set_state(
        self,
        i: int,
        flag: str,
        value: int,
    ) -> None:
        """Set a state other than position and ``open``: ``on``, ``dirty``, ``heated`` …

        ``flag`` is the name of an array of this class. No object becomes visible or hidden by
        it, so ``version`` stays the same, and ``state_version`` increases.
        """
        self.state_version += 1
        getattr(self, flag)[i] = value
        self._states[i] = None

    def states(self, i: int) -> tuple[str, ...]:
        """Return the visible states of an object as symbols: ``("open", "dirty")``."""
        cached_states = self._states[i]
        if cached_states is None:
            states = []
            # This order is the order of the words in prompts: recorded runs depend on
            # it.
            if self.openable[i]:
                states.append("open" if self.open[i] else "closed")
            # A burner is on although its knob is what can be toggled.
            if self.on[i] or self.has_affordance(i, "toggleable"):
                states.append("on" if self.on[i] else "off")
            flags = (
                "sliced",
                "cooked",
                "boiled",
                "dirty",
                "filled",
                "coffee",
            )
            states += [flag for flag in flags if getattr(self, flag)[i]]
            if self.temperature[i]:
                states.append(TEMPERATURES[self.temperature[i]])
            cached_states = self._states[i] = tuple(states)
        return cached_states

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """Return copies of all arrays by name, for :meth:`restore`."""
        # Attributes that are no arrays follow from these or never change.
        return {k: v.copy() for k, v in vars(self).items() if isinstance(v, np.ndarray)}

    def restore(self, snapshot: dict[str, NDArray[np.generic]]) -> None:
        """Return to the state of a snapshot of the same object.

        ``version`` increases all the same, so that caches of the undone state are not
        used.
        """
        # In place, since rows are views of shared arrays.
        for name, value in snapshot.items():
            getattr(self, name)[:] = value
        # A new number, not the old one: caches of the undone state must not be met
        # again.
        self.version += 1
        self._states = [None] * self.size

    def _update_anchor(self, i: int) -> None:
        """Recompute which entity decides the visibility of an object, and if it is exposed."""
        anchor = i
        is_exposed = True
        # From the inside out, so that the last enclosing receptacle decides.
        for holder in self.holders(i):
            # What an actor holds is reported with the actor.
            if holder >= self.first_actor:
                is_exposed = False
            elif self.encloses[holder]:
                anchor = holder
                is_exposed = is_exposed and bool(self.open[holder])
        self.anchor[i] = anchor
        self.is_exposed[i] = is_exposed
        self.is_root[i] = is_exposed and anchor == i
