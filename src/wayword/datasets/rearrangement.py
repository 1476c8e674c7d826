"""Rearrangement: restore displaced objects in generated homes and iTHOR's rooms.

Each change in a generated home has an unambiguous description: the only object of its type in the
home, the only receptacle of its type in its room.

Source: Weihs et al. 2021, "Visual Room Rearrangement".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from random import Random
from typing import Literal

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.files import (
    NUMBER,
    cached_json,
    find,
    read_field,
    read_json,
    require_data,
)
from wayword.core.geometry import absolute
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.chores import preposition, spoken_name
from wayword.datasets.procedural.homes.home import surfaces
from wayword.datasets.procedural.homes.objects import (
    OBJECTS,
    SPARE,
    Arrangement,
    names_of,
)
from wayword.datasets.procedural.tables import Table
from wayword.datasets.sources import ithor, thor
from wayword.datasets.sources.rules import read_rules
from wayword.verbalize.household import spot_words
from wayword.worlds.household.goals import RearrangementReference, Restored
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject, Scene
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

OPENING = "Put this home back in order. This is how everything was:"
EMPTY_NOTE = "Whatever is not listed held nothing."
SpotText = Callable[[Restored], str]
"""Target spot of an object on its receptacle; empty if any spot will do."""


def describe_state(
    objects: Mapping[str, HouseObject],
    targets: Iterable[Restored],
    room_of: Callable[[HouseObject], str],
    spot: SpotText = lambda goal: "",
) -> str:
    """Describe the target state by room and receptacle, one line per receptacle.

    ``objects`` are those of the scene, in its order; ``targets`` are the required states of movable
    and openable objects. Fixed furniture, which never moves, determines the room of each line.
    """
    names = names_of(objects.values())
    goals = {goal.object: goal for goal in targets}

    # Receptacle -> its movable objects, with their spots on it.
    contents: dict[str, list[str]] = {}
    for goal in goals.values():
        if "pickupable" in objects[goal.object].affordances:
            entry = names[goal.object]
            spot_text = spot(goal)
            if spot_text:
                entry += f" ({spot_text})"
            contents.setdefault(goal.receptacle, []).append(entry)

    # Room -> lines of its receptacles and lids.
    rooms: dict[str, list[str]] = {}
    for item in objects.values():
        has_lid = item.id in goals and "openable" in item.affordances
        if item.id not in contents and not has_lid:
            continue
        line = f"- {names[item.id]}"
        if item.receptacle:
            line = f"- {item.receptacle} {names[item.id]}"
        if has_lid:
            line += " (open)" if goals[item.id].open else " (closed)"
        if item.receptacle:
            line += f": {', '.join(contents.get(item.id, ())) or 'nothing'}"
        room = room_of(_furniture_under(item, goals, objects))
        rooms.setdefault(room, []).append(line)

    lines = [OPENING]
    for room, room_lines in rooms.items():
        lines += [f"In the {room}:", *room_lines]
    if contents.get(""):
        lines.append(f"On the floor: {', '.join(contents[''])}.")
    lines.append(EMPTY_NOTE)
    return "\n".join(lines)


def _furniture_under(
    item: HouseObject,
    goals: Mapping[str, Restored],
    objects: Mapping[str, HouseObject],
) -> HouseObject:
    """Return the furniture that an object is in or on in the target state, or the object itself."""
    piece = item
    while True:
        holder = piece.parent
        if piece.id in goals:
            holder = goals[piece.id].receptacle
        if not holder:
            return piece
        piece = objects[holder]


# Changes in a generated home.

RequestStyle = Literal["state", "changes"]
WORDS: Mapping[str, tuple[str, ...]] = Table("sentences", "rearrangement")
MOST_CHANGES = 5  # as in the published episodes
# Share of changes that open or close a receptacle.
LID_SHARE = 0.3
# Share of receptacles that are open before the changes.
OPEN_SHARE = 0.15


def shuffle_objects(
    rng: Random,
    draft: Arrangement,
) -> tuple[list[Restored], list[Restored], dict[RequestStyle, str]] | None:
    """Displace some objects of an arrangement. None if the home offers nothing to displace.

    Returns the goals for changed and unchanged objects, and the words of each instruction.
    """
    # Receptacles that are the only ones of their type in their room have an unambiguous name.
    holders = surfaces(draft.home.scene)
    places = [(o.type, draft.room(o)) for o in holders]
    unique = [
        draft.objects[o.id]
        for o, place in zip(holders, places, strict=True)
        if places.count(place) == 1
    ]
    for item in unique:  # a lived-in home: some lids are open
        if "openable" in item.affordances and rng.random() < OPEN_SHARE:
            draft.objects[item.id] = replace(item, open=True)

    # The changes; a dictionary keeps their order.
    originals = dict(draft.objects)
    changed_ids: dict[str, None] = {}
    for _ in range(rng.randint(1, MOST_CHANGES)):
        change = _change_lid if rng.random() < LID_SHARE else _move_object
        if object_id := change(rng, draft, unique, changed_ids):
            changed_ids[object_id] = None
    if not changed_ids:
        return None
    # Goals: the original states.
    goals = {o.id: Restored(o.id, o.parent, o.open) for o in originals.values()}
    other_goals = [
        goals[o.id]
        for o in originals.values()
        if o.id not in changed_ids
        and not o.affordances.isdisjoint(("pickupable", "openable"))
    ]

    # Instructions, one sentence per change.
    lines = [rng.choice(WORDS["openings"])]
    for object_id in changed_ids:
        item = originals[object_id]
        kind = "lids"
        holder = item
        if item.type in OBJECTS:  # a small object, else a receptacle
            kind = "places"
            holder = draft.objects[item.parent]
        words = {
            "thing": spoken_name(item.type),
            "on": preposition(holder.type),
            "place": spoken_name(holder.type),
            "room": draft.room(holder),
            "open": "open" if item.open else "closed",
        }
        lines.append(rng.choice(WORDS[kind]).format(**words))
    changed_goals = [goals[object_id] for object_id in changed_ids]
    state = describe_state(draft.objects, (*changed_goals, *other_goals), draft.room)
    return changed_goals, other_goals, {"changes": " ".join(lines), "state": state}


def _change_lid(
    rng: Random,
    draft: Arrangement,
    holders: list[HouseObject],
    changed: Mapping[str, None],
) -> str:
    """Open or close one of the ``holders``, which changes ``draft``; return its id.

    Empty if none is left that is not in ``changed``.
    """
    lids = [
        o.id for o in holders if "openable" in o.affordances and o.id not in changed
    ]
    if not lids:
        return ""
    lid = rng.choice(lids)
    before = draft.objects[lid]
    draft.objects[lid] = replace(before, open=not before.open)
    return lid


def _move_object(
    rng: Random,
    draft: Arrangement,
    holders: list[HouseObject],
    changed: Mapping[str, None],
) -> str:
    """Move an object between ``holders``, which changes ``draft``; return its id.

    Empty if none is left that is not in ``changed``.
    """
    places = {o.id for o in holders}
    single = [draft.of(kind)[0] for kind in OBJECTS if len(draft.of(kind)) == 1]
    items = [o for o in single if o.parent in places and o.id not in changed]
    rng.shuffle(items)
    for item in items:
        others = [draft.objects[place] for place in sorted(places - {item.parent})]
        suitable = [o for o in others if o.type in OBJECTS[item.type].places]
        if likely := [o for o in suitable if draft.free_slots(o) >= SPARE]:
            draft.place_on(rng, item, rng.choice(likely))
            return item.id
    return ""


# The published episodes: ``rearrangement/2021_*.json`` of allenai/ai2thor-rearrangement.

SPLITS = ("2021_train", "2021_val", "2021_test")


@dataclass(frozen=True)
class PivotPose:
    """An object's pivot (metres) and heading (degrees)."""

    position: thor.Point3
    heading: float


@dataclass(frozen=True)
class Shuffle:
    """A published episode.

    ``start`` and ``target`` give object poses by name; ``openings`` (start, target)
    gives the openness of lids from 0 to 1, by name.
    """

    scene: str
    x: float
    y: float
    heading: float
    start: Mapping[str, PivotPose]
    target: Mapping[str, PivotPose]
    openings: Mapping[str, tuple[float, float]]


# Goals of a published rearrangement episode in a text world.
#
# AI2-THOR compares boxes at 3D poses and the openness of lids. ``put`` is less precise, so the
# rules are:
#
# - An object in or on the wrong receptacle is displaced. It is correct anywhere in or on the
#   right one.
# - An object at another spot on the right furniture is displaced if it is more than ``NEAR_M``
#   away in the floor plan. It is correct on that furniture within ``NEAR_M`` of its target.
#   Shorter moves, and moves of objects inside carried objects, are no changes.
# - A lid whose openness differs by more than ``LID_CHANGE`` is displaced: the wider of the two
#   openings counts as open, the narrower as closed. Other lids are open above ``LID_CHANGE``.
#
# The receptacle of an object is determined from boxes at both poses: see ``sources/thor.py``.

# An object is in place within this many metres (in the plan) of its target on its furniture.
NEAR_M = 0.5
# Change in openness that counts as a change; the source's own threshold.
LID_CHANGE = 0.2
# Minimum difference between two poses in metres; less is rounding.
MOVED_M = 0.01
# Maximum height (metres) of an unsupported object that counts as lying on the floor.
LOW_M = 0.15
NOWHERE = "nowhere"
"""Receptacle of an object that hangs in the air according to the published boxes."""

START = 0
# Moments of an episode: the index of a start and of a target in its pairs of values.
TARGET = 1

Cause = Literal["", "nothing_displaced", "unknown_object", "target_on_nothing_known"]
"""Reason to omit an episode: no change counts under these rules; a moved object is not in the
metadata; a target is neither on the floor nor in or on any object with a published box."""


@dataclass(frozen=True)
class JudgedStart:
    """An episode in a text world.

    The initial ``records`` with their receptacles, and goals for ``displaced`` objects
    and for ``others``, which have to stay as they are.
    """

    records: thor.Records
    displaced: tuple[Restored, ...]
    others: tuple[Restored, ...]
    most_held: Mapping[str, int]
    """Receptacle -> the larger of its initial and target numbers of objects."""
    spots: Mapping[str, tuple[float, float]]
    """Target center (x east, y north, metres) of each portable object."""


def judge(published: thor.Records, shuffled: Shuffle) -> JudgedStart:
    """Return the goals of an episode in a scene with these objects."""
    goals = _displaced_goals(published, shuffled)
    objects = list(filter(thor.is_object, published))
    first = tuple(_record_at(r, shuffled, START) for r in objects)
    last = tuple(_record_at(r, shuffled, TARGET) for r in objects)
    holder_of = _holders(first)
    last_holder_of = _holders(last)
    # Objects that can be moved or opened and were not displaced must stay.
    displaced_ids = {goal.object for goal in goals}
    others = tuple(
        Restored(r.id, holder_of.get(r.id, ""), "isOpen" in r.flags)
        for r in first
        if (r.pickupable or "openable" in r.flags) and r.id not in displaced_ids
    )
    held_records = tuple(
        replace(r, parents=(holder_of.get(r.id, "Floor"),)) for r in first
    )
    # The larger count of both arrangements: each needs its places.
    most_held = Counter(holder_of.values()) | Counter(last_holder_of.values())
    spots = {r.id: r.center[:2] for r in last if r.pickupable}
    return JudgedStart(held_records, goals, others, most_held, spots)


def omission_cause(published: thor.Records, shuffled: Shuffle) -> Cause:
    """Return the reason to omit an episode; empty to keep it."""
    goals = _displaced_goals(published, shuffled)
    names = {record.name for record in published}
    for name, pose in shuffled.target.items():
        if name not in names and _is_moved(shuffled.start.get(name, pose), pose):
            return "unknown_object"
    if any(goal.receptacle == NOWHERE for goal in goals):
        return "target_on_nothing_known"
    return "" if goals else "nothing_displaced"


def _displaced_goals(
    published: thor.Records,
    shuffled: Shuffle,
) -> tuple[Restored, ...]:
    """Return goals for the displaced objects, by the rules at the head of this part.

    An object is displaced by its lid, its receptacle, or its spot on furniture. The receptacle of a
    goal is "" for the floor, and ``NOWHERE`` where no published box is under the target.
    """
    # Every object at its initial and at its target pose: receptacles move as well.
    objects = list(filter(thor.is_object, published))
    receptacles = list(filter(thor.preposition, objects))
    before = [_record_at(r, shuffled, START) for r in receptacles]
    after = [_record_at(r, shuffled, TARGET) for r in receptacles]
    goals = []
    for r in objects:
        start = shuffled.start.get(r.name)
        target = shuffled.target.get(r.name)
        is_moved = start and target and _is_moved(start, target)
        if not is_moved and r.name not in shuffled.openings:
            continue  # neither its pose nor its lid is in the episode
        first = _record_at(r, shuffled, START)
        last = _record_at(r, shuffled, TARGET)
        is_open = "isOpen" in last.flags

        # A lid of furniture: its support remains as published.
        if not first.pickupable:
            if first.flags != last.flags:
                support = ""
                if thor.can_lie_on(first):
                    holder_of = thor.find_holders((*before, first), [first])
                    support = holder_of.get(first.id, "")
                goals.append(Restored(first.id, support, is_open))
            continue

        # A small object in or on another receptacle, or at another spot of the same furniture.
        start_on = _holder(first, before)
        end_on = _holder(last, after)
        end_spot = last.center[:2]
        if end_on is None:
            if start_on is not None:
                receptacle = "" if last.bottom <= LOW_M else NOWHERE
                goals.append(Restored(first.id, receptacle, is_open))
        elif start_on is None or start_on.id != end_on.id:
            goals.append(Restored(first.id, end_on.id, is_open))
        elif not end_on.pickupable and math.dist(first.center[:2], end_spot) > NEAR_M:
            goals.append(
                Restored(
                    first.id,
                    end_on.id,
                    is_open,
                    at=end_spot,
                    within=NEAR_M,
                )
            )
    return tuple(goals)


def _is_moved(start: PivotPose, target: PivotPose) -> bool:
    """True if an object's center is farther from its target than ``MOVED_M``."""
    return math.dist(start.position, target.position) > MOVED_M


def _holders(records: thor.Records) -> dict[str, str]:
    """Map objects to receptacles; furniture and objects standing on it remain as published."""
    carriers = thor.find_holders(
        records,
        [r for r in records if not r.pickupable and thor.can_lie_on(r)],
    )
    receptacles = [record for record in records if thor.preposition(record)]
    for record in records:
        if record.pickupable and (best := _holder(record, receptacles)) is not None:
            carriers[record.id] = best.id
    return carriers


def _holder(
    item: thor.ObjectRecord,
    holders: list[thor.ObjectRecord],
) -> thor.ObjectRecord | None:
    """Return the receptacle of an item; low items may stand on the floor."""
    return thor.find_holder(item, holders, use_nearest=item.bottom > LOW_M)


def _record_at(
    record: thor.ObjectRecord,
    shuffled: Shuffle,
    moment: int,
) -> thor.ObjectRecord:
    """Return the record of an object at the ``START`` or ``TARGET`` of an episode."""
    pose = (shuffled.start, shuffled.target)[moment].get(record.name)
    if pose is not None:
        record = thor.move_record(record, pose.position, pose.heading)
    openings = shuffled.openings.get(record.name)
    if openings is None:
        return record
    if abs(openings[START] - openings[TARGET]) > LID_CHANGE:
        is_open = openings[moment] == max(openings)
    else:
        is_open = min(openings) > LID_CHANGE
    flags = record.flags - {"isOpen"}
    if is_open:
        flags |= {"isOpen"}
    return replace(record, flags=flags)


CACHED_SCENES = 64  # enough for episodes that are played side by side


class PublishedEpisodes:
    """The 2021 episodes of a split, ``{scene}_{split}_{number}``, in file order.

    ``number`` is the episode's index in its scene. ``body`` is the actor's; ``form`` decides
    whether the request describes changes or the target state. ``omissions`` counts the episodes
    left out, by ``Cause``.
    """

    def __init__(
        self,
        split: str,
        folder: Path | None,
        body: Body,
        form: RequestStyle,
    ) -> None:
        self._folder = folder = require_data(folder, f"rearrangement:{split}")
        self._split = split
        self._body = body
        self._request_form = form
        self._path = find(folder, f"rearrangement/{split}.json")

        # All published episodes, by scene and index.
        self._scenes = read_json(self._path, dict)  # scene -> episodes
        places: list[tuple[str, int]] = []
        for scene in self._scenes:
            records = read_field(self._path, "", self._scenes, scene, list)
            places += [(scene, number) for number in range(len(records))]

        # Omissions take a geometric judgment of every episode, so they are cached.
        def survey() -> list[Cause]:
            """Return the cause of omission of each published episode; empty if it is
            kept."""
            episodes = (self._read(*place) for place in places)
            return [
                omission_cause(ithor.records(folder, each.scene), each)
                for each in episodes
            ]

        sources = (self._path, *ithor.files(folder, ()).values())
        causes = cached_json("rearrangement-1", sources, survey)
        self.omissions: Mapping[str, int] = dict(Counter(filter(None, causes)))
        self._places = {
            f"{scene}_{split}_{number}": (scene, number)
            for (scene, number), cause in zip(places, causes, strict=True)
            if not cause
        }

        # Tasks by number. Scenes and starts are cached: an episode needs them several times.
        self._ids = list(self._places)
        self.tasks: Sequence[Task] = DrawnTasks(
            len(self._ids),
            self._task,
            self._ids.__getitem__,
        )
        self._load_scene = lru_cache(maxsize=CACHED_SCENES)(self._build)
        self._load_start = lru_cache(maxsize=CACHED_SCENES)(self._judge)

    @property
    def files(self) -> Mapping[str, Path]:
        """Files that the episodes are read from, for checksums."""
        scenes = sorted({scene for scene, _ in self._places.values()})
        published = {f"rearrangement/{self._path.name}": self._path}
        return published | ithor.files(self._folder, scenes)

    def _read(self, scene: str, number: int) -> Shuffle:
        """Read a published episode. Raises ``DataError`` naming episode and field.

        ``number`` is its index in the scene. Lengths are metres, headings degrees, and the
        openness of a lid goes from 0 to 1.
        """
        path = self._path
        raw = self._scenes[scene][number]
        where = f"{scene}, episode {number}"

        read = partial(read_field, path, where)

        def poses(name: str) -> dict[str, PivotPose]:
            """Return the poses of a record's list, by object. Raises ``DataError``."""
            by_name = {}
            at = f"{where}, {name}"
            for each in read(raw, name, list):
                turn = read_field(path, at, each, "rotation", dict)
                heading = float(read_field(path, at, turn, "y", NUMBER))
                position = thor.read_point(path, at, each, "position")
                object_name = read_field(path, at, each, "name", str)
                by_name[object_name] = PivotPose(position, heading)
            return by_name

        x, y, _ = thor.read_point(path, where, raw, "agent_position")
        heading = absolute(float(read(raw, "agent_rotation", NUMBER)))
        openings = {
            read(each, "name", str): (
                float(read(each, "start_openness", NUMBER)),
                float(read(each, "target_openness", NUMBER)),
            )
            for each in read(raw, "openable_data", list)
        }
        start = poses("starting_poses")
        target = poses("target_poses")
        return Shuffle(scene, x, y, heading, start, target, openings)

    def world(self, episode: Episode) -> HouseholdWorld:
        """Return the room in the state that the episode starts in."""
        scene, layout = self._load_scene(str(episode.start["arrangement"]))
        return HouseholdWorld(
            scene,
            self._body,
            named=True,
            spots=True,
            layout=layout,
        )

    def _judge(self, name: str) -> tuple[Shuffle, JudgedStart]:
        """Return an episode's poses and what has to be restored. Raises ``UsageError``
        if unknown."""
        if name not in self._places:
            raise UsageError(
                f"rearrangement: {self._path.name} has no episode {name!r}"
            )
        shuffled = self._read(*self._places[name])
        return shuffled, judge(ithor.records(self._folder, shuffled.scene), shuffled)

    def _build(self, name: str) -> tuple[Scene, Layout]:
        """Build the scene of an episode's start, and its layout."""
        shuffled, judged = self._load_start(name)
        scene = ithor.from_records(self._folder, shuffled.scene, judged.records)
        # A receptacle has room for all its initial and target objects; 0 is no limit.
        objects = []
        for item in scene.objects:
            held = judged.most_held.get(item.id, 0)
            if item.capacity and held > item.capacity:
                item = replace(item, capacity=held)
            objects.append(item)
        scene = replace(scene, objects=tuple(objects))
        return scene, ithor.layout(self._folder, shuffled.scene, scene)

    def _task(self, number: int) -> Task:
        """Return the task of a published episode.

        The actor starts at the standing position nearest to the published one. The request
        describes the target state of every object, or only the changes, by the request's form.
        """
        name = self._ids[number]
        shuffled, judged = self._load_start(name)
        (x, y), _ = ithor.start(
            self._folder,
            shuffled.scene,
            shuffled.x,
            shuffled.y,
        )
        pose = {"x": x, "y": y, "heading": shuffled.heading}
        start = {
            "scene": shuffled.scene,
            "arrangement": name,
            "poses": {"agent": pose},
        }
        # Furniture and names are those of the published scene, built once per room.
        room = ithor.scene(self._folder, shuffled.scene)
        objects = room.by_id()

        def spot(goal: Restored) -> str:
            """Return the target spot of an object on long furniture, else empty."""
            point = judged.spots.get(goal.object)
            holder = objects.get(goal.receptacle)
            if point is None or holder is None or not holder.is_long:
                return ""
            return spot_words((point[0] - holder.x, point[1] - holder.y))

        if self._request_form == "state":
            goals = [
                g for g in (*judged.displaced, *judged.others) if g.object in objects
            ]
            words = describe_state(
                objects, goals, lambda each: ithor.room_of(room.name), spot
            )
        else:
            words = describe_changes(Random(name), room, judged.displaced)
        reference = RearrangementReference(
            name,
            "rearrangement",
            judged.displaced,
            others=judged.others,
        )
        return Task(Episode(name, words, shuffled.scene, start), reference)


def describe_changes(rng: Random, scene: Scene, goals: Sequence[Restored]) -> str:
    """Describe the goals, each object by its name in a world where all objects are named."""
    names = names_of(scene.objects)
    objects = scene.by_id()
    lines = []
    for goal in goals:
        item = objects[goal.object]
        holder = objects.get(goal.receptacle)
        words = {"thing": names[item.id], "place": names[item.id]}
        if "pickupable" not in item.affordances:
            kind = "room_lids"
            words["open"] = "open" if goal.open else "closed"
        elif holder is None:
            kind = "floors"
        else:
            kind = "room_places"
            words |= {"on": holder.receptacle, "place": names[holder.id]}
            if goal.at is not None:
                kind = "spots"
                x, y = goal.at
                words["spot"] = spot_words((x - holder.x, y - holder.y))
        line = rng.choice(WORDS[kind]).format_map(words)
        lines.append(line[0].upper() + line[1:])
    return " ".join((rng.choice(WORDS["openings"]), *lines))


# The dataset.


@dataclass(frozen=True)
class RearrangementSettings(homes.HomesSettings):
    """``request`` is the form of the request: ``state`` describes the full former state (as in
    LangSuitE), so an agent has to find the changes itself; ``changes`` describes only the targets
    of the changed objects, which is easier."""

    request: RequestStyle = "state"


class Rearrangement(homes.SourcedTasks):
    """Homes in which some objects are displaced.

        >>> tidy = Rearrangement(settings=Rearrangement.Settings(episodes=3))
        >>> 1 <= tidy.tasks[0].reference.parts() <= 5
        True

    An object is in or on the wrong receptacle, or a receptacle is open instead of closed, or the
    reverse. All changes must be undone (``sr``), and any other disturbed object counts against the
    agent: ``sr_strict``, ``misplaced`` and ``fixed_strict``. An object is in place at any spot in
    or on the right receptacle.

    Splits ``generated_test`` and ``generated_train``: one to five changes in generated homes.

    Splits ``2021_train``, ``2021_val``, ``2021_test``: the published episodes of Weihs et al.
    (2021) in iTHOR's rooms. An object that moved along one piece of furniture is in place within
    half a metre of its target. ``omissions`` counts the omitted episodes by cause. Only
    ``actions``, ``body`` and ``request`` apply to published splits.
    """

    name = "rearrangement"
    Settings = RearrangementSettings
    splits = (*homes.GENERATED, *SPLITS)
    published_train = SPLITS[0]
    redrawn = (
        f"in place: on the right receptacle, within {NEAR_M:g} m along it; "
        "boxes are not compared"
    )
    max_steps = 1000

    def source(self, split: str) -> homes.EpisodeSource:
        """Return the episodes of a split: published rooms, or generated homes."""
        form = self.settings.request
        if split in SPLITS:
            return PublishedEpisodes(
                split,
                self.folder,
                self.settings.make_body(),
                form,
            )
        seed = "{scene}/rearrangement"  # requests for the full state name every object
        draw = self._draw
        named = form == "state"
        return homes.Generated(
            split,
            self.settings,
            draw,
            seed=seed,
            identify=_episode_id,
            named=named,
        )

    def _draw(
        self,
        rng: Random,
        draft: Arrangement,
        arrangement: str,
    ) -> Task | None:
        """Draw changes in a home; None if they cannot be requested in words."""
        drawn_goals = shuffle_objects(rng, draft)
        scene = draft.home.name
        if drawn_goals is None:
            return None
        changed_goals, other_goals, words = drawn_goals
        name = _episode_id(scene, arrangement)
        start = homes.draw_start(rng, draft.home, arrangement)
        reference = RearrangementReference(
            name,
            "rearrangement",
            tuple(changed_goals),
            others=tuple(other_goals),
        )
        return Task(
            Episode(
                name,
                words[self.settings.request],
                scene,
                start,
            ),
            reference,
        )

    def rules(self) -> str:
        """Return the rules for actors, which depend on the form of the request."""
        return read_rules(f"rearrangement_{self.settings.request}")


def _episode_id(scene: str, arrangement: str) -> str:
    """Return an episode's id."""
    return f"{scene}_rearrangement_{arrangement}"


dataset = Rearrangement
