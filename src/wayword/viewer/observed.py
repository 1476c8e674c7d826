"""Views of a person in a game: its map of what has been seen, and the keys of its moves."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wayword.agents.person import Situation
from wayword.core.action import Action
from wayword.core.episode import JsonObject
from wayword.core.geometry import Point, displaced, relative
from wayword.core.visible import spaced
from wayword.metrics.recorded import as_mapping, finite, listed, place_of
from wayword.verbalize import street
from wayword.verbalize.indoor import QUADRANTS
from wayword.viewer.maps import drawing as draw
from wayword.viewer.maps import heading_and_length
from wayword.viewer.maps.babyai import GridItem, cell, grid_item, item_shape
from wayword.viewer.maps.content import Extent, Map, Shape, Target, Waypoint, room_label
from wayword.viewer.maps.indoor import room_in
from wayword.viewer.maps.objectnav import fan
from wayword.viewer.markup import Html, Letters
from wayword.worlds.babyai.level import MIDDLE, VIEW_SIZE


def idle(held: JsonObject) -> list[str]:
    """Return the actions on a grid that would have no effect, by what is right ahead.

    ``held`` is an observation as a mapping; those without ``walls`` are no grid and
    have no idle actions. A box can be both picked up and opened.
    """
    if "walls" not in held:
        return []
    ahead = set()
    for each in listed(held, "objects"):
        if each["ahead"] == 1 and each["right"] == 0:
            ahead.add(each["kind"])
    hands_full = bool(held["holding"])
    wall = held["walls"][0] == 1
    actions = []
    if hands_full or ahead.isdisjoint({"key", "ball", "box"}):
        actions.append("pick_up")
    if not hands_full or wall or ahead:
        actions.append("drop")
    if ahead.isdisjoint({"door", "box"}):
        actions.append("toggle")
    return actions


_KEYS = {
    "ArrowUp": (0.0, ("move_ahead", "forward")),
    "ArrowLeft": (-90.0, ("turn_left", "left", "rotate[-30]")),
    "ArrowRight": (90.0, ("turn_right", "right", "rotate[30]")),
    "ArrowDown": (180.0, ("turn_around",)),
}
"""Arrow keys: degrees to the right of the actor's heading, and the actions that go or turn there
in worlds without a graph of viewpoints."""


def arrow_keys(now: Situation) -> dict[str, str]:
    """Map arrow keys to listed actions, each as its text.

    A key stands for the neighbor nearest to its direction and within 45 degrees of it,
    so that the four keys divide the circle; without such a neighbor for a step or a
    turn of ``_KEYS``. Keys without an action are left out.
    """
    listed = {str(action) for action in now.space.listed}
    turns = [
        (turn, f"goto[{name}]")
        for field_name, name, turn, _ in sightings(as_mapping(now.observation))
        if field_name == "neighbors"
    ]
    keys = {}
    for key, (angle, names) in _KEYS.items():
        near = [
            (abs(turn), action)
            for turn, action in turns
            if abs(relative(turn, angle)) <= 45
        ]
        actions = list(names)
        if near:
            # The nearest to the key's direction: for the way back that is the largest turn.
            nearest = max(near) if angle == 180 else min(near)
            actions.insert(0, nearest[1])
        pressed = [action for action in actions if action in listed]
        if pressed:
            keys[key] = pressed[0]
    return keys


_ARROWS = "↑↗→↘↓↙←↖"
_WITH_BEARING = ("objects", "doors", "others", "shown")
"""Fields of observations whose items have a bearing and a distance."""
Sighting = tuple[str, str, float, float]
"""Field of an observation, name, degrees to the right, and distance (NaN if unknown)."""


class Look(NamedTuple):
    """An observation at a pose: what one turn adds to the map of an actor.

    ``text`` is the observation in words; ``known`` the objects remembered, ``room`` the
    corners of the room and ``view`` those of the floor in view, up to ``reach``, in metres,
    which only a household has.
    """

    pose: Mapping[str, Any]
    observation: Any = None
    text: str = ""
    known: Mapping[str, Point] = {}
    room: Sequence[Point] = ()
    view: Sequence[Point] = ()
    reach: float = 0.0


def sightings(held: JsonObject) -> Iterator[Sighting]:
    """Yield the items of an observation that have a direction.

    Each as field, name, degrees to the right of the actor's heading in (-180, 180], and
    distance, NaN if unknown. Distances are metres; those of a grid, whose field is
    given as ``squares``, are squares.
    """
    facing = finite(held.get("heading")) or 0.0
    for key in ("neighbors", *_WITH_BEARING):
        for each in listed(held, key):
            # Viewpoints have an id, objects a name, landmarks words.
            name = each.get("viewpoint") or each.get("name")
            name = str(name or each.get("words"))
            turn = finite(each.get("bearing"))
            distance = finite(each.get("distance"))
            field_name = key
            heading = None
            if key == "neighbors":
                heading = finite(each.get("heading"))
            if "ahead" in each:  # an object of a grid
                field_name = "squares"
            if heading is not None:
                turn = relative(heading, facing)
            elif "ahead" in each:
                ahead = finite(each.get("ahead")) or 0.0
                right = finite(each.get("right")) or 0.0
                turn = math.degrees(math.atan2(right, ahead))
                distance = math.hypot(ahead, right)
            if distance is None:
                distance = math.nan
            if turn is not None:
                yield field_name, name, turn, distance


_SIGHTING = re.compile(
    r"([^,.:;()\[\]]+) \((ahead|behind|left|right)(?: (\d+)°)?, ([\d.]+) m\)"
    rf"|You see (.+?) ({'|'.join(street.DIRECTIONS)})\."
)
_MARK = 3.4  # radius of a place or an object, in units of the drawing
_DOOR = 6.0  # and of a door, which a player looks for first
_ACTOR = 14  # and of the actor without a heading, by taste
_DOORWAY = 0.5  # metres between a doorway and the place that is in it
_AT_REACH = 0.05  # metres before its reach at which a view was ended by something
_GAP = 0.5  # metres between the ends of two looks at different obstacles
_SAME = 0.8  # metres between two detections of one object: its near side moves with the actor
_ROOM = 4.0  # metres around the name of a room in which it is not repeated
_SIDES = {"ahead": 0, "behind": 180, "left": -1, "right": 1}
_ELSEWHERE = re.compile(
    r"\b(door|doorways?|beyond|further|make out|can be seen|into)\b", re.IGNORECASE
)


def landmarks(text: str) -> Iterator[tuple[str, float, float]]:
    """Yield the landmarks that a text names: name, degrees to the right, distance (m).

    Texts of indoor scenes give ``door (left 30°, 2.1 m)``. Those of a street give a
    side without a distance: such a landmark is put one unit from the actor.
    """
    for name, side, angle, far, seen, where in _SIGHTING.findall(text):
        if seen:
            yield seen, street.VIEWS[street.DIRECTIONS.index(where)], 1.0
        else:
            # The angle is left out for "ahead" and "behind", whose sides are degrees.
            turn = _SIDES[side] * float(angle or 1)
            yield name.strip(), turn, float(far)


def room_of(text: str) -> str:
    """Return the room that the most sentences of a text name; empty if none does.

    Sentences on what is elsewhere ("through the door you see a kitchen") do not count.
    """
    # "Through the door you see a kitchen" speaks of another room.
    rooms: Counter[str] = Counter()
    for sentence in re.split(r"[.\n]", text):
        room = room_in(sentence)
        if room and not _ELSEWHERE.search(sentence):
            rooms[room] += 1
    return max(rooms, key=lambda room: rooms[room], default="")


def arrows(observation: Any) -> dict[str, str]:
    """Map names of items with a bearing and a distance to both: ``↗ 2.3 m``."""
    relative_positions = {}
    for field_name, name, turn, distance in sightings(as_mapping(observation)):
        if math.isnan(distance):
            continue
        unit = "squares" if field_name == "squares" else "m"
        relative_positions[name] = f"{_arrow(turn)} {distance:.1f} {unit}"
    return relative_positions


def _label(text: str, at: Point, style: str = "", side: float = 0.0) -> Shape:
    """Return a label on a square of that side, or at a point."""
    corners = Extent.around(at, side, side).corners
    return Shape("label", corners, style, label=text)


def _arrow(turn: float) -> str:
    """Return the arrow nearest to a direction in degrees to the right."""
    return _ARROWS[round(turn / 45) % 8]


def _direction(turn: float) -> str:
    """Return the word nearest to a direction in degrees to the right."""
    return QUADRANTS[round(turn / 90) % 4]


def observed_map(
    looks: Sequence[Look], letters: Letters, now: Situation | None = None
) -> Html | None:
    """Draw the map of what was seen, the last look being now.

    None if there is nothing to draw: no look, or one without a position. Places and
    objects that the actor can act on ``now`` can be pressed. Assigns ``letters`` to new
    places in the order in which they were seen.
    """
    builder = _MapBuilder(letters)
    if not looks or not all(builder.add(look) for look in looks):
        return None
    drawn = Map(
        {"you": builder.waypoints},
        places=builder.points,
        edges=list(builder.edges),
        shapes=builder.shapes(),
        scale=builder.exact,
        unit="squares" if builder.squares else "m",
        targets=_targets(builder, now),
    )
    legend = []
    # Of what stands on furniture, one sees more than of the floor.
    if builder.view or builder.fans:
        legend.append(("inview", "floor in view"))
    if len(builder.fans) > 1:
        legend.append(("seenfree", "seen before"))
    if builder.obstacles:
        legend.append(("seenwall", "obstacle"))
    if builder.squares:
        legend.append(("wall-cell", "wall"))
    words = {"open": "open door", "closed": "closed door", "doorway": "doorway"}
    states = sorted(set(builder.doors.values()))
    legend += [(f"mark-seen-doors {state}", words[state]) for state in states]
    drawn.legend = legend
    return draw.render(drawn)


def _targets(builder: _MapBuilder, now: Situation | None) -> list[Target]:
    """Return the places, objects and exits that current actions act on, as buttons.

    Each as its point, the title, and data for the page: ``words``, the number of the
    single action in the menu, or ``name``, from which the page lists several.
    """
    listed = now.space.listed if now else ()
    # By the last argument: "put[mug, table]" acts on the table.
    numbered: dict[str, list[tuple[int, Action]]] = {}
    for number, action in enumerate(listed, 1):
        if action.arguments:
            name = action.arguments[-1]
            numbered.setdefault(name, []).append((number, action))
    points = {name: item.point for name, item in builder.grid.items()}
    points |= {name: point for name, (point, _) in builder.objects.items()}
    points |= builder.points
    contents = builder.contents()
    targets: list[Target] = []
    for name, point in points.items():
        held = contents.get(name, [])
        actions = list(numbered.get(name, []))
        for each in held:
            actions += numbered.get(each, [])
        called = builder.letters.of(name)
        data: dict[str, Any]
        if len(actions) == 1 and not held:
            number, action = actions[0]
            title = f"{action.name} {called}"
            data = {"words": number, "action": str(action)}
        elif actions:
            title = f"{_with_contents(called, held)}: {len(actions)} actions"
            data = {"name": name}
        else:
            continue
        if held:
            data["holds"] = " ".join(held)
        # It is pressed with its receptacle, unless the task names it.
        holder = builder.holder(name)
        if holder:
            data["within"] = holder
        targets.append((point, spaced(title), data))
    if now is None:
        return targets
    texts = [str(action) for action in listed]
    if "move_ahead" in texts:
        targets += _squares(builder, texts, idle(as_mapping(now.observation)))
    keys = arrow_keys(now)
    for turn, end in builder.exits:
        # An exit does what the arrow key nearest to its direction does.
        gaps = {}
        for key, (angle, _) in _KEYS.items():
            gaps[key] = abs(relative(turn, angle))
        nearest = min(gaps, key=gaps.__getitem__)
        action_text = keys.get(nearest)
        if action_text:
            data = {"words": texts.index(action_text) + 1, "action": action_text}
            targets.append((end, spaced(action_text), data))
    return targets


def _with_contents(name: str, held: Sequence[str]) -> str:
    """Return a receptacle's name, with what is in or on it."""
    if not held:
        return name
    return f"{name} with {', '.join(held)}"


def _squares(
    builder: _MapBuilder, listed: Sequence[str], idle: Sequence[str]
) -> Iterator[Target]:
    """Yield the free squares of a grid as buttons.

    Each with the motion that leads there, with the actions that work on the object
    right ahead, or with neither and the reason. ``listed`` are the menu's actions as
    texts, ``idle`` those without an effect.
    """
    motions = builder.motions()
    here = builder.waypoints[-1].point
    verbs = ("pick_up", "toggle")
    # An action without an effect is listed by the world, but is no offer to a player.
    works = [verb for verb in verbs if verb in listed and verb not in idle]
    for square, is_wall in builder.squares.items():
        if is_wall:
            continue
        title = "no known way there yet"
        more: dict[str, Any] = {}
        motion = motions.get(square)
        if motion:
            title = "walk here"
            more["words"] = listed.index(motion) + 1
        elif square == here:
            title = "you are here"
        elif square in motions:  # faced already
            title = spaced(" or ".join(works)) or "no action works on it now"
            numbers = [str(listed.index(verb) + 1) for verb in works]
            more["does"] = " ".join(numbers)
        more["cell"] = f"{square[0]:g},{square[1]:g}"
        yield square, title, more


def _square(position: Point, facing: float, ahead: float, right: float) -> Point:
    """Return the square at ``ahead`` and ``right`` steps from a position on the map.

    ``facing`` is a heading in degrees, a multiple of 90. Rounded, because steps
    computed from sines miss the whole numbers in their last bits.
    """
    in_front = displaced(position, facing, ahead)
    x, y = displaced(in_front, facing + 90, right)
    return float(round(x)), float(round(y))


@dataclass
class _MapBuilder:
    """A map under construction: looks are added, shapes are taken.

    Coordinates are those of the poses (metres or squares). A grid's y grows downwards,
    so it is negated: on the map north is up. ``exact`` is False once a position was
    reckoned from headings, in which case the map has no scale.
    """

    letters: Letters
    waypoints: list[Waypoint] = field(default_factory=list)
    points: dict[str, Point] = field(default_factory=dict)
    """Places by their names."""
    edges: dict[tuple[str, str], None] = field(default_factory=dict)
    stubs: list[tuple[Point, Point]] = field(default_factory=list)
    exits: list[tuple[float, Point]] = field(default_factory=list)
    """Exits of a street at the last look: degrees to the right, and the end of its stub."""
    objects: dict[str, tuple[Point, str]] = field(default_factory=dict)
    squares: dict[Point, bool] = field(default_factory=dict)
    """Squares of a grid: whether each is a wall."""
    grid: dict[str, GridItem] = field(default_factory=dict)
    view: list[Point] = field(default_factory=list)
    """Squares in view at the last look."""
    rooms: dict[Point, str] = field(default_factory=dict)
    """Names of rooms, where the walk entered them."""
    names: dict[str, str] = field(default_factory=dict)
    """Destinations of the doorways that places are in."""
    fans: list[list[Point]] = field(default_factory=list)
    outlines: dict[str, Sequence[Point]] = field(default_factory=dict)
    # Open or closed, when seen last; a doorway has no door
    doors: dict[str, str] = field(default_factory=dict)
    leads: dict[str, Sequence[str]] = field(default_factory=dict)
    """The rooms on both sides of doors."""
    obstacles: list[list[Point]] = field(default_factory=list)
    """Outlines of what ended a view."""
    holders: dict[str, str] = field(default_factory=dict)
    """What objects are in or on, when seen last."""
    room: str = ""
    """The room of a home that the actor is in."""
    listed: set[str] = field(default_factory=set)
    """Names in the last look; all others are remembered."""
    exact: bool = True

    def add(self, look: Look) -> bool:
        """Add a look to the map; False if it has no position, which leaves the map as it was."""
        pose = look.pose
        held = as_mapping(look.observation)
        place = place_of(pose)
        heading = finite(pose.get("heading"))
        position = self._point(place, pose, "walls" in held)
        if position is None:
            return False
        self.letters.assign(place)
        stop = Waypoint(
            step=len(self.waypoints),
            place=self.letters.of(place),
            point=position,
            heading=heading,
        )
        self.waypoints.append(stop)
        if place:
            self.points[place] = position
        if "angles" in held and len(self.waypoints) > 1:
            self.stubs.append((self.waypoints[-2].point, position))
        facing = finite(pose.get("heading", held.get("heading"))) or 0.0
        self._add_neighbors(place, position, held)
        turns = [finite(turn) or 0.0 for turn in held.get("angles") or ()]
        # A stub just long enough to be pressed: the length of a street's edge is unknown.
        self.exits = []
        for turn in turns:
            end = displaced(position, facing + turn, 0.55)
            self.exits.append((turn, end))
            self.stubs.append((position, end))
        # Stubs have no true length, so a map with them has no scale.
        self.exact = self.exact and not turns
        self.room = str(held.get("room") or "")
        self._add_room(place, position, held, look)
        self._add_objects(position, facing, held, look)
        for door in listed(held, "doors"):
            state = "open" if door["open"] else "closed"
            self.doors[door["name"]] = state
            self.leads[door["name"]] = door.get("rooms", ())
        self.listed = {name for name, _, _ in landmarks(look.text)}
        self.listed.update(name for _, name, _, _ in sightings(held))
        for each in listed(held, "objects"):
            self.holders[str(each.get("name"))] = str(each.get("container") or "")
        if "walls" in held:
            self._add_squares(position, facing, held)
        # Held objects, and what is in them, are no longer where they were.
        for item in listed(held, "holding"):
            held_name = item["name"]
            self.grid.pop(held_name, None)
            for name in (held_name, *item.get("contents", ())):
                self.objects.pop(name, None)
        if "depth" in held:
            reach = finite(as_mapping(held["depth"]).get("reach")) or 0.0
            self._add_view(fan(held), reach)
        elif look.view:
            self._add_view(look.view, look.reach)
        return True

    def _add_view(self, rim: Sequence[Point], reach: float) -> None:
        """Add the floor in view, and what ends it before ``reach``."""
        self.fans.append(list(rim))
        ends = [end for end in rim[1:] if math.dist(rim[0], end) < reach - _AT_REACH]
        corners: list[Point] = []
        for end in ends:
            # A gap is the side of an obstacle, behind which nothing was seen.
            if corners and math.dist(corners[-1], end) > _GAP:
                self.obstacles.append(corners)
                corners = []
            corners.append(end)
        self.obstacles.append(corners)

    def _add_neighbors(self, place: str, position: Point, held: JsonObject) -> None:
        """Add the edges to the places that can be reached from here, and unseen places."""
        for neighbor in listed(held, "neighbors"):
            name = str(neighbor.get("viewpoint"))
            self.letters.assign(name)
            # A place keeps the position at which it was seen first.
            end = displaced(position, *heading_and_length(neighbor))
            self.points.setdefault(name, end)
            self.edges[place, name] = None

    def _add_room(
        self,
        place: str,
        position: Point,
        held: JsonObject,
        look: Look,
    ) -> None:
        """Add the outline of the room, or its name unless that stands nearby already.

        "Nearby" is within ``_ROOM`` metres. A room without an outline is read from the
        observation or, at places of a graph, from its text.
        """
        room = str(held.get("room") or "")
        if not room and place:
            room = room_of(look.text)
        # An outline has room for the name, and needs no place of its own for it.
        if look.room:
            self.outlines[room] = look.room
            return
        for point, name in self.rooms.items():
            if name == room and math.dist(point, position) <= _ROOM:
                return
        self.rooms[position] = room

    def _add_objects(
        self,
        position: Point,
        facing: float,
        held: JsonObject,
        look: Look,
    ) -> None:
        """Add what is remembered, what the observation lists, and what its text names.

        ``facing`` is the heading in degrees that bearings are relative to. A doorway
        close to a place does not become an object but names the place.
        """
        for name, point in look.known.items():
            kind = "objects"
            if name.startswith("door"):
                kind = "doors"
            self.objects[name] = (point, kind)
        detected: set[str] = set()
        for key, name, turn, distance in sightings({**held, "heading": facing}):
            if key in _WITH_BEARING and not math.isnan(distance):
                point = displaced(position, facing + turn, distance)
                if key == "shown":
                    name = self._detected(name, point, detected)
                    detected.add(name)
                self.objects[name] = (point, key)
        if held.get("shown"):
            return  # the text says the same
        # A text rounds its angles and distances: what it names is drawn nearby.
        for name, turn, distance in landmarks(look.text):
            spot = displaced(position, facing + turn, distance)
            in_doorway = [
                place
                for place, point in self.points.items()
                if math.dist(point, spot) < _DOORWAY
            ]
            if name.startswith("doorway ") and in_doorway:
                destination = name.removeprefix("doorway ")
                self.names.setdefault(in_doorway[0], destination)
            elif name.startswith("doorway "):
                self.objects[name] = spot, "doors"
                self.doors[name] = "doorway"
            else:
                self.objects[name] = spot, "objects"

    def _detected(self, words: str, point: Point, others: Container[str]) -> str:
        """Return the name of a detection: its words, numbered from the second object on.

        A detector gives words and no identity, so detections of two looks are one object if their
        words are equal and they are within ``_SAME`` of each other. ``others`` are the names of
        this look, each of another object.
        """
        name = words
        number = 1
        while name in others or (
            name in self.objects and math.dist(self.objects[name][0], point) > _SAME
        ):
            number += 1
            name = f"{words} {number}"
        return name

    def _point(self, place: str, pose: JsonObject, grid: bool) -> Point | None:
        """Return a look's coordinates, else its known place, else one unit along its heading.

        The last is dead reckoning, for poses without coordinates: it clears ``exact``.
        None if the pose has neither coordinates nor a place.
        """
        x = finite(pose.get("x"))
        y = finite(pose.get("y"))
        if x is not None and y is not None:
            # A grid counts its rows to the south.
            if grid:
                y = -y
            return x, y
        if not place:
            return None
        # The first place is the origin; a known one keeps its position, which closes
        # loops.
        if place in self.points or not self.waypoints:
            return self.points.get(place, (0.0, 0.0))
        self.exact = False
        heading = finite(pose.get("heading")) or 0.0
        return displaced(self.waypoints[-1].point, heading, 1.0)

    def _add_squares(self, position: Point, facing: float, held: JsonObject) -> None:
        """Add the squares in view: the rectangle up to the next wall or door ahead, to the left and
        to the right of the actor.

        ``facing`` is in degrees. ``held`` is the observation: ``walls`` are the squares to the next
        wall ahead, left and right, None beyond the view; ``objects`` have steps ``ahead`` and to
        the ``right``. Squares on the rectangle's border become walls, unless earlier looks found
        them free; those with an object are free.
        """
        # Objects and doors by (ahead, right), in squares from the actor's own
        at = {(each["ahead"], each["right"]): each for each in listed(held, "objects")}
        doors = {square for square, each in at.items() if each["kind"] == "door"}

        def reach(wall: int | None, step_ahead: int, step_right: int, most: int) -> int:
            """Squares up to a wall or door in a direction; without one ``most``, out of view."""
            for steps in range(1, most):
                if steps == wall or (steps * step_ahead, steps * step_right) in doors:
                    return steps
            return most

        wall_ahead, wall_left, wall_right = held["walls"]
        front = reach(wall_ahead, 1, 0, VIEW_SIZE)
        left = reach(wall_left, 0, -1, MIDDLE + 1)
        right = reach(wall_right, 0, 1, MIDDLE + 1)
        # A door that the actor stands in was seen before, and is not in its own view.
        on_door = any(
            item.kind == "door" and item.point == position
            for item in self.grid.values()
        )
        # Rows from the actor's own to that of the wall or door in front.
        self.view = []
        for ahead in range(min(front + 1, VIEW_SIZE)):
            columns = range(-min(left, MIDDLE), min(right, MIDDLE) + 1)
            if on_door and ahead:
                # Left and right are the door's own walls, not those of the room ahead, of which
                # only the middle column is known.
                columns = range(1)
            for aside in columns:
                square = _square(position, facing, ahead, aside)
                if ahead == front or aside in (-left, right):
                    self.squares.setdefault(square, True)
                else:
                    self.view.append(square)
                    self.squares[square] = False
        # Through an open door the column ahead is free up to the wall.
        if at.get((front, 0), {}).get("state") == "open":
            for ahead in range(front + 1, wall_ahead or VIEW_SIZE):
                self.squares[_square(position, facing, ahead, 0)] = False
        # Objects in view are forgotten: those still there are listed, and added below. Doors stay.
        # A list, because the loop removes items.
        for name, item in list(self.grid.items()):
            if item.kind != "door" and item.point in self.view:
                del self.grid[name]
        for (steps_ahead, steps_right), each in at.items():
            point = _square(position, facing, steps_ahead, steps_right)
            self.squares[point] = False
            # Points have y to the north, squares of the grid count to the south.
            x, y = point
            self.grid[each["name"]] = grid_item(each, int(x), int(-y))

    def motions(self) -> dict[Point, str]:
        """Map squares to the first motion of the shortest path to them; empty if none is needed.

        Includes the squares that can be reached over free squares seen so far, and
        those of objects that can be faced. Assumes a grid: every heading is a multiple
        of 90 degrees.
        """
        # An open door can be walked through, all other objects stand in the way.
        taken = {item.point for item in self.grid.values() if item.state != "open"}
        floor = {square for square, wall in self.squares.items() if not wall}
        free = floor - taken
        now = self.waypoints[-1]
        # Breadth first over squares and headings: a turn costs a step like a move.
        heading = (now.heading or 0.0) % 360
        queue = deque([(now.point, heading, "")])
        first = dict[Point, str]()
        reached = set[tuple[Point, float]]()
        while queue:
            point, heading, motion = queue.popleft()
            if (point, heading) in reached:
                continue
            reached.add((point, heading))
            front = _square(point, heading, 1, 0)
            # A square itself is reached by standing on it, an object by facing it.
            for square in {point, front} & {point, *taken}:
                first.setdefault(square, motion)
            if front in free:
                queue.append((front, heading, motion or "move_ahead"))
            left = (heading - 90) % 360
            right = (heading + 90) % 360
            queue.append((point, left, motion or "turn_left"))
            queue.append((point, right, motion or "turn_right"))
        return first

    def contents(self) -> dict[str, list[str]]:
        """Map receptacles on the map to what is in or on them, or on something that is."""
        contents: dict[str, list[str]] = {}
        for name in self.objects:
            holder = self.holder(name)
            if holder:
                contents.setdefault(holder, []).append(name)
        return contents

    def holder(self, name: str) -> str:
        """Return the receptacle on the map that an object is in or on; empty without one."""
        holder = name
        # A cup in a bowl on a table is the table's.
        while self.holders.get(holder) in self.objects:
            holder = self.holders[holder]
        return holder if holder != name else ""

    def _called(self, name: str) -> str:
        """Return the name of an object or door; of a door with the room that it leads to."""
        rooms = self.leads.get(name, ())
        beyond = [each for each in rooms if each != self.room]
        if len(beyond) == 1:
            return f"{name} to the {beyond[0]}"
        return name

    def _seen_objects(self) -> Iterator[Shape]:
        """Yield the objects and doors as dots.

        A receptacle has one label, with the number of objects in or on it; these have labels
        of their own only where the task names them, which the page's script knows.
        """
        contents = self.contents()
        for name, (point, kind) in self.objects.items():
            style = f"mark-seen-{kind} {self.doors.get(name, '')}".strip()
            held = contents.get(name, [])
            label = self._called(name)
            if len(held) == 1:
                label = f"{name}: {held[0]}"
            elif held:
                label = f"{name}: {len(held)} objects"
            if self.holder(name):
                style += " contained"
            elif kind == "objects" and name not in self.listed:
                style += " remembered"
            size = _DOOR if kind == "doors" else _MARK
            title = _with_contents(self._called(name), held)
            yield Shape("dot", [point], style, title, label, size)

    def shapes(self) -> list[Shape]:
        """Return the shapes of the map, from the ground up: later ones cover earlier ones."""
        shapes = [Shape("line", ends, "stub") for ends in self.stubs]
        shapes += [
            Shape("area", corners, "floor") for corners in self.outlines.values()
        ]
        shapes += [Shape("area", rim, "seenfree") for rim in self.fans if rim]
        if self.fans and self.fans[-1]:
            shapes.append(Shape("area", self.fans[-1], "inview"))
        # There and back: an area is closed, and this one is a line.
        shapes += [
            Shape("area", [*corners, *reversed(corners)], "seenwall")
            for corners in self.obstacles
            if len(corners) > 1
        ]
        shapes += [cell(middle, wall) for middle, wall in self.squares.items()]
        if self.view:
            shapes.append(Shape("cells", self.view, "inview", size=1))
        items = [(item.point, item_shape(item)) for item in self.grid.values()]
        shapes += [shape for _, shape in items]
        shapes += [room_label(name, corners) for name, corners in self.outlines.items()]
        # A label as wide as 0.8 of a square does not reach into the next one.
        shapes += [_label(shape.title, point, side=0.8) for point, shape in items]
        shapes += [
            _label(room, at, "inroom") for at, room in self.rooms.items() if room
        ]
        # Words, as an arrow on a map whose top is north would point somewhere else.
        shapes += [_label(_direction(turn), end) for turn, end in self.exits]
        # Places and objects are dots, whose class tells what they are.
        for name, point in self.points.items():
            title = f"{self.letters.of(name)} {self.names.get(name, '')}".strip()
            shapes.append(Shape("dot", [point], "mark-place", title, title, _MARK))
        shapes += self._seen_objects()
        # The walk ends with a dart; without a heading, with a dot.
        now = self.waypoints[-1]
        if now.heading is None:
            shapes.append(Shape("dot", [now.point], "me", size=_ACTOR))
        return shapes
