"""Houses in words: what an actor sees, and what came of its last action.

Templates only: ``SENTENCES`` for what came of an action, ``STATES`` for what shows on a thing (the
word for a closed drawer), ``describe`` for a whole observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wayword.core.action import ActionSpace
from wayword.core.world import Feedback
from wayword.verbalize.generic import COMPASS, SelfState, Verbalizer
from wayword.worlds.household.observation import (
    HeldObject,
    HouseholdObservation,
    SeenDoor,
    SeenObject,
)
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import UNSEEN_DOOR, HouseholdActions

SIDES = {"left": "On your left", "middle": "Ahead", "right": "On your right"}

SENTENCES: dict[str, str] = {
    "ok.move_ahead": "You moved ahead {distance:g} m.",
    "ok.turn_left": "You turned left.",
    "ok.turn_right": "You turned right.",
    "ok.pan_left": "You turned a little to the left.",
    "ok.pan_right": "You turned a little to the right.",
    "ok.wait": "You waited.",
    "ok.sidestep_left": "You stepped {distance:g} m to the left.",
    "ok.sidestep_right": "You stepped {distance:g} m to the right.",
    "ok.pick_up": "You picked up {object}.",
    "ok.drop": "You dropped {object}.",
    "ok.put": "You put {object} {preposition} {receptacle}.",
    "ok.open": "You opened {object}.",
    "ok.open_receptacle": "You opened {object}. In it: {contents}.",
    "ok.close": "You closed {object}.",
    "ok.toggle_on": "You switched on {object}.",
    "ok.toggle_off": "You switched off {object}.",
    "ok.slice": "You sliced {object} with {tool}.",
    "ok.stop": "You stopped.",
    "ok.stop_answer": "You stopped and answered: {answer}",
    "ok.goto": "You went to {place}.",
    "ok.heat": "You heated {object} with {tool}.",
    "ok.cool": "You cooled {object} with {tool}.",
    "ok.clean": "You cleaned {object} with {tool}.",
    "ok.go_explore": "You explored the {room}. There you saw: {seen}. Of these, closed: {closed}.",
    "ok.go_check": "You checked {receptacle}. {Preposition} it: {contents}.",
    "ok.go_grab": "You went to {object} and picked it up.",
    "ok.go_put": "You went to {receptacle} and put {object} {preposition} it.",
    "ok.chat": "You told {to}.",
    "ok.ask": "You were answered: {answer}",
    "blocked": "The way is blocked by {by}.",
    "blocked.close": "{object} cannot close: the doorway is taken by {by}.",
    "no_such_object": "You know of no {object}.",
    "no_such_room": "There is no room called {room}.",
    "not_visible": "You do not see {object} here.",
    "closed": "{receptacle} is closed.",
    "too_far": "{object} is too far away: {distance:g} m, and you reach {reach:g} m.",
    "hands_full": "Your hands are full: you hold {holding}.",
    "hands_empty": "Your hands are empty.",
    "not_holding": "You do not hold {object}.",
    "already_held": "You hold {object} already.",
    "not_pickupable": "{object} cannot be picked up.",
    "not_receptacle": "{receptacle} cannot hold things.",
    "full": "{receptacle} is full.",
    "does_not_fit": "{object} does not go there: {receptacle} takes only these: {takes}.",
    "inside_itself": "{object} cannot go into itself.",
    "not_openable": "{object} cannot be opened or closed.",
    "already_open": "{object} is open already.",
    "already_closed": "{object} is closed already.",
    "running": "{object} cannot be opened while it is on.",
    "not_toggleable": "{object} cannot be switched on or off.",
    "already_on": "{object} is on already.",
    "already_off": "{object} is off already.",
    "must_be_closed": "{object} must be closed before it can be switched on.",
    "not_sliceable": "{object} cannot be sliced.",
    "already_sliced": "{object} is sliced already.",
    "wrong_tool.slice": "You hold nothing that cuts {object}.",
    "wrong_tool": "{tool} does not do that to {object}.",
    "no_switch": "You have not seen what switches {tool} on: find it first.",
    "no_path": "There is no way to {place}: something is in the way.",
    "no_path.doors": "There is no way to {place}. Closed on the way: {doors}.",
    "nobody_listens": "There is nobody to hear you.",
    "nobody_answers": "Nobody answers.",
    "rejected": "That was no action: {reason}",
}
"""Status, or ``status.verb`` where a verb has its own, -> sentence."""


STATES: dict[str, str] = {
    state: state
    for state in (
        "open", "closed", "on", "off", "sliced", "cooked", "boiled", "dirty", "filled", "coffee",
        "hot", "cold",
    )
}  # fmt: skip
"""State that shows (``Things.states``, or of a door) -> its word: ``drawer_1 (closed, 1.2 m)``."""


def describe(view: HouseholdObservation) -> str:
    """An observation in words: where, holding, what is where, what was said; a line each."""
    return f"{_standing(view)}\n{_seen(view)}"


def _standing(view: HouseholdObservation) -> str:
    here = f"You are in the {spoken(view.room)}, facing {facing(view.heading)}."
    return f"{here}\nYou hold {listed([_held(h) for h in view.holding])}."


def _seen(view: HouseholdObservation) -> str:
    found: dict[str, list[str]] = {"left": [], "middle": [], "right": []}
    for door in view.doors:
        found[door.direction].append(_door(door, view.room))
    for other in view.others:
        carries = f"holds {listed(other.holding)}, " if other.holding else ""
        found[other.direction].append(f"{other.name} ({carries}{other.distance:.1f} m)")
    for thing in view.objects:
        found[thing.direction].append(_object(thing))
    seen = [f"{SIDES[side]}: {', '.join(names)}." for side, names in found.items() if names]
    lines = seen or ["You see nothing."]
    lines += [f"{message.sender} says: {message.text}" for message in view.messages]
    return "\n".join(lines)


def feedback(told: Feedback) -> str:
    """What came of an action, in a sentence. A status without one reads as itself."""
    details = told.details
    template = _template(told.status, details)
    if template is None:
        return told.status
    words: dict[str, Any] = {
        key: listed(value) if isinstance(value, (list, tuple)) else value
        for key, value in details.items()
    }
    if UNSEEN_DOOR in (doors := details.get("doors", ())):
        known = ["a door that you have not seen" if d == UNSEEN_DOOR else d for d in doors]
        words["doors"] = listed(known)
    if "room" in words:
        words["room"] = spoken(words["room"])
    words["Preposition"] = str(details.get("preposition", "in")).capitalize()
    return template.format_map(words)


HANDS = frozenset(("pick_up", "put", "go_grab", "go_put"))
"""Verbs of a body that can hold something."""


def briefing(space: ActionSpace) -> dict[str, str]:
    """What a body is able to see, reach and hold, in words that fill the rules and the list of
    actions: ``view``, ``touch``, ``names``, ``step``, ``aside``, ``rooms``."""
    known = space if isinstance(space, HouseholdActions) else None
    body = known.body if known else Body()
    angle = f"{body.view_angle:.0f}"
    return {
        "view": (
            f"Your view is {angle}° wide, centered on the way you face, and "
            f"{body.view_distance:g} m deep"
        ),
        "touch": _touch(body),
        "names": NAMED if known and known.fixed_names else AS_SEEN,
        "step": f"{body.step:g} m",
        "aside": f"turn by {body.pan_degrees:g} degrees" if body.pan_degrees else "step aside",
        "aside_by": "" if body.pan_degrees else f" by {body.step:g} m, facing the same way,",
        "rooms": ", ".join(known.rooms) if known else "as you see them named",
    }


NAMED = "Everything has a fixed name, such as mug_1, the same for everybody; use it exactly."
AS_SEEN = (
    "Names such as mug_1 are given in the order in which things are first seen; use them exactly."
)


def _touch(body: Body) -> str:
    floats = " Walls and furniture do not stop you." if body.radius == 0 else ""
    if HANDS.isdisjoint(body.actions):
        return f"You have no hands: you look and move only.{floats}"
    one = body.inventory_capacity == 1
    things = "one thing" if one else f"{body.inventory_capacity} things"
    return (
        f"You can touch only what you see and what is at most {body.manipulation_distance:g} m "
        f"away, and hold {things} at a time, with what is in {'it' if one else 'them'}.{floats}"
    )


def facing(heading: float) -> str:
    """``north`` for 0, ``30°`` for what lies between the eight main directions."""
    return COMPASS[int(heading // 45)] if heading % 45 == 0 else f"{heading:g}°"


def spoken(room: str) -> str:
    """A room's name as it is said."""
    return room.replace("_", " ")


def listed(names: Sequence[str]) -> str:
    """``a, b and c``; ``nothing`` for none."""
    if not names:
        return "nothing"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _template(status: str, details: Mapping[str, Any]) -> str | None:
    verb = str(details.get("action", ""))
    if status == "ok":
        if verb in ("pan_left", "pan_right") and "distance" in details:
            verb = verb.replace("pan", "sidestep")
        elif verb == "open" and details.get("kind") == "receptacle":
            verb = "open_receptacle"
        elif verb == "stop" and details.get("answer"):
            verb = "stop_answer"
    elif status == "no_path" and details.get("doors"):
        verb = "doors"
    return SENTENCES.get(f"{status}.{verb}") or SENTENCES.get(status)


def _object(thing: SeenObject) -> str:
    notes = "".join([f"{STATES[state]}, " for state in thing.attributes])
    where = f"{thing.preposition} {thing.container}, " if thing.container else ""
    return f"{thing.name} ({notes}{where}{thing.distance:.1f} m)"


def _door(door: SeenDoor, room: str) -> str:
    state = STATES["open" if door.open else "closed"]
    beyond = [spoken(other) for other in door.rooms if other != room]
    to = f"to the {' and the '.join(beyond)}, " if beyond else ""
    return f"{door.name} ({state}, {to}{door.distance:.1f} m)"


def _held(thing: HeldObject) -> str:
    notes = [STATES[state] for state in thing.attributes]
    if thing.contents:
        notes.append(f"with {listed(thing.contents)}")
    return f"{thing.name} ({', '.join(notes)})" if notes else thing.name


def _own(seen: HouseholdObservation) -> tuple[SelfState, str]:
    own = SelfState(spoken(seen.room), seen.heading, tuple(held.name for held in seen.holding))
    return own, _standing(seen)


verbalizer = Verbalizer("household", _own, lambda seen, _: _seen(seen), feedback, briefing)
