"""Houses in words: observations, and results of actions.

Templates only: ``sentences.toml`` for results, ``describe`` for a full observation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from wayword.core.action import ActionSpace
from wayword.core.visible import join_words
from wayword.core.world import Feedback
from wayword.verbalize.generic import (
    COMPASS,
    SelfState,
    Verbalizer,
    ViewPart,
    sentences,
)
from wayword.worlds.household.observation import (
    HouseholdObservation,
    SeenDoor,
    SeenObject,
)
from wayword.worlds.household.route import HAND_REACH
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import UNSEEN_DOOR, HouseholdActions

SIDES = {"left": "On your left", "middle": "Ahead", "right": "On your right"}
"""Third of the view -> its name, in the order of a description."""


def describe(view: HouseholdObservation) -> str:
    """Return an observation in words: place, hands, objects in view, messages."""
    return f"{_state(view)[1]}\n{_view_text(view)}"


def spot_words(spot: tuple[float, float]) -> str:
    """Return a spot on furniture in words, from metres east and north of the middle.

    >>> spot_words((-0.8, 0.2)), spot_words((0.0, 0.04))
    ('0.8 m west and 0.2 m north of the middle', 'in the middle')
    """
    # Of the middle, not of a corner: an object's corners depend on how it was turned.
    east, north = spot
    parts = [_offset_text(east, "east", "west"), _offset_text(north, "north", "south")]
    parts = [part for part in parts if part]
    if not parts:
        return "in the middle"
    return f"{' and '.join(parts)} of the middle"


def _offset_text(offset: float, positive: str, negative: str) -> str:
    """Return metres in a direction: ``0.8 m west``; empty for an offset that rounds to 0."""
    # Rounded first: 0.04 m west of the middle is the middle.
    metres = f"{abs(offset):.1f}"
    if metres == "0.0":
        return ""
    return f"{metres} m {positive if offset > 0 else negative}"


class KnownObjects:
    """The objects that one actor's messages have described, and how.

    Later messages leave out what is as it was described.
    """

    def __init__(self) -> None:
        self._states: dict[str, tuple[str, ...]] = {}
        self._holders: dict[str, tuple[str, str]] = {}  # preposition and furniture
        self._own: tuple[object, ...] = ()

    def hear(self, result: Feedback) -> None:
        """Take in the objects that a sentence on an action's result names.

        A failed action shows nothing. Objects in what was opened or explored have their
        place there.
        """
        details = result.details
        # A failed action showed nothing.
        if not result.ok:
            return
        for name in details.get("seen", ()):
            if name.startswith("door_"):
                continue  # doors are described with the rooms that they lead to
            state: tuple[str, ...] = ()
            if name in details.get("closed", ()):
                state = ("closed",)
            self._states.setdefault(name, state)
        for name, (preposition, holder) in details.get("places", {}).items():
            self._holders[name] = (preposition, holder)
        # These two look into what they open; other actions name objects without their
        # places.
        if details.get("action") in ("go_check", "open"):
            holder = str(details.get("receptacle") or details.get("object"))
            for name in details.get("contents", ()):
                self._states.setdefault(name, ())
                self._holders[name] = (str(details.get("preposition", "in")), holder)

    def notice(self, seen: SeenObject) -> bool:
        """Take in an object in view; return False if it is as it was described.

        As it was: its states, its spot, and what it is in or on.
        """
        # With its spot: on a table an object can move without leaving it.
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
        state = (_door_state(door),)
        is_same = self._states.get(door.name) == state
        self._states[door.name] = state
        return not is_same

    def forget(self, name: str) -> None:
        """Forget an object that was taken: it is described again where it is put."""
        self._states.pop(name, None)
        self._holders.pop(name, None)


def _changes_text(view: HouseholdObservation, known: KnownObjects) -> str:
    """Return what is in view and not known from earlier messages."""
    for held in view.holding:
        known.forget(held.name)
    return _view_text(view, known)


def _view_text(view: HouseholdObservation, known: KnownObjects | None = None) -> str:
    """Return what is in view, by thirds of the view. Objects on the same furniture are grouped, so
    that its name is said once. Objects that are ``known`` and unchanged are left out, and so are
    distances of objects on furniture, for actors that find their own way."""
    # Third of the view -> place -> labels.
    groups: dict[str, dict[str, list[str]]] = {side: {} for side in SIDES}
    for side, place, label in _labels(view, known):
        groups[side].setdefault(place, []).append(label)
    lines = []
    for side, title in SIDES.items():
        if groups[side]:
            lines.append(f"{title}: {_by_place(groups[side])}.")
    # A message is never empty: it would say neither that nothing is there nor that nothing
    # changed.
    if not lines:
        lines.append("You see no objects." if known is None else "You see nothing new.")
    lines += [f"{message.sender} says: {message.text}" for message in view.messages]
    return "\n".join(lines)


def _labels(
    view: HouseholdObservation, known: KnownObjects | None
) -> Iterator[tuple[str, str, str]]:
    """Yield what ``_view_text`` describes: the third of the view, the place (``on desk_1``; empty
    for what stands alone), and the label."""
    for door in view.doors:
        if known is None or known.notice_door(door):
            yield door.direction, "", _door_text(door, view.room)
    # Others are always described: they move between any two messages.
    for other in view.others:
        notes = [f"{other.distance:.1f} m"]
        if other.holding:
            notes.insert(0, f"holds {join_names(other.holding)}")
        yield other.direction, "", _with_notes(other.name, notes)
    for seen in view.objects:
        if known is not None and not known.notice(seen):
            continue
        place = ""
        notes = list(seen.attributes)
        if seen.container:
            place = f"{seen.preposition} {seen.container}"
            if seen.spot:
                notes.append(spot_words(seen.spot))
        # An actor that finds its own way needs the distance of its furniture, said once,
        # not of each cup on it.
        if known is None or not seen.container:
            notes.append(f"{seen.distance:.1f} m")
        yield seen.direction, place, _with_notes(seen.name, notes)


def _with_notes(name: str, notes: Sequence[str]) -> str:
    """Return a name with its notes: ``mug_1 (dirty, 0.8 m)``."""
    if not notes:
        return name
    return f"{name} ({', '.join(notes)})"


def _by_place(groups: Mapping[str, list[str]]) -> str:
    """Return objects by place, those alone (at the place "") first: ``desk_1; on desk_1: cd_1``."""
    parts = []
    if "" in groups:
        parts.append(", ".join(groups[""]))
    for place, names in groups.items():
        if place:
            parts.append(f"{place}: {', '.join(names)}")
    return "; ".join(parts)


# The thirds of a view as directions.
_THIRDS = {"middle": "ahead", "left": "left", "right": "right"}


def _view_parts(view: HouseholdObservation, _: object) -> list[ViewPart]:
    """Return the view in thirds: its lines, then objects and doors with bearing and distance."""
    lines = _view_text(view).splitlines()
    view_parts = []
    for side, direction in _THIRDS.items():
        title = f"{SIDES[side]}: "
        texts = [line for line in lines if line.startswith(title)]
        view_parts += [ViewPart(direction, text) for text in texts]
    for seen in view.objects:
        measure = f"{_bearing_text(seen.bearing)}, {seen.distance:.1f} m"
        view_parts.append(ViewPart(_THIRDS[seen.direction], "", seen.name, measure))
    for door in view.doors:
        measure = f"{_bearing_text(door.bearing)}, {door.distance:.1f} m"
        view_parts.append(ViewPart(_THIRDS[door.direction], "", door.name, measure))
    return view_parts


def _bearing_text(bearing: float) -> str:
    """Return a relative direction in words, from degrees: ``left 20°``."""
    degrees = round(bearing)
    if degrees == 0:
        return "ahead"
    if degrees < 0:
        return f"left {-degrees}°"
    return f"right {degrees}°"


def _door_state(door: SeenDoor) -> str:
    """Return the state of a door in a word."""
    return "open" if door.open else "closed"


def _door_text(door: SeenDoor, room: str) -> str:
    """Return a door as seen from a room: its state, the room beyond and its distance."""
    notes = [_door_state(door), *_beyond(door.rooms, room), f"{door.distance:.1f} m"]
    return _with_notes(door.name, notes)


@lru_cache(maxsize=1_000)  # doors in view are described at every step
def _beyond(rooms: tuple[str, ...], room: str) -> tuple[str, ...]:
    """Return where a door between ``rooms`` leads from one of them: ``to the kitchen``."""
    # The room that the actor is in goes without saying.
    beyond = [definite_room(other) for other in rooms if other != room]
    return (f"to {' and '.join(beyond)}",) if beyond else ()


def _explored(names: Sequence[str], places: Mapping[str, tuple[str, str]]) -> str:
    """Return objects seen in a room, grouped by furniture: ``desk_1; on desk_1: mug_1, cd_1``."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(" ".join(places.get(name, ())), []).append(name)
    return _by_place(groups) or "nothing"


def feedback(result: Feedback) -> str:
    """Return the result of an action as a sentence; an unknown status is returned unchanged.

    The sentences are those of ``sentences.toml``, by status and verb.
    """
    status = result.status
    details = result.details
    templates = sentences("household")
    key = _sentence_key(result)
    # A sentence for the verb, else the one for the status.
    template = templates.get(f"{status}.{key}") or templates.get(status)
    if not template:
        return status

    # The slots: details, with names and rooms in words.
    slots: dict[str, Any] = {}
    for name, value in details.items():
        # Written below, in words.
        if name in ("seen", "spot", "places"):
            continue
        if isinstance(value, (list, tuple)):
            value = join_names(value)
        slots[name] = value
    if "seen" in details:
        slots["seen"] = _explored(details["seen"], details.get("places", {}))
    # The world names a door that the actor has not seen by this constant.
    if UNSEEN_DOOR in details.get("doors", ()):
        spoken = {UNSEEN_DOOR: "a door that you have not seen"}
        slots["doors"] = join_names([spoken.get(d, d) for d in details["doors"]])
    if "room" in slots:
        slots["room"] = spoken_room(slots["room"])
        slots["the_room"] = definite_room(slots["room"])
    # For sentences that begin with it.
    slots["Preposition"] = str(details.get("preposition", "in")).capitalize()
    spot = details.get("spot")
    if spot:  # as the actor wrote it, or in metres
        slots["spot"] = spot if isinstance(spot, str) else spot_words(spot)
    return template.format_map(slots)


def _sentence_key(result: Feedback) -> str:
    """Return the key of a result's sentence under its status.

    The verb, or a variant of it that the details decide: a sentence needs the details of its slots.
    Results of actors that see pictures lack ``SIGHT_DETAILS``.
    """
    details = result.details
    verb = str(details.get("action", ""))
    if result.status == "ok":
        # Bodies that pan turn by these verbs; others step aside, by a distance.
        if verb in ("pan_left", "pan_right") and "distance" in details:
            verb = verb.replace("pan", "sidestep")
        elif (verb, details.get("kind")) == ("open", "receptacle"):
            if "contents" in details:
                verb = "open_receptacle"
        elif verb == "stop" and details.get("answer"):
            verb = "stop_answer"
        # In pictures, ``closed`` is missing too, so this is first.
        elif verb == "go_explore" and "seen" not in details:
            verb = "go_explore_pictures"
        elif verb == "go_explore" and not details.get("closed"):
            verb = "go_explore_open"
        elif verb == "go_check" and "contents" not in details:
            verb = "go_check_pictures"
    elif result.status == "no_path" and details.get("doors"):
        verb = "doors"
    if details.get("spot"):
        verb = f"{verb}_spot"
    return verb


def briefing(space: ActionSpace) -> dict[str, str]:
    """Return the slots of the rules and the list of actions: names, rooms, and the limits of a
    body's view, reach and hands.

    Values are sentences or parts of them, with distances in metres and angles in degrees, as the
    world enforces them. They are part of prompts: a change of a word changes what models are asked.
    """
    # An action space of another class, such as a filtered one, gets the default body.
    household = space if isinstance(space, HouseholdActions) else None
    body = Body()
    rooms = "as you see them named"
    if household:
        body = household.body
        rooms = ", ".join(household.rooms)

    name_rule = (
        "Objects are named, as in mug_1, in the order in which they are first seen"
    )
    if household and household.fixed_names:
        scope = ""
        if "chat" in household.open_verbs:
            scope = ", the same for all of you"
        name_rule = (
            f"Every object has a fixed name, such as mug_1{scope}; use it exactly."
        )
    elif household and household.shared_names:
        name_rule += " by any of you; use these names exactly."
    else:
        name_rule += "; use these names exactly."

    # Reach and hands, in the numbers that the world enforces.
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
    # A body without these verbs: rules on hands would make a model try them.
    if {"pick_up", "put", "go_grab", "go_put"}.isdisjoint(body.actions):
        touch_rule = "You have no hands: you look and move only."
    door_rule = (
        "A closed door blocks the path, also of actions that walk several steps: "
        "open it first."
    )
    # A body without extent passes through everything.
    if body.radius == 0:
        door_rule = "Walls, furniture and closed doors do not stop you."

    # pan_left and pan_right turn a body that pans, and move others sideways.
    aside = "step aside"
    aside_by = f" by {body.step:g} m, facing the same way"
    if body.pan_degrees:
        aside = f"turn by {body.pan_degrees:g}°"
        aside_by = ""
    return {
        "view": (
            f"Your view is {body.view_angle:.0f}° wide, centered on the direction you face, and "
            f"{body.view_distance:g} m deep"
        ),
        "touch": touch_rule,
        "doors": door_rule,
        "names": name_rule,
        "step": f"{body.step:g} m",
        "aside": aside,
        "aside_by": aside_by,
        "rooms": rooms,
        "view_steps": f"{body.view_distance / body.step:.0f}",
        "side_degrees": f"{body.view_angle / 2:g}",
        "capacity": str(capacity),
    }


def facing_words(heading: float) -> str:
    """Return a heading in words: ``north`` for 0, ``30°`` between the eight compass directions."""
    if heading % 45 == 0:
        return COMPASS[int(heading // 45)]
    return f"{heading:g}°"


def spoken_room(room: str) -> str:
    """Return a room's name with blanks for underscores."""
    return room.replace("_", " ")


@lru_cache(maxsize=1_000)  # in every description
def definite_room(room: str) -> str:
    """Return a room's name with its article: ``the living room``, but ``bedroom 2``."""
    words = spoken_room(room)
    # A number is a name: "the bedroom 2" is no English.
    if words[-1:].isdigit():
        return words
    return f"the {words}"


def join_names(names: Sequence[str]) -> str:
    """Return names as a list in words: ``a, b and c``; ``nothing`` for none."""
    return join_words(names) or "nothing"


def _state(view: HouseholdObservation) -> tuple[SelfState, str]:
    """Return the actor's room, heading and held objects, with a sentence on them."""
    held = []
    for item in view.holding:
        notes = list(item.attributes)
        if item.contents:
            notes.append(f"with {join_names(item.contents)}")
        held.append(_with_notes(item.name, notes))
    names = tuple(item.name for item in view.holding)
    state = SelfState(spoken_room(view.room), view.heading, names)
    room = definite_room(view.room)
    facing = facing_words(view.heading)
    return state, f"You are in {room}, facing {facing}, holding {join_names(held)}."


def _messages_text(view: HouseholdObservation) -> str:
    """Return the messages of others: no picture shows them."""
    return "\n".join(f"{each.sender} says: {each.text}" for each in view.messages)


SIGHT_DETAILS = frozenset({"seen", "places", "contents", "closed", "opened"})
"""Details of results that name what the actor saw."""


def _without_sight(result: Feedback) -> Feedback:
    """Return a result without the objects that the actor saw."""
    kept = result.details.keys() - SIGHT_DETAILS
    details = {key: value for key, value in result.details.items() if key in kept}
    return replace(result, details=details)


verbalizer = Verbalizer(
    "household",
    _state,
    lambda view, _: _view_text(view),
    feedback,
    briefing,
    KnownObjects,
    _changes_text,
    unpictured=lambda view, _: _messages_text(view),
    without_sight=_without_sight,
    view_parts=_view_parts,
)
