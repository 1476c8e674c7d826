"""Rearrangement: put back what was displaced, in generated homes and in iTHOR's rooms."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

from wayword.core.dataset import DrawnTasks, Task
from wayword.core.episode import Episode
from wayword.core.errors import UsageError
from wayword.core.files import remembered
from wayword.core.geometry import bearing
from wayword.datasets.procedural.homes.episodes import (
    GENERATED,
    Case,
    EpisodeSource,
    Generated,
    HomesSettings,
    SourcedTasks,
    home_of,
    read_rules,
    start_in,
)
from wayword.datasets.procedural.homes.objects import arrange
from wayword.datasets.procedural.homes.rearrangement import OPENINGS, inventory, names_of, shuffle
from wayword.datasets.sources.ithor import rooms as ithor
from wayword.datasets.sources.ithor.rearrangement import (
    NEAR,
    SPLITS,
    Cause,
    JudgedStart,
    PublishedShuffles,
    Shuffled,
    cause,
    judge,
    shuffles_path,
)
from wayword.verbalize.generic import COMPASS
from wayword.worlds.household.goals import RearrangementReference, Restored
from wayword.worlds.household.house import ObjectNames
from wayword.worlds.household.layout import Layout
from wayword.worlds.household.scene import HouseObject, Point, Scene
from wayword.worlds.household.verbs import Body
from wayword.worlds.household.world import HouseholdWorld

PLACES = (
    "{thing} belongs {on} {place}.",
    "{thing} should be {on} {place}.",
    "{place} is where {thing} belongs.",
    "Have {thing} {on} {place}.",
)
SPOTS = (
    "{thing} belongs farther along {on} {place}: about {spot}.",
    "{thing} stays {on} {place}, but should be about {spot}.",
    "Move {thing} to another part of {place}, about {spot}.",
)
FLOORS = ("{thing} belongs on the floor.", "Leave {thing} on the floor.")
LIDS = ("{place} should be {open}.", "Leave {place} {open}.", "Have {place} {open} in the end.")
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
        self._path = shuffles_path(folder, split)
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
        """The episodes, and what their rooms are read from."""
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
        """A fresh world; what never moves is shared by all episodes of a room."""
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
    names = ObjectNames([o.type for o in scene.objects], ())
    names.learn(range(len(scene.objects)))
    called = {o.id: names.of[i] for i, o in enumerate(scene.objects)}
    lines = [_line(rng, scene, goal, called) for goal in goals]
    return " ".join([rng.choice(OPENINGS), *(line[0].upper() + line[1:] for line in lines)])


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


def _line(rng: random.Random, scene: Scene, goal: Restored, called: Mapping[str, str]) -> str:
    by_id = {o.id: o for o in scene.objects}
    thing, under = by_id[goal.thing], by_id.get(goal.receptacle)
    if "pickupable" not in thing.affordances:
        state = "open" if goal.open else "closed"
        return rng.choice(LIDS).format(place=called[thing.id], open=state)
    if under is None:
        return rng.choice(FLOORS).format(thing=called[thing.id])
    words = {"thing": called[thing.id], "on": under.receptacle, "place": called[under.id]}
    if goal.at is None:
        return rng.choice(PLACES).format_map(words)
    return rng.choice(SPOTS).format_map(words | {"spot": _spot(scene, under, goal.at, called)})


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

TRIES = 50
TRAIN = "2021_train"


Told = Literal["state", "changes"]


@dataclass(frozen=True)
class RearrangementSettings(HomesSettings):
    """``told`` says what an agent is told: ``state``, how everything was before (as in LangSuitE),
    so that it has to find out itself what changed; or ``changes``, how the changed things should
    be, which is easier."""

    told: Told = "state"


class Rearrangement(SourcedTasks[RearrangementSettings]):
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
    splits: ClassVar[tuple[str, ...]] = (*GENERATED, *SPLITS)
    published_train: ClassVar[str] = TRAIN
    max_steps: ClassVar[int] = 1000

    def source(self, split: str) -> EpisodeSource:
        """Generated homes, or the published episodes."""
        if split in SPLITS:
            told = self.settings.told
            return Published(split, self.folder, self.settings.make_body(), told)
        return GeneratedShuffles(split, self.settings)

    def rules(self) -> str:
        """What an agent is told of the task."""
        return read_rules(f"rearrangement_{self.settings.told}")


class GeneratedShuffles(Generated):
    """Generated episodes; those that tell the whole state have a name for everything."""

    def __init__(self, split: str, settings: RearrangementSettings) -> None:
        def case(scene: str, arranged: str, plenty: float) -> Case:
            return _case(scene, arranged, plenty, settings.told)

        self._make, self._named = case, settings.told == "state"
        super().__init__(split, settings, lambda number: str(number // settings.homes), case)

    def world(self, episode: Episode) -> HouseholdWorld:
        """A fresh world."""
        case = self._make(episode.scene, episode.start["arrangement"], self.settings.plenty)
        layout, body = case.home.with_things(case.scene), self.settings.make_body()
        return HouseholdWorld(case.scene, body, named=self._named, layout=layout)


@lru_cache(maxsize=256)
def _case(scene: str, arrangement: str, plenty: float, told: Told) -> Case:
    """The episode of that number in that home."""
    for attempt in range(TRIES):
        rng = random.Random(f"{scene}/rearrangement/{arrangement}/{attempt}")
        made = arrange(rng, home_of(scene), plenty)
        found = shuffle(rng, made)
        if found is not None:
            name = f"{scene}_rearrangement_{arrangement}"
            start = start_in(rng, made.home, arrangement)
            words = found.state if told == "state" else found.changes
            episode = Episode(name, words, scene, start)
            reference = RearrangementReference(
                name, "rearrangement", found.changed, others=found.others
            )
            return Case(Task(episode, reference), made.home, made.scene())
    raise UsageError(f"{scene} has nothing to rearrange; ask for more rooms or things")


dataset = Rearrangement
