"""From a view to the observation an actor is given."""

from __future__ import annotations

from wayword.worlds.housework.house import Actor, House
from wayword.worlds.housework.observation import (
    Direction,
    HeldObject,
    RoomsObservation,
    SeenActor,
    SeenDoor,
    SeenObject,
)

NOWHERE = ("", "")


def observation(house: House, me: Actor) -> RoomsObservation:
    """What an actor perceives now, by the names it has for things."""
    things, names, view = house.things, me.names.of, me.view
    third = me.body.view_angle / 6
    objects: list[SeenObject] = []
    doors: list[SeenDoor] = []
    others: list[SeenActor] = []
    inside = things.inside[view.things].tolist() if view.things else []
    rows = sorted(zip(view.distance, view.things, view.bearing, inside, strict=True))
    for away, i, bearing, holder in rows:
        side: Direction = "middle"
        if bearing < -third:
            side = "left"
        elif bearing > third:
            side = "right"
        # To a tenth of a degree and a centimetre; several times as fast as round().
        bearing, away = (int(bearing * 10 + 3600.5) - 3600) / 10, int(away * 100 + 0.5) / 100
        if i < things.objects:
            preposition, container = NOWHERE
            if holder >= 0 and holder in view.things:
                preposition, container = things.specs[holder].receptacle, names[holder]
            labels = things.labels(i)
            objects.append(
                SeenObject(names[i], side, bearing, away, preposition, container, labels)
            )
        elif i < things.first_actor:
            rooms = house.layout.scene.doors[i - things.objects].rooms
            doors.append(SeenDoor(names[i], side, bearing, away, bool(things.open[i]), rooms))
        else:
            other = house.actors[names[i]]
            carried = tuple(house.name(me, k) for k in other.hands)
            others.append(SeenActor(names[i], side, bearing, away, carried))
    return RoomsObservation(
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
    return HeldObject(house.name(me, i), house.things.labels(i), contents)
