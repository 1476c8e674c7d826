"""Rearrangement: put back what was displaced, in generated homes and in iTHOR's rooms.

In generated homes there are one to five changes, as in the published episodes: a thing moved to
another likely place, or a receptacle opened or shut. What is changed can be named without doubt:
the only thing of its type in the home, the only receptacle of its type in its room. How it should
be is told in words: what lies where, and which lids are shut.

Source: Weihs et al. 2021, "Visual Room Rearrangement".
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.core.errors import DataError, UsageError
from wayword.core.files import find, read_field, read_json, remembered
from wayword.core.geometry import absolute, bearing
from wayword.datasets.procedural.homes import episodes as homes
from wayword.datasets.procedural.homes.chores import preposition as said_of
from wayword.datasets.procedural.homes.chores import spoken
from wayword.datasets.procedural.homes.home import surfaces
from wayword.datasets.procedural.homes.objects import OBJECTS, SPARE, Arrangement, names_of
from wayword.datasets.procedural.tables import Table
from wayword.datasets.sources import ithor, thor
from wayword.verbalize.generic import COMPASS
from wayword.worlds.household.goals import RearrangementReference, Restored
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject, Point, Scene
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

OPENING = "Put this home back in order. This is how everything was:"
EMPTY = "Whatever is not listed held nothing."
Spot = Callable[[Restored], str]
"""Where on its receptacle a thing should be, empty where any place there will do."""


def inventory(
    objects: Mapping[str, HouseObject],
    wanted: Iterable[Restored],
    room_of: Callable[[HouseObject], str],
    spot: Spot = lambda goal: "",
) -> str:
    """How everything should be, room by room and receptacle by receptacle, a line each.

    ``objects`` are those of the scene, in its order; ``wanted`` how each thing that can be moved or
    opened should be. Fixed furniture, whose place never changes, says which room a line is in.
    """
    names, goals = names_of(objects.values()), {goal.thing: goal for goal in wanted}
    held: dict[str, list[str]] = {}
    for goal in goals.values():
        if "pickupable" in objects[goal.thing].affordances:
            where = spot(goal)
            told = f"{names[goal.thing]}{f' ({where})' if where else ''}"
            held.setdefault(goal.receptacle, []).append(told)
    rooms: dict[str, list[str]] = {}
    for each in objects.values():
        lid = each.id in goals and "openable" in each.affordances
        if each.id in held or lid:
            room = room_of(_standing(each, objects, goals))
            rooms.setdefault(room, []).append(_line(each, names, goals, held.get(each.id, [])))
    lines = [line for room, there in rooms.items() for line in (f"In the {room}:", *there)]
    floor = [f"On the floor: {', '.join(held[''])}."] if held.get("") else []
    return "\n".join((OPENING, *lines, *floor, EMPTY))


def _standing(
    each: HouseObject, objects: Mapping[str, HouseObject], goals: Mapping[str, Restored]
) -> HouseObject:
    """The furniture that a thing should be in or on in the end, the outermost; else itself."""
    under = goals[each.id].receptacle if each.id in goals else each.parent
    return _standing(objects[under], objects, goals) if under else each


def _line(
    each: HouseObject, names: Mapping[str, str], goals: Mapping[str, Restored], held: list[str]
) -> str:
    state = ""
    if each.id in goals and "openable" in each.affordances:
        state = " (open)" if goals[each.id].open else " (closed)"
    if not each.receptacle:
        return f"- {names[each.id]}{state}"
    return f"- {each.receptacle} {names[each.id]}{state}: {', '.join(held) or 'nothing'}"


# What somebody changed.

WORDS: Mapping[str, tuple[str, ...]] = Table("sentences", "rearrangement")
MOST_CHANGES = 5
SWUNG = 0.3
"""Share of the changes that open or shut something."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """``changed`` and ``others`` say how things should be; ``changes`` tells what changed,
    ``state`` how everything was."""

    changed: tuple[Restored, ...]
    others: tuple[Restored, ...]
    changes: str
    state: str


def shuffle(rng: random.Random, made: Arrangement) -> Shuffle | None:
    """Change some things of an arrangement. None where the home offers nothing to change."""
    named = _named(made)
    for thing in named:  # a home as people leave it: some lids are open
        if "openable" in thing.affordances and rng.random() < 0.15:
            made.objects[thing.id] = replace(thing, open=True)
    wanted = dict(made.objects)
    changed: list[HouseObject] = []
    for _ in range(rng.randint(1, MOST_CHANGES)):
        swings = rng.random() < SWUNG
        one = _swing(rng, made, named, changed) if swings else _move(rng, made, named, changed)
        if one is not None:
            changed.append(one)
    if not changed:
        return None
    goals = tuple(_as_was(wanted[one.id]) for one in changed)
    names = {goal.thing for goal in goals}
    others = tuple(_as_was(o) for o in wanted.values() if o.id not in names and _moves(o))
    lines = [
        rng.choice(WORDS["openings"]),
        *(_change(rng, made, wanted[one.id]) for one in changed),
    ]
    state = inventory(made.objects, (*goals, *others), made.room)
    return Shuffle(goals, others, " ".join(lines), state)


def _named(made: Arrangement) -> list[HouseObject]:
    """Receptacles that are the only ones of their type in their room."""
    found = surfaces(made.home.scene)
    places = [(o.type, made.room(o)) for o in found]
    return [made.objects[o.id] for o, p in zip(found, places, strict=True) if places.count(p) == 1]


def _swing(
    rng: random.Random, made: Arrangement, named: list[HouseObject], changed: list[HouseObject]
) -> HouseObject | None:
    done = {one.id for one in changed}
    lids = [o.id for o in named if "openable" in o.affordances and o.id not in done]
    if not lids:
        return None
    lid = made.objects[rng.choice(lids)]
    made.objects[lid.id] = replace(lid, open=not lid.open)
    return lid


def _move(
    rng: random.Random, made: Arrangement, named: list[HouseObject], changed: list[HouseObject]
) -> HouseObject | None:
    done, places = {one.id for one in changed}, {o.id for o in named}
    single = [made.of(kind)[0] for kind in OBJECTS if len(made.of(kind)) == 1]
    things = [o for o in single if o.parent in places and o.id not in done]
    rng.shuffle(things)
    for thing in things:
        likely = [
            made.objects[place]
            for place in sorted(places - {thing.parent})
            if made.objects[place].type in OBJECTS[thing.type].places
            and made.space(made.objects[place]) >= SPARE
        ]
        if likely:
            made.lay(rng, thing, rng.choice(likely))
            return thing
    return None


def _moves(thing: HouseObject) -> bool:
    return not thing.affordances.isdisjoint(("pickupable", "openable"))


def _as_was(thing: HouseObject) -> Restored:
    return Restored(thing.id, thing.parent, thing.open)


def _change(rng: random.Random, made: Arrangement, thing: HouseObject) -> str:
    if thing.type in OBJECTS:
        under = made.objects[thing.parent]
        return rng.choice(WORDS["places"]).format(
            thing=spoken(thing.type),
            on=said_of(under.type),
            place=spoken(under.type),
            room=made.room(under),
        )
    state = "open" if thing.open else "closed"
    return rng.choice(WORDS["lids"]).format(
        place=spoken(thing.type), room=made.room(thing), open=state
    )


# The published rearrangement episodes: where things are at first, and where they should be.
#
# Source: Weihs et al. 2021, "Visual Room Rearrangement"; the 2021 episodes of
# allenai/ai2thor-rearrangement, ``rearrangement/2021_*.json`` of the data folder.

SPLITS = ("2021_train", "2021_val", "2021_test")


@dataclass(frozen=True, slots=True)
class PivotPose:
    """Where an object's pivot is (x east, y north, z up, metres) and its heading (degrees)."""

    position: thor.Point3
    heading: float


@dataclass(frozen=True, slots=True)
class Shuffled:
    """One published episode. ``start`` and ``target`` give the pose of things by name, ``openings``
    (start, target) how far lids are open, from 0 to 1, by name."""

    scene: str
    number: int
    x: float
    y: float
    heading: float
    start: Mapping[str, PivotPose]
    target: Mapping[str, PivotPose]
    openings: Mapping[str, tuple[float, float]]


class PublishedShuffles:
    """The episodes of a file, in its order: ``places`` are scene and number of each.

    Raises ``DataError`` for a file that holds none, and naming episode and field where one is read.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._scenes = path, read_json(path)
        if not isinstance(self._scenes, dict):
            raise DataError(path, "", "is not a mapping from scenes to episodes", "fetch it again")
        self.places = [
            (scene, number)
            for scene in self._scenes
            for number in range(len(read_field(path, "", self._scenes, scene, list)))
        ]

    def read(self, scene: str, number: int) -> Shuffled:
        """One episode."""
        return _shuffled(self._path, scene, number, self._scenes[scene][number])


def _shuffled(path: Path, scene: str, number: int, raw: Any) -> Shuffled:
    where = f"{scene}, episode {number}"
    x, y, _ = thor.read_point(path, where, raw, "agent_position")
    openings = {
        read_field(path, where, each, "name", str): (
            float(read_field(path, where, each, "start_openness", (int, float))),
            float(read_field(path, where, each, "target_openness", (int, float))),
        )
        for each in read_field(path, where, raw, "openable_data", list)
    }
    return Shuffled(
        *(scene, number, x, y),
        absolute(float(read_field(path, where, raw, "agent_rotation", (int, float)))),
        _poses(path, where, raw, "starting_poses"),
        _poses(path, where, raw, "target_poses"),
        openings,
    )


def _poses(path: Path, where: str, raw: Any, name: str) -> dict[str, PivotPose]:
    found = {}
    for each in read_field(path, where, raw, name, list):
        try:
            called, heading = each["name"], each["rotation"]["y"] + 0.0
        except (KeyError, TypeError):  # say which field of which record it is
            turn = read_field(path, f"{where}, {name}", each, "rotation", dict)
            heading = float(read_field(path, f"{where}, {name}, rotation", turn, "y", (int, float)))
            called = read_field(path, f"{where}, {name}", each, "name", str)
        found[called] = PivotPose(
            thor.read_point(path, f"{where}, {name}", each, "position"), heading
        )
    return found


# What a published rearrangement episode asks for in a world of words.
#
# AI2-THOR compares poses in space: a thing is right when its box overlaps the target's by half, a
# lid when it is open to within 0.2 of the target. Nobody aims like that by ``put``, so here:
#
# - A thing that lies in or on another receptacle than it should is displaced. It is right again
#   in or on the right one, wherever there.
# - A thing that lies elsewhere on the same piece of furniture is displaced when that is more than
#   ``NEAR`` away in the plan. It is right again within ``NEAR`` of its target, on that furniture.
#   Shorter moves, and those of things within things that are carried, are no changes.
# - A lid whose opening differs by more than ``LID`` is displaced: open is the wider of the two
#   openings, closed the narrower. Lids that differ by less are what they are: open above ``LID``.
#
# What a thing is in or on is judged by boxes at both poses: see ``support``.

NEAR = 0.5
"""Metres in the plan within which a thing is where it should be on its furniture."""
LID = 0.2
"""Share of the opening that counts as a change; the source's own threshold."""
MOVED = 0.01
"""Metres by which a pose differs from another; less is rounding."""
LOW = 0.15
"""Metres above the floor up to which a thing that is in or on nothing lies on the floor."""

NOWHERE = "nowhere"
"""What a thing should be in or on that hangs in the air by the published boxes."""

Cause = Literal["", "nothing_displaced", "unknown_object", "target_on_nothing_known"]
"""Why an episode is left out: no change is one here; a thing that moves is not in the metadata; a
target is neither on the floor nor in or on anything whose box is published."""


@dataclass(frozen=True, slots=True)
class JudgedStart:
    """What an episode comes to: the ``records`` of its start, each with what it is in or on; goals
    for what is ``displaced`` and for ``others``; or the ``cause`` why it is left out."""

    records: thor.Records = ()
    displaced: tuple[Restored, ...] = ()
    others: tuple[Restored, ...] = ()
    crowds: Mapping[str, int] = field(default_factory=dict)
    """Receptacle -> how many things it holds at the start or should hold, whichever is more."""
    cause: Cause = ""
    spots: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Where (x east, y north, metres) the middle of each thing that can be carried should be."""


def judge(published: thor.Records, shuffled: Shuffled) -> JudgedStart:
    """What an episode asks for in a scene with these objects."""
    goals = _displaced(published, shuffled)
    why = cause(published, shuffled, goals)
    if why:
        return JudgedStart(cause=why)
    first, last = (tuple(_then(r, shuffled, which) for r in _things(published)) for which in (0, 1))
    under, over = _under(first), _under(last)
    named = {goal.thing for goal in goals}
    others = tuple(
        Restored(r.id, under.get(r.id, ""), "isOpen" in r.flags)
        for r in first
        if (r.pickupable or "openable" in r.flags) and r.id not in named
    )
    settled = tuple(replace(r, parents=(under.get(r.id, "Floor"),)) for r in first)
    crowds = Counter(under.values()) | Counter(over.values())
    spots = {r.id: r.centre[:2] for r in last if r.pickupable}
    return JudgedStart(settled, goals, others, crowds, spots=spots)


def cause(
    published: thor.Records, shuffled: Shuffled, goals: tuple[Restored, ...] | None = None
) -> Cause:
    """Why an episode is left out; empty where it is not."""
    goals = _displaced(published, shuffled) if goals is None else goals
    names = {record.name for record in published}
    for name, pose in shuffled.target.items():
        if name not in names and _away(pose, shuffled.start.get(name, pose)) > MOVED:
            return "unknown_object"
    if any(goal.receptacle == NOWHERE for goal in goals):
        return "target_on_nothing_known"
    return "" if goals else "nothing_displaced"


def _displaced(published: thor.Records, shuffled: Shuffled) -> tuple[Restored, ...]:
    """How the displaced things should be."""
    things = _things(published)
    receptacles = [r for r in things if thor.preposition(r)]
    ways = [[_then(r, shuffled, which) for r in receptacles] for which in (0, 1)]
    goals = []
    for r in things:
        start, target = shuffled.start.get(r.name), shuffled.target.get(r.name)
        moves = start is not None and target is not None and _away(start, target) > MOVED
        if moves or r.name in shuffled.openings:
            goals.append(_goal(_then(r, shuffled, 0), _then(r, shuffled, 1), ways))
    return tuple(goal for goal in goals if goal is not None)


def _goal(
    now: thor.ObjectRecord, then: thor.ObjectRecord, ways: list[list[thor.ObjectRecord]]
) -> Restored | None:
    """How a thing should be that differs in the two records; None where that is no change."""
    lid = "isOpen" in then.flags
    if not now.pickupable:
        return Restored(now.id, _still(now, ways[0]), lid) if now.flags != then.flags else None
    here, there = _carrier(now, ways[0]), _carrier(then, ways[1])
    if (here and here.id) != (there and there.id):
        floor = "" if then.bottom <= LOW else NOWHERE
        return Restored(now.id, there.id if there else floor, lid)
    x, y, _ = then.centre
    if there is None or there.pickupable or math.dist(now.centre[:2], (x, y)) <= NEAR:
        return None
    return Restored(now.id, there.id, lid, at=(x, y), within=NEAR)


def _under(records: thor.Records) -> dict[str, str]:
    """Thing -> what it is in or on; furniture and what stands on it as published."""
    found = thor.parents(records, [r for r in records if not r.pickupable and thor.lies(r)])
    receptacles = [record for record in records if thor.preposition(record)]
    for record in records:
        if record.pickupable:
            best = _carrier(record, receptacles)
            if best is not None:
                found[record.id] = best.id
    return found


def _carrier(
    record: thor.ObjectRecord, receptacles: list[thor.ObjectRecord]
) -> thor.ObjectRecord | None:
    return thor.carrier(record, receptacles, loose=record.bottom > LOW)


def _still(record: thor.ObjectRecord, receptacles: list[thor.ObjectRecord]) -> str:
    """What a fixed thing stands on, as published."""
    found = thor.parents((*receptacles, record), [record]) if thor.lies(record) else {}
    return found.get(record.id, "")


def _things(published: thor.Records) -> thor.Records:
    return tuple(record for record in published if record.label not in thor.NO_THING)


def _then(record: thor.ObjectRecord, shuffled: Shuffled, which: int) -> thor.ObjectRecord:
    """An object at the start (0) of an episode, or as it should be (1)."""
    pose = (shuffled.start, shuffled.target)[which].get(record.name)
    record = record if pose is None else thor.moved(record, pose.position, pose.heading)
    both = shuffled.openings.get(record.name)
    if both is None:
        return record
    changes = abs(both[0] - both[1]) > LID
    opens = both[which] == max(both) if changes else min(both) > LID
    flags = record.flags | {"isOpen"} if opens else record.flags - {"isOpen"}
    return replace(record, flags=flags)


def _away(one: PivotPose, other: PivotPose) -> float:
    return math.dist(one.position, other.position)


BESIDE = 1.0
"""Metres from a place up to which it is told from something that stands alone."""
IN_ROWS = frozenset(("cabinet", "drawer", "shelf", "stove_burner", "stove_knob", "chair", "window"))
"""Types of which there are many alike."""
KEPT = 64
"""Scenes held in memory at a time."""


@dataclass(frozen=True, eq=False, slots=True)
class RoomScene:
    """An episode's scene, and the parts of it that never move."""

    scene: Scene
    layout: Layout


class Published:
    """The 2021 episodes of a split, ``{scene}_{split}_{number}``, in file order.

    Things go by the names they have in the world from the start (``drawer_3``), as the request must
    tell one drawer from another. ``omissions`` counts the episodes left out, by cause: see
    ``restoring.Cause``.
    """

    def __init__(
        self, split: str, folder: Path | None, body: Body, told: Literal["state", "changes"]
    ) -> None:
        if folder is None:
            raise UsageError(f"rearrangement:{split} needs data; name its folder with --data")
        self._folder, self._split, self._body, self._told = folder, split, body, told
        self._path = find(folder, f"rearrangement/{split}.json")
        self._published = PublishedShuffles(self._path)
        sources = (self._path, *ithor.files(folder, ()).values())
        causes = remembered("rearrangement-1", sources, self._causes)
        pairs = list(zip(self._published.places, causes, strict=True))
        self.omissions: Mapping[str, int] = dict(Counter(why for _, why in pairs if why))
        self._places = {f"{scene}_{split}_{n}": (scene, n) for (scene, n), why in pairs if not why}
        self._ids = list(self._places)
        self.tasks: Sequence[Task] = DrawnTasks(len(self._ids), self._task, self._ids.__getitem__)
        self._room = lru_cache(maxsize=KEPT)(self._build)
        self._judged = lru_cache(maxsize=KEPT)(self._judge)

    @property
    def files(self) -> Mapping[str, Path]:
        scenes = sorted({scene for scene, _ in self._places.values()})
        own = {f"rearrangement/{self._path.name}": self._path}
        return own | ithor.files(self._folder, scenes)

    def _causes(self) -> list[Cause]:
        """Why each episode is left out; empty where it is not."""
        found = (self._published.read(*place) for place in self._published.places)
        return [cause(ithor.records(self._folder, each.scene), each) for each in found]

    def _shuffled(self, name: str) -> Shuffled:
        if name not in self._places:
            raise UsageError(f"rearrangement: no episode {name!r} in {self._path.name}")
        return self._published.read(*self._places[name])

    def world(self, episode: Episode) -> HouseholdWorld:
        room = self._room(str(episode.start["arrangement"]))
        return HouseholdWorld(room.scene, self._body, named=True, layout=room.layout)

    def start_away(self, number: int) -> float:
        """How far (metres) the published place of a task's start is from the cell it begins on."""
        each = self._shuffled(self._ids[number])
        return ithor.start(self._folder, each.scene, each.x, each.y)[1]

    def _judge(self, name: str) -> tuple[Shuffled, JudgedStart]:
        each = self._shuffled(name)
        return each, judge(ithor.records(self._folder, each.scene), each)

    def _build(self, name: str) -> RoomScene:
        each, judged = self._judged(name)
        scene = ithor.from_records(self._folder, each.scene, judged.records)
        scene = replace(scene, objects=tuple(_roomy(o, judged) for o in scene.objects))
        return RoomScene(scene, ithor.layout(self._folder, each.scene, scene))

    def _task(self, number: int) -> Task:
        name = self._ids[number]
        each, judged = self._judged(name)
        (x, y), _ = ithor.start(self._folder, each.scene, each.x, each.y)
        pose = {"x": x, "y": y, "heading": each.heading}
        start = {"scene": each.scene, "arrangement": name, "poses": {"agent": pose}}
        # Furniture and names are those of the published scene, which is made once a room.
        room = ithor.scene(self._folder, each.scene)
        if self._told == "state":
            words = as_it_was(room, judged)
        else:
            words = request(random.Random(name), room, judged.displaced)
        reference = RearrangementReference(
            name, "rearrangement", judged.displaced, others=judged.others
        )
        return Task(Episode(name, words, each.scene, start), reference)


def request(rng: random.Random, scene: Scene, goals: Sequence[Restored]) -> str:
    """How things should be, in words, each by its name in a world whose things are all named."""
    called = names_of(scene.objects)
    lines = [_told(rng, scene, goal, called) for goal in goals]
    return " ".join(
        [rng.choice(WORDS["openings"]), *(line[0].upper() + line[1:] for line in lines)]
    )


def as_it_was(scene: Scene, judged: JudgedStart) -> str:
    """How everything was, in words; a spot is told for what lies on long furniture."""
    objects = {o.id: o for o in scene.objects}
    names = names_of(scene.objects)

    def spot(goal: Restored) -> str:
        at, under = judged.spots.get(goal.thing), objects.get(goal.receptacle)
        if at is None or under is None or "pickupable" in under.affordances:
            return ""
        return _spot(scene, under, at, names) if max(under.width, under.depth) > NEAR else ""

    wanted = [g for g in (*judged.displaced, *judged.others) if g.thing in objects]
    return inventory(objects, wanted, lambda each: ithor.room_of(scene.name), spot)


def _told(rng: random.Random, scene: Scene, goal: Restored, called: Mapping[str, str]) -> str:
    by_id = {o.id: o for o in scene.objects}
    thing, under = by_id[goal.thing], by_id.get(goal.receptacle)
    if "pickupable" not in thing.affordances:
        state = "open" if goal.open else "closed"
        return rng.choice(WORDS["room_lids"]).format(place=called[thing.id], open=state)
    if under is None:
        return rng.choice(WORDS["floors"]).format(thing=called[thing.id])
    words = {"thing": called[thing.id], "on": under.receptacle, "place": called[under.id]}
    if goal.at is None:
        return rng.choice(WORDS["room_places"]).format_map(words)
    return rng.choice(WORDS["spots"]).format_map(
        words | {"spot": _spot(scene, under, goal.at, called)}
    )


def _spot(scene: Scene, under: HouseObject, at: Point, called: Mapping[str, str]) -> str:
    """A point on a piece of furniture, told from the nearest fixed thing: 0.4 m north of it."""
    fixed = [o for o in scene.objects if "pickupable" not in o.affordances and o.id != under.id]
    single = [o for o in fixed if o.type not in IN_ROWS and math.dist((o.x, o.y), at) <= BESIDE]
    fixed = single or fixed
    near = min(fixed, key=lambda o: (math.dist((o.x, o.y), at), o.id), default=under)
    far = math.dist((near.x, near.y), at)
    if far < 0.05:
        return f"where {called[near.id]} is"
    point = COMPASS[round(bearing((near.x, near.y), at) / 45) % 8]
    return f"{far:.1f} m {point} of the middle of {called[near.id]}"


def _roomy(thing: HouseObject, judged: JudgedStart) -> HouseObject:
    """A receptacle with room for all that the episode has in it or wants there."""
    held = judged.crowds.get(thing.id, 0)
    return replace(thing, capacity=held) if 0 < thing.capacity < held else thing


# The dataset itself.

TRAIN = "2021_train"


Told = Literal["state", "changes"]


@dataclass(frozen=True)
class RearrangementSettings(homes.HomesSettings):
    """``told`` says what an agent is told: ``state``, how everything was before (as in LangSuitE),
    so that it has to find out itself what changed; or ``changes``, how the changed things should
    be, which is easier."""

    told: Told = "state"


class Rearrangement(homes.SourcedTasks[RearrangementSettings]):
    """Homes in which some things are not as they should be.

        >>> tidy = Rearrangement(settings=Rearrangement.Settings(episodes=3))
        >>> 1 <= tidy.tasks[0].reference.parts() <= 5
        True

    A thing lies in or on another receptacle than it should, or a receptacle is open that should be
    shut, or the other way round. The request tells how everything was, by names that all things
    have from the start, or with ``told=changes`` how the changed ones should be. All of these must
    be right in the end (``sr``), and whatever else is disturbed counts against it: ``sr_strict``,
    ``misplaced`` and ``fixed_strict``. A thing is in place when it is in or on the right
    receptacle, wherever there.

    Splits ``generated_test`` and ``generated_train``: one to five changes in generated homes.

    Splits ``2021_train``, ``2021_val``, ``2021_test``: the published episodes of Weihs et al.
    (2021) in iTHOR's rooms. A thing that moved along one piece of furniture is in place within
    half a metre of its target. See ``sources.ithor.rearranging`` for what counts as a change;
    ``omissions`` counts the episodes left out, by cause. All of ``settings`` but ``actions``,
    ``body`` and ``told`` is for generated homes.
    """

    name: ClassVar[str] = "rearrangement"
    Settings: ClassVar[type[RearrangementSettings]] = RearrangementSettings
    splits: ClassVar[tuple[str, ...]] = (*homes.GENERATED, *SPLITS)
    published_train: ClassVar[str] = TRAIN
    max_steps: ClassVar[int] = 1000

    def source(self, split: str) -> homes.EpisodeSource:
        told = self.settings.told
        if split in SPLITS:
            return Published(split, self.folder, self.settings.make_body(), told)
        seed = "{scene}/rearrangement"  # those that tell the whole state have a name for everything
        return homes.Generated(split, self.settings, self._draw, seed=seed, named=told == "state")

    def _draw(self, rng: random.Random, made: Arrangement, arrangement: str) -> Task | None:
        found, scene = shuffle(rng, made), made.home.name
        if found is None:
            return None
        name = f"{scene}_rearrangement_{arrangement}"
        start = homes.start_in(rng, made.home, arrangement)
        words = found.state if self.settings.told == "state" else found.changes
        changed, others = found.changed, found.others
        reference = RearrangementReference(name, "rearrangement", changed, others=others)
        return Task(Episode(name, words, scene, start), reference)

    def rules(self) -> str:
        """What an agent is told of the task."""
        return homes.read_rules(f"rearrangement_{self.settings.told}")


dataset = Rearrangement
