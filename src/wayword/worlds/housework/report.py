"""Report: the whole true state of a house in JSON values, for judges and recordings."""

from __future__ import annotations

from wayword.core.episode import Json
from wayword.worlds.housework.house import Actor, House
from wayword.worlds.housework.scene import TEMPERATURES

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
        "objects": {things.specs[i].id: _object(house, i) for i in range(things.objects)},
        "doors": {d.id: bool(things.open[i]) for i, d in enumerate(doors, things.objects)},
        "actors": {a.name: _actor(house, a) for a in house.actors.values()},
        "messages": [[sender, list(to), text] for sender, to, text in house.mailbox.log],
    }


def _object(house: House, i: int) -> dict[str, Json]:
    things = house.things
    holder = int(things.inside[i])
    actor = next((a for a in house.actors.values() if a.number == house.holder(i)), None)
    x, y = (actor.x, actor.y) if actor else (float(things.x[i]), float(things.y[i]))
    return {
        "x": round(x, 6),
        "y": round(y, 6),
        "bottom": round(float(things.bottom[i]), 6),
        "in": things.specs[holder].id if 0 <= holder < things.objects else "",
        "held": actor.name if actor else "",
        "room": house.layout.room_at(x, y),
        **{flag: bool(getattr(things, flag)[i]) for flag in FLAGS},
        "temperature": TEMPERATURES[things.temperature[i]],
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
