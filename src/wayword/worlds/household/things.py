"""Things: the state of every object, door and body as arrays, and who is in what."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from wayword.worlds.household.scene import TEMPERATURES, HouseObject, Scene

INSET = 0.05
"""Looks and hands aim at boxes drawn in by this much (metres), so that a fridge that touches a
wall is not seen through it."""
FLOOR = -1
"""The ``inside`` of what stands on the floor."""


class Things:
    """(M,) arrays over objects (N), then doors (D), then actors (A): M = N + D + A.

    ``x``, ``y`` centres and ``half_x``, ``half_y`` half extents (metres), ``bottom``, ``height``;
    ``west`` … ``north`` the boxes drawn in by ``INSET``. ``inside`` (M,) is the number of the
    object or actor that holds a thing, ``FLOOR`` for none. ``open``, ``on``, ``dirty``,
    ``sliced``, ``filled``, ``cooked`` (M,) bool; ``temperature`` (M,) indices of TEMPERATURES;
    ``coffee`` (M,) says of what is filled that it is not with water, ``boiled`` (M,) of what is
    cooked that it was in water. ``heated``, ``cooled``, ``cleaned`` (M,) whether that was ever done
    to a thing.
    ``anchor`` (M,) is the thing whose visibility decides a thing's own: its outermost enclosing
    receptacle, or itself. ``exposed`` (M,) is false for what is shut in or held.
    """

    MUTABLE = (
        *("x", "y", "bottom", "west", "south", "east", "north", "mid", "inside", "open", "on"),
        *("dirty", "sliced", "filled", "cooked", "temperature", "anchor", "exposed", "root"),
        *("heated", "cooled", "cleaned", "coffee", "boiled"),
    )

    def __init__(self, scene: Scene, actors: int) -> None:
        objects, doors = scene.objects, scene.doors
        self.specs: tuple[HouseObject, ...] = objects
        self.objects, self.doors, self.actors = len(objects), len(doors), actors
        self.size = size = self.objects + self.doors + actors
        self.first_actor = self.objects + self.doors
        self.x, self.y, self.half_x, self.half_y, self.bottom, self.height = np.zeros((6, size))
        shapes = [(o.x, o.y, o.width / 2, o.depth / 2, o.bottom, o.height) for o in objects]
        arrays = (self.x, self.y, self.half_x, self.half_y, self.bottom, self.height)
        for array, values in zip(arrays, zip(*shapes, strict=True), strict=False):
            array[: self.objects] = values
        for i, d in enumerate(doors, self.objects):
            (ax, ay), (bx, by) = d.a, d.b
            self.x[i], self.y[i], self.height[i] = (ax + bx) / 2, (ay + by) / 2, 2.0
            self.half_x[i], self.half_y[i] = abs(bx - ax) / 2, abs(by - ay) / 2
        self.height[self.first_actor :] = 1.7
        self.inset_x, self.inset_y = np.minimum(self.half_x, INSET), np.minimum(self.half_y, INSET)
        self.west, self.south, self.east, self.north, self.mid = np.zeros((5, size))
        index = {o.id: i for i, o in enumerate(objects)}
        self.inside = np.full(size, FLOOR, dtype=np.int32)
        self.open, self.on, self.dirty, self.sliced, self.filled, self.cooked = np.zeros(
            (6, size), dtype=np.bool_
        )
        self.heated, self.cooled, self.cleaned = np.zeros((3, size), dtype=np.bool_)
        self.coffee, self.boiled = np.zeros((2, size), dtype=np.bool_)
        self.temperature = np.zeros(size, dtype=np.int8)
        self.inside[: self.objects] = [index[o.parent] if o.parent else FLOOR for o in objects]
        self.temperature[: self.objects] = [TEMPERATURES.index(o.temperature) for o in objects]
        for flag in ("open", "on", "dirty", "sliced", "filled", "cooked"):
            getattr(self, flag)[: self.objects] = [getattr(o, flag) for o in objects]
        for i, d in enumerate(doors, self.objects):
            self.open[i] = d.open
        self.controls = [tuple(index[c] for c in o.controls) for o in objects]
        self.switches: dict[int, tuple[int, ...]] = {}
        for switch, controlled in enumerate(self.controls):
            for i in controlled:
                self.switches[i] = (*self.switches.get(i, ()), switch)
        self.openable = np.array(
            ["openable" in o.affordances for o in objects]
            + [d.openable for d in doors]
            + [False] * actors,
            dtype=np.bool_,
        )
        self.encloses = np.array(
            [o.receptacle == "in" and "openable" in o.affordances for o in objects]
            + [False] * (len(doors) + actors),
            dtype=np.bool_,
        )
        self.anchor = np.arange(size, dtype=np.int32)
        self.exposed, self.root = np.ones((2, size), dtype=np.bool_)
        self.shut = np.logical_not(self.open[self.objects : self.first_actor])
        """(D,) which doors are shut."""
        self.version = 0
        """Grows whenever an object or a door moves, opens or shuts."""
        self._states: list[tuple[str, ...] | None] = [None] * size
        self.rebox(slice(None))
        for i in (self.inside != FLOOR).nonzero()[0].tolist():
            self._rehang(i)

    def affordances(self, i: int) -> Collection[str]:
        """What a thing is good for; doors may be openable."""
        if i < self.objects:
            return self.specs[i].affordances
        return ("openable",) if self.openable[i] else ()

    def does(self, i: int, affordance: str) -> bool:
        """Whether a thing has an affordance."""
        return affordance in self.affordances(i)

    def receives(self, i: int) -> bool:
        """True if things can be put in or on a thing."""
        return i < self.objects and bool(self.specs[i].receptacle)

    def fits(self, i: int, r: int) -> bool:
        """True if a receptacle takes things of that type, full or not."""
        accepts = self.specs[r].accepts
        return not accepts or self.type(i) in accepts

    def full(self, r: int) -> bool:
        """True if nothing more fits into a receptacle."""
        capacity = self.specs[r].capacity
        return bool(capacity) and len(self.contents(r)) >= capacity

    def closed(self, i: int) -> bool:
        """True if a thing encloses its contents and is shut."""
        return bool(self.encloses[i]) and not self.open[i]

    def ajar(self, i: int) -> bool:
        """True if a thing encloses its contents when shut, and is open."""
        return bool(self.encloses[i] and self.open[i])

    def type(self, i: int) -> str:
        """A thing's type, ``door`` for doors."""
        return self.specs[i].type if i < self.objects else "door"

    def contents(self, i: int) -> list[int]:
        """What is directly in, on or held by a thing, in the scene's order."""
        found: list[int] = (self.inside == i).nonzero()[0].tolist()
        return found

    def family(self, i: int) -> list[int]:
        """A thing and all that is in or on it, itself first."""
        found = [i]
        for member in found:
            found += self.contents(member)
        return found

    def holders(self, i: int) -> list[int]:
        """What a thing is in or on, innermost first; an actor last where one holds it."""
        found: list[int] = []
        at = int(self.inside[i])
        while at != FLOOR:
            found.append(at)
            at = int(self.inside[at])
        return found

    def rebox(self, i: int | slice) -> None:
        """Recompute a thing's box after it moved, or those of several."""
        wide, deep = self.half_x[i] - self.inset_x[i], self.half_y[i] - self.inset_y[i]
        self.west[i], self.east[i] = self.x[i] - wide, self.x[i] + wide
        self.south[i], self.north[i] = self.y[i] - deep, self.y[i] + deep
        self.mid[i] = self.bottom[i] + self.height[i] / 2

    def place(self, i: int, x: float, y: float, bottom: float) -> None:
        """Put a thing, with all that is in it, at a place."""
        self.version += 1
        dx, dy, dz = x - self.x[i], y - self.y[i], bottom - self.bottom[i]
        for member in self.family(i):
            self.x[member] += dx
            self.y[member] += dy
            self.bottom[member] += dz
            self.rebox(member)

    def move(self, i: int, into: int) -> None:
        """Hand a thing, with all that is in it, to another holder."""
        self.version += 1
        self.inside[i] = into
        for member in self.family(i):
            self._rehang(member)

    def swing(self, i: int, opens: bool) -> None:
        """Open or shut."""
        self.version += 1
        self.open[i] = opens
        self.shut = np.logical_not(self.open[self.objects : self.first_actor])
        self._states[i] = None
        for member in self.family(i):
            self._rehang(member)

    def mark(self, i: int, flag: str, value: int) -> None:
        """Set one of the states that are neither place nor lid: ``on``, ``dirty``, ``heated`` …"""
        getattr(self, flag)[i] = value
        self._states[i] = None

    def states(self, i: int) -> tuple[str, ...]:
        """The states of a thing that show, as symbols: ``("open", "dirty")``. Their words are in
        ``verbalize/household.py``."""
        found = self._states[i]
        if found is None:
            found = self._states[i] = tuple(self._visible_states(i))
        return found

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        """A copy of all that may change."""
        return {name: getattr(self, name).copy() for name in self.MUTABLE}

    def restore(self, saved: dict[str, NDArray[np.generic]]) -> None:
        """Back to a snapshot."""
        for name, value in saved.items():
            getattr(self, name)[:] = value
        self.version += 1
        self.shut = np.logical_not(self.open[self.objects : self.first_actor])
        self._states = [None] * self.size

    def _visible_states(self, i: int) -> list[str]:
        found = []
        if self.openable[i]:
            found.append("open" if self.open[i] else "closed")
        if self.on[i] or self.does(i, "toggleable"):
            found.append("on" if self.on[i] else "off")
        found += [
            *(flag for flag in ("sliced", "cooked") if getattr(self, flag)[i]),
            *(flag for flag in ("boiled", "dirty", "filled", "coffee") if getattr(self, flag)[i]),
        ]
        if self.temperature[i]:
            found.append(TEMPERATURES[self.temperature[i]])
        return found

    def _rehang(self, i: int) -> None:
        """Work out again which thing's visibility decides this one's."""
        anchor, exposed = i, True
        for holder in self.holders(i):
            if holder >= self.first_actor:
                exposed = False
            elif self.encloses[holder]:
                anchor = holder
                exposed = exposed and bool(self.open[holder])
        self.anchor[i], self.exposed[i] = anchor, exposed
        self.root[i] = exposed and anchor == i
