"""House: a scene in which bodies act: who is where, sees what, and knows what by which name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wayword.core.episode import Json
from wayword.worlds.housework.body import Body
from wayword.worlds.housework.layout import Layout
from wayword.worlds.housework.messages import Answerer, Mailbox
from wayword.worlds.housework.names import Names
from wayword.worlds.housework.sight import NOTHING, Sight, View
from wayword.worlds.housework.things import Things


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
    names: Names
    known: NDArray[np.bool_]
    seen_x: NDArray[np.float64]
    seen_y: NDArray[np.float64]
    seen_in: NDArray[np.int32]
    hands: list[int] = field(default_factory=list)
    view: View = NOTHING
    room: str = ""
    actions: int = 0
    low_level: int = 0
    stopped: bool = False
    answer: str | None = None


Saved = tuple[dict[str, NDArray[Any]], list[tuple[Any, ...]]]


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
        self.answerer = answerer
        self.actors: dict[str, Actor] = {}
        size, first = self.things.size, self.things.first_actor
        types = [self.things.type(i) for i in range(first)]
        common = Names(types, bodies)
        if named:
            common.learn(range(first))
        for number, (name, body) in enumerate(bodies.items(), first):
            names = common if shared_names or named else Names(types, bodies)
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
            me.known[seen] = True
            me.seen_x[seen] = things.x[seen]
            me.seen_y[seen] = things.y[seen]
            me.seen_in[seen] = things.anchor[seen]

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
        saved = self._save()
        try:
            return deed()
        except Fail:
            self._restore(saved)
            raise

    def _save(self) -> Saved:
        people = [
            (
                *(a.x, a.y, a.heading, list(a.hands), a.view, a.room, a.low_level),
                *(a.known.copy(), a.seen_x.copy(), a.seen_y.copy(), a.seen_in.copy()),
                len(a.names.order),
            )
            for a in self.actors.values()
        ]
        return self.things.snapshot(), people

    def _restore(self, saved: Saved) -> None:
        self.things.restore(saved[0])
        for a, record in zip(self.actors.values(), saved[1], strict=True):
            a.x, a.y, a.heading, a.hands, a.view, a.room, a.low_level = record[:7]
            a.known, a.seen_x, a.seen_y, a.seen_in = record[7:11]
            a.names.forget(record[11])
