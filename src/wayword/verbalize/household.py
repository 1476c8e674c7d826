"""Houses in words: observations, and results of actions.

Templates only: ``sentences.toml`` for results, ``describe`` for a full observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wayword.core.action import ActionSpace
from wayword.core.world import Feedback
from wayword.verbalize.generic import COMPASS, SelfState, Verbalizer, sentences
from wayword.worlds.household.observation import HouseholdObservation
from wayword.worlds.household.route import HAND_REACH
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import UNSEEN_DOOR, HouseholdActions

SIDES = {"left": "On your left", "middle": "Ahead", "right": "On your right"}


def describe(view: HouseholdObservation) -> str:
    """Return an observation in words: place, hands, objects in view, messages."""
    return f"{_state(view)[1]}\n{_view_text(view)}"


def spot_words(spot: tuple[float, float]) -> str:
    """Return a spot on furniture in words, from metres east and north of the middle.

    >>> spot_words((-0.8, 0.2)), spot_words((0.0, 0.04))
    ('0.8 m west and 0.2 m north of the middle', 'in the middle')
    """
    sides = ("east" if spot[0] > 0 else "west", "north" if spot[1] > 0 else "south")
    parts = [f"{abs(d):.1f} m {side}" for d, side in zip(spot, sides, strict=True)]
    parts = [part for part in parts if not part.startswith("0.0")]
    return f"{' and '.join(parts)} of the middle" if parts else "in the middle"


def _view_text(view: HouseholdObservation) -> str:
    by_side: dict[str, list[str]] = {side: [] for side in SIDES}
    for door in view.doors:
        state = "open" if door.open else "closed"
        beyond = " and ".join(
            definite_room(room) for room in door.rooms if room != view.room
        )
        to = f"to {beyond}, " if beyond else ""
        by_side[door.direction].append(
            f"{door.name} ({state}, {to}{door.distance:.1f} m)"
        )
    for other in view.others:
        carried = f"holds {join_names(other.holding)}, " if other.holding else ""
        by_side[other.direction].append(
            f"{other.name} ({carried}{other.distance:.1f} m)"
        )
    for seen in view.objects:
        notes = "".join(f"{state}, " for state in seen.attributes)
        where = f"{seen.preposition} {seen.container}, " if seen.container else ""
        where += f"{spot_words(seen.spot)}, " if seen.container and seen.spot else ""
        by_side[seen.direction].append(
            f"{seen.name} ({notes}{where}{seen.distance:.1f} m)"
        )
    sides = [
        f"{SIDES[side]}: {', '.join(labels)}."
        for side, labels in by_side.items()
        if labels
    ]
    lines = sides or ["You see nothing."]
    lines += [f"{message.sender} says: {message.text}" for message in view.messages]
    return "\n".join(lines)


def feedback(result: Feedback) -> str:
    """Return the result of an action as a sentence; an unknown status is returned unchanged."""
    status, details, templates = result.status, result.details, sentences("household")
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
    slots: dict[str, Any] = {
        key: join_names(value) if isinstance(value, (list, tuple)) else value
        for key, value in details.items()
        if key not in ("spot", "places")
    }
    if places := details.get("places"):
        where = {name: f"{name} ({' '.join(place)})" for name, place in places.items()}
        slots["seen"] = join_names([where.get(name, name) for name in details["seen"]])
    if UNSEEN_DOOR in (doors := details.get("doors", ())):
        named = [
            "a door that you have not seen" if d == UNSEEN_DOOR else d for d in doors
        ]
        slots["doors"] = join_names(named)
    if "room" in slots:
        slots["room"] = spoken_room(slots["room"])
        slots["the_room"] = definite_room(slots["room"])
    slots["Preposition"] = str(details.get("preposition", "in")).capitalize()
    if spot := details.get("spot"):  # as the actor wrote it, or where it is
        slots["spot"] = spot if isinstance(spot, str) else spot_words(spot)
        verb = f"{verb}_spot"
    template = templates.get(f"{status}.{verb}") or templates.get(status)
    return template.format_map(slots) if template else status


def briefing(space: ActionSpace) -> dict[str, str]:
    """Return the slots of the rules and the list of actions: names, rooms, and the limits of a
    body's view, reach and hands."""
    household = space if isinstance(space, HouseholdActions) else None
    body = household.body if household else Body()
    name_rule = (
        "Names such as mug_1 are given in the order in which objects are first seen"
    )
    if household and household.fixed_names:
        name_rule = (
            "Every object has a fixed name, such as mug_1, the same for all of you; "
            "use it exactly."
        )
    elif household and household.shared_names:
        name_rule += (
            " by any of you, and are the same for all of you; use them exactly."
        )
    else:
        name_rule += "; use them exactly."
    capacity = body.inventory_capacity
    held, pronoun = (
        ("one object", "it") if capacity == 1 else (f"{capacity} objects", "them")
    )
    touch_rule = (
        f"You can touch only what you see and what is at most {body.manipulation_distance:g} m "
        f"away, and hold {held} at a time, with what is in {pronoun}."
    )
    if household and household.has_spots:
        touch_rule += (
            f" put and go_put lay an object {HAND_REACH:g} m past the edge nearest to you, "
            "straight ahead, or at the spot that you add: put[mug_1, desk_1, 0.8 m west and 0.2 m "
            "north]; go_put walks to where you reach it. Spots on furniture, given in brackets and "
            "in the task, are meters from the middle of the furniture."
        )
    if {"pick_up", "put", "go_grab", "go_put"}.isdisjoint(body.actions):
        touch_rule = "You have no hands: you look and move only."
    door_rule = (
        "A closed door blocks the path, also of actions that walk several steps: open it first; "
        "a closed container hides what is in it until you open it."
    )
    if body.radius == 0:
        door_rule = (
            "Walls, furniture and closed doors do not stop you; a closed container hides what is "
            "in it until it is opened."
        )
    return {
        "view": (
            f"Your view is {body.view_angle:.0f}° wide, centered on the direction you face, and "
            f"{body.view_distance:g} m deep"
        ),
        "touch": touch_rule,
        "doors": door_rule,
        "names": name_rule,
        "step": f"{body.step:g} m",
        "aside": f"turn by {body.pan_degrees:g} degrees"
        if body.pan_degrees
        else "step aside",
        "aside_by": ""
        if body.pan_degrees
        else f" by {body.step:g} m, facing the same way,",
        "rooms": ", ".join(household.rooms) if household else "as you see them named",
        "view_steps": f"{body.view_distance / body.step:.0f}",
        "side_degrees": f"{body.view_angle / 2:g}",
        "capacity": str(capacity),
    }


def facing_words(heading: float) -> str:
    """Return a heading in words: ``north`` for 0, ``30°`` between the eight compass directions."""
    return COMPASS[int(heading // 45)] if heading % 45 == 0 else f"{heading:g}°"


def spoken_room(room: str) -> str:
    """Return a room's name with blanks for underscores."""
    return room.replace("_", " ")


def definite_room(room: str) -> str:
    """Return a room's name with its article: ``the living room``, but ``bedroom 2``."""
    words = spoken_room(room)
    return words if words[-1:].isdigit() else f"the {words}"


def join_names(names: Sequence[str]) -> str:
    """Return names as a list in words: ``a, b and c``; ``nothing`` for none."""
    return (
        " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        or "nothing"
    )


def _state(view: HouseholdObservation) -> tuple[SelfState, str]:
    held = []
    for item in view.holding:
        notes = list(item.attributes)
        notes += [f"with {join_names(item.contents)}"] if item.contents else []
        held.append(f"{item.name} ({', '.join(notes)})" if notes else item.name)
    place = (
        f"You are in {definite_room(view.room)}, facing {facing_words(view.heading)}."
    )
    names = tuple(item.name for item in view.holding)
    state = SelfState(spoken_room(view.room), view.heading, names)
    return state, f"{place}\nYou hold {join_names(held)}."


verbalizer = Verbalizer(
    "household", _state, lambda view, _: _view_text(view), feedback, briefing
)
