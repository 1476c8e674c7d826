"""Houses in words: observations, and results of actions.

Templates only: ``sentences.toml`` for results, ``describe`` for a full observation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wayword.core.action import ActionSpace
from wayword.core.world import Feedback
from wayword.verbalize.generic import COMPASS, SelfState, Verbalizer, sentences
from wayword.worlds.household.observation import (
    HouseholdObservation,
    SeenDoor,
    SeenObject,
)
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


class KnownObjects:
    """The objects that one actor's messages have described, and how."""

    def __init__(self) -> None:
        self._states: dict[str, tuple[str, ...]] = {}
        self._holders: dict[str, tuple[str, str]] = {}  # preposition and furniture
        self._own: tuple[object, ...] = ()

    def hear(self, result: Feedback) -> None:
        """Take in the objects that a sentence on an action's result names."""
        details = result.details
        if not result.ok:
            return
        for name in details.get("seen", ()):
            # doors are described with the rooms that they lead to
            if not name.startswith("door_"):
                is_closed = name in details.get("closed", ())
                self._states.setdefault(name, ("closed",) if is_closed else ())
        for name, (preposition, holder) in details.get("places", {}).items():
            self._holders[name] = (preposition, holder)
        if details.get("action") in ("go_check", "open"):
            holder = str(details.get("receptacle") or details.get("object"))
            for name in details.get("contents", ()):
                self._states.setdefault(name, ())
                self._holders[name] = (str(details.get("preposition", "in")), holder)

    def notice(self, seen: SeenObject) -> bool:
        """Take in an object in view; return False if it is as it was described."""
        state = (*seen.attributes, *map(str, seen.spot or ()))
        is_same = self._states.get(seen.name) == state
        # Where its furniture is out of sight, an object is taken to be still there.
        if seen.container:
            holder = (seen.preposition, seen.container)
            is_same = is_same and self._holders.get(seen.name) == holder
            self._holders[seen.name] = holder
        self._states[seen.name] = state
        return not is_same

    def notice_self(self, *own: object) -> bool:
        """Take in the actor's own state; return False if it is as it was described."""
        before = self._own
        self._own = own
        return before != own

    def notice_door(self, door: SeenDoor) -> bool:
        """Take in a door in view; return False if it is as it was described."""
        state = ("open" if door.open else "closed",)
        is_same = self._states.get(door.name) == state
        self._states[door.name] = state
        return not is_same

    def forget(self, name: str) -> None:
        """Forget an object that was taken: it is described again where it is put."""
        self._states.pop(name, None)
        self._holders.pop(name, None)


def _changes_text(view: HouseholdObservation, known: KnownObjects) -> str:
    for held in view.holding:
        known.forget(held.name)
    return _view_text(view, known)


def _view_text(view: HouseholdObservation, known: KnownObjects | None = None) -> str:
    """Return what is in view, by thirds of the view. Objects on the same furniture are grouped, so
    that its name is said once. Objects that are ``known`` and unchanged are left out, and so are
    distances of objects on furniture, for actors that find their own way."""
    alone: dict[str, list[str]] = {side: [] for side in SIDES}
    on_furniture: dict[str, dict[str, list[str]]] = {side: {} for side in SIDES}
    for door in view.doors:
        if known is None or known.notice_door(door):
            alone[door.direction].append(_door_text(door, view.room))
    for other in view.others:
        carried = f"holds {join_names(other.holding)}, " if other.holding else ""
        alone[other.direction].append(f"{other.name} ({carried}{other.distance:.1f} m)")
    for seen in view.objects:
        if known is not None and not known.notice(seen):
            continue
        notes = list(seen.attributes)
        if seen.container and seen.spot:
            notes.append(spot_words(seen.spot))
        if known is None or not seen.container:
            notes.append(f"{seen.distance:.1f} m")
        label = f"{seen.name} ({', '.join(notes)})" if notes else seen.name
        if seen.container:
            holder = f"{seen.preposition} {seen.container}"
            on_furniture[seen.direction].setdefault(holder, []).append(label)
        else:
            alone[seen.direction].append(label)
    lines = []
    for side, title in SIDES.items():
        parts = [", ".join(alone[side])] if alone[side] else []
        parts += [
            f"{to}: {', '.join(names)}" for to, names in on_furniture[side].items()
        ]
        if parts:
            lines.append(f"{title}: {'; '.join(parts)}.")
    if not lines:
        lines = ["You see no objects." if known is None else "You see nothing new."]
    lines += [f"{message.sender} says: {message.text}" for message in view.messages]
    return "\n".join(lines)


def _door_text(door: SeenDoor, room: str) -> str:
    state = "open" if door.open else "closed"
    beyond = " and ".join(definite_room(other) for other in door.rooms if other != room)
    to = f"to {beyond}, " if beyond else ""
    return f"{door.name} ({state}, {to}{door.distance:.1f} m)"


def _explored(names: Sequence[str], places: Mapping[str, tuple[str, str]]) -> str:
    """Return objects seen in a room, grouped by furniture: ``desk_1; on desk_1: mug_1, cd_1``."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(" ".join(places.get(name, ())), []).append(name)
    alone = groups.pop("", [])
    parts = [", ".join(alone)] if alone else []
    parts += [f"{place}: {', '.join(those)}" for place, those in groups.items()]
    return "; ".join(parts) or "nothing"


def feedback(result: Feedback) -> str:
    """Return the result of an action as a sentence; an unknown status is returned unchanged."""
    status = result.status
    details = result.details
    templates = sentences("household")
    verb = str(details.get("action", ""))
    if status == "ok":
        if verb in ("pan_left", "pan_right") and "distance" in details:
            verb = verb.replace("pan", "sidestep")
        elif verb == "open" and details.get("kind") == "receptacle":
            verb = "open_receptacle"
        elif verb == "stop" and details.get("answer"):
            verb = "stop_answer"
        elif verb == "go_explore" and not details.get("closed"):
            verb = "go_explore_open"
    elif status == "no_path" and details.get("doors"):
        verb = "doors"
    slots: dict[str, Any] = {
        key: join_names(value) if isinstance(value, (list, tuple)) else value
        for key, value in details.items()
        if key not in ("spot", "places")
    }
    if "seen" in details:
        slots["seen"] = _explored(details["seen"], details.get("places", {}))
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
        "Objects are named, as in mug_1, in the order in which they are first seen"
    )
    if household and household.fixed_names:
        name_rule = (
            "Every object has a fixed name, such as mug_1, the same for all of you; "
            "use it exactly."
        )
    elif household and household.shared_names:
        name_rule += " by any of you; use these names exactly."
    else:
        name_rule += "; use these names exactly."
    capacity = body.inventory_capacity
    held = "one object" if capacity == 1 else f"{capacity} objects"
    touch_rule = (
        f"You can touch what you see within {body.manipulation_distance:g} m, and hold {held} at a "
        "time, with the contents."
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
        "A closed door blocks the path, also of actions that walk several steps: "
        "open it first."
    )
    if body.radius == 0:
        door_rule = "Walls, furniture and closed doors do not stop you."
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
        else f" by {body.step:g} m, facing the same way",
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
        f"You are in {definite_room(view.room)}, facing {facing_words(view.heading)}"
    )
    names = tuple(item.name for item in view.holding)
    state = SelfState(spoken_room(view.room), view.heading, names)
    return state, f"{place}, holding {join_names(held)}."


verbalizer = Verbalizer(
    "household",
    _state,
    lambda view, _: _view_text(view),
    feedback,
    briefing,
    KnownObjects,
    _changes_text,
)
