"""Low-level actions: one motion of the body or of a hand each.

Each raises ``Fail`` before it changes anything, or returns what fills its sentence.
Source: LangSuitE (Jia et al. 2024), Table 9.
"""

from __future__ import annotations

from collections.abc import Callable

from wayword.core.episode import Json
from wayword.core.geometry import absolute, point_segment_distance, unit
from wayword.worlds.household import verbs as st
from wayword.worlds.household.house import Actor, Fail, House
from wayword.worlds.household.layout import obstacle
from wayword.worlds.household.route import landing
from wayword.worlds.household.scene import TEMPERATURES
from wayword.worlds.household.things import FLOOR, Things

# Effects: what appliances do to what is in or on them.

HOT, COLD = TEMPERATURES.index("hot"), TEMPERATURES.index("cold")


def work(things: Things, i: int) -> None:
    """Let an appliance work on its contents, after it was switched on, shut or filled.

    A heater works while it is on, a cooler at all times, each only while shut where it can be
    shut; cleaners, fillers and brewers work while on; a drinker takes the water of what is put to
    it. Things of any other kind do nothing. That a thing was heated, cooled or cleaned stays on
    record, whatever becomes of it; as ALFRED has it, heated means in what shuts, not on a hob.
    """
    if i >= things.objects:
        return
    does = things.specs[i].affordances
    shut = not (things.encloses[i] and things.open[i])
    runs = bool(things.on[i])
    for k in things.family(i)[1:]:
        if "heater" in does and runs and shut:
            _heat(things, k)
            things.heated[k] |= things.encloses[i]
        if "cooler" in does and shut:
            things.mark(k, "temperature", COLD)
            things.mark(k, "cooled", True)
        if "cleaner" in does and runs:
            things.mark(k, "dirty", False)
            things.mark(k, "cleaned", True)
        if runs and things.does(k, "fillable"):
            _fill(things, k, does)
        if "drinker" in does and things.filled[k] and not things.coffee[k]:
            things.mark(i, "filled", True)
            things.mark(k, "filled", False)


def _heat(things: Things, k: int) -> None:
    """Make a thing hot; what can be cooked is, and in water it is boiled."""
    things.mark(k, "temperature", HOT)
    if things.does(k, "cookable"):
        things.mark(k, "cooked", True)
        pot = int(things.inside[k])
        if pot >= 0 and things.filled[pot] and not things.coffee[pot]:
            things.mark(k, "boiled", True)


def _fill(things: Things, k: int, does: frozenset[str]) -> None:
    """Fill a vessel with coffee, or with water; the one takes the other's place."""
    if "brewer" in does or "filler" in does:
        things.mark(k, "filled", True)
        things.mark(k, "coffee", "brewer" in does)


Details = dict[str, Json]


def move_ahead(house: House, me: Actor) -> Details:
    """One step the way one faces."""
    return _step(house, me, me.heading)


def turn_left(house: House, me: Actor) -> Details:
    """90° to the left."""
    return _turn(me, -90.0)


def turn_right(house: House, me: Actor) -> Details:
    """90° to the right."""
    return _turn(me, 90.0)


def pan_left(house: House, me: Actor) -> Details:
    """A small turn to the left, or a step aside where the body's ``pan_degrees`` is 0."""
    pan = me.body.pan_degrees
    return _turn(me, -pan) if pan else _step(house, me, absolute(me.heading - 90.0))


def pan_right(house: House, me: Actor) -> Details:
    """A small turn to the right, or a step aside where the body's ``pan_degrees`` is 0."""
    pan = me.body.pan_degrees
    return _turn(me, pan) if pan else _step(house, me, absolute(me.heading + 90.0))


def wait(house: House, me: Actor) -> Details:
    """Let a turn go by, for others to act."""
    return {}


def pick_up(house: House, me: Actor, name: str) -> Details:
    """Take a thing in view and reach into the hands, with all that is in it."""
    i = find(house, me, name)
    if i in me.hands:
        raise Fail(st.ALREADY_HELD, object=name)
    touch(house, me, i)
    if not house.things.does(i, "pickupable"):
        raise Fail(st.NOT_PICKUPABLE, object=name)
    if len(me.hands) >= me.body.inventory_capacity:
        held = [house.name(me, other) for other in me.hands]
        raise Fail(st.HANDS_FULL, object=name, holding=held)
    house.things.move(i, me.number)
    me.hands.append(i)
    return {"object": name}


def drop(house: House, me: Actor, name: str) -> Details:
    """Let a held thing down to the floor where one stands."""
    i = held(house, me, name)
    me.hands.remove(i)
    house.things.move(i, FLOOR)
    house.things.place(i, me.x, me.y, 0.0)
    return {"object": name}


def put(house: House, me: Actor, name: str, receptacle: str) -> Details:
    """Put a held thing in or on a receptacle in view and reach."""
    i, r = held(house, me, name), find(house, me, receptacle)
    things = house.things
    if r == i or i in things.holders(r):
        raise Fail(st.INSIDE_ITSELF, object=name, receptacle=receptacle)
    touch(house, me, r)
    if r >= things.objects or not things.specs[r].receptacle:
        raise Fail(st.NOT_RECEPTACLE, object=name, receptacle=receptacle)
    if things.encloses[r] and not things.open[r]:
        raise Fail(st.CLOSED, object=name, receptacle=receptacle)
    spec = things.specs[r]
    if spec.accepts and things.type(i) not in spec.accepts:
        raise Fail(st.DOES_NOT_FIT, object=name, receptacle=receptacle, takes=list(spec.accepts))
    if spec.capacity and len(things.contents(r)) >= spec.capacity:
        raise Fail(st.FULL, object=name, receptacle=receptacle)
    me.hands.remove(i)
    things.place(i, *landing(house, me, i, r, (me.x, me.y, me.heading)))
    things.move(i, r)
    for holder in (r, *things.holders(r)):
        work(things, holder)
    return {"object": name, "receptacle": receptacle, "preposition": spec.receptacle}


def open_(house: House, me: Actor, name: str) -> Details:
    """Open a door or a receptacle."""
    i = touch(house, me, find(house, me, name))
    if not house.things.openable[i]:
        raise Fail(st.NOT_OPENABLE, object=name)
    if house.things.open[i]:
        raise Fail(st.ALREADY_OPEN, object=name)
    if house.things.on[i] and house.things.encloses[i]:
        raise Fail(st.RUNNING, object=name)
    house.things.swing(i, True)
    inside = [k for k in house.things.contents(i) if house.things.exposed[k]]
    me.names.learn(inside)
    return {"object": name, "contents": [house.name(me, k) for k in inside]} | _kind(house, i)


def close(house: House, me: Actor, name: str) -> Details:
    """Shut a door, in whose way nobody stands, or a receptacle."""
    i = touch(house, me, find(house, me, name))
    things = house.things
    if not things.openable[i]:
        raise Fail(st.NOT_OPENABLE, object=name)
    if not things.open[i]:
        raise Fail(st.ALREADY_CLOSED, object=name)
    if i >= things.objects:
        (ax, ay), (bx, by) = house.layout.doors[i - things.objects]
        for other in house.actors.values():
            if point_segment_distance(other.x, other.y, ax, ay, bx, by) < other.body.radius:
                who = "you" if other is me else other.name
                raise Fail(st.BLOCKED, object=name, by=who)
    things.swing(i, False)
    work(things, i)
    return {"object": name} | _kind(house, i)


def toggle_on(house: House, me: Actor, name: str) -> Details:
    """Switch on a thing, and what it controls."""
    i = _switch(house, me, name)
    if house.things.on[i]:
        raise Fail(st.ALREADY_ON, object=name)
    if house.things.encloses[i] and house.things.open[i]:
        raise Fail(st.MUST_BE_CLOSED, object=name)
    for k in (i, *house.things.controls[i]):
        house.things.mark(k, "on", True)
        work(house.things, k)
    return {"object": name}


def toggle_off(house: House, me: Actor, name: str) -> Details:
    """Switch off a thing, and what it controls."""
    i = _switch(house, me, name)
    if not house.things.on[i]:
        raise Fail(st.ALREADY_OFF, object=name)
    for k in (i, *house.things.controls[i]):
        house.things.mark(k, "on", False)
    return {"object": name}


def slice_(house: House, me: Actor, name: str) -> Details:
    """Slice a thing in reach with a knife in the hand."""
    i = touch(house, me, find(house, me, name))
    if not house.things.does(i, "sliceable"):
        raise Fail(st.NOT_SLICEABLE, object=name)
    if house.things.sliced[i]:
        raise Fail(st.ALREADY_SLICED, object=name)
    knife = next((k for k in me.hands if house.things.does(k, "slicer")), None)
    if knife is None:
        raise Fail(st.WRONG_TOOL, object=name, tool="")
    house.things.mark(i, "sliced", True)
    return {"object": name, "tool": house.name(me, knife)}


LOW: dict[str, Callable[..., Details]] = {
    "move_ahead": move_ahead,
    "turn_left": turn_left,
    "turn_right": turn_right,
    "pan_left": pan_left,
    "pan_right": pan_right,
    "wait": wait,
    "pick_up": pick_up,
    "drop": drop,
    "put": put,
    "open": open_,
    "close": close,
    "toggle_on": toggle_on,
    "toggle_off": toggle_off,
    "slice": slice_,
}
"""Verb -> what it does."""
TURNS = frozenset(("turn_left", "turn_right", "wait"))
"""Verbs after which nobody else sees anything new."""


def primitive(house: House, me: Actor, verb: str, *arguments: str) -> Details:
    """Do a low-level action, count it, and let everybody look. Raises ``Fail``."""
    details = LOW[verb](house, me, *arguments)
    me.low_level += 1
    house.refresh(me if verb in TURNS else None)
    return details


def find(house: House, me: Actor, name: str) -> int:
    """The thing of that name. Raises ``Fail`` where nobody has seen one."""
    i = me.names.thing.get(name)
    if i is None or i == me.number:
        raise Fail(st.NO_SUCH_OBJECT, object=name)
    return i


def held(house: House, me: Actor, name: str) -> int:
    """The thing of that name, in one's hands. Raises ``Fail``."""
    i = find(house, me, name)
    if i not in me.hands:
        raise Fail(st.NOT_HOLDING, object=name)
    return i


def touch(house: House, me: Actor, i: int) -> int:
    """The thing again, when it is in view and within reach. Raises ``Fail``."""
    things, name = house.things, house.name(me, i)
    if house.holder(i) == me.number:
        lid = next((k for k in things.holders(i)[:-1] if things.encloses[k]), None)
        if lid is not None and not things.open[lid]:
            raise Fail(st.CLOSED, object=name, receptacle=house.name(me, lid))
        return i
    if i not in me.view.things:
        box = int(me.seen_in[i])
        if me.known[i] and box != i and not things.open[box]:
            raise Fail(st.CLOSED, object=name, receptacle=house.name(me, box))
        raise Fail(st.NOT_VISIBLE, object=name)
    away, reach = house.distance(me, i), me.body.manipulation_distance
    if away > reach:
        raise Fail(st.TOO_FAR, object=name, distance=round(away, 2), reach=reach)
    return i


def _switch(house: House, me: Actor, name: str) -> int:
    i = touch(house, me, find(house, me, name))
    if not house.things.does(i, "toggleable"):
        raise Fail(st.NOT_TOGGLEABLE, object=name)
    return i


def _kind(house: House, i: int) -> Details:
    return {"kind": "receptacle" if house.things.encloses[i] else "thing"}


def _turn(me: Actor, by: float) -> Details:
    me.heading = absolute(round(me.heading + by, 6))
    return {"heading": me.heading}


def _step(house: House, me: Actor, heading: float) -> Details:
    east, north = unit(heading)
    x, y = round(me.x + me.body.step * east, 9), round(me.y + me.body.step * north, 9)
    shut = house.things.shut.tolist()
    way = ((me.x, me.y), (x, y))
    found = obstacle(house.layout, me.body.radius, way, shut, house.others(me))
    if found is not None:
        kind, number = found
        number += house.things.objects if kind == "door" else 0
        named = {"wall": "a wall", "edge": "the edge of the house"}.get(kind)
        raise Fail(st.BLOCKED, by=named or house.name(me, number))
    house.stand(me, x, y)
    return {"distance": me.body.step}
