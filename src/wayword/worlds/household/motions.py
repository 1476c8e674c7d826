"""Actions of a body: low-level ones (a single motion), and high-level ones, sequences of them.

A low-level action either raises ``Fail`` before it changes anything, or returns its details. A
high-level one is atomic: if one of its motions fails, all are undone.

Source: LangSuitE (Jia et al. 2024), Table 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from wayword.core.episode import Json
from wayword.core.geometry import Box, Point, absolute, point_segment_distance, unit
from wayword.worlds.household.entities import FLOOR, Entities
from wayword.worlds.household.house import Actor, Fail, House
from wayword.worlds.household.layout import first_obstacle
from wayword.worlds.household.route import Trip, believed_box, landing_spot
from wayword.worlds.household.scene import TEMPERATURES, Room
from wayword.worlds.household.verbs import parse_spot

Details = dict[str, Json]
"""Values for the sentence on an action's result."""
# Temperatures as the arrays of ``Entities`` hold them.
HOT = TEMPERATURES.index("hot")
COLD = TEMPERATURES.index("cold")


def require(condition: object, status: str, **details: Json) -> None:
    """Raise ``Fail`` with a status and the values of its sentence unless the condition holds.

    The status is one of the verb's ``failures`` (``wayword.worlds.household.verbs``), worded in
    ``sentences.toml``.
    """
    if not condition:
        raise Fail(status, **details)


def run_appliance(entities: Entities, i: int) -> None:
    """Apply an appliance to its contents after it was switched on, closed or filled.

    Heaters and coolers that open work only while closed. Heat cooks cookable objects, and boils
    them in water; coffee and water replace each other; a drinker takes the water of a vessel put on
    it. As in ALFRED, "heated" requires an openable heater, not a stove burner.
    """
    # Doors heat nothing.
    if i >= entities.object_count:
        return
    affordances = entities.specs[i].affordances
    can_run = not entities.is_ajar(i)
    is_on = bool(entities.on[i])
    fills = is_on and not affordances.isdisjoint(("brewer", "filler"))
    # With the contents of contents: an egg in a pot on a burner is cooked.
    for content in entities.with_contents(i)[1:]:
        # A microwave has to be closed; a burner cannot be.
        if "heater" in affordances and is_on and can_run:
            entities.set_state(content, "temperature", HOT)
            entities.heated[content] |= entities.encloses[i]
            if entities.has_affordance(content, "cookable"):
                entities.set_state(content, "cooked", True)
                pot = int(entities.inside[content])
                # Boiled needs water around it, so a pot with coffee does not count.
                if pot >= 0 and entities.filled[pot] and not entities.coffee[pot]:
                    entities.set_state(content, "boiled", True)
        # A fridge needs no switch.
        if "cooler" in affordances and can_run:
            entities.set_state(content, "temperature", COLD)
            entities.set_state(content, "cooled", True)
        if "cleaner" in affordances and is_on:
            entities.set_state(content, "dirty", False)
            entities.set_state(content, "cleaned", True)
        if fills and entities.has_affordance(content, "fillable"):
            entities.set_state(content, "filled", True)
            # The last liquid counts: a brewer makes coffee, a tap makes water.
            entities.set_state(content, "coffee", "brewer" in affordances)
        # A plant is watered once, and the vessel is empty afterwards.
        has_water = entities.filled[content] and not entities.coffee[content]
        if "drinker" in affordances and has_water:
            entities.set_state(i, "filled", True)
            entities.set_state(content, "filled", False)


def pick_up(house: House, me: Actor, name: str) -> Details:
    """Pick up an object in view and within reach, with its contents.

    Raises ``Fail`` for a full hand, or an object that cannot be carried.
    """
    i = find_object(house, me, name)
    # The order of the tests decides which message a wrong call gets.
    require(i not in me.hands, "already_held", object=name)
    check_reach(house, me, i)
    _check_pick_up(house, me, i)
    # The holder is the actor's own entity.
    house.entities.move(i, me.number)
    me.hands.append(i)
    return {"object": name}


def _check_pick_up(house: House, me: Actor, i: int) -> None:
    """Raise ``Fail`` unless an object can be picked up by a free hand."""
    name = house.name(me, i)
    is_portable = house.entities.has_affordance(i, "pickupable")
    require(is_portable, "not_pickupable", object=name)
    held = [house.name(me, other) for other in me.hands]
    has_free_hand = len(held) < me.body.inventory_capacity
    require(has_free_hand, "hands_full", object=name, holding=held)


def drop(house: House, me: Actor, name: str) -> Details:
    """Put a held object on the floor at the actor's place."""
    i = find_held(house, me, name)
    me.hands.remove(i)
    house.entities.move(i, FLOOR)
    # An object on the floor lies at the body's feet, below any furniture.
    house.entities.place(i, me.x, me.y, 0.0)
    return {"object": name}


def _aim(house: House, r: int, spot: str) -> Point:
    """Return the point (metres) that a spot denotes. Raises ``Fail``."""
    offset = parse_spot(spot)
    if offset is None:
        raise Fail("no_spot", spot=spot)
    x, y = house.entities.point(r)
    return x + offset[0], y + offset[1]


def put(house: House, me: Actor, name: str, receptacle: str, spot: str = "") -> Details:
    """Put a held object in or on a receptacle in view and within reach, optionally at a spot.

    Appliances that run already treat it at once. ``preposition`` of the details is
    ``in`` or ``on``; ``spot`` is where it came to lie, if positions on that furniture
    are described.
    """
    i = find_held(house, me, name)
    r = find_object(house, me, receptacle)
    entities = house.entities
    both = {"object": name, "receptacle": receptacle}

    # The first rule that is broken gives the message, so their order matters.
    require(r != i and i not in entities.holders(r), "inside_itself", **both)
    check_reach(house, me, r)
    require(entities.is_receptacle(r), "not_receptacle", **both)
    require(not entities.closed(r), "closed", **both)
    spec = entities.specs[r]
    require(entities.fits(i, r), "does_not_fit", **both, takes=list(spec.accepts))
    require(not entities.full(r), "full", **both)

    aim = None
    if spot:
        aim = _aim(house, r, spot)
    x, y, bottom = landing_spot(house, me, i, r, (me.x, me.y, me.heading), aim)
    # Only an aimed object can be out of reach: otherwise the landing spot is chosen
    # within it.
    away = math.dist((x, y), (me.x, me.y))
    reach = me.body.manipulation_distance
    if aim and away > reach:
        raise Fail(
            "too_far",
            object=receptacle,
            distance=round(away, 2),
            reach=reach,
            spot=spot,
        )
    # Placed first, then moved: the object's contents go along with both.
    me.hands.remove(i)
    entities.place(i, x, y, bottom)
    entities.move(i, r)
    # A mug put into a running coffee machine is filled at once, and so on outwards.
    for holder in (r, *entities.holders(r)):
        run_appliance(entities, holder)
    details: Details = {**both, "preposition": spec.receptacle}
    final_spot = house.spot(i)
    if final_spot:
        details["spot"] = list(final_spot)
    return details


def open_(house: House, me: Actor, name: str) -> Details:
    """Open a door or a receptacle. The ``contents`` of the details are what became visible."""
    i = check_reach(house, me, find_object(house, me, name))
    entities = house.entities
    require(entities.openable[i], "not_openable", object=name)
    require(not entities.open[i], "already_open", object=name)
    # Like a microwave, it stays locked while it runs.
    require(not (entities.on[i] and entities.encloses[i]), "running", object=name)
    entities.set_open(i, True)
    # Contents get names before the actor looks, because the message names them.
    inside = [k for k in entities.contents(i) if entities.is_exposed[k]]
    me.names.assign(inside)
    contents = [house.name(me, k) for k in inside]
    kind = "receptacle" if entities.encloses[i] else "object"
    return {"object": name, "contents": contents, "kind": kind}


def close(house: House, me: Actor, name: str) -> Details:
    """Close a receptacle, or a door that no body blocks. A heater that is on starts to work."""
    i = check_reach(house, me, find_object(house, me, name))
    entities = house.entities
    require(entities.openable[i], "not_openable", object=name)
    require(entities.open[i], "already_closed", object=name)
    # A body in the doorway keeps a door open.
    if i >= entities.object_count:
        (ax, ay), (bx, by) = house.layout.doors[i - entities.object_count]
        for other in house.actors.values():
            distance = point_segment_distance(other.x, other.y, ax, ay, bx, by)
            blocker = "you" if other is me else other.name
            require(distance >= other.body.radius, "blocked", object=name, by=blocker)
    entities.set_open(i, False)
    # A running heater starts its work once it is closed.
    run_appliance(entities, i)
    return {"object": name, "kind": "receptacle" if entities.encloses[i] else "object"}


def toggle(house: House, me: Actor, name: str, on: bool) -> Details:
    """Switch an object, and the objects it controls, on or off. What is switched on
    works at once on its contents.
    """
    i = check_reach(house, me, find_object(house, me, name))
    entities = house.entities
    require(entities.has_affordance(i, "toggleable"), "not_toggleable", object=name)
    require(entities.on[i] != on, "already_on" if on else "already_off", object=name)
    # A heater that stands open refuses to start.
    require(not (on and entities.is_ajar(i)), "must_be_closed", object=name)
    # A switch drives what it controls, as a knob its burner.
    for k in (i, *entities.controls[i]):
        entities.set_state(k, "on", on)
        if on:
            run_appliance(entities, k)
    return {"object": name}


def slice_(house: House, me: Actor, name: str) -> Details:
    """Slice an object within reach with a held knife."""
    i = check_reach(house, me, find_object(house, me, name))
    entities = house.entities
    require(entities.has_affordance(i, "sliceable"), "not_sliceable", object=name)
    require(not entities.sliced[i], "already_sliced", object=name)
    # Any held knife will do; the first is named.
    knives = [k for k in me.hands if entities.has_affordance(k, "slicer")]
    require(knives, "wrong_tool", object=name, tool="")
    entities.set_state(i, "sliced", True)
    # In AI2-THOR slices are new objects: ALFRED does not count what happened to the whole one.
    for treatment in ("heated", "cooled", "cleaned"):
        entities.set_state(i, treatment, False)
    return {"object": name, "tool": house.name(me, knives[0])}


LOW_LEVEL_ACTS: dict[str, Callable[..., Details]] = {
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
UNNOTICED = frozenset(("turn_left", "turn_right", "wait"))
"""Verbs that change no other actor's view."""


def do_low_level(house: House, me: Actor, verb: str, *arguments: str) -> Details:
    """Do a low-level action, count it, and update the views.

    ``verb`` must be one of ``LOW_LEVEL_ACTS``. Raises ``Fail`` before anything has
    changed.
    """
    details = LOW_LEVEL_ACTS[verb](house, me, *arguments)
    me.low_level += 1
    # Most acts may show something to others; turning and waiting do not.
    house.refresh(me if verb in UNNOTICED else None)
    return details


def find_object(house: House, me: Actor, name: str) -> int:
    """Return the index of the object with that name for an actor.

    Raises ``Fail("no_such_object")`` if there is none, and for the actor itself.
    """
    i = me.names.index.get(name)
    # An actor cannot act on itself.
    if i is None or i == me.number:
        raise Fail("no_such_object", object=name)
    return i


def find_held(house: House, me: Actor, name: str) -> int:
    """Return the index of the held object with that name. Raises ``Fail("not_holding")``."""
    i = find_object(house, me, name)
    require(i in me.hands, "not_holding", object=name)
    return i


def check_reach(house: House, me: Actor, i: int) -> int:
    """Return the object's index if it is in view and within reach.

    Held objects are, unless they are in a closed container. Raises ``Fail`` with
    ``closed``, ``not_visible`` or ``too_far``.
    """
    entities = house.entities
    name = house.name(me, i)
    # Things in a held, closed container are in no one's reach.
    if house.holder(i) == me.number:
        # The last holder is the actor itself.
        lid = next((k for k in entities.holders(i)[:-1] if entities.encloses[k]), None)
        if lid is not None and not entities.open[lid]:
            raise Fail("closed", object=name, receptacle=house.name(me, lid))
        return i
    if i not in me.view.entities:
        # The actor saw it in a receptacle that is closed now: the better message.
        last_box = int(me.last_box[i])
        if me.discovered[i] and last_box != i and not entities.open[last_box]:
            raise Fail("closed", object=name, receptacle=house.name(me, last_box))
        raise Fail("not_visible", object=name)
    distance = house.distance(me, i)
    reach = me.body.manipulation_distance
    far = {"distance": round(distance, 2), "reach": reach}
    require(distance <= reach, "too_far", object=name, **far)
    return i


def _pan(house: House, me: Actor, side: int) -> Details:
    """Turn by a small angle, or step aside if the body has none; ``side`` is -1 for the left."""
    pan = me.body.pan_degrees
    if pan:
        return _turn(me, side * pan)
    # Bodies that turn by quarters only pan by stepping aside.
    return _step(house, me, absolute(me.heading + side * 90.0))


def _turn(me: Actor, degrees: float) -> Details:
    """Turn in place by degrees, positive to the right."""
    # Six digits, so that sums of small turns do not drift.
    me.heading = absolute(round(me.heading + degrees, 6))
    return {"heading": me.heading}


def _step(house: House, me: Actor, heading: float) -> Details:
    """Move by one step in a direction. Raises ``Fail`` with the obstacle if there is one."""
    east, north = unit(heading)
    # Nine digits, as ``House.stand`` keeps.
    x = round(me.x + me.body.step * east, 9)
    y = round(me.y + me.body.step * north, 9)
    closed = house.entities.closed_doors.tolist()
    line = ((me.x, me.y), (x, y))
    obstacle = first_obstacle(
        house.layout,
        me.body.radius,
        line,
        closed,
        house.others(me),
    )
    if obstacle is not None:
        kind, number = obstacle
        if kind == "door":  # doors come after the objects
            number += house.entities.object_count
        # A wall and the edge of the house have no name of their own.
        unnamed = {"wall": "a wall", "edge": "the edge of the house"}.get(kind)
        raise Fail("blocked", by=unnamed or house.name(me, number))
    house.stand(me, x, y)
    return {"distance": me.body.step}


class SkillRun:
    """A running sequence of low-level actions; ``done_actions`` lists them as text.

    Steps raise ``Fail`` and leave the house as it is then: :func:`run_skill` undoes
    them all.
    """

    def __init__(self, house: House, me: Actor) -> None:
        self.house = house
        self.me = me
        self.done_actions: list[str] = []

    def do(self, verb: str, *arguments: str) -> Details:
        """Do a low-level action and list it. Raises ``Fail``."""
        details = do_low_level(self.house, self.me, verb, *arguments)
        text = verb
        if arguments:
            text = f"{verb}[{', '.join(arguments)}]"
        self.done_actions.append(text)
        return details

    def enter_room(self, name: str) -> Room | None:
        """Walk to the middle of the named room; None if there is no such room."""
        room = next((r for r in self.house.layout.scene.rooms if r.name == name), None)
        if room is not None:
            self.walk(room)
        return room

    def go_to(self, i: int) -> None:
        """Walk to a position from which an object should be visible and within reach.

        The actor plans with where it last saw the object, so it may not be there.
        """
        house = self.house
        me = self.me
        # The body only walks if it has to: an object in reach is used from where it
        # stands.
        box = believed_box(house, me, i)
        is_seen = i in me.view.entities or house.holder(i) == me.number
        if not is_seen or house.distance(me, i) > me.body.manipulation_distance:
            self.walk(i, box)

    def walk(
        self,
        target: int | Room,
        box: Box | None = None,
        aim: Point | None = None,
    ) -> None:
        """Walk until an object and a point on it are within reach, or into a room.

        ``box`` and ``aim`` as in :meth:`Trip.nearest_goal`. Raises ``Fail`` without a
        path.
        """
        trip = Trip(self.house, self.me)
        # The whole plan is made before the first step. If the object has moved, a
        # motion fails and all are undone.
        for verb in trip.verbs(*trip.nearest_goal(target, box, aim)):
            self.do(verb)

    def go_open(self, i: int) -> None:
        """Walk to an object, see it, and open it if it is closed."""
        self.go_to(i)
        is_seen = i in self.me.view.entities or self.house.holder(i) == self.me.number
        require(is_seen, "not_visible", object=self.house.name(self.me, i))
        self.open_closed(i)

    def open_closed(self, i: int) -> None:
        """Open an object if it encloses and is closed."""
        if self.house.entities.closed(i):
            self.do("open", self.me.names.of[i])


def goto(script: SkillRun, place: str) -> Details:
    """Walk to an object, a door, an actor or a known room, and face it."""
    if script.enter_room(place) is None:
        script.go_to(find_object(script.house, script.me, place))
    return {"place": place}


def treat_object(script: SkillRun, name: str, tool: str, kind: str) -> Details:
    """Heat, cool or wash a held object: go, put it in or on, run the appliance, take it back.

    ``kind`` is the affordance of the appliance. Its switch must have been seen; a
    cooler is only closed.
    """
    house = script.house
    me = script.me
    entities = script.house.entities
    find_held(house, me, name)
    i = find_object(house, me, tool)
    require(entities.has_affordance(i, kind), "wrong_tool", object=name, tool=tool)
    switches: Sequence[int] = entities.switches.get(i, ())
    # An appliance with a switch of its own needs no other.
    if entities.has_affordance(i, "toggleable"):
        switches = [i]
    usable = [k for k in switches if k == i or me.discovered[k]]
    # A fridge cools without a switch; a heater needs one that the actor knows.
    require(kind == "cooler" or usable, "no_switch", object=name, tool=tool)

    # In: put it there, and close what has a door.
    script.go_open(i)
    script.do("put", name, tool)
    if entities.encloses[i]:
        script.do("close", tool)

    # On and off again. Something that runs already only has to be turned off.
    if kind != "cooler":
        switch = usable[0]
        script.go_to(switch)
        switch_name = house.name(me, switch)
        if not entities.on[switch]:
            script.do("toggle_on", switch_name)
        script.do("toggle_off", switch_name)
        # The switch may be elsewhere: back to the appliance.
        script.go_to(i)

    # Out again.
    script.open_closed(i)
    script.do("pick_up", name)
    return {"object": name, "tool": tool}


def go_explore(script: SkillRun, name: str) -> Details:
    """Walk to the middle of a room, turn around once, and list the objects seen.

    ``seen`` are names of objects and doors of the room, in order of first sight; ``places`` maps
    each of those that is in or on another one to the preposition and that one's name; ``closed``
    and ``opened`` are those that can be opened. Fails with ``no_such_room``.
    """
    house = script.house
    me = script.me
    entities = script.house.entities
    require(script.enter_room(name), "no_such_room", room=name)
    # By order of first sight, each once.
    observed = dict.fromkeys(me.view.entities)
    # Four quarter turns show the whole room and leave the heading as it was.
    for _ in range(4):
        script.do("turn_right")
        observed |= dict.fromkeys(me.view.entities)

    def is_in_room(i: int) -> bool:
        """True for objects in the room, and for its doors."""
        # A door belongs to both of its rooms.
        if entities.object_count <= i < entities.first_actor:
            return name in house.layout.scene.doors[i - entities.object_count].rooms
        return house.layout.room_at(*entities.point(i)) == name

    names = {i: house.name(me, i) for i in observed if is_in_room(i)}
    openable = [i for i in names if entities.openable[i]]
    places = {}
    for i, object_name in names.items():
        holder = int(entities.inside[i])
        # The floor and the hands of actors are no places.
        if 0 <= holder < entities.object_count:
            preposition = entities.specs[holder].receptacle
            places[object_name] = [preposition, house.name(me, holder)]
    return {
        "room": name,
        "seen": list(names.values()),
        "places": places,
        "closed": [names[i] for i in openable if not entities.open[i]],
        "opened": [names[i] for i in openable if entities.open[i]],
    }


def go_check(script: SkillRun, name: str) -> Details:
    """Walk to a receptacle, open it if it is closed, and list its contents."""
    house = script.house
    me = script.me
    entities = script.house.entities
    i = find_object(house, me, name)
    require(entities.is_receptacle(i), "not_receptacle", receptacle=name, object=name)
    script.go_open(i)
    contents = [
        house.name(me, k) for k in entities.contents(i) if k in me.view.entities
    ]
    return {
        "receptacle": name,
        "preposition": entities.specs[i].receptacle,
        "contents": contents,
    }


def go_grab(script: SkillRun, name: str) -> Details:
    """Walk to an object and pick it up."""
    i = find_object(script.house, script.me, name)
    require(i not in script.me.hands, "already_held", object=name)
    # Checked before the walk: a full hand is a mistake of the plan, not of the route.
    _check_pick_up(script.house, script.me, i)
    script.go_to(i)
    script.do("pick_up", name)
    return {"object": name}


def go_put(script: SkillRun, receptacle: str, spot: str = "") -> Details:
    """Walk to a receptacle, open it if closed, and put the most recently taken object in or on it,
    optionally at a spot."""
    house = script.house
    me = script.me
    require(me.hands, "hands_empty", receptacle=receptacle)
    # The last object taken, as LangSuitE's "put" has no other.
    name = house.name(me, me.hands[-1])
    i = find_object(house, me, receptacle)
    both = {"object": name, "receptacle": receptacle}
    require(house.entities.is_receptacle(i), "not_receptacle", **both)
    script.go_open(i)
    if not spot:
        return script.do("put", name, receptacle)
    # With an aim, the pose has no effect on where it lands.
    aim = _aim(house, i, spot)
    x, y, _ = landing_spot(house, me, me.hands[-1], i, (0.0, 0.0, 0.0), aim)
    # Walk only if the point is out of reach from here.
    if math.dist((me.x, me.y), (x, y)) > me.body.manipulation_distance:
        script.walk(i, aim=(x, y))
    return script.do("put", name, receptacle, spot)


HIGH_LEVEL_ACTS: dict[str, Callable[..., Details]] = {
    "goto": goto,
    "heat": lambda script, name, tool: treat_object(script, name, tool, "heater"),
    "cool": lambda script, name, tool: treat_object(script, name, tool, "cooler"),
    "clean": lambda script, name, tool: treat_object(script, name, tool, "cleaner"),
    "go_explore": go_explore,
    "go_check": go_check,
    "go_grab": go_grab,
    "go_put": go_put,
}


def run_skill(house: House, me: Actor, verb: str, *arguments: str) -> Details:
    """Do a high-level action atomically: all motions of it, or none.

    The ``low_level`` of its details lists the motions. Raises ``Fail`` with the cause
    of the first motion that failed.
    """
    script = SkillRun(house, me)
    # All or nothing: a plan that fails halfway leaves the house as it was.
    details = house.attempt(lambda: HIGH_LEVEL_ACTS[verb](script, *arguments))
    return {**details, "low_level": script.done_actions}
