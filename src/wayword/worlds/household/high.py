"""High-level actions: each is a run of low-level ones, carried out and counted as such.

All or nothing: where one of the low-level actions fails, none of them has happened.
Source: LangSuitE (Jia et al. 2024), Table 9.
"""

from __future__ import annotations

from collections.abc import Callable

from wayword.core.episode import Json
from wayword.worlds.household import verbs as st
from wayword.worlds.household.house import Actor, Fail, House
from wayword.worlds.household.low import find, held, primitive
from wayword.worlds.household.route import believed_box, route_into, route_to

Details = dict[str, Json]


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

    def unlock(self, i: int) -> Details:
        """Open a receptacle that is shut."""
        if self.house.things.encloses[i] and not self.house.things.open[i]:
            return self.do("open", self.me.names.of[i])
        return {}


def goto(house: House, me: Actor, place: str) -> Details:
    """Walk to a thing, a door, an actor or a room one knows, and face it."""
    script = Script(house, me)
    room = next((r for r in house.layout.scene.rooms if r.name == place), None)
    if room is not None:
        for verb in route_into(house, me, room):
            script.do(verb)
    else:
        script.go(find(house, me, place))
    return {"place": place, "low_level": script.done}


def heat(house: House, me: Actor, name: str, tool: str) -> Details:
    """Heat a held thing: go, put it in or on, switch on and off, take it again.

    A stove burner takes pans, pots and kettles, and heats what is in them; its knob must have been
    seen.
    """
    return _treat(house, me, name, tool, "heater")


def cool(house: House, me: Actor, name: str, tool: str) -> Details:
    """Cool a held thing: go, put it in, shut, open, take it again."""
    return _treat(house, me, name, tool, "cooler")


def clean(house: House, me: Actor, name: str, tool: str) -> Details:
    """Wash a held thing: go, put it in, run the water and stop it, take it again."""
    return _treat(house, me, name, tool, "cleaner")


def go_explore(house: House, me: Actor, name: str) -> Details:
    """Walk to the middle of a room and turn once around; tells what was seen, and what is shut."""
    room = next((r for r in house.layout.scene.rooms if r.name == name), None)
    if room is None:
        raise Fail(st.NO_SUCH_ROOM, room=name)
    script = Script(house, me)
    for verb in route_into(house, me, room):
        script.do(verb)
    seen = dict.fromkeys(me.view.things)
    for _ in range(4):
        script.do("turn_right")
        seen |= dict.fromkeys(me.view.things)
    there = [i for i in seen if _in_room(house, i, name)]
    lids = [i for i in there if house.things.openable[i]]
    shut = [house.name(me, i) for i in lids if not house.things.open[i]]
    opened = [house.name(me, i) for i in lids if house.things.open[i]]
    names = [house.name(me, i) for i in there]
    return {
        "room": name,
        "seen": names,
        "closed": shut,
        "opened": opened,
        "low_level": script.done,
    }


def go_check(house: House, me: Actor, name: str) -> Details:
    """Walk to a receptacle, open it where it is shut, and tell what is in or on it."""
    script = Script(house, me)
    i = find(house, me, name)
    if i >= house.things.objects or not house.things.specs[i].receptacle:
        raise Fail(st.NOT_RECEPTACLE, receptacle=name, object=name)
    script.go(i)
    _in_view(house, me, i)
    script.unlock(i)
    inside = [k for k in house.things.contents(i) if k in me.view.things]
    contents = [house.name(me, k) for k in inside]
    preposition = house.things.specs[i].receptacle
    return {
        "receptacle": name,
        "preposition": preposition,
        "contents": contents,
        "low_level": script.done,
    }


def go_grab(house: House, me: Actor, name: str) -> Details:
    """Walk to a thing and pick it up."""
    script = Script(house, me)
    i = find(house, me, name)
    if i in me.hands:
        raise Fail(st.ALREADY_HELD, object=name)
    if not house.things.does(i, "pickupable"):
        raise Fail(st.NOT_PICKUPABLE, object=name)
    if len(me.hands) >= me.body.inventory_capacity:
        raise Fail(st.HANDS_FULL, object=name, holding=[house.name(me, k) for k in me.hands])
    script.go(i)
    script.do("pick_up", name)
    return {"object": name, "low_level": script.done}


def go_put(house: House, me: Actor, receptacle: str) -> Details:
    """Walk to a receptacle, open it where it is shut, and put in or on it what was taken last."""
    if not me.hands:
        raise Fail(st.HANDS_EMPTY, receptacle=receptacle)
    script = Script(house, me)
    name = house.name(me, me.hands[-1])
    i = find(house, me, receptacle)
    if house.things.specs[i].receptacle if i < house.things.objects else False:
        script.go(i)
        _in_view(house, me, i)
        script.unlock(i)
    else:
        raise Fail(st.NOT_RECEPTACLE, object=name, receptacle=receptacle)
    details = script.do("put", name, receptacle)
    return {**details, "low_level": script.done}


HIGH: dict[str, Callable[..., Details]] = {
    "goto": goto,
    "heat": heat,
    "cool": cool,
    "clean": clean,
    "go_explore": go_explore,
    "go_check": go_check,
    "go_grab": go_grab,
    "go_put": go_put,
}
"""Verb -> what it does; call through ``House.attempt``."""


def _treat(house: House, me: Actor, name: str, tool: str, kind: str) -> Details:
    held(house, me, name)
    i = find(house, me, tool)
    if not house.things.does(i, kind):
        raise Fail(st.WRONG_TOOL, object=name, tool=tool)
    script = Script(house, me)
    switch = _switch_of(house, me, i, tool, name) if kind != "cooler" else None
    lid = bool(house.things.encloses[i])
    script.go(i)
    _in_view(house, me, i)
    script.unlock(i)
    script.do("put", name, tool)
    if lid:
        script.do("close", tool)
    if switch is not None:
        script.go(switch)
        label = house.name(me, switch)
        if not house.things.on[switch]:
            script.do("toggle_on", label)
        script.do("toggle_off", label)
        script.go(i)
    script.unlock(i)
    script.do("pick_up", name)
    return {"object": name, "tool": tool, "low_level": script.done}


def _switch_of(house: House, me: Actor, i: int, tool: str, name: str) -> int:
    """What switches an appliance: itself, or a control that one knows. Raises ``Fail``."""
    if house.things.does(i, "toggleable"):
        return i
    known = [k for k in house.things.switches.get(i, ()) if me.known[k]]
    if not known:
        raise Fail(st.NO_SWITCH, object=name, tool=tool)
    return known[0]


def _in_view(house: House, me: Actor, i: int) -> None:
    if i not in me.view.things and house.holder(i) != me.number:
        raise Fail(st.NOT_VISIBLE, object=house.name(me, i))


def _in_room(house: House, i: int, room: str) -> bool:
    door = i - house.things.objects
    if 0 <= door < len(house.layout.scene.doors):
        return room in house.layout.scene.doors[door].rooms
    return house.layout.room_at(float(house.things.x[i]), float(house.things.y[i])) == room
