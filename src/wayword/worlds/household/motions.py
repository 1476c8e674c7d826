"""What a body does: low-level actions, a motion of the body or of a hand each, and high-level ones,
runs of those that are carried out and counted as such.

A low-level action raises ``Fail`` before it changes anything, or returns what fills its sentence. A
high-level one is all or nothing: where one of its motions fails, none of them has happened.

Source: LangSuitE (Jia et al. 2024), Table 9.
"""

from __future__ import annotations

from collections.abc import Callable

from wayword.core.episode import Json
from wayword.core.geometry import absolute, point_segment_distance, unit
from wayword.worlds.household import verbs as st
from wayword.worlds.household.house import Actor, Fail, House
from wayword.worlds.household.layout import obstacle
from wayword.worlds.household.route import believed_box, landing, route_into, route_to
from wayword.worlds.household.scene import TEMPERATURES, Room
from wayword.worlds.household.things import FLOOR, Things

Details = dict[str, Json]

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
    shut = not things.ajar(i)
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


def pick_up(house: House, me: Actor, name: str) -> Details:
    """Take a thing in view and reach into the hands, with all that is in it."""
    i = find(house, me, name)
    if i in me.hands:
        raise Fail(st.ALREADY_HELD, object=name)
    touch(house, me, i)
    _check_pick_up(house, me, i)
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
    if not things.receives(r):
        raise Fail(st.NOT_RECEPTACLE, object=name, receptacle=receptacle)
    if things.closed(r):
        raise Fail(st.CLOSED, object=name, receptacle=receptacle)
    spec = things.specs[r]
    if not things.fits(i, r):
        raise Fail(st.DOES_NOT_FIT, object=name, receptacle=receptacle, takes=list(spec.accepts))
    if things.full(r):
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


def _check_pick_up(house: House, me: Actor, i: int) -> None:
    if not house.things.does(i, "pickupable"):
        raise Fail(st.NOT_PICKUPABLE, object=house.name(me, i))
    if len(me.hands) >= me.body.inventory_capacity:
        held = [house.name(me, other) for other in me.hands]
        raise Fail(st.HANDS_FULL, object=house.name(me, i), holding=held)


def toggle(house: House, me: Actor, name: str, on: bool) -> Details:
    """Switch a thing, and what it controls, on or off."""
    i = touch(house, me, find(house, me, name))
    if not house.things.does(i, "toggleable"):
        raise Fail(st.NOT_TOGGLEABLE, object=name)
    if house.things.on[i] == on:
        raise Fail(st.ALREADY_ON if on else st.ALREADY_OFF, object=name)
    if on and house.things.ajar(i):
        raise Fail(st.MUST_BE_CLOSED, object=name)
    for k in (i, *house.things.controls[i]):
        house.things.mark(k, "on", on)
        if on:
            work(house.things, k)
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
    "move_ahead": lambda house, me: _step(house, me, me.heading),
    "turn_left": lambda house, me: _turn(me, -90.0),
    "turn_right": lambda house, me: _turn(me, 90.0),
    "pan_left": lambda house, me: _pan(house, me, -1),
    "pan_right": lambda house, me: _pan(house, me, 1),
    "wait": lambda house, me: {},
    "pick_up": pick_up,
    "drop": drop,
    "put": put,
    "open": open_,
    "close": close,
    "toggle_on": lambda house, me, name: toggle(house, me, name, True),
    "toggle_off": lambda house, me, name: toggle(house, me, name, False),
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


def _kind(house: House, i: int) -> Details:
    return {"kind": "receptacle" if house.things.encloses[i] else "thing"}


def _pan(house: House, me: Actor, side: int) -> Details:
    """A small turn, or a step aside where the body's ``pan_degrees`` is 0; to the left by -1."""
    pan = me.body.pan_degrees
    return _turn(me, side * pan) if pan else _step(house, me, absolute(me.heading + side * 90.0))


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


# High-level actions.


class Script:
    """A run of low-level actions under way; ``done`` lists them as text."""

    def __init__(self, house: House, me: Actor) -> None:
        self.house, self.me = house, me
        self.done: list[str] = []

    def do(self, verb: str, *arguments: str) -> Details:
        """One low-level action. Raises ``Fail``."""
        details = primitive(self.house, self.me, verb, *arguments)
        self.done.append(f"{verb}[{', '.join(arguments)}]" if arguments else verb)
        return details

    def room(self, name: str) -> Room | None:
        """The room of that name."""
        return next((r for r in self.house.layout.scene.rooms if r.name == name), None)

    def enter(self, room: Room) -> None:
        """Walk to the middle of a room."""
        for verb in route_into(self.house, self.me, room):
            self.do(verb)

    def go(self, i: int) -> None:
        """Walk to where a thing is in view and reach, as far as one knows."""
        house, me = self.house, self.me
        if house.holder(i) == me.number:
            return
        box = believed_box(house, me, i)
        if i in me.view.things and house.distance(me, i) <= me.body.manipulation_distance:
            return
        for verb in route_to(house, me, i, box):
            self.do(verb)

    def go_open(self, i: int) -> None:
        """Walk to a thing, see it, and open it where it is shut."""
        self.go(i)
        if i not in self.me.view.things and self.house.holder(i) != self.me.number:
            raise Fail(st.NOT_VISIBLE, object=self.house.name(self.me, i))
        self.unlock(i)

    def unlock(self, i: int) -> None:
        """Open a receptacle that is shut."""
        if self.house.things.closed(i):
            self.do("open", self.me.names.of[i])


def goto(script: Script, place: str) -> Details:
    """Walk to a thing, a door, an actor or a room one knows, and face it."""
    room = script.room(place)
    if room is not None:
        script.enter(room)
    else:
        script.go(find(script.house, script.me, place))
    return {"place": place}


def treat(script: Script, name: str, tool: str, kind: str) -> Details:
    """Heat, cool or wash a held thing: go, put it in or on, run the appliance, take it again.

    A stove burner takes pans, pots and kettles, and heats what is in them. The switch of an
    appliance must have been seen; a cooler is only shut.
    """
    house, me, things = script.house, script.me, script.house.things
    held(house, me, name)
    i = find(house, me, tool)
    if not things.does(i, kind):
        raise Fail(st.WRONG_TOOL, object=name, tool=tool)
    switches = [i] if things.does(i, "toggleable") else things.switches.get(i, ())
    known = [k for k in switches if k == i or me.known[k]]
    if kind != "cooler" and not known:
        raise Fail(st.NO_SWITCH, object=name, tool=tool)
    script.go_open(i)
    script.do("put", name, tool)
    if things.encloses[i]:
        script.do("close", tool)
    if kind != "cooler":
        script.go(known[0])
        label = house.name(me, known[0])
        if not things.on[known[0]]:
            script.do("toggle_on", label)
        script.do("toggle_off", label)
        script.go(i)
    script.unlock(i)
    script.do("pick_up", name)
    return {"object": name, "tool": tool}


def go_explore(script: Script, name: str) -> Details:
    """Walk to the middle of a room and turn once around; tells what was seen, and what is shut."""
    house, me, room = script.house, script.me, script.room(name)
    if room is None:
        raise Fail(st.NO_SUCH_ROOM, room=name)
    script.enter(room)
    seen = dict.fromkeys(me.view.things)
    for _ in range(4):
        script.do("turn_right")
        seen |= dict.fromkeys(me.view.things)
    there = [i for i in seen if _in_room(house, i, name)]
    lids = [i for i in there if house.things.openable[i]]
    return {
        "room": name,
        "seen": [house.name(me, i) for i in there],
        "closed": [house.name(me, i) for i in lids if not house.things.open[i]],
        "opened": [house.name(me, i) for i in lids if house.things.open[i]],
    }


def go_check(script: Script, name: str) -> Details:
    """Walk to a receptacle, open it where it is shut, and tell what is in or on it."""
    house, me = script.house, script.me
    i = find(house, me, name)
    if not house.things.receives(i):
        raise Fail(st.NOT_RECEPTACLE, receptacle=name, object=name)
    script.go_open(i)
    contents = [house.name(me, k) for k in house.things.contents(i) if k in me.view.things]
    preposition = house.things.specs[i].receptacle
    return {"receptacle": name, "preposition": preposition, "contents": contents}


def go_grab(script: Script, name: str) -> Details:
    """Walk to a thing and pick it up."""
    i = find(script.house, script.me, name)
    if i in script.me.hands:
        raise Fail(st.ALREADY_HELD, object=name)
    _check_pick_up(script.house, script.me, i)
    script.go(i)
    script.do("pick_up", name)
    return {"object": name}


def go_put(script: Script, receptacle: str) -> Details:
    """Walk to a receptacle, open it where it is shut, and put in or on it what was taken last."""
    house, me = script.house, script.me
    if not me.hands:
        raise Fail(st.HANDS_EMPTY, receptacle=receptacle)
    name, i = house.name(me, me.hands[-1]), find(house, me, receptacle)
    if not house.things.receives(i):
        raise Fail(st.NOT_RECEPTACLE, object=name, receptacle=receptacle)
    script.go_open(i)
    return script.do("put", name, receptacle)


HIGH: dict[str, Callable[..., Details]] = {
    "goto": goto,
    "heat": lambda script, name, tool: treat(script, name, tool, "heater"),
    "cool": lambda script, name, tool: treat(script, name, tool, "cooler"),
    "clean": lambda script, name, tool: treat(script, name, tool, "cleaner"),
    "go_explore": go_explore,
    "go_check": go_check,
    "go_grab": go_grab,
    "go_put": go_put,
}
"""Verb -> what it does."""


def run(house: House, me: Actor, verb: str, *arguments: str) -> Details:
    """Do a high-level action, all of it or nothing. Raises ``Fail``."""
    script = Script(house, me)
    details = house.attempt(lambda: HIGH[verb](script, *arguments))
    return {**details, "low_level": script.done}


def _in_room(house: House, i: int, room: str) -> bool:
    door = i - house.things.objects
    if 0 <= door < len(house.layout.scene.doors):
        return room in house.layout.scene.doors[door].rooms
    return house.layout.room_at(float(house.things.x[i]), float(house.things.y[i])) == room
